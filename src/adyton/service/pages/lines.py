"""A request as a line of Python and as a command, to copy."""

from __future__ import annotations

from adyton.service.pages.visits import Visit
from adyton.tasks.request import Request


def lines_for(visit: Visit, table: str, request: Request) -> list[tuple[str, str]]:
    """Each way to ask the same elsewhere: its name, and the text to copy."""
    return []
