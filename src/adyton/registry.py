"""Things by their names: where each stands, its class, itself with options. One is imported when it is asked for."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from adyton.errors import BadInput
from adyton.messages import listing, no_such, suggestion

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type[Any])
_LONGEST = 85


class Registry(Generic[Kind]):
    """The classes of one kind of thing, by the name that each has as an attribute.

    Those of this package stand in a table of places. Others are registered, or declared by other packages as entry
    points of a group. From then on they are like any other; none takes the name of another.

    >>> found = Registry("family", {"knapsack": "configuration.knapsack:Knapsack"})
    >>> found.names(), "knapsack" in found, found["knapsack"].__name__
    (['knapsack'], True, 'Knapsack')
    >>> found["sack"]
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
        """Where those of this package stand: ``module:class``, the module below ``adyton``."""
        self.added: dict[str, type[Kind]] = {}
        """Those that were registered, or loaded from other packages."""

    def names(self) -> list[str]:
        """The names of all, whether they were imported yet or not: those of this package first."""
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
            found: type[Kind] = standing(f"adyton.{self.places[name]}")
            return found
        return self.added[name] if name in self.added else self._loaded(self.declared()[name])

    def named(self, name: object, /, **options: Any) -> Kind:
        """What has this name, with these options, once it is sure that it has them."""
        kind = self[name]
        allowed = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]
        for option in options:
            if option not in allowed:
                these = f"Its options are {listing(allowed)}." if allowed else "It has none."
                raise BadInput(f"{name} has no option {option!r}. {these}{suggestion(option, allowed)}")
        return kind(**options)

    def what_it_does(self, name: str) -> str:
        """In a few words: the beginning of its own description; nothing of one that is not known."""
        words = " ".join((inspect.getdoc(self[name]) or "").split("\n\n")[0].split()) if name in self else ""
        return textwrap.shorten(re.split(r"[.:;](?:\s|$)", words)[0], _LONGEST, placeholder=" …")

    def register(self, kind: Added) -> Added:
        """Enter a class under its name."""
        name = getattr(kind, self._key)
        if name in self.places or (name in self.added and self.added[name].__qualname__ != kind.__qualname__):
            raise BadInput(f"there is a {self._noun} named {name!r} already. Choose another name.")
        self.added[name] = kind
        return kind

    def declared(self) -> dict[str, EntryPoint]:
        """Those that other packages declare; none that has a name of this package."""
        if not self._group:
            return {}
        return {
            name: entry for name, entry in _entries(self._group, tuple(sys.path)).items() if name not in self.places
        }

    def _loaded(self, entry: EntryPoint) -> type[Kind]:
        """Import what another package declares, and register it if it did not do so itself."""
        try:
            found = entry.load()
        except Exception as problem:
            raise BadInput(f"the {self._noun} {entry.name!r} ({entry.value}) cannot be loaded: {problem}.") from problem
        if not (
            isinstance(found, type) and issubclass(found, self._base) and getattr(found, self._key, None) == entry.name
        ):
            raise BadInput(f"{entry.value} is declared as the {self._noun} {entry.name!r}, and is none of that name.")
        self.register(found)
        return self.added[entry.name]


def standing(place: str) -> Any:
    """What stands at ``package.module:name``."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


@lru_cache(maxsize=4)
def _entries(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """What other packages declare, as long as packages are looked for in the same folders."""
    return {entry.name: entry for entry in entry_points(group=group)}
