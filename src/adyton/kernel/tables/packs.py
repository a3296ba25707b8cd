"""Many tables of counts in one pass over the rows: those that fit together are counted by one key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adyton.arrays import Integers
from adyton.kernel.engines import Engine

KEYS_TOGETHER = 1 << 16
"""Columns are counted together while there are so many keys: one table less to look up per row, and keys of 16 bits,
for which the engine has a fast way."""


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
    """Packs such that every group of columns lies within one, and the number of that pack for each group.

    Large groups come first; each goes where it adds the fewest keys, if there is room for *together* of them.
    """
    packs: list[Pack] = []
    where = [0] * len(groups)
    for place in sorted(range(len(groups)), key=lambda place: -_pack(columns, groups[place]).keys):
        own = _pack(columns, groups[place])
        joined = [_pack(columns, dict.fromkeys([*pack.names, *own.names])) for pack in packs]
        growth = {
            number: pack.keys / packs[number].keys
            for number, pack in enumerate(joined)
            if pack.keys <= max(together, packs[number].keys)
        }
        number = min(growth, key=lambda number: growth[number], default=len(packs))
        packs[number : number + 1] = [joined[number] if growth else own]
        where[place] = number
    return packs, where


def _pack(columns: Mapping[str, Column], names: Sequence[str] | dict[str, None]) -> Pack:
    return Pack(tuple(names), tuple(columns[name].keys for name in names))
