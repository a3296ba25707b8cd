"""Pruning a tree by its noisy counts, as C4.5 does. It costs nothing: the rows are not looked at again.

Quinlan, "C4.5: programs for machine learning", 1993, Section 4.2.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.schema import RowTree

_NORMAL = 0.6745
"""The upper quartile of the normal distribution: C4.5 judges by errors that are passed one time in four."""
_SLACK = 0.1
"""A leaf is preferred while it makes hardly more errors than the branches, in rows."""


def expected_errors(counts: Reals) -> Reals:
    """How many rows the most frequent class of each node would get wrong, at the upper end of what is likely.

    Wilson's bound for a frequency f of errors among N rows, times N.
    """
    positive = np.maximum(counts, 0.0)
    rows = positive.sum(axis=1)
    safe = np.maximum(rows, 1e-12)
    part = (rows - positive.max(axis=1)) / safe
    spread = np.sqrt(part / safe - part * part / safe + _NORMAL**2 / (4 * safe * safe))
    bound = (part + _NORMAL**2 / (2 * safe) + _NORMAL * spread) / (1 + _NORMAL**2 / safe)
    return np.where(rows > 0, rows * bound, 0.0)


def worth_keeping(tree: RowTree, counts: Reals) -> Flags:
    """For every node whether its branches promise fewer errors than it would make as a leaf; bottom-up."""
    alone, kept = expected_errors(counts), tree.split >= 0
    errors, above = alone.copy(), tree.parents()
    for level in reversed(tree.levels()):
        inner = level[tree.split[level] >= 0]
        if inner.size:
            below = np.zeros(tree.split.size)
            children = np.flatnonzero(np.isin(above, inner))
            np.add.at(below, above[children], errors[children])
            kept[inner] = alone[inner] > below[inner] + _SLACK
            errors[inner] = np.where(kept[inner], below[inner], alone[inner])
    return kept


def cut(tree: RowTree, kept: Flags) -> tuple[RowTree, Places]:
    """The tree in which nodes that are not kept are leaves; and the number that each of its nodes had before."""
    sizes, old = tree.sizes, [0]
    split: list[int] = []
    first: list[int] = []
    for node in old:  # grows while it is read: breadth first
        if kept[node]:
            split.append(int(tree.split[node]))
            first.append(len(old))
            old.extend(range(int(tree.first[node]), int(tree.first[node] + sizes[node])))
        else:
            split.append(-1)
            first.append(-1)
    return RowTree(tree.attributes, np.array(split), np.array(first)), np.array(old, dtype=np.int64)


def pruned(tree: RowTree, counts: Reals) -> tuple[RowTree, Reals]:
    """The pruned tree with the counts of its nodes."""
    smaller, old = cut(tree, worth_keeping(tree, counts))
    return smaller, counts[old]
