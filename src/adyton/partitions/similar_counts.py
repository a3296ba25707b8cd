"""Groups of cells with similar counts, wherever they lie: found on noisy counts, so that they cost nothing more."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Partition


def similar_counts(counts: npt.ArrayLike, noise: float, floor: float = -math.inf) -> Partition:
    """The groups that cost least if each cell is replaced by its group's mean, and each group's sum is noisy.

    A group G costs Σ_{i ∈ G} (y_i − mean)² + noise/|G|: what the mean hides, and what noise of this variance in the
    group's sum adds to its cells. Counts of at most *floor* are taken for 0 first. Groups are numbered from small to
    large counts. This is the clustering of AHP (Zhang et al., "Towards accurate histogram publication under
    differential privacy", SDM 2014), but with the least cost of all where the paper's greedy steps only come near.

    The best groups are runs of the sorted counts. A run's cost satisfies the quadrangle inequality (1/m is convex in
    m), so the last cut before each place moves only to the right, and all are found in O(n log n) steps (Galil and
    Giancarlo, "Speeding up dynamic programming", 1989).

    >>> similar_counts([0, 90, 1, 0, 93], noise=20).labels.tolist()
    [0, 1, 0, 0, 1]
    """
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise BadInput(f"counts are finite numbers along one axis, given an array of shape {values.shape}.")
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise must be a variance, a finite number of at least 0, given {shorten(noise)}.")
    kept = np.where(values <= floor, 0.0, values)
    order = np.argsort(kept, kind="stable")
    from adyton.partitions.similar_counts_compiled import best_runs

    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = best_runs(kept[order], float(noise))
    return Partition(labels)
