"""Transformations: private → private operators, each with its stability."""

from adyton.kernel.transforms.base import Outcome, Transform
from adyton.kernel.transforms.leaves import CountLeaves
from adyton.kernel.transforms.many_tables import CountTables, SingleTables
from adyton.kernel.transforms.sums import ShareRows, SumValues
from adyton.kernel.transforms.tables import Coarsen, CountMisfits, GroupBy, Select, SplitTable, Vectorize, Where
from adyton.kernel.transforms.units import UnitSizes
from adyton.kernel.transforms.vectors import LinearMap, Reduce, SplitVector

TRANSFORMS: tuple[type[Transform], ...] = (
    Select,
    Coarsen,
    Where,
    GroupBy,
    UnitSizes,
    SplitTable,
    Vectorize,
    CountMisfits,
    CountTables,
    SingleTables,
    CountLeaves,
    SumValues,
    ShareRows,
    Reduce,
    SplitVector,
    LinearMap,
)

__all__ = [
    "TRANSFORMS",
    "Coarsen",
    "CountLeaves",
    "CountMisfits",
    "CountTables",
    "GroupBy",
    "LinearMap",
    "Outcome",
    "Reduce",
    "Select",
    "ShareRows",
    "SingleTables",
    "SplitTable",
    "SplitVector",
    "SumValues",
    "Transform",
    "UnitSizes",
    "Vectorize",
    "Where",
]
