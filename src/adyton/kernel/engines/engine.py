"""What is asked of an engine: to turn values into plain ones without ever failing, to count, and to be stopped.

An engine is one connection. Whatever it computes of a row is a total function of that row: no value of any type makes
it fail, and equal rows get equal numbers on every engine. Only numbers of rows, and sums, come back from it. How a
value finds its cell is written once for all engines, in :mod:`adyton.kernel.tables`, with what differs asked for here.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

from adyton.arrays import Array, Integers
from adyton.errors import KernelFailure
from adyton.kernel.sealed import interruptible

Counted = tuple[Integers, Integers]
"""The values of a column, and how many rows have each."""
Result = TypeVar("Result")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_EXACT = float(1 << 53)
_READINGS = 3
"""So often rows are read that change meanwhile, before that counts as a failure."""
one_at_a_time = threading.RLock()
"""One query at a time: tables may share a connection, and a connection runs one query at a time. A forked child gets a
lock of its own: the thread that held this one while the process forked does not exist there."""


def _renew() -> None:
    global one_at_a_time
    one_at_a_time = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class Engine(ABC):
    """A connection to an engine, and what it does in its own way."""

    name: ClassVar[str]
    """Ibis's name of it."""
    title: ClassVar[str]
    """What people call it."""
    few_levels: ClassVar[int] = 0
    """So many levels are compared one by one; more of them are joined."""
    text_end: ClassVar[str] = "$"
    """The end of a text, and nothing else, in a regular expression."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self._query = threading.Lock()
        self.expected: Hashable = None
        """The moment that rows must be of; None where any one moment will do."""

    # ---- moments ----------------------------------------------------------------------------------------------------

    @property
    def steady(self) -> bool:
        """Whether several queries can be asked of the rows as they are at one moment."""
        return False

    def hold(self) -> None:  # noqa: B027
        """From now on all queries see the rows of one moment, where the engine can do that."""

    def moment(self) -> Hashable:
        """What stays the same as long as the rows certainly do; None where nobody can tell."""
        return None

    # ---- opening ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def check_stored(self, name: str, catalog: str | None, database: str | None) -> None:
        """An error unless a name stands for a stored table."""

    def plain(self, table: Any, exact: Collection[str] = ()) -> Any:
        """The table with its columns in types of which every value can be computed with; decimals stay in *exact*."""
        return table

    def try_out(self, table: Any) -> bool:
        """Whether the engine will take the query for a table, and let us read it: told without looking at a row."""
        return True

    def fenced(self, table: Any) -> Any:
        """The same table, of which every expression is computed once."""
        return table

    # ---- values -----------------------------------------------------------------------------------------------------

    def constant(self, text: str) -> Any:
        """A public text, sign by sign, whatever it holds."""
        import ibis

        return ibis.literal(text)

    @abstractmethod
    def number(self, text: Any) -> Any:
        """A text without blanks around it read as a double; null if it is none."""

    def truth(self, text: Any) -> Any:
        """A text without blanks around it read as a boolean; null if it is none."""
        import ibis

        word = text.lower()
        return ibis.cases((word.isin(_TRUE), True), (word.isin(_FALSE), False), else_=ibis.null("boolean"))

    def number_text(self, number: Any) -> Any:
        """The text of a double: digits alone for a whole number; null for not-a-number."""
        return self.digits_or(number, self.fraction_text(number))

    def exact_text(self, number: Any) -> Any:
        """The same with the bits of a fraction behind a space: texts are equal if the numbers are, on every engine."""
        return self.digits_or(number, " " + self.bits(number))

    def digits_or(self, number: Any, otherwise: Any) -> Any:
        """The digits of a double that is a whole number; another text for others; null for not-a-number."""
        import ibis

        whole = self.whole(number)
        is_whole = number.between(-_EXACT, _EXACT) & (whole.cast("float64") == number)
        infinite = (number == float("inf"), "inf"), (number == -float("inf"), "-inf")
        known = number.notnull() & ~number.isnan()
        return ibis.cases((is_whole, whole.cast("string")), *infinite, (known, otherwise))

    def whole(self, number: Any) -> Any:
        """A double as a whole number, if it is one up to 2^53; else null, or any number."""
        import ibis

        return ibis.greatest(ibis.least(number, _EXACT), -_EXACT).cast("int64")

    def fraction_text(self, number: Any) -> Any:
        """The shortest text that is read as this double again."""
        return number.cast("string")

    @abstractmethod
    def bits(self, number: Any) -> Any:
        """The bits of a finite double that is not zero, in hexadecimal digits without zeros before them."""

    @abstractmethod
    def decimal_text(self, decimal: Any) -> Any:
        """The digits of a decimal, without zeros at the end."""

    def same_bytes(self, column: Any) -> Any:
        """What is equal, and comes first, as the bytes of texts do; a column of anything else as it is."""
        return column

    def text_of(self, same_bytes: Any) -> Any:
        """The text again."""
        return same_bytes

    def digest(self, text: Any) -> Any:
        """A text's digest, in digits that sort the same everywhere."""
        return engine_function("md5", str, str)(text)

    def hexadecimal(self, raw: Any) -> Any:
        """The hexadecimal digits of bytes; null for none."""
        return engine_function("hex", bytes, str)(raw).nullif("")

    def small(self, number: Any, largest: int) -> Any:
        """A whole number, or a double, that may be anything: null, or any number, if it is not from 0 to *largest*."""
        return number.cast("int64")

    def bin_of(self, value: Any, edges: Sequence[float]) -> Any | None:
        """How many of the inner edges lie at or below a value, by a search in its pass; None if it has none."""
        return None

    @abstractmethod
    def length(self, column: Any) -> Any:
        """The seconds of a duration, as a double."""

    def total(self, column: Any) -> Any:
        """The sum of whole numbers, in a type that is long enough."""
        return column.sum()

    # ---- counting ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def lookup(self, columns: Mapping[str, Sequence[Any] | Array], kinds: Mapping[str, str]) -> Any:
        """A small public table, to be joined with; *kinds* are Ibis's types."""

    @abstractmethod
    def fetched(self, expression: Any) -> dict[str, Array]:
        """The columns of a result."""

    @abstractmethod
    def counted(self, rows: Any, sizes: Sequence[int]) -> list[Counted]:
        """How many rows have each value, for every column of a table without nulls: in one pass over the rows.

        *sizes* are bounds of the values of each column, which are whole numbers from 0 on.
        """

    @abstractmethod
    def batches(self, rows: Any, rows_at_a_time: int) -> Iterator[Any]:
        """Rows as Arrow's batches, in their order."""

    def stopping(self) -> Callable[[], None] | None:
        """What ends the query that this thread is about to run, from another thread."""
        return None

    def run(self, work: Callable[[], Result]) -> Result:
        """Run on the engine, on the rows of one moment: what was read while they changed is read again.

        Claim.  What comes back was read from one state of the rows, wherever the engine can tell; and from that of the
        expected moment, if there is one.
        Proof.  A moment that is the same before and after the reading has not changed in between.  ∎
        """
        for _ in range(_READINGS):
            moment = self.moment()
            if self.expected not in (None, moment):
                break
            result = self._read(work)
            if self.moment() == moment:
                return result
        raise KernelFailure

    def _read(self, work: Callable[[], Result]) -> Result:
        """Once. Whatever the engine says when it fails may quote a row, so that the error is always the same."""
        with one_at_a_time:
            result = interruptible(lambda: self._after_others(work), self.stopping())
        if result is None:
            raise KernelFailure
        return result

    def _after_others(self, work: Callable[[], Result]) -> Result:
        """A query that was interrupted twice may still be under way, in the thread that holds the lock."""
        with self._query:
            return work()


def sets_of(names: Sequence[str], query: str) -> str:
    """A query for the counts of every column by itself: in each line of the result all columns but one are null."""
    quoted = [f'"{name}"' for name in names]
    groups = quoted[0] if len(quoted) == 1 else f"grouping sets ({', '.join(f'({name})' for name in quoted)})"
    return f"select {', '.join(quoted)}, count(*) from ({query}) as counted_rows group by {groups}"


@cache
def engine_function(name: str, takes: Any, gives: Any) -> Any:
    """A function of one argument, or of a tuple of them, that the engine has under this name."""
    import ibis

    signature = (takes if isinstance(takes, tuple) else (takes,), gives)
    called = (_never_called, _never_called_with_two, _never_called_with_three)[len(signature[0]) - 1]
    return ibis.udf.scalar.builtin(called, name=name, signature=signature)


def _never_called(value: Any) -> Any:
    raise AssertionError(value)  # the name stands for the engine's own function


def _never_called_with_two(value: Any, other: Any) -> Any:
    raise AssertionError(value, other)


def _never_called_with_three(value: Any, other: Any, third: Any) -> Any:
    raise AssertionError(value, other, third)
