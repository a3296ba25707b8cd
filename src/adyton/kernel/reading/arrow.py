"""Arrow arrays: the numbers in their buffers, and values of other types as texts, as in a CSV file.

Every value is converted independently of the others; a value without a plain text is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import numpy as np

from adyton.arrays import Array, Flags, Places
from adyton.kernel.sealed import quietly

EXACT = 1 << 53
"""Doubles and whole numbers agree up to here."""
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163
"""In days since 1970."""


# ---- buffers --------------------------------------------------------------------------------------------------------


def storage(array: Any) -> Any:
    """A single array, without chunks, run-end encoding or extension types."""
    import pyarrow
    from pyarrow import types

    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    if types.is_run_end_encoded(array.type):
        from pyarrow import compute

        array = compute.run_end_decode(array)
    return as_texts(array) if isinstance(array.type, pyarrow.BaseExtensionType) else array


def raw_numbers(array: Any) -> tuple[Array, Flags]:
    """The numbers of an array of fixed width as they are in its buffer, and which of them are not null."""
    width = array.type.bit_width // 8
    kind = np.dtype(array.type.to_pandas_dtype()) if is_number(array.type) else np.dtype(f"i{width}")
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), kind), known_in(array)
    return np.frombuffer(buffer, kind, count=array.offset + len(array))[array.offset :], known_in(array)


def known_in(array: Any) -> Flags:
    """Which values of an array are not null."""
    return _bits(array, 0) if array.null_count else np.ones(len(array), dtype=bool)


def _bits(array: Any, buffer: int) -> Flags:
    bits = np.frombuffer(array.buffers()[buffer], np.uint8)
    return np.unpackbits(bits, bitorder="little", count=array.offset + len(array))[array.offset :].astype(bool)


def booleans(array: Any) -> tuple[Array, Flags]:
    """The truth values of an array as 1 and 0, and which of them are not null."""
    if not len(array):
        return np.zeros(0, np.int64), np.zeros(0, dtype=bool)
    return _bits(array, 1).astype(np.int64), known_in(array)


def numbers(array: Any) -> tuple[Array, Flags]:
    """Whole numbers in 32 or 64 bits, unsigned ones of 64 bits and all others as doubles; and which are not null."""
    from pyarrow import types

    if types.is_decimal(array.type):
        return np.array([0.0 if value is None else float(value) for value in array.to_pylist()]), known_in(array)
    data, known = raw_numbers(array)
    if data.dtype.kind == "f" or data.dtype == np.uint64:
        return data.astype(np.float64), known
    return data if data.dtype == np.int32 else data.astype(np.int64, copy=False), known


def encoded(array: Any) -> tuple[Places, Any]:
    """The place of each text in an array of distinct texts (for null, the place after the last), and that array."""
    listed = as_bytes(array).dictionary_encode()
    places, known = raw_numbers(listed.indices)
    return np.where(known, places, len(listed.dictionary)) if listed.null_count else places, listed.dictionary


def as_bytes(array: Any) -> Any:
    """Texts as their bytes."""
    import pyarrow

    return array if pyarrow.types.is_large_binary(array.type) else array.cast(pyarrow.large_binary())


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds texts, or bytes that may be texts."""
    from pyarrow import types

    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_binary(kind)
    )


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


# ---- texts ----------------------------------------------------------------------------------------------------------


def as_texts(column: Any) -> Any:
    """The texts of an Arrow array whose values are neither numbers nor truth values."""
    import pyarrow
    from pyarrow import types

    if types.is_duration(column.type):
        return _durations(column)
    if types.is_temporal(column.type):
        if not _has_text(column.type):
            return pyarrow.nulls(len(column), pyarrow.large_string())
        return _times(_in_years(column))
    # Arrow would take the bytes of UUIDs for texts if all of them happened to be valid UTF-8
    uuid = getattr(column.type, "extension_name", "") == "arrow.uuid"
    plain = None if uuid else quietly(lambda: column.cast(pyarrow.large_string()))
    return plain if plain is not None and _is_valid(plain) else texts(quietly(value.as_py) for value in column)


def texts(values: Iterable[object], text: Callable[[object], str | None] | None = None) -> Any:
    """The texts of values of any type."""
    import pyarrow

    return pyarrow.array(map(text or text_of, values), pyarrow.large_string())


def _is_valid(column: Any) -> bool:
    """Whether an array is valid: texts that are not UTF-8 would cause errors later."""
    return quietly(lambda: column.validate(full=True) is None) is True


def _has_text(kind: Any) -> bool:
    """Whether dates or times of this type have a text: intervals and times in unknown time zones do not."""
    import pyarrow
    from pyarrow import types

    if types.is_interval(kind):
        return False
    return quietly(lambda: pyarrow.array([0], pyarrow.int64()).cast(kind).cast(pyarrow.string())) is not None or not (
        types.is_timestamp(kind) and kind.tz is not None
    )


def _in_years(column: Any) -> Any:
    """Dates and times, null before the year 1 and after the year 9999, where their texts would be ambiguous."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_time(column.type):
        return column
    day = 1 if types.is_date32(column.type) else _DAY * PER_SECOND[getattr(column.type, "unit", "ms")]
    plain = column.cast(pyarrow.int32() if day == 1 else pyarrow.int64()).cast(pyarrow.int64())
    first, last = (max(-(2**63), min(2**63 - 1, border * day)) for border in (_FIRST_DAY, _LAST_DAY + 1))
    known = compute.and_(compute.greater_equal(plain, first), compute.less(plain, last))
    return compute.if_else(known, column, None)


def _durations(column: Any) -> Any:
    """Durations as texts such as PT5400.5S."""
    import pyarrow
    from pyarrow import compute

    whole = column.cast(pyarrow.int64()).cast(pyarrow.float64(), safe=False)
    seconds = compute.divide(whole, float(PER_SECOND[column.type.unit]))
    return compute.binary_join_element_wise("PT", seconds.cast(pyarrow.string()), "S", "")


def _times(column: Any) -> Any:
    """Dates and times as Python writes them, without a fraction of zero.

    A time that cannot be written makes the whole conversion fail. It is found by halving the array, and is missing; the
    texts of the other times do not depend on it.
    """
    import pyarrow
    from pyarrow import compute

    written = quietly(lambda: compute.replace_substring_regex(column.cast(pyarrow.large_string()), r"\.0+(Z?)$", r"\1"))
    if written is not None and _is_valid(written):
        return written
    if len(column) <= 1:
        return pyarrow.nulls(len(column), pyarrow.large_string())
    middle = len(column) // 2
    return pyarrow.concat_arrays([_times(column[:middle]), _times(column[middle:])])


_LIBRARIES = {"builtins", "datetime", "decimal", "uuid", "zoneinfo", "numpy", "pandas", "pytz", "dateutil"}
"""Values of other classes are not asked for anything: their methods would run on rows that are paid for."""


def is_from_library(value: object) -> bool:
    """Whether the class of a value belongs to Python or to a library whose values are read."""
    return type(value).__module__.partition(".")[0] in _LIBRARIES


def text_of(value: object) -> str | None:
    """The plain text of a Python value, as in a CSV file; None for a value without a plain text."""
    return quietly(lambda: _text(_plain(value)))


def name_of(value: object) -> str | None:
    """The name of a unit among values of any type: a text, or the digits of a whole number; None for any other value,
    and for a text with an unpaired surrogate."""
    return quietly(lambda: _name(_plain(value)))


def _name(value: Any) -> str | None:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    return value.encode("utf-8").decode("utf-8") if isinstance(value, str) else None


def _plain(value: object) -> Any:
    """The value if its class is known; the text or number from which somebody derived a class; None for all others."""
    if is_from_library(value):
        return value if is_from_library(getattr(value, "tzinfo", None)) else None
    plain = ((str, str.__str__), (int, int.__pos__), (float, float.__pos__))  # without a method of that class
    return next((same(cast(Any, value)) for kind, same in plain if issubclass(type(value), kind)), None)


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return _number_text(value)
    if isinstance(value, date | time | UUID | timedelta):
        text = f"PT{value / timedelta(seconds=1)}S" if isinstance(value, timedelta) else str(value)
        return None if "NaT" in text or "nan" in text else text
    return None


def _number_text(value: Any) -> str | None:
    """The text of a number: digits only for a whole number of any type; None for not-a-number."""
    if isinstance(value, int | np.integer):
        return str(int(value)) if abs(int(value)) < 2**1000 else repr(float(value))
    number = float(value)
    if number.is_integer() and abs(number) <= EXACT:
        return str(int(number))
    return None if number != number else repr(number)  # noqa: PLR0124 (only not-a-number differs from itself)
