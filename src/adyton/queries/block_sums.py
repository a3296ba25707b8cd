"""Sums over blocks of neighbours, and their way back."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Array, Places

_SHORT = 8
"""Blocks of at most this many parts are summed part by part for all blocks at once."""


def block_sums(values: Array, starts: Places) -> Array:
    """The sums over blocks that begin at *starts* (the end of the last one listed too), along the last axis."""
    return sums_of(values, starts, even(starts))


def spread(values: Array, starts: Places) -> Array:
    """Each value repeated over its block; the opposite of :func:`block_sums`."""
    return spread_of(values, starts, even(starts))


def even(starts: Places) -> int:
    """The size of all blocks, of which the last one may be shorter; 0 where they differ."""
    size, blocks = int(starts[1]), starts.size - 1
    return size if starts[-1] <= size * blocks and np.array_equal(starts[:-1], np.arange(blocks) * size) else 0


def sums_of(values: Array, starts: Places, size: int) -> Array:
    """The same, where it is known how :func:`even` the blocks are."""
    if size == 0:
        return np.add.reduceat(values, starts[:-1], axis=-1)
    if size == 1:
        return values
    blocks = starts.size - 1
    full = blocks if starts[-1] == size * blocks else blocks - 1
    equal, rest = values[..., : size * full], values[..., size * full :]
    if size <= _SHORT:
        sums = equal[..., ::size] + equal[..., 1::size]
        for place in range(2, size):
            sums += equal[..., place::size]
    else:
        sums = equal.reshape(*values.shape[:-1], full, size).sum(axis=-1)
    return sums if full == blocks else np.concatenate([sums, rest.sum(axis=-1, keepdims=True)], axis=-1)


def spread_of(values: Array, starts: Places, size: int) -> Array:
    """The same, where it is known how :func:`even` the blocks are."""
    if size and starts[-1] == size * (starts.size - 1):
        return np.repeat(values, size, axis=-1)
    return np.repeat(values, np.diff(starts), axis=-1)
