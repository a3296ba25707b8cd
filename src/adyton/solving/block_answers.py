"""A tree of blocks that fills up with answers as they come, and the least squares on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries import Measurement
from adyton.queries.block_tree import BlockTree
from adyton.solving.block_passes import BlockFit
from adyton.whole import rises

_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class BlockAnswers:
    """Answers on the blocks of a tree whose first level is the whole domain and whose last level are the cells.

    Cells that no answer tells apart share alike. Where blocks inside a block are measured, they cover it.

    >>> known = BlockAnswers.none(BlockTree.of_halves(3)).with_answers([0], [9.0], 2.0)
    >>> known.with_answers([1, 2], [8.0, 3.0], 1.0).cells()  # one too many each: half of the two is the total's fault
    array([3.75, 3.75, 2.5 ])
    """

    tree: BlockTree
    answers: Reals
    precisions: Reals

    @classmethod
    def none(cls, tree: BlockTree, totals: Sequence[Measurement] = ()) -> BlockAnswers:
        """A tree of which nothing is known, but perhaps some totals."""
        known = cls(tree, np.zeros(tree.blocks), np.zeros(tree.blocks))
        for total in totals:
            known = known.with_level(0, total)
        return known

    def with_level(self, level: int, measured: Measurement) -> BlockAnswers:
        """These and the answers on all blocks of a level, in the order of the tree."""
        first, end = self.tree.level_starts[level : level + 2]
        return self.with_answers(np.arange(first, end), measured.answers, measured.variances)

    def with_answers(self, blocks: npt.ArrayLike, answers: npt.ArrayLike, variances: npt.ArrayLike) -> BlockAnswers:
        """These and further answers, which are averaged with those that the blocks have, by precision."""
        places = np.asarray(blocks, dtype=np.int64).reshape(-1)
        given = np.broadcast_to(np.asarray(answers, dtype=np.float64), places.shape)
        noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), places.shape)
        if places.size and (places.min() < 0 or places.max() >= self.tree.blocks):
            raise BadInput(f"blocks are numbered from 0 to {self.tree.blocks - 1}.")
        if not (np.isfinite(given).all() and (noise >= 0).all()) or not (rises(places) or rises(np.sort(places))):
            raise BadInput("answers are finite numbers with variances of at least 0, one for each of different blocks.")
        added = 1 / np.maximum(noise, _LEAST_VARIANCE)
        every, precisions = self.answers.copy(), self.precisions.copy()
        precisions[places] += added
        every[places] += (given - every[places]) * (added / precisions[places])
        return BlockAnswers(self.tree, every, precisions)

    def estimates(self) -> tuple[Reals, Reals]:
        """For every block, the least-squares estimate of its sum, and the variance of what was measured inside it."""
        fit = BlockFit.of(self.tree.offsets, self.precisions, np.ones(self.tree.cells))
        return fit.estimates(self.answers), fit.variances

    def cells(self) -> Reals:
        """The least-squares estimate of the cells, in the order of the tree."""
        return self.estimates()[0][-self.tree.cells :]
