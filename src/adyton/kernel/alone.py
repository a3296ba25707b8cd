"""One operator at a time in each thread.

Locks keep other threads out, but a signal handler runs in the thread that it interrupts, for which they are open. In
the middle of a measurement, another one of any kernel would find accounts, ledgers and connections half-way through a
change.
"""

from __future__ import annotations

import threading

_threads = threading.local()


def _lock() -> threading.Lock:
    """This thread's own lock. (A lock, and not a flag: ``with`` lets go of it wherever an interruption comes.)"""
    lock: threading.Lock | None = getattr(_threads, "lock", None)
    if lock is None:
        lock = _threads.lock = threading.Lock()
    return lock


def under_way() -> bool:
    """Whether an operator is under way in this very thread."""
    return _lock().locked()


def alone() -> threading.Lock:
    """For a ``with`` block in which an operator is under way. (A generator's block would outlive an interruption.)"""
    return _lock()
