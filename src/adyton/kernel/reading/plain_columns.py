"""Columns of frames in plain types: whatever a value is, it becomes a number, a boolean or a text, or it is missing.

The types that can be read: whole numbers, floats, decimals, booleans, texts, bytes, dates, times of day, times with and
without a zone, durations, UUIDs, JSON and nulls; also as dictionaries and runs. The plain type follows from the type of
the column alone. A value is converted by itself; one without a plain text is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from adyton.kernel.sealed import quietly

_EXACT = 1 << 53
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163
"""In days since 1970."""


def plain_type(kind: Any) -> Any | None:
    """The type, known to the engine, in which a column of an Arrow type is read; None for those that are not."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.large_string() if is_uuid(kind) or kind.extension_name == "arrow.json" else None
    if types.is_nested(kind) or types.is_union(kind) or types.is_interval(kind):
        return None
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind):
        return kind
    if types.is_floating(kind) or types.is_decimal(kind):
        return pyarrow.float64()
    return pyarrow.large_string()


def unit_type(kind: Any) -> Any:
    """The same for a column that says whose row it is: decimals keep their digits, bytes are bytes."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return unit_type(kind.value_type)
    if types.is_decimal(kind):
        return pyarrow.large_string()
    bare = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    return pyarrow.large_binary() if any(test(kind) for test in bare) else plain_type(kind)


def is_uuid(kind: Any) -> bool:
    """Whether it is Arrow's type of UUIDs."""
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def plain(column: Any, kind: Any) -> Any:
    """An Arrow column in its plain type."""
    import pyarrow
    from pyarrow import types

    if isinstance(column, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([plain(chunk, kind) for chunk in column.chunks], kind)
    if column.type == kind and _is_valid(column):
        return column
    if types.is_dictionary(column.type):
        return _spelled_out(column, plain(column.dictionary, kind))
    if types.is_temporal(column.type):
        return _temporal(column, kind)
    # of UUIDs Arrow would take the bytes for a text, where all of them happen to be one
    found = None if is_uuid(column.type) else quietly(lambda: column.cast(kind))
    if found is not None and _is_valid(found):
        return found
    if types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type):
        column = column.cast(pyarrow.large_binary())
    return texts(lambda: (quietly(value.as_py) for value in column), kind)


def _spelled_out(column: Any, values: Any) -> Any:
    """The values that a dictionary's indices stand for; an index that is none of the dictionary's is missing."""
    from pyarrow import compute

    places = column.indices.cast("int64", safe=False)
    known = compute.and_(compute.greater_equal(places, 0), compute.less(places, len(values)))
    return values.take(compute.if_else(known, places, None))


def texts(values: Callable[[], Iterable[object]], kind: Any, text: Callable[[object], str | None] | None = None) -> Any:
    """The texts of values that may be anything at all."""
    import pyarrow

    text = text or text_of
    return pyarrow.array([text(value) for value in values()], pyarrow.large_string()).cast(kind)


def _is_valid(column: Any) -> bool:
    """Whether an array is what it says it is: texts that are no UTF-8 would make the engine fail."""
    return quietly(lambda: column.validate(full=True) is None) is True


def _has_text(kind: Any) -> bool:
    """Whether dates or times of this type have a text: intervals have none, nor have time zones that are not known."""
    import pyarrow
    from pyarrow import types

    if types.is_interval(kind):
        return False
    return quietly(lambda: pyarrow.array([0], pyarrow.int64()).cast(kind).cast(pyarrow.string())) is not None or not (
        types.is_timestamp(kind) and kind.tz is not None
    )


def _temporal(column: Any, kind: Any) -> Any:
    """Dates, times and durations as texts; what has none is missing."""
    import pyarrow
    from pyarrow import types

    if types.is_duration(column.type):
        return _durations(column).cast(kind)
    if not _has_text(column.type):
        return pyarrow.nulls(len(column), kind)
    return pyarrow.concat_arrays(_times(_in_years(column), kind))


def _in_years(column: Any) -> Any:
    """Dates and times without those before the year 1 and after the year 9999, whose texts would be others'."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_time(column.type):
        return column
    per_day = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
    one = 1 if types.is_date32(column.type) else per_day[getattr(column.type, "unit", "ms")]
    plain = column.cast(pyarrow.int32() if one == 1 else pyarrow.int64()).cast(pyarrow.int64())
    first, last = (max(-(2**63), min(2**63 - 1, day * one)) for day in (_FIRST_DAY, _LAST_DAY + 1))
    known = compute.and_(compute.greater_equal(plain, first), compute.less(plain, last))
    return compute.if_else(known, column, None)


def _durations(column: Any) -> Any:
    """Durations as texts such as PT5400.5S."""
    import pyarrow
    from pyarrow import compute

    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    seconds = compute.divide(column.cast(pyarrow.int64()).cast(pyarrow.float64(), safe=False), float(per_second))
    return compute.binary_join_element_wise("PT", seconds.cast(pyarrow.string()), "S", "")


def _times(column: Any, kind: Any) -> list[Any]:
    """Dates and times as Python would write them, without a fraction of zero, in pieces.

    A time that cannot be written makes the conversion fail for all. It is found by halving, and is missing; what the
    others become does not depend on it.
    """
    import pyarrow
    from pyarrow import compute

    found = quietly(
        lambda: compute.replace_substring_regex(column.cast(pyarrow.string()), r"\.0+(Z?)$", r"\1").cast(kind)
    )
    if found is not None and _is_valid(found):
        return [found]
    if len(column) <= 1:
        return [pyarrow.nulls(len(column), kind)]
    middle = len(column) // 2
    return _times(column[:middle], kind) + _times(column[middle:], kind)


def text_of(value: object) -> str | None:
    """The plain text of a Python value, as a CSV file would have it; None for what has none."""
    return quietly(lambda: _text(value))


def own_text(value: object) -> str | None:
    """A value that is a text itself; None for every other, and for half a character, which would become another."""
    return quietly(lambda: value.encode("utf-8").decode("utf-8")) if isinstance(value, str) else None


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
    """Digits alone for a whole number, whatever its type; None for what is not a number or is beyond any double."""
    if isinstance(value, int | np.integer):
        return str(int(value)) if abs(int(value)) < 2**1000 else repr(float(value))
    number = float(value)
    if number.is_integer() and abs(number) <= _EXACT:
        return str(int(number))
    return None if number != number else repr(number)  # noqa: PLR0124 (only not-a-number differs from itself)
