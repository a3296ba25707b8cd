"""Hierarchies of blocks that depend on the domain alone: H2, HB, the quadtree, and the wavelet of Privelet."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from adyton.queries import AllRange, Haar, Hierarchy, Identity, Kronecker, Total
from adyton.queries.block_tree import BlockTree
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.solving.energies import tree_energies
from adyton.strategies.base import Strategy

_TALLEST_QUADTREE = 10
_REMEMBERED = 32
_TALLER = 1.1**2


@lru_cache(maxsize=_REMEMBERED)
def identity(domain: tuple[int, ...]) -> Strategy:
    """Every cell."""
    return Strategy(Identity(domain))


@lru_cache(maxsize=_REMEMBERED)
def total(domain: tuple[int, ...]) -> Strategy:
    """The total alone."""
    return Strategy(Total(domain))


@lru_cache(maxsize=_REMEMBERED)
def h2(domain: tuple[int, ...]) -> Strategy:
    """A binary tree with all of its levels (Hay et al., "Boosting the accuracy of differentially private histograms
    through consistency", PVLDB 2010), but for the root, which its two halves tell well enough."""
    return Strategy(_without_root(boxes_in_boxes(domain)))


@lru_cache(maxsize=_REMEMBERED)
def hb(domain: tuple[int, ...]) -> Strategy:
    """A tree without its root, with the branching that suits the domain (Qardaji et al., "Understanding hierarchical
    methods for differentially private histograms", PVLDB 2013)."""
    return Strategy(_without_root(boxes_in_boxes(domain, branching(domain))))


@lru_cache(maxsize=256)
def branching(domain: tuple[int, ...]) -> int:
    """Into how many parts HB cuts each axis.

    In one dimension, the b with the least (b − 1)h³ − 2(b + 1)h²/3, for trees of height h = ⌈log_b n⌉. In more, the
    b with the least error over all boxes; taller trees, which are worse on single cells, must be 10% better.

    >>> branching((4096,)), branching((32, 32)), branching((128, 128))
    (16, 32, 25)
    """
    side = max(domain)
    if len(domain) == 1:
        return min(_least_branchings(side), key=lambda b: _average_variance(b, side))
    return min(range(2, max(3, side + 1)), key=lambda b: _box_error(domain, b))


def _least_branchings(cells: int) -> list[int]:
    """For every height of a tree the least branching that reaches the cells: the average variance rises with it.

    >>> _least_branchings(100)
    [2, 3, 4, 5, 10, 100]
    """
    found, b = [], 2
    while b < cells:
        found.append(b)
        height = 1
        while b**height < cells:
            height += 1
        b = round(cells ** (1 / (height - 1))) - 1  # a little below the least one of a lower tree, which is above b
        while b ** (height - 1) < cells:
            b += 1
    return [*found, max(2, cells)]


def _average_variance(b: int, cells: int) -> float:
    height = 1
    while b**height < cells:
        height += 1
    return (b - 1) * height**3 - 2 * (b + 1) * height**2 / 3


def _box_error(domain: tuple[int, ...], b: int) -> float:
    """The mean squared error over all boxes, in units of the noise, as if all blocks of a level were equal.

    With u the variance of a block's sum from what was measured inside it, and U that of its children's sum, the error
    is Σ_levels (u − U)·(mean energy of the level): see :mod:`adyton.solving.trees`.
    """
    height = 1
    while b**height < max(domain):
        height += 1
    noise = float(height**2)
    error = known = blocks = 0.0
    for level in range(height, 0, -1):  # from the cells upwards, the root excluded
        parts = [min(side, b**level) for side in domain]
        below = known * blocks / math.prod(parts)
        known = 1 / (1 / noise + 1 / below) if below else noise
        blocks = math.prod(parts)
        error += (known - below) * math.prod(_mean_energy(*axis) for axis in zip(domain, parts, strict=True))
    return error * _TALLER**height


@lru_cache(maxsize=4096)
def _mean_energy(side: int, parts: int) -> float:
    """The mean over all intervals of Σ (part of a block that is covered)², over the equal blocks of an axis."""
    intervals = AllRange(side)
    (energies,) = tree_energies(intervals, [np.arange(parts + 1) * side // parts], np.ones(side), None)
    return float(energies.sum()) / intervals.count


@lru_cache(maxsize=_REMEMBERED)
def quadtree(domain: tuple[int, ...]) -> Strategy:
    """Every axis is halved, down to cells or ten times; the budget grows by 2^(1/3) from each level to the next
    (Cormode et al., "Differentially private spatial decompositions", ICDE 2012)."""
    tree = boxes_in_boxes(domain)
    kept = Hierarchy(domain, tree.boundaries[: _TALLEST_QUADTREE + 1], tree.order)
    return Strategy(kept, np.exp2(kept.query_levels() / 3))


@lru_cache(maxsize=_REMEMBERED)
def privelet(domain: tuple[int, ...]) -> Strategy:
    """The Haar wavelet along every axis (Xiao et al., "Differential privacy via wavelet transforms", ICDE 2010)."""
    waves = [Haar(side) for side in domain]
    return Strategy(waves[0] if len(waves) == 1 else Kronecker(waves))


def _without_root(tree: BlockTree) -> Hierarchy:
    return Hierarchy(tree.domain, tree.boundaries[1:] or tree.boundaries, tree.order)
