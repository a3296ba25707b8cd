"""The receipt of a release: what was paid, from which budget, for what, when, and by which program."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection
from typing import Any

import numpy as np

from adyton import __version__
from adyton.exact import as_number
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.records import now


def receipt(kernel: Kernel[Any], unit: str, rows_per_unit: int, numbers: Collection[int]) -> dict[str, Any]:
    """The receipt for the entries of these numbers: the ledger as it is now, at one moment."""
    assert isinstance(kernel.ledger, Ledger)
    report = kernel.ledger.report()
    return {
        "dataset": report.dataset,
        "unit": unit,
        "rows_per_unit": rows_per_unit,
        "ledger": None if report.path is None else _readable(os.path.basename(report.path)),
        "total": as_number(report.total),
        "spent": as_number(report.spent),
        "remaining": as_number(report.remaining),
        "entries": [
            {
                "number": entry.number,
                "time": entry.time,
                "epsilon": as_number(entry.amount),
                "operator": entry.operator,
                "lineage": list(entry.lineage),
            }
            for entry in report.entries
            if entry.number in numbers
        ],
        "created": now(),
        "versions": {"adyton": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "private": kernel.private,
    }


def _readable(name: str) -> str:
    """The name of a file as text that every file can hold."""
    return os.fsencode(name).decode("utf-8", "replace")
