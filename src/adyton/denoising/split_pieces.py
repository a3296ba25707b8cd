"""Posterior means on large trees of counts: subtrees of a million leaves are fitted each by itself.

What one part of a large domain has to say about the cells of another is little, and all of it is in the sum of the
part. So the tree is cut where a node has no more than so many leaves; least squares on the nodes above tell each piece
what all the others know about its root, which becomes part of the answer there; and each piece learns a prior of its
own from its million leaves. Time is linear in the leaves; the memory is that of the pieces that are under way, one a
core.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.denoising.count_windows import generations, least_squares
from adyton.denoising.splits import Splits
from adyton.denoising.top_down import posterior

MOST_LEAVES = 1 << 20
"""How many leaves are fitted together."""
_AT_ONCE = 2
"""How many pieces are fitted at a time, at most: each takes up to a gigabyte."""


def leaf_means(tree: Splits, answers: Reals, precisions: Reals, most: int | None = None) -> Reals:
    """The posterior mean of every leaf; *answers* and *precisions* are as for :func:`.top_down.posterior`."""
    largest = MOST_LEAVES if most is None else most
    if tree.leaves <= largest:
        return posterior(tree, answers, precisions)[: tree.leaves]
    above, pieces = _cut(tree, largest)
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
    """A subtree: its leaves, which lie side by side, and its other nodes, the root last."""

    first: int
    leaves: int
    inner: Places

    @property
    def nodes(self) -> Places:
        """The numbers of its nodes in the whole tree."""
        return np.concatenate([np.arange(self.first, self.first + self.leaves), self.inner])

    def tree(self, whole: Splits) -> Splits:
        """As a tree of its own."""
        kids = whole.kids[self.inner - whole.leaves]
        inner = self.leaves + np.searchsorted(self.inner, kids)
        nodes = self.nodes
        return Splits(nodes, np.where(kids < whole.leaves, kids - self.first, inner), whole.levels[nodes])


def _cut(tree: Splits, most: int) -> tuple[Splits, list[_Piece]]:
    """The largest subtrees of no more than so many leaves, and the tree above them, whose leaves are their roots."""
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
    """The first leaf below every node, and how many there are: halves come before what they are halves of."""
    leaves = counts.size - len(kids)
    for place in range(len(kids)):
        left, right = kids[place, 0], kids[place, 1]
        first[leaves + place] = first[left]
        counts[leaves + place] = counts[left] + counts[right]


def _inside(tree: Splits, answers: Reals, precisions: Reals) -> tuple[float, float]:
    """The sum of a tree and its variance, by least squares on its own answers."""
    if not len(tree.kids):
        return float(answers[0]), float(1 / precisions[0])
    found = least_squares(generations(tree), answers, precisions)
    return float(found.inside[-1]), float(found.noise[-1])


def _outside(above: Splits, inside: Reals, answers: Reals, precisions: Reals) -> Reals:
    """For each leaf of the tree above, what the others know about it: its mean and precision.

    Precisions add up: what all know is what it knows itself, *inside*, and what the others know.
    """
    (means, noise), leaves = inside, above.leaves
    found = least_squares(
        generations(above),
        np.concatenate([means, answers[leaves:]]),
        np.concatenate([1 / noise, precisions[leaves:]]),
    )
    precision = np.maximum(0.0, 1 / found.variance[:leaves] - 1 / noise)
    known = found.mean[:leaves] / found.variance[:leaves] - means / noise
    return np.stack([np.divide(known, precision, out=np.zeros(leaves), where=precision > 0), precision])
