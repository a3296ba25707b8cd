"""What is said of a release that ended early: what happened, what was charged, and what came out until then."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.choice.bought import Bought
from adyton.errors import AdytonError
from adyton.exact import display
from adyton.kernel.receipts import Debit
from adyton.release.misfits import Misfits


def in_short(cause: BaseException) -> str:
    """What happened. Messages say nothing about rows; of other errors only the kind is told."""
    what = str(cause).rstrip(".") if isinstance(cause, AdytonError) else type(cause).__name__
    return f"the release ended early ({what})."


def charge_of(debits: Sequence[Debit]) -> str:
    """What it cost all the same."""
    return f"ε = {display(sum((debit.amount for debit in debits), Fraction(0)))} was charged and stays spent."


def nothing_measured(
    cause: BaseException, bought: Sequence[Bought], counted: Misfits | None, debits: Sequence[Debit]
) -> BaseException:
    """The error of a release that ended before there was anything to hand out, with all that was paid for until then:
    looks at the data, and the count of misfits."""
    found = [f"{look.words}, {look.value:,.6g} ± {look.deviation:,.3g}" for look in bought]
    found += [] if counted is None else [f"misfits: {counted.in_words().rstrip('.')}"]
    if not found:
        return cause
    came = f"Until then came out: {'; '.join(found)}."
    if isinstance(cause, Exception):
        return AdytonError(f"{in_short(cause)} {charge_of(debits)} {came}")
    cause.add_note(came)  # somebody ended the program
    return cause
