"""Query matrices that are never written out, partitions of cells, and measurements; nothing here reads private data.

Start with :mod:`adyton.queries.base`; the simplest query sets are in :mod:`adyton.queries.basic`.
"""

from adyton.queries.base import Queries
from adyton.queries.basic import Cells, Identity, Marginals, Reduction, Total
from adyton.queries.combined import Explicit, Kronecker, Product, Stack
from adyton.queries.hierarchy import Haar, Hierarchy
from adyton.queries.measurement import MeasuredTable, Measurement, Noisy, NoisyValue
from adyton.queries.partition import Partition
from adyton.queries.ranges import AllRange, Grid, OnGroups, Prefix, RandomRanges, Ranges, Weighted

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
