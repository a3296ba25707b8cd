"""What keeps private data inside the kernel: objects without iteration, indexing or pickling, and errors without
context. Also the identity of the process, because a kernel or a ledger must not be used in a forked copy, and whether
a thread is running an operator.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from adyton.interrupts import deferred, expected

Result = TypeVar("Result")


def quietly(call: Callable[[], Result]) -> Result | None:
    """The result of *call*, or None if it fails. The exception is discarded: it may quote a row.

    (Raising another exception inside an ``except`` block would keep the first as its context.)
    """
    try:
        return call()
    except Exception:
        return None


def interruptible(call: Callable[[], Result], stop: Callable[[], None] | None) -> Result | None:
    """Like :func:`quietly`, in a separate thread, so that Ctrl-C takes effect at once: *stop* then ends the call.

    *stop* is called repeatedly until the call has ended: it may fall between two queries, or fail to reach the server.
    A second Ctrl-C does not wait for that. Where no interrupt can come, no thread is started.
    """
    results: list[Result] = []
    ended = threading.Event()  # an interrupted Thread.join assumes that the thread has ended

    def work() -> None:
        with suppress(BaseException):
            results.append(call())
        ended.set()

    if not expected():
        work()
        return results[0] if results else None
    worker = threading.Thread(target=work, daemon=True)
    try:
        with deferred():
            worker.start()
        ended.wait()
    except BaseException:
        while stop is not None and worker.ident is not None and not ended.is_set():
            quietly(stop)
            ended.wait(1)
        raise
    return results[0] if results else None


class Sealed:
    """The base class of everything that holds private data or leads to it.

    >>> list(Sealed())
    Traceback (most recent call last):
    TypeError: a Sealed cannot be read: private data leave the kernel through measurements only.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be read: private data leave the kernel through measurements only."
        )

    __getitem__ = __iter__ = __len__ = __contains__ = __array__ = __bool__ = __int__ = __float__ = _refuse

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied: it holds private data or leads to it.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sealed>"

    def __format__(self, specification: str) -> str:
        return repr(self)


_forks = 0
_LONGEST_WAIT = 10.0


def this_process() -> tuple[int, int]:
    """The process number, and the number of forks between this process and the first that loaded this module: a forked
    copy is another process, even where the operating system gives it the same number.

    A fork copies only one thread. A lock that another thread held at that moment is never released in the copy: so
    locks are renewed there, and a fork waits until no other thread is importing a module.
    """
    return os.getpid(), _forks


def _count_fork() -> None:
    global _forks
    _forks += 1


def _wait_for_imports() -> None:
    """Let other threads finish their imports: a child process could never load a half-imported module."""
    end = time.monotonic() + _LONGEST_WAIT
    while _others_import() and time.monotonic() < end:
        time.sleep(0.001)


def _others_import() -> bool:
    """Whether another thread holds the lock of a module. (Python has no public function for this.)"""
    kept: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = {getattr(reference(), "owner", None) for reference in list(kept.values())}
    return bool(owners - {None, threading.get_ident()})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_count_fork)


_threads = threading.local()


def alone() -> threading.Lock:
    """This thread's own lock, for a ``with`` block in which an operator is under way.

    Each thread runs one operator at a time. Locks keep other threads out, but a signal handler runs in the thread that
    it interrupts, which already holds them. A measurement begun in the middle of another, by any kernel, would find
    accounts, ledgers and connections half-changed.

    A lock, not a flag: ``with`` releases it wherever an interrupt arrives. (A generator's block would outlive an
    interrupt.)
    """
    lock: threading.Lock | None = getattr(_threads, "lock", None)
    if lock is None:
        lock = _threads.lock = threading.Lock()
    return lock


def under_way() -> bool:
    """Whether an operator is under way in this thread."""
    return alone().locked()
