"""Partitions chosen without looking at the data: grids, stripes, marginals, and what a workload tells apart."""

from adyton.partitions.grid import grid_partition
from adyton.partitions.marginal import marginal_partition
from adyton.partitions.stripe import stripe_partition
from adyton.partitions.workload_based import lift, reduce_workload, workload_partition

__all__ = [
    "grid_partition",
    "lift",
    "marginal_partition",
    "reduce_workload",
    "stripe_partition",
    "workload_partition",
]
