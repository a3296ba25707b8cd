"""The words for a request that costs more than is left."""

from __future__ import annotations

from fractions import Fraction

from adyton.errors import BudgetExceeded
from adyton.exact import display


def beyond(asked: Fraction, left: Fraction, total: Fraction, stability: int = 1) -> BudgetExceeded:
    """The error for a request at a source of this stability that would debit *asked*, with *left* of *total* left."""
    dearer = f", up to {stability} times what it asks for at this source" if stability > 1 else ""
    here = " here" if stability > 1 else ""
    advice = f"Ask for at most {display(left / stability)}{here}, or open" if left and stability else "Open"
    return BudgetExceeded(
        f"this request costs ε = {display(asked)}{dearer}, but {display(left)} of {display(total)} is left. {advice} "
        "a new ledger with the data owner's consent.",
        asked=asked,
        left=left,
        total=total,
    )
