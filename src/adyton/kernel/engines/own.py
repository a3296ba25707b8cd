"""What engines share: the mark of a connection that is our own, texts of SQL, and columns by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

OURS = "opened_by_adyton"
"""Marks an engine of our own."""


def sql_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def take(table: Any, names: Sequence[str]) -> Any:
    """Those columns of an Ibis table, as c0, c1, …"""
    return table.select(**{f"c{index}": table[name] for index, name in enumerate(names)})
