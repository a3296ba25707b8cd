"""Noisy counts of nested blocks, made precise by what blocks of real data are like: posterior means on a tree.

Least squares treats every cell alike. But real maps are empty nearly everywhere, and where they are not they are
smooth, or rough, at all scales alike; and from tens of thousands of noisy counts one can learn which. So each block is
thought to split its rows between its halves by a law that is fitted to the answers (empirical Bayes; see
:mod:`adyton.inference.split_prior`), and the estimate is the mean of the cells given **all** the answers:

1. Every level of the tree is refined into halves, and each half's possible counts are bounded by least squares.
2. Upwards, each block learns for each possible count how likely all that was measured inside it is. The exact Laplace
   likelihoods are used, and a count of 0 means that all cells inside are 0.
3. Downwards, each block learns the same from all that was measured elsewhere, which gives its posterior mean.
4. The expected numbers of splits of each kind give better weights of the prior (EM), and the passes are repeated.

The first passes run on a grid of counts four times as coarse, and settle which counts are worth a closer look. Blocks
whose leaves all hold far more than the noise need no prior: there, least squares is exact. Since posterior means are
linear, the estimates of parts add up to the estimate of the whole, and no bias comes from clipping at zero.

All of this is post-processing of answers that are already private.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.inference import split_prior
from adyton.queries import Hierarchy

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_HALVINGS = 2
_COARSER = 2**_HALVINGS
_COARSE_NOISE = 1.3
"""The coarse grid serves where the noise of a leaf has at least this standard deviation in steps of the fine one."""
_STEPS = 3.0
"""Steps of the fine grid per standard deviation, where a step is more than one row."""
_COARSE_PASSES, _FINE_PASSES, _SOLE_PASSES = 5, 2, 6
_COARSE_CUT, _CUT = 1e-6, 1e-5
_POWER = 2.0
_LARGEST = 1e17


def top_down(tree: Hierarchy, answers: npt.ArrayLike, variances: npt.ArrayLike) -> Reals:
    """The posterior mean of every cell, in row-major order, given noisy counts of the blocks of *tree*.

    *answers* are the measured blocks' counts (last axis; any axes in front are independent trials, each with a prior of
    its own), *variances* those of their Laplace noise. Levels must be measured wholly or not at all; cells below the
    finest measured level share their block's count evenly.

    >>> tree = Hierarchy.of_blocks(8, [4, 1])
    >>> top_down(tree, [101, 100, 2, 99, 1, 0, 1, -1, 0, -1, 0], 2.0).round(1).tolist()
    [99.1, 0.3, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0]
    """
    given = np.asarray(answers, dtype=np.float64)
    noise = np.asarray(variances, dtype=np.float64)
    if given.ndim == 0 or given.shape[-1] != tree.count:
        raise BadInput(f"the tree measures {tree.count:,} blocks, given answers of shape {given.shape}.")
    if noise.shape not in ((), (tree.count,)) or not (np.isfinite(noise).all() and (noise > 0).all()):
        raise BadInput(f"give one positive variance, or one for each of the {tree.count:,} blocks.")
    if not np.isfinite(given).all():
        raise BadInput("the answers must be finite numbers.")
    halves = halved(tree)
    precisions = np.bincount(halves.home, np.broadcast_to(1 / noise, tree.count), len(halves.levels))
    weighted = np.clip(given, -_LARGEST, _LARGEST).reshape(-1, tree.count) / noise
    result = np.empty((len(weighted), tree.cells))
    for row, own in zip(result, weighted, strict=True):
        sums = np.bincount(halves.home, own, len(precisions))
        means = _posterior(halves, sums / np.where(precisions > 0, precisions, 1.0), precisions)
        row[:] = tree.unordered((means[: halves.leaves] / halves.widths)[halves.leaf])
    return result.reshape(*given.shape[:-1], tree.cells)


@dataclass(frozen=True, eq=False)
class Halves:
    """A hierarchy refined into a binary tree, leaves first, children before their parents, the root last."""

    kids: Places
    """The two children of each node that is no leaf."""
    levels: Places
    """How many halvings each node is above the leaves, at most."""
    home: Places
    """The node that each query counts."""
    leaf: Places
    """The leaf of each cell, in the order of the tree."""
    widths: Reals
    """How many cells each leaf has."""

    @property
    def leaves(self) -> int:
        """How many leaves there are: the blocks of the finest measured level."""
        return self.widths.size


@lru_cache(maxsize=16)
def halved(tree: Hierarchy) -> Halves:
    """Pair neighbours within each block until one is left, level by level, from the finest measured one upwards."""
    measured = np.bincount(tree.query_levels(), minlength=len(tree.boundaries))
    blocks = np.array([level.size - 1 for level in tree.boundaries])
    if ((measured > 0) & (measured < blocks)).any():
        raise BadInput("some blocks of a level were measured and some were not: measure whole levels.")
    finest = int(np.flatnonzero(measured)[-1])
    fine = tree.boundaries[finest]
    current = np.arange(fine.size - 1)
    heights, pairs, homes = [np.zeros(current.size, dtype=np.int64)], [np.empty((0, 2), dtype=np.int64)], [current.copy()]
    for number in range(finest - 1, -2, -1):
        coarse = tree.boundaries[number] if number >= 0 else np.array([0, tree.cells])
        sizes = np.diff(np.searchsorted(fine, coarse))
        while current.size > sizes.size:
            place = np.arange(current.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            left = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(sizes, sizes)))
            couples = np.stack([current[left], current[left + 1]], axis=1)
            known = np.concatenate(heights)
            pairs.append(couples)
            heights.append(known[couples].max(axis=1) + 1)
            current[left] = known.size + np.arange(left.size)
            current = np.delete(current, left + 1)
            sizes = (sizes + 1) // 2
        fine = coarse
        if number >= 0 and measured[number]:
            homes.append(current.copy())
    boundaries = tree.boundaries[finest]
    leaf = np.repeat(np.arange(boundaries.size - 1), np.diff(boundaries))
    widths = np.diff(boundaries).astype(np.float64)
    return Halves(np.concatenate(pairs), np.concatenate(heights), np.concatenate(homes[::-1]), leaf, widths)


class _Fit(NamedTuple):
    """What is known after some passes: means, windows of possible counts, and the prior's weights."""

    means: Reals
    low: Places
    high: Places
    weights: Reals


def _posterior(tree: Halves, answers: Reals, precisions: Reals) -> Reals:
    """The posterior mean of every node."""
    from adyton.inference import top_down_compiled as compiled

    deviation = float(np.sqrt(1 / np.median(precisions[: tree.leaves])))
    rates = 2 * np.arcsinh(np.sqrt(precisions / 2))  # discrete Laplace noise of this variance falls by e^-rate a step
    inside, noise, mean, variance = compiled.least_squares(tree.kids, answers, precisions)
    step = max(1.0, np.rint(deviation / _STEPS))

    def passes(step: float, number: int, cut: float, last_cut: float, before: _Fit | None) -> _Fit:
        scaled = (inside / step, noise / step**2, mean / step, variance / step**2)
        return _fit(tree, answers / step, rates * step, scaled, number, (cut, last_cut), before)

    if deviation < _COARSE_NOISE * step:
        return passes(step, _SOLE_PASSES, _CUT, 0.0, None).means * step
    coarse = passes(step * _COARSER, _COARSE_PASSES, _COARSE_CUT, _COARSE_CUT, None)
    return passes(step, _FINE_PASSES, _CUT, 0.0, coarse).means * step


def _fit(
    tree: Halves,
    answers: Reals,
    rates: Reals,
    squares: tuple[Reals, Reals, Reals, Reals],
    passes: int,
    cuts: tuple[float, float],
    before: _Fit | None,
) -> _Fit:
    """Some passes up and down, on counts in steps of the grid; the last one narrows windows by the second cut."""
    from adyton.inference import top_down_compiled as compiled

    nodes = answers.size
    inside, noise, mean, variance = squares
    laws = split_prior.components()
    low, high, dense = compiled.windows(tree.kids, mean, variance)
    weights = split_prior.start(int(tree.levels[-1]) + 1)
    if before is not None:
        compiled.narrow(low, high, before.low, before.high, _COARSER)
        weights = split_prior.finer(before.weights, _HALVINGS)
    sizes = np.clip(np.frexp(np.maximum(mean, 1))[1] - 1, split_prior.SMALLEST, split_prior.SIZES - 1).astype(np.int64)
    starts = np.empty(nodes + 1, dtype=np.int64)
    compiled.place(low, high, dense, starts)
    likelihood, messages, outer = np.empty((3, int(starts[-1])), dtype=np.float32)
    sums, spare = np.empty((2, 2 * int(np.diff(starts).max())), dtype=np.float32)
    compiled.likelihoods(answers, rates, low, starts, likelihood)
    tables = np.empty((len(weights), split_prior.TABLE, split_prior.TABLE), dtype=np.float32)
    edges = np.empty((*weights.shape[:2], split_prior.TABLE + 1), dtype=np.float32)
    scales, means = np.empty(nodes, dtype=np.float32), np.empty(nodes)
    below = (tree.kids, tree.levels, sizes)
    for number in range(passes):
        compiled.tabulate(weights, laws.splits, laws.edges, laws.sizes, tables, edges)
        given = (dense, inside, noise, likelihood, tables, edges, messages, scales)
        compiled.upward(*below, low, starts, *given, sums, spare)
        small, large, old = np.zeros_like(tables), np.zeros_like(edges), low.copy()
        last = number == passes - 1
        compiled.downward(*below, low, high, starts, *given, outer, means, cuts[last], small, large, sums, spare)
        if not last:
            compiled.shrink(low, high, old, dense, starts, likelihood)
            found = compiled.responsibilities(
                weights, laws.splits, laws.edges, laws.sizes, tables, edges, small, large
            )
            first = number == 0 and before is None
            weights = split_prior.reweigh(weights, found, 1.0 if first else _POWER)
    return _Fit(means, low, high, weights)
