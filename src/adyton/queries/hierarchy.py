"""Hierarchies: blocks of cells inside larger blocks, any shape of tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries
from adyton.queries.size import Size
from adyton.whole import as_shape, freeze, rises, whole

_SHORT = 8
"""Blocks of at most this many cells are summed cell by cell for all blocks at once."""


@dataclass(frozen=True, eq=False)
class Hierarchy(Queries):
    """A tree of blocks: every level cuts the cells, in some order, into blocks of neighbours inside the blocks above.

    ``boundaries`` lists for each level, from the coarsest to the finest, where its blocks start, and at the end the
    number of cells; ``order`` says which cell stands at each place (row-major order if None). Each block is a query,
    unless ``measured`` leaves it out; queries are numbered level by level.

    >>> Hierarchy(4, [[0, 4], [0, 2, 4]]) @ [1, 2, 3, 4]
    array([10,  3,  7])
    """

    domain: tuple[int, ...]
    boundaries: tuple[Integers, ...]
    order: Integers | None = None
    measured: Integers | None = None
    """The numbers of the blocks that are queries, ascending; None for all."""
    children: tuple[Integers, ...] = field(init=False)
    """For each level but the finest, the first child of each block, and at the end the number of blocks below."""

    def __init__(
        self,
        domain: int | Sequence[int],
        boundaries: Sequence[npt.ArrayLike],
        order: npt.ArrayLike | None = None,
        measured: npt.ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        levels = tuple(freeze(level, "boundaries").reshape(-1) for level in boundaries)
        if not levels:
            raise BadInput("a hierarchy needs at least one level, given none.")
        for level in levels:
            if level.size < 2 or level[0] != 0 or level[-1] != self.cells or not rises(level):
                raise BadInput(f"the boundaries of a level rise from 0 to the number of cells, {self.cells}.")
        children = [np.searchsorted(fine, coarse) for coarse, fine in itertools.pairwise(levels)]
        if not all(
            np.array_equal(levels[number][first], levels[number - 1]) for number, first in enumerate(children, 1)
        ):
            raise BadInput("every boundary of a level must be a boundary of the levels below it.")
        object.__setattr__(self, "boundaries", levels)
        object.__setattr__(self, "children", tuple(freeze(first, "children") for first in children))
        places = None if order is None else freeze(order, "order").reshape(-1)
        if places is not None and (
            places.size != self.cells or not np.array_equal(np.sort(places), np.arange(self.cells))
        ):
            raise BadInput(f"an order lists each of the {self.cells} cells once.")
        object.__setattr__(self, "order", places)
        queries = None if measured is None else freeze(measured, "measured").reshape(-1)
        blocks = sum(level.size - 1 for level in levels)
        if queries is not None and (not queries.size or queries[0] < 0 or queries[-1] >= blocks or not rises(queries)):
            raise BadInput(f"measured lists at least one of the {blocks} blocks, in ascending order.")
        object.__setattr__(self, "measured", queries)

    @classmethod
    def of_blocks(cls, cells: int, sizes: Sequence[int], *, root: bool = True) -> Hierarchy:
        """Equal blocks of the given sizes, each size a multiple of the next, the last one cut where the domain ends.

        >>> Hierarchy.of_blocks(5, [2, 1]).boundaries
        (array([0, 5]), array([0, 2, 4, 5]), array([0, 1, 2, 3, 4, 5]))
        """
        blocks = [whole(size, "sizes", 1) for size in sizes]
        return cls(cells, block_boundaries(whole(cells, "cells", 1), blocks, root=root))

    def of_levels(self, levels: Sequence[int]) -> Hierarchy:
        """The same tree, with all the blocks of these levels (0 is the coarsest) as queries, and no others."""
        starts = self.level_starts
        chosen = sorted({whole(level, "levels", 0) for level in levels})
        if not chosen or chosen[-1] >= len(self.boundaries):
            raise BadInput(f"levels are at least one of 0 … {len(self.boundaries) - 1}, given {shorten(levels)}.")
        numbers = [np.arange(starts[level], starts[level + 1]) for level in chosen]
        return Hierarchy(self.domain, self.boundaries, self.order, np.concatenate(numbers))

    @property
    def level_starts(self) -> list[int]:
        """The number of the first block of each level, and the number of blocks at the end."""
        return [0, *itertools.accumulate(level.size - 1 for level in self.boundaries)]

    @property
    def blocks(self) -> int:
        """How many blocks the tree has, queries or not."""
        return self.level_starts[-1]

    @property
    def count(self) -> int:
        """How many blocks are queries."""
        return self.blocks if self.measured is None else self.measured.size

    def query_levels(self) -> Integers:
        """The level of each query."""
        levels = np.repeat(np.arange(len(self.boundaries)), [level.size - 1 for level in self.boundaries])
        return levels if self.measured is None else levels[self.measured]

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

    def _apply(self, cells: Array) -> Array:
        levels = [block_sums(self.ordered(cells), self.boundaries[-1])]
        for starts in reversed(self.children):
            levels.append(block_sums(levels[-1], starts))
        every = np.concatenate(levels[::-1], axis=-1)
        return every if self.measured is None else every[..., self.measured]

    def _transpose(self, answers: Array) -> Array:
        every = answers
        if self.measured is not None:
            every = np.zeros((*answers.shape[:-1], self.blocks), dtype=answers.dtype)
            every[..., self.measured] = answers
        levels = np.split(every, self.level_starts[1:-1], axis=-1)
        values = levels[0]
        for starts, own in zip(self.children, levels[1:], strict=True):
            values = spread(values, starts) + own
        return np.ascontiguousarray(self.unordered(spread(values, self.boundaries[-1])))

    def __str__(self) -> str:
        return f"hierarchy of {self.count:,} blocks of {self.cells:,} cells"

    def _plain_sensitivity(self) -> int:
        """A cell is in one block of each level."""
        return len(self.boundaries) if self.measured is None else super()._plain_sensitivity()

    def size(self) -> Size:
        """Every block once, and on the way back every cell on every level."""
        return Size(2 * (self.blocks + self.cells), 2 * self.blocks + self.cells * len(self.boundaries))

    def largest_row_sum(self) -> int:
        """The coarsest block is at most the whole domain."""
        return self.cells

    def squared_norm(self) -> float:
        """The sizes of the measured blocks together."""
        sizes = np.concatenate([np.diff(level) for level in self.boundaries])
        return float((sizes if self.measured is None else sizes[self.measured]).sum())


def block_sums(values: Array, starts: Array) -> Array:
    """The sums over blocks that begin at *starts* (the end of the last one listed too), along the last axis."""
    size, blocks = int(starts[1]), starts.size - 1
    full = blocks if starts[-1] == size * blocks else blocks - 1
    if starts[-1] > size * blocks or not np.array_equal(starts[:-1], np.arange(blocks) * size):
        return np.add.reduceat(values, starts[:-1], axis=-1)
    if size == 1:
        return values
    equal, rest = values[..., : size * full], values[..., size * full :]
    if size <= _SHORT:
        sums = equal[..., ::size] + equal[..., 1::size]
        for place in range(2, size):
            sums += equal[..., place::size]
    else:
        sums = equal.reshape(*values.shape[:-1], full, size).sum(axis=-1)
    return sums if full == blocks else np.concatenate([sums, rest.sum(axis=-1, keepdims=True)], axis=-1)


def spread(values: Array, starts: Array) -> Array:
    """Each value repeated over its block; the opposite of :func:`block_sums`."""
    sizes = np.diff(starts)
    equal = (sizes == sizes[0]).all()
    return np.repeat(values, int(sizes[0]) if equal else sizes, axis=-1)


def block_boundaries(cells: int, sizes: Sequence[int], *, root: bool = True) -> list[Integers]:
    """The boundaries of equal blocks of these sizes, with the whole domain in front if *root*."""
    levels = [np.append(np.arange(0, cells, size), cells) for size in sizes]
    if root and (not levels or levels[0].size > 2):
        levels.insert(0, np.array([0, cells]))
    return levels
