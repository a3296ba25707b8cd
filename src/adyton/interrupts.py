"""Interrupts that wait: what was paid for is put down before a person, or the machine, ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_REQUESTS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The machine's requests to end; the second comes when a terminal or a connection is closed."""
_ENDING = (signal.SIGINT, *_REQUESTS)


class Terminated(KeyboardInterrupt):
    """A request to end (SIGTERM, SIGHUP), which is dealt with like Ctrl-C."""


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
        _raise_each(list(dict.fromkeys(came)))


def _raise_each(numbers: list[int]) -> None:
    """Every signal once, in the order in which they came, whatever the handlers of those before raise."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_each(numbers[1:])


@contextmanager
def noticed(came: list[type[BaseException]]) -> Iterator[None]:
    """Interrupts take effect as ever within the block, and the kinds of those that do are listed in *came*.

    They may get lost on their way: in a callback whose errors are ignored, or in a library that raises its own error.
    """

    def watched(handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as raised:
                came.append(type(raised))
                raise

        return handle

    before = {one: signal.getsignal(one) for one in _ENDING} if _in_main_thread() else {}
    ours = {one: handler for one, handler in before.items() if callable(handler)}
    try:
        for one, handler in ours.items():
            signal.signal(one, watched(handler))
        yield
    finally:
        for one, handler in ours.items():
            signal.signal(one, handler)


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Within the block a request to end raises :class:`Terminated`, so that what is under way is put in order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Terminated

    ours = [one for one in _REQUESTS if _in_main_thread() and signal.getsignal(one) is signal.SIG_DFL]
    try:
        for one in ours:
            signal.signal(one, interrupt)
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
