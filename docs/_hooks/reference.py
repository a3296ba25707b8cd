"""The reference: on the site by mkdocstrings, and in the repository as plain Markdown from the same docstrings.

A page has ``<!-- ::: adyton.Name -->`` where something is described, options of mkdocstrings included, and after it the
Markdown that a reader of the repository sees.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from wording import with_fences, without_roles

_ENTRY = re.compile(r"<!-- (?P<directive>:::.*?) -->\n.*?<!-- /::: -->", re.DOTALL)
_NAME = re.compile(r"::: (\S+)")
_MEMBERS = re.compile(r"members: (?:(false)|\[(.*?)\])")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """On the site, leave the description to mkdocstrings."""
    return _ENTRY.sub(lambda found: found["directive"], markdown)


def described(markdown: str) -> str:
    """The page for the repository, with every description made anew."""
    return _ENTRY.sub(
        lambda found: f"<!-- {found['directive']} -->\n\n{_description(found['directive'])}\n\n<!-- /::: -->", markdown
    )


def _description(directive: str) -> str:
    name = _NAME.match(directive)
    assert name is not None
    members, thing = _MEMBERS.search(directive), _named(name[1])
    if isinstance(thing, ModuleType):
        names = members[2].split(", ") if members and members[2] else [one for one in vars(thing) if one[0] != "_"]
        own = [getattr(thing, one) for one in names]
        return "\n\n".join(_entry(one, "##", whole=False) for one in own if _is_own(one, thing))
    return _entry(thing, "##", whole=members is None)


def _is_own(thing: Any, module: ModuleType) -> bool:
    return (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith(module.__name__)


def _named(path: str) -> Any:
    """What a dotted path leads to."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(_named(module), name)


def _entry(thing: Any, level: str, *, whole: bool) -> str:
    """A heading, the signature, the docstring; and the same for each public member."""
    parts = [f"{level} {thing.__name__}", *_signature(thing), *_text(thing)]
    if whole and inspect.isclass(thing):
        parts += [part for name, member in _members(thing) for part in _member(name, member, f"{level}#")]
    return "\n\n".join(parts)


def _member(name: str, member: Any, level: str) -> list[str]:
    if isinstance(member, property):
        return [f"{level} {name}", "*property*", *_text(member)]
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return [f"{level} {name}", *_signature(function), *_text(function)]


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class defines itself, or takes from a part of it that has no page of its own, in the order of its text."""
    seen: set[str] = set()
    for one in (one for one in kind.__mro__ if one.__module__.startswith("adyton")):
        for name, member in vars(one).items():
            plain = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
            if name[0] != "_" and plain and name not in seen and _text(getattr(member, "__func__", member)):
                seen.add(name)
                yield name, member


def _text(thing: Any) -> list[str]:
    text = inspect.cleandoc(thing.__doc__ or "")
    if inspect.isclass(thing) and dataclasses.is_dataclass(thing) and text.startswith(f"{thing.__name__}("):
        return []  # made by the dataclass, and says its signature again
    return [with_fences(without_roles(text))] if text else []


def _signature(thing: Any) -> list[str]:
    """As it is written in the code, without types: these are on the site, and in the code."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return []
    bare = [one.replace(annotation=one.empty) for one in parameters if one.name not in ("self", "cls")]
    bare = [one if one.default is one.empty else one.replace(default=_Written(one.default)) for one in bare]
    return [f"```text\n{thing.__name__}{inspect.Signature(bare)}\n```"]


class _Written:
    """A default as a person would write it: nothing of where objects lie in memory."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        plain = self.value is None or isinstance(self.value, bool | int | float | str | tuple)
        return repr(self.value) if plain else "…"
