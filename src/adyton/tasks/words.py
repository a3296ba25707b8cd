"""A query in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def question_in_words(query: Mapping[str, Any]) -> str:
    """A query as a person would say it.

    >>> question_in_words({"age": (20, 29), "sex": "F"}), question_in_words({"age": {"from": 65, "to": None}})
    ('age 20 to 29, sex F', 'age from 65')
    """
    return ", ".join(f"{name} {_asked(part)}".rstrip() for name, part in query.items()) or "all rows"


def _asked(part: object) -> str:
    match part:
        case (first, last) if isinstance(part, tuple):
            return _range(first, last)
        case Mapping():
            return _range(part.get("from"), part.get("to"))
        case list() | set() | frozenset():
            return " or ".join(sorted(map(str, part)) if not isinstance(part, list) else map(str, part))
    return str(part)


def _range(first: object, last: object) -> str:
    if first is None and last is None:
        return "at all"
    if first is None or last is None:
        return f"from {first}" if last is None else f"up to {last}"
    return f"{first} to {last}"
