"""Which process this is: a forked copy is another one, even where the operating system gives it the same number.

A fork copies one thread alone. What another thread held at that moment stays held in the copy for ever: so locks are
renewed there, and a fork waits until no other thread is importing a module.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

_forks = 0
_LONGEST_WAIT = 10.0


def this_process() -> tuple[int, int]:
    """The process number, and how many forks lie between this process and the first that loaded this module."""
    return os.getpid(), _forks


def _count_fork() -> None:
    global _forks
    _forks += 1


def _wait_for_imports() -> None:
    """Let other threads finish their imports: a child would wait for ever for a module that was half imported."""
    end = time.monotonic() + _LONGEST_WAIT
    while _others_import() and time.monotonic() < end:
        time.sleep(0.001)


def _others_import() -> bool:
    """Whether another thread holds the lock of a module. (Python tells nobody; if it hides them better, we go on.)"""
    kept: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = {getattr(reference(), "owner", None) for reference in list(kept.values())}
    return bool(owners - {None, threading.get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_count_fork)
