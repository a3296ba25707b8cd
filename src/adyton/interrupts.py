"""Interrupts that wait: what was paid for is saved before a person, or the machine, ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
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
    came: list[int] = []
    # a handler that was set from outside Python (None) could not be put back
    replaced = [number for number, handler in _handlers(_ENDING).items() if handler is not None]
    try:
        with _handled(dict.fromkeys(replaced, lambda number, frame: came.append(number))):
            yield
    finally:
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
    """Interrupts take effect as usual within the block, and the kinds of those that do are listed in *came*.

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

    handlers = _handlers(_ENDING).items()
    with _handled({number: watched(handler) for number, handler in handlers if callable(handler)}):
        yield


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Within the block a request to end raises :class:`Terminated`, so that what is under way is put in order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Terminated

    handlers = _handlers(_REQUESTS).items()
    with _handled({number: interrupt for number, handler in handlers if handler is signal.SIG_DFL}):
        yield


def _handlers(numbers: tuple[int, ...]) -> dict[int, Any]:
    """What handles these signals; nothing beside the main thread, which alone may change it."""
    main = threading.current_thread() is threading.main_thread()
    return {number: signal.getsignal(number) for number in numbers} if main else {}


@contextmanager
def _handled(handlers: Mapping[int, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    """Other handlers within the block; those before it are put back."""
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
