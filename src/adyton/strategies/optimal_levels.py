"""Which levels of a tree to measure, and how precisely: the best choice for a workload, on a line and for boxes.

Let H_j sum the blocks of 2^j cells. All H_jᵀH_j are diagonal in the Haar basis: H_jᵀH_j has the value 2^j on vectors
that are constant on the blocks of 2^j cells, and 0 on the rest. So measuring level j with weight w_j (noise of scale
Σw/(ε·w_j)) determines each Haar coefficient between the levels l and l + 1 with precision λ_l = Σ_{j≤l} w_j²·2^j, and

    total squared error = 2·(Σw)²/ε² · Σ_l T_l/λ_l,

where T_l is the part of the trace of WᵀW that lies between the levels l and l + 1. (Li et al., "Optimizing linear
counting queries under differential privacy", PODS 2010, for this one family of strategies.)

**Little data.** With few rows, coarse blocks are worth more than small ones (``signal_levels``). The worth of an answer
on small blocks depends on the data: for a Haar coefficient θ that is known with variance σ², the best linear estimate
has an error of θ²σ²/(θ² + σ²), so precision is wasted where θ is small. The table below was found by minimising the
mean logarithm of Σ_l t_l·θ²σ_l²/(θ² + σ_l²) over the Haar coefficients of real histograms with 4096 cells, for prefix
sums; for other domains and workloads it gives factors for the weights that are best without it.

**Boxes.** On a quadtree let P_l average a vector over the blocks of level l (0 = cells). The level matrices commute
again, so the error is the same with the size of a block of level j in place of 2^j, and T_l = tr(W(P_l − P_{l+1})Wᵀ). A
box covers parts of blocks: tr(W·P_l·Wᵀ) = Σ_q Π_axes Σ_blocks overlap²/size, without any matrix. Two to four levels
suffice: for all boxes of 128 × 128 cells, 1 × 1, 8 × 8 and the whole have 0.60 of the error of the cells alone.
Denoising after measuring, as in :func:`adyton.denoising.top_down.top_down`, already removes much of the error on the
finest levels, where nearly all blocks are empty: T_l is multiplied by 0.4 for the cells, and counts fully from l = 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries import AllRange, Hierarchy, Prefix, Queries, Ranges
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes, halving_axes, tree_of_halves
from adyton.queries.hierarchy import BlockTree
from adyton.solving.energies import held_energies, tree_energies
from adyton.strategies.base import Strategy
from adyton.whole import as_shape, halvings, whole

_NOTHING = 1e-12
"""Levels with less than this fraction of the energy count as having none."""
_STEPS, _LAST_STEPS, _FINALISTS, _CLOSE = 8, 300, 8, 1e-13
"""Steps for every set of levels, further steps, the number of best sets that get them, and the relative decrease of
the error below which the steps end.

Near an optimum a step takes the error nine tenths of the way; only sets with a superfluous level are slow."""
_LEAST = 1e-3
"""Levels with less weight than this are left out."""


@lru_cache(maxsize=64)
def _prefix_energy(cells: int) -> tuple[float, ...]:
    held = []
    for level in range(halvings(cells) + 1):
        size = 1 << level
        blocks, rest = divmod(cells, size)
        inside = blocks * (size + 1) * (2 * size + 1) / 6  # Σ_{k≤B} k²/B for the prefixes that end in a block of B
        after = size * (blocks * cells - size * (blocks * (blocks + 1) // 2))  # B for each prefix that ends later
        held.append(inside + after + (rest + 1) * (2 * rest + 1) / 6 * (rest > 0))
    return tuple(max(0.0, own - above) for own, above in itertools.pairwise([*held, 0.0]))


def prefix_energy(cells: int) -> Reals:
    """T_l of all prefix sums of this many cells.

    >>> prefix_energy(2)
    array([0.5, 2.5])
    """
    return np.array(_prefix_energy(whole(cells, "cells", 1)))


@lru_cache(maxsize=16)
def level_energy_of(workload: Queries) -> tuple[float, ...]:
    """T_l of any workload on one dimension.

    >>> level_energy_of(Prefix(2))
    (0.5, 2.5)
    """
    if isinstance(workload, Prefix):
        return _prefix_energy(workload.cells)
    held = held_energies(workload, tree_of_halves(workload.cells))
    return tuple(np.maximum(0.0, held - np.append(held[1:], 0.0)).tolist())


def squared_error(levels: LevelWeights, level_energy: npt.ArrayLike) -> float:
    """The total squared error Σ_q E(ŷ_q − y_q)² of least squares at ε = 1; divide by ε² for other values.

    >>> thirds = LevelWeights((1, 16, 256), (1 / 3, 1 / 3, 1 / 3))
    >>> round(math.sqrt(squared_error(thirds, prefix_energy(4096)) / 4096), 2)
    14.91
    """
    energy = np.asarray(level_energy, dtype=np.float64)
    own = np.zeros(energy.size)
    for size, weight in zip(levels.block_sizes, levels.weights, strict=True):
        own[size.bit_length() - 1] = weight**2 * size
    precision = np.cumsum(own)
    asked = energy > _NOTHING * energy.sum()
    if (precision[asked] == 0).any():
        return math.inf
    return float(2 * math.fsum(levels.weights) ** 2 * (energy[asked] / precision[asked]).sum())


def optimal_levels(cells: int, level_energy: npt.ArrayLike, most: int = 5) -> LevelWeights:
    """The levels, at most *most*, and weights with the least total squared error for a workload of these energies.

    There are many local optima, so all sets of levels are tried at once. For a set, with G_i the energy between a
    measured level and the next, 1/λ_i ≤ Σ_k (p_k²/(w_k²·2^k)), where p_k is the present share of level k in λ_i; the
    bound is tight at the present weights and least where w_k³ ∝ w_k⁴·2^k·Σ_{i≥k} G_i/λ_i². Each step lowers the error.

    >>> best = optimal_levels(4096, prefix_energy(4096))
    >>> best.block_sizes, [round(weight, 3) for weight in best.weights]
    ((1, 16, 128, 1024), [0.311, 0.222, 0.218, 0.249])
    """
    energy = np.asarray(level_energy, dtype=np.float64).reshape(-1)
    height = halvings(cells)
    if energy.size != height + 1 or not np.isfinite(energy).all() or (energy < 0).any():
        raise BadInput(f"level_energy must be {height + 1} finite numbers of at least 0, one per level of the tree.")
    return _optimal_levels(tuple(energy.tolist()), whole(most, "most", 1))


@lru_cache(maxsize=64)
def _optimal_levels(given: tuple[float, ...], most: int) -> LevelWeights:
    energy = np.array(given)
    if not energy.any():
        return LevelWeights((1,), (1.0,))
    energy = energy / energy.sum()
    finest = int(np.argmax(energy > _NOTHING))
    above = range(finest + 1, energy.size)
    best = min(
        (_best_of_size(energy, finest, above, size) for size in range(1, min(most, len(above) + 1) + 1)),
        key=lambda choice: choice[0],
    )
    kept = best[2] >= _LEAST
    weights = best[2][kept] / best[2][kept].sum()
    return LevelWeights(tuple((1 << best[1][kept]).tolist()), tuple(weights.tolist()))


def _best_of_size(energy: Reals, finest: int, above: range, size: int) -> tuple[float, npt.NDArray[np.int64], Reals]:
    """The least error over all sets of this many levels that include the finest, with its levels and weights."""
    chosen = np.array([(finest, *others) for others in itertools.combinations(above, size - 1)], dtype=np.int64).T
    reach = np.concatenate([[0.0], np.cumsum(energy)])
    ends = np.concatenate([chosen[1:], np.full((1, chosen.shape[1]), energy.size)])
    groups = reach[ends] - reach[chosen]  # the energy between each measured level and the next
    weights = np.full(chosen.shape, 1.0 / size)
    sizes = np.exp2(chosen.astype(np.float64))
    errors, weights = _descend(groups, sizes, weights, _STEPS)
    first = np.argsort(errors)[:_FINALISTS]
    errors, weights = _descend(groups[:, first], sizes[:, first], weights[:, first], _LAST_STEPS)
    winner = int(np.argmin(errors))
    return float(errors[winner]), chosen[:, first[winner]], weights[:, winner]


def _descend(groups: Reals, sizes: Reals, weights: Reals, steps: int) -> tuple[Reals, Reals]:
    """Lower the errors of many sets of levels (columns) together."""
    errors = np.full(weights.shape[1], math.inf)
    for _ in range(steps):
        precision = np.cumsum(np.square(weights) * sizes, axis=0)
        ratios = groups / precision
        before, errors = errors, ratios.sum(axis=0)  # with Σw = 1
        if (before - errors <= _CLOSE * errors).all():
            break
        pull = np.cumsum((ratios / precision)[::-1], axis=0)[::-1]  # Σ_{i≥k} G_i/λ_i²
        weights = np.cbrt(np.square(np.square(weights)) * sizes * pull)
        weights /= weights.sum(axis=0)
    return errors, weights


_DIGITS = 10_000
"""Shares are rounded to this denominator."""


@dataclass(frozen=True)
class LevelWeights:
    """Block sizes to measure, from the smallest to the largest, and the share of ε for each; the shares add up to 1."""

    block_sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def share(self, number: int) -> Fraction:
        """A weight as an exact share of a budget, rounded to four digits."""
        return Fraction(round(self.weights[number] * _DIGITS), _DIGITS)

    def variances(self, epsilon: float) -> tuple[float, ...]:
        """The variance 2/(w·ε)² of the noise in a block's answer, for each size.

        >>> LevelWeights((1, 4), (0.5, 0.5)).variances(2.0)
        (2.0, 2.0)
        """
        return tuple(2 / (weight * epsilon) ** 2 for weight in self.weights)

    def strategy(self, cells: int) -> Strategy:
        """The blocks of these sizes on a line."""
        return _on_line(self, cells)


@lru_cache(maxsize=32)
def _on_line(levels: LevelWeights, cells: int) -> Strategy:
    tree = BlockTree.of_sizes(cells, levels.block_sizes[::-1], root=False)
    return level_strategy(tree, levels.weights[::-1])


def level_strategy(tree: BlockTree, weights: npt.ArrayLike) -> Strategy:
    """All blocks of the levels with a positive weight, from the coarsest level on, each level with its weight.

    >>> from adyton.queries.domain_trees import boxes_in_boxes
    >>> print(level_strategy(boxes_in_boxes((4, 4)), [0.4, 0, 0.6]).queries)
    hierarchy of 17 blocks of 16 cells
    """
    given, levels = np.asarray(weights, dtype=np.float64), len(tree.boundaries)
    if given.shape != (levels,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise BadInput(f"weights must be {levels} numbers of at least 0, one per level and not all 0.")
    queries = Hierarchy.of_tree(tree, np.flatnonzero(given).tolist())
    return Strategy(queries, given[queries.query_levels()])


_SIGNALS = (25.0, 100.0, 400.0, 1600.0, 6400.0, 25600.0, 102400.0)
"""ε·rows, for each row of the table."""
_DEPTHS = (2.0, 5.0, 8.0, 12.0)
"""How often the domain is halved to get a block, for each column of the table."""
_WEIGHTS = (
    (0.769, 0.231, 0.0, 0.0),
    (0.625, 0.281, 0.094, 0.0),
    (0.528, 0.300, 0.115, 0.057),
    (0.476, 0.314, 0.142, 0.067),
    (0.431, 0.304, 0.180, 0.085),
    (0.378, 0.276, 0.209, 0.137),
    (0.249, 0.218, 0.222, 0.311),  # the optimal levels
)
_LEAST_SHARE = 0.02
"""Levels with less weight than this are left out."""


def signal_levels(cells: int, signal: float, level_energy: npt.ArrayLike | None = None) -> LevelWeights:
    """Block sizes and weights for ε·rows = *signal*; with plenty of data, the optimal levels.

    ``level_energy`` describes the workload (see above), all prefix sums if None.

    >>> few = signal_levels(4096, 100.0)
    >>> few.block_sizes, [round(weight, 3) for weight in few.weights]
    ((16, 128, 1024), [0.094, 0.281, 0.625])
    """
    if not math.isfinite(signal):
        raise BadInput(f"signal must be a finite number, ε times the number of rows, given {signal}.")
    best = optimal_levels(cells, prefix_energy(cells) if level_energy is None else level_energy)
    height = halvings(cells)
    factors = [_factor(height + 1 - size.bit_length(), signal) for size in best.block_sizes]
    weights = np.array(best.weights) * factors
    weights /= weights.sum()
    kept = weights >= min(_LEAST_SHARE, weights.max())
    sizes = np.array(best.block_sizes)[kept]
    return LevelWeights(tuple(sizes.tolist()), tuple((weights[kept] / weights[kept].sum()).tolist()))


def _factor(depth: int, signal: float) -> float:
    """The table's weight relative to the optimal one, interpolated between its rows and columns.

    A block deeper than the table is treated like one of the table's deepest with the same number of rows.
    """
    rows = max(1.0, signal) * 2.0 ** min(0.0, _DEPTHS[-1] - depth)
    place = min(max(math.log(rows), math.log(_SIGNALS[0])), math.log(_SIGNALS[-1]))
    logarithms = np.log(_SIGNALS)
    table = np.array(_WEIGHTS) / np.array(_WEIGHTS[-1])
    row = [np.interp(place, logarithms, column) for column in table.T]
    return max(1e-6, float(np.interp(depth, _DEPTHS, row)))


_MOST = 4
_ROUNDS = 40
_SMALL = 0.004
_DENOISED = 0.4
_SMOOTH = 3
_SCARCE = 0.01
_GRAIN = 4
"""Signals within a factor of e^(±1/8) of a grid value share its levels, which are then computed only once."""


def quadtree_levels(
    domain: int | Sequence[int], energies: npt.ArrayLike | None = None, *, denoised: bool = True
) -> Reals:
    """The shares of the budget with the least error, for each level from the cells (0) to the whole domain.

    *energies* are the T_l of a workload, those of all boxes if None. The best weights of every choice of at most four
    levels are found by fixed-point steps (the gradient vanishes where w_i = Σw·w_i²·s_i·Σ_{l≥i} T_l/λ_l² / Σ_l T_l/λ_l;
    each step moves half the way on the logarithmic scale), and the best choice is returned.

    >>> quadtree_levels((128, 128)).round(2)
    array([0.49, 0.  , 0.31, 0.  , 0.21, 0.  , 0.  , 0.  ])
    """
    sides = as_shape(domain)
    depth = halvings(max(sides))
    asked = _all_boxes(sides) if energies is None else np.asarray(energies, dtype=np.float64)
    if asked.shape != (depth + 1,) or not np.isfinite(asked).all() or (asked < 0).any() or not asked.any():
        raise BadInput(f"energies must be {depth + 1} numbers of at least 0, one per level and not all 0.")
    if denoised:
        asked = asked * _DENOISED ** np.maximum(0, 1 - np.arange(depth + 1) / _SMOOTH)
    blocks = [math.prod(_starts(side, level).size - 1 for side in sides) for level in range(depth + 1)]
    sizes = math.prod(sides) / np.array(blocks)
    finest = int(np.flatnonzero(asked > _NOTHING * asked.max())[0])
    choices = [
        (finest, *coarser)
        for number in range(_MOST)
        for coarser in itertools.combinations(range(finest + 1, depth + 1), number)
    ]
    weights = np.zeros((len(choices), depth + 1))
    for row, choice in zip(weights, choices, strict=True):
        row[list(choice)] = 1 / len(choice)
    for _ in range(_ROUNDS):
        shares, pull = _shares(weights, sizes, asked)
        weights *= np.sqrt(pull * weights * sizes / shares.sum(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
    best = weights[_shares(weights, sizes, asked)[0].sum(axis=1).argmin()]
    best[best < _SMALL] = 0
    return np.asarray(best / best.sum())


def rectangle_energies(domain: int | Sequence[int], lower: npt.ArrayLike, upper: npt.ArrayLike) -> Reals:
    """T_l of boxes from *lower* to *upper* (boxes × axes, both included), for each level from the cells upwards.

    >>> rectangle_energies((2, 2), [[0, 0], [0, 0]], [[0, 1], [1, 1]])
    array([1., 5.])
    """
    boxes = Ranges(as_shape(domain), lower, upper)
    halved = [(level,) * len(boxes.domain) for level in range(halvings(max(boxes.domain)) + 1)]
    return _differences(np.array([_within(boxes, often) for often in halved]))


def workload_energies(workload: Queries) -> Reals:
    """T_l of any workload."""
    if isinstance(workload, Ranges):
        return rectangle_energies(workload.domain, workload.lower, workload.upper)
    return _differences(held_energies(workload, boxes_in_boxes(workload.domain)))


@lru_cache(maxsize=16)
def halving_energies(workload: Queries) -> tuple[float, ...]:
    """T_l of any workload on the tree that halves one axis at a time, for each level from the cells upwards.

    >>> halving_energies(Ranges((2, 2), [[0, 0]], [[1, 1]]))
    (0.0, 0.0, 4.0)
    """
    if not isinstance(workload, Ranges):
        return tuple(_differences(held_energies(workload, halved_boxes(workload.domain))).tolist())
    axes = halving_axes(workload.domain)
    halved = [[axes[:level].count(axis) for axis in range(len(workload.domain))] for level in range(len(axes) + 1)]
    return tuple(_differences(np.array([_within(workload, often) for often in halved])).tolist())


def quadtree_stages(workload: Queries, signal: float) -> LevelWeights:
    """The finest block size and the share of each stage, the last stage first, for ε·rows per cell = *signal*.

    These are the levels of :func:`quadtree_levels` without the whole domain, with the T_l of the finest level
    multiplied by d and those above reduced less: with few rows, little can be learnt about small blocks, and most of
    the cells are finished early. d is the signal itself, limited to between 1/100 and 2/5.
    """
    return _stages(workload, round(_GRAIN * math.log(min(max(signal, _SCARCE), _DENOISED))))


@lru_cache(maxsize=64)
def _stages(workload: Queries, grains: int) -> LevelWeights:
    energies = workload_energies(workload)
    depth = energies.size - 1
    reduced = energies * math.exp(grains / _GRAIN) ** (1 - np.arange(depth + 1) / max(depth, 1))
    weights = quadtree_levels(workload.domain, reduced if reduced.any() else None, denoised=False)
    weights[-1] = 0.0 if weights[:-1].any() else 1.0
    return _by_halvings(workload.domain, weights)


@lru_cache(maxsize=16)
def denoised_levels(workload: Queries) -> LevelWeights:
    """The block sizes on the tree that halves one axis at a time, and their shares, that are best before denoising.

    >>> denoised_levels(Ranges((2, 2), [[0, 0]], [[1, 1]]))
    LevelWeights(block_sizes=(4,), weights=(1.0,))
    """
    energies = workload_energies(workload)
    return _by_halvings(workload.domain, quadtree_levels(workload.domain, energies if energies.any() else None))


def _by_halvings(domain: tuple[int, ...], weights: Reals) -> LevelWeights:
    depths = [halvings(side) for side in domain]
    levels = np.flatnonzero(weights)
    sizes = [1 << sum(min(int(level), depth) for depth in depths) for level in levels]
    return LevelWeights(tuple(sizes), tuple((weights[levels] / weights.sum()).tolist()))


def _shares(weights: Reals, sizes: Reals, energies: Reals) -> tuple[Reals, Reals]:
    """T_l/λ_l, and Σ_{l≥i} T_l/λ_l²; below the finest measured level there is no energy, and λ = 0."""
    precisions = np.cumsum(np.square(weights) * sizes, axis=1)
    known = np.where(precisions > 0, precisions, 1.0)
    shares = np.where(precisions > 0, energies / known, 0.0)
    return shares, np.cumsum((shares / known)[:, ::-1], axis=1)[:, ::-1]


def _starts(side: int, level: int) -> npt.NDArray[np.int64]:
    """Where the blocks of a level of :func:`.boxes_in_boxes` start along an axis, and where the last one ends."""
    parts = 1 << max(0, halvings(side) - level)
    return np.unique(-(-np.arange(parts + 1) * side // parts))


def _covered(lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> Reals:
    """Σ overlap²/size over the blocks that each interval meets: the first, the last, and whole ones between."""
    first, last = np.searchsorted(starts, lower, "right") - 1, np.searchsorted(starts, upper, "right") - 1
    sizes = np.diff(starts)
    ends = np.square(starts[first + 1] - lower) / sizes[first] + np.square(upper + 1 - starts[last]) / sizes[last]
    alone = np.square(upper + 1 - lower) / sizes[first]
    return np.asarray(np.where(first == last, alone, ends + starts[last] - starts[first + 1]))


def _within(boxes: Ranges, halved: Sequence[int]) -> float:
    """tr(W·P·Wᵀ) for blocks that are this many halvings above single cells along each axis."""
    covered = np.ones(boxes.count)
    for axis, (side, level) in enumerate(zip(boxes.domain, halved, strict=True)):
        covered *= _covered(boxes.lower[:, axis], boxes.upper[:, axis], _starts(side, level))
    return float(covered.sum())


@lru_cache(maxsize=32)
def _all_boxes(sides: tuple[int, ...]) -> Reals:
    """T_l of all boxes."""
    within = np.ones(halvings(max(sides)) + 1)
    for side in sides:
        for level in range(within.size):
            starts = _starts(side, level)
            (energies,) = tree_energies(AllRange(side), [starts], np.ones(side), None)
            within[level] *= float(energies @ np.diff(starts)) / AllRange(side).count
    return _differences(within)


def _differences(within: Reals) -> Reals:
    """tr(W·P_l·Wᵀ) − tr(W·P_{l+1}·Wᵀ), with rounding errors around 0 set to 0."""
    energies = within - np.append(within[1:], 0.0)
    return np.where(energies > _NOTHING * within[0], energies, 0.0)
