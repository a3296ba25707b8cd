"""Posterior means of cells, where blocks of a tree were measured unevenly: small ones here, large ones there.

The model is that of :mod:`adyton.denoising.top_down`. It needs no level to be measured wholly: a block inside which
nothing was measured is a leaf, whatever its size, and its cells share its rows evenly.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.top_down import posterior
from adyton.errors import BadInput
from adyton.solving.dyadic_tree import DyadicTree, measured_parts
from adyton.solving.halves import Halves

_LEAF, _DIVIDED = 1, 2
_LARGEST = 1e30


def block_posterior(tree: DyadicTree) -> Reals:
    """The posterior mean of every cell, in the order of the tree, given the answers on its blocks.

    Where blocks inside a block were measured, they must cover it; the answers on blocks of the same cells are averaged
    by precision. A domain that was not divided at all has the count that was measured, or none if that is negative.

    >>> tree = DyadicTree.of(8).with_answers([2, 12, 13, 7], [3, 101, 2, -1], 2.0)
    >>> block_posterior(tree).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 101.0, 0.0, 0.0, 0.0]
    """
    kinds, homes, answers, precisions = measured_parts(
        np.clip(tree.answers, -_LARGEST, _LARGEST), tree.precisions, tree.sizes
    )
    leaves, divided = np.flatnonzero(kinds == _LEAF), np.flatnonzero(kinds == _DIVIDED)[::-1]
    leaves = leaves[np.argsort(tree.starts(leaves))]
    if (precisions[leaves] == 0).any():
        raise BadInput("some cells lie in no measured block, or only in one of which other parts were measured.")
    blocks = np.concatenate([leaves, divided])  # halves before what they are halves of
    numbers = np.full(homes.size, -1)
    numbers[blocks] = np.arange(blocks.size)
    kids = numbers[homes[np.stack([2 * divided, 2 * divided + 1], axis=1)]]
    widths = tree.sizes[leaves]
    halves = Halves(
        kids, tree.levels(blocks), numbers[homes], np.repeat(np.arange(leaves.size), widths), widths.astype(np.float64)
    )
    if not divided.size:
        means = np.maximum(0.0, answers[leaves])
    else:
        means = posterior(halves, answers[blocks], precisions[blocks])[: halves.leaves]
    return np.asarray((means / halves.widths)[halves.leaf])
