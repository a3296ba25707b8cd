"""Which tables to measure so that others can be answered, and which share of a budget to spend on each.

A row is in one cell of each table, so tables measured with ε·θ_S cost ε·Σθ. With the cell variances 2/θ_S² (in units of
1/ε²) everything else follows from :mod:`adyton.solving.residuals`: the measurements of the part T have the precision
D_T = Σ_{S ⊇ T} ½θ_S²/Π_{S∖T} n_i, and a cell of the table Q has the variance Var_Q = Σ_{T ⊆ Q} c_QT/D_T. The shares
minimise Σ_Q w_Q·n_Q·√Var_Q, the sum of all expected errors up to a factor, by L-BFGS in log θ.

**Covers.** When tables of pairs are requested, it can be better to measure larger tables that hold several pairs each.
Under pure ε each measured table takes a share of the budget, so fewer tables are each more precise. A pair Q out of a
table over S has the variance 2·n_S/(n_Q·θ_S²), and if S serves the pairs Q ⊆ S with weights w, their error is E_S/θ_S,
E_S = √n_S·Σ w_Q·√n_Q up to a factor. With the best shares, θ_S ∝ √E_S, the total error is (Σ_S √E_S)². So a table is
worth the amount by which it reduces Σ √E_S: six attributes of two cells in one table of 64 have a quarter of the error
of their 15 pairs. The tables are chosen greedily, the best ratio first, as in Chvátal, "A greedy heuristic for the
set-covering problem", 1979.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import listing

Group = tuple[str, ...]

STEPS = 1 << 40
"""Shares are multiples of the budget divided by this number."""
_NEGLIGIBLE = 1e-5
"""Shares below this fraction of the largest are set to 0 if that hardly changes the error."""
_START = 0.33
"""At the start of the optimisation, shares are proportional to this power of the number of cells."""


def table_shares(
    sides: Mapping[str, int],
    groups: Sequence[Group],
    asked: Sequence[Group] | None = None,
    weights: Sequence[float] | None = None,
    energies: Mapping[str, tuple[float, float]] | None = None,
) -> dict[Group, Fraction]:
    """For each of the *groups* that may be measured, its share of the budget; groups not worth measuring are left out.

    *asked* are the tables that matter (by default the *groups*), *weights* how much each of them matters. Where queries
    other than the cells are asked along some attributes, *energies* has the means over these queries w of
    Σ(w_i − mean)² and of mean², which are 1 − 1/n and 1/n² for cells. The shares are fractions on a public grid and sum
    to at most 1. They are cached.

    >>> shares = table_shares({"a": 2, "b": 8, "c": 8}, [("a", "b"), ("a", "c"), ("b", "c")])
    >>> {group: round(float(share), 3) for group, share in shares.items()}
    {('a', 'b'): 0.227, ('a', 'c'): 0.227, ('b', 'c'): 0.547}
    """
    wanted = tuple(groups) if asked is None else tuple(asked)
    importance = (1.0,) * len(wanted) if weights is None else tuple(map(float, weights))
    if len(importance) != len(wanted) or not all(math.isfinite(weight) and weight > 0 for weight in importance):
        raise BadInput(f"each of the {len(wanted)} tables needs a weight above 0, given {listing(importance)}.")
    along = tuple((energies or {}).items())
    return dict(_found(tuple(sides.items()), tuple(groups), wanted, importance, along))


@lru_cache(maxsize=64)
def _found(
    sides: tuple[tuple[str, int], ...],
    groups: tuple[Group, ...],
    asked: tuple[Group, ...],
    weights: tuple[float, ...],
    energies: tuple[tuple[str, tuple[float, float]], ...] = (),
) -> tuple[tuple[Group, Fraction], ...]:
    problem = _Problem.of(dict(sides), groups, asked, weights, dict(energies))
    return tuple((group, share) for group, share in zip(groups, on_grid(problem.solved()), strict=True) if share)


def on_grid(parts: Reals) -> list[Fraction]:
    """Fractions in proportion to *parts*, rounded down to the public grid: they sum to at most 1, exactly.

    >>> on_grid(np.array([1.0, 3.0]))
    [Fraction(1, 4), Fraction(3, 4)]
    """
    total = math.fsum(parts)
    steps = [math.floor(Fraction(part) / Fraction(total) * STEPS) for part in parts.tolist()]
    excess = sum(steps) - STEPS  # the float total may be slightly below the sum, by rounding
    if excess > 0:
        steps[int(np.argmax(parts))] -= excess
    return [Fraction(step, STEPS) for step in steps]


@dataclass(frozen=True, eq=False)
class _Problem:
    """Precisions are ``said @ θ²``, variances ``needed @ (1 / precisions)``."""

    said: Any
    needed: Any
    importance: Reals
    start: Reals

    @classmethod
    def of(
        cls,
        sides: Mapping[str, int],
        groups: Sequence[Group],
        asked: Sequence[Group],
        weights: Sequence[float],
        energies: Mapping[str, tuple[float, float]],
    ) -> _Problem:
        from scipy.sparse import csr_array

        along = {name: energies.get(name, (1 - 1 / side, 1 / side**2)) for name, side in sides.items()}
        parts = {part: number for number, part in enumerate(dict.fromkeys(_parts(asked)))}
        said, needed = [], []
        for column, group in enumerate(groups):
            for part in set(_parts([group])) & parts.keys():
                cells = math.prod(sides[name] for name in group if name not in part)
                said.append((0.5 / cells, parts[part], column))
        for row, group in enumerate(asked):
            for part in _parts([group]):
                inside = math.prod(along[name][0] for name in part)
                outside = math.prod(along[name][1] for name in group if name not in part)
                if inside:
                    needed.append((inside * outside, row, parts[part]))
        missing = {number for _, _, number in needed} - {number for _, number, _ in said}
        if missing:
            (lacking,) = [part for part, number in parts.items() if number == min(missing)]
            raise BadInput(f"no table that may be measured has {listing(sorted(lacking))}. Add one that has.")
        sizes = np.array([math.prod(sides[name] for name in group) for group in asked], dtype=np.float64)
        start = np.array([math.prod(sides[name] for name in group) ** _START for group in groups])
        return cls(
            _matrix(csr_array, said, (len(parts), len(groups))),
            _matrix(csr_array, needed, (len(asked), len(parts))),
            sizes * np.asarray(weights),
            start / start.sum(),
        )

    def error(self, shares: Reals) -> float:
        """The objective to minimise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = self.said @ shares**2
            variances = self.needed @ (1 / np.where(precisions > 0, precisions, 1e-300))
        return float(self.importance @ np.sqrt(variances))

    def logarithm(self, logs: Reals) -> tuple[float, Reals]:
        """The logarithm of the error and its gradient, for shares that are the softmax of *logs*."""
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        precisions = np.maximum(self.said @ shares**2, 1e-300)
        deviations = np.sqrt(self.needed @ (1 / precisions))
        error = float(self.importance @ deviations)
        slope = -(self.needed.T @ (self.importance / (2 * deviations))) / precisions**2
        by_share = 2 * shares * (self.said.T @ slope)
        return math.log(error), shares * (by_share - shares @ by_share) / error

    def solved(self) -> Reals:
        """The best shares; negligible shares are 0."""
        from scipy.optimize import minimize

        options: Any = {"maxiter": 500, "ftol": 1e-11, "gtol": 1e-7}
        result = minimize(self.logarithm, np.log(self.start), jac=True, method="L-BFGS-B", options=options)
        shares = np.exp(result.x - result.x.max())
        shares /= shares.sum()
        kept = np.where(shares > _NEGLIGIBLE * shares.max(), shares, 0.0)
        return kept if self.error(kept / kept.sum()) <= self.error(shares) * 1.0001 else shares


def _parts(groups: Sequence[Group]) -> list[Group]:
    """The subsets of each of the groups, with their names sorted."""
    return [
        part
        for group in groups
        for size in range(len(group) + 1)
        for part in itertools.combinations(sorted(group), size)
    ]


def _matrix(make: Any, entries: list[tuple[float, int, int]], shape: tuple[int, int]) -> Any:
    values, rows, columns = zip(*entries, strict=True)
    return make((values, (rows, columns)), shape=shape)


def mean_absolute(variance: float, measured: float = math.inf) -> float:
    """The mean of |error| of a cell with this variance, if its own measurement had the variance *measured*.

    It is √(Var/2) for Laplace noise alone and √(2Var/π) for a sum of many noises. In least squares, a part Var/measured
    of a cell's variance is from the cell's own noise: the excess kurtosis is about 3·(Var/measured)², and the mean
    falls in proportion to it from the second value to the first.

    >>> round(mean_absolute(2.0, 2.0), 3), round(mean_absolute(2.0), 3)
    (1.0, 1.128)
    """
    own = min(1.0, variance / measured) ** 2
    return math.sqrt(2 * variance / math.pi) * (1 - own * (1 - math.sqrt(math.pi) / 2))


MOST_CELLS = 1 << 14
"""The largest table that is measured to cover several pairs."""


def covering(
    sides: Mapping[str, int], pairs: Sequence[Group], weights: Sequence[float] | None = None
) -> tuple[Group, ...]:
    """Groups of attributes, in the order of *sides*, that hold all *pairs*, each at least once.

    *weights* say how much the error of each pair matters.

    >>> covering({"a": 2, "b": 2, "c": 3, "d": 90}, [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")])
    (('a', 'b', 'c'), ('c', 'd'))
    """
    names = list(sides)
    place = {name: number for number, name in enumerate(names)}
    cells = np.array([sides[name] for name in names], dtype=np.float64)
    spread, alone = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for (name, other), weight in zip(pairs, weights or [1.0] * len(pairs), strict=True):
        first, second = place[name], place[other]
        spread[first, second] = spread[second, first] = weight * math.sqrt(sides[name] * sides[other])
        alone[first, second] = alone[second, first] = math.sqrt(weight * sides[name] * sides[other])
    groups: list[Group] = []
    queue = [(0.0, place[name], place[other]) for name, other in pairs]
    heapq.heapify(queue)
    while queue:
        _, first, second = heapq.heappop(queue)
        if not alone[first, second]:
            continue
        ratio, group = _grown(cells, spread, alone, [first, second])
        if queue and ratio > queue[0][0]:  # a ratio only grows as pairs are covered: another pair may be the best now
            heapq.heappush(queue, (ratio, first, second))
            continue
        groups.append(tuple(names[member] for member in sorted(group)))
        inside = np.ix_(group, group)
        spread[inside] = alone[inside] = 0.0
    return tuple(groups)


def _grown(cells: Reals, spread: Reals, alone: Reals, start: list[int]) -> tuple[float, list[int]]:
    """Add attributes to a pair as long as the cost of the table falls relative to that of its pairs alone."""
    group, size = list(start), float(cells[start].prod())
    error, pairs = float(spread[start[0], start[1]]), float(alone[start[0], start[1]])
    ratio = (size**0.5 * error) ** 0.5 / pairs
    near, apart = spread[start].sum(axis=0), alone[start].sum(axis=0)
    while len(group) < cells.size:
        errors, sums = error + near, pairs + apart
        ratios = np.sqrt(np.sqrt(size * cells) * errors) / sums
        ratios[group] = np.inf
        ratios[size * cells > MOST_CELLS] = np.inf
        best = int(ratios.argmin())
        if ratios[best] >= ratio * (1 - 1e-9):
            break
        group.append(best)
        near, apart = near + spread[best], apart + alone[best]
        size, error, pairs, ratio = size * cells[best], float(errors[best]), float(sums[best]), float(ratios[best])
    return ratio, group
