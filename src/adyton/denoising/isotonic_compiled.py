"""Pool adjacent violators, compiled: one pass over each trial."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import compiled


@compiled
def pool_adjacent_violators(values: Reals, weights: Reals) -> Reals:
    """The nearest non-decreasing sequence to each row of *values*; *weights* has one row for all, or one for each.

    The pools so far have rising means. A new value is a pool of its own; as long as the pool before it has a mean that
    is not smaller, the two become one. Each value is pooled once, so the time is linear.
    """
    trials, length = values.shape
    result = np.empty_like(values)
    means, masses, ends = np.empty(length), np.empty(length), np.empty(length, np.int64)
    for trial in range(trials):
        own = weights[trial if weights.shape[0] > 1 else 0]
        pools = 0
        for place in range(length):
            mean, mass = values[trial, place], own[place]
            while pools > 0 and means[pools - 1] >= mean:
                pools -= 1
                mean += (means[pools] - mean) * (masses[pools] / (masses[pools] + mass))
                mass += masses[pools]
            means[pools], masses[pools], ends[pools] = mean, mass, place + 1
            pools += 1
        start = 0
        for pool in range(pools):
            result[trial, start : ends[pool]] = means[pool]
            start = ends[pool]
    return result
