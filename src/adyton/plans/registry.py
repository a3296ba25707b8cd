"""The registry: every plan by its name. A plan is imported when it is asked for, and no other is.

The plans of this package stand in a table. Another package declares its own as entry points of the group
``adyton.plans``, by name and place; a script registers them. From then on they are like any other.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import warnings
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.plans.base import Plan
from adyton.plans.options import with_options
from adyton.whole import whole

GROUP = "adyton.plans"
"""The group of entry points by which other packages add plans: ``my-plan = "my_package.my_module:MyPlan"``."""

PLANS: dict[str, type[Plan]] = {}
"""The plans that were registered by :func:`register`, by name."""

_LINE, _PLANE, _BOTH, _ANY = (1,), (2,), (1, 2), None
SEVERAL = tuple(range(2, 65))
"""Two dimensions or more."""
_PLACES: dict[str, tuple[str, str, tuple[int, ...] | None]] = {
    "adaptive-grid": ("plans.grids", "AdaptiveGrid", _PLANE),
    "adaptive-hierarchy": ("plans.adaptive_hierarchy", "AdaptiveHierarchy", _LINE),
    "adaptive-hierarchy-striped": ("plans.striped", "AdaptiveHierarchyStriped", SEVERAL),
    "ahp": ("plans.ahp", "Ahp", _BOTH),
    "ahp*": ("plans.ahp", "AhpStar", _BOTH),
    "cdf": ("plans.cdf", "Cdf", _LINE),
    "change-points": ("plans.denoised", "ChangePoints", _BOTH),
    "change-points-striped": ("plans.striped", "ChangePointsStriped", SEVERAL),
    "dawa": ("plans.dawa", "Dawa", _BOTH),
    "dawa-striped": ("plans.striped", "DawaStriped", SEVERAL),
    "denoised-cells": ("plans.denoised", "DenoisedCells", _ANY),
    "denoised-neighbours": ("plans.denoised", "DenoisedNeighbours", _ANY),
    "denoised-tree": ("plans.denoised_tree", "DenoisedTree", _BOTH),
    "dpcube": ("plans.dpcube", "DPCube", _BOTH),
    "dyadic": ("plans.dyadic", "Dyadic", _BOTH),
    "efpa": ("plans.efpa", "Efpa", _LINE),
    "greedy-h": ("plans.workload_strategies", "GreedyH", _BOTH),
    "h2": ("plans.fixed_strategies", "H2", _LINE),
    "hb": ("plans.fixed_strategies", "HB", _ANY),
    "hb-striped": ("plans.striped", "HBStriped", SEVERAL),
    "hdmm": ("plans.workload_strategies", "HDMM", _ANY),
    "hybrid-tree": ("plans.hybrid_tree", "HybridTree", _PLANE),
    "identity": ("plans.fixed_strategies", "IdentityPlan", _ANY),
    "monotone-hierarchy": ("plans.optimal_hierarchy", "MonotoneHierarchy", _LINE),
    "mwem": ("plans.mwem", "Mwem", _ANY),
    "mwem*": ("plans.mwem", "MwemStar", _ANY),
    "mwem-b": ("plans.mwem", "MwemB", _ANY),
    "mwem-c": ("plans.mwem", "MwemC", _ANY),
    "mwem-d": ("plans.mwem", "MwemD", _ANY),
    "optimal-hierarchy": ("plans.optimal_hierarchy", "OptimalHierarchy", _LINE),
    "optimal-quadtree": ("plans.denoised_tree", "OptimalQuadtree", _PLANE),
    "php": ("plans.php", "Php", _LINE),
    "private-resolution": ("plans.private_resolution", "PrivateResolution", _LINE),
    "privelet": ("plans.fixed_strategies", "Privelet", _ANY),
    "pythia": ("selection.pythia", "Pythia", _ANY),
    "quadtree": ("plans.fixed_strategies", "Quadtree", _PLANE),
    "staged-hierarchy": ("plans.adaptive_hierarchy", "StagedHierarchy", _LINE),
    "staged-hierarchy-striped": ("plans.striped", "StagedHierarchyStriped", SEVERAL),
    "staged-quadtree": ("plans.staged_quadtree", "StagedQuadtree", _PLANE),
    "striped": ("plans.striped", "Striped", SEVERAL),
    "structure-first": ("plans.structure_first", "StructureFirst", _LINE),
    "uniform": ("plans.fixed_strategies", "Uniform", _ANY),
    "uniform-grid": ("plans.grids", "UniformGrid", _PLANE),
    "workload": ("plans.workload_strategies", "Workload", _ANY),
}
"""Where each plan of this package stands, and the numbers of dimensions that it serves."""

_LONGEST = 85
_Kind = TypeVar("_Kind", bound=type[Plan])


def register(plan: _Kind) -> _Kind:
    """Enter a plan under its name; from then on it is listed, simulated, tested and chosen like any other."""
    if plan.name in _PLACES or (plan.name in PLANS and PLANS[plan.name].__qualname__ != plan.__qualname__):
        raise BadInput(f"there is a plan named {plan.name!r} already. Choose another name.")
    PLANS[plan.name] = plan
    return plan


def algorithms(ndim: int | None = None) -> list[str]:
    """The names of all algorithms, or of those that serve a domain of *ndim* dimensions.

    >>> "hb" in algorithms(ndim=2)
    True
    """
    names = sorted({*_PLACES, *PLANS, *_elsewhere()})
    if ndim is None:
        return names
    dimensions = whole(ndim, "ndim", 1)
    return [name for name in names if _serves(name, dimensions)]


def check_name(algorithm: object) -> None:
    """Refuse what is no name: the algorithm itself, or a list of several."""
    if not isinstance(algorithm, str):
        raise BadInput(f'algorithm is "auto" or a name, with options beside it, given {shorten(algorithm)}.')


def plan_type(name: str) -> type[Plan]:
    """The class of the plan of this name: what is known of it without options."""
    check_name(name)
    if name in _PLACES:
        module, kind, _ = _PLACES[name]
        found: type[Plan] = getattr(import_module(f"adyton.{module}"), kind)
        return found
    if name not in PLANS and name in _elsewhere():
        _load(_elsewhere()[name])
    if name not in PLANS:
        raise BadInput(no_such("algorithm", name, algorithms()))
    return PLANS[name]


def plan_named(name: str, **options: Any) -> Plan:
    """The plan of this name, with these options.

    >>> plan_named("identity", nonnegative=True).nonnegative
    True
    """
    return with_options(plan_type(name), name, options)


def what_it_does(name: str) -> str:
    """An algorithm in a few words: the beginning of its own description; nothing of one that is not known.

    >>> what_it_does("hb")
    'A tree of counts whose branching suits the size of the domain, made consistent by …'
    """
    words = " ".join((inspect.getdoc(plan_type(name)) or "").split("\n\n")[0].split()) if name in algorithms() else ""
    return textwrap.shorten(re.split(r"[.:;](?:\s|$)", words)[0], _LONGEST, placeholder=" …")


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


def _elsewhere() -> dict[str, EntryPoint]:
    """The plans that other packages declare."""
    return _declared(tuple(sys.path))


@lru_cache(maxsize=1)
def _declared(path: tuple[str, ...]) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in _PLACES}


def _load(entry: EntryPoint) -> None:
    """Import a plan of another package, and register it if it did not do so itself."""
    try:
        plan = entry.load()
    except Exception as problem:
        raise BadInput(f"the plan {entry.name!r} ({entry.value}) cannot be loaded: {problem}.") from problem
    if not (isinstance(plan, type) and issubclass(plan, Plan) and plan.name == entry.name):
        raise BadInput(f"{entry.value} is declared as the plan {entry.name!r}, and is none of that name.")
    register(plan)
