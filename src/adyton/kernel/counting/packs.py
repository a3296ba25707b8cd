"""Packs: columns that are counted together by one key; and a compiled loop that counts many packs per batch."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.compiling import compiled

KEYS_TOGETHER = 1 << 16
"""Columns are counted together up to this number of keys: fewer tables to update per row."""
_ORDERS = 64
_WORK = 1 << 16
"""The most orders of the groups that are tried, and the most pairs of groups compared; the best order is used."""
_OPEN = 1 << 12
"""A group is added to one of this many last packs, or starts a new one."""
MOST_KEYS = 1 << 16
"""Packs with more keys are counted by NumPy: in the compiled loop a key has 16 bits."""
KEYS_IN_CACHE = 1 << 14
"""The counts of this many keys stay in the processor's nearest cache, where adding to them takes half the time."""
_BLOCK = 1 << 13
_ROWS_BETWEEN = 1 << 30
"""After this many rows, counts of 32 bits are added to those of 64 bits."""

_Codes = npt.NDArray[np.uint16]
_Short = npt.NDArray[np.uint32]


class Column(NamedTuple):
    """A column of whole numbers: those below *cells* are cells; those from there to *keys* mean that there is none."""

    cells: int
    keys: int


class Pack(NamedTuple):
    """Columns that are counted together: the key of a row encodes its number in each of them."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    """The number of keys of each column."""

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return math.prod(self.shape)

    def table(self, counts: Integers, names: Sequence[str], columns: Mapping[str, Column]) -> Integers:
        """How many rows have each combination of cells in some of the columns, from the counts of all keys."""
        others = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        kept = [name for name in self.names if name in names]
        table: Integers = counts.reshape(self.shape).sum(axis=others)[
            tuple(slice(columns[name].cells) for name in kept)
        ]
        return table.transpose([kept.index(name) for name in names])


def packed(
    columns: Mapping[str, Column], groups: Sequence[Sequence[str]], together: int = KEYS_TOGETHER
) -> tuple[list[Pack], list[int]]:
    """Packs such that every group of columns lies within one, and the number of the pack for each group.

    A pack has at most *together* keys, or is a single group. Finding the fewest packs is a hard problem: groups are
    tried by size, then in orders that take every second, third, … of them, as long as that takes very little time; the
    order with the fewest packs is used.
    """
    if not groups:
        return [], []
    sizes = tuple((name, column.keys) for name, column in columns.items())
    packs, where = _packed(sizes, tuple(dict.fromkeys(map(frozenset, groups))), together)
    return list(packs), [where[frozenset(group)] for group in groups]


@lru_cache(64)
def _packed(
    named: tuple[tuple[str, int], ...], groups: tuple[frozenset[str], ...], together: int
) -> tuple[list[Pack], dict[Set[str], int]]:
    """The packs, and the pack of each group; cached, because the same tables are often requested again."""
    sizes = dict(named)
    wanted = sorted(groups, key=lambda group: (-math.prod(sizes[name] for name in group), sorted(group)))
    steps = [step for step in range(1, len(wanted) + 1) if math.gcd(step, len(wanted)) == 1]
    tries = max(1, min(_ORDERS, _WORK // len(wanted) ** 2))
    orders = [[wanted[place * step % len(wanted)] for place in range(len(wanted))] for step in steps[:tries]]
    packs, where = min((_one_by_one(sizes, order, together) for order in orders), key=lambda packing: len(packing[0]))
    return [Pack(tuple(names), tuple(sizes[name] for name in names)) for names in packs], where


def _one_by_one(
    sizes: Mapping[str, int], groups: Sequence[Set[str]], together: int
) -> tuple[list[list[str]], dict[Set[str], int]]:
    """Put each group where it adds the fewest keys, if there is room in one of the last packs.

    The time grows with the number of groups, not with its square.
    """
    names, sides = list(sizes), np.array(list(sizes.values()), dtype=np.float64)
    place = {name: number for number, name in enumerate(names)}
    holds = np.zeros((len(names), len(groups)), dtype=np.bool_)  # columns × packs
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


def packed_for_passing(
    columns: Mapping[str, Column], groups: Sequence[Sequence[str]], large: tuple[list[Pack], list[int]]
) -> tuple[list[Pack], list[int]] | None:
    """The packs that take the least time, and the number of the pack for each group; None if one has too many keys.

    *large* are packs of any size; where they do not fit into the cache, smaller ones are tried.
    """
    packings = [large]
    if any(pack.keys > KEYS_IN_CACHE for pack in large[0]):
        packings.insert(0, packed(columns, groups, KEYS_IN_CACHE))
    fitting = [packing for packing in packings if all(pack.keys <= MOST_KEYS for pack in packing[0])]
    return min(fitting, key=lambda packing: sum(1 + (pack.keys > KEYS_IN_CACHE) for pack in packing[0]), default=None)


class Joins(NamedTuple):
    """Which numbers of a row are joined in pairs: each pair once, however many packs contain it.

    Numbers have places: the columns come first, then the joined pairs in order.
    """

    columns: int
    pairs: list[tuple[int, int]]
    ends: list[int]
    """The place of the key of each pack."""

    @classmethod
    def of(cls, columns: int, packs: Sequence[Sequence[int]]) -> Joins:
        """Joins for some packs. The pair that most packs have in common is joined first.

        >>> Joins.of(4, [[0, 1, 2], [0, 1, 3]])
        Joins(columns=4, pairs=[(0, 1), (2, 4), (3, 4)], ends=[5, 6])
        """
        parts = [{*pack} for pack in packs]
        common: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for number, part in enumerate(parts):
            for pair in combinations(sorted(part), 2):
                common[pair].add(number)
        queue = [(-len(numbers), pair) for pair, numbers in common.items()]
        heapify(queue)
        pairs: list[tuple[int, int]] = []
        while queue:
            times, pair = heappop(queue)
            numbers = common[pair]
            if -times > len(numbers):  # some packs have joined other pairs since
                if numbers:
                    heappush(queue, (-len(numbers), pair))
                continue
            joined, changed = columns + len(pairs), set()
            for number in sorted(numbers):
                part = parts[number]
                part -= {*pair}
                for place in part:
                    for gone in pair:
                        common[min(place, gone), max(place, gone)].discard(number)
                    common[place, joined].add(number)
                    changed.add((place, joined))
                part.add(joined)
            del common[pair]
            pairs.append(pair)
            for new in changed:
                heappush(queue, (-len(common[new]), new))
        return cls(columns, pairs, [max(part) for part in parts])

    def members(self, place: int) -> list[int]:
        """The columns that a number is made of, the slowest first."""
        if place < self.columns:
            return [place]
        left, right = self.pairs[place - self.columns]
        return self.members(left) + self.members(right)


class Tally:
    """The counts of many packs so far, by a compiled loop. Memory holds a batch of rows and the counts.

    Claim.  The counts are those of a group-by over the key of each pack.
    Proof.  Every row is added once, with one number for each column; a number out of range is replaced by the last,
    which means that the row has no cell there. A row adds 1 to one key of each pack, which joins its numbers.  ∎
    """

    def __init__(self, keys: Sequence[int], packs: Sequence[Sequence[int]]) -> None:
        """*keys* has the number of keys of each column, *packs* the places of the columns of each pack."""
        self._packs, self._joins, self._keys = packs, Joins.of(len(keys), packs), keys
        self._pairs = np.array(self._joins.pairs, dtype=np.int64).reshape(-1, 2)
        self._factors = np.array([self._size(other) for _, other in self._joins.pairs], dtype=np.uint16)
        self._ends = np.array(self._joins.ends, dtype=np.int64)
        self._starts = np.cumsum([0, *map(self._size, self._joins.ends)])
        self._short = np.zeros(self._starts[-1], dtype=np.uint32)
        self._long = np.zeros(self._starts[-1], dtype=np.int64)
        self._since = 0
        self._codes = np.zeros((len(keys), 0), dtype=np.uint16)
        self._joined = np.zeros((len(self._pairs), _BLOCK), dtype=np.uint16)

    def _size(self, place: int) -> int:
        return math.prod(self._keys[column] for column in self._joins.members(place))

    def add(self, rows: int, columns: Iterable[npt.NDArray[Any]]) -> None:
        """Count this number of rows."""
        if self._since + rows > _ROWS_BETWEEN:
            self._carry()
        if rows > self._codes.shape[1]:
            self._codes = np.zeros((len(self._keys), rows), dtype=np.uint16)
        for own, column, keys in zip(self._codes, columns, self._keys, strict=True):
            _clamp(own[:rows], column, keys - 1)
        places = self._pairs, self._factors, self._ends, self._starts
        _count(self._codes, rows, *places, self._short, self._joined)
        self._since += rows

    def counts(self) -> list[Integers]:
        """The counts of every key, for each pack."""
        self._carry()
        sums = []
        for pack, end, counts in zip(
            self._packs, self._joins.ends, np.split(self._long, self._starts[1:-1]), strict=True
        ):
            members = self._joins.members(end)
            axes = counts.reshape([self._keys[place] for place in members])
            sums.append(axes.transpose([members.index(place) for place in pack]).ravel())
        return sums

    def _carry(self) -> None:
        self._long += self._short
        self._short[:] = 0
        self._since = 0


@compiled
def _count(
    codes: _Codes,
    rows: int,
    pairs: Integers,
    factors: _Codes,
    ends: Integers,
    starts: Integers,
    counts: _Short,
    joined: _Codes,
) -> None:
    """Add rows to the counts of all packs: a block of rows at a time, which stays in the processor's cache."""
    columns, block = codes.shape[0], joined.shape[1]
    for first in range(0, rows, block):
        last = min(first + block, rows)
        for join in range(pairs.shape[0]):
            a, b = pairs[join]
            left = codes[a, first:last] if a < columns else joined[a - columns, : last - first]
            right = codes[b, first:last] if b < columns else joined[b - columns, : last - first]
            _join(joined[join, : last - first], left, factors[join], right)
        for pack in range(ends.size):
            end = ends[pack]
            key = codes[end, first:last] if end < columns else joined[end - columns, : last - first]
            _add(counts[starts[pack] : starts[pack + 1]], key)


@compiled
def _clamp(codes: _Codes, column: npt.NDArray[Any], last: int) -> None:
    """Replace numbers beyond the last, and those below 0, by the last. (NumPy takes ten times as long.)"""
    for row in range(codes.size):
        codes[row] = column[row] if 0 <= column[row] <= last else last


@compiled
def _join(key: _Codes, left: _Codes, factor: np.uint16, right: _Codes) -> None:
    """Join two numbers into one of 16 bits, which a key never exceeds."""
    for row in range(key.size):
        key[row] = np.uint16(left[row] * factor) + right[row]


@compiled
def _add(counts: _Short, key: _Codes) -> None:
    """Add 1 to the count of each key. Four keys are read at a time."""
    fours = key[: key.size // 4 * 4].view(np.uint64)
    low = np.uint64(0xFFFF)
    for row in range(fours.size):
        four = fours[row]
        first, two = np.uintp(four & low), np.uintp(four >> np.uint64(16) & low)
        three, last = np.uintp(four >> np.uint64(32) & low), np.uintp(four >> np.uint64(48))
        counts[first] += np.uint32(1)
        counts[two] += np.uint32(1)
        counts[three] += np.uint32(1)
        counts[last] += np.uint32(1)
    for row in range(key.size // 4 * 4, key.size):
        counts[np.uintp(key[row])] += np.uint32(1)
