"""Private decision trees on public tables, as Jostle's evaluation compared them: five published algorithms, and the
tree whose choices are made inside the program.

Imola and Yang, "Automatic, fine-grained algorithmic choice for differential privacy", 2018, Chapter 4 (Fig. 4.2): the
part of the rows whose class is predicted, against ε, on 30 % of the rows that nothing was learnt from. Naive Bayes,
naive-Bayes trees and profiled trees stand beside them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from adyton.kernel.kernel import Kernel
from adyton.learning.registry import DEFAULT, Learner, learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, labelled_table, split
from adyton_lab.reproduce.claims import Claim
from adyton_lab.reproduce.naive_bayes import TREE_TABLES, MeanScore, Score, means
from adyton_lab.reproduce.tables import Sheet
from adyton_lab.training.engine import Advance, unseen

FIGURE = "fig4.2"
PRESETS = ("friedman-schuster", "mohammed", "jagannathan", "patil-singh", "fletcher-islam")
METHODS = (*PRESETS, "chosen", "naive-bayes", "naive-bayes-tree", "profiled-tree")
EPSILONS = ("0.1", "0.5", "1", "2")
_LEARNING = 0.7


def steps(*, quick: bool = False) -> int:
    """How many classifiers are learnt in all."""
    return len(TREE_TABLES) * trials(quick=quick) * len(EPSILONS) * len(METHODS)


def trials(*, quick: bool) -> int:
    """How many splits into rows to learn from and rows to judge by."""
    return 5 if quick else 20


def run(data: str | os.PathLike[str], *, public: bool, quick: bool = False, advance: Advance = unseen) -> list[Score]:
    """Every score. *public* says that the tables in the folder *data* are public: nothing here is protected."""
    scores = []
    for name in TREE_TABLES:
        table = labelled_table(name, data, public=public)
        for trial in range(trials(quick=quick)):
            found = list(_scores(table, trial))
            scores += found
            advance(len(found))
    return scores


def _scores(table: LabelledTable, trial: int) -> Iterator[Score]:
    """All methods on the same split, with noise of their own."""
    learning, judging = split(len(table.codes), _LEARNING, trial)
    for place, epsilon in enumerate(EPSILONS):
        for number, method in enumerate(METHODS):
            noise = np.random.SeedSequence([trial, place, number])
            kernel = Kernel.simulated_table(table.codes[learning], table.schema, epsilon=epsilon, seed=noise)
            model = learner(method, trial).fit(kernel.root, table.target.label, epsilon)
            right = model.places(table.inputs[judging]) == table.classes[judging]
            yield Score(FIGURE, table.name, len(table.codes), epsilon, method, trial, float(right.mean()))


def learner(method: str, trial: int) -> Learner:
    """A method; published ones draw random attributes that can be repeated."""
    return learner_named(method, **({"seed": trial} if method in PRESETS else {}))


@dataclass(frozen=True, kw_only=True)
class MeanAccuracy:
    """The accuracy of a method over all tables and ε, in %."""

    method: str
    cells: int
    accuracy: float
    deviation: float
    """At most so large is the standard error."""


Cells = dict[tuple[str, str], dict[str, MeanScore]]
"""By table and ε, then by method."""


def all_sheets(scores: Iterable[Score]) -> list[Sheet]:
    """What is claimed, then accuracy by method: a column for each table and ε, and the mean of all."""
    found = means(scores)
    cells: Cells = {}
    for one in found:
        cells.setdefault((one.table, one.epsilon), {})[one.method] = one
    sheets = [
        _claims_sheet("What the paper says of its figure, and what came out here", "the paper says", published(cells)),
        _claims_sheet("What else is claimed of the chosen tree, naive Bayes and the default", "claim", claims(cells)),
    ]
    for table in dict.fromkeys(one.table for one in found):
        part = {place: methods for place, methods in cells.items() if place[0] == table}
        sheets.append(_sheet(f"Jostle's Fig. 4.2: accuracy on {table}, in %", part, found[0].trials))
    return [*sheets, _mean_sheet(cells)]


def _claims_sheet(title: str, column: str, found: Iterable[Claim]) -> Sheet:
    said = list(found)
    return Sheet(
        "claims", title, (column, "here", "holds"), tuple((one.paper, one.here, one.holds) for one in said), said
    )


def _sheet(title: str, cells: Cells, trials: int) -> Sheet:
    methods = list(next(iter(cells.values())))
    rows = tuple(
        (name, *(f"{100 * cell[name].mean:.1f} ± {100 * cell[name].deviation:.1f}" for cell in cells.values()))
        for name in methods
    )
    columns = ("method", *(f"ε = {epsilon}" for _, epsilon in cells))
    shown = [one for cell in cells.values() for one in cell.values()]
    return Sheet(FIGURE, title, columns, rows, shown, f"Mean ± standard error of {trials} splits.")


def _mean_sheet(cells: Cells) -> Sheet:
    found = overall(cells)
    rows = tuple((one.method, f"{one.accuracy:.2f} ± {one.deviation:.2f}") for one in found.values())
    note = "Mean ± standard error, or a little more: figures of one table are taken to err together."
    title = f"The mean over {len(cells)} tables and ε, in %"
    return Sheet(FIGURE, title, ("method", "accuracy"), rows, list(found.values()), note)


def overall(cells: Cells) -> dict[str, MeanAccuracy]:
    """The mean accuracy of each method.

    All ε of a table share their splits. So the errors of a table are added, which is never too little, and those of
    several tables, which are independent, by their squares.
    """
    found = {}
    for name in next(iter(cells.values())):
        mean = float(np.mean([cell[name].mean for cell in cells.values()]))
        by_table: dict[str, float] = defaultdict(float)
        for (table, _), cell in cells.items():
            by_table[table] += cell[name].deviation
        deviation = float(np.sqrt(sum(one**2 for one in by_table.values()))) / len(cells)
        found[name] = MeanAccuracy(method=name, cells=len(cells), accuracy=100 * mean, deviation=100 * deviation)
    return found


def published(cells: Cells) -> Iterator[Claim]:
    """What the paper says in words (Section 4.0.2): its figure has curves, and prints no numbers."""
    for table, small, says, first, last in (
        ("hiv-1", False, "HIV-1, sparse: Friedman–Schuster is best, Mohammed worst.", PRESETS[0], PRESETS[1]),
        ("nursery", False, "Nursery, dense: Mohammed is best.", PRESETS[1], None),
        ("contraceptive", True, "Contraceptive: Jagannathan is excellent at small ε.", PRESETS[2], None),
    ):
        there = [cell for (name, _), cell in cells.items() if name == table][: 1 if small else None]
        if there:
            order = sorted(PRESETS, key=lambda name: -sum(cell[name].mean for cell in there))
            means = {name: 100 * float(np.mean([cell[name].mean for cell in there])) for name in order}
            right = (order[0] == first) + (last is None or order[-1] == last)
            yield Claim(
                paper=says,
                here=("ε = 0.1: " if small else "mean of all ε: ")
                + ", ".join(f"{name} {mean:.1f}" for name, mean in means.items()),
                holds=("no", "in part", "yes")[right] if last else "yes" if right == 2 else "no",
            )


def claims(cells: Cells) -> Iterator[Claim]:
    """What can be said about these figures."""
    total = {name: one.accuracy for name, one in overall(cells).items()}
    best = max(total[name] for name in PRESETS)
    short = [_short(cell) for cell in cells.values()]
    yield _claim(
        "The chosen tree is within 2 points of the best published one in every cell.",
        f"at most {max(short):.1f} points below, in {sum(one <= 2 for one in short)} of {len(short)} cells within 2",
        max(short) <= 2,
    )
    for name, gain in (("chosen", 1.5), ("naive-bayes", 3.0)):
        yield _claim(
            f"In the mean, {name} is at least {gain:g} points above every published tree.",
            f"{total[name]:.1f} against {best:.1f}: {total[name] - best:+.1f}",
            total[name] - best >= gain,
        )
    other = max((name for name in total if name != DEFAULT), key=lambda name: total[name])
    yield _claim(
        f"In the mean, {DEFAULT}, the default, is at least as good as every other method.",
        f"{total[DEFAULT]:.1f} against {total[other]:.1f} of {other}: {total[DEFAULT] - total[other]:+.1f}",
        total[DEFAULT] >= total[other] - overall(cells)[DEFAULT].deviation,
    )


def _short(cell: dict[str, MeanScore]) -> float:
    """By how many points the chosen tree is below the best published one."""
    return 100 * (max(cell[name].mean for name in PRESETS) - cell["chosen"].mean)


def _claim(paper: str, here: str, holds: bool) -> Claim:
    return Claim(paper=paper, here=here, holds="yes" if holds else "no")
