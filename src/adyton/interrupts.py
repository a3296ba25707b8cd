"""Deferred interrupts: answers that were paid for are saved before a person or the system ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

_REQUESTS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The system's requests to end; SIGHUP arrives when a terminal or a connection is closed."""
_ENDING = (signal.SIGINT, *_REQUESTS)


class Terminated(KeyboardInterrupt):
    """A request to end (SIGTERM, SIGHUP), handled like Ctrl-C."""


@contextmanager
def deferred() -> Iterator[None]:
    """Interrupts that arrive within the block take effect when it ends. Only the main thread receives any."""
    came: list[int] = []
    # a handler that was set from outside Python (None) could not be restored
    replaced = [number for number, handler in _handlers(_ENDING).items() if handler is not None]
    try:
        with _handled(dict.fromkeys(replaced, lambda number, frame: came.append(number))):
            yield
    finally:
        _raise_each(list(dict.fromkeys(came)))


def _raise_each(numbers: list[int]) -> None:
    """Raise every signal once, in order of arrival, even if the handlers of earlier signals raise."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_each(numbers[1:])


@contextmanager
def noticed(came: list[type[BaseException]]) -> Iterator[None]:
    """Interrupts take effect as usual within the block, and the types of the exceptions raised are listed in *came*.

    The exceptions may get lost: in a callback whose errors are ignored, or in a library that raises its own error.
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
    """Within the block a request to end raises :class:`Terminated`, so that running work is cleaned up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Terminated

    handlers = _handlers(_REQUESTS).items()
    with _handled({number: interrupt for number, handler in handlers if handler is signal.SIG_DFL}):
        yield


def expected() -> bool:
    """Whether an interrupt can come here: in the main thread, if a function handles one."""
    return any(callable(handler) for handler in _handlers(_ENDING).values())


def _handlers(numbers: tuple[int, ...]) -> dict[int, Any]:
    """The handlers of these signals; empty outside the main thread, since only that thread can change handlers."""
    main = threading.current_thread() is threading.main_thread()
    return {number: signal.getsignal(number) for number in numbers} if main else {}


@contextmanager
def _handled(handlers: Mapping[int, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    """Use these handlers within the block, then restore the earlier ones."""
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
