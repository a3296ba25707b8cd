"""When a reply leaves: at a time that depends on its arrival and on its class, and not on how long the work took.

How long an answer takes depends on rows: on their number, on what an algorithm found. So a reply leaves at

    arrival + k·duration,  with the smallest whole number k ≥ 1 for which the work is done,

where *duration* belongs to the class of the call, and the class follows from public facts: what is asked for, and how
many cells the schema declares. If the work is always done within one duration, the time of the reply says nothing about
the rows; if not, each reply reveals k.

Three things would undo this, and are prevented here:

* *Asking often whether it is done.* Until a result may leave, every question about it gets the same reply: it is under
  way (:class:`Work`).
* *Standing in the queue behind it.* What an analyst asks of one data set while something of theirs is under way begins
  when that has left, and its own time is counted from there (:class:`Line`): the end of one call cannot be read from
  the end of the next, and nobody can choose the moment of a call so that a boundary falls where they want it.
* *Rounding of times*: all times are whole nanoseconds.

A call that was cancelled before anything was spent says so at once, but what waits behind it begins when its reply
would have left: a worker that was killed is there again by then, and how long its table took to open does not show.

Calls of other analysts still delay one another at the keeper.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from adyton.service.channel import NotFound

SECOND = 10**9
SMALL_CELLS = 10_000
"""The most cells of a small request."""
_NUMBERS = ("count", "units", "rows left out")
_OF_CELLS = ("histogram", "ranges", "cdf", "rows per unit", "sum", "mean", "variance", "quantiles", "summary")
_LONG_CALLS = {"consent": "large", "fetch": "large", "measure": "small", "open": "small"}


def leaves_at(arrival: int, finished: int, duration: int) -> int:
    """When a reply leaves whose work was done at *finished*. A duration of 0 means that times are not protected.

    >>> leaves_at(100, 103, 50), leaves_at(100, 150, 50), leaves_at(100, 151, 50), leaves_at(100, 103, 0)
    (150, 150, 200, 103)
    """
    if duration == 0:
        return max(arrival, finished)
    return arrival + max(1, -((arrival - finished) // duration)) * duration


@dataclass(frozen=True)
class Durations:
    """How long replies of each class take, in nanoseconds; 0 if times are not protected."""

    count: int = 0
    small: int = 0
    large: int = 0

    @classmethod
    def of_seconds(cls, *, on: bool, count: float, small: float, large: float) -> Durations:
        """From seconds; all 0 if the protection is off."""
        return cls(*(round(seconds * SECOND) for seconds in (count, small, large))) if on else cls()

    @property
    def on(self) -> bool:
        """Whether times are protected."""
        return self.count > 0

    def __getitem__(self, name: str) -> int:
        duration: int = getattr(self, name)
        return duration


def class_of(call: str, request: object = None, cells: Mapping[str, int] | None = None) -> str:
    """The class of a call: ``count``, ``small`` or ``large``; for a request by its task and its number of *cells*.

    >>> class_of("describe"), class_of("ask", {"task": {"task": "count"}})
    ('count', 'count')
    >>> class_of("ask", {"task": {"task": "histogram", "attributes": ["age"]}}, {"age": 100})
    'small'
    >>> class_of("ask", {"task": {"task": "histogram", "attributes": ["age"]}}, {})
    'large'
    """
    task = request.get("task") if isinstance(request, dict) else None
    if call != "ask" or not isinstance(task, dict):
        return "large" if call == "ask" else _LONG_CALLS.get(call, "count")
    kind = task.get("task")
    if kind in _NUMBERS:
        return "count"
    if kind in _OF_CELLS and prod(_sizes(task, cells or {})) <= SMALL_CELLS:
        return "small"
    return "large"


def _sizes(task: Mapping[str, Any], cells: Mapping[str, int]) -> Iterator[int]:
    """The numbers of cells of all attributes that a task names; too many for an attribute that is unknown."""
    named: list[Any] = []
    for key in ("attributes", "by"):
        names = task.get(key, [])
        named += names if isinstance(names, list) else [None]
    named += [task["attribute"]] if "attribute" in task else []
    return (cells.get(name, SMALL_CELLS + 1) if isinstance(name, str) else SMALL_CELLS + 1 for name in named)


class Clock(Protocol):
    """A clock in nanoseconds that never goes back."""

    def now(self) -> int:
        """The time."""

    async def until(self, moment: int) -> None:
        """Return at *moment*, not before."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        """The time since some moment in the past."""
        return time.monotonic_ns()

    async def until(self, moment: int) -> None:
        """Return at *moment*, not before."""
        while (left := moment - self.now()) > 0:
            await asyncio.sleep(left / SECOND)


class Line:
    """The calls of one analyst to one data set, of which one at a time is with the keeper."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.free_at = 0
        """When the reply to the last one left."""


class Work:
    """A call that goes on when its caller hangs up, and whose end shows only when its reply may leave."""

    def __init__(
        self,
        call: Callable[[], Awaitable[Any]],
        clock: Clock,
        *,
        arrival: int,
        duration: int,
        line: Line | None = None,
        subject: str = "",
    ) -> None:
        self.subject = subject
        """What was asked, to compare with what is asked under the same id."""
        self.asked: Any = None
        """The request, if it is one."""
        self.begun = False
        """Whether the keeper knows of it."""
        self.leave: int | None = None
        """When its reply leaves, once it is done."""
        self._cancelled = asyncio.Event()
        self._outcome: Any = None
        self._clock, self._arrival, self._duration = clock, arrival, duration
        self.task = asyncio.ensure_future(self._run(call, line))

    async def _run(self, call: Callable[[], Awaitable[Any]], line: Line | None) -> None:
        if line is None or self._duration == 0:
            await self._answer(call, self._arrival)
            return
        async with line.turn:
            line.free_at = await self._answer(call, max(self._arrival, line.free_at))

    async def _answer(self, call: Callable[[], Awaitable[Any]], start: int) -> int:
        self.begun = True
        try:
            self._outcome = await call()
        except Exception as error:
            self._outcome = error
        self.leave = leaves_at(start, self._clock.now(), self._duration)
        await self._clock.until(self.leave)
        return self.leave

    async def reply(self, arrival: int, wait: int | None = None) -> tuple[int, bool]:
        """When the reply to a caller leaves who arrived at *arrival*, and whether it has the outcome.

        A caller who waits for *wait* nanoseconds only gets a reply at the first boundary after that.
        """
        cutoff = None if wait is None else leaves_at(arrival, arrival + wait, self._duration)
        others: set[asyncio.Future[Any]] = {asyncio.ensure_future(self._cancelled.wait())}
        if cutoff is not None:
            others.add(asyncio.ensure_future(self._clock.until(cutoff)))
        await asyncio.wait({self.task, *others}, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        if self._cancelled.is_set():
            raise NotFound("This request was cancelled. Nothing was spent.")
        leave = None if self.leave is None else leaves_at(arrival, self.leave, self._duration)
        if cutoff is not None and (leave is None or leave > cutoff):
            return cutoff, False
        assert leave is not None
        return leave, True

    @property
    def outcome(self) -> Any:
        """What the call returned; an error is raised."""
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    async def cancel(self) -> None:
        """Tell those who wait that it was cancelled. Before it has begun, it leaves the line; after that, it stays
        there until its reply would have left."""
        self._cancelled.set()
        if not self.begun:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
