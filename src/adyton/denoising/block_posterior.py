"""Posterior means of cells, where blocks of a tree were measured unevenly: small ones here, large ones there.

The model is that of :mod:`adyton.denoising.top_down`. It needs no level to be measured wholly: a block inside which
nothing was measured is a leaf, whatever its size, and its cells share its rows evenly.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.split_pieces import leaf_means
from adyton.denoising.splits import Splits, halving_of
from adyton.solving.block_answers import BlockAnswers

_LARGEST = 1e30


def block_posterior(known: BlockAnswers) -> Reals:
    """The posterior mean of every cell, in the order of the tree, given the answers on its blocks.

    Where blocks inside a block were measured, they must cover it; the answers on blocks of the same cells are averaged
    by precision. A domain that was not divided at all has the count that was measured, or none if that is negative.

    >>> from adyton.queries.block_tree import BlockTree
    >>> known = BlockAnswers.none(BlockTree.of_halves(8)).with_answers([1, 11, 12, 6], [3, 101, 2, -1], 2.0)
    >>> block_posterior(known).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 101.0, 0.0, 0.0, 0.0]
    """
    tree, answers, precisions = known.tree, np.clip(known.answers, -_LARGEST, _LARGEST), known.precisions.copy()
    for pairs in halving_of(tree).alone:
        upper, lower = (blocks[precisions[pairs[0]] > 0] for blocks in pairs)
        precisions[lower] += precisions[upper]
        answers[lower] += (answers[upper] - answers[lower]) * (precisions[upper] / precisions[lower])
        precisions[upper] = 0
    splits = Splits.of(tree, np.flatnonzero(precisions), tree.depth - tree.levels)
    leaves = splits.blocks[: splits.leaves]
    if not len(splits.kids):
        means = np.maximum(0.0, answers[leaves])
    else:
        means = leaf_means(splits, answers[splits.blocks], precisions[splits.blocks])
    sizes = tree.sizes[leaves]
    return np.repeat(means / sizes, sizes)
