"""The accounts of a simulation: the same rules as a ledger's, kept in a plain object, thousands of times a second."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.kernel.ledger.records import Account, Budgeted, Settled, refusal
from adyton.kernel.ledger.terms import Terms


class Tally(Budgeted):
    """What a simulated kernel has spent. Public data need no durable record."""

    path = None
    """A simulation keeps no file."""

    def __init__(self, total: Fraction, dataset: str) -> None:
        self.dataset = dataset
        self._account = Account(dataset, total, Fraction(0))
        self._debits = 0

    @property
    def budget(self) -> Account:
        """The account as it is now."""
        return self._account

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount* and return the number of the debit; a refused one changes nothing."""
        before, total = self._account.spent, self._account.total
        spent = before + amount if before else amount
        if spent > total:
            raise refusal(amount, self._account.remaining, total, None, place="this simulation")
        self._account = Account(self.dataset, total, spent)
        self._debits += 1
        return self._debits

    def settle(self, entry: int, status: Settled) -> None:
        """Nobody asks later what became of a simulated debit."""
