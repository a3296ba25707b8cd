"""What must not give away what it holds: objects without iteration, indexing or pickle, and errors without a past."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from adyton.interrupts import deferred

Result = TypeVar("Result")


def quietly(call: Callable[[], Result]) -> Result | None:
    """What *call* returns, or None if it fails. The exception ends here: it may quote a row.

    (Raising another one inside an ``except`` would carry the first along as its context.)
    """
    try:
        return call()
    except Exception:
        return None


def interruptible(call: Callable[[], Result], stop: Callable[[], None] | None) -> Result | None:
    """Like :func:`quietly`, in a thread of its own, so that Ctrl-C is noticed at once: *stop* then ends the call.

    It is asked to again until the call has ended: it may come between two queries, or fail to reach the server. A
    second Ctrl-C does not wait for that.
    """
    results: list[Result] = []
    ended = threading.Event()  # Thread.join believes, once interrupted, that the thread has ended

    def work() -> None:
        with suppress(BaseException):
            results.append(call())
        ended.set()

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
    """A base for everything that holds private data or leads to it.

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
