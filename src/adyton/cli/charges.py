"""What a request may spend in all, on which terms, and what it has spent when something ends it early."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from adyton.cli.console import InterruptedRelease, accept_large, notes, output_is_open, print_json, progress
from adyton.errors import AdytonError, BadInput, Unfinished
from adyton.exact import budget, display
from adyton.interrupts import deferred
from adyton.messages import listing, shorten

if TYPE_CHECKING:
    from adyton.result.pending import Keeper, Measurements
    from adyton.result.staging import Place
    from adyton.schema import Schema


Saved = TypeVar("Saved")


# ---- before anything is paid ----------------------------------------------------------------------------------------


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


@dataclass
class Paid:
    """Something that was paid for, the folder that it goes to, if any, and the words for it."""

    noun: str
    """What it is called: “release”."""
    epsilon: Fraction
    place: Place | None
    plain: Callable[[], dict[str, Any]]
    """All of it, as it is printed where it cannot be written."""
    _printed: str = field(default="printed", init=False)
    """Where it was printed."""

    def put_down(self, save: Callable[[], Saved]) -> Saved:
        """Have it where nothing can happen to it: in the folder, or else on standard output."""
        try:
            return save()
        except KeyboardInterrupt as interrupt:  # it may hide that the folder could not be written
            if not self._settled:
                self.print()
            raise self.interrupted(interrupt) from None
        except Exception as error:
            if self._settled:  # all of it is on the disk, and the message says where
                raise
            self.print()
            raise AdytonError(
                f"the {self.noun} could not be written ({reason_of(error)}). It is paid for, so all of it is "
                f"{self._printed} instead: keep that in a .json file, which ad.load and `adyton explain` open."
            ) from None

    def print(self) -> None:
        """All of it, whatever interrupts come: on standard output, on standard error, or in a file of its own."""
        with deferred():
            self._printed = printed(self.plain())

    def show(self, printing: Callable[[], None], *, needed: bool = False) -> None:
        """Print it in words. Where that fails and no folder has it, all of it is printed elsewhere; where it is so
        short that a reader takes all of it or nothing (*needed*), also if nobody reads it."""
        try:
            with nullcontext() if self._settled else deferred():
                printing()
                sys.stdout.flush()
        except BrokenPipeError:
            if not needed:
                raise  # the reader, such as head, has seen enough
            self.print()
            raise AdytonError(f"the {self.noun} could not be printed: nobody reads it. {self.kept()}") from None
        except (OSError, ValueError) as error:
            if not self._settled:
                self.print()
            raise AdytonError(f"the {self.noun} could not be printed ({reason_of(error)}). {self.kept()}") from None

    def interrupted(self, came: KeyboardInterrupt) -> InterruptedRelease:
        """The error that says what became of it."""
        return InterruptedRelease(f"interrupted. {self.kept()}", came)

    def kept(self) -> str:
        """Where it is, and what it cost."""
        where = self._printed
        if self.place is not None and self.place.settled:
            where = f"in {self.place.there}"
        return f"The {self.noun} is {where}; ε = {display(self.epsilon)} was charged for it and stays spent."

    @property
    def _settled(self) -> bool:
        return self.place is not None and self.place.settled


def printed(plain: dict[str, Any]) -> str:
    """Print plain values as JSON where they can be printed; where that was, in words. A terminal that was closed takes
    nothing any more, and a disk may be full: then the next place is tried."""
    for stream, where in ((sys.stdout, "printed"), (sys.stderr, "printed on standard error")):
        with suppress(OSError, ValueError):
            if output_is_open() or stream is sys.stderr:
                print_json(plain, stream)
                stream.flush()
                return where
    for folder in (".", tempfile.gettempdir()):
        with suppress(OSError):
            file = os.path.join(folder, f"adyton-{secrets.token_hex(4)}.json")
            with open(file, "x", encoding="utf-8") as opened:
                print_json(plain, opened)
            return f"in {file}"
    raise AdytonError("the answer was paid for, and there is no place that takes it: not even a temporary file.")


def reason_of(error: BaseException) -> str:
    """Why something failed: in words that are ours, or the system's, or else the kind of the error."""
    reason = str(error).rstrip(".") if isinstance(error, AdytonError) else getattr(error, "strerror", None)
    return reason or type(error).__name__


def check_folder(folder: Path | None, used: Iterable[str | Path | None], *, overwrite: bool) -> None:
    """Refuse to write where a file lies that the command works with."""
    if folder is None:
        if overwrite:
            raise BadInput("--overwrite belongs to --out. Name the folder that may be overwritten.")
        check_output()
        return
    for file in used:
        if file and folder.resolve() in Path(file).resolve().parents:
            raise BadInput(f"{file} lies in {folder}, which is to be written whole. Give --out another folder.")


def check_output() -> None:
    """Refuse to pay for what would be printed nowhere."""
    if not output_is_open():
        raise BadInput("standard output is closed, so the answer would be paid for and lost. Open it, or give --out.")
