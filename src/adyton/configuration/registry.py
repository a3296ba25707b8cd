"""Families of algorithms by their names. One is imported when it is asked for, and no other is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adyton.configuration.family import Family
from adyton.errors import BadInput
from adyton.plans.registry import Registry

FAMILIES = Registry[Family[Any]](
    "family",
    {
        "auction": "configuration.auction:Auction",
        "independent-set": "configuration.independent_set:IndependentSet",
        "knapsack": "configuration.knapsack:Knapsack",
        "max-cut": "configuration.max_cut:MaxCut",
        "routing": "configuration.routing:Routing",
    },
)


def families() -> list[str]:
    """The names of all families.

    >>> families()
    ['auction', 'independent-set', 'knapsack', 'max-cut', 'routing']
    """
    return FAMILIES.names()


def family_named(name: str, options: Mapping[str, Any] | None = None) -> Family[Any]:
    """The family of this name, with options of its own.

    >>> family_named("max-cut", {"rounding": "threshold"}).rounding
    'threshold'
    """
    try:
        return FAMILIES.named(name, **(options or {}))
    except BadInput:
        raise
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} does not take these options: {error}") from None
