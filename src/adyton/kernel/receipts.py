"""Which debits a block of code has caused: threads that share a kernel do not see each other's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

CHANGED = "the rows have changed since the session was opened"
"""What entries of the ledger say from then on."""


class Debit(NamedTuple):
    """What is known of an entry of the ledger once it is made: nobody has to read it again."""

    number: int
    amount: Fraction
    operator: str
    lineage: tuple[str, ...]


class Receipts:
    """Collects debits, in each thread for itself.

    >>> receipts = Receipts()
    >>> with receipts.collected() as debits:
    ...     receipts.note(Debit(7, Fraction(1, 2), "noisy count", ("visits",)))
    >>> debits[0].number
    7
    """

    def __init__(self) -> None:
        self._open = threading.local()

    @contextmanager
    def collected(self) -> Iterator[list[Debit]]:
        """The debits that are noted within the block, in a list that grows; a block around it gets them too."""
        outer: list[Debit] | None = getattr(self._open, "debits", None)
        debits: list[Debit] = []
        self._open.debits = debits
        try:
            yield debits
        finally:
            if outer is not None:
                outer.extend(debits)
            self._open.debits = outer

    def note(self, debit: Debit) -> None:
        """A debit was made; forgotten where no block is open."""
        debits: list[Debit] | None = getattr(self._open, "debits", None)
        if debits is not None:
            debits.append(debit)
