"""Noisy counts of classes in the leaves of a tree, and what follows for the nodes above. It costs nothing."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.schema import RowTree

_LITTLE = 1e-9


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


def shrunk_shares(tree: RowTree, counts: Reals, scale: float) -> Reals:
    """How frequent each class is in every node: as in the node above, and what the node differs from it, shrunk.

    A node of z_c noisy rows differs from the one above by r_c = z_c − z·P_c(above), z = Σ z_c. Over all children of one
    node let S be the sum of r², and V what it would be if they differed by noise and chance alone: noise of variance
    2b²·(leaves) in each count, *scale* is b, and z·P_c·(1 − P_c) for rows that are drawn. Of r the part
    f = max(0, 1 − V/S) is kept (James and Stein, 1961), and ½·b·√(leaves) rows are added that are like the node above.
    So a split that shows nothing but noise says nothing, and one that tells is hardly smoothed.
    """
    positive, below = np.maximum(counts, 0.0), leaves_below(tree)
    shares = np.empty(counts.shape)
    shares[0] = (positive[0] + 1) / (positive[0] + 1).sum()
    above = tree.parents()
    for level in tree.levels()[1:]:
        parents = above[level]
        expected, rows = shares[parents], positive[level].sum(axis=1, keepdims=True)
        differs = counts[level] - counts[level].sum(axis=1, keepdims=True) * expected
        kept = _kept(differs, expected, rows, np.asarray(2 * scale**2 * below[level, None], dtype=np.float64), parents)
        pseudo = 0.5 * scale * np.sqrt(below[level, None]) + _LITTLE
        q = np.maximum(rows * expected + kept * differs, 0.0) + pseudo * expected
        shares[level] = q / q.sum(axis=1, keepdims=True)
    return shares


def _kept(differs: Reals, expected: Reals, rows: Reals, variance: Reals, parents: Places) -> Reals:
    """For each node the part of its differences that noise and chance do not explain; one for all children of a node.

    The noise of r_c is that of z_c·(1 − P_c) less that of the other counts, times P_c.
    """
    classes = differs.shape[1]
    noise = variance * ((1 - expected) ** 2 + expected**2 * (classes - 1)) + rows * expected * (1 - expected)
    found = np.bincount(parents, (differs**2).sum(axis=1))
    likely = np.bincount(parents, noise.sum(axis=1))
    kept = np.maximum(1 - likely / np.maximum(found, _LITTLE), 0.0)
    return np.asarray(kept[parents, None])
