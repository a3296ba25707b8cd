"""Noisy counts of classes in the leaves of a tree, and what follows for the nodes above. It costs nothing."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.schema import RowTree


def summed(tree: RowTree, leaf_values: Integers | Reals) -> Reals:
    """For every node the sum of its leaves' values, which may have further axes."""
    values = np.zeros((tree.split.size, *leaf_values.shape[1:]))
    values[tree.leaves] = leaf_values
    above = tree.parents()
    for level in reversed(tree.levels()[1:]):
        np.add.at(values, above[level], values[level])
    return values


def leaves_below(tree: RowTree) -> Places:
    """For every node how many leaves it has; 1 for a leaf."""
    return summed(tree, np.ones(len(tree.leaves))).astype(np.int64)


def plain_shares(tree: RowTree, counts: Reals) -> Reals:
    """How frequent each class is in every node: its positive counts; where there are none, as in the node above."""
    positive = np.maximum(counts, 0.0)
    rows = positive.sum(axis=1)
    shares = np.full(counts.shape, 1 / counts.shape[1])
    above = tree.parents()
    for level in tree.levels():
        told = rows[level] > 0
        shares[level] = np.where(
            told[:, None], positive[level] / np.where(told, rows[level], 1)[:, None], shares[above[level]]
        )
    return shares


def pooled_shares(tree: RowTree, counts: Reals, scale: float) -> Reals:
    """How frequent each class is in every node, with pseudo-counts from the node above.

    P = (max(z, 0) + b·√(leaves)·C·P_above) / sum: a sum of so many counts has noise of b·√(leaves), *scale* is b. Where
    noise drowns the counts, a node is like the one above it.
    """
    classes = counts.shape[1]
    positive, noise = np.maximum(counts, 0.0), scale * np.sqrt(leaves_below(tree))
    shares = np.empty(counts.shape)
    shares[0] = (positive[0] + 1) / (positive[0] + 1).sum()
    above = tree.parents()
    for level in tree.levels()[1:]:
        q = positive[level] + noise[level, None] * classes * shares[above[level]]
        shares[level] = q / q.sum(axis=1, keepdims=True)
    return shares
