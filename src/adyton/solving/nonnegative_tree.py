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

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries.block_tree import BlockTree
from adyton.solving.active_leaves import active_leaves
from adyton.solving.block_passes import BlockFit


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
