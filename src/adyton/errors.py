"""The errors that Adyton raises, and its warnings.

A message says what was given, what is allowed and what to do. It never says anything about the rows: everything in it
comes from the caller's input, the schema or the ledger.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial


class AdytonError(Exception):
    """The base of every error that Adyton raises on purpose."""


class BadInput(AdytonError, ValueError):
    """An argument or input that is not allowed. Nothing was spent."""


class SchemaError(BadInput):
    """A schema that cannot be used, or a table without the columns that the schema declares."""


class PredicateError(BadInput):
    """A ``where`` text outside the predicate language."""


class LedgerError(AdytonError):
    """A ledger that cannot be opened, read or written. Nothing was spent."""


class LedgerMismatch(LedgerError):
    """A ledger that belongs to another data set, was opened with another total, or protects another unit.

    *way* says how the data owner's consent changes that in Python or in a shell; ``plain`` is the message without it.
    """

    def __init__(self, message: str, way: str = "") -> None:
        super().__init__(f"{message} {way}" if way else message)
        self.plain = message


class BudgetExceeded(AdytonError):
    """A request for more budget than is left. Nothing was spent."""

    def __init__(self, message: str, *, asked: Fraction, left: Fraction, total: Fraction) -> None:
        super().__init__(message)
        self.asked, self.left, self.total = asked, left, total

    def __reduce__(self) -> tuple[object, ...]:
        return partial(BudgetExceeded, asked=self.asked, left=self.left, total=self.total), (str(self),)


class KernelFailure(AdytonError):
    """A measurement failed inside the kernel. The message is always the same, whatever the data were."""

    def __init__(self) -> None:
        super().__init__(
            "The measurement failed inside the kernel; the budget it was charged stays spent. "
            "Check that the data source is still readable, then ask again."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return KernelFailure, ()


class Unfinished(AdytonError):
    """A request that ended after it was charged and before there was a result. Its measurements are kept."""


class ServiceError(AdytonError):
    """A service that cannot be reached, or that refuses what it was asked: its address, the token, what is allowed."""


class Waiting(AdytonError):
    """A request to a service that waits for the curator's consent. Nothing was spent; *id* is its name there."""

    def __init__(self, message: str, *, id: str) -> None:
        super().__init__(message)
        self.id = id

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Waiting, id=self.id), (str(self),)


class LargeBudget(UserWarning):
    """A total or a release whose ε protects little. It is not refused."""


class RowsChanged(UserWarning):
    """Rows that changed while a kernel was open: some answers are about the rows before, some about those after."""


class UnfinishedRelease(UserWarning):
    """A release of several measurements that ended between two of them. The measurements made are kept."""
