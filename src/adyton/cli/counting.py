"""The noisy number of rows, and how it is printed."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.charges import answered
from adyton.cli.console import notes, out, print_json, printable
from adyton.cli.paid import Paid
from adyton.errors import AdytonError, LedgerError
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from adyton.release import Release
    from adyton.session import Session

_CONFIDENCE = 0.95
_UNCHECKED = (
    "Nothing has checked whether rows fit the schema: those whose value cannot be read satisfy no comparison and are "
    "not counted. A histogram of the attribute with --misfits tells how many there are."
)


def print_count(
    session: Session,
    amount: Fraction,
    where: str | None,
    ledger: Path | None,
    *,
    units: bool = False,
    as_json: bool,
    quiet: bool,
) -> None:
    """Count the rows, or the units that have some, and print what came out."""
    from adyton.noise.probabilities import discrete_laplace_radius

    dataset, total, before = session.ledger.dataset, session.total, session.spent
    ask = partial(session.count_units if units else session.count, amount, where=where)
    answer, interrupt = answered(session, ask, "counting", quiet=quiet or as_json)
    try:
        spent = session.spent
    except LedgerError:  # the ledger cannot be read now: as far as is known
        spent = before + amount
    radius = discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)
    plain = {
        "dataset": dataset,
        "where": where,
        "count": answer.value,
        "of": session.unit if units else "rows",
        "misfits": None,
        "private": answer.private,
        "variance": float(answer.variances[0]),
        "within": {"confidence": _CONFIDENCE, "radius": radius},
        "epsilon": as_number(amount),
        "total": as_number(total),
        "spent": as_number(spent),
        "remaining": as_number(total - spent),
    }
    paid = Paid("the count", "The count is", amount, None, lambda: plain)
    try:
        paid.show(lambda: print_json(plain) if as_json else out().print(f"{answer.value}"))
    except BrokenPipeError:
        paid.print()
        raise AdytonError(f"the count could not be printed, because nobody reads it. {paid.kept()}") from None
    if interrupt is not None:
        raise paid.interrupted(interrupt)
    if as_json or quiet:
        return
    charge = f"Spent ε = {display(spent)} of {display(total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    apart = f"at most {radius} apart" if radius else "equal"
    notes().print(f"The count is the true one plus noise; in 95 of 100 cases the two are {apart}. {charge}{kept}")
    if where is not None:
        notes().print(_UNCHECKED, soft_wrap=True)


def print_cut_off(release: Release) -> None:
    """What some limits on the rows of a unit would cut off."""
    from adyton.release.cut_off import cut_off

    for one in cut_off(release):
        notes().print(printable(f"{one}."), soft_wrap=True)
