"""The receipt of a release: what was paid, from which budget, for what, on which day, and by which program.

It is published, so it has a date and no time: when a measurement began and ended tells something about the rows. The
times are in the ledger, which is the curator's.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from adyton import __version__
from adyton.exact import as_number
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.receipts import Debit


@dataclass(frozen=True)
class OpenReceipt:
    """All that a receipt says, as far as it is known before anything is paid."""

    ledger: Ledger
    dataset: str
    path: str | None
    total: Fraction
    spent: Fraction
    private: bool
    date: str
    """The day of the request: it does not depend on how long the answer took."""

    @classmethod
    def of(cls, kernel: Kernel[Any]) -> OpenReceipt:
        """The ledger as it is now."""
        assert isinstance(kernel.ledger, Ledger)
        report = kernel.ledger.report()
        today = datetime.now(UTC).date().isoformat()
        return cls(kernel.ledger, report.dataset, report.path, report.total, report.spent, kernel.private, today)

    def complete(self, unit: str, rows_per_unit: int, debits: Sequence[Debit]) -> dict[str, Any]:
        """The receipt for these debits. It cannot fail: the answer that it belongs to is paid for."""
        total, spent = self._account(debits)
        return {
            "dataset": self.dataset,
            "unit": unit,
            "rows_per_unit": rows_per_unit,
            "ledger": None if self.path is None else _readable(os.path.basename(self.path)),
            "total": as_number(total),
            "spent": as_number(spent),
            "remaining": as_number(total - spent),
            "entries": [
                {
                    "number": debit.number,
                    "epsilon": as_number(debit.amount),
                    "operator": debit.operator,
                    "lineage": list(debit.lineage),
                }
                for debit in debits
            ],
            "created": self.date,
            "versions": {"adyton": __version__, "python": platform.python_version(), "numpy": np.__version__},
            "private": self.private,
        }

    def _account(self, debits: Sequence[Debit]) -> tuple[Fraction, Fraction]:
        """The total and what was spent of it, by everybody; if the ledger cannot be read now, as far as is known."""
        try:
            report = self.ledger.report()
        except Exception:  # whatever it is
            return self.total, min(self.total, self.spent + sum((debit.amount for debit in debits), Fraction(0)))
        return report.total, report.spent


def _readable(name: str) -> str:
    """The name of a file as text that every file can hold."""
    return os.fsencode(name).decode("utf-8", "replace")
