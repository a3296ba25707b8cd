"""The default selector: the public inputs that are most like this one vote, each with the regrets that it has seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Looks
from adyton.choice.similar_rows import HARDLY, Votes, nearness, usual_strength
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.exact import share as part_of_budget
from adyton.kernel.sources import VectorSource
from adyton.plans.registry import plan_named, plan_type
from adyton.queries import Queries
from adyton.selection.selector import Choice, Selector, Training, feature_named
from adyton.selection.workload_kinds import cheapest, reach, tie_of

_SIZE_WIDTH = 1.0
"""How far apart, in doublings, the numbers of cells of similar inputs are."""
_REACH_WIDTH = 0.1
"""How far apart the reaches of similar workloads are."""
_BUDGET_WIDTH = 1.5
"""How far apart, in doublings, the budgets of similar inputs are."""
_USUAL_WIDTH, _LARGEST_USUAL = 2.0, 2.0
"""What is usual is the mean regret over inputs of all signals, and of sizes so many doublings apart. Regrets above 2
count as 2, because it is between good algorithms that the choice is hard."""
PLAIN = "identity"
_DIGITS = 5
_LARGEST = 1 << 24
COLUMNS = ("sizes", "reaches", "epsilons", "signals", "sources", "least", "logs")


@dataclass(frozen=True, eq=False)
class SimilarInputs(Selector):
    """Expects of each algorithm what it did on similar public inputs, and chooses the least expected regret.

    An input is similar if its domain is about as large, its workload asks about as much of it, and ε·rows is about what
    a noisy count says it is here: the weight of an input is the likelihood of the noisy count, given its own. The count
    is bought only if, on the training inputs, choosing by it pays more than its price, and the chosen algorithm uses it
    again. Where the error of an algorithm has a closed form, that of the actual workload takes the place of what was
    measured.
    """

    kind = "similar-inputs"
    usual_share: ClassVar[Fraction] = Fraction(1, 100)

    training: Training
    share: Fraction
    sizes: Reals
    """The logarithm to base 2 of the number of cells of each training input."""
    reaches: Reals
    epsilons: Reals
    """The logarithm to base 2 of ε: at the same ε·rows, more rows show more of the shape."""
    signals: Reals
    """ε·rows of each."""
    sources: Reals
    """The number of the data set that each comes from."""
    least: Reals
    """The logarithm of the least error, in the same units as the others: that of the best algorithm, cross-fitted."""
    logs: Reals
    """inputs × algorithms: the logarithm of the error, in units of that of plain noise on every cell."""

    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Count the votes; buy the noisy count first, if it pays."""
        self.check(workload, epsilon)
        usable, notes = self.available(workload, ordered=ordered)
        plain, votes, logs = counted(self, workload, epsilon, tuple(usable))
        looks = Looks(lambda feature: feature_named(feature).buy(x, epsilon, self.share * epsilon))
        shares = None
        if total is not None:
            shares = votes.shares(float(epsilon) * total, 0.0)
        elif self.pays(votes, usable):
            shares = votes.shares(looks("scale"), float(1 / self.share))
        regrets = dict(zip(usable, votes.expected(shares).tolist(), strict=True))
        errors = dict(zip(usable, (plain * np.exp(logs.expected(shares))).tolist(), strict=True))
        exact = [name for name in usable if known_error(name, workload, epsilon) is not None]
        name = cheapest(regrets.items(), usable, exact, tie_of(workload, ordered))
        if regrets[name] > min(regrets.values()):
            notes += (f"{name} is taken because its errors are exact, and no other promises much less.",)
        return Choice(name, epsilon - looks.spent, looks.bought, regrets, notes, errors=errors)

    def features(self) -> frozenset[str]:
        """The noisy number of rows."""
        return frozenset(["scale"])

    def pays(self, votes: Votes, usable: Sequence[str]) -> bool:
        """Whether the votes are for buying the noisy count."""
        return votes.pays(float(1 / self.share), self.prices(usable))

    def prices(self, usable: Sequence[str]) -> Reals:
        """What the error of each algorithm is multiplied by if the count is bought, which some would buy anyway."""
        return np.array([1.0 if plan_type(name).buys_total else 1 / (1 - float(self.share)) for name in usable])

    def learnt(self) -> dict[str, Any]:
        """The table of training inputs."""
        return {name: _rounded(getattr(self, name)).tolist() for name in COLUMNS}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> SimilarInputs:
        """The selector with this table."""
        logs = np.asarray(learnt["logs"], dtype=np.float64)
        given = {"least": logs.min(axis=-1), **learnt}  # not in files of former versions
        ones = [np.asarray(given[name], dtype=np.float64) for name in COLUMNS[:-1]]
        rows = logs.shape[0] if logs.ndim == 2 else 0
        if not rows or logs.shape[1] != len(training.algorithms) or any(one.shape != (rows,) for one in ones):
            raise BadInput("this is not a selector by similar inputs: its columns are not of one length.")
        if not all(np.isfinite(column).all() for column in (*ones, logs)) or ones[3].min() < 0:
            raise BadInput("this is not a selector by similar inputs: not all that it knows are numbers.")
        if np.unique(ones[3]).size ** 2 * np.unique(ones[4]).size > _LARGEST:
            raise BadInput("a selector by similar inputs has too many signals and data sets. Train it at fewer scales.")
        sizes, reaches, budgets, signals, sources, least = ones
        return cls(training, part_of_budget(share, "share"), sizes, reaches, budgets, signals, sources, least, logs)

    def in_words(self) -> str:
        """Which algorithm wins where: a table for each workload, by the number of cells, downwards, and ε·rows."""
        return "\n\n".join(_table(summary, self.training.dimensions) for summary in winners(self, bands))


def _rounded(values: Reals) -> Reals:
    """To a few significant digits."""
    magnitude = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.maximum(np.abs(values), 1e-30))))
    return np.asarray(np.rint(values * magnitude) / magnitude)


@lru_cache(maxsize=64)
def counted(
    selector: SimilarInputs, workload: Queries, epsilon: Fraction, usable: tuple[str, ...]
) -> tuple[float, Votes, Votes]:
    """The error of plain noise, and what similar inputs say of regrets, and of errors as logarithms: all public."""
    plain = float(plan_named(PLAIN).expected_error(workload, epsilon))
    logs = selector.logs[:, [selector.training.algorithms.index(name) for name in usable]].copy()
    for column, name in enumerate(usable):
        if (closed := known_error(name, workload, epsilon)) is not None:
            logs[:, column] = np.log(closed / plain)
    alike = nearness((selector.reaches - reach(workload)) / _REACH_WIDTH)
    budget = math.log2(epsilon.numerator) - math.log2(epsilon.denominator)
    alike = alike * nearness((selector.epsilons - budget) / _BUDGET_WIDTH)
    doublings = selector.sizes - math.log2(workload.cells)
    weights, wider = alike * nearness(doublings / _SIZE_WIDTH), alike * nearness(doublings / _USUAL_WIDTH)
    sources = selector.sources.astype(np.int64)
    regrets = np.exp(logs - selector.least[:, None])

    def votes(table: Reals, most: float, strength: float) -> Votes:
        usual = wider @ np.minimum(table, most) / wider.sum()
        return Votes.of(weights, selector.signals, sources, table, usual, strength)

    strength = usual_strength(weights, np.unique(sources).size)
    return plain, votes(regrets, _LARGEST_USUAL, strength), votes(logs, np.inf, HARDLY)


@lru_cache(maxsize=256)
def known_error(name: str, workload: Queries, epsilon: Fraction) -> float | None:
    """The exact error, if the plan knows it; least squares alone says little about a plan that denoises."""
    plan = plan_named(name)
    if not plan.linear or plan.serves.data_dependent:
        return None
    try:
        found = plan.expected_error(workload, epsilon)
    except BadInput:
        return None
    return found.total if found.kind in ("exact", "estimate") else None


_BAND = 4
_FIRST_BAND, _LAST_BAND = 8, 20
"""The bands of ε·rows, in doublings: the first ends at 2⁸, the last begins at 2²⁰, the others are 4 wide."""


@dataclass(frozen=True, eq=False)
class Winners:
    """For one workload, the algorithm of least mean regret in each group of training inputs."""

    workload: str
    sizes: tuple[int, ...]
    """The numbers of cells, the smallest first."""
    signals: tuple[int, ...]
    """The groups of ε·rows, the smallest first."""
    best: dict[tuple[int, int], tuple[str, float]]
    """By number of cells and group: the algorithm, and its mean regret. Groups that no input belongs to are missing."""


def winners(selector: SimilarInputs, group: Callable[[Reals], Reals] = np.rint) -> list[Winners]:
    """One summary for each workload; *group* says to which group a logarithm to base 2 of ε·rows belongs.

    The rows of the selector are those of the first workload, then those of the second, and so on.
    """
    about, rows = selector.training, len(selector.sizes)
    regrets = np.exp(selector.logs - selector.logs.min(axis=1, keepdims=True))
    cells = np.rint(np.exp2(selector.sizes)).astype(np.int64)
    groups = group(np.log2(np.maximum(selector.signals, 2.0**-60))).astype(np.int64)
    apart = rows == about.inputs * len(about.workloads)
    parts = np.split(np.arange(rows), len(about.workloads)) if apart else [np.arange(rows)]
    found = []
    for name, part in zip(about.workloads if apart else ("all workloads",), parts, strict=True):
        best = {}
        for place in sorted(set(zip(cells[part].tolist(), groups[part].tolist(), strict=True))):
            here = part[(cells[part] == place[0]) & (groups[part] == place[1])]
            means = regrets[here].mean(axis=0)
            best[place] = about.algorithms[int(np.argmin(means))], float(means.min())
        sizes, signals = (tuple(sorted({place[axis] for place in best})) for axis in (0, 1))
        found.append(Winners(name, sizes, signals, best))
    return found


def bands(logarithms: Reals) -> Reals:
    """The band of ε·rows that each logarithm to base 2 belongs to, named by the doubling at which it ends."""
    return np.asarray(np.clip(np.floor(logarithms / _BAND) * _BAND + _BAND, _FIRST_BAND, _LAST_BAND + _BAND))


def domain_in_words(cells: int, dimensions: int) -> str:
    """A domain as people write it; those of two dimensions are squares.

    >>> domain_in_words(4096, 1), domain_in_words(4096, 2)
    ('4,096', '64 × 64')
    """
    side = round(cells**0.5)
    return f"{side} × {side}" if dimensions == 2 and side * side == cells else f"{cells:,}"


def _table(summary: Winners, dimensions: int) -> str:
    lines = [["cells \\ ε·rows", *(_band_in_words(end) for end in summary.signals)]]
    for size in summary.sizes:
        cells = [summary.best.get((size, end)) for end in summary.signals]
        entries = ("–" if cell is None else f"{cell[0]} {cell[1]:.2f}" for cell in cells)
        lines.append([domain_in_words(size, dimensions), *entries])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = ("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines)
    return f"{summary.workload}: the algorithm of least mean regret, and that regret\n" + "\n".join(
        f"  {text.rstrip()}" for text in texts
    )


def _band_in_words(end: int) -> str:
    if end <= _FIRST_BAND:
        return f"below {2**_FIRST_BAND}"
    return f"from {2**_LAST_BAND:,}" if end > _LAST_BAND else f"{2 ** (end - _BAND):,} to {2**end:,}"
