"""Rows in batches: where they come from, and which unit each belongs to.

The values of an attribute are read when they are needed, and are dropped with their batch.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from adyton.arrays import Array, Flags, Integers, Places, arrow_column, within
from adyton.errors import KernelFailure
from adyton.kernel.counting.packs import KEYS_TOGETHER
from adyton.kernel.reading.arrow import as_bytes, raw_numbers, storage
from adyton.kernel.reading.cells import Cell, Condition, Leaf, Question, Term, Terms, codes, kept_cells
from adyton.kernel.reading.texts import KNOWN, MISSING, WHITE, reading_of
from adyton.kernel.reading.values import ListedValues, ValueReader, Values, by_value
from adyton.schema import Schema
from adyton.schema.declaration import DROP

BITS = 27
"""Squares of steps are added up in two parts of this many bits: no sum exceeds 63 bits before there are 2³⁶ rows."""
Sums = tuple[Array, ...]
"""How many rows there are, Σ k, and the two parts of Σ k²."""
MOST_REMEMBERED = 1 << 27
"""The kernel remembers the units of at most this many rows and which are kept; for more, it computes that each time."""
Result = TypeVar("Result")
Hashes = Callable[[Places], Array]
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))


_NAMES_AT_A_TIME, _HASHED, _LOOKED_AT = 1 << 16, 64, 1 << 12
"""How many names of units are hashed at a time, how many bytes of each, and how many are inspected first."""
_running = threading.local()
_lock = threading.RLock()


def one_at_a_time() -> threading.RLock:
    """A lock that allows one reading at a time: tables may share a connection, which runs one query at a time. A forked
    child gets a new lock, because the thread that may hold this one does not exist there."""
    return _lock


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def stoppable(work: Callable[[], Result], stop: threading.Event) -> tuple[Result]:
    """Go through rows in this thread until done, or until the answer is no longer needed.

    Warnings of NumPy are switched off: they would reveal that a value of a certain kind exists.
    """
    _running.stop = stop
    with np.errstate(all="ignore"):
        return (work(),)


def stopped() -> bool:
    """Whether the answer of this thread is no longer needed."""
    stop: threading.Event | None = getattr(_running, "stop", None)
    return stop is not None and stop.is_set()


class Batch:
    """Some rows, or groups of equal rows; their values are read once, when they are needed."""

    reads: ClassVar[bool] = True
    """Whether values can be read, and not only the answers to terms."""

    def __init__(self, rows: int, read: Callable[[str], Values], times: Integers | None = None) -> None:
        self.rows, self.times = rows, times
        self._read = read
        self._values: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """The values of an attribute."""
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def of(self, term: Question) -> Any:
        """The answer to a term for each row."""
        return term.at(self.rows, self.of) if isinstance(term, Leaf) else term.of(self.values(term.name))

    def listed(self, term: Question) -> ListedValues | None:
        """The values from which a cell is computed, if they are a list with places."""
        values = self.values(term.name) if isinstance(term, Cell) and self.reads else None
        return values if isinstance(values, ListedValues) else None

    def inside(self, term: Question) -> tuple[Array, Flags]:
        """The cell of each row, and which rows have one."""
        if isinstance(term, Cell) and self.reads:
            return kept_cells(self.values(term.name), term.attribute)
        own = self.of(term)
        return own, own >= 0

    def coded(self, term: Cell | Leaf) -> Array:
        """The cell of each row; the number of cells, or more, for a row without a cell."""
        if isinstance(term, Cell) and self.reads:
            return codes(self.values(term.name), term.attribute)
        own = self.of(term)
        return np.where(own < 0, term.size, own)

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
        """Add the rows to the counts of their keys; keys out of range are moved into it."""
        keys = within(keys, len(counts) - 1)
        if self.times is not None or len(keys) * 4 < len(counts):
            np.add.at(counts, keys, 1 if self.times is None else self.times)
        else:
            counts += np.bincount(keys, minlength=len(counts))


class Rows(ABC):
    """Rows that can be read as often as needed, in the same order each time."""

    keys_together: int = KEYS_TOGETHER
    """Columns are counted together up to this number of keys."""
    origin: Any = None
    """The rows or the server that these rows come from, and whose state they share."""

    def passing(self, terms: Terms) -> bool:
        """Whether rows are read here for these terms, and not counted elsewhere."""
        return True

    @abstractmethod
    def all(self, terms: Terms) -> Iterator[Batch]:
        """All rows, in batches that can answer these terms."""

    def batches(self, terms: Terms, rules: Sequence[Condition], *, whole: bool = False) -> Iterator[Batch]:
        """The rows for which all conditions hold. If *whole*, rows that lack a cell of one term are not needed."""
        for batch in self.all([*terms, *(term for rule in rules for term in rule.terms)]):
            kept = batch
            for rule in rules:
                kept = kept.kept(rule.holds(kept.of))
            yield kept

    def packs(self, terms: Sequence[Terms], rules: Sequence[Condition]) -> Iterator[tuple[int, Batch]]:
        """Rows for several sets of terms, each batch with the number of its set; −1 for a batch that serves all."""
        for batch in self.batches(list({term: None for part in terms for term in part}), rules):
            yield -1, batch

    def sums(self, terms: Terms, steps: Term, rules: Sequence[Condition]) -> Iterator[tuple[Batch, Sums]]:
        """Rows with a number of steps k, and for each row how often it occurs, k, and the two parts of k²."""
        for batch in self.batches([*terms, steps], rules):
            own = batch.of(steps)
            kept, own = batch.kept(own >= 0), own[own >= 0]
            parts = np.ones_like(own), own, own * own >> BITS, own * own & ((1 << BITS) - 1)
            yield kept, parts if kept.times is None else tuple(part * kept.times for part in parts)

    def moment(self) -> Hashable:
        """A value that is unchanged only if the rows are; None where that is unknown."""
        return () if self.origin is None else self.origin.moment()

    @property
    def steady(self) -> bool:
        """Whether rows can be read several times as they are at one moment."""
        return self.moment() is not None if self.origin is None else bool(self.origin.steady)

    def hold(self) -> None:
        """From now on all answers describe the rows at one moment, where that must be arranged."""
        if self.origin is not None:
            self.origin.hold()

    def stop(self) -> None:
        """End a query that is running in a server, because the answer is no longer needed."""
        if self.origin is not None:
            self.origin.stop()


@dataclass(frozen=True, eq=False)
class StoredRows(Rows):
    """The rows of a file or a frame, with the unit of each."""

    schema: Schema
    readers: Mapping[str, ValueReader]
    """The reader of each attribute."""
    source: Callable[[Sequence[str], str | None], Iterator[Sequence[Any]]]
    """The Arrow arrays of some columns, and of the column of the unit, batch by batch."""
    identity: Callable[[], Hashable] | None
    """A value that is unchanged only if the rows are; None where that is unknown."""
    unit: str | None = None
    """The column of the unit."""

    def all(self, terms: Terms) -> Iterator[Batch]:
        """As they are stored."""
        names = [name for term in terms for name in term.names] or self.schema.names[:1]
        columns = list(dict.fromkeys(map(self.schema.column_of, names)))
        for arrays in self.source(columns, None):
            by_name = dict(zip(columns, arrays, strict=True))

            def read(name: str, by_name: Mapping[str, Any] = by_name) -> Values:
                return self.readers[name].read(by_name[self.schema.column_of(name)])

            if stopped():
                raise KernelFailure
            yield Batch(len(arrays[0]), read)

    def moment(self) -> Hashable:
        """What the operating system says about the files; nothing about their content."""
        return None if self.identity is None else self.identity()

    def held(self) -> StoredRows:
        """The rows as they are now, copied into memory, so that all later answers describe the same rows."""
        columns = list(self.schema.columns)
        batches = [list(arrays) for arrays in self.source(columns, self.unit)]

        def source(names: Sequence[str], unit: str | None) -> Iterator[Sequence[Any]]:
            for arrays in batches:
                own = dict(zip(columns, arrays, strict=False))
                yield [*(own[name] for name in names), *([] if unit is None else arrays[-1:])]

        return replace(self, source=source, identity=tuple)


@dataclass(frozen=True, eq=False)
class HeldRows(Rows):
    """Rows that are computed from others: one for each group, or for each unit."""

    made: Callable[[], tuple[int, Mapping[str, Values]]]
    origin: Rows

    def all(self, terms: Terms) -> Iterator[Batch]:
        """All rows in one batch."""
        rows, values = self.made()
        yield Batch(rows, values.__getitem__)


# ---- units ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Owners:
    """The unit of each row of a table, and which rows are kept."""

    unit: Integers
    """The number of each row's unit; −1 for a row that is left out because it has no unit."""
    kept: Flags


class OwnedRows(Rows):
    """Rows with units: all of them, or at most as many of each unit as the schema allows."""

    @abstractmethod
    def uncut(self) -> OwnedRows:
        """All rows that have a unit."""

    @abstractmethod
    def by_unit(self, rules: Sequence[Condition]) -> Integers:
        """How many rows each unit has for which the conditions hold, of those units that have any."""


class UnitRows(OwnedRows):
    """The rows of each unit, limited to the number that the schema allows before anything else uses them.

    Claim.  At most ``rows_per_unit`` rows of each unit are kept, and which ones depends on that unit's rows alone. So
    two tables that differ by one unit differ by at most that many rows, whatever is done to the rows afterwards.
    Proof.  Every row has one unit, which is a function of that row: two rows have the same unit if the names in the
    unit's column are the same. A text without the blanks around it is a name, and so are bytes; the name of a whole
    number or a decimal is its shortest text, so that 7 has one name, whatever type another row gave the column. Rows
    without a unit are left out, or together form one unit like any other. The rows of a unit are ordered by a hash of
    the unit's name and of the row's values, and rows with the same hash by their order among the unit's rows; the first
    ``rows_per_unit`` are kept. None of this depends on another unit's rows.  ∎
    """

    def __init__(self, stored: StoredRows, limit: int, *, cut: bool = True) -> None:
        self.stored, self.limit, self.cut = stored, limit, cut
        self.origin = stored
        self._remembered: list[tuple[Hashable, Owners]] = []

    def uncut(self) -> UnitRows:
        """All rows that have a unit."""
        other = UnitRows(self.stored, self.limit, cut=False)
        other._remembered = self._remembered
        return other

    def all(self, terms: Terms) -> Iterator[Batch]:
        """The rows that are kept."""
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

    def _owned(self, terms: Terms) -> Iterator[tuple[Batch, Integers]]:
        """The rows that are kept, with the number of each row's unit."""
        if self.stored.identity is None:  # rows may change between two readings, so they are read only once
            yield from UnitRows(self.stored.held(), self.limit, cut=self.cut)._owned(terms)
            return
        owners, start = self.owners(), 0
        for batch in self.stored.all(terms):
            part = slice(start, start + batch.rows)
            kept = owners.kept[part] if self.cut else owners.unit[part] >= 0
            yield batch.kept(kept), owners.unit[part] if kept.all() else owners.unit[part][kept]
            start = part.stop
        if start != len(owners.unit):  # the same rows come in the same order each time, or nothing is answered
            raise KernelFailure

    def owners(self) -> Owners:
        """Computed once for each state of the rows."""
        moment = self.moment()
        for known, owners in self._remembered:
            if known == moment:
                return owners
        owners = self._owners()
        if len(owners.unit) <= MOST_REMEMBERED:
            self._remembered[:] = [(moment, owners)]
        return owners

    def _owners(self) -> Owners:
        units, attributes = _Units(), self.stored.schema.attributes
        for arrays in self.stored.source([], self.stored.unit):
            if stopped():
                raise KernelFailure
            units.add(arrays[-1])
        unit, named = units.numbered(nobody_is_one=self.stored.schema.no_unit != DROP)
        kept = unit >= 0
        sizes = np.bincount(unit[kept], minlength=1)
        over = np.append(sizes > self.limit, False)[unit]  # only rows of units with too many rows are compared
        rows = np.flatnonzero(over)
        if not rows.size:
            return Owners(unit, kept)
        hashes, start = [], 0
        for batch in self.stored.all([Term(*own) for own in attributes.items()]):
            some = batch.kept(over[start : start + batch.rows])
            start += batch.rows
            mixed = np.zeros(some.rows, np.uint64)
            for name in attributes if some.rows else ():
                mixed = _hashed(some.values(name), mixed)
            hashes.append(mixed)
        if start != len(unit):
            raise KernelFailure
        kept[rows] = _first_of_each(unit[rows], np.concatenate(hashes), sizes, named, self.limit)
        return Owners(unit, kept)


def _first_of_each(whose: Integers, hashes: Array, sizes: Integers, named: Hashes, limit: int) -> Flags:
    """Which rows are among the first of their unit, by their hash and that of their unit; for units with too many rows.

    They are sorted by one number, made of the unit and the beginning of the hash. Where several rows tie at the limit,
    the whole hash decides, then their order.
    """
    many = np.flatnonzero(sizes > limit)
    own = np.zeros(len(sizes), np.uint64)
    own[many] = named(many)
    mixed = _mixed(hashes ^ own[whose])
    bits = len(sizes).bit_length()
    key = (whose.astype(np.uint64) << np.uint64(64 - bits)) | (mixed >> np.uint64(bits))
    last = np.zeros(len(sizes), np.uint64)
    last[many] = np.sort(key)[np.cumsum(sizes[many]) - sizes[many] + limit - 1]
    last = last[whose]
    below, at = key < last, np.flatnonzero(key == last)
    first = below.copy()
    first[at] = True
    if np.bincount(whose[first], minlength=1).max() > limit:
        at = at[np.lexsort((mixed[at], whose[at]))]
        starts = np.flatnonzero(np.append(True, whose[at][1:] != whose[at][:-1]))
        rank = np.arange(len(at)) - np.repeat(starts, np.diff(np.append(starts, len(at))))
        left = limit - np.bincount(whose[below], minlength=len(sizes))
        first[at] = rank < left[whose[at]]
    return first


class _Units:
    """The units of rows, collected batch by batch. The number of a unit says nothing about its rows."""

    def __init__(self) -> None:
        self._names: list[Any] = []
        self._places: list[Places | None] = []

    def add(self, array: Any) -> None:
        """Add the rows of a batch."""
        names, places = _unit_keys(array)
        self._names.append(names)
        self._places.append(places)

    def numbered(self, *, nobody_is_one: bool) -> tuple[Integers, Hashes]:
        """The number of each row's unit, and a function that returns the hashes of units by their numbers.

        If *nobody_is_one*, the rows without a unit form one unit; otherwise their number is −1.
        """
        if not self._names:
            return np.zeros(0, np.int64), lambda wanted: np.zeros(len(wanted), np.uint64)
        numbers, known, hashes = _numbers_of(self._names)
        numbers[numbers < 0] = nobody = known if nobody_is_one else -1
        numbered, start = [], 0
        for own, places in zip(self._names, self._places, strict=True):
            part = numbers[start : start + len(own)]
            numbered.append(part if places is None else np.append(part, nobody)[places])
            start += len(own)

        def named(wanted: Places) -> Array:
            kept = wanted[wanted < known]  # the unit without a name has the last number
            return np.append(hashes(kept), np.zeros(len(wanted) - len(kept), np.uint64))

        return np.concatenate(numbered), named


def _unit_keys(array: Any) -> tuple[Any, Places | None]:
    """Names of units, whole numbers or bytes, and the place of each row's name; None where every row has its own entry.

    The place of a row without a name is −1.
    """
    import pyarrow
    from pyarrow import types

    array = storage(array)
    if types.is_dictionary(array.type):
        names, below = _unit_keys(array.dictionary)
        places, known = raw_numbers(array.indices)
        places = np.where(known & (places >= 0) & (places < len(array.dictionary)), places.astype(np.int64), -1)
        return names, places if below is None else np.append(below, -1)[places]
    if types.is_integer(array.type):
        return array if types.is_uint64(array.type) else array.cast(pyarrow.int64()), None
    if types.is_decimal(array.type):
        array = pyarrow.array([_digits(value) for value in array.to_pylist()], pyarrow.large_string())
    elif not (types.is_string(array.type) or types.is_large_string(array.type) or types.is_string_view(array.type)):
        return as_bytes(array), None  # bytes that are not texts
    if len(array[:_LOOKED_AT].unique()) * 2 < min(len(array), _LOOKED_AT):  # repeated names would take much memory
        encoded = array.dictionary_encode()
        names, (places, known) = encoded.dictionary, raw_numbers(encoded.indices)
        return _trimmed(names), np.where(known, places, -1)
    return _trimmed(array), None


def _trimmed(names: Any) -> Any:
    """Texts as bytes, without the white space around them."""
    import pyarrow
    from pyarrow import compute

    return as_bytes(compute.ascii_trim(as_bytes(names).view(pyarrow.large_string()), characters=WHITE))


def _numbers_of(parts: Sequence[Any]) -> tuple[Integers, int, Hashes]:
    """A number for each name, equal for equal names and −1 for no name; how many numbers there are; and their hashes.

    Whole numbers that lie close together are numbered by their distance from the least.
    """
    import pyarrow
    from pyarrow import compute, types

    names = pyarrow.chunked_array(parts)
    if types.is_integer(names.type):
        least, most = compute.min_max(names).as_py().values()
        if least is not None and most - least <= 2 * len(names) + _LOOKED_AT:
            values = np.concatenate([raw_numbers(part)[0] for part in parts])
            numbers = (values - values.dtype.type(least)).astype(np.int64, copy=False)
            if names.null_count:
                numbers[~np.concatenate([raw_numbers(part)[1] for part in parts])] = -1
            first = values.dtype.type(least)
            return numbers, most - least + 1, lambda wanted: _hashes(pyarrow.array(wanted.astype(first.dtype) + first))
    if not len(names):
        return np.zeros(0, np.int64), 0, lambda wanted: np.zeros(0, np.uint64)
    chunks = names.dictionary_encode().chunks
    numbers, known = (
        np.concatenate(own) for own in zip(*(raw_numbers(chunk.indices) for chunk in chunks), strict=True)
    )
    listed = chunks[0].dictionary  # all chunks share it
    if not types.is_integer(listed.type):
        known &= np.append(_lengths(listed) > 0, False)[np.where(known, numbers, -1)]
    numbers = np.where(known, numbers, -1).astype(np.int64)
    return numbers, len(listed), lambda wanted: _hashes(listed.take(arrow_column(wanted)))


def _lengths(names: Any) -> Integers:
    """The lengths of texts in bytes."""
    return np.diff(np.frombuffer(names.buffers()[1], np.int64, count=names.offset + len(names) + 1)[names.offset :])


def _digits(value: Any) -> str | None:
    """A decimal with all its digits, without a sign of zero or zeros at its end after the point."""
    if value is None:
        return None
    text = format(value or abs(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _hashes(names: Any) -> Array:
    """A hash of the beginning of every name; that of a whole number is its digits, as in a column of texts."""
    import pyarrow
    from pyarrow import compute, types

    hashes = [np.zeros(0, np.uint64)]
    for start in range(0, len(names), _NAMES_AT_A_TIME):
        some = names[start : start + _NAMES_AT_A_TIME]
        some = as_bytes(some.cast(pyarrow.large_string()) if types.is_integer(some.type) else some)
        some = compute.binary_slice(some, 0, _HASHED)
        lengths = _lengths(some)
        ends = np.cumsum(lengths)
        octets = np.frombuffer(some.buffers()[2] or b"", np.uint8, count=ends[-1]).astype(np.uint64)
        octets |= (np.arange(len(octets)) - np.repeat(ends - lengths, lengths)).astype(np.uint64) << np.uint64(8)
        sums = np.append(np.uint64(0), np.cumsum(_mixed(octets)))
        hashes.append(sums[ends] - sums[ends - lengths])
    return np.concatenate(hashes)


def _hashed(values: Values, so_far: Array) -> Array:
    """The hash so far combined with a value; the same for equal whole numbers and doubles. No value causes an error."""
    return _mixed(so_far ^ _bits(values))


@by_value
def _bits(values: Values) -> Array:
    import pyarrow

    data = values.data.astype(np.float64) + 0.0
    bits = np.where(values.missing, 0, data.view(np.uint64))
    if values.keys:
        texts = [(reading_of(text) or text).encode("utf-8", "surrogatepass") for text in values.keys]
        keys = _hashes(pyarrow.array(texts, pyarrow.large_binary()))
        bits = np.where(values.state == KNOWN, keys[values.data], np.uint64(0))
    state = np.where(values.missing, MISSING, values.state)  # what cannot be read is missing in a column of its type
    return np.asarray(bits.astype(np.uint64) + state.astype(np.uint64))


def _mixed(numbers: Array) -> Array:
    """A hash of 64 bits for each whole number (SplitMix64)."""
    mixed = numbers + _MIX[2]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
