"""Queries, partitions and measurements: the public side of every question."""

from adyton.queries.base import Queries
from adyton.queries.basic import Identity, Prefix, Total
from adyton.queries.combined import Kronecker, Stack
from adyton.queries.cosines import Cosines
from adyton.queries.explicit import Explicit
from adyton.queries.haar import Haar
from adyton.queries.hierarchy import Hierarchy
from adyton.queries.marginals import Grid, Marginals
from adyton.queries.measurement import MeasuredTable, Measurement, Noisy, NoisyValue
from adyton.queries.on_groups import OnGroups
from adyton.queries.partition import Partition
from adyton.queries.product import Cells, Product, Reduction
from adyton.queries.random_ranges import RandomRanges
from adyton.queries.ranges import AllRange, Ranges
from adyton.queries.weighted import Weighted

__all__ = [
    "AllRange",
    "Cells",
    "Cosines",
    "Explicit",
    "Grid",
    "Haar",
    "Hierarchy",
    "Identity",
    "Kronecker",
    "Marginals",
    "MeasuredTable",
    "Measurement",
    "Noisy",
    "NoisyValue",
    "OnGroups",
    "Partition",
    "Prefix",
    "Product",
    "Queries",
    "RandomRanges",
    "Ranges",
    "Reduction",
    "Stack",
    "Total",
    "Weighted",
]
