"""The loops of :mod:`adyton.denoising.split_prior`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.compiling import compiled

Array = Any
_FEW = 1e-7


@compiled
def mix(weights: Array, splits: Array, edges: Array, sizes: Array, mixed_splits: Array, mixed_edges: Array) -> None:
    """The prior of each level: the laws, mixed with their weights."""
    laws = weights.shape[2]
    for level in range(len(weights)):
        for left in range(len(splits)):
            for right in range(left + 1):
                mixed = 0.0
                for law in range(laws):
                    mixed += weights[level, sizes[left + right], law] * splits[left, right, law]
                mixed_splits[level, left, right] = mixed_splits[level, right, left] = mixed
        for size in range(len(edges)):
            for part in range(edges.shape[1]):
                mixed = 0.0
                for law in range(laws):
                    mixed += weights[level, size, law] * edges[size, part, law]
                mixed_edges[level, size, part] = mixed


@compiled
def attribute(
    weights: Array, splits: Array, edges: Array, sizes: Array, found_splits: Array, found_edges: Array
) -> Array:
    """The expectation step: how many of the splits that were found each law has made, by level and size of the whole.

    Wholes of 0 and 1 say nothing, since they split alike under all laws.
    """
    made, laws = np.zeros_like(weights), weights.shape[2]
    shares = np.empty(laws)
    for level in range(len(weights)):
        for left in range(len(splits)):
            for right in range(len(splits)):
                if found_splits[level, left, right] > _FEW and left + right > 1:
                    size, total = sizes[left + right], 0.0
                    for law in range(laws):
                        shares[law] = weights[level, size, law] * splits[left, right, law]
                        total += shares[law]
                    for law in range(laws):
                        made[level, size, law] += found_splits[level, left, right] * shares[law] / total
        for size in range(len(edges)):
            for part in range(edges.shape[1]):
                if found_edges[level, size, part] > _FEW:
                    total = 0.0
                    for law in range(laws):
                        shares[law] = weights[level, size, law] * edges[size, part, law]
                        total += shares[law]
                    for law in range(laws):
                        made[level, size, law] += found_edges[level, size, part] * shares[law] / total
    return made
