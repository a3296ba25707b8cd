"""Every private → public operator. The kernel runs these and nothing else.

Those that ``auto`` may run are in this folder; start with ``noisy_count``. The others are loaded on first use: those
that only published algorithms need (:mod:`adyton.kernel.mechanisms.published`), and those that choose a parameter
(:mod:`adyton.kernel.instances`).
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adyton.kernel.mechanisms.guessed_tables import MeanDistance as MeanDistance
from adyton.kernel.mechanisms.guessed_tables import PairChoice as PairChoice
from adyton.kernel.mechanisms.measure_tables import MeasureTables as MeasureTables
from adyton.kernel.mechanisms.nested_quantiles import NestedQuantiles as NestedQuantiles
from adyton.kernel.mechanisms.noisy_count import NoisyCount as NoisyCount
from adyton.kernel.mechanisms.selection import Selection as Selection
from adyton.kernel.mechanisms.split_choice import SplitChoice as SplitChoice
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace as VectorLaplace
from adyton.kernel.operators import AuditCase as AuditCase
from adyton.kernel.operators import Mechanism as Mechanism

if TYPE_CHECKING:
    from adyton.kernel.mechanisms.published.statistic import Declared

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
"""The mechanisms that ``auto`` may run."""
PLACES = {
    "DawaPartition": "mechanisms.published.dawa_partition",
    "DyadicPartition": "mechanisms.published.dyadic_partition",
    "CoefficientCount": "mechanisms.published.resolution",
    "Resolution": "mechanisms.published.resolution",
    "WorstApproximated": "mechanisms.published.worst_approximated",
    "MedianCell": "mechanisms.published.bisections",
    "Bisections": "mechanisms.published.bisections",
    "BucketBoundaries": "mechanisms.published.bucket_boundaries",
    "NonZeros": "mechanisms.published.statistic",
    "TotalVariation": "mechanisms.published.statistic",
    "Partitionality": "mechanisms.published.dawa_partition",
    "DeclaredFunction": "mechanisms.published.statistic",
    "ParentChoice": "mechanisms.published.parent_choice",
    "TunedParameter": "instances.tuned_parameter",
    "ChosenPoint": "instances.tuned_parameter",
}
"""The modules of the mechanisms that are loaded on first use."""


def is_mechanism(kind: type) -> bool:
    """Whether this class itself is a mechanism of the kernel. (Nothing is read from the class, which could lie.)"""
    loaded = (getattr(sys.modules.get(f"adyton.kernel.{place}"), name, None) for name, place in PLACES.items())
    return any(kind is known for known in CORE) or any(kind is known for known in loaded)


def trusted_functions(given: Collection[Declared]) -> dict[str, Declared]:
    """The functions with a declared sensitivity that a kernel is opened with, by name."""
    if isinstance(given, list | tuple) and not given:
        return {}
    from adyton.kernel.mechanisms.published.statistic import by_name  # loaded when a function is trusted

    return by_name(given)


def __getattr__(name: str) -> Any:
    """Load a mechanism by name; ``MECHANISMS`` has all of them."""
    if name == "MECHANISMS":
        return (*CORE, *(__getattr__(mechanism) for mechanism in PLACES))
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"adyton.kernel.{PLACES[name]}"), name)
