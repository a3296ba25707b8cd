"""Writes the two lists of trusted modules with their lines, and what the core imports without relying on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generated import filled

from adyton_lab.audit import trusted

NAME = "trusted"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the lists where a page asks for them."""
    return filled(markdown, NAME, lists)


def lists() -> str:
    """Both lists, and the modules beside them."""
    core, added = (sum(trusted.lines(names).values()) for names in (trusted.core(), trusted.added()))
    public = "\n".join(f"| `{module}` | {why} |" for module, why in trusted.PUBLIC.items())
    return "\n\n".join(
        [
            f"**The core**, which every release needs that `auto` can make: {core:,} lines.",
            _table(trusted.CORE),
            f"**What is added** by those who name it: {added:,} lines.",
            _table(trusted.ADDED),
            "**What the core imports and does not rely on**, and why:",
            f"| module | why |\n|---|---|\n{public}",
        ]
    )


def _table(parts: Mapping[str, tuple[str, ...]]) -> str:
    rows = []
    for part, names in parts.items():
        found = trusted.lines(names)
        rooms = [f"`{name}*`" if name.endswith(".") else f"`{name}`" for name in names]
        rows.append(f"| {part} | {sum(found.values()):,} | {', '.join(rooms)} |")
    return "\n".join(["| part | lines | modules |", "|---|---|---|", *rows])
