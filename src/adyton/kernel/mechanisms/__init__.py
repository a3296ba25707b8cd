"""Every private → public operator. The kernel runs these and nothing else.

Those that ``auto`` may run stand in this folder. The others are loaded by whoever names them: what published
algorithms alone need (:mod:`adyton.kernel.mechanisms.published`), and the choices of a parameter
(:mod:`adyton.kernel.instances`).
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adyton.kernel.audit_cases import AuditCase as AuditCase
from adyton.kernel.mechanisms.mean_distance import MeanDistance as MeanDistance
from adyton.kernel.mechanisms.measure_tables import MeasureTables as MeasureTables
from adyton.kernel.mechanisms.nested_quantiles import NestedQuantiles as NestedQuantiles
from adyton.kernel.mechanisms.noisy_count import NoisyCount as NoisyCount
from adyton.kernel.mechanisms.pair_choice import PairChoice as PairChoice
from adyton.kernel.mechanisms.selection import Selection as Selection
from adyton.kernel.mechanisms.split_choice import SplitChoice as SplitChoice
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace as VectorLaplace
from adyton.kernel.operators import Mechanism as Mechanism

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.declared_function import Declared

    MECHANISMS: tuple[type[Mechanism], ...]

CORE: tuple[type[Mechanism], ...] = (
    NoisyCount,
    VectorLaplace,
    NestedQuantiles,
    SplitChoice,
    MeasureTables,
    PairChoice,
    MeanDistance,
)
"""What ``auto`` may run."""
PLACES = {
    "DawaPartition": "mechanisms.published.dawa_partition",
    "DyadicPartition": "mechanisms.published.dyadic_partition",
    "CoefficientCount": "mechanisms.published.coefficient_count",
    "Resolution": "mechanisms.published.resolution",
    "WorstApproximated": "mechanisms.published.worst_approximated",
    "MedianCell": "mechanisms.published.median_cell",
    "Bisections": "mechanisms.published.bisections",
    "BucketBoundaries": "mechanisms.published.bucket_boundaries",
    "NonZeros": "mechanisms.published.non_zeros",
    "TotalVariation": "mechanisms.published.total_variation",
    "Partitionality": "mechanisms.published.partitionality",
    "DeclaredFunction": "mechanisms.published.declared_function",
    "ParentChoice": "mechanisms.published.parent_choice",
    "TunedParameter": "instances.tuned_parameter",
    "ChosenPoint": "instances.chosen_point",
}
"""Where the mechanisms stand that are loaded when they are named."""
_PARTS = {
    "Declared": "mechanisms.published.declared_function",
    "Statistic": "mechanisms.published.statistic",
}


def is_mechanism(kind: type) -> bool:
    """Whether this very class is one of the kernel's. (Nothing is asked of the class itself, which could lie.)"""
    loaded = (getattr(sys.modules.get(f"adyton.kernel.{place}"), name, None) for name, place in PLACES.items())
    return any(kind is known for known in CORE) or any(kind is known for known in loaded)


def trusted_functions(given: Collection[Declared]) -> dict[str, Declared]:
    """The functions with a declared sensitivity that a kernel is opened with, by name."""
    if isinstance(given, list | tuple) and not given:
        return {}
    from adyton.kernel.mechanisms.published.declared_function import by_name

    return by_name(given)


def __getattr__(name: str) -> Any:
    """Load what was named; ``MECHANISMS`` are all of them."""
    if name == "MECHANISMS":
        return (*CORE, *(__getattr__(mechanism) for mechanism in PLACES))
    place = PLACES.get(name) or _PARTS.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"adyton.kernel.{place}"), name)
