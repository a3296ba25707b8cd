"""The end of a process of our own: at once, when all is written.

Python takes a million objects apart before it ends, which the system frees in any case: a quarter of a second. This
file is imported before all others, so that what it does comes last: after all threads, and after whatever libraries do
at the end. Where something else came before it, Python ends in its own way.
"""

from __future__ import annotations

import atexit
import os
import sys

_ended: list[int] = []
"""The exit code, once a command has ended."""


def leave(code: int) -> None:
    """Exit with this code; nothing is left to do."""
    _ended[:] = [code]
    sys.exit(code)


def _at_once() -> None:
    if not _ended:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            return  # Python says what has to be said of it
    os._exit(_ended[0])


if not getattr(atexit, "_ncallbacks", lambda: 1)():
    atexit.register(_at_once)
