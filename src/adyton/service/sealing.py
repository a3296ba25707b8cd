"""Closing a process that opens private tables to the outside."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from io import FileIO

_PARENT_DEATH, _DUMPABLE = 1, 4  # of prctl


def seal() -> FileIO:
    """Close the process to the outside, but for the returned stream of replies."""
    replies = FileIO(os.dup(1), "w")
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(silent, number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    return replies
