"""How dates, times and durations are read from an engine's column, without ever failing.

Claim.  Whatever stands in a column, its value is a whole number of seconds on the clock of the attribute's zone, the
number of a part such as the hour of day, a number of units, or missing; and it depends on that one field alone.
Proof.  Functions of the engine go over whole vectors of values, value by value: a text is a time only if it has the
shape of one and the calendar has the day; numbers are brought between the years 1 and 9999 before anything is added. A
clock is a table in which every moment is found.  ∎
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import engine_function
from adyton.kernel.tables.columns import short_text
from adyton.kernel.tables.iso_times import NO_TIME, iso_seconds
from adyton.kernel.tables.zones import on_clock
from adyton.schema.calendar import DAY, EARLIEST, LATEST, part_numbers
from adyton.schema.numbers import Duration
from adyton.schema.time_formats import duration_in, moment_in
from adyton.schema.times import Date, Times


def read_times(column: Any, attribute: Times, engine: Engine, *, written_by_us: bool) -> Any:
    """The seconds on the attribute's clock, or the number of the part; null where there is none.

    *written_by_us* says that texts are those of a column of times, whatever the attribute's formats are.
    """
    import ibis

    kind = column.type()
    if kind.is_date():
        first, last = ibis.date(1, 1, 1), ibis.date(9999, 12, 31)
        near = ibis.greatest(ibis.least(column, last), first)
        known = ibis.ifelse(
            column.between(first, last), engine_function("epoch_us", kind, "int64")(near), ibis.null("int64")
        )
        return _of_numbers(attribute, 10**6, universal=False)(known).nullif(NO_TIME)
    if kind.is_timestamp():
        fine = kind.scale == 9
        number = engine_function("epoch_ns" if fine else "epoch_us", kind, "int64")(column)
        universal = kind.timezone is not None
        return _of_numbers(attribute, 10**9 if fine else 10**6, universal=universal)(number).nullif(NO_TIME)
    text = engine.number_text(column.cast("float64")) if _is_number(column) else column
    if not text.type().is_string():
        return ibis.null("int64")
    return _of_texts(attribute, written_by_us)(short_text(text.cast("string"))).nullif(NO_TIME)


def read_durations(column: Any, attribute: Duration, engine: Engine) -> Any:
    """A number of the attribute's units, as a double; null where there is none."""
    import ibis

    kind = column.type()
    if kind.is_interval():
        return engine.length(column) / attribute.seconds
    if _is_number(column):
        return column.cast("float64")
    return (
        _of_lengths(attribute.seconds)(short_text(column)).nullif(float("nan"))
        if kind.is_string()
        else ibis.null("float64")
    )


def _is_number(column: Any) -> bool:
    kind = column.type()
    return bool(kind.is_integer() or kind.is_floating() or kind.is_decimal())


@cache
def _of_numbers(attribute: Times, per_second: int, *, universal: bool) -> Any:
    """From whole parts of a second since 1970, in universal time or on the attribute's clock."""

    def read(values: Any) -> Any:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        seconds = values.fill_null(0).to_numpy(zero_copy_only=False) // per_second
        return _finished(np.where(missing, NO_TIME, seconds), attribute, np.full(seconds.size, universal))

    return _function(read, f"{attribute!r} {per_second} {universal}", "int64", "int64")


@cache
def _of_texts(attribute: Times, written_by_us: bool) -> Any:
    """From texts: those of the usual shape all at once, each other one once however often it is there."""
    formats = () if written_by_us else tuple(attribute.format or ())
    named = part_numbers(attribute.by)

    def read(values: Any) -> Any:
        seconds, others = (np.full(len(values), NO_TIME), values) if formats else iso_seconds(values)
        found = _finished(seconds, attribute, np.zeros(seconds.size, dtype=bool))
        encoded = others.dictionary_encode()
        texts = [text or "" for text in encoded.dictionary.to_pylist()]
        if not texts:
            return found
        moments = [moment_in(text, formats) for text in texts]
        own = [NO_TIME if moment is None else moment[0] for moment in moments]
        universal = [moment is not None and moment[1] for moment in moments]
        parts = _finished(np.array(own, dtype=np.int64), attribute, np.array(universal, dtype=bool))
        for place, text in enumerate(texts):
            if parts[place] == NO_TIME:
                parts[place] = named.get(text.strip().lower(), NO_TIME)
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.where(places < 0, found, parts[places])

    return _function(read, f"{attribute!r} {written_by_us}", "string", "int64")


@cache
def _of_lengths(unit: float) -> Any:
    """From texts to numbers of a unit, each text once."""

    def read(values: Any) -> Any:
        encoded = values.dictionary_encode()
        known = [duration_in(text or "", unit) for text in encoded.dictionary.to_pylist()]
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.array([*(np.nan if one is None else one for one in known), np.nan], dtype=np.float64)[places]

    return _function(read, f"lengths {unit!r}", "string", "float64")


def _finished(seconds: Integers, attribute: Times, universal: Any) -> Integers:
    """Seconds as the attribute's value; :data:`NO_TIME` outside the years 1 to 9999."""
    known = (seconds >= EARLIEST) & (seconds <= LATEST)
    near = np.where(known, seconds, 0)
    shown = np.where(universal, on_clock(near, attribute.zone), near)
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


def _function(read: Callable[[Any], Any], what: str, takes: str, gives: str) -> Any:
    """A function of the engine, which gives a number for every value: none is null, and none is left out."""
    import ibis
    import pyarrow

    def of_vectors(values: Any) -> Any:
        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        values = values.cast(takes) if takes == "string" else values
        return pyarrow.array(read(values), gives)

    name = f"time_{hashlib.sha256(f'{takes} {what}'.encode()).hexdigest()[:16]}"
    return ibis.udf.scalar.pyarrow(of_vectors, name=name, signature=((takes,), gives))
