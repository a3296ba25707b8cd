"""Every private → public operator. The kernel runs these and nothing else."""

from adyton.kernel.mechanisms.base import AuditCase, Mechanism
from adyton.kernel.mechanisms.bisections import Bisections
from adyton.kernel.mechanisms.bucket_boundaries import BucketBoundaries
from adyton.kernel.mechanisms.coefficient_count import CoefficientCount
from adyton.kernel.mechanisms.dawa_partition import DawaPartition
from adyton.kernel.mechanisms.dyadic_partition import DyadicPartition
from adyton.kernel.mechanisms.median_cell import MedianCell
from adyton.kernel.mechanisms.noisy_count import NoisyCount
from adyton.kernel.mechanisms.non_zeros import NonZeros
from adyton.kernel.mechanisms.partitionality import Partitionality
from adyton.kernel.mechanisms.resolution import Resolution
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.mechanisms.statistic import NoisyValue, Statistic
from adyton.kernel.mechanisms.total_variation import TotalVariation
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace
from adyton.kernel.mechanisms.worst_approximated import WorstApproximated

MECHANISMS: tuple[type[Mechanism], ...] = (
    NoisyCount,
    VectorLaplace,
    DawaPartition,
    DyadicPartition,
    CoefficientCount,
    Resolution,
    WorstApproximated,
    MedianCell,
    Bisections,
    BucketBoundaries,
    NonZeros,
    TotalVariation,
    Partitionality,
)

__all__ = [
    "MECHANISMS",
    "AuditCase",
    "Bisections",
    "BucketBoundaries",
    "CoefficientCount",
    "DawaPartition",
    "DyadicPartition",
    "Mechanism",
    "MedianCell",
    "NoisyCount",
    "NoisyValue",
    "NonZeros",
    "Partitionality",
    "Resolution",
    "Selection",
    "Statistic",
    "TotalVariation",
    "VectorLaplace",
    "WorstApproximated",
]
