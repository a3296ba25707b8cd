"""Which process this is: a forked copy is another one, even where the operating system gives it the same number."""

from __future__ import annotations

import os

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """The process number, and how many forks lie between this process and the first that loaded this module."""
    return os.getpid(), _forks
