"""The registry: every plan by its name."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
from functools import lru_cache
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.messages import listing, no_such, suggestion
from adyton.plans.base import Plan
from adyton.whole import whole

PLANS: dict[str, type[Plan]] = {}

_LONGEST = 85
_Kind = TypeVar("_Kind", bound=type[Plan])


def register(plan: _Kind) -> _Kind:
    """Enter a plan under its name; from then on it is listed, simulated, tested and chosen like any other."""
    if plan.name in PLANS and PLANS[plan.name].__qualname__ != plan.__qualname__:
        raise BadInput(f"there is a plan named {plan.name!r} already. Choose another name.")
    PLANS[plan.name] = plan
    return plan


def algorithms(ndim: int | None = None) -> list[str]:
    """The names of all algorithms, or of those that serve a domain of *ndim* dimensions.

    >>> "hb" in algorithms(ndim=2)
    True
    """
    _load()
    dimensions = None if ndim is None else whole(ndim, "ndim", 1)
    return sorted(name for name, plan in PLANS.items() if dimensions is None or plan.serves.serves(dimensions))


def plan_named(name: str, **options: Any) -> Plan:
    """The plan of this name, with these options.

    >>> plan_named("identity", nonnegative=True).nonnegative
    True
    """
    _load()
    if name not in PLANS:
        raise BadInput(no_such("algorithm", name, sorted(PLANS)))
    plan = PLANS[name]
    allowed = [field.name for field in dataclasses.fields(plan)]
    for option in options:
        if option not in allowed:
            raise BadInput(
                f"{name} has no option {option!r}. Its options are {listing(allowed)}.{suggestion(option, allowed)}"
            )
    return plan(**options)


def what_it_does(name: str) -> str:
    """An algorithm in a few words: the beginning of its own description.

    >>> what_it_does("hb")
    'A tree of counts whose branching suits the size of the domain, made consistent by …'
    """
    _load()
    words = " ".join((inspect.getdoc(PLANS[name]) or "").split("\n\n")[0].split()) if name in PLANS else ""
    return textwrap.shorten(re.split(r"[.:;](?:\s|$)", words)[0], _LONGEST, placeholder=" …")


@lru_cache(maxsize=1)
def _load() -> None:
    """Import every module of the plans' room, each of which registers its plans, and the plan that chooses."""
    import adyton.plans

    for module in sorted(pkgutil.iter_modules(adyton.plans.__path__), key=lambda found: found.name):
        importlib.import_module(f"adyton.plans.{module.name}")
    importlib.import_module("adyton.selection.pythia")
