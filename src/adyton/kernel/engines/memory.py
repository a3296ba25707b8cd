"""How much memory an engine of our own takes: DuckDB keeps the pages of a stored table that it has read, up to a limit.

Claim.  A count does not fail for the limit, and what it finds does not depend on it.
Proof.  What fails under a limit is asked again without it. A query gives the same counts in either case.  ∎
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from adyton.kernel.sealed import quietly

Result = TypeVar("Result")
PER_THREAD = 32 << 20
"""For a pass over the rows."""
PER_CELL = 128
"""For a hash table that counts."""
SUMS = 1 << 28
"""For sums, and for texts that are counted before they are looked up."""


class Memory:
    """The limit of one connection of our own. Where nothing is said it is DuckDB's: four fifths of the machine's."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._limits: list[int] = []

    @contextmanager
    def limit(self, size: int) -> Iterator[None]:
        """Within, DuckDB has so many bytes: pages beyond that are let go."""
        self._limits.append(size)
        try:
            self._set()
            yield
        finally:
            self._limits.pop()
            self._set()

    @contextmanager
    def wider(self, size: int) -> Iterator[None]:
        """Within, so many bytes more than a pass over the rows has; without any limit, there is none here either."""
        with self.limit(self._pass() + size) if self._limits else nullcontext():
            yield

    def in_passing(self, work: Callable[[], Result]) -> Result | None:
        """What *work* finds with memory for a pass over the rows; None if it fails, for whatever reason."""

        def limited() -> Result:
            with self.limit(self._pass()):
                return work()

        return quietly(limited)

    def _set(self) -> None:
        self._connection.execute(f"set memory_limit = '{self._limits[-1]}B'" if self._limits else "reset memory_limit")

    def _pass(self) -> int:
        (threads,) = self._connection.execute("select current_setting('threads')").fetchone()
        return (int(threads) + 1) * PER_THREAD
