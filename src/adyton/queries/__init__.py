"""Queries, partitions and measurements: the public side of every question."""

from adyton.queries.base import Partition, Queries
from adyton.queries.basic import AllRange, Identity, Prefix, RandomRanges, Ranges, Total
from adyton.queries.combined import Kronecker, OnGroups, Stack, Weighted
from adyton.queries.explicit import Explicit
from adyton.queries.hierarchy import Haar, Hierarchy
from adyton.queries.marginals import Grid, Marginals
from adyton.queries.measurement import Cells, MeasuredTable, Measurement, Noisy, NoisyValue, Product, Reduction

__all__ = [
    "AllRange",
    "Cells",
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
