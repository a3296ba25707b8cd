"""From docstrings to Markdown."""

from __future__ import annotations

import re

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+[^`]+`+)")
_SIGN = re.compile(r"[*_\[\]<|]")


def without_roles(text: str) -> str:
    """``:class:`` and its like become plain code."""
    return _ROLE.sub(r"`\1`", text)


def with_fences(text: str) -> str:
    """Examples become blocks of code."""
    return _EXAMPLE.sub(lambda found: fenced(found.group()), text)


def examples(text: str) -> list[str]:
    """The examples alone, as blocks of code."""
    return [fenced(block) for block in _EXAMPLE.findall(text)]


def fenced(code: str) -> str:
    """A block of code."""
    return f"```pycon\n{code}\n```"


def one_line(text: str) -> str:
    """A paragraph on one line, in which no sign outside of code means anything to Markdown."""
    parts = _CODE.split(" ".join(without_roles(text).split()))
    return "".join(part if part.startswith("`") else _SIGN.sub(r"\\\g<0>", part) for part in parts)
