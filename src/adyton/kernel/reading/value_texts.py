"""Texts of values that are none, as a CSV file has them: dates, times, durations, UUIDs, bytes and Python's objects.

A value is converted by itself; one without a plain text is missing.
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


def as_texts(column: Any) -> Any:
    """The texts of an Arrow array whose values are neither numbers nor truths."""
    import pyarrow
    from pyarrow import types

    if types.is_duration(column.type):
        return _durations(column)
    if types.is_temporal(column.type):
        if not _has_text(column.type):
            return pyarrow.nulls(len(column), pyarrow.large_string())
        return _times(_in_years(column))
    # of UUIDs Arrow would take the bytes for a text, where all of them happen to be one
    uuid = getattr(column.type, "extension_name", "") == "arrow.uuid"
    found = None if uuid else quietly(lambda: column.cast(pyarrow.large_string()))
    return found if found is not None and _is_valid(found) else texts(lambda: (quietly(one.as_py) for one in column))


def texts(values: Callable[[], Iterable[object]], text: Callable[[object], str | None] | None = None) -> Any:
    """The texts of values that may be anything at all."""
    import pyarrow

    return pyarrow.array(map(text or text_of, values()), pyarrow.large_string())


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


def _times(column: Any) -> Any:
    """Dates and times as Python would write them, without a fraction of zero.

    A time that cannot be written makes the conversion fail for all. It is found by halving, and is missing; what the
    others become does not depend on it.
    """
    import pyarrow
    from pyarrow import compute

    found = quietly(lambda: compute.replace_substring_regex(column.cast(pyarrow.large_string()), r"\.0+(Z?)$", r"\1"))
    if found is not None and _is_valid(found):
        return found
    if len(column) <= 1:
        return pyarrow.nulls(len(column), pyarrow.large_string())
    middle = len(column) // 2
    return pyarrow.concat_arrays([_times(column[:middle]), _times(column[middle:])])


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
