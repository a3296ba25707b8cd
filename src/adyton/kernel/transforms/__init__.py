"""Transformations: private → private operators, each with its stability. Between tables, and into and of counts."""

from adyton.kernel.operators import Transform as Transform
from adyton.kernel.transforms.tables import Coarsen as Coarsen
from adyton.kernel.transforms.tables import GroupBy as GroupBy
from adyton.kernel.transforms.tables import Select as Select
from adyton.kernel.transforms.tables import SplitTable as SplitTable
from adyton.kernel.transforms.tables import UnitSizes as UnitSizes
from adyton.kernel.transforms.tables import Where as Where
from adyton.kernel.transforms.vectors import CountLeaves as CountLeaves
from adyton.kernel.transforms.vectors import CountMisfits as CountMisfits
from adyton.kernel.transforms.vectors import CountTables as CountTables
from adyton.kernel.transforms.vectors import LinearMap as LinearMap
from adyton.kernel.transforms.vectors import Reduce as Reduce
from adyton.kernel.transforms.vectors import ShareRows as ShareRows
from adyton.kernel.transforms.vectors import SingleTables as SingleTables
from adyton.kernel.transforms.vectors import SplitVector as SplitVector
from adyton.kernel.transforms.vectors import SumValues as SumValues
from adyton.kernel.transforms.vectors import Vectorize as Vectorize

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
