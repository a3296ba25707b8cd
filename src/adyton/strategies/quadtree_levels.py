"""Which levels of a quadtree to measure, and how precisely, for a workload of boxes.

Let P_l average a vector over the blocks of level l (0 = cells), and w_l be the level's share of the budget. The level
matrices commute, so least squares has the total squared error

    2/ε² · (Σw)² · Σ_l T_l / λ_l,    λ_l = Σ_{i≤l} w_i²·s_i,

with s_i the size of a block of level i, and T_l = tr(W(P_l − P_{l+1})Wᵀ) how much of the workload lives on level l and
not above. A box covers parts of blocks: tr(W·P_l·Wᵀ) = Σ_q Π_axes Σ_blocks overlap²/size, without any matrix. Two to
four levels suffice: for all boxes of 128 × 128 cells, 1 × 1, 8 × 8 and the whole have 0.60 of the error of the cells
alone.

What is denoised after measuring, as by :func:`adyton.denoising.top_down.top_down`, loses much of its error on the
finest levels already, where nearly all is empty: T_l counts for 0.4 of itself for the cells, and fully from l = 3 on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries import AllRange, Queries, Ranges
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes, halving_axes
from adyton.solving.energies import held_energies, tree_energies
from adyton.strategies.optimal_levels import LevelWeights
from adyton.whole import as_shape, halvings

_MOST = 4
_ROUNDS = 40
_SMALL = 0.004
_NOTHING = 1e-12
_DENOISED = 0.4
_SMOOTH = 3
_SCARCE = 0.01
_GRAIN = 4
"""Parts of T_l that differ by less than e^(1/8) are treated alike, so that their levels are computed once."""


def quadtree_levels(
    domain: int | Sequence[int], energies: npt.ArrayLike | None = None, *, denoised: bool = True
) -> Reals:
    """The share of the budget for each level, from the cells (0) to the whole domain, with the least error.

    *energies* are the T_l of a workload, those of all boxes if None. The best weights of every choice of at most four
    levels are found by fixed-point steps (the gradient vanishes where w_i = Σw·w_i²·s_i·Σ_{l≥i} T_l/λ_l² / Σ_l T_l/λ_l;
    each step goes half the way in logarithms), and the best choice is returned.

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
    """The finest block size and the share of each stage, the last first, for ε·rows per cell = *signal*.

    These are the levels of :func:`quadtree_levels` without the whole domain, with the T_l of the finest levels reduced
    to a part d of themselves, and those above by less: where there are few rows, little can be learnt about small
    blocks, and most of the cells are finished early. d is the signal itself, between 1/100 and 2/5.
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
    """Block sizes on the tree that halves one axis at a time, and their shares, that are best when denoising follows.

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
    """tr(W·P·Wᵀ) for blocks whose axes are halved so often until one cell is left."""
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
    """tr(W·P_l·Wᵀ) − tr(W·P_{l+1}·Wᵀ), without what rounding leaves of zeros."""
    energies = within - np.append(within[1:], 0.0)
    return np.where(energies > _NOTHING * within[0], energies, 0.0)
