"""The blocks of a tree as queries, and the Haar queries: the total, and the difference between the halves of blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size
from adyton.queries.basic import DomainQueries
from adyton.whole import as_shape, freeze, rises, whole


@dataclass(frozen=True, eq=False)
class BlockTree:
    """Blocks of cells, level by level from the coarsest; blocks are numbered in this order.

    >>> BlockTree(4, [[0, 4], [0, 1, 4]]).children
    (array([0, 2]), array([0, 1, 4]))
    """

    domain: tuple[int, ...]
    boundaries: tuple[Places, ...]
    """For each level, where its blocks start, followed by the number of cells."""
    order: Places | None = None
    """Which cell is at each place; row-major order if None."""
    children: tuple[Places, ...] = field(init=False)
    """For each level, the first child of each block on the level below (or among the cells), followed by the number of
    children."""
    even: tuple[int, ...] = field(init=False)
    """For each level, how many children every block has (the last one may have fewer); 0 if they differ."""
    level_starts: tuple[int, ...] = field(init=False)
    """The number of the first block of each level, followed by the number of blocks."""

    def __init__(
        self, domain: int | Sequence[int], boundaries: Sequence[npt.ArrayLike], order: npt.ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        levels = tuple(freeze(level, "boundaries").reshape(-1) for level in boundaries)
        if not levels:
            raise BadInput("a hierarchy needs at least one level, given none.")
        for level in levels:
            if level.size < 2 or level[0] != 0 or level[-1] != self.cells or not rises(level):
                raise BadInput(f"the boundaries of a level must rise from 0 to the number of cells, {self.cells}.")
        children = [freeze(np.searchsorted(fine, coarse), "children") for coarse, fine in itertools.pairwise(levels)]
        if not all(
            np.array_equal(levels[number][first], levels[number - 1]) for number, first in enumerate(children, 1)
        ):
            raise BadInput("every boundary of a level must be a boundary of the levels below it.")
        places = None if order is None else freeze(order, "order").reshape(-1)
        if places is not None and (
            places.size != self.cells or not np.array_equal(np.sort(places), np.arange(self.cells))
        ):
            raise BadInput(f"an order must list each of the {self.cells} cells once.")
        self._keep(levels, places, (*children, levels[-1]))

    def _keep(self, boundaries: tuple[Places, ...], order: Places | None, children: tuple[Places, ...]) -> None:
        object.__setattr__(self, "boundaries", boundaries)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "even", tuple(even(starts) for starts in children))
        object.__setattr__(self, "level_starts", (0, *itertools.accumulate(level.size - 1 for level in boundaries)))

    @staticmethod
    def of_sizes(cells: int, sizes: Sequence[int], *, root: bool = True) -> BlockTree:
        """Equal blocks of the given sizes, each size a multiple of the next; the last block ends with the domain.

        The whole domain is the first level if *root*.

        >>> BlockTree.of_sizes(5, [2, 1]).boundaries
        (array([0, 5]), array([0, 2, 4, 5]), array([0, 1, 2, 3, 4, 5]))
        """
        number = whole(cells, "cells", 1)
        levels = [np.append(np.arange(0, number, whole(size, "sizes", 1)), number) for size in sizes]
        if root and (not levels or levels[0].size > 2):
            levels.insert(0, np.array([0, number]))
        return BlockTree(number, levels)

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.domain)

    @property
    def blocks(self) -> int:
        """How many blocks the tree has."""
        return self.level_starts[-1]

    @property
    def depth(self) -> int:
        """How many levels there are below the first one."""
        return len(self.boundaries) - 1

    def by_level(self, values: Array) -> list[Array]:
        """Values of all blocks along the last axis, cut into levels."""
        return np.split(values, self.level_starts[1:-1], axis=-1)

    def ordered(self, cells: Array) -> Array:
        """Cells in row-major order, put into the order of the tree."""
        return cells if self.order is None else cells[..., self.order]

    def unordered(self, cells: Array) -> Array:
        """Cells in the order of the tree, put into row-major order."""
        if self.order is None:
            return cells
        result = np.empty_like(cells)
        result[..., self.order] = cells
        return result

    def sums(self, values: Array, level: int) -> Array:
        """For each block of a level, the sum over its children: values of the next level, or of the cells."""
        return sums_of(values, self.children[level], self.even[level])

    def spread(self, values: Array, level: int) -> Array:
        """The value of each block of a level, repeated for each of its children."""
        return spread_of(values, self.children[level], self.even[level])


_SHORT = 8
"""Blocks of at most this many children are summed child by child, for all blocks at once."""


def block_sums(values: Array, starts: Places) -> Array:
    """The sums over blocks that begin at *starts* (which also lists the end of the last block), along the last axis."""
    return sums_of(values, starts, even(starts))


def spread(values: Array, starts: Places) -> Array:
    """Each value repeated over its block; the transpose of :func:`block_sums`."""
    return spread_of(values, starts, even(starts))


def even(starts: Places) -> int:
    """The common size of all blocks (the last one may be shorter); 0 if they differ."""
    size, blocks = int(starts[1]), starts.size - 1
    return size if starts[-1] <= size * blocks and np.array_equal(starts[:-1], np.arange(blocks) * size) else 0


def sums_of(values: Array, starts: Places, size: int) -> Array:
    """:func:`block_sums` for blocks whose common size (:func:`even`) is known."""
    if size == 0:
        return np.add.reduceat(values, starts[:-1], axis=-1)
    if size == 1:
        return values
    blocks = starts.size - 1
    full = blocks if starts[-1] == size * blocks else blocks - 1
    equal, rest = values[..., : size * full], values[..., size * full :]
    if size <= _SHORT:
        sums = equal[..., ::size] + equal[..., 1::size]
        for place in range(2, size):
            sums += equal[..., place::size]
    else:
        sums = equal.reshape(*values.shape[:-1], full, size).sum(axis=-1)
    return sums if full == blocks else np.concatenate([sums, rest.sum(axis=-1, keepdims=True)], axis=-1)


def spread_of(values: Array, starts: Places, size: int) -> Array:
    """:func:`spread` for blocks whose common size (:func:`even`) is known."""
    if size and starts[-1] == size * (starts.size - 1):
        return np.repeat(values, size, axis=-1)
    return np.repeat(values, np.diff(starts), axis=-1)


@dataclass(frozen=True, eq=False)
class Hierarchy(BlockTree, Queries):
    """The blocks of a tree: each is a query, unless ``measured`` leaves it out; queries are numbered level by level.

    ``boundaries`` lists for each level, from the coarsest to the finest, where its blocks start, followed by the
    number of cells; ``order`` says which cell is at each place (row-major order if None).

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
            raise BadInput(f"measured must list at least one of the {self.blocks} blocks, in ascending order.")
        object.__setattr__(self, "measured", queries)

    @classmethod
    def of_blocks(cls, cells: int, sizes: Sequence[int], *, root: bool = True) -> Hierarchy:
        """Equal blocks of the given sizes, each size a multiple of the next; the last block ends with the domain.

        The whole domain is the first level if *root*.

        >>> Hierarchy.of_blocks(5, [2, 1]) @ [1, 2, 3, 4, 5]
        array([15,  3,  7,  5,  1,  2,  3,  4,  5])
        """
        return cls.of_tree(BlockTree.of_sizes(cells, sizes, root=root))

    @classmethod
    def of_tree(cls, tree: BlockTree, levels: Sequence[int] | None = None) -> Hierarchy:
        """All the blocks of these levels (0 is the coarsest) as queries; of all levels if None."""
        height = len(tree.boundaries)
        chosen = sorted({whole(level, "levels", 0) for level in (range(height) if levels is None else levels)})
        if not chosen or chosen[-1] >= height:
            raise BadInput(f"levels must be at least one of 0 … {height - 1}, given {shorten(levels)}.")
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
        """The answers to the queries along the last axis, with zeros for the blocks that are not queries."""
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
        """Every block once, and for the transpose every cell on every level."""
        return Size(2 * (self.blocks + self.cells), 2 * self.blocks + self.cells * len(self.boundaries))

    def squared_norm(self) -> float:
        """The sum of the sizes of the measured blocks."""
        if self.measured is None:
            return float(len(self.boundaries) * self.cells)
        return float(np.concatenate([np.diff(level) for level in self.boundaries])[self.measured].sum())


@dataclass(frozen=True, init=False)
class Haar(DomainQueries):
    """The total, then for every dyadic block from the whole domain down to pairs: its left half minus its right half.

    A domain whose size is not a power of two is padded with cells that are always empty; blocks without a real cell
    are left out.

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
        """How many blocks of each level contain a real cell, from the whole domain down to pairs."""
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
        """(A⁻¹)ᵀ·q for coefficients q over the cells: the coefficient of each answer in a query."""
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
    """The entries at even and at odd places; an odd number of entries is padded with a zero."""
    left, right = values[..., ::2], values[..., 1::2]
    if left.shape[-1] > right.shape[-1]:
        empty = np.zeros((*values.shape[:-1], 1), dtype=values.dtype)
        right = np.concatenate([right, empty], axis=-1)
    return left, right
