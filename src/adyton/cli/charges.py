"""What a request may spend in all, on which terms, and what it has spent when something ends it early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from adyton.cli.console import InterruptedRelease, accept_large, notes, progress
from adyton.cli.paid import Paid
from adyton.errors import AdytonError, BadInput, LedgerError, Unfinished
from adyton.exact import budget, display
from adyton.interrupts import deferred
from adyton.messages import listing, shorten

if TYPE_CHECKING:
    from adyton.result.pending import Measurements
    from adyton.result.staging import Place
    from adyton.schema import Schema
    from adyton.session import Session

Answer = TypeVar("Answer")
"""A release, or a model."""


def allowed_total(
    amount: Fraction,
    total: str | None,
    schema: Schema,
    ledger: Path | None,
    *,
    yes: bool,
    quiet: bool,
    what: str = "a release",
) -> Fraction:
    """What may be spent in all, with the consent that large budgets take."""
    from adyton.kernel.opening import checked_total

    allowed = checked_total(total_of(amount, total, ledger))
    unit = _unit(schema, ledger)
    accept_large(amount, what, unit, yes=yes, quiet=quiet)
    if total is not None and allowed > amount:
        accept_large(allowed, "a total", unit, yes=yes, quiet=quiet)
    return allowed


def total_of(asked_for: Fraction, total: str | None, ledger: Path | None) -> Fraction:
    """What may be spent in all: what the ledger holds; for a new one, what was asked for; without one, this release."""
    given = None if total is None else budget(total, "--total")
    if given is not None and asked_for > given:
        raise BadInput(f"--epsilon {display(asked_for)} is more than --total {total}. Ask for less, or allow more.")
    if ledger is None:
        return given or asked_for
    if ledger.is_file():
        from adyton.kernel.ledger import Ledger

        held = Ledger.read(ledger).total
        if given not in (None, held):
            raise BadInput(
                f"{ledger} has a total of {display(held)}, given --total {total}. Leave --total out; with the data "
                f"owner's consent, adyton ledger raise {ledger} --total … raises it."
            )
        return held
    if given is None and not ledger.exists():
        raise BadInput(f"{ledger} does not exist yet. Say what may be spent in all, for example --total 1.")
    return given or asked_for


def _unit(schema: Schema, ledger: Path | None) -> str:
    """What is protected, in the words of the report."""
    from adyton.kernel.ledger import Ledger
    from adyton.kernel.ledger.terms import Terms, given_terms

    kept = Ledger.read(ledger).terms if ledger is not None and ledger.is_file() else None
    return given_terms(kept, Terms.of(schema.to_dict(), schema.rows_per_unit)).named_unit


def delivered(
    session: Session,
    ask: Callable[[], Answer],
    deliver: Callable[[Answer, KeyboardInterrupt | None], None],
    doing: str,
    *,
    place: Place | None = None,
    quiet: bool,
) -> None:
    """Carry out a request and *deliver* its result, whatever interrupts come before it is where it belongs.

    *deliver* is given the interrupt that came, if one did: then it puts down only what was paid for, and says so.
    """
    from adyton.result.pending import Measurements

    before = session.spent
    try:
        deliver(*_answered(session, ask, doing, place=place, quiet=quiet))
    except KeyboardInterrupt as came:  # after the answer, and before anything was done with it; or when all was done
        with deferred():
            found = session.last
            if place is not None and place.settled:
                raise InterruptedRelease(
                    f"interrupted; {place.given} was written{_charge(session, before)}.", came
                ) from None
            if isinstance(found, Measurements):
                raise InterruptedRelease(_kept(found, place), came) from None
            if found is None:
                raise InterruptedRelease(f"interrupted{_charge(session, before)}.", came) from None
            deliver(cast("Answer", found), came)


def _answered(
    session: Session, ask: Callable[[], Answer], doing: str, *, place: Place | None, quiet: bool
) -> tuple[Answer, KeyboardInterrupt | None]:
    """The result of a request, and the interrupt that came once it was paid for.

    Where there is no result, what was measured until then is put into its folder, or printed; the message says what was
    charged.
    """
    from adyton.result.pending import Measurements

    before = session.spent
    try:
        with progress(doing, quiet=quiet):
            return ask(), None
    except KeyboardInterrupt as came:
        found = _finished(session, quiet=quiet)
        if found is None:
            raise InterruptedRelease(f"interrupted{_charge(session, before)}.", came) from None
        if not isinstance(found, Measurements):
            return cast("Answer", found), came
        raise InterruptedRelease(_kept(found, place), came) from None
    except Unfinished:
        found = session.last
        if not isinstance(found, Measurements):
            raise
        raise AdytonError(_kept(found, place)) from None


def _finished(session: Session, *, quiet: bool) -> object:
    """What the interrupted request has paid for: its result or, after a second interrupt, its bare measurements; None
    if there are none."""
    bare = session.measurements
    if bare is not None and not bare.answers:
        return None
    try:
        if bare is not None and not quiet:
            words = (
                "Interrupted after it was charged: the result is finished from what was measured. A second interrupt "
            )
            notes().print(f"{words}keeps the measurements as they are.", soft_wrap=True)
        return session.last
    except KeyboardInterrupt:
        return bare


def _kept(found: Measurements, place: Place | None) -> str:
    """Put measurements where nothing can happen to them; what there is to say of it."""
    paid = Paid("what was measured", "What was measured is", found.epsilon, place, found.to_dict)
    if found.answers and place is not None:
        paid.put_down(lambda: found.save_in(place))
    elif found.answers:
        paid.print()
    return f"{found} {paid.kept() if found.answers else ''}".rstrip()


def check_words(accept: Iterable[str]) -> None:
    """Refuse words that are no terms of a ledger."""
    from adyton.kernel.ledger.terms import PARTS

    for word in accept:
        if word not in PARTS:
            raise BadInput(f"--accept takes one of the words {listing(PARTS)}, given {shorten(word)}.")


def _charge(session: Session, before: Fraction) -> str:
    try:
        charged = session.spent - before
    except LedgerError:
        return "; what was charged, if anything, is in the ledger and stays spent"
    return f"; ε = {display(charged)} was charged already and stays spent" if charged else ""
