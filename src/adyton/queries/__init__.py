"""Queries, partitions and measurements: the public side of every question."""

from adyton.queries.base import Queries
from adyton.queries.basic import Explicit, Identity, Prefix, Total
from adyton.queries.measurement import Measurement
from adyton.queries.partition import Partition

__all__ = ["Explicit", "Identity", "Measurement", "Partition", "Prefix", "Queries", "Total"]
