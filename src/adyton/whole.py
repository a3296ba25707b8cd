"""Arrays of whole numbers: frozen copies that nobody can change later, and arithmetic that never wraps around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput

IntegerArray: TypeAlias = npt.NDArray[Any]
"""Whole numbers: int64 where all of them fit, else Python integers (dtype object)."""

SAFE = 1 << 62
"""Sums and products that stay below this cannot wrap around in int64."""


def freeze(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    """An int64 copy on top of immutable bytes: no view of it can ever be made writeable.

    >>> freeze([1, 2], "labels").flags.writeable
    False
    """
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63):
        raise BadInput(f"{name} must be whole numbers that fit 64 bits, given an array of {array.dtype}.")
    contiguous = np.ascontiguousarray(array, dtype=np.int64)
    return np.frombuffer(contiguous.tobytes(), dtype=np.int64).reshape(array.shape)


def largest(values: IntegerArray) -> int:
    """The largest absolute value, 0 for an empty array. Exact also for the smallest int64, whose abs() wraps."""
    return max(int(values.max()), -int(values.min())) if values.size else 0


def widen(values: IntegerArray, factor: int) -> IntegerArray:
    """The values as int64 if *factor* times the largest of them cannot wrap around, else as Python integers."""
    if values.dtype != object and factor * largest(values) < SAFE:
        return values.astype(np.int64, copy=False)
    return values.astype(object)


def narrow(values: IntegerArray) -> IntegerArray:
    """Python integers back to int64 if all of them fit."""
    if values.dtype == object and largest(values) < 1 << 63:
        return values.astype(np.int64)
    return values


def add(left: IntegerArray, right: IntegerArray) -> IntegerArray:
    """The exact sum."""
    return narrow(widen(left, 2) + widen(right, 2))


def as_shape(shape: int | Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """A domain's shape: one positive whole number per axis."""
    sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not sides or not all(isinstance(s, int | np.integer) and not isinstance(s, bool) and s >= 1 for s in sides):
        raise BadInput(f"{name} must be one or more whole numbers of at least 1, given {shape!r}.")
    return tuple(int(side) for side in sides)
