"""The accounts of a simulation: the same rules as a ledger's, kept in a plain object, thousands of times a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from adyton.kernel.ledger.records import Account, Settled
from adyton.kernel.ledger.terms import Terms


class Tally:
    """What a simulated kernel has spent. Public data need no durable record."""

    def __init__(self, total: Fraction, dataset: str) -> None:
        self._account = Account(dataset, total, Fraction(0))
        self._debits = 0

    path = None
    """A simulation keeps no file."""

    @property
    def dataset(self) -> str:
        """The name of the simulated data set."""
        return self._account.dataset

    @property
    def total(self) -> Fraction:
        """All that may ever be spent."""
        return self._account.total

    @property
    def spent(self) -> Fraction:
        """The sum of all debits so far."""
        return self._account.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self._account.remaining

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount* and return the number of the debit; a refused one changes nothing."""
        spent = self._account.spent + amount
        if spent > self._account.total:
            self._account.refuse(amount, None, "this simulation")
        self._account = replace(self._account, spent=spent)
        self._debits += 1
        return self._debits

    def settle(self, entry: int, status: Settled) -> None:
        """Nobody asks later what became of a simulated debit."""
