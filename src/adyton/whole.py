"""Arrays of whole numbers: frozen copies that cannot be changed later, and arithmetic that never wraps around."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import shorten

IntegerArray: TypeAlias = npt.NDArray[Any]
"""Whole numbers: int64 where all of them fit, else Python integers (dtype object)."""

SAFE = 1 << 62
"""Sums and products below this cannot wrap around in int64."""


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


def is_frozen(values: npt.NDArray[Any]) -> bool:
    """Whether the array can no longer be changed: its data are immutable bytes, as :func:`freeze` makes them.

    >>> is_frozen(freeze([1, 2], "labels")), is_frozen(np.array([1, 2]))
    (True, False)
    """
    owner: Any = values
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return isinstance(owner, bytes)


def rises(values: npt.NDArray[np.int64]) -> bool:
    """Whether the numbers are strictly increasing. (Differences could wrap around.)

    >>> rises(np.array([0, 2, 5])), rises(np.array([0, 2**63 - 1, -(2**63)]))
    (True, False)
    """
    return bool((values[1:] > values[:-1]).all())


def largest(values: IntegerArray) -> int:
    """The largest absolute value, 0 for an empty array. Exact even for the smallest int64, whose abs() wraps."""
    return max(int(values.max()), -int(values.min())) if values.size else 0


def absolute_sum(values: IntegerArray) -> int:
    """Σ |x_i|, exactly."""
    if values.dtype != object and largest(values) * values.size < SAFE:
        return int(np.abs(values).sum())
    return sum(abs(int(value)) for value in values.tolist())


def widen(values: IntegerArray, factor: int) -> IntegerArray:
    """The values as int64 if *factor* and *factor* times the largest absolute value fit; else as Python integers."""
    if values.dtype == np.int64:
        bits = int(np.bitwise_or.reduce(values, axis=None))  # if no value is negative, at least the largest value
        if bits >= 0 and factor * (bits or 1) < SAFE:
            return values
    if values.dtype != object and factor * max(1, largest(values)) < SAFE:
        return values.astype(np.int64, copy=False)
    return values.astype(object)


def narrow(values: IntegerArray) -> IntegerArray:
    """Python integers back to int64 if all of them fit."""
    if values.dtype != object:
        return values
    fits = not values.size or (values.min() >= -(1 << 63) and values.max() < 1 << 63)
    return values.astype(np.int64) if fits else values


def cut_off(values: IntegerArray, factor: int) -> npt.NDArray[np.int64]:
    """The values in 64 bits, clipped to a public bound if their product with *factor* would not fit.

    Clipping never moves two values further apart, so one row still changes at most as much as before.

    >>> cut_off(np.array([7, 2**70, -(2**70)], dtype=object), 1 << 60).tolist()
    [3, 3, -3]
    """
    most = (SAFE - 1) // factor
    return np.clip(values, -most, most).astype(np.int64)


def add(left: IntegerArray, right: IntegerArray) -> IntegerArray:
    """The exact sum."""
    if left.dtype == right.dtype == np.int64 and largest(left) + largest(right) < SAFE:
        return np.asarray(left + right)
    return narrow(widen(left, 2) + widen(right, 2))


def whole_array(values: Sequence[int], shape: tuple[int, ...]) -> IntegerArray:
    """Python integers as an array: int64 where all of them fit, else dtype object."""
    boxed = np.empty(len(values), dtype=object)
    boxed[:] = values
    return narrow(boxed).reshape(shape)


def whole(value: object, name: str, least: int) -> int:
    """A whole number of at least *least*; booleans, floats and texts are refused.

    >>> whole(3, "size", 0)
    3
    >>> whole(2.5, "size", 0)
    Traceback (most recent call last):
    adyton.errors.BadInput: size must be a whole number of at least 0, given 2.5.
    """
    number = maybe_whole(value)
    if number is None or number < least:
        raise BadInput(f"{name} must be a whole number of at least {least}, given {shorten(value)}.")
    return number


def maybe_whole(value: object) -> int | None:
    """A whole number, or None for anything else."""
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def as_shape(shape: int | Sequence[int], name: str = "domain") -> tuple[int, ...]:
    """The shape of a domain: one whole number of at least 1 per axis.

    >>> as_shape(8), as_shape((2, 4))
    ((8,), (2, 4))
    """
    sides = shape if isinstance(shape, tuple | list) else (shape,)
    if not sides:
        raise BadInput(f"{name} must have at least one axis, given none.")
    return tuple(whole(side, name, 1) for side in sides)


def halvings(cells: int) -> int:
    """How many times a line of cells is halved until single cells are left.

    >>> halvings(1), halvings(5)
    (0, 3)
    """
    return (whole(cells, "cells", 1) - 1).bit_length()
