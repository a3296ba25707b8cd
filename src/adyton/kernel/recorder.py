"""What a request has paid for and received.

The door records every answer before a program sees it. Whatever happens afterwards, an interrupt, a failure, an
arithmetic that takes too long, the answers are here. A request is finished by *replay*: its text runs again with the
recorded answers in place of the kernel's, at no cost in privacy.
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
"""What entries of the ledger say from then on."""


class Debit(NamedTuple):
    """What is known of an entry of the ledger once it is made, so that it need not be read again."""

    number: int
    amount: Fraction
    operator: str
    lineage: tuple[str, ...]


class Recorded(NamedTuple):
    """An answered measurement: what was paid for it, and the answer."""

    debit: Debit
    answer: Any


class Ended(BaseException):
    """A replay came to the end of what was recorded; *cause* is what ended the request."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class Recorder:
    """The debits of one request, and the answers, in their order.

    >>> recorder = Recorder()
    >>> count = Debit(7, Fraction(1, 2), "noisy count, ε = 0.5", ("visits",))
    >>> recorder.debits.append(count)
    >>> recorder.answers.append(Recorded(count, 41))
    >>> recorder.charged
    Fraction(1, 2)
    """

    def __init__(self, limit: Fraction | None = None) -> None:
        self.limit = limit
        """What the request may be charged in all, where that is known."""
        self.debits: list[Debit] = []
        self.answers: list[Recorded] = []

    @property
    def charged(self) -> Fraction:
        """What was paid for all debits, answered or not."""
        return sum((debit.amount for debit in self.debits), Fraction(0))

    def admit(self, amount: Fraction) -> None:
        """Refuse a debit beyond what the request was given: a program that asks for more has a defect."""
        if self.limit is not None and self.charged + amount > self.limit:
            raise BadInput(
                f"a measurement asks for ε = {display(amount)}, but the request was given ε = {display(self.limit)} in "
                f"all, of which {display(self.charged)} is spent. A program must not spend more than it was given."
            )

    def replayed(self, cause: BaseException) -> Callable[[str, tuple[str, ...]], Any]:
        """Gives the answers again, one after the other, to the same questions; raises :class:`Ended` after the last."""
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
        """What answers in place of the kernel, in a replay."""
        return getattr(self._threads, "replay", None)

    @property
    def within(self) -> bool:
        """Whether a request is under way in this thread, or is being finished."""
        return self.replay is not None or (self.current is not None and self.current.limit is not None)

    @contextmanager
    def recording(self, limit: Fraction | None = None) -> Iterator[Recorder]:
        """A recorder for what is measured within the block; a block around it gets all of it too.

        A request has a *limit*, and none begins within another: only a signal handler could ask then, and one of the
        two would be given the answers of the other.
        """
        if self.within and limit is not None:
            raise BadInput(
                "a request is under way in this very thread, which a signal handler must have interrupted. Nothing was "
                "spent; ask again when the handler has returned."
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
