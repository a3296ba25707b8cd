"""Naive Bayes in the nodes of a tree: noisy tables of every attribute by leaf and class, smoothed from above."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.kernel.sources import TableSource
from adyton.learning.leaf_profiles import LeafProfiles
from adyton.learning.target import Target
from adyton.learning.tree_counts import leaves_below, summed
from adyton.learning.tree_growing import leaf_counts
from adyton.queries import Identity
from adyton.schema import RowTree

_LITTLE = 0.01
"""Of a row: no class is impossible."""


def measured_profiles(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> LeafProfiles:
    """A table of each attribute that some leaf has not split on, each with an equal part of ε; all leaves at once.

    Pseudo-counts come from the node above: q = max(z, 0) + (b·π_c + ½)·L·P(v | c, above), for noise of scale b and
    L cells. The root's come from an even spread, which makes a tree without splits the naive Bayes of the recipe.
    """
    nodes, free = tree.split.size, unused(tree)
    measured = np.flatnonzero(free[tree.leaves].any(axis=0))
    sizes = target.schema.shape
    if not measured.size:
        return _plain(source, target, tree, epsilon)
    each = epsilon / len(measured)
    scale = 1 / float(each)
    tables: dict[int, Reals] = {}
    for place in measured.tolist():
        vector = source.leaves(tree, target.schema.names[place], target.label)
        answers = vector.measure(Identity(vector.shape), each).answers
        tables[place] = summed(tree, answers.astype(np.float64).reshape(vector.shape))
    counts, weight = _totals(tree, tables, free, sizes)
    shares = _shares(tree, counts, scale * np.sqrt(2 * leaves_below(tree) / weight))
    profiles = []
    for place, size in enumerate(sizes):
        if place in tables:
            profiles.append(_profile(tree, tables[place], free[:, place], shares, scale))
        else:
            profiles.append(np.ones((nodes, size, len(target.classes))))
    return LeafProfiles(target=target, tree=tree, counts=counts, shares=shares, profiles=tuple(profiles))


def unused(tree: RowTree) -> Flags:
    """For every node and attribute, whether the path to the node has not split on it."""
    free = np.ones((tree.split.size, len(tree.attributes)), dtype=bool)
    above = tree.parents()
    for level in tree.levels()[1:]:
        free[level] = free[above[level]]
        free[level, tree.split[above[level]]] = False
    return free


def _totals(tree: RowTree, tables: dict[int, Reals], free: Flags, sizes: tuple[int, ...]) -> tuple[Reals, Reals]:
    """The rows of each class in every leaf, by the inverse-variance average of the tables' sums; and its precision.

    The sum of L cells has L times the variance of one. An attribute that the path has split on has a single cell
    there: the others are empty, whatever the rows. Nodes above are sums of their leaves.
    """
    leaves = tree.leaves
    weights = np.zeros(len(leaves))
    total = np.zeros((len(leaves), next(iter(tables.values())).shape[2]))
    for place, table in tables.items():
        inside = table[leaves]
        alone = ~free[leaves, place]
        own = np.zeros(inside.shape[0], dtype=np.int64)
        if alone.any():
            own = _cell_on_path(tree, place)[leaves]
        sums = np.where(alone[:, None], inside[np.arange(len(leaves)), own], inside.sum(axis=1))
        weight = np.where(alone, 1.0, 1 / sizes[place])
        weights += weight
        total += weight[:, None] * sums
    counts = summed(tree, total / weights[:, None])
    precision = leaves_below(tree) / summed(tree, 1 / weights)
    return counts, precision


def _cell_on_path(tree: RowTree, place: int) -> Places:
    """For every node the cell of an attribute that its path has gone through; 0 where it has not split on it."""
    cells, above = np.zeros(tree.split.size, dtype=np.int64), tree.parents()
    for level in tree.levels()[1:]:
        parents = above[level]
        cells[level] = np.where(tree.split[parents] == place, level - tree.first[parents], cells[parents])
    return cells


def _shares(tree: RowTree, counts: Reals, deviation: Reals) -> Reals:
    """How frequent each class is: what is negative counts as 0, and pseudo-counts come from the node above."""
    shares, above = np.empty(counts.shape), tree.parents()
    rows = max(float(counts[0].sum()), 1.0)
    shares[0] = np.maximum(counts[0] / rows, 0.5 / max(rows, 20.0))
    shares[0] /= shares[0].sum()
    for level in tree.levels()[1:]:
        q = np.maximum(counts[level], 0) + deviation[level, None] * shares[above[level]] + _LITTLE
        shares[level] = q / q.sum(axis=1, keepdims=True)
    return shares


def _profile(tree: RowTree, table: Reals, free: Flags, shares: Reals, scale: float) -> Reals:
    """P(cell | class, node) for one attribute; 1 where the path has used it."""
    found, above = np.ones(table.shape), tree.parents()
    size = table.shape[1]
    noise = scale * np.sqrt(leaves_below(tree))
    for level in tree.levels():
        nodes = level[free[level]]
        prior = np.full((len(nodes), *table.shape[1:]), 1 / size) if not level[0] else found[above[nodes]]
        pseudo = (noise[nodes, None] * shares[nodes] + 0.5)[:, None, :] * size * prior
        q = np.maximum(table[nodes], 0) + pseudo
        found[nodes] = q / q.sum(axis=1, keepdims=True)
    return found


def _plain(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> LeafProfiles:
    """Where no attribute is left for profiles: the classes in the leaves alone."""
    counts = summed(tree, leaf_counts(source, target, tree, epsilon))
    shares = _shares(tree, counts, np.sqrt(2 * leaves_below(tree)) / float(epsilon))
    profiles = tuple(np.ones((tree.split.size, size, len(target.classes))) for size in target.schema.shape)
    return LeafProfiles(target=target, tree=tree, counts=counts, shares=shares, profiles=profiles)
