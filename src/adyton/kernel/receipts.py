"""Which entries of a ledger a block of code has caused: threads that share a kernel do not see each other's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Receipts:
    """Collects the numbers of entries, in each thread for itself.

    >>> receipts = Receipts()
    >>> with receipts.collected() as numbers:
    ...     receipts.note(7)
    >>> numbers
    [7]
    """

    def __init__(self) -> None:
        self._open = threading.local()

    @contextmanager
    def collected(self) -> Iterator[list[int]]:
        """The numbers that are noted within the block, in a list that grows; a block around it gets them too."""
        outer: list[int] | None = getattr(self._open, "numbers", None)
        numbers: list[int] = []
        self._open.numbers = numbers
        try:
            yield numbers
        finally:
            if outer is not None:
                outer.extend(numbers)
            self._open.numbers = outer

    def note(self, entry: int) -> None:
        """An entry was made; forgotten where no block is open."""
        numbers: list[int] | None = getattr(self._open, "numbers", None)
        if numbers is not None:
            numbers.append(entry)
