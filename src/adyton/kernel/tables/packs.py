"""Many tables of counts in one pass over the rows: those that fit together are counted by one key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from adyton.arrays import Integers
from adyton.kernel.engines import Engine

KEYS_TOGETHER = 1 << 16
"""Columns are counted together while there are so many keys: one table less to look up per row, and keys of 16 bits,
for which the engine has a fast way."""
_ORDERS = 64
_WORK = 1 << 16
"""So many orders of the groups are tried, and so many pairs of groups looked at, before the best is taken."""
_OPEN = 1 << 12
"""A group is added to one of the last so many packs, or starts one of its own."""


class Column(NamedTuple):
    """A column of whole numbers: below *cells* they are cells; up to *keys* they say that the row has none here."""

    cells: int
    keys: int


class Pack(NamedTuple):
    """Columns that are counted together: the key of a row says its number in each of them."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    """The keys of each column."""

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return math.prod(self.shape)

    def key(self, rows: Any, engine: Engine) -> Any:
        """The key of each row, as an expression that cannot overflow."""
        key = rows[self.names[0]] if self.keys <= KEYS_TOGETHER else rows[self.names[0]].cast("int64")
        for name, keys in zip(self.names[1:], self.shape[1:], strict=True):
            key = key * keys + rows[name]
        return engine.small(key, self.keys - 1) if self.keys <= KEYS_TOGETHER else key

    def table(self, counts: Integers, names: Sequence[str], columns: Mapping[str, Column]) -> Integers:
        """How many rows have each combination of cells in some of the columns, from the counts of all keys."""
        others = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        kept = [name for name in self.names if name in names]
        found: Integers = counts.reshape(self.shape).sum(axis=others)[
            tuple(slice(columns[name].cells) for name in kept)
        ]
        return found.transpose([kept.index(name) for name in names])


def packed(
    columns: Mapping[str, Column], groups: Sequence[Sequence[str]], together: int = KEYS_TOGETHER
) -> tuple[list[Pack], list[int]]:
    """Packs such that every group of columns lies within one, and the number of a pack for each group.

    A pack has at most *together* keys, or is a single group. Finding the fewest is a hard problem: large groups come
    first, then every second, third, … of them, as long as that takes next to no time, and the fewest packs are taken.
    """
    if not groups:
        return [], []
    sizes = {name: column.keys for name, column in columns.items()}
    wanted = sorted(
        {frozenset(group): None for group in groups},
        key=lambda group: (-math.prod(sizes[name] for name in group), sorted(group)),
    )
    steps = [step for step in range(1, len(wanted) + 1) if math.gcd(step, len(wanted)) == 1]
    orders = [[wanted[place * step % len(wanted)] for place in range(len(wanted))] for step in steps[: _tries(wanted)]]
    packs, where = min((_one_by_one(sizes, order, together) for order in orders), key=lambda one: len(one[0]))
    return [_pack(columns, names) for names in packs], [where[frozenset(group)] for group in groups]


def _tries(groups: Sequence[Set[str]]) -> int:
    return max(1, min(_ORDERS, _WORK // len(groups) ** 2))


def _one_by_one(
    sizes: Mapping[str, int], groups: Sequence[Set[str]], together: int
) -> tuple[list[list[str]], dict[Set[str], int]]:
    """Each group goes where it adds the fewest keys, if there is room in one of the last packs.

    What that takes grows with the groups, not with their square.
    """
    names, sides = list(sizes), np.array(list(sizes.values()), dtype=np.float64)
    place = {name: number for number, name in enumerate(names)}
    holds = np.zeros((len(names), len(groups)), dtype=np.bool_)  # a line for each column, and one pack after the other
    keys = np.ones(len(groups))  # beyond 2^53 they are rounded, and are far too many anyway
    where: dict[Set[str], int] = {}
    count = 0
    for group in groups:
        columns, first = [place[name] for name in group], max(0, count - _OPEN)
        growth = np.ones(count - first)
        for column in columns:
            growth *= np.where(holds[column, first:count], 1.0, sides[column])
        growth[(growth > 1) & (growth * keys[first:count] > together)] = np.inf
        best = int(growth.argmin()) if growth.size else 0
        fits = bool(growth.size) and bool(np.isfinite(growth[best]))
        number = first + best if fits else count
        keys[number] *= growth[best] if fits else sides[columns].prod()
        holds[columns, number] = True
        where[group] = number
        count = max(count, number + 1)
    return [[names[column] for column in np.flatnonzero(holds[:, number])] for number in range(count)], where


def _pack(columns: Mapping[str, Column], names: Sequence[str]) -> Pack:
    return Pack(tuple(names), tuple(columns[name].keys for name in names))
