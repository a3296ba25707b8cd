"""Partitions of the cells that cost no privacy: from the domain or the workload alone, or from noisy counts.

Start with :func:`workload_partition`, which groups the cells that a workload does not distinguish.
"""

from adyton.partitions.similar_counts import kd_partition, similar_counts
from adyton.partitions.workload_based import (
    grid_partition,
    groups_by_axis,
    lift,
    marginal_partition,
    product_partition,
    reduce_by_axis,
    reduce_workload,
    stripe_partition,
    tells_apart,
    workload_partition,
)

__all__ = [
    "grid_partition",
    "groups_by_axis",
    "kd_partition",
    "lift",
    "marginal_partition",
    "product_partition",
    "reduce_by_axis",
    "reduce_workload",
    "similar_counts",
    "stripe_partition",
    "tells_apart",
    "workload_partition",
]
