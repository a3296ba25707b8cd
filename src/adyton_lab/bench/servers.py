"""Processor time of servers on this machine, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path

from adyton.errors import BadInput


def parent_of(process: int) -> int:
    """The process that started another one.

    >>> parent_of(os.getpid()) == os.getppid()
    True
    """
    found = _told(process)
    if found is None:
        raise BadInput("the processor time of a server can only be measured on Linux, and on its own machine.")
    return found[0]


def family_seconds(process: int) -> float:
    """Processor time of a process and of all that it started, also of those that have ended.

    >>> family_seconds(os.getpid()) > 0
    True
    """
    told = {int(path.name): one for path in Path("/proc").glob("[0-9]*") if (one := _told(int(path.name))) is not None}
    if process not in told:
        raise BadInput("the server has ended.")
    family, found = {process}, True
    while found:
        more = {one for one, (parent, *_) in told.items() if parent in family} - family
        family, found = family | more, bool(more)
    return sum(told[one][1] + told[one][2] for one in family) / os.sysconf("SC_CLK_TCK")


def _told(process: int) -> tuple[int, int, int] | None:
    """Its parent, its own ticks, and those of children that have ended; None if there is no such process."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    parts = text[text.rindex(")") + 2 :].split()
    return int(parts[1]), int(parts[11]) + int(parts[12]), int(parts[13]) + int(parts[14])
