"""Texts of the usual shapes, 2024-03-01 and 2024-03-01 13:30:59, as seconds: whole vectors at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.schema.calendar import DAY

NO_TIME = -(1 << 62)
"""Stands for no time at all."""
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
    fits = ((numbers >= 0) & (numbers <= 9))[:, digit].all(axis=1) & _separated(raw, pattern, digit)
    numbers = np.where(fits[:, None], numbers, 0)
    year = _number(numbers, 0, 4)
    month, day = _number(numbers, 5, 7), _number(numbers, 8, 10)
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


def _separated(raw: npt.NDArray[np.uint8], pattern: npt.NDArray[np.uint8], digit: npt.NDArray[np.bool_]) -> Any:
    """Whether what stands between the digits is what should; a T may stand for the blank."""
    same = (raw == pattern) | digit | ((pattern == ord(" ")) & (raw == ord("T")))
    return same.all(axis=1)


def _number(digits: Integers, first: int, end: int) -> Integers:
    total = np.zeros(len(digits), dtype=np.int64)
    for place in range(first, end):
        total = total * 10 + digits[:, place]
    return total
