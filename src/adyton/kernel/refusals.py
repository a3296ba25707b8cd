"""The words for a request that costs more than is left."""

from __future__ import annotations

import os
from fractions import Fraction

from adyton.errors import BudgetExceeded
from adyton.exact import display
from adyton.kernel.ledger.records import what_to_do


def beyond(
    asked: Fraction, left: Fraction, total: Fraction, stability: int = 1, *, path: str | None = None
) -> BudgetExceeded:
    """The error for a request at a source of this stability that would debit *asked*, with *left* of *total* left.

    *path* is the ledger's, if it has one.
    """
    dearer = f", up to {stability} times what it asks for at this source" if stability > 1 else ""
    here = " here" if stability > 1 else ""
    advice = what_to_do(left / max(1, stability), None if path is None else os.path.basename(path), here)
    return BudgetExceeded(
        f"this request costs ε = {display(asked)}{dearer}, but {display(left)} of {display(total)} is left. {advice}",
        asked=asked,
        left=left,
        total=total,
    )
