"""The noisy number of rows, and how it is printed."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.charges import delivered
from adyton.cli.console import notes, out, print_json, printable
from adyton.cli.paid import Paid
from adyton.errors import AdytonError, LedgerError
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from adyton.queries import Measurement
    from adyton.result import Release
    from adyton.result.cut_off import CutOff
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
    cut_off: int | None = None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Count the rows, the units that have some, or what their limit cuts off, and print what came out."""
    from adyton.noise.probabilities import discrete_laplace_radius
    from adyton.result.receipt import RowsCounted

    if cut_off is not None:
        _print_left_out(session, amount, cut_off, ledger, as_json=as_json, quiet=quiet)
        return
    dataset, total, before = session.ledger.dataset, session.total, session.spent
    ask = partial(session.count_units if units else session.count, amount, where=where)

    def show(answer: Measurement, interrupt: KeyboardInterrupt | None) -> None:
        try:
            spent = session.spent
        except LedgerError:  # the ledger cannot be read now: as far as is known
            spent = before + amount
        radius = discrete_laplace_radius(1 / answer.epsilon, _CONFIDENCE)
        counted = RowsCounted.once(session.unit) if units else session.counted
        of = f" {counted.what()}" if counted and not quiet else ""
        plain = {
            "dataset": dataset,
            "where": where,
            "counted": counted.sentence or None,
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
            said = printable(f"{answer.value}{of}")
            paid.show(lambda: print_json(plain) if as_json else out().print(said, soft_wrap=True))
        except BrokenPipeError:
            paid.print()
            raise AdytonError(f"the count could not be printed, because nobody reads it. {paid.kept()}") from None
        if interrupt is not None:
            raise paid.interrupted(interrupt)
        if as_json:
            return
        if counted or where:
            notes().print(printable(counted.first(where)), soft_wrap=True)
        if quiet:
            return
        charge = f"Spent ε = {display(spent)} of {display(total)}"
        kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
        apart = f"at most {radius} apart" if radius else "equal"
        true = "true number of these" if counted else "true one"
        notes().print(f"The count is the {true} plus noise; in 95 of 100 cases the two are {apart}. {charge}{kept}")
        if where is not None:
            notes().print(_UNCHECKED, soft_wrap=True)

    delivered(session, ask, show, "counting", quiet=quiet or as_json)


def print_cut_off(release: Release) -> None:
    """What some limits on the rows of a unit would cut off."""
    from adyton.result.cut_off import cut_off

    for one in cut_off(release):
        notes().print(printable(f"{one}."), soft_wrap=True)


def _print_left_out(
    session: Session, amount: Fraction, most: int, ledger: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Measure what the limit on the rows of a unit leaves out, and print it."""
    total, before = session.total, session.spent

    def show(found: CutOff, interrupt: KeyboardInterrupt | None) -> None:
        try:
            spent = session.spent
        except LedgerError:  # the ledger cannot be read now: as far as is known
            spent = before + amount
        amounts = {"epsilon": amount, "total": total, "spent": spent, "remaining": total - spent}
        plain = {"of": session.unit, **found.to_plain(), **{name: as_number(one) for name, one in amounts.items()}}
        paid = Paid("what was counted", "What was counted is", amount, None, lambda: plain)
        paid.show(lambda: print_json(plain) if as_json else out().print(printable(f"{found}."), soft_wrap=True))
        if interrupt is not None:
            raise paid.interrupted(interrupt)
        if not (quiet or as_json):
            kept = f", recorded in {ledger}." if ledger else ". Nothing remembers it: give --ledger FILE to keep count."
            notes().print(f"Spent ε = {display(spent)} of {display(total)}{kept}", soft_wrap=True)

    delivered(session, lambda: session.cut_off(amount, most=most), show, "counting", quiet=quiet or as_json)
