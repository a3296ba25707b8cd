"""Trained selectors: votes of similar public inputs, the default, and the decision trees of the Pythia paper, one for
each representative workload."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.decision import Choice, Looks
from adyton.choice.decision_tree import (
    Leaf,
    Tree,
    all_features,
    check_tree,
    from_plain,
    in_words,
    most_features,
    to_plain,
    walk,
)
from adyton.choice.models import HARDLY, nearness, shrunk, usual_strength
from adyton.choice.selector import CELLS, Selector, Training, cheapest, feature_named, kind_of, reach, tie_of
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.exact import share as part_of_budget
from adyton.kernel.sources import VectorSource
from adyton.plans.registry import plan_named, plan_type
from adyton.queries import Queries
from adyton.solving.nonnegative import project_to_ball

_SIZE_WIDTH = 1.0
"""How far apart, in doublings, the numbers of cells of similar inputs are."""
_REACH_WIDTH = 0.1
"""How far apart the reaches of similar workloads are."""
_BUDGET_WIDTH = 1.5
"""How far apart, in doublings, the budgets of similar inputs are."""
_USUAL_WIDTH, _LARGEST_USUAL = 2.0, 2.0
"""The usual regret is the mean over inputs of all signals, and of sizes up to about two doublings apart. Regrets
above 2 count as 2, because the choice is hard between good algorithms."""
PLAIN = "identity"
_DIGITS = 5
_LARGEST = 1 << 24
COLUMNS = ("sizes", "reaches", "epsilons", "signals", "sources", "least", "logs")


@dataclass(frozen=True, eq=False)
class SimilarInputs(Selector):
    """Expects each algorithm to have the regret that it had on similar public inputs, and chooses the least.

    An input is similar if its domain has about the same size, its workload asks about a similar part of it, and its
    ε·rows is near the noisy count here: the weight of an input is the likelihood of the noisy count, given the input's
    own count. The count is bought only if, on the training inputs, choosing by it gains more than its price; the chosen
    algorithm uses it again. Where the error of an algorithm has a closed form, the error on the actual workload
    replaces the measured one.
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
    """ε·rows of each input."""
    sources: Reals
    """The number of the data set that each input comes from."""
    least: Reals
    """The logarithm of the least error, that of the best algorithm, cross-fitted; in the units of ``logs``."""
    logs: Reals
    """inputs × algorithms: the logarithm of the error relative to that of plain noise on every cell."""

    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Buy the noisy count if it pays, then count the votes."""
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
            notes += (f"{name} is taken because its errors are exact, and no other promises much smaller ones.",)
        return Choice(name, epsilon - looks.spent, looks.bought, regrets, notes, errors=errors)

    def features(self) -> frozenset[str]:
        """The noisy number of rows."""
        return frozenset(["scale"])

    def pays(self, votes: Votes, usable: Sequence[str]) -> bool:
        """Whether buying the noisy count pays, by these votes."""
        return votes.pays(float(1 / self.share), self.prices(usable))

    def prices(self, usable: Sequence[str]) -> Reals:
        """The factor on the error of each algorithm if the count is bought; 1 for algorithms that buy it anyway."""
        return np.array([1.0 if plan_type(name).buys_total else 1 / (1 - float(self.share)) for name in usable])

    def learnt(self) -> dict[str, Any]:
        """The table of training inputs."""
        return {name: _rounded(getattr(self, name)).tolist() for name in COLUMNS}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> SimilarInputs:
        """The selector with this table."""
        logs = np.asarray(learnt["logs"], dtype=np.float64)
        given = {"least": logs.min(axis=-1), **learnt}  # not in files of earlier versions
        columns = [np.asarray(given[name], dtype=np.float64) for name in COLUMNS[:-1]]
        sizes, reaches, budgets, signals, sources, least = columns
        rows = logs.shape[0] if logs.ndim == 2 else 0
        if not rows or logs.shape[1] != len(training.algorithms) or any(column.shape != (rows,) for column in columns):
            raise BadInput("this is not a selector by similar inputs: its columns do not have the same length.")
        if not all(np.isfinite(column).all() for column in (*columns, logs)) or signals.min() < 0:
            raise BadInput("this is not a selector by similar inputs: not all of its entries are numbers.")
        if np.unique(signals).size ** 2 * np.unique(sources).size > _LARGEST:
            raise BadInput("a selector by similar inputs has too many signals and data sets. Train it at fewer scales.")
        return cls(training, part_of_budget(share, "share"), sizes, reaches, budgets, signals, sources, least, logs)

    def in_words(self) -> str:
        """Which algorithm wins where: a table for each workload, by the number of cells (down) and ε·rows (across)."""
        return "\n\n".join(_table(summary, self.training.dimensions) for summary in winners(self, bands))


def _rounded(values: Reals) -> Reals:
    """The values, rounded to a few significant digits."""
    magnitude = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.maximum(np.abs(values), 1e-30))))
    return np.asarray(np.rint(values * magnitude) / magnitude)


@lru_cache(maxsize=64)
def counted(
    selector: SimilarInputs, workload: Queries, epsilon: Fraction, usable: tuple[str, ...]
) -> tuple[float, Votes, Votes]:
    """The error of plain noise, and the votes of similar inputs on regrets and on logarithms of errors: all public."""
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
    """The exact error, if the plan knows it; the error of least squares says little about a plan that denoises."""
    plan = plan_named(name)
    if not plan.linear or plan.serves.data_dependent:
        return None
    try:
        error = plan.expected_error(workload, epsilon)
    except BadInput:
        return None
    return error.total if error.kind in ("exact", "estimate") else None


_SIGNAL_WIDTH = 0.5
"""How far apart the signals of similar inputs are, as a fraction of the signal."""
_QUANTILES = np.log([[0.25], [0.75]]) * [1.0, -1.0]  # of the Laplace law at 1/8, 3/8, 5/8 and 7/8, in scales
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class Votes:
    """Training inputs with similar public properties, in cells of equal signal and equal data set.

    A signal is ε·rows. What is known about the signal here decides how much each cell counts.
    """

    signals: Reals
    """The different signals."""
    weights: Reals
    """signals × data sets: the number of inputs, each weighted by its similarity."""
    regrets: Reals
    """signals × data sets × algorithms: the sum of their regrets, with the same weights."""
    usual: Reals
    """The expected regret of each algorithm if no input is similar."""
    strength: float
    """The number of inputs that the usual regret counts for."""

    @classmethod
    def of(
        cls,
        weights: Reals,
        signals: Reals,
        sources: npt.NDArray[np.int64],
        regrets: Reals,
        usual: Reals,
        strength: float,
    ) -> Votes:
        """From single inputs, without those that hardly count."""
        near = np.flatnonzero(weights > _LEAST * weights.max())
        levels, place = np.unique(signals[near], return_inverse=True)
        sets, held = np.unique(sources[near], return_inverse=True)
        counts = np.zeros((levels.size, sets.size))
        sums = np.zeros((levels.size, sets.size, regrets.shape[1]))
        np.add.at(counts, (place, held), weights[near])
        np.add.at(sums, (place, held), weights[near, None] * regrets[near])
        return cls(levels, counts, sums, usual, strength)

    def shares(self, noisy: npt.ArrayLike, noise: float) -> Reals:
        """noisy values × signals: how much each signal counts if a count with Laplace noise of this scale has that
        value: the likelihood of the value for a similar signal."""
        scale = np.sqrt(noise**2 + np.square(_SIGNAL_WIDTH * self.signals)) + 1e-9
        exponent = -np.abs(np.asarray(noisy)[..., None] - self.signals) / scale - np.log(scale)
        return np.asarray(np.exp(exponent - exponent.max(axis=-1, keepdims=True)))

    def expected(self, shares: Reals | None = None) -> Reals:
        """(noisy values ×) algorithms: the expected regret, over all signals or by how much each counts."""
        counts = np.ones(self.signals.size) if shares is None else shares
        votes = counts @ self.weights.sum(axis=1)
        return self._mean(counts @ self.regrets.sum(axis=1), votes)

    def pays(self, noise: float, prices: Reals) -> bool:
        """Whether buying a noisy count lowers the regret by more than it costs.

        Judged on the training inputs at four typical values of the noise; only the other data sets vote on an input, if
        there are others. *prices* are the factors on the error of each algorithm if the count is bought.
        """
        alone = self.weights.shape[1] == 1
        others = self.weights if alone else self.weights.sum(axis=1, keepdims=True) - self.weights
        others_regrets = self.regrets if alone else self.regrets.sum(axis=1, keepdims=True) - self.regrets
        shares = self.shares(self.signals[:, None] + noise * _QUANTILES.ravel(), noise)
        seen = self._mean(np.einsum("uqv,vsa->uqsa", shares, others_regrets), np.einsum("uqv,vs->uqs", shares, others))
        blind = self._mean(others_regrets.sum(axis=0), others.sum(axis=0))
        own = self.regrets[:, None]
        after = np.take_along_axis(
            np.broadcast_to(own * prices, seen.shape), np.argmin(seen, axis=-1)[..., None], axis=-1
        )
        before = np.take_along_axis(self.regrets.sum(axis=0), np.argmin(blind, axis=-1)[:, None], axis=-1)
        return float(after.mean(axis=1).sum()) < float(before.sum())

    def _mean(self, sums: Reals, votes: Reals) -> Reals:
        return shrunk(sums, votes, self.usual, self.strength)


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
    """By number of cells and group: the algorithm, and its mean regret. Groups without inputs are missing."""


def winners(selector: SimilarInputs, group: Callable[[Reals], Reals] = np.rint) -> list[Winners]:
    """One summary for each workload; *group* maps a logarithm to base 2 of ε·rows to its group.

    The rows of the selector are those of the first workload, then those of the second, and so on.
    """
    about, rows = selector.training, len(selector.sizes)
    regrets = np.exp(selector.logs - selector.logs.min(axis=1, keepdims=True))
    cells = np.rint(np.exp2(selector.sizes)).astype(np.int64)
    groups = group(np.log2(np.maximum(selector.signals, 2.0**-60))).astype(np.int64)
    apart = rows == about.inputs * len(about.workloads)
    parts = np.split(np.arange(rows), len(about.workloads)) if apart else [np.arange(rows)]
    summaries = []
    for name, part in zip(about.workloads if apart else ("all workloads",), parts, strict=True):
        best = {}
        for place in sorted(set(zip(cells[part].tolist(), groups[part].tolist(), strict=True))):
            here = part[(cells[part] == place[0]) & (groups[part] == place[1])]
            means = regrets[here].mean(axis=0)
            best[place] = about.algorithms[int(np.argmin(means))], float(means.min())
        sizes, signals = (tuple(sorted({place[axis] for place in best})) for axis in (0, 1))
        summaries.append(Winners(name, sizes, signals, best))
    return summaries


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


@dataclass(frozen=True, eq=False)
class TreeSelector(Selector):
    """Walks down a tree and buys each feature when the tree first asks for it, and no others.

    Each feature costs share·ε / d, where d is the largest number of private features on a path of the tree: no path can
    cost more than share·ε, and what a path does not spend goes to the algorithm.

    Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
    SIGMOD 2017, Algorithm 3.
    """

    kind = "tree"
    usual_share: ClassVar[Fraction] = Fraction(1, 100)

    training: Training
    share: Fraction
    trees: dict[str, Tree]
    """The tree of each representative workload."""

    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Walk down the tree of the workload's kind."""
        self.check(workload, epsilon)
        usable, notes = self.available(workload, ordered=ordered)
        tree = self.trees[kind_of(workload, self.trees)]
        public = {CELLS: float(x.cells)} | ({} if total is None else {"scale": float(epsilon) * total})
        price = self.share * epsilon / max(1, most_features(tree, frozenset(public)))
        looks = Looks(lambda feature: feature_named(feature).buy(x, epsilon, price), public)
        leaf, _ = walk(tree, looks)
        name = leaf.algorithm if leaf.algorithm in usable else cheapest(leaf.regrets.items(), usable)
        choice = Choice(name, epsilon - looks.spent, looks.bought, leaf.regrets, notes)
        single = len(workload.domain) == 1 and kind_of(workload, self.trees) == "identity"
        return replace(choice, finished=single and choice.total is not None)

    def features(self) -> frozenset[str]:
        """The private features that the trees ask for."""
        return frozenset[str]().union(*map(all_features, self.trees.values())) - {CELLS}

    def finish(self, cells: Reals, choice: Choice, workload: Queries) -> Reals:
        """For single cells on a line: the nearest estimate whose absolute values add up to at most
        the noisy number of rows plus the scale of its noise."""
        if choice.total is None or not choice.finished:
            return cells
        most = float(choice.total.value) + float(1 / choice.total.epsilon)
        return project_to_ball(cells, np.maximum(0.0, most))

    def learnt(self) -> dict[str, Any]:
        """The trees."""
        return {name: to_plain(tree) for name, tree in self.trees.items()}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> TreeSelector:
        """The selector with these trees."""
        if not isinstance(learnt, dict) or not learnt or training.dimensions > 2:
            raise BadInput("this is not a tree selector for one or two dimensions: it has no trees.")
        trees = {str(name): from_plain(tree) for name, tree in learnt.items()}

        def check_leaf(leaf: Leaf) -> None:
            if leaf.algorithm not in training.algorithms or leaf.regrets.keys() != set(training.algorithms):
                raise BadInput("a tree ends in algorithms that are not those of the selector.")
            if not np.isfinite(list(leaf.regrets.values())).all():
                raise BadInput("a tree ends in regrets that are not numbers.")

        for tree in trees.values():
            check_tree(tree, check_leaf, lambda feature: feature == CELLS or feature_named(feature))
        return cls(training, part_of_budget(share, "share"), trees)

    def in_words(self) -> str:
        """The trees, one question per line."""

        def leaf_in_words(leaf: Leaf) -> str:
            return f"{leaf.algorithm} (expected regret {leaf.regrets[leaf.algorithm]:.3f})"

        return "\n\n".join(f"{name}:\n{in_words(tree, leaf_in_words, '  ')}" for name, tree in self.trees.items())
