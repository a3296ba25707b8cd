"""Groups of levels, and groups of groups: names for several levels at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from adyton.errors import SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.schema.checks import writable

Groups: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]


def checked_groups(
    given: Mapping[str, Sequence[Any]] | Groups, levels: Sequence[Any], labels: Sequence[Any] = ()
) -> Groups:
    """The groups by name, or an error: each has levels or other groups, none holds itself or is called like a cell.

    >>> checked_groups({"west": ["CA", "OR"], "coast": ["west", "NY"]}, ["CA", "OR", "NY"])
    (('west', ('CA', 'OR')), ('coast', ('west', 'NY')))
    """
    if not isinstance(given, Mapping):
        if not isinstance(given, tuple) or not all(isinstance(own, tuple) and len(own) == 2 for own in given):
            raise SchemaError(f'groups are named levels, like {{"west": ["CA", "OR"]}}, given {shorten(given)}.')
        given = dict(given)
    found: dict[str, tuple[Any, ...]] = {}
    for name, own in given.items():
        if not isinstance(name, str) or not name or name in (*levels, *labels):
            raise SchemaError(f"a group needs a name that no level has, given {shorten(name)}. Rename it.")
        writable(name, "the name of a group")
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise SchemaError(f"the group {shorten(name)} must list levels, given {shorten(own)}.")
        found[name] = tuple(own)
    for name, own in found.items():
        for one in own:
            if one not in levels and one not in found:
                raise SchemaError(f"in the group {shorten(name)}, {no_such('level', one, [*levels, *found])}")
    for name in found:
        members(found, name)
    return tuple(found.items())


def members(groups: Mapping[str, Sequence[Any]], name: str) -> tuple[Any, ...]:
    """All levels of a group, each once, in the order in which they are named."""
    levels: dict[Any, None] = {}
    _walk(groups, name, levels, ())
    return tuple(levels)


def _walk(groups: Mapping[str, Sequence[Any]], name: Any, levels: dict[Any, None], above: tuple[Any, ...]) -> None:
    if name in above:
        raise SchemaError(f"the groups {listing(above)} hold one another in a circle. A group is made of smaller ones.")
    if not isinstance(name, str) or name not in groups:
        levels[name] = None
        return
    for one in groups[name]:
        _walk(groups, one, levels, (*above, name))
