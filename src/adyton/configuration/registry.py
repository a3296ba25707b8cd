"""Families of algorithms by their names. One is imported when it is asked for, and no other is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from adyton.configuration.family import Family
from adyton.errors import BadInput
from adyton.messages import no_such

_FAMILIES = {
    "auction": "Auction",
    "independent-set": "IndependentSet",
    "knapsack": "Knapsack",
    "max-cut": "MaxCut",
    "routing": "Routing",
}
"""The class of every family; its file is named like the family."""


def families() -> list[str]:
    """The names of all families.

    >>> families()
    ['auction', 'independent-set', 'knapsack', 'max-cut', 'routing']
    """
    return sorted(_FAMILIES)


def family_named(name: str, options: Mapping[str, Any] | None = None) -> Family[Any]:
    """The family of this name, with options of its own.

    >>> family_named("max-cut", {"rounding": "threshold"}).rounding
    'threshold'
    """
    if name not in _FAMILIES:
        raise BadInput(no_such("family", name, families()))
    module = import_module(f"adyton.configuration.{name.replace('-', '_')}")
    kind: type[Any] = getattr(module, _FAMILIES[name])
    known = {field.name: field for field in fields(kind)}
    for option in options or {}:
        if option not in known:
            some = no_such("option", option, known) if known else f"{name} has no options."
            raise BadInput(f"{name}: {some}" if known else some)
    try:
        family: Family[Any] = kind(**dict(options or {}))
    except BadInput:
        raise
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} does not take these options: {error}") from None
    return family
