"""The debits and answers of a request.

The kernel records every answer before a program sees it. Whatever happens afterwards (an interrupt, a failure,
arithmetic that takes too long), the answers are here. An unfinished request is completed by *replay*: its program runs
again with the recorded answers in place of the kernel's, at no cost in privacy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple

from adyton.errors import BadInput
from adyton.exact import display

CHANGED = "the rows have changed since the session was opened"
"""The remark in all entries of the ledger after the rows have changed."""


class Debit(NamedTuple):
    """An entry of the ledger, kept in memory so that it need not be read again."""

    number: int
    amount: Fraction
    operator: str
    lineage: tuple[str, ...]


class Recorded(NamedTuple):
    """An answered measurement: its debit and its answer."""

    debit: Debit
    answer: Any


class Ended(BaseException):
    """A replay reached the end of the recorded answers; *cause* is what ended the request."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class Recorder:
    """The debits and answers of one request, in order.

    >>> recorder = Recorder()
    >>> count = Debit(7, Fraction(1, 2), "noisy count, ε = 0.5", ("visits",))
    >>> recorder.debits.append(count)
    >>> recorder.answers.append(Recorded(count, 41))
    >>> recorder.charged
    Fraction(1, 2)
    """

    def __init__(self, limit: Fraction | None = None) -> None:
        self.limit = limit
        """The most that the request may be charged in total, if known."""
        self.debits: list[Debit] = []
        self.answers: list[Recorded] = []

    @property
    def charged(self) -> Fraction:
        """The sum of all debits, answered or not."""
        return sum((debit.amount for debit in self.debits), Fraction(0))

    def admit(self, amount: Fraction) -> None:
        """Refuse a debit beyond the budget of the request: a program that asks for more has a defect."""
        if self.limit is not None and self.charged + amount > self.limit:
            raise BadInput(
                f"a measurement asks for ε = {display(amount)}, but the request was given ε = {display(self.limit)} in "
                f"all, of which {display(self.charged)} is spent. A program must not spend more than it was given."
            )

    def replayed(self, cause: BaseException) -> Callable[[str, tuple[str, ...]], Any]:
        """A function that returns the recorded answers, in order, to the same requests; after the last, and for any
        other request, it raises :class:`Ended`."""
        left = iter(tuple(self.answers))

        def answer(operator: str, lineage: tuple[str, ...]) -> Any:
            recorded = next(left, None)
            if recorded is None or recorded.debit.lineage != lineage:
                raise Ended(cause)
            if recorded.debit.operator.removesuffix(f", {CHANGED}") != operator:
                raise Ended(cause)
            return recorded.answer

        return answer


class Recorders:
    """The recorders of a kernel: each thread has its own, so that threads do not see each other's answers."""

    def __init__(self) -> None:
        self._threads = threading.local()

    @property
    def current(self) -> Recorder | None:
        """The recorder of the request under way in this thread."""
        return getattr(self._threads, "recorder", None)

    @property
    def replay(self) -> Callable[[str, tuple[str, ...]], Any] | None:
        """The function that answers in place of the kernel, in a replay."""
        return getattr(self._threads, "replay", None)

    @property
    def within(self) -> bool:
        """Whether a request is under way in this thread, or is being finished."""
        return self.replay is not None or (self.current is not None and self.current.limit is not None)

    @contextmanager
    def recording(self, limit: Fraction | None = None) -> Iterator[Recorder]:
        """A recorder for the measurements within the block; the recorder of an enclosing block gets them too.

        A request has a *limit*, and no request begins within another: only a signal handler could begin one, and one of
        the two requests would get the answers of the other.
        """
        if self.within and limit is not None:
            raise BadInput(
                "a request is already under way in this thread, which a signal handler must have interrupted. Nothing "
                "was spent; ask again when the handler has returned."
            )
        outer, recorder = self.current, Recorder(limit)
        self._threads.recorder = recorder
        try:
            yield recorder
        finally:
            if outer is not None:
                outer.debits.extend(recorder.debits)
                outer.answers.extend(recorder.answers)
            self._threads.recorder = outer

    @contextmanager
    def replaying(self, recorder: Recorder, cause: BaseException) -> Iterator[None]:
        """Within the block, measurements are answered from *recorder*: nothing is read, nothing is charged."""
        outer, self._threads.replay = self.replay, recorder.replayed(cause)
        try:
            yield
        finally:
            self._threads.replay = outer
