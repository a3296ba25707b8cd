"""Every private → public operator. The kernel runs these and nothing else."""

from adyton.kernel.mechanisms.bisections import Bisections as Bisections
from adyton.kernel.mechanisms.bucket_boundaries import BucketBoundaries as BucketBoundaries
from adyton.kernel.mechanisms.chosen_point import ChosenPoint as ChosenPoint
from adyton.kernel.mechanisms.coefficient_count import CoefficientCount as CoefficientCount
from adyton.kernel.mechanisms.dawa_partition import DawaPartition as DawaPartition
from adyton.kernel.mechanisms.declared_function import Declared as Declared
from adyton.kernel.mechanisms.declared_function import DeclaredFunction as DeclaredFunction
from adyton.kernel.mechanisms.declared_function import trusted_functions as trusted_functions
from adyton.kernel.mechanisms.dyadic_partition import DyadicPartition as DyadicPartition
from adyton.kernel.mechanisms.mean_distance import MeanDistance as MeanDistance
from adyton.kernel.mechanisms.measure_tables import MeasureTables as MeasureTables
from adyton.kernel.mechanisms.median_cell import MedianCell as MedianCell
from adyton.kernel.mechanisms.nested_quantiles import NestedQuantiles as NestedQuantiles
from adyton.kernel.mechanisms.noisy_count import NoisyCount as NoisyCount
from adyton.kernel.mechanisms.non_zeros import NonZeros as NonZeros
from adyton.kernel.mechanisms.pair_choice import PairChoice as PairChoice
from adyton.kernel.mechanisms.parent_choice import ParentChoice as ParentChoice
from adyton.kernel.mechanisms.partitionality import Partitionality as Partitionality
from adyton.kernel.mechanisms.resolution import Resolution as Resolution
from adyton.kernel.mechanisms.selection import Selection as Selection
from adyton.kernel.mechanisms.split_choice import SplitChoice as SplitChoice
from adyton.kernel.mechanisms.statistic import Statistic as Statistic
from adyton.kernel.mechanisms.total_variation import TotalVariation as TotalVariation
from adyton.kernel.mechanisms.tuned_parameter import TunedParameter as TunedParameter
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace as VectorLaplace
from adyton.kernel.mechanisms.worst_approximated import WorstApproximated as WorstApproximated
from adyton.kernel.operators import AuditCase as AuditCase
from adyton.kernel.operators import Mechanism as Mechanism

MECHANISMS: tuple[type[Mechanism], ...] = (
    NoisyCount,
    VectorLaplace,
    DawaPartition,
    DyadicPartition,
    CoefficientCount,
    Resolution,
    WorstApproximated,
    MedianCell,
    NestedQuantiles,
    Bisections,
    BucketBoundaries,
    NonZeros,
    TotalVariation,
    Partitionality,
    DeclaredFunction,
    SplitChoice,
    MeasureTables,
    PairChoice,
    MeanDistance,
    ParentChoice,
    TunedParameter,
    ChosenPoint,
)
