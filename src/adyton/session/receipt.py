"""The receipt of a release: what was paid, from which budget, for what, when, and by which program."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np

from adyton import __version__
from adyton.exact import as_number
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger, Tally
from adyton.kernel.ledger.records import now
from adyton.kernel.sources import VectorSource


def last_entry(ledger: Ledger | Tally) -> int:
    """The number of the newest entry of a ledger; 0 if there is none."""
    entries = ledger.entries() if isinstance(ledger, Ledger) else []
    return entries[-1].number if entries else 0


def receipt(kernel: Kernel[Any], x: VectorSource, unit: str, rows_per_unit: int, after: int) -> dict[str, Any]:
    """The receipt for what was measured on a vector, in this process, after the entry of that number."""
    ledger = kernel.ledger
    entries = ledger.entries() if isinstance(ledger, Ledger) else []
    newer = [entry for entry in entries if entry.number > after and entry.process == os.getpid()]
    path = ledger.path if isinstance(ledger, Ledger) else None
    return {
        "dataset": ledger.dataset,
        "unit": unit,
        "rows_per_unit": rows_per_unit,
        "ledger": None if path is None else os.path.basename(path),
        "total": as_number(ledger.total),
        "spent": as_number(ledger.spent),
        "remaining": as_number(ledger.remaining),
        "entries": [
            {
                "number": entry.number,
                "time": entry.time,
                "epsilon": as_number(entry.amount),
                "operator": entry.operator,
                "lineage": list(entry.lineage),
            }
            for entry in newer
            if entry.lineage[: len(x.lineage)] == x.lineage
        ],
        "created": now(),
        "versions": {"adyton": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "private": kernel.private,
    }
