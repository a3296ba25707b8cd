"""Posterior means of cells, where blocks of a tree were measured unevenly: small ones here, large ones there.

The model is that of :mod:`adyton.denoising.top_down`. It needs no level to be measured wholly: a block inside which
nothing was measured is a leaf, whatever its size, and its cells share its rows evenly.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.denoising.halves import Halves
from adyton.denoising.top_down import posterior
from adyton.errors import BadInput
from adyton.queries.block_tree import BlockTree
from adyton.solving.block_answers import BlockAnswers

_LARGEST = 1e30


def block_posterior(known: BlockAnswers) -> Reals:
    """The posterior mean of every cell, in the order of the tree, given the answers on its blocks.

    Where blocks inside a block were measured, they must cover it; the answers on blocks of the same cells are averaged
    by precision. A domain that was not divided at all has the count that was measured, or none if that is negative.

    >>> known = BlockAnswers.none(BlockTree.of_halves(8)).with_answers([1, 11, 12, 6], [3, 101, 2, -1], 2.0)
    >>> block_posterior(known).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 101.0, 0.0, 0.0, 0.0]
    """
    tree = known.tree
    answers, precisions = np.clip(known.answers, -_LARGEST, _LARGEST), known.precisions.copy()
    homes = _join_equal_blocks(tree, answers, precisions)
    leaves, divided = _measured_parts(tree, precisions > 0, homes)
    leaves, divided = leaves[np.argsort(tree.starts[leaves])], divided[::-1]
    if (precisions[leaves] == 0).any():
        raise BadInput("some cells lie in no measured block, or only in one of which other parts were measured.")
    blocks = np.concatenate([leaves, divided])  # halves before what they are halves of
    numbers = np.full(homes.size, -1)
    numbers[blocks] = np.arange(blocks.size)
    left = tree.offsets[divided]
    kids = numbers[homes[np.stack([left, left + 1], axis=1)]]
    widths, levels = tree.sizes[leaves], len(tree.boundaries) - 1 - tree.levels_of(blocks)
    leaf = np.repeat(np.arange(leaves.size), widths)
    halves = Halves(kids, levels, numbers[homes], leaf, widths.astype(np.float64))
    if not divided.size:
        means = np.maximum(0.0, answers[leaves])
    else:
        means = posterior(halves, answers[blocks], precisions[blocks])[: halves.leaves]
    return np.asarray((means / halves.widths)[halves.leaf])


def _join_equal_blocks(tree: BlockTree, answers: Reals, precisions: Reals) -> Places:
    """Average the answers on blocks of the same cells, in place, and give them to the last of these blocks: the home
    of the others, which is returned for every block."""
    homes, starts, pairs = np.arange(tree.blocks), tree.level_starts, []
    for level, children in enumerate(tree.children[:-1]):
        alone = np.flatnonzero(np.diff(children) == 1)
        if not alone.size:
            continue
        pairs.append((starts[level] + alone, starts[level + 1] + children[alone]))
        measured = precisions[pairs[-1][0]] > 0
        upper, lower = (blocks[measured] for blocks in pairs[-1])
        precisions[lower] += precisions[upper]
        answers[lower] += (answers[upper] - answers[lower]) * (precisions[upper] / precisions[lower])
    for upper, lower in reversed(pairs):
        homes[upper] = homes[lower]
    return homes


def _measured_parts(tree: BlockTree, inside: Flags, homes: Places) -> tuple[Places, Places]:
    """The leaves and the divided blocks of the tree in which blocks are halved only where something smaller was
    measured; *inside* says which blocks were."""
    measured, below = tree.by_level(inside), []
    for level in range(len(measured) - 2, -1, -1):
        below.append(np.logical_or.reduceat(measured[level + 1], tree.children[level][:-1]))
        measured[level] |= below[-1]
    part, divided = np.zeros(tree.blocks, dtype=np.bool_), np.zeros(tree.blocks, dtype=np.bool_)
    part[homes[0]] = True
    starts = tree.level_starts
    for level, (children, smaller) in enumerate(zip(tree.children, reversed(below), strict=False)):
        own = slice(starts[level], starts[level + 1])
        divided[own] = part[own] & (np.diff(children) == 2) & smaller
        left = starts[level + 1] + children[:-1][divided[own]]
        part[homes[left]] = part[homes[left + 1]] = True
    return np.flatnonzero(part & ~divided), np.flatnonzero(divided)
