"""What a request may spend in all, on which terms, and what it has spent when something ends it early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from adyton.cli.console import InterruptedRelease, accept_large, notes, progress
from adyton.cli.paid import Paid
from adyton.errors import AdytonError, BadInput, Unfinished
from adyton.exact import budget, display
from adyton.interrupts import deferred
from adyton.messages import listing, shorten

if TYPE_CHECKING:
    from adyton.result.pending import Keeper, Measurements
    from adyton.result.staging import Place
    from adyton.schema import Schema

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
    from adyton.kernel.ledger.records import checked_total

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
    keeper: Keeper,
    ask: Callable[[], Answer],
    deliver: Callable[[Answer, KeyboardInterrupt | None], None],
    doing: str | None,
    *,
    place: Place | None = None,
    quiet: bool,
) -> None:
    """Carry out a request and *deliver* its result, whatever interrupts come before it is where it belongs.

    *keeper* has what was paid for. *deliver* is given the interrupt that came, if one did: then it puts down only what
    was paid for, and says so. Progress is shown where *doing* says what is done.
    """
    from adyton.result.pending import Measurements

    try:
        deliver(*_answered(keeper, ask, doing, place=place, quiet=quiet))
    except KeyboardInterrupt as came:  # after the answer, and before anything was done with it; or when all was done
        with deferred():
            found = keeper.last
            if place is not None and place.settled:
                raise InterruptedRelease(f"interrupted; {place.given} was written{_charge(found)}.", came) from None
            if isinstance(found, Measurements):
                raise InterruptedRelease(_kept(found, place), came) from None
            if found is None:
                raise InterruptedRelease("interrupted.", came) from None
            deliver(cast("Answer", found), came)


def _answered(
    keeper: Keeper, ask: Callable[[], Answer], doing: str | None, *, place: Place | None, quiet: bool
) -> tuple[Answer, KeyboardInterrupt | None]:
    """The result of a request, and the interrupt that came once it was paid for.

    Where there is no result, what was measured until then is put into its folder, or printed; the message says what was
    charged.
    """
    from adyton.result.pending import Measurements

    try:
        with nullcontext() if doing is None else progress(doing, quiet=quiet):
            return ask(), None
    except KeyboardInterrupt as came:
        bare = keeper.measurements
        if bare is not None and not bare.answers:
            raise InterruptedRelease(f"interrupted{_charge(bare)}.", came) from None
        found = _finished(keeper, bare, quiet=quiet)
        if found is None:
            raise InterruptedRelease("interrupted.", came) from None
        if not isinstance(found, Measurements):
            return cast("Answer", found), came
        raise InterruptedRelease(_kept(found, place), came) from None
    except Unfinished:
        found = keeper.last
        if not isinstance(found, Measurements):
            raise
        raise AdytonError(_kept(found, place)) from None


def _finished(keeper: Keeper, bare: Measurements | None, *, quiet: bool) -> object:
    """What the interrupted request has paid for: its result or, after a second interrupt, its bare measurements; None
    if there are none."""
    try:
        if bare is not None and not quiet:
            words = (
                "Interrupted after it was charged: the result is finished from what was measured. A second interrupt "
            )
            notes().print(f"{words}keeps the measurements as they are.", soft_wrap=True)
        return keeper.last
    except KeyboardInterrupt:
        return bare


def _kept(found: Measurements, place: Place | None) -> str:
    """Put measurements where nothing can happen to them; what there is to say of it."""
    paid = Paid("list of what was measured", found.epsilon, place, found.to_dict)
    if found.answers and place is not None:
        paid.put_down(lambda: found.save_in(place))
    elif found.answers:
        paid.print()
    return f"{found} {paid.kept() if found.answers else ''}".rstrip()


def _charge(found: Any) -> str:
    charged = getattr(found, "epsilon", Fraction(0))
    return f"; ε = {display(charged)} was charged already and stays spent" if charged else ""


def check_words(accept: Iterable[str]) -> None:
    """Refuse words that are no terms of a ledger."""
    from adyton.kernel.ledger.terms import PARTS

    for word in accept:
        if word not in PARTS:
            raise BadInput(f"--accept takes one of the words {listing(PARTS)}, given {shorten(word)}.")
