"""Non-negative least squares on a tree of blocks, exactly and in one pass.

Measured: sums of the blocks of a tree, each with its own variance, some of them not at all. Wanted: the cells x ≥ 0
with the least Σ_b (Σ_{i∈b} x_i − y_b)² / variance_b.

For a block let total(price) be the sum of its cells when its cells minimise (misfit inside the block) − price·sum. At
zero price a leaf without measurement takes anything; below it, nothing. Two rules climb the tree:

- the totals of siblings add up, at the same price;
- a measurement y with precision p shifts the price: price′ = price + p·(total − y).

So total(price) is continuous, rising and piecewise linear, with one corner per leaf: the price at which this leaf rises
above zero. Both rules keep the order of the corners, hence a block's corners are its children's corners, merged. At the
root the price is zero, and the corners below it name the leaves above zero: the active set of the optimum, found in
O(cells · height) without iterating. One pass of least squares on it, O(cells), gives the cells.

Blocks keep a list of corners by rising price, *corners[0]* the prices and *corners[1]* the steps, with the *names* of
their leaves: at that price the leaf rises above zero, and the slope of total(price) grows by the step. A leaf alone has
an endless step at price 0, behind which nothing is ever reached.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.queries.block_tree import BlockTree
from adyton.solving.trees import BlockFit


def nonnegative_tree_least_squares(tree: BlockTree, answers: npt.ArrayLike, precisions: npt.ArrayLike) -> Reals:
    """The cells x ≥ 0, in the order of the tree, that fit noisy sums of its blocks best.

    The last axis of ``answers`` and ``precisions`` runs over the blocks, leading axes over trials. A precision is
    1/variance, 0 for a block that was not measured; at the coarsest level it may be infinite: such a sum, at least 0,
    is met exactly. Where several solutions fit alike, the one with the least sum of squares is returned: what is known
    only of a group of cells is spread evenly over them.

    >>> nonnegative_tree_least_squares(BlockTree(2, [[0, 2], [0, 1, 2]]), [3, 5, -2], [1, 1, 1])
    array([4., 0.])
    >>> nonnegative_tree_least_squares(BlockTree(4, [[0, 4], [0, 1, 4]]), [10, 4, 0], [np.inf, 1, 0])
    array([4., 2., 2., 2.])
    """
    values, weights = np.asarray(answers, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
    top, blocks, sizes = tree.boundaries[0].size - 1, tree.blocks, np.diff(tree.boundaries[-1])
    _check(values, weights, top, blocks)
    offsets, inner = tree.offsets, blocks - sizes.size
    leading = np.broadcast_shapes(values.shape[:-1], weights.shape[:-1])
    rows, row_weights = (np.broadcast_to(part, (*leading, blocks)).reshape(-1, blocks) for part in (values, weights))
    sums = np.empty((len(rows), sizes.size))
    for row, weight, found in zip(rows, row_weights, sums, strict=True):
        given, own = row.copy(), weight.copy()
        rest = ~active_leaves(given, own, offsets, top, sizes.size)
        given[inner:][rest], own[inner:][rest] = 0.0, np.inf  # the other leaves are held at zero
        found[:] = np.maximum(0.0, BlockFit.of(offsets, own, sizes).estimates(given)[inner:])
    cells = sums if sizes.max() == 1 else np.repeat(sums / sizes, sizes, axis=-1)
    return cells.reshape(*leading, -1)


def _check(answers: Reals, precisions: Reals, top: int, blocks: int) -> None:
    """Shapes and signs."""
    for name, values in (("answers", answers), ("precisions", precisions)):
        if values.ndim == 0 or values.shape[-1] != blocks:
            raise BadInput(f"the tree has {blocks} blocks, given {name} of shape {values.shape}: give one per block.")
    if not (precisions >= 0).all() or np.isinf(precisions[..., top:]).any():
        raise BadInput("precisions (1/variance) must be at least 0, and finite below the coarsest level.")
    known = np.isinf(precisions[..., :top])
    if not np.isfinite(np.where(precisions > 0, answers, 0)).all() or (known & (answers[..., :top] < 0)).any():
        raise BadInput("answers must be finite, and sums that are known exactly must be at least 0.")


def active_leaves(answers: Reals, precisions: Reals, offsets: Places, top: int, leaves: int) -> Flags:
    """Which leaves are above zero at the optimum; the first *top* blocks have no parent, the last *leaves* no child."""
    corners, names = np.zeros((2, 2, leaves)), np.empty((2, leaves), dtype=np.int64)
    corners[0, 1], names[0] = np.inf, np.arange(leaves)
    active = np.zeros(leaves, dtype=np.bool_)
    climb(answers, precisions, offsets, top, corners, names, np.empty((2, answers.size), dtype=np.int64), active)
    return active


@compiled
def climb(
    answers: Reals,
    precisions: Reals,
    offsets: Places,
    top: int,
    corners: Reals,
    names: Places,
    spans: Places,
    active: Flags,
) -> None:
    """Merge the corners of children and account for measurements, from the leaves to the roots.

    *corners* and *names* hold two lists, one to merge into from the other; *spans* where a block's corners begin and
    end.
    """
    inner = offsets.size - 1
    for block in range(answers.size - 1, -1, -1):
        if block >= inner:
            spans[0, block], spans[1, block] = block - inner, block - inner + 1
        else:
            runs, start = offsets[block + 1] - offsets[block], offsets[block]
            parts = spans[:, start : start + runs]  # overwritten: the children are done with
            low, full = parts[0, 0], 0
            while runs > 1:
                merge_pairs(corners[full], names[full], corners[1 - full], names[1 - full], parts, runs)
                full = 1 - full
                runs = (runs + 1) // 2
            high = parts[1, 0]
            spans[0, block], spans[1, block] = low, high
            if full == 1:
                for place in range(low, high):
                    corners[0, 0, place], corners[0, 1, place] = corners[1, 0, place], corners[1, 1, place]
                    names[0, place] = names[1, place]
        first, stop = spans[0, block], spans[1, block]
        if block < top:
            decide(corners[0], names[0], first, stop, answers[block], precisions[block], active)
        elif precisions[block] > 0:
            spans[1, block] = weigh_in(corners[0], names[0], first, stop, answers[block], precisions[block])


@compiled
def merge_pairs(corners: Reals, names: Places, to_corners: Reals, to_names: Places, spans: Places, runs: int) -> None:
    """Merge neighbouring sorted runs, two at a time, into the other list."""
    for pair in range((runs + 1) // 2):
        left, left_end = spans[0, 2 * pair], spans[1, 2 * pair]
        right, right_end = 0, 0
        if 2 * pair + 1 < runs:
            right, right_end = spans[0, 2 * pair + 1], spans[1, 2 * pair + 1]
        place = left
        spans[0, pair] = place
        while left < left_end or right < right_end:
            take_left = right == right_end or (left < left_end and corners[0, left] <= corners[0, right])
            source = left if take_left else right
            to_corners[0, place], to_corners[1, place] = corners[0, source], corners[1, source]
            to_names[place] = names[source]
            left += take_left
            right += not take_left
            place += 1
        spans[1, pair] = place


@compiled
def weigh_in(corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float) -> int:
    """Account for the measurement of a block: price′ = price + precision·(total − answer). Returns the new end."""
    slope, total, before, place = 0.0, 0.0, 0.0, first
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
        if slope == np.inf:
            if step == np.inf:  # a second leaf that was not measured rises together with the first
                corners[0, place], corners[1, place], names[place] = corners[0, place - 1], 0.0, names[position]
                place += 1
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        damping = 1 + precision * slope
        slope += step
        corners[0, place] = price + precision * (total - answer)
        # slope′ = slope / (1 + precision·slope), so step′ = step / ((1 + precision·slope₀)(1 + precision·slope₁))
        if step == np.inf:
            corners[1, place] = 1 / (precision * damping)
        else:
            corners[1, place] = step / (damping * (1 + precision * slope))
        names[place] = names[position]
        place += 1
    return place


@compiled
def decide(
    corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float, active: Flags
) -> None:
    """At a block without parent the price is known: those leaves are above zero whose own price is below it."""
    slope, total, before = 0.0, 0.0, 0.0
    rising = True
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
        if slope == np.inf:
            active[names[position]] = rising and step == np.inf
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        slope += step
        if precision == np.inf:
            rising = rising and total < answer
        else:
            rising = rising and price + precision * (total - answer) < 0
        active[names[position]] = rising
