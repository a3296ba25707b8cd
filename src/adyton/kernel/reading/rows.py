"""Rows that pass by: where they come from, batch by batch, and whose they are.

A batch is read when somebody asks for the values of an attribute, and what it was read from is forgotten with it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from adyton.arrays import Array, Flags, Integers, Places
from adyton.errors import KernelFailure
from adyton.kernel.reading.cells import Asked, Condition, Leaf, Term
from adyton.kernel.reading.packs import KEYS_TOGETHER
from adyton.kernel.reading.plain_columns import plain, unit_type
from adyton.kernel.reading.texts import KNOWN, LONGEST, MISSING, UNREAD, WHITE
from adyton.kernel.reading.values import ValueReader, Values
from adyton.schema import Schema
from adyton.schema.declaration import DROP

BITS = 27
"""Squares of steps are added up in two parts of so many bits: no sum leaves 63 bits before there are 2³⁶ rows."""
Sums = tuple[Array, ...]
"""How many rows there are, Σ k, and the two parts of Σ k²."""
MOST_REMEMBERED = 1 << 27
"""Of so many rows the kernel remembers whose they are and which are kept; of more, it finds out again each time."""
Result = TypeVar("Result")
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))


_running = threading.local()
_lock = threading.RLock()


def one_at_a_time() -> threading.RLock:
    """One reading at a time: tables may share a connection, which runs one query at a time. A forked child gets a lock
    of its own: the thread that held this one while the process forked does not exist there."""
    return _lock


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def stoppable(work: Callable[[], Result], stop: threading.Event) -> tuple[Result]:
    """Go through rows in this thread, until somebody says that nobody waits for it any more.

    Whatever is computed of a value that is not looked at is no reason for a warning: that would show the value.
    """
    _running.stop = stop
    with np.errstate(all="ignore"):
        return (work(),)


def stopped() -> bool:
    """Whether nobody waits for this thread any more."""
    stop: threading.Event | None = getattr(_running, "stop", None)
    return stop is not None and stop.is_set()


class Batch:
    """Some rows, or groups of rows that are alike: their values are read once, when they are asked for."""

    def __init__(self, rows: int, read: Callable[[str], Values], times: Integers | None = None) -> None:
        self.rows, self.times = rows, times
        self._read = read
        self._values: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """The values of an attribute."""
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def of(self, term: Asked) -> Any:
        """What a term says of each row."""
        return term.at(self.rows, self.of) if isinstance(term, Leaf) else term.of(self.values(term.name))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows if self.times is None else int(self.times.sum())

    def kept(self, rows: Flags) -> Batch:
        """Some of the rows."""
        return self if rows.all() else self.at(np.flatnonzero(rows))

    def at(self, places: Places) -> Batch:
        """The rows at some places."""
        times = None if self.times is None else self.times[places]
        return Batch(places.size, lambda name: self.values(name).kept(places), times)

    def add(self, counts: Integers, keys: Integers) -> None:
        """One row more for each key."""
        if self.times is not None or len(keys) * 4 < len(counts):
            np.add.at(counts, keys, 1 if self.times is None else self.times)
        else:
            counts += np.bincount(keys, minlength=len(counts))


class Rows(ABC):
    """Rows that can be gone through as often as needed, in the same order each time."""

    keys_together: int = KEYS_TOGETHER
    """Columns are counted together while there are so many keys."""

    def passing(self, terms: Collection[Asked]) -> bool:
        """Whether rows pass by one after the other for these terms, and are not counted elsewhere."""
        return True

    @abstractmethod
    def all(self, terms: Collection[Asked]) -> Iterator[Batch]:
        """All rows; what is asked of a batch are these terms."""

    def batches(self, terms: Collection[Asked], rules: Sequence[Condition], *, whole: bool = False) -> Iterator[Batch]:
        """The rows for which all conditions hold. If *whole*, those that lack one of the terms are not needed."""
        for batch in self.all([*terms, *(term for rule in rules for term in rule.terms)]):
            kept = batch
            for rule in rules:
                kept = kept.kept(rule.holds(kept.of))
            yield kept

    def packs(self, terms: Sequence[Collection[Asked]], rules: Sequence[Condition]) -> Iterator[tuple[int, Batch]]:
        """Rows for several sets of terms, each batch with the number of its set; −1 for one that serves all of them."""
        for batch in self.batches(list({term: None for part in terms for term in part}), rules):
            yield -1, batch

    def sums(self, terms: Collection[Asked], steps: Term, rules: Sequence[Condition]) -> Iterator[tuple[Batch, Sums]]:
        """Rows with a number of steps k, and for each how often it is there, k, and the two parts of k²."""
        for batch in self.batches([*terms, steps], rules):
            own = batch.of(steps)
            kept, own = batch.kept(own >= 0), own[own >= 0]
            parts = np.ones_like(own), own, own * own >> BITS, own * own & ((1 << BITS) - 1)
            yield kept, parts if kept.times is None else tuple(part * kept.times for part in parts)

    def moment(self) -> Hashable:
        """What stays the same as long as the rows certainly do; None where nobody can tell."""
        return ()

    @property
    def steady(self) -> bool:
        """Whether rows can be gone through several times as they are at one moment."""
        return self.moment() is not None

    def hold(self) -> None:  # noqa: B027
        """From now on all that is asked is asked of one moment, where that must be arranged."""

    def stop(self) -> None:  # noqa: B027
        """End what is running elsewhere, because nobody waits for it any more."""


@dataclass(frozen=True, eq=False)
class StoredRows(Rows):
    """The rows of a file or a frame, with whose they are."""

    schema: Schema
    readers: Mapping[str, ValueReader]
    """Of each attribute."""
    source: Callable[[Sequence[str], str | None], Iterator[Sequence[Any]]]
    """For some columns, and the one that says whose row it is, their Arrow arrays batch by batch."""
    identity: Callable[[], Hashable] | None
    """What stays the same as long as the rows do; none where nobody can tell."""
    unit: str | None = None
    """The column that says whose row it is."""

    def all(self, terms: Collection[Asked]) -> Iterator[Batch]:
        """As they are stored."""
        names = list(dict.fromkeys(name for term in terms for name in term.names)) or self.schema.names[:1]
        for batch, _ in self.with_units(names, with_unit=False):
            yield batch

    def with_units(self, names: Sequence[str], *, with_unit: bool = True) -> Iterator[tuple[Batch, Any]]:
        """The same, with the array that says whose each row is."""
        places = {name: self.schema.column_of(name) for name in names}
        columns, unit = list(dict.fromkeys(places.values())), self.unit if with_unit else None
        for arrays in self.source(columns, unit):
            by_name = dict(zip(columns, arrays, strict=False))

            def read(name: str, by_name: Mapping[str, Any] = by_name) -> Values:
                return self.readers[name].read(by_name[places[name]])

            if stopped():
                raise KernelFailure
            yield Batch(len(arrays[0]), read), arrays[-1]

    def moment(self) -> Hashable:
        """What the system says about the files, and nothing that is in them."""
        return None if self.identity is None else self.identity()

    def held(self) -> StoredRows:
        """The rows as they are now, in memory: all that is asked of them later is asked of one moment."""
        columns = list(dict.fromkeys(map(self.schema.column_of, self.schema.names)))
        batches = [list(arrays) for arrays in self.source(columns, self.unit)]

        def source(names: Sequence[str], unit: str | None) -> Iterator[Sequence[Any]]:
            for arrays in batches:
                own = dict(zip(columns, arrays, strict=False))
                yield [*(own[name] for name in names), *([] if unit is None else arrays[-1:])]

        return replace(self, source=source, identity=tuple)


@dataclass(frozen=True, eq=False)
class HeldRows(Rows):
    """Rows that were made of others, and are held: one for each group, or for each unit."""

    made: Callable[[], tuple[int, Mapping[str, Values]]]
    above: Rows

    def all(self, terms: Collection[Asked]) -> Iterator[Batch]:
        """All of them."""
        rows, values = self.made()
        yield Batch(rows, values.__getitem__)

    def moment(self) -> Hashable:
        """That of the rows that they are made of."""
        return self.above.moment()

    @property
    def steady(self) -> bool:
        """As those are."""
        return self.above.steady

    def hold(self) -> None:
        """Those are held."""
        self.above.hold()

    def stop(self) -> None:
        """What they are made of."""
        self.above.stop()


# ---- units ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Owners:
    """Whose the rows of a table are, and which of them are kept."""

    unit: Integers
    """The number of each row's unit; −1 for a row without one that is left out."""
    kept: Flags


class OwnedRows(Rows):
    """Rows that say whose they are, cut to what the schema allows or not."""

    @abstractmethod
    def uncut(self) -> OwnedRows:
        """All rows that have a unit."""

    @abstractmethod
    def by_unit(self, rules: Sequence[Condition]) -> Integers:
        """How many rows each unit has for which the conditions hold, of those units that have any."""


class UnitRows(OwnedRows):
    """The rows of each unit, cut to what the schema allows: before anything else looks at them.

    Claim.  Of each unit at most ``rows_per_unit`` rows are kept, and which ones depends on that unit's rows alone. So
    two tables that differ by one unit differ by at most so many rows, whatever is done to the rows afterwards.
    Proof.  Every row has one unit, which is a function of that row: two rows have the same if the texts, numbers or
    bytes in the unit's column are the same. Rows without one are left out, or are together one unit like any other. The
    rows of a unit are put in order by a hash of the unit and the row's values, and rows of the same hash by where they
    stand among the unit's rows; the first ``rows_per_unit`` stay. Nothing in that depends on another unit's rows.  ∎
    """

    def __init__(self, stored: StoredRows, limit: int, *, cut: bool = True) -> None:
        self.stored, self.limit, self.cut = stored, limit, cut
        self._remembered: list[tuple[Hashable, Owners]] = []

    def uncut(self) -> UnitRows:
        """All rows that have a unit."""
        other = UnitRows(self.stored, self.limit, cut=False)
        other._remembered = self._remembered
        return other

    def all(self, terms: Collection[Asked]) -> Iterator[Batch]:
        """Those that are kept."""
        for batch, _ in self._owned(terms):
            yield batch

    def by_unit(self, rules: Sequence[Condition]) -> Integers:
        """How many rows each unit has for which the conditions hold, of those units that have any."""
        sizes = np.zeros(0, np.int64)
        for batch, unit in self._owned([term for rule in rules for term in rule.terms]):
            kept, owners = batch, unit
            for rule in rules:
                true = rule.holds(kept.of)
                kept, owners = kept.kept(true), owners[true]
            own = np.bincount(owners, minlength=len(sizes))
            own[: len(sizes)] += sizes
            sizes = own
        return sizes[sizes > 0]

    def _owned(self, terms: Collection[Asked]) -> Iterator[tuple[Batch, Integers]]:
        """The rows that are kept, with the number of each row's unit."""
        if self.stored.identity is None:  # rows may change between two readings, so that there is only one
            yield from UnitRows(self.stored.held(), self.limit, cut=self.cut)._owned(terms)
            return
        owners, start = self.owners(), 0
        for batch in self.stored.all(terms):
            part = slice(start, start + batch.rows)
            kept = owners.kept[part] if self.cut else owners.unit[part] >= 0
            yield batch.kept(kept), owners.unit[part][kept]
            start = part.stop
        if start != len(owners.unit):  # the same rows come in the same order each time, or nothing is told of them
            raise KernelFailure

    def moment(self) -> Hashable:
        """That of the stored rows."""
        return self.stored.moment()

    def owners(self) -> Owners:
        """Found once for each state of the rows."""
        moment = self.moment()
        for known, owners in self._remembered:
            if known == moment:
                return owners
        found = self._found()
        if len(found.unit) <= MOST_REMEMBERED:
            self._remembered[:] = [(moment, found)]
        return found

    def _found(self) -> Owners:
        names, numbers = list(self.stored.schema.names), _Numbers()
        units, hashes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
        for batch, whose in self.stored.with_units(names):
            unit, mixed = numbers.of(whose, one=self.stored.schema.no_unit != DROP)
            for name in names:
                mixed = _hashed(batch.values(name), mixed)
            units.append(unit)
            hashes.append(mixed)
        unit, mixed = np.concatenate(units), np.concatenate(hashes)
        order = np.lexsort((mixed, unit))
        ordered = unit[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, np.int64)
        lengths = np.diff(np.append(starts, len(order)))
        rank = np.arange(len(order)) - np.repeat(starts, lengths)
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = (rank < self.limit) & (ordered >= 0)
        return Owners(unit, kept)


class _Numbers:
    """Numbers for units, in the order in which they come: which number a unit has says nothing about its rows."""

    def __init__(self) -> None:
        self._known: dict[str | bytes | int, int] = {}

    def of(self, array: Any, *, one: bool) -> tuple[Integers, Array]:
        """The number of each row's unit, and a hash of the unit itself. Rows without one are *one* unit, or none."""
        keys, places = _unit_keys(array)
        numbers = np.array([self._known.setdefault(key, len(self._known)) for key in keys] + [-1], dtype=np.int64)
        hashes = np.array([_hash_of(key) for key in keys] + [0], dtype=np.uint64)
        if one:
            numbers[-1] = self._known.setdefault("", len(self._known))
        return numbers[places], hashes[places]


def _unit_keys(array: Any) -> tuple[list[str | bytes | int], Places]:
    """The distinct units of an array, and for each row which it has; −1 for none. Spaces around a text do not count."""
    import pyarrow
    from pyarrow import types

    from adyton.kernel.reading.values import _encoded, _raw, _storage

    array = _storage(array)
    while types.is_dictionary(array.type):
        own, below = _unit_keys(array.dictionary)
        places, known = _raw(array.indices)
        known &= (places >= 0) & (places < len(below))
        return own, np.where(known, np.append(below, -1)[np.where(known, places, 0)], -1)
    if types.is_integer(array.type):
        numbers, known = _raw(array)
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct.tolist(), np.where(known, places.reshape(-1), -1)
    if types.is_decimal(array.type):
        texts = [_digits(value) for value in array.to_pylist()]
        array = pyarrow.array(texts, pyarrow.string())
    elif not (types.is_string(array.type) or types.is_large_string(array.type)):
        array = plain(array, unit_type(array.type))
    bare = types.is_large_binary(array.type)
    places, raw = _encoded(array)
    keys: list[Any] = raw if bare else [_name(text) for text in raw]
    empty = np.array([not key for key in keys] + [True])
    return keys, np.where(empty[places], -1, places)


def _name(raw: bytes) -> str | bytes:
    """The text of a unit without the white space around it; of a very long one, its digest."""
    name = raw.strip(WHITE.encode())
    return hashlib.sha256(name).digest() if len(name) > LONGEST else name.decode("utf-8", "replace")


def _digits(value: Any) -> str | None:
    """A decimal with all its digits, without zeros at the end."""
    if value is None:
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _hash_of(key: str | bytes | int) -> int:
    raw = key if isinstance(key, bytes) else str(key).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest())


def _hashed(values: Values, so_far: Array) -> Array:
    """A hash of what was hashed so far and of a value, the same for a whole number and a double: no value fails."""
    data = values.data.astype(np.float64) + 0.0
    bits = np.where((values.state == MISSING) | (values.state == UNREAD), 0, data.view(np.uint64))
    if values.keys:
        keys = np.array([_hash_of(key) for key in values.keys], dtype=np.uint64)
        bits = np.where(values.state == KNOWN, keys[values.data], np.uint64(0))
    mixed = (so_far ^ (bits.astype(np.uint64) + values.state.astype(np.uint64))) + _MIX[2]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
