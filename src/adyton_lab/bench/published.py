"""What published implementations reach: dpcomp_core and εKTELO, the better of the two, on the DPBench histograms.

Times are in units of one sort of ten million doubles on the machine that they were measured on. Errors are
‖W·x̂ − W·x‖₂, geometric means over the data sets at each of the :data:`SCALES`. Their DAWA is not private as coded, nor
are their grids, which read the true number of rows.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

SCALES = (10**3, 10**5, 10**7)
"""Numbers of rows."""


def times(ndim: int, side: int) -> dict[str, float]:
    """By algorithm; nothing if nobody published any on such a domain."""
    found: dict[str, float] = tables()["times"].get(f"{ndim}/{side}", {})
    return found


def errors(ndim: int, side: int, epsilon: str, workload: str) -> dict[str, list[float]]:
    """By algorithm, at each of the scales; "best" is the best of all published algorithms at each scale."""
    found: dict[str, list[float]] = tables()["errors"].get(f"{ndim}/{side}/{epsilon}/{workload}", {})
    return found


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """All figures: times by dimensions and side, errors by dimensions, side, ε and workload."""
    tables: dict[str, Any] = json.loads((files("adyton_lab.bench") / "published.json").read_text(encoding="utf-8"))
    return tables
