"""The command line. ``main.py`` finds the commands, each in a module that is loaded when the command is used. Start
with ``release.py``; ``request.py`` checks the input of a command, ``delivery.py`` saves and prints what was paid for.

The process of a command exits as soon as everything is written: Python would spend a quarter of a second on freeing a
million objects one by one. The exit handler is registered here, before anything else is imported, so that it runs last:
after all threads and after the exit handlers of libraries. If one was registered earlier, Python exits as usual.
"""

from __future__ import annotations

import atexit
import os
import sys

_ended: list[int] = []
"""The exit code, once a command has ended."""


def leave(code: int) -> None:
    """Exit with this code; nothing else remains to be done."""
    _ended[:] = [code]
    sys.exit(code)


def _end_at_once() -> None:
    if not _ended:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            return  # Python reports it
    os._exit(_ended[0])


if not getattr(atexit, "_ncallbacks", lambda: 1)():
    atexit.register(_end_at_once)
