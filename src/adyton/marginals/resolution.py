"""The resolution of tables: which cells of long attributes are measured together, and how a table follows from groups.

Where an attribute has many cells, a pair of attributes has more of them than a budget can bear: noise would hide every
dependence. Its cells are put into groups that have about the same number of rows by the estimated 1-way table: an
interval of an ordered attribute, a frequent level of any other, all rare levels together. Groups are nested, so that a
finer table says what a coarser one does; they depend on noisy tables only. Inside of its groups a table is filled in as
if the attributes did not depend on each other there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.queries import Partition

FEW = 8
"""Attributes with at most so many cells are never merged; and dependence is looked at in so many groups of others."""
FEWEST = 4
ROWS_PER_CELL, MANY, BEND = 4.0, 2000.0, 0.5
"""A table has at most as many cells as there are rows for each to have, on average, this many times the scale of its
noise. Where there are more than MANY times as many rows as the scale, fewer suffice, in proportion to this power: what
is left is then the dependence inside of groups."""
SPARED = 3.0
"""Nothing is merged where that would leave no fewer than a part of the cells: little noise would be saved."""

Maps: TypeAlias = tuple[Partition | None, ...]
"""For each attribute of a table the groups of its cells; None for cells as they are."""


@dataclass(frozen=True, eq=False)
class CellGroups:
    """Nested groups of the cells of every attribute, with about the same estimated number of rows in each.

    >>> cities = np.array([9.0, 400, 3, 80, 2, 60, 1, 70, 50, 2])
    >>> groups = CellGroups({"age": np.full(64, 10.0), "city": cities}, {"age"})
    >>> groups.of("age", 4).sizes.tolist(), groups.of("city", 4).labels.tolist()
    ([16, 16, 16, 16], [3, 0, 3, 1, 3, 3, 3, 2, 3, 3])
    >>> [half.groups for half in groups.maps(("age", "city"), 100)]
    [8, 8]
    """

    singles: Mapping[str, Reals]
    """The estimated 1-way tables."""
    ordered: Collection[str]
    """The attributes whose neighbouring cells are alike."""
    _made: dict[tuple[str, int], Partition] = field(default_factory=dict, repr=False)

    def of(self, name: str, most: int) -> Partition | None:
        """At most so many groups of the cells of an attribute; None if it has no more cells."""
        if self.singles[name].size <= max(FEW, most):
            return None
        if (name, most) not in self._made:
            self._made[name, most] = Partition(self._labels(name, most))
        return self._made[name, most]

    def _labels(self, name: str, most: int) -> Integers:
        counts = np.maximum(self.singles[name], 0.0) + 1e-9
        if name in self.ordered:
            middles = (np.cumsum(counts) - counts / 2) / counts.sum()
            groups = np.minimum((middles * most).astype(np.int64), most - 1)
            return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)
        labels = np.full(counts.size, most - 1)
        labels[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
        return labels

    def maps(self, pair: tuple[str, ...], cells: float) -> Maps:
        """The finest groups for a table with at most so many cells, or the coarsest ones."""
        if self.cells(pair, (None, None)) <= SPARED * cells:
            return (None, None)
        best, most = self.at(pair, FEWEST), 2 * FEWEST
        while any(best):
            finer = self.at(pair, most)
            if self.cells(pair, finer) > cells:
                break
            best, most = finer, 2 * most
        return best

    def steps(self) -> Iterator[list[tuple[str, Maps]]]:
        """The groups of each attribute, from the coarsest to its cells."""
        most = FEWEST
        while True:
            step = [(name, self.at((name,), most)) for name in self.singles]
            yield step
            if most > FEW and not any(any(maps) for _, maps in step):
                return
            most *= 2

    def at(self, group: tuple[str, ...], most: int) -> Maps:
        """At most so many groups along each attribute."""
        return tuple(self.of(name, most) for name in group)

    def cells(self, group: tuple[str, ...], maps: Maps) -> int:
        """The number of cells of a table with these groups."""
        sides = zip(group, maps, strict=True)
        return math.prod(self.singles[name].size if groups is None else groups.groups for name, groups in sides)

    @property
    def needed(self) -> bool:
        """Whether there is an attribute with so many cells that they are merged."""
        return any(table.size > FEW for table in self.singles.values())


def bearable(rows: float, scale: float) -> float:
    """The number of cells of a table that so many *rows* bear, where its noise has this *scale*.

    >>> bearable(4000, 10), round(bearable(80_000, 10))
    (100.0, 4000)
    """
    strength = rows / scale
    return float(strength / ROWS_PER_CELL * max(1.0, strength / MANY) ** BEND)


def merged(table: Reals, maps: Maps) -> Reals:
    """The sums of a table over groups of its cells.

    >>> merged(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]), (None, Partition([1, 0, 1]))).tolist()
    [[2.0, 5.0], [16.0, 40.0]]
    """
    for axis, groups in enumerate(maps):
        if groups is not None:
            order = np.argsort(groups.labels, kind="stable")
            starts = np.searchsorted(groups.labels[order], np.arange(groups.groups))
            table = np.add.reduceat(table.take(order, axis), starts, axis)
    return table


def taken(values: Reals, maps: Maps) -> Reals:
    """The value of its group for every cell.

    >>> taken(np.array([[1.0, 2.0]]), (None, Partition([1, 0, 1]))).tolist()
    [[2.0, 1.0, 2.0]]
    """
    for axis, groups in enumerate(maps):
        if groups is not None:
            values = values.take(groups.labels, axis)
    return values


def spread(table: Reals, maps: Maps, singles: tuple[Reals, ...]) -> Reals:
    """A table of groups with the cells inside of them: in proportion to the 1-way tables.

    >>> spread(np.array([6.0, 4.0]), (Partition([0, 1, 0]),), (np.array([2.0, 9.0, 1.0]),)).round(6).tolist()
    [4.0, 4.0, 2.0]
    """
    for axis, (groups, single) in enumerate(zip(maps, singles, strict=True)):
        if groups is not None:
            likely = np.maximum(single, 0.0) + 1e-12
            parts = likely / merged(likely, (groups,))[groups.labels]
            table = table.take(groups.labels, axis) * np.expand_dims(parts, tuple(set(range(table.ndim)) - {axis}))
    return table


def plain_maps(maps: Maps) -> list[list[int] | None]:
    """Groups of cells as plain values for JSON."""
    return [None if groups is None else groups.labels.tolist() for groups in maps]


def maps_of(plain: object, sides: Sequence[int]) -> Maps:
    """Groups of cells from plain values, for axes with so many cells; or a ValueError."""
    if not isinstance(plain, list) or len(plain) != len(sides):
        raise ValueError("maps")
    maps: list[Partition | None] = []
    for labels, side in zip(plain, sides, strict=True):
        if labels is None:
            maps.append(None)
        elif (
            isinstance(labels, list)
            and len(labels) == side
            and all(type(label) is int for label in labels)
            and set(labels) == set(range(len(set(labels))))
        ):
            maps.append(Partition(labels))
        else:
            raise ValueError("maps")
    return tuple(maps)
