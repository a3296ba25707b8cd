"""Registries: classes by their names, the registry of all plans, and simulation of a plan on public data.

A class is imported only when its name is requested. The plans of this package are listed in a table. Other packages
declare theirs as entry points of the group ``adyton.plans``, by name and place; scripts register theirs. All plans are
then treated alike.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.kernel import Kernel
from adyton.messages import listing, no_such, shorten, suggestion
from adyton.plans.base import Estimate, Plan
from adyton.queries import Queries
from adyton.whole import whole

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type[Any])
_LONGEST = 85


class Registry(Generic[Kind]):
    """The classes of one kind, by the name that each has as an attribute.

    Those of this package are listed with their places. Others are registered, or declared by other packages as entry
    points of a group, and are then treated alike. Names are unique.

    >>> families = Registry("family", {"knapsack": "configuration.greedy:Knapsack"})
    >>> families.names(), "knapsack" in families, families["knapsack"].__name__
    (['knapsack'], True, 'Knapsack')
    >>> families["sack"]
    Traceback (most recent call last):
    adyton.errors.BadInput: there is no family 'sack'. There are 'knapsack'. Did you mean 'knapsack'?
    """

    def __init__(
        self,
        what: str,
        places: Mapping[str, str],
        *,
        noun: str = "",
        key: str = "name",
        group: str = "",
        base: type = object,
    ) -> None:
        self._what, self._noun, self._key, self._group, self._base = what, noun or what, key, group, base
        self.places = places
        """The places of this package's classes: ``module:class``, with the module below ``adyton``."""
        self.added: dict[str, type[Kind]] = {}
        """Classes that were registered, or loaded from other packages."""

    def names(self) -> list[str]:
        """All names, whether the classes are imported yet or not, those of this package first."""
        return list(dict.fromkeys([*self.places, *self.added, *self.declared()]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.places or name in self.added or name in self.declared())

    def __getitem__(self, name: object) -> type[Kind]:
        """The class of this name."""
        if not isinstance(name, str) or name not in self:
            raise BadInput(no_such(self._what, name, self))
        if name in self.places:
            kind: type[Kind] = standing(f"adyton.{self.places[name]}")
            return kind
        return self.added[name] if name in self.added else self._loaded(self.declared()[name])

    def named(self, name: object, /, **options: Any) -> Kind:
        """An instance of the class of this name, with these options; an error for options that it does not have."""
        kind = self[name]
        allowed = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]
        for option in options:
            if option not in allowed:
                these = f"Its options are {listing(allowed)}." if allowed else "It has none."
                raise BadInput(f"{name} has no option {option!r}. {these}{suggestion(option, allowed)}")
        return kind(**options)

    def what_it_does(self, name: str) -> str:
        """The beginning of its docstring, in a few words; empty for an unknown name."""
        words = " ".join((inspect.getdoc(self[name]) or "").split("\n\n")[0].split()) if name in self else ""
        return textwrap.shorten(re.split(r"[.:;](?:\s|$)", words)[0], _LONGEST, placeholder=" …")

    def register(self, kind: Added) -> Added:
        """Register a class under its name."""
        name = getattr(kind, self._key)
        if name in self.places or (name in self.added and self.added[name].__qualname__ != kind.__qualname__):
            raise BadInput(f"there is already a {self._noun} named {name!r}. Choose another name.")
        self.added[name] = kind
        return kind

    def own_only(self) -> None:
        """From now on, find classes of this package only: nothing is loaded because of a name in a request."""
        self._group = ""

    def declared(self) -> dict[str, EntryPoint]:
        """Entry points of other packages, without those that use a name of this package."""
        if not self._group:
            return {}
        return {
            name: entry for name, entry in _entries(self._group, tuple(sys.path)).items() if name not in self.places
        }

    def _loaded(self, entry: EntryPoint) -> type[Kind]:
        """Import a class that another package declares, and register it if the package did not do so itself."""
        try:
            kind = entry.load()
        except Exception as problem:
            raise BadInput(f"the {self._noun} {entry.name!r} ({entry.value}) cannot be loaded: {problem}.") from problem
        if not (
            isinstance(kind, type) and issubclass(kind, self._base) and getattr(kind, self._key, None) == entry.name
        ):
            raise BadInput(
                f"{entry.value} is declared as the {self._noun} {entry.name!r}, but is not one of that name."
            )
        self.register(kind)
        return self.added[entry.name]


def standing(place: str) -> Any:
    """The object at ``package.module:name``."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


@lru_cache(maxsize=4)
def _entries(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The entry points of other packages, cached as long as the search path is the same."""
    return {entry.name: entry for entry in entry_points(group=group)}


GROUP = "adyton.plans"
"""The group of entry points by which other packages add plans: ``my-plan = "my_package.my_module:MyPlan"``."""

_LINE, _PLANE, _BOTH, _ANY = (1,), (2,), (1, 2), None
SEVERAL = tuple(range(2, 65))
"""Two dimensions or more."""
_PLACES: dict[str, tuple[str, tuple[int, ...] | None]] = {
    "adaptive-grid": ("plans.published.maps:AdaptiveGrid", _PLANE),
    "adaptive-hierarchy": ("plans.hierarchies:AdaptiveHierarchy", _LINE),
    "adaptive-hierarchy-striped": ("plans.published.groups:AdaptiveHierarchyStriped", SEVERAL),
    "ahp": ("plans.published.groups:Ahp", _BOTH),
    "ahp*": ("plans.published.groups:AhpStar", _BOTH),
    "cdf": ("plans.published.groups:Cdf", _LINE),
    "change-points": ("plans.strategy_plan:ChangePoints", _BOTH),
    "change-points-striped": ("plans.striped:ChangePointsStriped", SEVERAL),
    "dawa": ("plans.published.groups:Dawa", _BOTH),
    "dawa-striped": ("plans.published.groups:DawaStriped", SEVERAL),
    "denoised-cells": ("plans.strategy_plan:DenoisedCells", _ANY),
    "denoised-neighbours": ("plans.published.strategies:DenoisedNeighbours", _ANY),
    "denoised-tree": ("plans.hierarchies:DenoisedTree", _BOTH),
    "dpcube": ("plans.published.maps:DPCube", _BOTH),
    "dyadic": ("plans.published.maps:Dyadic", _BOTH),
    "efpa": ("plans.published.lines:Efpa", _LINE),
    "greedy-h": ("plans.published.strategies:GreedyH", _BOTH),
    "h2": ("plans.published.strategies:H2", _LINE),
    "hb": ("plans.strategy_plan:HB", _ANY),
    "hb-striped": ("plans.striped:HBStriped", SEVERAL),
    "hdmm": ("plans.hierarchies:HDMM", _ANY),
    "hybrid-tree": ("plans.published.maps:HybridTree", _PLANE),
    "identity": ("plans.strategy_plan:IdentityPlan", _ANY),
    "monotone-hierarchy": ("plans.hierarchies:MonotoneHierarchy", _LINE),
    "mwem": ("plans.published.mwem:Mwem", _ANY),
    "mwem*": ("plans.published.mwem:MwemStar", _ANY),
    "mwem-b": ("plans.published.mwem:MwemB", _ANY),
    "mwem-c": ("plans.published.mwem:MwemC", _ANY),
    "mwem-d": ("plans.published.mwem:MwemD", _ANY),
    "optimal-hierarchy": ("plans.hierarchies:OptimalHierarchy", _LINE),
    "optimal-quadtree": ("plans.hierarchies:OptimalQuadtree", _PLANE),
    "php": ("plans.published.lines:Php", _LINE),
    "private-resolution": ("plans.published.strategies:PrivateResolution", _LINE),
    "privelet": ("plans.strategy_plan:Privelet", _ANY),
    "pythia": ("choice.pythia:Pythia", _ANY),
    "quadtree": ("plans.published.strategies:Quadtree", _PLANE),
    "staged-hierarchy": ("plans.hierarchies:StagedHierarchy", _LINE),
    "staged-hierarchy-striped": ("plans.striped:StagedHierarchyStriped", SEVERAL),
    "staged-quadtree": ("plans.hierarchies:StagedQuadtree", _PLANE),
    "striped": ("plans.published.groups:Striped", SEVERAL),
    "structure-first": ("plans.published.lines:StructureFirst", _LINE),
    "uniform": ("plans.strategy_plan:Uniform", _ANY),
    "uniform-grid": ("plans.published.maps:UniformGrid", _PLANE),
    "workload": ("plans.published.strategies:Workload", _ANY),
}
"""The place of each plan of this package, and the numbers of dimensions that it serves."""

ALGORITHMS = Registry[Plan](
    "algorithm", {name: place for name, (place, _) in _PLACES.items()}, noun="plan", group=GROUP, base=Plan
)
PLANS = ALGORITHMS.added
"""Plans from outside this package that were registered or loaded, by name."""


def register(plan: Added) -> Added:
    """Register a plan under its name; from then on it is listed, simulated, tested and chosen like any other."""
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
    """Raise an error for anything but a name, such as an algorithm itself or a list of several."""
    if not isinstance(algorithm, str):
        raise BadInput(f'algorithm must be "auto" or a name; options are given separately. Given {shorten(algorithm)}.')


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
    """Decided by the table; only plans of other packages are loaded, and left out if they cannot be loaded."""
    if name in _PLACES:
        dimensions = _PLACES[name][-1]
        return dimensions is None or ndim in dimensions
    try:
        return plan_type(name).serves.serves(ndim)
    except BadInput as problem:
        warnings.warn(str(problem), stacklevel=3)
        return False


def simulate(
    name: str | Plan,
    x: npt.ArrayLike,
    workload: Queries,
    epsilon: Rational,
    *,
    seed: int | None = None,
    trials: int | None = None,
    **options: Any,
) -> Estimate:
    """Estimates of *public* counts by an algorithm, with simulated noise: in the shape of *x*, or (trials, \\*x.shape).

    They protect nobody. For private data, use a kernel or a session.

    >>> import adyton as ad
    >>> ad.simulate("hb", [3, 0, 5, 1], ad.workloads.Prefix(4), 1.0, seed=0, trials=10).shape
    (10, 4)
    """
    plan = name if isinstance(name, Plan) else plan_named(name, **options)
    counts, amount = public_counts(x), positive(epsilon, "epsilon")
    number = None if trials is None else whole(trials, "trials", 1)
    seeds = np.random.SeedSequence(None if seed is None else whole(seed, "seed", 0))

    def run(own: np.random.SeedSequence, at_once: int | None) -> Estimate:
        source = Kernel.simulated(counts, epsilon=amount, seed=own, trials=at_once).root
        plan.admit(source, workload, amount)
        return plan.carry_out(source, workload, amount).estimate

    if number is None or plan.simulates_many:
        return run(seeds, number)
    return np.stack([run(own, None) for own in seeds.spawn(number)])


def public_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers of at least 0, or an error."""
    counts = np.asarray(x)
    if counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"counts must be an array with at least one cell, given an array of shape {counts.shape}.")
    if counts.dtype.kind == "f" and np.isfinite(counts).all() and (counts == np.rint(counts)).all():
        raise BadInput("counts must be whole numbers, given floating-point numbers. Convert them with x.astype(int).")
    if counts.dtype.kind not in "iu":
        raise BadInput(f"counts must be whole numbers, given an array of {counts.dtype} with other values.")
    if int(counts.min()) < 0:
        raise BadInput(f"counts must be at least 0, given {int(counts.min())}.")
    return counts
