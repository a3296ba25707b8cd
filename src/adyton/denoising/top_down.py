"""Posterior means of nested blocks: noisy counts, with a prior of how blocks split that is fitted to the same counts.

Least squares treats every cell alike. But real maps are empty nearly everywhere; elsewhere they are smooth or rough,
much the same at all scales, and tens of thousands of noisy counts show which. So each block is assumed to split its
rows between its halves by a law that is fitted to the answers (empirical Bayes; see :mod:`adyton.denoising.splits`),
and the estimate is the mean of the cells given **all** the answers:

1. Every level of the tree is refined into halves, and each half's possible counts are bounded by least squares.
2. An upward pass computes, for each possible count of each block, the likelihood of all answers inside it. The exact
   Laplace likelihoods are used, and a count of 0 means that all cells inside are 0.
3. A downward pass computes the same for all answers elsewhere, which gives the posterior mean of each block.
4. The expected numbers of splits of each kind give better weights of the prior (EM), and the passes are repeated.

The first passes run on a grid of counts four times as coarse, and narrow the counts that the fine grid considers.
Blocks whose leaves all hold far more than the noise need no prior: there, least squares is used. Posterior means are
linear, so the estimates of parts add up to the estimate of their block, and there is no bias from clipping at zero.

Large trees are cut into subtrees of a million leaves. One part of a large domain says little about the cells of
another, and all of it is in the sum of the part: least squares on the nodes above computes what all other pieces say
about the root of a piece. This becomes part of the answer there, and a separate prior is fitted to each piece. Time is
linear in the leaves; the memory is that of the pieces in progress, at most one per core.

All of this is post-processing of answers that are already private.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.denoising.splits import (
    Generation,
    Messages,
    Splits,
    Squares,
    Windows,
    finer,
    generations,
    halved,
    halving_of,
    heights,
    least_squares,
    likelihoods,
    mixed,
    reweighted,
    size_of,
    start,
)
from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.queries.domain_trees import layout
from adyton.queries.hierarchy import BlockTree
from adyton.solving.trees import BlockAnswers

MOST_LEAVES = 1 << 20
"""The largest number of leaves that are fitted together."""
_AT_ONCE = 2
"""The largest number of pieces that are fitted at the same time: each takes up to a gigabyte."""
_HALVINGS = 2
_COARSER = 2**_HALVINGS
_COARSE_NOISE = 1.3
"""The coarse grid is used where the noise of a leaf has at least this standard deviation, in steps of the fine grid."""
_STEPS = 3.0
"""Steps of the fine grid per standard deviation, where a step is more than one row."""
_COARSE_PASSES, _FINE_PASSES, _SOLE_PASSES = 4, 2, 6
_COARSE_CUT, _CUT = 1e-5, 1e-4
_POWER = 2.0
_LARGEST = 1e30
_EXACT = 2.0**52
"""Whole numbers up to this are exact as doubles; where counts are larger, the grid is as coarse as their doubles."""


def top_down(tree: Hierarchy, answers: npt.ArrayLike, variances: npt.ArrayLike) -> Reals:
    """The posterior mean of every cell, in row-major order, given noisy counts of the blocks of *tree*.

    *answers* are the measured blocks' counts (last axis; leading axes are independent trials, each with a prior of its
    own), *variances* those of their Laplace noise. A level must be measured completely or not at all; cells below the
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
        sums = np.bincount(nodes, own, precisions.size)  # a block measured twice: the mean of its answers
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
    depths = np.searchsorted(np.diff(halves.level_starts), counts[levels])  # a level has more blocks than the one above
    blocks = np.concatenate([np.arange(*halves.level_starts[depth : depth + 2]) for depth in depths.tolist()])
    homes = halving_of(halves).homes[blocks]
    splits = Splits.of(halves, np.unique(homes), heights(halves))
    order = np.argsort(splits.blocks)
    nodes = order[np.searchsorted(splits.blocks, homes, sorter=order)]
    return splits, nodes, layout(halves).sizes[splits.blocks[: splits.leaves]]


class _Fit(NamedTuple):
    """The state after some passes: means (except below dense nodes), possible counts, and the prior's weights."""

    means: Reals
    windows: Windows
    weights: Reals


def posterior(tree: Splits, answers: Reals, precisions: Reals) -> Reals:
    """The posterior mean of every node, given an answer for each; its precision is 0 where the node was not measured.

    All leaves must have been measured, each with its own precision, and there must be at least two of them.
    """
    family = generations(tree)
    deviation = float(np.sqrt(1 / np.median(precisions[: tree.leaves])))
    rates = 2 * np.arcsinh(np.sqrt(precisions / 2))  # discrete Laplace of this variance falls by e^-rate per count
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
    """The means of a fit, with the least-squares estimates below dense nodes."""
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
    """Passes up and down on counts in steps of the grid; each pass narrows the windows by its cut."""
    windows, largest = Windows.around(squares, family), squares.mean.max(keepdims=True)
    sizes = int(size_of(largest)[0]) + 1
    weights = start(int(tree.levels[-1]) + 1, sizes)
    if coarse is not None:
        windows = windows.narrowed(coarse.windows, _COARSER)
        weights = finer(coarse.weights, _HALVINGS, sizes)
    messages = Messages(tree, squares, windows, likelihoods(windows, answers, rates), sizes)
    for number, cut in enumerate(cuts):
        splits = messages.pass_through(windows, mixed(weights))
        means, low, high = messages.settled(cut)
        windows = replace(windows, low=low, high=high)
        if number < len(cuts) - 1:
            power = 1.0 if number == 0 and coarse is None else _POWER
            weights = reweighted(weights, splits, power)
    return _Fit(means, windows, weights)


def block_posterior(known: BlockAnswers) -> Reals:
    """The posterior mean of every cell, in the order of the tree, given the answers on its blocks.

    Measured blocks inside a block must cover it; the answers on blocks of the same cells are averaged by precision. An
    undivided domain has the measured count, or 0 if that is negative.

    >>> from adyton.queries.domain_trees import tree_of_halves
    >>> known = BlockAnswers.none(tree_of_halves(8)).with_answers([1, 11, 12, 6], [3, 101, 2, -1], 2.0)
    >>> block_posterior(known).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 101.0, 0.0, 0.0, 0.0]
    """
    tree, answers, precisions = known.tree, np.clip(known.answers, -_LARGEST, _LARGEST), known.precisions.copy()
    for pairs in halving_of(tree).alone:
        upper, lower = (blocks[precisions[pairs[0]] > 0] for blocks in pairs)
        precisions[lower] += precisions[upper]
        answers[lower] += (answers[upper] - answers[lower]) * (precisions[upper] / precisions[lower])
        precisions[upper] = 0
    splits = Splits.of(tree, np.flatnonzero(precisions), tree.depth - layout(tree).levels)
    leaves = splits.blocks[: splits.leaves]
    if not len(splits.kids):
        means = np.maximum(0.0, answers[leaves])
    else:
        means = leaf_means(splits, answers[splits.blocks], precisions[splits.blocks])
    sizes = layout(tree).sizes[leaves]
    return np.repeat(means / sizes, sizes)


def leaf_means(tree: Splits, answers: Reals, precisions: Reals, most: int = MOST_LEAVES) -> Reals:
    """The posterior mean of every leaf; *answers* and *precisions* are as for :func:`posterior`."""
    if tree.leaves <= most:
        return posterior(tree, answers, precisions)[: tree.leaves]
    above, pieces = _cut(tree, most)
    inside = np.array([_inside(piece.tree(tree), answers[piece.nodes], precisions[piece.nodes]) for piece in pieces])
    outside = _outside(above, inside.T, answers[above.blocks], precisions[above.blocks])

    def fitted(piece: _Piece, mean: float, precision: float) -> Reals:
        own_answers, own_precisions = answers[piece.nodes], precisions[piece.nodes]
        if precision > 0:
            own_precisions[-1] += precision
            own_answers[-1] += (mean - own_answers[-1]) * (precision / own_precisions[-1])
        if piece.leaves == 1:
            return np.maximum(0.0, own_answers)
        return posterior(piece.tree(tree), own_answers, own_precisions)[: piece.leaves]

    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as threads:
        return np.concatenate(list(threads.map(fitted, pieces, *outside.tolist())))


class _Piece(NamedTuple):
    """A subtree: its leaves, which are consecutive, and its other nodes, the root last."""

    first: int
    leaves: int
    inner: Places

    @property
    def nodes(self) -> Places:
        """The numbers of its nodes in the whole tree."""
        return np.concatenate([np.arange(self.first, self.first + self.leaves), self.inner])

    def tree(self, whole: Splits) -> Splits:
        """The subtree as a tree of its own."""
        kids = whole.kids[self.inner - whole.leaves]
        inner = self.leaves + np.searchsorted(self.inner, kids)
        nodes = self.nodes
        return Splits(nodes, np.where(kids < whole.leaves, kids - self.first, inner), whole.levels[nodes])


def _cut(tree: Splits, most: int) -> tuple[Splits, list[_Piece]]:
    """The largest subtrees of at most *most* leaves, and the tree above them, whose leaves are their roots."""
    first, counts = np.arange(tree.levels.size), np.ones(tree.levels.size, dtype=np.int64)
    _count_leaves(tree.kids, first, counts)
    above = tree.leaves + np.flatnonzero(counts[tree.leaves :] > most)
    kids = tree.kids[above - tree.leaves]
    roots = kids[counts[kids] <= most]
    roots = roots[np.argsort(first[roots])]
    inner = tree.leaves + np.flatnonzero(counts[tree.leaves :] <= most)
    owners = np.searchsorted(first[roots], first[inner], side="right") - 1
    by_owner = np.split(inner[np.argsort(owners, kind="stable")], np.cumsum(np.bincount(owners, minlength=roots.size)))
    pieces = [
        _Piece(start, leaves, own)
        for start, leaves, own in zip(first[roots].tolist(), counts[roots].tolist(), by_owner[:-1], strict=True)
    ]
    small = np.searchsorted(first[roots], first[kids])
    numbers = np.where(counts[kids] <= most, small, roots.size + np.searchsorted(above, kids))
    nodes = np.concatenate([roots, above])
    return Splits(nodes, numbers, tree.levels[nodes]), pieces


@compiled
def _count_leaves(kids: Places, first: Places, counts: Places) -> None:
    """Fill in the first leaf below every node and the number of them; children come before their parent."""
    leaves = counts.size - len(kids)
    for place in range(len(kids)):
        left, right = kids[place, 0], kids[place, 1]
        first[leaves + place] = first[left]
        counts[leaves + place] = counts[left] + counts[right]


def _inside(tree: Splits, answers: Reals, precisions: Reals) -> tuple[float, float]:
    """The sum of a tree and its variance, by least squares on its own answers."""
    if not len(tree.kids):
        return float(answers[0]), float(1 / precisions[0])
    squares = least_squares(generations(tree), answers, precisions)
    return float(squares.inside[-1]), float(squares.noise[-1])


def _outside(above: Splits, inside: Reals, answers: Reals, precisions: Reals) -> Reals:
    """For each leaf of the tree above, its mean and precision given the answers outside it.

    Precisions add up: that of all answers is that of the answers *inside* plus that of the answers outside.
    """
    (means, noise), leaves = inside, above.leaves
    squares = least_squares(
        generations(above),
        np.concatenate([means, answers[leaves:]]),
        np.concatenate([1 / noise, precisions[leaves:]]),
    )
    precision = np.maximum(0.0, 1 / squares.variance[:leaves] - 1 / noise)
    known = squares.mean[:leaves] / squares.variance[:leaves] - means / noise
    return np.stack([np.divide(known, precision, out=np.zeros(leaves), where=precision > 0), precision])
