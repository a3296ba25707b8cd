"""Which tables somebody asks for: sets of names, and how much each of them matters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.schema import Schema
from adyton.schema.numbers import axes_of

Group: TypeAlias = tuple[str, ...]
MOST_SETS = 1 << 16
"""How many tables can be asked for."""
_LEAST, _MOST = 1e-6, 1e6


def axes_in(names: Iterable[str], schema: Schema) -> Group:
    """The same names, with both axes for a point.

    >>> from adyton.schema import Boolean, Point
    >>> schema = Schema({"ill": Boolean(), "home": Point(box=(-74.3, 40.5, -73.7, 40.9), grid=8)})
    >>> axes_in(["home", "ill"], schema)
    ('home_longitude', 'home_latitude', 'ill')
    """
    return tuple(axis for name in names for axis in axes_of(name, schema.attributes))


def names_in(given: object, what: str) -> Group:
    """A list of names as a tuple of texts."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"{what}, given {shorten(given)}.")
    return tuple(str.__str__(name) for name in names)


def sets_in(given: object, attrs: object) -> tuple[Group, ...]:
    """Sets of names, each set once."""
    what = 'sets must be a list of sets of names, like [("age", "sex"), ("age",)]'
    if attrs is not None:
        raise BadInput("attrs belongs to way: sets name their attributes themselves. Leave one of them out.")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what}, given {shorten(given)}.")
    sets = tuple(names_in(one, what) for one in given)
    if not sets or len(sets) > MOST_SETS or not all(sets):
        raise BadInput(f"{what}: at least one of them, at most {MOST_SETS:,}, none empty; given {len(sets):,}.")
    for one in sets:
        if len(set(one)) < len(one):
            raise BadInput(f"an attribute is given twice in {listing(one)}. Name each once.")
    if len({frozenset(one) for one in sets}) < len(sets):
        raise BadInput("a set of attributes is given twice. Name each once, with a weight if it matters more.")
    return sets


def weights_in(given: Any, sets: Sequence[Sequence[str]] | None) -> tuple[tuple[frozenset[str], float], ...] | None:
    """Sets of names with their weights."""
    if given is None:
        return None
    what = 'weights map tables to numbers, like {("age", "sex"): 3}'
    if not isinstance(given, Mapping):
        if sets is None or isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(sets):
            raise BadInput(f"{what}, or are a number for each of the sets; given {shorten(given)}.")
        given = dict(zip(sets, given, strict=True))
    found = []
    for names, weight in given.items():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not _LEAST <= weight <= _MOST:
            raise BadInput(f"{what}, from {_LEAST:g} to {_MOST:,.0f}, given {shorten(weight)}.")
        found.append((frozenset(names_in(names, what)), float(weight)))
    return tuple(found)
