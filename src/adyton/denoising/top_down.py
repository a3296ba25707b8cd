"""Noisy counts of nested blocks, made precise by what blocks of real data are like: posterior means on a tree.

Least squares treats every cell alike. But real maps are empty nearly everywhere, and where they are not they are
smooth, or rough, at all scales alike; and from tens of thousands of noisy counts one can learn which. So each block is
thought to split its rows between its halves by a law that is fitted to the answers (empirical Bayes; see
:mod:`adyton.denoising.split_prior`), and the estimate is the mean of the cells given **all** the answers:

1. Every level of the tree is refined into halves, and each half's possible counts are bounded by least squares.
2. Upwards, each block learns for each possible count how likely all that was measured inside it is. The exact Laplace
   likelihoods are used, and a count of 0 means that all cells inside are 0.
3. Downwards, each block learns the same from all that was measured elsewhere, which gives its posterior mean.
4. The expected numbers of splits of each kind give better weights of the prior (EM), and the passes are repeated.

The first passes run on a grid of counts four times as coarse, and settle which counts are worth a closer look. Blocks
whose leaves all hold far more than the noise need no prior: there, least squares is used. Posterior means are
linear, so the estimates of parts add up to the estimate of the whole, and no bias comes from clipping at zero.

All of this is post-processing of answers that are already private.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.denoising import split_prior
from adyton.denoising.count_windows import Generation, Squares, Windows, generations, least_squares, likelihoods
from adyton.denoising.split_messages import Messages
from adyton.denoising.splits import Splits, halved, halving_of, heights
from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.queries.block_tree import BlockTree

_HALVINGS = 2
_COARSER = 2**_HALVINGS
_COARSE_NOISE = 1.3
"""The coarse grid serves where the noise of a leaf has at least this standard deviation in steps of the fine one."""
_STEPS = 3.0
"""Steps of the fine grid per standard deviation, where a step is more than one row."""
_COARSE_PASSES, _FINE_PASSES, _SOLE_PASSES = 4, 2, 6
_COARSE_CUT, _CUT = 1e-5, 1e-4
_POWER = 2.0
_LARGEST = 1e30
_EXACT = 2.0**52
"""Whole numbers up to here have exact doubles; where counts are larger, the grid is as coarse as their doubles."""


def top_down(tree: Hierarchy, answers: npt.ArrayLike, variances: npt.ArrayLike) -> Reals:
    """The posterior mean of every cell, in row-major order, given noisy counts of the blocks of *tree*.

    *answers* are the measured blocks' counts (last axis; any axes in front are independent trials, each with a prior of
    its own), *variances* those of their Laplace noise. Levels must be measured wholly or not at all; cells below the
    finest measured level share their block's count evenly.

    >>> tree = Hierarchy.of_blocks(8, [4, 1])
    >>> top_down(tree, [101, 100, 2, 99, 1, 0, 1, -1, 0, -1, 0], 2.0).round().tolist()
    [100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    given, noise = np.asarray(answers, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if given.ndim == 0 or given.shape[-1] != tree.count:
        raise BadInput(f"the tree measures {tree.count:,} blocks, given answers of shape {given.shape}.")
    if noise.shape not in ((), (tree.count,)) or not (np.isfinite(noise).all() and (noise > 0).all()):
        raise BadInput(f"give one positive variance, or one for each of the {tree.count:,} blocks.")
    if not np.isfinite(given).all():
        raise BadInput("the answers must be finite numbers.")
    splits, nodes, sizes = _splits_of(tree)
    precisions = np.zeros(splits.blocks.size)
    np.add.at(precisions, nodes, 1 / noise)
    weighted = np.clip(given, -_LARGEST, _LARGEST).reshape(-1, tree.count) / noise
    result = np.empty((len(weighted), tree.cells))
    for row, own in zip(result, weighted, strict=True):
        sums = np.bincount(nodes, own, precisions.size)  # a block measured twice has the mean of its answers
        means = posterior(splits, sums / np.where(precisions > 0, precisions, 1.0), precisions)
        row[:] = tree.unordered(np.repeat(means[: sizes.size] / sizes, sizes))
    return result.reshape(*given.shape[:-1], tree.cells)


@lru_cache(maxsize=16)
def _splits_of(tree: Hierarchy) -> tuple[Splits, Places, Places]:
    """The measured levels of a hierarchy, refined into halves; the node that each query counts; the leaves' sizes."""
    measured, counts = np.bincount(tree.query_levels(), minlength=tree.depth + 1), np.diff(tree.level_starts)
    if ((measured > 0) & (measured < counts)).any():
        raise BadInput("some blocks of a level were measured and some were not: measure whole levels.")
    levels = np.flatnonzero(measured)
    halves = halved(BlockTree(tree.domain, tree.boundaries[: levels[-1] + 1], tree.order))
    depths = np.searchsorted(np.diff(halves.level_starts), counts[levels])  # a level has more blocks than those above
    blocks = np.concatenate([np.arange(*halves.level_starts[depth : depth + 2]) for depth in depths.tolist()])
    homes = halving_of(halves).homes[blocks]
    splits = Splits.of(halves, np.unique(homes), heights(halves))
    order = np.argsort(splits.blocks)
    nodes = order[np.searchsorted(splits.blocks, homes, sorter=order)]
    return splits, nodes, halves.sizes[splits.blocks[: splits.leaves]]


class _Fit(NamedTuple):
    """What is known after some passes: means, but below dense nodes, possible counts, and the prior's weights."""

    means: Reals
    windows: Windows
    weights: Reals


def posterior(tree: Splits, answers: Reals, precisions: Reals) -> Reals:
    """The posterior mean of every node, given an answer for each, whose precision is 0 where there is none.

    All leaves must have been measured, with whatever precision each, and there must be at least two of them.
    """
    family = generations(tree)
    deviation = float(np.sqrt(1 / np.median(precisions[: tree.leaves])))
    rates = 2 * np.arcsinh(np.sqrt(precisions / 2))  # discrete Laplace noise of this variance falls by e^-rate a count
    squares = least_squares(family, answers, precisions)
    step = max(1.0, float(np.rint(deviation / _STEPS)), float(np.abs(squares.mean).max()) / _EXACT)

    def fit(step: float, cuts: list[float], coarse: _Fit | None = None) -> _Fit:
        return _passes(tree, family, answers / step, rates * step, squares.scaled(step), cuts, coarse)

    if deviation < _COARSE_NOISE * step:
        last = fit(step, [_CUT] * (_SOLE_PASSES - 1) + [0.0])
    else:
        coarse = fit(step * _COARSER, [_COARSE_CUT] * _COARSE_PASSES)
        last = fit(step, [_CUT] * (_FINE_PASSES - 1) + [0.0], coarse)
    return _every_mean(last, family, squares.scaled(step)) * step


def _every_mean(fit: _Fit, family: list[Generation], squares: Squares) -> Reals:
    """The means of a fit, and below dense nodes what least squares says."""
    means, inside, noise = fit.means, squares.inside, squares.noise
    for nodes, left, right in reversed(family):
        part = fit.windows.dense[nodes]
        if part.any():
            whole, a, b = nodes[part], left[part], right[part]
            surplus = (means[whole] - inside[a] - inside[b]) / (noise[a] + noise[b])
            means[a], means[b] = inside[a] + noise[a] * surplus, inside[b] + noise[b] * surplus
    return means


def _passes(
    tree: Splits,
    family: list[Generation],
    answers: Reals,
    rates: Reals,
    squares: Squares,
    cuts: list[float],
    coarse: _Fit | None = None,
) -> _Fit:
    """Passes up and down, on counts in steps of the grid, each of which narrows the windows by its cut."""
    windows, largest = Windows.around(squares, family), squares.mean.max(keepdims=True)
    sizes = int(split_prior.size_of(largest)[0]) + 1
    weights = split_prior.start(int(tree.levels[-1]) + 1, sizes)
    if coarse is not None:
        windows = windows.narrowed(coarse.windows, _COARSER)
        weights = split_prior.finer(coarse.weights, _HALVINGS, sizes)
    messages = Messages(tree, squares, windows, likelihoods(windows, answers, rates), sizes)
    for number, cut in enumerate(cuts):
        found = messages.pass_through(windows, split_prior.mixed(weights))
        means, low, high = messages.settled(cut)
        windows = replace(windows, low=low, high=high)
        if number < len(cuts) - 1:
            power = 1.0 if number == 0 and coarse is None else _POWER
            weights = split_prior.reweighted(weights, found, power)
    return _Fit(means, windows, weights)
