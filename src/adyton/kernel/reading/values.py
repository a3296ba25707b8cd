"""The values of an attribute in some rows, read from an Arrow array; this table says how each type is read.

======================  ===================  =======================  ==================  =====================
type of the column      integer, numeric,    categorical of texts,    boolean             date, datetime
                        levels of numbers    identifier
======================  ===================  =======================  ==================  =====================
whole numbers           itself               its digits               1, 0; else outside  with a format: digits
floats, decimals        itself as a double   shortest digits          1, 0; else outside  with a format: digits
truth values            missing              true, false              itself              missing
texts, UUIDs, JSON      see ``texts``        see ``texts``            see ``texts``       ISO 8601, or a format
dates, times            as their text        their text               as their text       itself
durations               as their text        their text               as their text       missing
======================  ===================  =======================  ==================  =====================

Claim.  A row's value depends on its own bits, the type of its column and the schema, and no bits cause an error.
Proof.  Numbers are taken as they are in the array's buffer, or converted by NumPy to a type in which every value of the
first type has a value; times are compared with bounds before anything is computed with them; texts are read one by
one (:mod:`~adyton.kernel.reading.texts`), each distinct text once.  ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache, update_wrapper
from typing import Any, Concatenate, ParamSpec

import numpy as np

from adyton.arrays import Array, Flags, Integers, Places, arrow_column
from adyton.compiling import cached_property
from adyton.kernel.reading.arrow import (
    PER_SECOND,
    as_bytes,
    as_texts,
    booleans,
    encoded,
    is_number,
    is_text,
    known_in,
    numbers,
    raw_numbers,
    storage,
    text_of,
)
from adyton.kernel.reading.texts import (
    KNOWN,
    LONGEST,
    MISSING,
    OUTSIDE,
    UNREAD,
    has_levels,
    is_boolean,
    key_reader,
    number_in,
    reader_of,
)
from adyton.kernel.sealed import quietly
from adyton.schema import Attribute, Categorical, Date, Duration, Identifier
from adyton.schema.calendar import DAY, EARLIEST, LATEST, moment, part_numbers
from adyton.schema.time_formats import moment_in
from adyton.schema.times import Times, time_zone

Rest = ParamSpec("Rest")
_REMEMBERED = 1 << 16
"""The largest number of texts that are remembered with their values; times 256, the largest number of bytes."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of one attribute: whole numbers or doubles; numbers of levels; seconds; 1 and 0; places of keys."""

    data: Array
    states: Array | None = None
    """The state of each value, see :mod:`~adyton.kernel.reading.texts`; None where all are known. A double that is not
    a number is missing, whatever its state is here."""
    keys: Sequence[str] = ()
    """For identifiers: the texts to which the places in *data* refer."""

    def __len__(self) -> int:
        return len(self.data)

    def kept(self, rows: Flags | Places) -> Values:
        """The values of some rows."""
        states = None if self.states is None else self.states[rows]
        return replace(self, data=self.data[rows], states=states)

    @cached_property
    def state(self) -> Array:
        """The state of each value."""
        states = np.zeros(len(self.data), np.uint8) if self.states is None else self.states
        if self.data.dtype.kind != "f":
            return states
        none = np.isnan(self.data)
        return np.where(none & (states == KNOWN), np.uint8(MISSING), states) if none.any() else states

    @cached_property
    def missing(self) -> Flags:
        """Where there is no value, or an unreadable one."""
        return np.asarray((self.state == MISSING) | (self.state == UNREAD))

    @property
    def known(self) -> Flags | None:
        """Where there is a value (which may still be not-a-number); None where there is one everywhere."""
        return None if self.states is None else self.states == KNOWN


class ListedValues(Values):
    """A list of values, and for each row the place of its value in the list; the last value of the list is missing.

    A function of single values is computed once for each value in the list (:func:`by_value`).
    """

    listed: Values
    places: Places

    def __init__(self, listed: Values, places: Places) -> None:
        object.__setattr__(self, "listed", listed)
        object.__setattr__(self, "places", places)

    def __len__(self) -> int:
        return len(self.places)

    def kept(self, rows: Flags | Places) -> Values:
        """The values of some rows."""
        return ListedValues(self.listed, self.places[rows])

    @cached_property
    def data(self) -> Array:
        """The value of every row."""
        return self.listed.data[self.places]

    @cached_property
    def state(self) -> Array:
        """The state of every row's value."""
        return self.listed.state[self.places]

    @property
    def states(self) -> Array:
        """The state of every row's value."""
        return self.state

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the list."""
        return self.listed.keys


def by_value(function: Callable[Concatenate[Values, Rest], Array]) -> Callable[Concatenate[Values, Rest], Array]:
    """A function of single values, computed only once for each value in a list."""

    def once(values: Values, /, *rest: Rest.args, **named: Rest.kwargs) -> Array:
        if isinstance(values, ListedValues):
            return function(values.listed, *rest, **named)[values.places]
        return function(values, *rest, **named)

    return update_wrapper(once, function)


class ValueReader:
    """Reads the arrays of a column as its attribute says. It remembers texts, and nothing about rows."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self._read = None if isinstance(attribute, Times | Identifier) else reader_of(attribute)
        self._key = key_reader(attribute) if isinstance(attribute, Identifier) else None
        self._known: tuple[Any, Values] | None = None
        self._dictionary: tuple[Any, Values] | None = None
        words = (number_in(str(word)) for word in attribute.reading.missing)
        self._numbers_for_none = [number for number in words if number is not None]

    def read(self, array: Any, *, listed: bool = False) -> Values:
        """The values of an Arrow array; *listed* says that most of its values are distinct."""
        from pyarrow import types

        array = storage(array)
        kind, attribute = array.type, self.attribute
        if types.is_dictionary(kind):
            return self._spelled_out(array)
        if isinstance(attribute, Times):
            return self._times(array)
        if is_text(kind):
            return self._texts(array, listed=listed)
        texts = isinstance(attribute, Identifier) or has_levels(attribute, str)
        looked_up = attribute.reading.lookup is not None or attribute.reading.first is not None
        if isinstance(attribute, Duration) and types.is_duration(kind):
            return _lengths(array, attribute)
        if texts or looked_up or not (is_number(kind) or types.is_boolean(kind)):
            return self._texts(_as_texts(array, attribute))
        return self._numbers(array)

    def _spelled_out(self, array: Any) -> Values:
        """Each value of the dictionary is read once; an index outside the dictionary means missing."""
        if self._dictionary is None or not self._dictionary[0].equals(array.dictionary):  # batches share it
            self._dictionary = array.dictionary, _ended(self.read(array.dictionary, listed=True))
        own = self._dictionary[1]
        places, known = raw_numbers(array.indices)
        last = len(own) - 1
        if array.null_count or (len(places) and not 0 <= places.min() <= places.max() < last):
            places = np.where(known & (places >= 0) & (places < last), places.astype(np.int64), last)
        return ListedValues(own, places if places.dtype.itemsize < 8 else places.astype(np.int64, copy=False))

    def _numbers(self, array: Any) -> Values:
        """Numbers and truth values for an attribute of numbers or truth values."""
        from pyarrow import types

        if types.is_boolean(array.type):
            data, known = booleans(array)
            state = np.where(known, KNOWN, MISSING) if is_boolean(self.attribute) else np.full(len(data), MISSING)
            return Values(data, state.astype(np.uint8))
        data, known = numbers(array)
        if not array.null_count and not self._numbers_for_none and not is_boolean(self.attribute):
            return Values(data)
        state = Values(data, np.where(known, KNOWN, MISSING).astype(np.uint8)).state.copy()
        for number in self._numbers_for_none:
            state[data == number] = MISSING
        if is_boolean(self.attribute):
            outside = (state == KNOWN) & (data != 0) & (data != 1)
            state[outside] = OUTSIDE
            data = np.where(outside, 0, data)
        return Values(data, state)

    def _texts(self, array: Any, *, listed: bool = False) -> Values:
        """Each distinct text of the array is read once."""
        assert not isinstance(self.attribute, Times)
        if self._key is not None:
            return self._keys(array)
        if not self.attribute.reading.textual and not self.attribute.reading.numeric and _takes_numbers(self.attribute):
            plain = _all_plain(array)
            if plain is not None:
                return self._numbers(plain)
        if listed:
            return self._once(as_bytes(array))
        places, texts = encoded(array)
        return ListedValues(_ended(self._once(texts)), places)

    def _once(self, texts: Any) -> Values:
        """The values of texts. Texts that were read before are looked up by their bytes."""
        import pyarrow
        from pyarrow import compute

        known, values = self._known or (texts[:0], Values(np.zeros(0), np.zeros(0, np.uint8)))
        before = compute.index_in(texts, value_set=known)
        places, seen = raw_numbers(before)
        if not before.null_count:
            return values.kept(places)
        assert self._read is not None
        new = texts.take(arrow_column(np.flatnonzero(~seen)))
        read = [(MISSING, 0.0) if text is None else self._read(_text(text)) for text in new.to_pylist()]
        own = Values(np.array([number for _, number in read]), np.array([state for state, _ in read], dtype=np.uint8))
        every = Values(np.append(values.data, own.data), np.append(values.state, own.state))
        for kept in ((pyarrow.concat_arrays([known, new]), every), (new, own)):
            if len(kept[0]) <= _REMEMBERED and kept[0].nbytes <= _REMEMBERED << 8:
                self._known = kept
                break
        return every.kept(np.where(seen, places, len(known) + np.cumsum(~seen) - 1))

    def _keys(self, array: Any) -> Values:
        assert self._key is not None
        places, texts = encoded(array)
        read = [self._key(_text(text)) for text in texts.to_pylist()]
        keys = list(dict.fromkeys(key for key in read if key is not None))
        place_of = {key: place for place, key in enumerate(keys)}
        own = np.array([place_of.get(key or "", 0) for key in read], dtype=np.int64)
        states = np.array([MISSING if key is None else KNOWN for key in read], dtype=np.uint8)
        return ListedValues(_ended(Values(own, states, keys)), places)

    # ---- times ------------------------------------------------------------------------------------------------------

    def _times(self, array: Any) -> Values:
        """Seconds on the attribute's clock, or the number of the hour, weekday or month."""
        from pyarrow import types

        attribute, kind = self.attribute, array.type
        assert isinstance(attribute, Times)
        if types.is_date(kind) or types.is_timestamp(kind):
            data, known = raw_numbers(array)
            seconds = np.where(known, _in_seconds(data, kind), NO_TIME)
            universal = np.full(len(seconds), types.is_timestamp(kind) and kind.tz is not None)
            return _timed(_finished(seconds, attribute, universal), np.zeros(len(seconds), dtype=bool))
        if not is_text(kind):
            digits = is_number(kind) and (attribute.format is not None or attribute.is_part)
            if not digits:
                nothing = np.full(len(array), MISSING, np.uint8)
                return Values(np.zeros(len(array), np.int64), nothing)
            array = _as_texts(array, attribute)
        return self._written_times(array, attribute)

    def _written_times(self, array: Any, attribute: Times) -> Values:
        """Texts of the usual shape are read all at once; every other distinct text is read once."""
        formats, named = tuple(attribute.format or ()), part_numbers(attribute.by)
        words = frozenset(str(text_of(word)).strip() for word in attribute.reading.missing)
        seconds, others = (np.full(len(array), NO_TIME), array) if formats or words else iso_seconds(_plain(array))
        value = _finished(seconds, attribute, np.zeros(len(array), dtype=bool))
        places, raw = encoded(others)
        texts = list(map(_text, raw.to_pylist()))
        moments = [None if text.strip() in words else moment_in(text, formats) for text in texts]
        own = np.array([NO_TIME if moment is None else moment[0] for moment in moments] + [NO_TIME], dtype=np.int64)
        universal = np.array([moment is not None and moment[1] for moment in moments] + [False])
        read = _finished(own, attribute, universal)
        for place, text in enumerate(texts):
            if read[place] == NO_TIME and text.strip() not in words:
                read[place] = named.get(text.strip().lower(), NO_TIME)
        blank = np.array([not text.strip() or text.strip() in words for text in texts] + [True])
        other = places < len(texts)
        value = np.where(other, read[places], value)
        return _timed(value, other & ~blank[places])


def _timed(value: Integers, written: Flags) -> Values:
    """Times; where there is none, *written* says that an unreadable text was given."""
    none = value == NO_TIME
    state = np.where(none, np.where(written, UNREAD, MISSING), KNOWN).astype(np.uint8)
    return Values(np.where(none, 0, value), state)


def _in_seconds(data: Integers, kind: Any) -> Integers:
    """Dates and times of any unit as seconds; dates outside the years 1 to 9999 as :data:`NO_TIME`."""
    from pyarrow import types

    data = data.astype(np.int64)
    if types.is_date32(kind):
        inside = (data >= EARLIEST // DAY) & (data <= LATEST // DAY)
        return np.where(inside, np.where(inside, data, 0) * DAY, NO_TIME)
    return data // PER_SECOND[getattr(kind, "unit", "ms")]


def _finished(seconds: Integers, attribute: Times, universal: Flags) -> Integers:
    """Seconds as the attribute's value; :data:`NO_TIME` outside the years 1 to 9999."""
    known = (seconds >= EARLIEST) & (seconds <= LATEST)
    near = np.where(known, seconds, 0)
    shown = np.where(universal, on_clock(near, attribute.zone), near) if universal.any() else near
    known &= (shown >= EARLIEST) & (shown <= LATEST)
    days = shown // DAY
    match attribute.by:
        case "hour of day":
            value = shown % DAY // 3600
        case "weekday":
            value = (days + 3) % 7
        case "month of year":
            value = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        case _:
            value = days * DAY if isinstance(attribute, Date) else shown
    return np.where(known, value, NO_TIME)


def _lengths(array: Any, attribute: Duration) -> Values:
    """Durations in the attribute's unit."""
    data, known = raw_numbers(array)
    lengths = data / float(PER_SECOND[array.type.unit]) / attribute.seconds
    return Values(lengths, np.where(known, KNOWN, MISSING).astype(np.uint8))


# ---- clocks and texts of times ---------------------------------------------------------------------------------------

_FIRST, _LAST = moment(datetime(1900, 1, 1)), moment(datetime(2100, 1, 1))
"""Clock changes are known in these years; before and after, the offset stays as it is at the ends."""


def on_clock(seconds: Integers, zone: str) -> Integers:
    """Seconds since 1970 in universal time, as the clock of a zone shows them.

    >>> on_clock(np.array([1711846799, 1711846800]), "Europe/Berlin") - 1711846800
    array([3599, 7200])
    """
    if zone == "UTC":
        return seconds
    moments, offsets = clock_changes(zone)
    return seconds + offsets[np.searchsorted(moments, seconds, side="right")]


@lru_cache(64)
def clock_changes(zone: str) -> tuple[Integers, Integers]:
    """The moments at which the clock of a zone changes, and its offset before the first and after each of them."""
    rules, second = time_zone(zone), timedelta(seconds=1)
    start = datetime(1970, 1, 1, tzinfo=rules)  # fromutc takes its numbers for those of universal time

    def ahead(moment: int) -> timedelta | None:
        return rules.fromutc(start + moment * second).utcoffset()

    moments: list[int] = []
    offsets = [ahead(_FIRST)]
    for high in range(_FIRST, _LAST + 1, DAY):
        offset = ahead(high)
        if offset != offsets[-1]:
            low = high - DAY  # the clock changes between them
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead(middle) == offsets[-1] else (low, middle)  # noqa: PLW2901
            moments.append(high)
            offsets.append(offset)
    seconds = [(offset or timedelta()) // second for offset in offsets]
    return np.array(moments, dtype=np.int64), np.array(seconds, dtype=np.int64)


NO_TIME = -(1 << 62)
"""A number that means "no time"."""
_SHAPES = (b"0000-00-00", b"0000-00-00 00:00:00")
_MONTH_LENGTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def iso_seconds(values: Any) -> tuple[Integers, Any]:
    """The seconds of an Arrow array's texts, and the array of all others, null where a text has been read or is null.

    >>> import pyarrow
    >>> seconds, others = iso_seconds(pyarrow.array(["1970-01-01 00:01:00", "1970-1-1"]))
    >>> seconds[0].item(), others.to_pylist()
    (60, [None, '1970-1-1'])
    """
    import pyarrow
    from pyarrow import compute

    seconds = np.full(len(values), NO_TIME, dtype=np.int64)
    lengths = compute.fill_null(compute.binary_length(values), 0).to_numpy(zero_copy_only=False)
    for shape in _SHAPES:
        places = np.flatnonzero(lengths == len(shape))
        if places.size:
            seconds[places] = _of_shape(values.take(pyarrow.array(places)), shape)
    return seconds, compute.if_else(pyarrow.array(seconds == NO_TIME), values, None)


def _of_shape(texts: Any, shape: bytes) -> Integers:
    """The seconds of texts that have as many bytes as the shape."""
    length = len(shape)
    raw = np.frombuffer(texts.buffers()[2], np.uint8, count=len(texts) * length).reshape(-1, length)
    pattern = np.frombuffer(shape, np.uint8)
    digit = pattern == ord("0")
    numbers = raw.astype(np.int64) - ord("0")
    between = (raw == pattern) | ((pattern == ord(" ")) & (raw == ord("T")))  # a T may replace the blank
    fits: Flags = np.asarray(np.where(digit, (numbers >= 0) & (numbers <= 9), between).all(axis=1))
    numbers = np.where(fits[:, None], numbers, 0)
    year, month, day = (_number(numbers, *part) for part in ((0, 4), (5, 7), (8, 10)))
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(fits, month, 1)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    fits &= day <= _MONTH_LENGTHS[month] + (leap & (month == 2))
    days = ((year - 1970) * 12 + month - 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = days * DAY
    if length > len(_SHAPES[0]):
        hour, minute, second = (_number(numbers, first, first + 2) for first in (11, 14, 17))
        fits &= (hour <= 23) & (minute <= 59) & (second <= 59)
        seconds += hour * 3600 + minute * 60 + second
    return np.where(fits, seconds, NO_TIME)


def _number(digits: Integers, first: int, end: int) -> Integers:
    total = np.zeros(len(digits), dtype=np.int64)
    for place in range(first, end):
        total = total * 10 + digits[:, place]
    return total


# ---- texts ---------------------------------------------------------------------------------------------------------


def _ended(values: Values) -> Values:
    """A list of values with a missing one at its end."""
    return Values(np.append(values.data, 0), np.append(values.state, np.uint8(MISSING)), values.keys)


def _plain(array: Any) -> Any:
    """Texts stored contiguously, as Arrow's functions need them."""
    import pyarrow

    return array.cast(pyarrow.large_string()) if pyarrow.types.is_string_view(array.type) else array


def _text(raw: bytes) -> str:
    """The part of a text that is read; a character has at most four bytes."""
    return raw[: 4 * LONGEST].decode("utf-8", "replace")[:LONGEST]


def _all_plain(array: Any) -> Any | None:
    """Texts as doubles, if Arrow can convert all of them, none to not-a-number; otherwise None.

    Arrow reads a text as the same double as :func:`~adyton.kernel.reading.texts.number_in`, or not at all, except for
    some that are not a number: ``nan(x)``. So the value of a text does not depend on the other texts.
    """
    doubles = quietly(lambda: array.cast("float64"))
    return None if doubles is None or np.isnan(raw_numbers(doubles)[0][known_in(doubles)]).any() else doubles


def _as_texts(array: Any, attribute: Attribute) -> Any:
    """Numbers as people write them, 1 and not 1.0; truth values as the levels spell them; times as ISO 8601."""
    import pyarrow
    from pyarrow import types

    kind = array.type
    if types.is_boolean(kind):
        levels = attribute.levels if isinstance(attribute, Categorical) else ()
        words = [
            next((str(level) for level in levels if str(level).lower() == word), word) for word in ("false", "true")
        ]
        data, known = booleans(array)
        return pyarrow.array(words, pyarrow.string()).take(pyarrow.array(data, mask=~known))
    if not is_number(kind):
        return as_texts(array)
    data, known = numbers(array) if not types.is_uint64(kind) else raw_numbers(array)
    distinct, places = np.unique(data, return_inverse=True)
    texts = pyarrow.array([text_of(number) for number in distinct.tolist()], pyarrow.string())
    return texts.take(pyarrow.array(places.reshape(-1), mask=~known))


def _takes_numbers(attribute: Attribute) -> bool:
    return not isinstance(attribute, Duration) and not is_boolean(attribute) and not has_levels(attribute, str)
