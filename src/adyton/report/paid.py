"""What every page says about what was paid: the budget, what ε promises, and whom it protects."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.exact import display
from adyton.report.promise import factor
from adyton.result.receipt import Receipt


def paid_facts(receipt: Receipt, epsilon: Fraction, what: str) -> dict[str, Any]:
    """For templates: of something that cost ε, which is called *what* on the page."""
    return {
        "what": what,
        "receipt": receipt,
        "budget": _budget(receipt, epsilon),
        "factor": factor(epsilon),
        "sure": odds.chance(epsilon),
        "meaning": odds.in_words(epsilon, receipt.unit),
        "made": receipt.created,
        "counted": receipt.counted(),
        "display": display,
        **_protected(receipt),
    }


def _budget(receipt: Receipt, epsilon: Fraction) -> dict[str, Any]:
    """The budget of the data set afterwards: exact decimals, and parts of the whole."""
    total, remaining = receipt.total, receipt.remaining
    this = min(epsilon, total)
    before = max(Fraction(0), total - remaining - this)
    return {
        "this": display(epsilon),
        "before": display(before),
        "remaining": display(remaining),
        "total": display(total),
        "this_share": float(this / total),
        "before_share": float(before / total),
    }


def _protected(receipt: Receipt) -> dict[str, str]:
    """What one privacy unit is, in words; a unit without a name of its own tells its rows already."""
    unit, most = receipt.unit, receipt.rows_per_unit
    rows = f"{most} row{'s' * (most > 1)}"
    if receipt.enforced:
        return {"rows": rows, "protected": f"{unit} with all of its rows"}
    named = unit != "row" and not unit.endswith(rows)
    return {"rows": rows, "protected": f"{unit} (at most {rows})" if named else unit}
