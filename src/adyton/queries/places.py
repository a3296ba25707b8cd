"""Numbers that go to places: values added up where they belong, and rows found in the part that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adyton.arrays import Array, Integers


def scatter(values: Array, places: Integers, length: int) -> Array:
    """For each of *length* places the sum of the values that go there, along the last axis.

    >>> scatter(np.array([1, 2, 4]), np.array([1, 0, 1]), 2)
    array([2, 5])
    """
    sums = np.zeros((*values.shape[:-1], length), dtype=values.dtype)
    add_at(sums, places, values)
    return sums


def add_at(sums: Array, places: Integers, values: Array) -> None:
    """Add each value to the sum at its place, along the last axis of a contiguous array of sums."""
    if values.ndim > 1:
        starts = np.arange(0, sums.size, sums.shape[-1])  # one flat index is many times faster than one per axis
        places = (starts[:, None] + places).reshape(-1)
    np.add.at(sums.reshape(-1), places, values.reshape(-1))


def by_part(numbers: Integers, lengths: Sequence[int]) -> Iterator[tuple[int, Integers, Integers]]:
    """For each part of a list cut into parts: which of the *numbers* lie in it, and their places in the part.

    Parts in which none of them lies are left out.

    >>> [(part, own.tolist(), within.tolist()) for part, own, within in by_part(np.array([0, 4, 3]), [2, 1, 2])]
    [(0, [0], [0]), (2, [1, 2], [1, 0])]
    """
    start = 0
    for part, length in enumerate(lengths):
        own = np.flatnonzero((numbers >= start) & (numbers < start + length))
        if own.size:
            yield part, own, numbers[own] - start
        start += length
