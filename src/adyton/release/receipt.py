"""The receipt of a release: what was paid, from which budget, for what, on which day, and by which program.

It is published, so it has a date and no time: when a measurement began and ended tells something about the rows. The
times are in the ledger, which is the curator's.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from adyton import __version__
from adyton.exact import as_number
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.records import Budgeted
from adyton.kernel.receipts import CHANGED, Debit


@dataclass(frozen=True)
class Receipt:
    """What a release cost, and whom that protects."""

    dataset: str
    unit: str
    """What is protected, in words."""
    rows_per_unit: int
    ledger: str | None
    """The name of the ledger's file; None for one in memory."""
    total: Fraction
    spent: Fraction
    """What was spent of the total by everybody, with this release."""
    created: str
    """The day of the request: it does not depend on how long the answer took."""
    versions: Mapping[str, str]
    private: bool
    """Whether the noise is real; if it is simulated, the release protects nobody."""
    entries: tuple[Debit, ...] = ()
    """The lines of the ledger that this release wrote."""

    @classmethod
    def opened(cls, kernel: Kernel[Any]) -> Receipt:
        """As far as it is known before anything is paid."""
        ledger = kernel.ledger
        account = ledger.report() if isinstance(ledger, Ledger) else ledger.budget
        path = ledger.path
        return cls(
            dataset=account.dataset,
            unit=kernel.terms.named_unit,
            rows_per_unit=kernel.terms.rows_per_unit,
            ledger=None if path is None else os.fsencode(os.path.basename(path)).decode("utf-8", "replace"),
            total=account.total,
            spent=account.spent,
            created=datetime.now(UTC).date().isoformat(),
            versions={"adyton": __version__, "python": platform.python_version(), "numpy": np.__version__},
            private=kernel.private,
        )

    def paid(self, ledger: Budgeted, debits: Sequence[Debit]) -> Receipt:
        """The receipt for these debits. It cannot fail: the answer that it belongs to is paid for."""
        try:
            account = ledger.budget
            total, spent = account.total, account.spent
        except Exception:  # whatever it is: then as far as is known
            total = self.total
            spent = min(total, self.spent + sum((debit.amount for debit in debits), Fraction(0)))
        return replace(self, total=total, spent=spent, entries=tuple(debits))

    @property
    def remaining(self) -> Fraction:
        """What is left of the total, after this release."""
        return self.total - self.spent

    @property
    def changed(self) -> bool:
        """Whether rows had changed, since the session was opened, when some of it was measured."""
        return any(CHANGED in debit.operator for debit in self.entries)

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "ledger": self.ledger,
            "total": as_number(self.total),
            "spent": as_number(self.spent),
            "remaining": as_number(self.remaining),
            "entries": [
                {
                    "number": debit.number,
                    "epsilon": as_number(debit.amount),
                    "operator": debit.operator,
                    "lineage": list(debit.lineage),
                }
                for debit in self.entries
            ],
            "created": self.created,
            "versions": dict(self.versions),
            "private": self.private,
        }
