"""Records summed up: mean regrets by workload, data set, size and scale, and what a user gains."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.compiling import cached_property
from adyton_lab.reproduce import published
from adyton_lab.reproduce.records import GROUPS, Record
from adyton_lab.training import delphi
from adyton_lab.training.engine import geometric_mean

PYTHIA, DEFAULT, INFORMED = "tree: group-regret", "default", "informed"
RUN = "tree: group-regret, run"
"""Pythia really run, with its last step, the projection, which the paper takes on a line only. All other ways to choose
are judged by what was measured of the algorithms that they choose."""
DEFAULT_RUN = "default, run"
"""The default selector really run, on some of the inputs."""
SHIPPED = "default, as shipped"
"""The selector that comes with the package, which was trained on other data."""
CRITERIA = tuple(f"tree: {name}" for name in delphi.CRITERIA)
CHOOSERS = (PYTHIA, RUN, DEFAULT, DEFAULT_RUN, SHIPPED, "private informed", INFORMED)
"""The ways to choose that Fig. 4 compares with single algorithms."""

_EXPERIMENTS = ("paper", "library")


@dataclass(frozen=True, kw_only=True)
class MeanRegret:
    """The regret of a method, averaged over inputs."""

    experiment: str
    epsilon: str
    group: str
    by: str
    """``group``, or what the inputs have in common: ``source``, ``cells`` or ``scale``."""
    value: str | int
    method: str
    inputs: int
    complete: bool
    """Whether the method was run on all inputs that any method was run on."""
    mean: float
    percentile_95: float
    paper: str = ""
    """What the paper says about this figure."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The error of the default selector with the whole library beside that of Pythia with the paper's algorithms."""

    epsilon: str
    group: str
    inputs: int
    ratio: float
    """The geometric mean of the ratios of the two errors, input by input: below 1 the default is better."""
    better: float
    """The part of the inputs with a lower error."""
    percentile_95: float
    """The ratio that 95 % of the inputs stay below."""


@dataclass(frozen=True, eq=False)
class Part:
    """All records of one experiment at one ε."""

    experiment: str
    epsilon: str
    by_group: dict[str, dict[str, list[Record]]]
    """By group and method. ``1-D all`` and ``2-D all`` hold the inputs of all groups of a dimension."""

    @property
    def groups(self) -> list[str]:
        """The workloads, without the sums over all of them."""
        return [group for group in self.by_group if not group.endswith(" all")]

    @cached_property
    def means(self) -> dict[tuple[str, str], MeanRegret]:
        """By group and method, sums over all groups included."""
        return {
            (group, one.method): one
            for group, methods in self.by_group.items()
            for one in self._averaged(group, "group", group, methods)
        }

    def mean(self, group: str, method: str) -> float:
        """A mean regret, not-a-number if there is none."""
        found = self.means.get((group, method))
        return math.nan if found is None else found.mean

    def blind(self, *groups: str) -> list[str]:
        """The single algorithms of these groups, in the order of their mean regrets on the first of them."""
        means: dict[str, tuple[int, float]] = {}
        for place, group in enumerate(groups):
            for name in self.by_group.get(group, ()):
                if name not in (*CHOOSERS, *CRITERIA):
                    means.setdefault(name, (place, self.mean(group, name)))
        return sorted(means, key=lambda name: (means[name], name))

    def compared(self, groups: Sequence[str], most: int | None = None) -> list[str]:
        """The methods that Fig. 4 compares: ways to choose, then at most so many of the best single algorithms.

        The informed decision is left out: its regret is 1 by definition.
        """
        there = {name for group in groups for name in self.by_group[group]}
        return [name for name in CHOOSERS if name in there and name != INFORMED] + self.blind(*groups)[:most]

    def split(self, group: str, by: str, methods: Sequence[str]) -> list[MeanRegret]:
        """The mean regrets of a group for each ``source``, ``cells`` or ``scale`` on its own (Figs. 9 to 11)."""
        parts: dict[str | int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for method in methods:
            for record in self.by_group[group].get(method, ()):
                parts[getattr(record, by)][method].append(record)
        ordered = sorted(parts.items(), key=lambda pair: pair[0])
        return [one for value, records in ordered for one in self._averaged(group, by, value, records)]

    def _averaged(
        self, group: str, by: str, value: str | int, methods: dict[str, list[Record]]
    ) -> Iterable[MeanRegret]:
        most = max(map(len, methods.values()), default=0)
        published_here = by == "group" and self.experiment == "paper" and self.epsilon == "1"
        for method, records in methods.items():
            regrets = np.array([record.regret for record in records])
            yield MeanRegret(
                experiment=self.experiment,
                epsilon=self.epsilon,
                group=group,
                by=by,
                value=value,
                method=method,
                inputs=len(records),
                complete=len(records) == most,
                mean=float(regrets.mean()),
                percentile_95=float(np.quantile(regrets, 0.95)),
                paper=published.regret(group, method) if published_here else "",
            )


def parts(records: Iterable[Record]) -> list[Part]:
    """The records by experiment and ε, the paper's candidates and its ε = 1 first."""
    found: dict[tuple[str, str], dict[str, dict[str, list[Record]]]] = defaultdict(dict)
    for record in records:
        methods = found[record.experiment, record.epsilon].setdefault(record.group, {})
        methods.setdefault(record.method, []).append(record)
    ordered = sorted(found.items(), key=lambda pair: (_place(pair[0][0], _EXPERIMENTS), -Fraction(pair[0][1])))
    return [Part(experiment, epsilon, _with_sums(groups)) for (experiment, epsilon), groups in ordered]


def gains(records: Iterable[Record]) -> list[Gain]:
    """What the user gets: the default selector over the whole library against the paper's Pythia, on the same inputs.

    An input on which one of the errors is zero has no ratio and is not counted.
    """
    return [
        gain
        for part in parts(records)
        if part.experiment == "library"
        for group in part.by_group
        if (gain := _gain(part, group)) is not None
    ]


def _gain(part: Part, group: str) -> Gain | None:
    here, there = (_errors(part.by_group[group].get(method, ())) for method in (DEFAULT, RUN))
    ratios = np.array([error / there[key] for key, error in here.items() if error > 0 and there.get(key, 0) > 0])
    if not ratios.size:
        return None
    return Gain(
        epsilon=part.epsilon,
        group=group,
        inputs=ratios.size,
        ratio=geometric_mean(ratios.tolist()),
        better=float((ratios < 1).mean()),
        percentile_95=float(np.quantile(ratios, 0.95)),
    )


def _with_sums(groups: dict[str, dict[str, list[Record]]]) -> dict[str, dict[str, list[Record]]]:
    """The groups in order, before those of each dimension their sum: the methods that all of them have."""
    ordered = sorted(groups, key=lambda group: (group.split()[0], _place(group, GROUPS), group))
    result: dict[str, dict[str, list[Record]]] = {}
    for dimension in dict.fromkeys(group.split()[0] for group in ordered):
        members = [groups[group] for group in ordered if group.split()[0] == dimension]
        shared = [name for name in members[0] if all(name in one for one in members)]
        if len(members) > 1:
            result[f"{dimension} all"] = {name: [record for one in members for record in one[name]] for name in shared}
        result |= {group: groups[group] for group in ordered if group.split()[0] == dimension}
    return result


def _errors(records: Iterable[Record]) -> dict[tuple[str, str, int, int], float]:
    return {(one.group, one.source, one.cells, one.scale): one.error for one in records}


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)
