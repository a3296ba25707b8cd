"""The registry: every plan by its name. A plan is imported when it is asked for, and no other is.

The plans of this package stand in a table. Another package declares its own as entry points of the group
``adyton.plans``, by name and place; a script registers them. From then on they are like any other.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.plans.base import Plan
from adyton.registry import Registry
from adyton.whole import whole

GROUP = "adyton.plans"
"""The group of entry points by which other packages add plans: ``my-plan = "my_package.my_module:MyPlan"``."""

_LINE, _PLANE, _BOTH, _ANY = (1,), (2,), (1, 2), None
SEVERAL = tuple(range(2, 65))
"""Two dimensions or more."""
_PLACES: dict[str, tuple[str, tuple[int, ...] | None]] = {
    "adaptive-grid": ("plans.grids:AdaptiveGrid", _PLANE),
    "adaptive-hierarchy": ("plans.adaptive_hierarchy:AdaptiveHierarchy", _LINE),
    "adaptive-hierarchy-striped": ("plans.striped:AdaptiveHierarchyStriped", SEVERAL),
    "ahp": ("plans.ahp:Ahp", _BOTH),
    "ahp*": ("plans.ahp:AhpStar", _BOTH),
    "cdf": ("plans.cdf:Cdf", _LINE),
    "change-points": ("plans.denoised:ChangePoints", _BOTH),
    "change-points-striped": ("plans.striped:ChangePointsStriped", SEVERAL),
    "dawa": ("plans.dawa:Dawa", _BOTH),
    "dawa-striped": ("plans.striped:DawaStriped", SEVERAL),
    "denoised-cells": ("plans.denoised:DenoisedCells", _ANY),
    "denoised-neighbours": ("plans.denoised:DenoisedNeighbours", _ANY),
    "denoised-tree": ("plans.denoised_tree:DenoisedTree", _BOTH),
    "dpcube": ("plans.dpcube:DPCube", _BOTH),
    "dyadic": ("plans.dyadic:Dyadic", _BOTH),
    "efpa": ("plans.efpa:Efpa", _LINE),
    "greedy-h": ("plans.workload_strategies:GreedyH", _BOTH),
    "h2": ("plans.fixed_strategies:H2", _LINE),
    "hb": ("plans.fixed_strategies:HB", _ANY),
    "hb-striped": ("plans.striped:HBStriped", SEVERAL),
    "hdmm": ("plans.workload_strategies:HDMM", _ANY),
    "hybrid-tree": ("plans.hybrid_tree:HybridTree", _PLANE),
    "identity": ("plans.fixed_strategies:IdentityPlan", _ANY),
    "monotone-hierarchy": ("plans.optimal_hierarchy:MonotoneHierarchy", _LINE),
    "mwem": ("plans.mwem:Mwem", _ANY),
    "mwem*": ("plans.mwem:MwemStar", _ANY),
    "mwem-b": ("plans.mwem:MwemB", _ANY),
    "mwem-c": ("plans.mwem:MwemC", _ANY),
    "mwem-d": ("plans.mwem:MwemD", _ANY),
    "optimal-hierarchy": ("plans.optimal_hierarchy:OptimalHierarchy", _LINE),
    "optimal-quadtree": ("plans.denoised_tree:OptimalQuadtree", _PLANE),
    "php": ("plans.php:Php", _LINE),
    "private-resolution": ("plans.private_resolution:PrivateResolution", _LINE),
    "privelet": ("plans.fixed_strategies:Privelet", _ANY),
    "pythia": ("selection.pythia:Pythia", _ANY),
    "quadtree": ("plans.fixed_strategies:Quadtree", _PLANE),
    "staged-hierarchy": ("plans.adaptive_hierarchy:StagedHierarchy", _LINE),
    "staged-hierarchy-striped": ("plans.striped:StagedHierarchyStriped", SEVERAL),
    "staged-quadtree": ("plans.staged_quadtree:StagedQuadtree", _PLANE),
    "striped": ("plans.striped:Striped", SEVERAL),
    "structure-first": ("plans.structure_first:StructureFirst", _LINE),
    "uniform": ("plans.fixed_strategies:Uniform", _ANY),
    "uniform-grid": ("plans.grids:UniformGrid", _PLANE),
    "workload": ("plans.workload_strategies:Workload", _ANY),
}
"""Where each plan of this package stands, and the numbers of dimensions that it serves."""

ALGORITHMS = Registry[Plan](
    "algorithm", {name: place for name, (place, _) in _PLACES.items()}, noun="plan", group=GROUP, base=Plan
)
PLANS = ALGORITHMS.added
"""The plans that are not of this package, as far as they were registered or loaded, by name."""

_Kind = TypeVar("_Kind", bound=type[Plan])


def register(plan: _Kind) -> _Kind:
    """Enter a plan under its name; from then on it is listed, simulated, tested and chosen like any other."""
    return ALGORITHMS.register(plan)


def algorithms(ndim: int | None = None) -> list[str]:
    """The names of all algorithms, or of those that serve a domain of *ndim* dimensions.

    >>> "hb" in algorithms(ndim=2)
    True
    """
    names = sorted(ALGORITHMS)
    if ndim is None:
        return names
    dimensions = whole(ndim, "ndim", 1)
    return [name for name in names if _serves(name, dimensions)]


def check_name(algorithm: object) -> None:
    """Refuse what is no name: the algorithm itself, or a list of several."""
    if not isinstance(algorithm, str):
        raise BadInput(f'algorithm is "auto" or a name, with options beside it, given {shorten(algorithm)}.')


def plan_type(name: str) -> type[Plan]:
    """The class of the plan of this name."""
    check_name(name)
    return ALGORITHMS[name]


def plan_named(name: str, **options: Any) -> Plan:
    """The plan of this name, with these options.

    >>> plan_named("identity", nonnegative=True).nonnegative
    True
    """
    check_name(name)
    return ALGORITHMS.named(name, **options)


def _serves(name: str, ndim: int) -> bool:
    """By the table; only plans of other packages are loaded for it, and left out if they cannot be."""
    if name in _PLACES:
        dimensions = _PLACES[name][-1]
        return dimensions is None or ndim in dimensions
    try:
        return plan_type(name).serves.serves(ndim)
    except BadInput as problem:
        warnings.warn(str(problem), stacklevel=3)
        return False
