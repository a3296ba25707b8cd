"""Improving a least-squares estimate from the levels of a tree: shrinking blocks together, and monotone prefix sums.

``james_stein`` makes the children of a block alike where they differ by no more than their noise; ``polya_tree`` learns
from the noisy tree itself how unevenly blocks divide (empirical Bayes); ``monotone_prefix`` is isotonic regression of
the prefix sums. The noise of an estimate from whole levels is independent in every Haar coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.hierarchy import BlockTree
from adyton.whole import whole

STRENGTH = 0.9
"""How much of the noise's expected squared norm is subtracted; James and Stein subtract all but a part 2/(m − 1)."""
_FEWEST = 4
"""With three children or fewer, shrinking can increase the error."""


def james_stein(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> Reals:
    """Shrink a least-squares estimate from the levels of a tree, block by block, from the top downwards.

    The blocks of each of *block_sizes* (powers of two, ascending) were measured, with noise of the given *variances*.
    Inside a block, let c be the differences of its m children (the blocks of the next smaller size) from even shares.
    They carry noise of variance σ² each, and become c·max(0, 1 − s·(m − 1)σ²/‖c‖²) for the strength s (James and Stein,
    "Estimation with quadratic loss", 1961); the sum of the block is kept. Cells are along the last axis.

    >>> flat = james_stein([4.0, 6.0, 5.0, 5.0, 101.0, 99.0, 100.0, 100.0], [1, 4], [2.0, 2.0])
    >>> flat.round(2).tolist()
    [5.0, 5.0, 5.0, 5.0, 100.0, 100.0, 100.0, 100.0]
    """
    noise = level_noise(estimate, block_sizes, variances)
    cells = noise.estimate.shape[-1]
    sizes = [size for size in noise.block_sizes[::-1] if size < cells]
    tree = BlockTree.of_sizes(cells, sizes)
    sums = [tree.sums(noise.estimate, len(sizes))]
    for level in range(len(sizes) - 1, -1, -1):
        sums.append(tree.sums(sums[-1], level))
    shrunk = sums.pop()
    whole = shrunk
    for level, size in enumerate(sizes):
        counts, widths = np.diff(tree.children[level]), np.diff(tree.boundaries[level + 1])
        even = widths / tree.spread(np.diff(tree.boundaries[level]).astype(np.float64), level)
        parts = sums.pop()
        apart = parts - tree.spread(whole, level) * even
        norms = tree.sums(np.square(apart), level)
        surplus = STRENGTH * (counts - 1) * noise.sum_variance(size)
        kept = np.where(counts < _FEWEST, 1.0, 1 - surplus / np.maximum(norms, surplus + np.finfo(float).tiny))
        shrunk = tree.spread(shrunk, level) * even + tree.spread(kept, level) * apart
        whole = parts
    return np.asarray(tree.spread(shrunk / np.diff(tree.boundaries[-1]), len(sizes)))


SPREADS = (0.0, 0.1, 0.3, 1.0)
"""The τ of the mixture: from blocks whose halves differ only by chance to blocks with all rows on one side."""
EM_STEPS = 3
INHERITED = 0.6
"""How much of a block's mixture is its parent's posterior; the rest is the level's own mixture."""


def polya_tree(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> Reals:
    """Shrink a least-squares estimate from the levels of a tree: the differences between halves of blocks, top-down.

    The blocks of each of *block_sizes* (powers of two, ascending) were measured, with noise of the given *variances*.
    Then the difference d̂ of a block's halves has independent noise of a known variance S². A block of M rows is assumed
    to divide with d ~ Σ_k π_k·N(0, v_k), v_k = τ_k²M² + M: rows fall on either side by chance (M), and the halves
    differ by a factor τ of their sum. Each component gives the posterior mean d̂·v/(v + S²). The weights π are fitted to
    each level by EM and mixed with the posterior of the parent, because even regions have even parts (after Ferguson,
    "Prior distributions on spaces of probability measures", 1974, and Kolaczyk, "Bayesian multiscale models for Poisson
    processes", 1999). Sums are kept on the way down, and nothing is cut off at 0: that would bias sums upwards.
    Cells are along the last axis.

    >>> polya_tree([4.0, 6.0, 5.0, 5.0, 101.0, 99.0, 300.0, 100.0], [1], [50.0]).round(1).tolist()
    [4.8, 5.4, 5.1, 5.1, 100.9, 99.2, 299.5, 100.1]
    """
    noise = level_noise(estimate, block_sizes, variances)
    shrunk = np.empty_like(noise.estimate)
    for place in np.ndindex(shrunk.shape[:-1]):
        shrunk[place] = _shrunk(noise.estimate[place], noise)
    return shrunk


def _shrunk(cells: Reals, noise: LevelNoise) -> Reals:
    """Shrink from the domain down to the cells. Block 1 is the domain, the halves of block v are 2v and 2v + 1."""
    height, parts, spreads = (cells.size - 1).bit_length(), len(SPREADS), np.array(SPREADS)
    width = 1 << height
    sums, shrunk, belief = np.zeros(2 * width), np.empty(2 * width), np.empty((2 * width, parts))
    sums[width : width + cells.size] = cells
    for level in range(height):
        first = width >> level
        sums[first // 2 : first] = sums[first : 2 * first : 2] + sums[first + 1 : 2 * first : 2]
    mixture = np.full(parts, 1 / parts)
    shrunk[1], belief[1] = sums[1], mixture
    for level in range(height - 1, -1, -1):
        size, first = 1 << level, width >> (level + 1)
        blocks = -(-cells.size // (2 * size))  # those that hold cells
        own, left, right = (slice(first * k + j, (first + blocks) * k + j, k) for k, j in ((1, 0), (2, 0), (2, 1)))
        held = cells.size - 2 * size * (blocks - 1)  # cells of the last block, whose halves may be unequal
        even = np.zeros(blocks)
        even[-1] = (2 * min(size, held) - held) / held
        variance, inherited = 2 * noise.sum_variance(size), 1.0
        likelihood, means = np.ones((blocks, parts)), np.zeros((blocks, parts))
        if variance < np.inf:
            excess = (sums[left] - sums[right] - sums[own] * even)[:, None]  # what even shares do not explain
            rows = np.maximum(shrunk[own], 0.0)[:, None]
            prior = np.square(spreads * rows) + rows  # τ²M² + M
            whole = prior + variance
            means = excess * (prior / whole)
            logs = -0.5 * (excess * excess / whole + np.log(whole))
            likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
            mixture, inherited = _fit(mixture, belief[own], likelihood), INHERITED
        weights = ((1 - inherited) * mixture + inherited * belief[own]) * likelihood
        weights /= weights.sum(axis=1, keepdims=True)
        belief[left] = belief[right] = weights
        difference = shrunk[own] * even + np.where(even < 1, (weights * means).sum(axis=1), 0.0)
        shrunk[left], shrunk[right] = (shrunk[own] + difference) / 2, (shrunk[own] - difference) / 2
    return shrunk[width : width + cells.size]


def _fit(mixture: Reals, belief: Reals, likelihood: Reals) -> Reals:
    """The level's own mixture by EM, starting from that of the level above; one additional block counts as even."""
    for _ in range(EM_STEPS):
        own = (1 - INHERITED) * mixture
        total = ((own + INHERITED * belief) * likelihood).sum(axis=1, keepdims=True)
        counts = 1 / mixture.size + (own * likelihood / total).sum(axis=0)
        mixture = counts / counts.sum()
    return mixture


@dataclass(frozen=True, eq=False)
class LevelNoise:
    """A least-squares estimate of the cells, from the blocks of some sizes, each size with noise of one variance."""

    estimate: Reals
    block_sizes: tuple[int, ...]
    variances: tuple[float, ...]

    def sum_variance(self, size: int) -> float:
        """The variance of a block's sum, estimated from the measured blocks inside it; infinite if there are none.

        Each measured level of blocks of s ≤ size cells with variance v gives the sum with variance v·size/s.
        """
        pairs = zip(self.block_sizes, self.variances, strict=True)
        precision = sum(own / (variance * size) for own, variance in pairs if own <= size)
        return 1 / precision if precision > 0 else np.inf


def level_noise(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> LevelNoise:
    """Check an estimate with its cells along the last axis, and keep it with its noise.

    >>> level_noise([1.0, 2.0], [1, 2], [4.0, 8.0]).sum_variance(2)
    4.0
    """
    cells = np.asarray(estimate, dtype=np.float64)
    if cells.ndim == 0 or cells.shape[-1] == 0 or not np.isfinite(cells).all():
        raise BadInput(f"an estimate must be finite numbers for at least one cell, given an array of {cells.shape}.")
    sizes = tuple(whole(size, "block_sizes", 1) for size in block_sizes)
    if not sizes or any(size & (size - 1) for size in sizes) or list(sizes) != sorted(set(sizes)):
        raise BadInput(f"block_sizes must be powers of two in ascending order, given {shorten(block_sizes)}.")
    noise = tuple(float(variance) for variance in variances)
    if len(noise) != len(sizes) or not all(0 < variance < np.inf for variance in noise):
        raise BadInput(f"variances must be one finite number above 0 per block size, given {shorten(variances)}.")
    return LevelNoise(cells, sizes, noise)


def isotonic(values: npt.ArrayLike) -> Reals:
    """The non-decreasing sequences with the least Σ (f_i − y_i)², along the last axis.

    Computed by pooling adjacent violators, in linear time (Ayer et al., "An empirical distribution function for
    sampling with incomplete information", 1955). The set of non-decreasing sequences is convex, so where the truth is
    one of them, the result is never farther from it than *values*, whatever the noise was.

    >>> isotonic([1.0, 3.0, 2.0, 2.0, 5.0]).round(3).tolist()
    [1.0, 2.333, 2.333, 2.333, 5.0]
    """
    given = _read(values)
    result, means, ends = np.empty_like(given), np.empty(given.shape[-1]), np.empty(given.shape[-1], dtype=np.int64)
    for place in np.ndindex(given.shape[:-1]):
        pools = _pool_adjacent_violators(given[place], means, ends)
        result[place] = np.repeat(means[:pools], np.diff(ends[:pools], prepend=0))
    return result


@compiled
def _pool_adjacent_violators(values: Reals, means: Reals, ends: Places) -> int:
    """Fill in the means of the pools and where they end; returns the number of pools.

    The pools so far have rising means. A new value is a pool of its own; as long as the pool before it has a mean that
    is not smaller, the two are merged. Each value is pooled once, so the time is linear.
    """
    pools = 0
    for place in range(len(values)):
        mean, first = values[place], place
        while pools > 0 and means[pools - 1] >= mean:
            pools -= 1
            start = ends[pools - 1] if pools > 0 else 0
            mean += (means[pools] - mean) * ((first - start) / (place + 1 - start))
            first = start
        means[pools], ends[pools] = mean, place + 1
        pools += 1
    return pools


def monotone_prefix(cells: npt.ArrayLike) -> Reals:
    """The non-negative cells whose prefix sums are nearest to those of *cells*, along the last axis.

    This is the projection in the metric of the prefix sums: it brings them, as a vector, closer to the truth, whatever
    the noise was. Setting negative cells to 0 does not: every later sum grows by what was added.

    >>> monotone_prefix([2.0, -1.0, 3.0, 0.0])
    array([1.5, 0. , 2.5, 0. ])
    """
    given = _read(cells)
    sums = np.maximum(0.0, isotonic(np.cumsum(given, axis=-1)))
    return np.diff(sums, axis=-1, prepend=0.0)


def _read(values: npt.ArrayLike) -> Reals:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim == 0 or not np.isfinite(given).all():
        raise BadInput(f"values must be finite numbers along at least one axis, given an array of shape {given.shape}.")
    return given
