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
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Integers, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.solving.active_leaves import find_active


def nonnegative_tree_least_squares(
    boundaries: Sequence[npt.ArrayLike], answers: npt.ArrayLike, precisions: npt.ArrayLike
) -> Reals:
    """The cells x ≥ 0 that fit noisy sums of the blocks of a tree best.

    ``boundaries`` lists for each level, from the coarsest to the finest, where its blocks start, and at the end the
    number of cells. Blocks are numbered level by level; the last axis of ``answers`` and ``precisions`` runs over them,
    leading axes over trials. A precision is 1/variance, 0 for a block that was not measured; at the coarsest level it
    may be infinite: such a sum, at least 0, is met exactly. Where several solutions fit alike, the one with the least
    sum of squares is returned: what is known only of a group of cells is spread evenly over them.

    >>> nonnegative_tree_least_squares([[0, 2], [0, 1, 2]], [3, 5, -2], [1, 1, 1])
    array([4., 0.])
    >>> nonnegative_tree_least_squares([[0, 4], [0, 1, 4]], [10, 4, 0], [np.inf, 1, 0])
    array([4., 2., 2., 2.])
    """
    levels = [np.asarray(level, dtype=np.int64) for level in boundaries]
    values, weights = np.asarray(answers, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
    top, blocks, leaves = levels[0].size - 1, sum(level.size - 1 for level in levels), levels[-1].size - 1
    _check(values, weights, top, blocks)
    starts = np.cumsum([top] + [level.size - 1 for level in levels[1:]])
    children = [
        start + np.searchsorted(fine, coarse[:-1])
        for start, coarse, fine in zip(starts, levels[:-1], levels[1:], strict=False)
    ]
    leading = np.broadcast_shapes(values.shape[:-1], weights.shape[:-1])
    rows = np.ascontiguousarray(np.broadcast_to(values, (*leading, blocks)).reshape(-1, blocks))
    row_weights = weights if weights.ndim == 1 else np.broadcast_to(weights, (*leading, blocks))
    sizes = np.diff(levels[-1])
    sums = np.empty((rows.shape[0], leaves))
    solve_trials(
        rows,
        np.ascontiguousarray(row_weights.reshape(-1, blocks)),
        np.concatenate([*children, [blocks]]).astype(np.int64),
        sizes,
        top,
        sums,
    )
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


@compiled
def solve_trials(
    answers: Reals, precisions: Reals, children: Integers, sizes: Integers, top: int, leaves: Reals
) -> None:
    """One trial a row of *answers*; *precisions* has as many rows, or one for all. Writes the sums of the leaves.

    The children of block b are the blocks children[b] … children[b + 1] − 1; leaves come last and have none. The first
    *top* blocks have no parent.
    """
    active = np.empty(leaves.shape[1], dtype=np.bool_)
    for trial in range(answers.shape[0]):
        row = precisions[min(trial, precisions.shape[0] - 1)]
        find_active(answers[trial], row, children, top, active)
        fit_active(answers[trial], row, children, sizes, active, leaves[trial])


@compiled
def fit_active(
    answers: Reals, precisions: Reals, children: Integers, sizes: Integers, active: Flags, leaves: Reals
) -> None:
    """Least squares with the other leaves held at zero. Upwards total = offset + slope · price, downwards the prices.

    The leaves that were not measured take what is left of the block measured next above them, by their sizes.
    """
    blocks = answers.size
    inner = blocks - active.size
    offsets, slopes, loose = np.zeros(blocks), np.zeros(blocks), np.zeros(blocks)  # without the block's own measurement
    for block in range(blocks - 1, -1, -1):
        if block >= inner and active[block - inner]:
            slopes[block], loose[block] = np.inf, sizes[block - inner]
        elif block < inner:
            add_children(block, answers, precisions, children, offsets, slopes, loose)
    prices, densities = np.zeros(blocks), np.zeros(blocks)
    for block in range(blocks):
        answer, precision = answers[block], precisions[block]
        price, density = prices[block], densities[block]
        if precision > 0 and slopes[block] == np.inf:
            density = (answer + price / precision - offsets[block]) / loose[block]
            price = 0.0
        elif precision == np.inf:
            price = (answer - offsets[block]) / slopes[block] if slopes[block] > 0 else 0.0
        elif precision > 0:
            # price′ = price + precision · (total − answer) and total = offset + slope · price, solved for the price
            price = (price - precision * (offsets[block] - answer)) / (1 + precision * slopes[block])
        if block >= inner:
            leaves[block - inner] = max(0.0, density * loose[block])
        else:
            prices[children[block] : children[block + 1]] = price
            densities[children[block] : children[block + 1]] = density


@compiled
def add_children(
    block: int, answers: Reals, precisions: Reals, children: Integers, offsets: Reals, slopes: Reals, loose: Reals
) -> None:
    """total(price) of a block is the sum of its children's, each with its own measurement."""
    for child in range(children[block], children[block + 1]):
        precision, slope = precisions[child], slopes[child]
        if precision == 0:
            offsets[block] += offsets[child]
            slopes[block] += slope
            loose[block] += loose[child]
        elif slope == np.inf:
            offsets[block] += answers[child]
            slopes[block] += 1 / precision
        else:
            damping = 1 + precision * slope
            offsets[block] += (offsets[child] + slope * precision * answers[child]) / damping
            slopes[block] += slope / damping
