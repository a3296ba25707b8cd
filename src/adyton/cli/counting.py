"""The noisy number of rows, and how it is printed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adyton.cli.charges import charged
from adyton.cli.console import notes, out, print_json
from adyton.errors import LedgerError
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from adyton.queries import Measurement
    from adyton.session import Session

_CONFIDENCE = 0.95
_UNCHECKED = (
    "Nothing has checked whether rows fit the schema: those whose value cannot be read satisfy no comparison and are "
    "not counted. A histogram of the attribute with --misfits tells how many there are."
)


def print_count(
    session: Session, amount: Fraction, where: str | None, ledger: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Count the rows, and print what came out."""
    before = _Account(session.ledger.dataset, session.total, session.spent)
    with charged(session, before.spent):
        answer = session.count(amount, where=where)
    after = before._replace(spent=_spent(session, before.spent + amount))
    _show_count(answer, amount, after, where, as_json=as_json, quiet=quiet, ledger=ledger)


class _Account(NamedTuple):
    """What is known of the ledger."""

    dataset: str
    total: Fraction
    spent: Fraction


def _spent(session: Session, known: Fraction) -> Fraction:
    """What was spent by everybody; as far as is known, if the ledger cannot be read now."""
    try:
        return session.spent
    except LedgerError:
        return known


def _show_count(
    answer: Measurement,
    amount: Fraction,
    account: _Account,
    where: str | None,
    *,
    as_json: bool,
    quiet: bool,
    ledger: Path | None,
) -> None:
    from adyton.noise.probabilities import discrete_laplace_radius

    radius = discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)
    if as_json:
        print_json(
            {
                "dataset": account.dataset,
                "where": where,
                "count": answer.value,
                "misfits": None,
                "private": answer.private,
                "variance": float(answer.variances[0]),
                "within": {"confidence": _CONFIDENCE, "radius": radius},
                "epsilon": as_number(amount),
                "total": as_number(account.total),
                "spent": as_number(account.spent),
                "remaining": as_number(account.total - account.spent),
            }
        )
        return
    out().print(f"{answer.value}")
    if quiet:
        return
    spent = f"Spent ε = {display(account.spent)} of {display(account.total)}"
    kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
    apart = f"at most {radius} apart" if radius else "equal"
    notes().print(f"The count is the true one plus noise; in 95 of 100 cases the two are {apart}. {spent}{kept}")
    if where is not None:
        notes().print(_UNCHECKED, soft_wrap=True)
