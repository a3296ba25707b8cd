"""The regrets of Pythia's evaluation: records averaged by workload, data set, size and scale, and the paper's claims.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, Section 8 and Appendix C, at ε = 1. The paper's figures have no numbers: only what it says in words is
known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton_lab.reproduce.sheets import Claim, claim
from adyton_lab.training import delphi
from adyton_lab.training.delphi import USUAL_WORKLOADS
from adyton_lab.training.engine import geometric_mean

GROUPS = tuple(f"{axes}-D {workload}" for axes, workloads in USUAL_WORKLOADS.items() for workload in workloads)
"""The workloads of the Pythia paper, in its order."""
PYTHIA, DEFAULT, INFORMED = "tree: group-regret", "default", "informed"
RUN = "tree: group-regret, run"
"""Pythia actually run, with its last step, the projection, which the paper takes only in one dimension. All other ways
to choose are judged by the measured errors of the algorithms that they choose."""
DEFAULT_RUN = "default, run"
"""The default selector actually run, on some of the inputs."""
SHIPPED = "default, as shipped"
"""The selector that ships with the package, which was trained on other data."""
CRITERIA = tuple(f"tree: {name}" for name in delphi.CRITERIA)
CHOOSERS = (PYTHIA, RUN, DEFAULT, DEFAULT_RUN, SHIPPED, "private informed", INFORMED)
"""The ways to choose that Fig. 4 compares with single algorithms."""

_EXPERIMENTS = ("paper", "library")


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """How a method did on an input."""

    experiment: str
    """The algorithms to choose among: ``paper``, those of the paper's Table 1, or ``library``, all contenders."""
    epsilon: str
    group: str
    """The workload, one of :data:`GROUPS`."""
    method: str
    """An algorithm, used for every input, or a way to choose one."""
    source: str
    """The data set, which no selector of the record was trained on."""
    cells: int
    scale: int
    regret: float
    """The expected error divided by that of the best algorithm at the full budget."""
    error: float
    """The expected error: ‖W·x̂ − W·x‖₂."""

    def __post_init__(self) -> None:
        for name in ("regret", "error"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise BadInput(f"the {name} of {self.method} on {self.source} must be finite, given {shorten(value)}.")


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
    """Whether the method was run on as many inputs as any other method."""
    mean: float
    percentile_95: float
    paper: str = ""
    """What the paper says about this figure."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The error of the default selector with the whole library, relative to Pythia's with the paper's algorithms."""

    epsilon: str
    group: str
    inputs: int
    ratio: float
    """The geometric mean over inputs of the ratio of the two errors: below 1 the default is better."""
    better: float
    """The fraction of the inputs on which the default has a lower error."""
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
        """The workloads, without the groups of all workloads."""
        return [group for group in self.by_group if not group.endswith(" all")]

    @cached_property
    def means(self) -> dict[tuple[str, str], MeanRegret]:
        """By group and method, including the groups of all workloads."""
        return {
            (group, mean.method): mean
            for group, methods in self.by_group.items()
            for mean in self._averaged(group, "group", group, methods)
        }

    def mean(self, group: str, method: str) -> float:
        """A mean regret, NaN if there is none."""
        regret = self.means.get((group, method))
        return math.nan if regret is None else regret.mean

    def blind(self, *groups: str) -> list[str]:
        """The single algorithms of these groups, ordered by their mean regrets in the first group that has them."""
        means: dict[str, tuple[int, float]] = {}
        for place, group in enumerate(groups):
            for name in self.by_group.get(group, ()):
                if name not in (*CHOOSERS, *CRITERIA):
                    means.setdefault(name, (place, self.mean(group, name)))
        return sorted(means, key=lambda name: (means[name], name))

    def compared(self, groups: Sequence[str], most: int | None = None) -> list[str]:
        """The methods that Fig. 4 compares: ways to choose, then at most *most* of the best single algorithms.

        The informed decision is left out: its regret is 1 by definition.
        """
        there = {name for group in groups for name in self.by_group[group]}
        return [name for name in CHOOSERS if name in there and name != INFORMED] + self.blind(*groups)[:most]

    def split(self, group: str, by: str, methods: Sequence[str]) -> list[MeanRegret]:
        """The mean regrets of a group for each ``source``, ``cells`` or ``scale`` separately (Figs. 9 to 11)."""
        parts: dict[str | int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for method in methods:
            for record in self.by_group[group].get(method, ()):
                parts[getattr(record, by)][method].append(record)
        ordered = sorted(parts.items(), key=lambda pair: pair[0])
        return [mean for value, records in ordered for mean in self._averaged(group, by, value, records)]

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
                paper=published_regret(group, method) if published_here else "",
            )


def parts(records: Iterable[Record]) -> list[Part]:
    """The records by experiment and ε, the paper's candidates and its ε = 1 first."""
    settings: dict[tuple[str, str], dict[str, dict[str, list[Record]]]] = defaultdict(dict)
    for record in records:
        methods = settings[record.experiment, record.epsilon].setdefault(record.group, {})
        methods.setdefault(record.method, []).append(record)
    ordered = sorted(settings.items(), key=lambda pair: (_place(pair[0][0], _EXPERIMENTS), -Fraction(pair[0][1])))
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
    """The groups in order; before those of each dimension, their union, with the methods that all of them have."""
    ordered = sorted(groups, key=lambda group: (group.split()[0], _place(group, GROUPS), group))
    result: dict[str, dict[str, list[Record]]] = {}
    for dimension in dict.fromkeys(group.split()[0] for group in ordered):
        members = [groups[group] for group in ordered if group.split()[0] == dimension]
        shared = [name for name in members[0] if all(name in member for member in members)]
        if len(members) > 1:
            result[f"{dimension} all"] = {
                name: [record for member in members for record in member[name]] for name in shared
            }
        result |= {group: groups[group] for group in ordered if group.split()[0] == dimension}
    return result


def _errors(records: Iterable[Record]) -> dict[tuple[str, str, int, int], float]:
    return {(record.group, record.source, record.cells, record.scale): record.error for record in records}


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


# ---- what the paper says about its own results ----------------------------------------------------------------------

PUBLISHED = {"1-D prefix": 1.27, "2-D short": 2.27}
"""The least and the greatest mean regret of Pythia (Section 8.2)."""

ALGORITHMS = {
    "1-D": ("identity", "hb", "privelet", "uniform", "dawa", "mwem", "ahp"),
    "2-D": ("identity", "hb", "privelet", "uniform", "dawa", "mwem", "ahp", "adaptive-grid", "dpcube"),
}
"""Table 1. The paper's Laplace is ``identity`` here, its AGRID is ``adaptive-grid``."""

ABOVE_TEN = {"1-D": ("ahp", "mwem", "privelet", "uniform"), "2-D": ("dawa", "mwem", "uniform", "dpcube")}
"""Left out of Fig. 4 because their mean regret is above 10."""

SAVED_BY_GROUP_REGRET = {"1-D": 0.30, "2-D": 0.14}
"""How much lower the mean regret is than with trees split by the best algorithm (Fig. 7, Section 8.4)."""

LOWEST_ON = {"1-D identity": (5, 7), "1-D prefix": (5, 7)}
"""On how many of the data sets Pythia has the lowest mean regret (Fig. 9); on the others it is second."""


def published_regret(group: str, method: str) -> str:
    """What the paper says about a mean regret; empty if nothing.

    >>> published_regret("2-D short", PYTHIA), published_regret("1-D all", "ahp"), published_regret("1-D all", "dawa")
    ('2.27', '> 10', '≤ 10')
    """
    dimension = group.split(maxsplit=1)[0]
    if method == PYTHIA:
        return f"{PUBLISHED[group]}" if group in PUBLISHED else "1.27–2.27"
    if not group.endswith("all") or method not in ALGORITHMS.get(dimension, ()):
        return ""
    return "> 10" if method in ABOVE_TEN[dimension] else "≤ 10"


def claims(records: Iterable[Record]) -> list[Claim]:
    """The claims that the records can test: those about the paper's algorithms at ε = 1."""
    judged = (_lowest_of_all, _range, _above_ten, _dawa_and_hb, _group_regret, _by_source)
    own = [part for part in parts(records) if part.experiment == "paper" and part.epsilon == "1"]
    return [entry for part in own for judge in judged for entry in judge(part)]


def _lowest_of_all(part: Part) -> Iterator[Claim]:
    groups = [group for group in part.by_group if PYTHIA in part.by_group[group] and part.blind(group)]
    if not groups:
        return
    lost = {}
    for group in groups:
        best, ours = part.blind(group)[0], part.mean(group, PYTHIA)
        if ours >= part.mean(group, best):
            lost[group] = f"{group} ({ours:.2f}, {best} {part.mean(group, best):.2f})"
    yield claim(
        "Pythia has a lower mean regret than any single algorithm, on every kind of workload.",
        f"not on {', '.join(lost.values())}" if lost else f"lower on all {len(groups)}",
        *(group not in lost for group in groups),
    )


def _range(part: Part) -> Iterator[Claim]:
    means = {group: part.mean(group, PYTHIA) for group in part.groups if PYTHIA in part.by_group[group]}
    if set(PUBLISHED) <= set(means):
        least, most = min(means, key=lambda group: means[group]), max(means, key=lambda group: means[group])
        yield claim(
            "Its mean regret is between 1.27 (1-D prefix) and 2.27 (2-D short).",
            f"between {means[least]:.2f} ({least}) and {means[most]:.2f} ({most})",
            *(means[group] <= PUBLISHED.get(group, 2.27) for group in means),
        )


def _above_ten(part: Part) -> Iterator[Claim]:
    for dimension, names in ABOVE_TEN.items():
        group = f"{dimension} all"
        means = {name: part.mean(group, name) for name in names if name in part.by_group.get(group, ())}
        if len(means) == len(names):
            yield claim(
                f"{dimension}: the mean regret of {', '.join(names)} is above 10.",
                ", ".join(f"{name} {mean:,.2f}" for name, mean in means.items()),
                *(mean > 10 for mean in means.values()),
            )


def _dawa_and_hb(part: Part) -> Iterator[Claim]:
    for group, better, worse in (("1-D identity", "hb", "dawa"), ("1-D prefix", "dawa", "hb")):
        if {better, worse} <= set(part.by_group.get(group, ())):
            means = part.mean(group, better), part.mean(group, worse)
            yield claim(
                f"{group}: {better} has a lower mean regret than {worse}.",
                f"{better} {means[0]:.2f}, {worse} {means[1]:.2f}",
                means[0] < means[1],
            )


def _group_regret(part: Part) -> Iterator[Claim]:
    for dimension, saved in SAVED_BY_GROUP_REGRET.items():
        group = f"{dimension} all"
        if {PYTHIA, CRITERIA[1]} <= set(part.by_group.get(group, ())):
            here = 1 - part.mean(group, PYTHIA) / part.mean(group, CRITERIA[1])
            yield claim(
                f"{dimension}: mean regret is {saved:.0%} lower with group regret than with Gini.",
                f"{'lower' if here >= 0 else 'higher'} by {abs(here):.1%}",
                here > 0,
                here >= saved,
            )


def _by_source(part: Part) -> Iterator[Claim]:
    for group, (wins, sources) in LOWEST_ON.items():
        compared = [PYTHIA, *part.blind(group)]
        if PYTHIA not in part.by_group.get(group, ()) or len(compared) < 2:
            continue
        ranks: dict[str | int, int] = {}
        split = part.split(group, "source", compared)
        for source in dict.fromkeys(mean.value for mean in split):
            means = {mean.method: mean.mean for mean in split if mean.value == source}
            if PYTHIA in means:
                ranks[source] = sum(mean < means[PYTHIA] for mean in means.values())
        first, worst = sum(rank == 0 for rank in ranks.values()), max(ranks.values()) + 1
        yield claim(
            f"{group}: Pythia is lowest on {wins} of {sources} data sets, and second on the others.",
            f"lowest on {first} of {len(ranks)}, at worst number {worst}",
            first * sources >= wins * len(ranks),
            worst <= 2,
        )
