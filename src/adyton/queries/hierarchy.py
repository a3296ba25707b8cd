"""Hierarchies: blocks of cells inside larger blocks, any shape of tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.queries.base import Array, Queries
from adyton.whole import as_shape, freeze


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
    boundaries: tuple[npt.NDArray[np.int64], ...]
    order: npt.NDArray[np.int64] | None = None
    measured: npt.NDArray[np.int64] | None = None
    """The numbers of the blocks that are queries, ascending; None for all."""

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
            if level.size < 2 or level[0] != 0 or level[-1] != self.cells or (np.diff(level) < 1).any():
                raise BadInput(f"the boundaries of a level rise from 0 to the number of cells, {self.cells}.")
        for coarse, fine in itertools.pairwise(levels):
            if not np.isin(coarse, fine, assume_unique=True).all():
                raise BadInput("every boundary of a level must be a boundary of the levels below it.")
        object.__setattr__(self, "boundaries", levels)
        places = None if order is None else freeze(order, "order").reshape(-1)
        if places is not None and not np.array_equal(np.sort(places), np.arange(self.cells)):
            raise BadInput(f"an order lists each of the {self.cells} cells once.")
        object.__setattr__(self, "order", places)
        queries = None if measured is None else freeze(measured, "measured").reshape(-1)
        blocks = sum(level.size - 1 for level in levels)
        if queries is not None and (
            not queries.size or queries[0] < 0 or queries[-1] >= blocks or (np.diff(queries) < 1).any()
        ):
            raise BadInput(f"measured lists at least one of the {blocks} blocks, in ascending order.")
        object.__setattr__(self, "measured", queries)

    @classmethod
    def of_blocks(cls, cells: int, sizes: Sequence[int], *, root: bool = True) -> Hierarchy:
        """Equal blocks of the given sizes, each size a multiple of the next, the last one cut where the domain ends.

        >>> Hierarchy.of_blocks(5, [2, 1]).boundaries
        (array([0, 5]), array([0, 2, 4, 5]), array([0, 1, 2, 3, 4, 5]))
        """
        return cls(cells, block_boundaries(cells, sizes, root=root))

    def of_levels(self, levels: Sequence[int]) -> Hierarchy:
        """The same tree, with only the blocks of these levels (0 is the coarsest) as queries."""
        starts = self.level_starts
        numbers = [np.arange(starts[level], starts[level + 1]) for level in sorted(levels)]
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

    def query_levels(self) -> npt.NDArray[np.int64]:
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
        sums = self.ordered(cells)
        finer = np.arange(self.cells + 1)
        levels = []
        for level in reversed(self.boundaries):
            if level.size != finer.size:
                sums = block_sums(sums, np.searchsorted(finer, level))
            finer = level
            levels.append(sums)
        every = np.concatenate(levels[::-1], axis=-1)
        return every if self.measured is None else every[..., self.measured]

    def _transpose(self, answers: Array) -> Array:
        if self.measured is not None:
            every = np.zeros((*answers.shape[:-1], self.blocks), dtype=answers.dtype)
            every[..., self.measured] = answers
        else:
            every = answers
        values = np.zeros((*answers.shape[:-1], 1), dtype=answers.dtype)
        coarser = np.array([0, self.cells])
        for start, level in zip(self.level_starts, self.boundaries, strict=False):
            values = spread(values, np.searchsorted(level, coarser)) + every[..., start : start + level.size - 1]
            coarser = level
        return np.ascontiguousarray(self.unordered(spread(values, coarser)))

    def __str__(self) -> str:
        return f"hierarchy of {self.count:,} blocks of {self.cells:,} cells"

    def largest_row_sum(self) -> int:
        """The coarsest block is at most the whole domain."""
        return self.cells

    def squared_norm(self) -> float:
        """The sizes of the measured blocks together."""
        sizes = np.concatenate([np.diff(level) for level in self.boundaries])
        return float((sizes if self.measured is None else sizes[self.measured]).sum())


def block_sums(values: Array, starts: Array) -> Array:
    """The sums over blocks that begin at *starts* (the end of the last one listed too), along the last axis."""
    size, rest = divmod(values.shape[-1], starts.size - 1)
    if not rest and (np.diff(starts) == size).all():
        if size == 1:
            return values
        return np.asarray(values.reshape(*values.shape[:-1], -1, size).sum(axis=-1))
    return np.add.reduceat(values, starts[:-1], axis=-1)


def spread(values: Array, starts: Array) -> Array:
    """Each value repeated over its block; the opposite of :func:`block_sums`."""
    return np.repeat(values, np.diff(starts), axis=-1)


def block_boundaries(cells: int, sizes: Sequence[int], *, root: bool = True) -> list[npt.NDArray[np.int64]]:
    """The boundaries of equal blocks of these sizes, with the whole domain in front if *root*."""
    levels = [np.append(np.arange(0, cells, size), cells) for size in sizes]
    if root and (not levels or levels[0].size > 2):
        levels.insert(0, np.array([0, cells]))
    return levels
