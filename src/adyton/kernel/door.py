"""The door between sources and the kernel that keeps their data: all that a plan can ask for goes through it.

A :class:`~adyton.kernel.kernel.Kernel` in this process is one; something that sends operators to a kernel elsewhere, in
the words of :mod:`adyton.kernel.wire`, is another. A plan cannot tell them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from adyton.exact import Rational

if TYPE_CHECKING:
    from adyton.kernel.ledger.records import Account
    from adyton.kernel.mechanisms import Mechanism
    from adyton.kernel.sources import Source
    from adyton.kernel.transforms import Transform


class Door(Protocol):
    """What a source asks of its kernel."""

    @property
    def budget(self) -> Account:
        """What may be spent in all, and what has been spent, by everybody who shares the ledger."""

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive sources: one, or one per part for a split. Costs nothing and reads nothing."""

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source; it is charged before the data are touched."""

    def afford(self, source: Source, epsilon: Rational) -> None:
        """Refuse a request of *epsilon* in all, made of several measurements, if there is not enough left for all."""
