"""A binary tree of blocks that fills up with answers as they come, and the least squares on all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.whole import freeze, whole

_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class DyadicTree:
    """Answers on the blocks of a binary tree. Block 1 is the whole domain, the halves of block v are 2v and 2v + 1.

    Cells that no answer tells apart share alike. Where blocks inside a block are measured, they cover it.

    >>> tree = DyadicTree.of(3).with_answers([1], [9.0], 2.0).with_answers([2, 3], [8.0, 3.0], 1.0)
    >>> tree.cells_estimate()  # 8 and 3 are one too many each: half of the two is the total's fault
    array([3.75, 3.75, 2.5 ])
    """

    cells: int
    sizes: Places
    answers: Reals
    precisions: Reals

    @classmethod
    def of(cls, cells: int) -> DyadicTree:
        """A tree on this many cells, without answers."""
        number = whole(cells, "cells", 1)
        return cls.at(np.arange(number), (number - 1).bit_length())

    @classmethod
    def at(cls, places: npt.ArrayLike, height: int) -> DyadicTree:
        """A tree without answers whose cells are, in this order, at these of the 2^height places for cells.

        >>> DyadicTree.at([0, 2, 3], 2).sizes[1:].tolist()
        [3, 1, 2, 1, 0, 1, 1]
        """
        chosen = freeze(places, "places")
        width = 1 << whole(height, "height", 0)
        number = chosen.size
        if chosen.ndim != 1 or not number or chosen[0] < 0 or chosen[-1] >= width or (np.diff(chosen) <= 0).any():
            raise BadInput(f"places must be whole numbers that rise within 0 … {width - 1}, one for each cell.")
        sizes = np.zeros(2 * width, dtype=np.int64)
        sizes[width + chosen] = 1
        level = width
        while level > 1:
            sizes[level // 2 : level] = sizes[level : 2 * level : 2] + sizes[level + 1 : 2 * level : 2]
            level //= 2
        return cls(number, sizes, np.zeros(2 * width), np.zeros(2 * width))

    @property
    def height(self) -> int:
        """How often the domain is halved."""
        return self.sizes.size.bit_length() - 2

    def levels(self, blocks: npt.ArrayLike) -> Places:
        """How often each block is halved until single cells are left."""
        return np.asarray(self.height + 1 - np.frexp(np.asarray(blocks, dtype=np.float64))[1], dtype=np.int64)

    def starts(self, blocks: npt.ArrayLike) -> Places:
        """The first place of each block."""
        return np.asarray((np.asarray(blocks, dtype=np.int64) << self.levels(blocks)) - self.sizes.size // 2)

    def with_answers(self, blocks: npt.ArrayLike, answers: npt.ArrayLike, variances: npt.ArrayLike) -> DyadicTree:
        """The tree with further answers, which are averaged with those that the blocks have, by precision."""
        places = np.asarray(blocks, dtype=np.int64).reshape(-1)
        given = np.broadcast_to(np.asarray(answers, dtype=np.float64), places.shape)
        noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), places.shape)
        if places.size and (places.min() < 1 or places.max() >= self.sizes.size or (self.sizes[places] == 0).any()):
            raise BadInput(f"blocks are numbered from 1 to {self.sizes.size - 1} and hold cells of the domain.")
        if not (np.isfinite(given).all() and (noise >= 0).all()) or np.unique(places).size != places.size:
            raise BadInput("answers are finite numbers with variances of at least 0, one for each of different blocks.")
        added = 1 / np.maximum(noise, _LEAST_VARIANCE)
        every, precisions = self.answers.copy(), self.precisions.copy()
        precisions[places] += added
        every[places] += (given - every[places]) * (added / precisions[places])
        return DyadicTree(self.cells, self.sizes, every, precisions)

    def estimates(self) -> tuple[Reals, Reals]:
        """For every block, the least-squares estimate of its sum, and the variance of what was measured inside it."""
        sums, variances = sum_upwards(self.answers, self.precisions, self.sizes)
        return share_downwards(sums, variances, self.sizes), variances

    def cells_estimate(self) -> Reals:
        """The least-squares estimate of the cells."""
        width = self.sizes.size // 2
        return np.asarray(self.estimates()[0][width:][self.sizes[width:] > 0])


@compiled
def sum_upwards(answers: Reals, precisions: Reals, sizes: Places) -> tuple[Reals, Reals]:
    """Each block's sum from what was measured inside it, and the variance of that, infinite where nothing was."""
    sums, variances = np.zeros(sizes.size), np.full(sizes.size, np.inf)
    leaves = sizes.size // 2
    for block in range(sizes.size - 1, 0, -1):
        if sizes[block] == 0:
            variances[block] = 0.0
            continue
        inside, variance = 0.0, np.inf
        if block < leaves:
            inside, variance = sums[2 * block] + sums[2 * block + 1], variances[2 * block] + variances[2 * block + 1]
        own = precisions[block]
        if own > 0 and variance < np.inf:
            share = own * variance / (1 + own * variance)
            sums[block], variances[block] = inside + share * (answers[block] - inside), variance / (1 + own * variance)
        elif own > 0:
            sums[block], variances[block] = answers[block], 1 / own
        else:
            sums[block], variances[block] = inside, variance
    return sums, variances


@compiled
def share_downwards(sums: Reals, variances: Reals, sizes: Places) -> Reals:
    """The least-squares estimate of every block: a surplus goes to the halves in proportion to their variances, and
    where nothing tells the halves apart, in proportion to their cells."""
    estimates = np.zeros(sizes.size)
    estimates[1] = sums[1]
    for block in range(1, sizes.size // 2):
        left, right = 2 * block, 2 * block + 1
        if sizes[right] == 0:
            estimates[left] = estimates[block]
        elif sizes[left] == 0:
            estimates[left] = 0.0
        elif variances[left] == np.inf and variances[right] == np.inf:
            estimates[left] = estimates[block] * (sizes[left] / sizes[block])
        elif variances[right] == np.inf:
            estimates[left] = sums[left]
        elif variances[left] == np.inf:
            estimates[left] = estimates[block] - sums[right]
        else:
            surplus = estimates[block] - sums[left] - sums[right]
            estimates[left] = sums[left] + surplus * (variances[left] / (variances[left] + variances[right]))
        if sizes[right] > 0:
            estimates[right] = estimates[block] - estimates[left]
    return estimates


@compiled
def measured_parts(
    answers: Reals, precisions: Reals, sizes: Places
) -> tuple[npt.NDArray[np.int8], Places, Reals, Reals]:
    """The tree that is left when blocks are halved only where something smaller was measured.

    Returns for each block whether it is a leaf (1), divided (2) or no part of that tree (0); the block of the tree that
    has the same cells, if any; and the answers and precisions, with those on the same cells made one.
    """
    leaves = sizes.size // 2
    kinds, homes = np.zeros(sizes.size, np.int8), np.arange(sizes.size)
    given, known = answers.copy(), precisions.copy()
    for block in range(1, leaves):
        for half in (2 * block, 2 * block + 1):
            if sizes[half] == sizes[block] > 0 and known[block] > 0:
                known[half] += known[block]
                given[half] += (given[block] - given[half]) * (known[block] / known[half])
    inside = known > 0
    for block in range(leaves - 1, 0, -1):
        inside[block] |= inside[2 * block] | inside[2 * block + 1]
        for half in (2 * block, 2 * block + 1):
            if sizes[half] == sizes[block]:
                homes[block] = homes[half]
    kinds[homes[1]] = 1
    for block in range(homes[1], leaves):
        if kinds[block] == 1 and homes[block] == block and (inside[2 * block] | inside[2 * block + 1]):
            kinds[block] = 2
            kinds[homes[2 * block]] = kinds[homes[2 * block + 1]] = 1
    return kinds, homes, given, known
