"""Interrupts that wait: what was paid for is put down before a person, or the machine, ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """A request to end (SIGTERM), which is dealt with like Ctrl-C."""


@contextmanager
def deferred() -> Iterator[None]:
    """Interrupts that come within the block take effect when it ends. Only the main thread gets any."""
    if not _in_main_thread():
        yield
        return
    came: list[int] = []
    before = {one: signal.getsignal(one) for one in _ENDING}
    try:
        for one, handler in before.items():
            if handler is not None:  # it was set from outside Python, and could not be put back
                signal.signal(one, lambda number, frame: came.append(number))
        yield
    finally:
        for one, handler in before.items():
            if handler is not None:
                signal.signal(one, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Within the block a request to end raises :class:`Terminated`, so that what is under way is put in order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.getsignal(signal.SIGTERM)
    if not _in_main_thread() or before is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
