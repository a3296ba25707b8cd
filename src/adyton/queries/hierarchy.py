"""The blocks of a tree as queries, and the Haar queries: the total, and the difference between the halves of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size
from adyton.queries.basic import DomainQueries
from adyton.queries.block_tree import BlockTree
from adyton.whole import freeze, rises, whole


@dataclass(frozen=True, eq=False)
class Hierarchy(BlockTree, Queries):
    """The blocks of a tree: each is a query, unless ``measured`` leaves it out; queries are numbered level by level.

    ``boundaries`` lists for each level, from the coarsest to the finest, where its blocks start, and at the end the
    number of cells; ``order`` says which cell stands at each place (row-major order if None).

    >>> Hierarchy(4, [[0, 4], [0, 2, 4]]) @ [1, 2, 3, 4]
    array([10,  3,  7])
    """

    measured: Places | None = None
    """The numbers of the blocks that are queries, ascending; None for all."""

    def __init__(
        self,
        domain: int | Sequence[int],
        boundaries: Sequence[npt.ArrayLike],
        order: npt.ArrayLike | None = None,
        measured: npt.ArrayLike | None = None,
    ) -> None:
        BlockTree.__init__(self, domain, boundaries, order)
        queries = None if measured is None else freeze(measured, "measured").reshape(-1)
        if queries is not None and (
            not queries.size or queries[0] < 0 or queries[-1] >= self.blocks or not rises(queries)
        ):
            raise BadInput(f"measured lists at least one of the {self.blocks} blocks, in ascending order.")
        object.__setattr__(self, "measured", queries)

    @classmethod
    def of_blocks(cls, cells: int, sizes: Sequence[int], *, root: bool = True) -> Hierarchy:
        """Equal blocks of the given sizes, each size a multiple of the next, the last one cut where the domain ends.

        The whole domain stands above them if *root*.

        >>> Hierarchy.of_blocks(5, [2, 1]) @ [1, 2, 3, 4, 5]
        array([15,  3,  7,  5,  1,  2,  3,  4,  5])
        """
        return cls.of_tree(BlockTree.of_sizes(cells, sizes, root=root))

    @classmethod
    def of_tree(cls, tree: BlockTree, levels: Sequence[int] | None = None) -> Hierarchy:
        """All the blocks of these levels (0 is the coarsest) as queries, or of all levels if None."""
        height = len(tree.boundaries)
        chosen = sorted({whole(level, "levels", 0) for level in (range(height) if levels is None else levels)})
        if not chosen or chosen[-1] >= height:
            raise BadInput(f"levels are at least one of 0 … {height - 1}, given {shorten(levels)}.")
        starts = tree.level_starts
        numbers = np.concatenate([np.arange(starts[level], starts[level + 1]) for level in chosen])
        return cls(tree.domain, tree.boundaries, tree.order, None if len(chosen) == height else numbers)

    @property
    def count(self) -> int:
        """How many blocks are queries."""
        return self.blocks if self.measured is None else self.measured.size

    def query_levels(self) -> Places:
        """The level of each query."""
        levels = np.repeat(np.arange(len(self.boundaries)), np.diff(self.level_starts))
        return levels if self.measured is None else levels[self.measured]

    def for_every_block(self, answers: Array) -> Array:
        """The answers to the queries along the last axis, with zeros for the blocks that are none."""
        if self.measured is None:
            return answers
        every = np.zeros((*answers.shape[:-1], self.blocks), dtype=answers.dtype)
        every[..., self.measured] = answers
        return every

    def _apply(self, cells: Array) -> Array:
        levels = [self.ordered(cells)]
        for level in range(len(self.boundaries) - 1, -1, -1):
            levels.append(self.sums(levels[-1], level))
        every = np.concatenate(levels[:0:-1], axis=-1)
        return every if self.measured is None else every[..., self.measured]

    def _transpose(self, answers: Array) -> Array:
        first, *others = self.by_level(self.for_every_block(answers))
        values = self.spread(first, 0)
        for level, own in enumerate(others, 1):
            values = self.spread(values + own, level)
        return np.ascontiguousarray(self.unordered(values))

    def __str__(self) -> str:
        return f"hierarchy of {self.count:,} blocks of {self.cells:,} cells"

    def _plain_sensitivity(self) -> int:
        """A cell is in one block of each level."""
        return len(self.boundaries) if self.measured is None else super()._plain_sensitivity()

    def size(self) -> Size:
        """Every block once, and on the way back every cell on every level."""
        return Size(2 * (self.blocks + self.cells), 2 * self.blocks + self.cells * len(self.boundaries))

    def squared_norm(self) -> float:
        """The sizes of the measured blocks together."""
        if self.measured is None:
            return float(len(self.boundaries) * self.cells)
        return float(np.concatenate([np.diff(level) for level in self.boundaries])[self.measured].sum())


@dataclass(frozen=True, init=False)
class Haar(DomainQueries):
    """The total, then for every dyadic block from the whole domain down to pairs: its left half minus its right half.

    A domain that is no power of two is continued with cells that are always empty; blocks that hold no real cell are
    left out.

    >>> Haar(4) @ [1, 2, 3, 5]
    array([11, -5, -1, -2])
    """

    one_axis: ClassVar[str] = "Haar queries need one dimension, given the shape {}. Use Kronecker for more."

    @property
    def levels(self) -> int:
        """How often the padded domain can be halved."""
        return (self.cells - 1).bit_length()

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many blocks of each level hold a real cell, from the whole domain down to pairs."""
        return _blocks(self.cells)

    @property
    def count(self) -> int:
        """One for the total and one for each block."""
        return 1 + sum(self.blocks)

    def _apply(self, cells: Array) -> Array:
        sums = cells
        parts = []
        for _ in range(self.levels):
            left, right = _halves(sums)
            parts.append(left - right)
            sums = left + right
        return np.concatenate([sums, *reversed(parts)], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        return self._spread(answers, signed=True)

    def _absolute_transpose(self, weights: Array) -> Array:
        return self._spread(weights, signed=False)

    def _spread(self, answers: Array, *, signed: bool) -> Array:
        values, start, cells = answers[..., :1], 1, self.cells
        for level, blocks in zip(range(self.levels, 0, -1), self.blocks, strict=True):
            own = answers[..., start : start + blocks]
            start += blocks
            halves = np.empty((*answers.shape[:-1], 2 * blocks), dtype=answers.dtype)
            np.add(values, own, out=halves[..., ::2])
            (np.subtract if signed else np.add)(values, own, out=halves[..., 1::2])
            values = halves[..., : -(-cells >> (level - 1))]
        return np.array(values)

    def inverse(self, answers: Reals) -> Reals:
        """The cells of the padded domain that have these answers, cut to the real cells.

        A block's halves are (sum ± difference) / 2.
        """
        return self._spread(answers / self.sizes, signed=True)

    def inverse_transpose(self, cells: Reals) -> Reals:
        """(A⁻¹)ᵀ·q for coefficients q over the cells: what each answer contributes to a query."""
        return self._apply(cells) / self.sizes

    @property
    def sizes(self) -> Reals:
        """The number of (padded) cells that each query counts: its squared norm."""
        return _sizes(self.cells)

    def __str__(self) -> str:
        return f"Haar wavelet of {self.cells:,} cells"

    def _plain_sensitivity(self) -> int:
        """A cell is in the total and in one block of each level."""
        return self.levels + 1

    def squared_norm(self) -> float:
        """The total and every level count every cell once."""
        return float(self.cells * (self.levels + 1))


@lru_cache(maxsize=64)
def _blocks(cells: int) -> tuple[int, ...]:
    return tuple(-(-cells >> level) for level in range((cells - 1).bit_length(), 0, -1))


@lru_cache(maxsize=64)
def _sizes(cells: int) -> Reals:
    levels = (cells - 1).bit_length()
    sizes = np.repeat(np.exp2([levels, *range(levels, 0, -1)]), [1, *_blocks(cells)])
    sizes.flags.writeable = False
    return sizes


def _halves(values: Array) -> tuple[Array, Array]:
    """The even and the odd entries; an odd number of them is continued with a zero."""
    left, right = values[..., ::2], values[..., 1::2]
    if left.shape[-1] > right.shape[-1]:
        empty = np.zeros((*values.shape[:-1], 1), dtype=values.dtype)
        right = np.concatenate([right, empty], axis=-1)
    return left, right
