"""Carry out a request and deliver its result, as files and printed lines, whatever interrupts it.

Measurements are saved first. Bounds and expected errors, which are computed from them, may be slow, fail or be
interrupted: then the numbers are shown without them.
"""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from adyton.cli.console import (
    InterruptedRelease,
    output_is_open,
    print_json,
    printable,
    progress,
    remark,
    say_first,
)
from adyton.errors import AdytonError, Unfinished
from adyton.exact import display
from adyton.interrupts import deferred
from adyton.messages import percent, span
from adyton.result.folder import REPORT, Place
from adyton.result.pending import Keeper, Measurements
from adyton.result.result import Result, attempt
from adyton.result.sheets import CONFIDENCE, Column, Look, Sheet, Sheets

Saved = TypeVar("Saved")
Answer = TypeVar("Answer")
"""A release, a model or a configuration."""
_SHOWN = 60
"""How many lines of a result are printed if a folder holds all of them. Without a folder, all are printed."""
_GAP = "   "


@dataclass(frozen=True)
class Rows:
    """A request for synthetic rows: the file, and how many; by default about as many as the table has."""

    file: Path
    count: int | None


def deliver(
    result: Result,
    interrupt: KeyboardInterrupt | None,
    *,
    place: Place | None,
    look: Look,
    as_json: bool,
    quiet: bool,
    rows: Rows | None = None,
) -> None:
    """Write and print a result of any kind; after an interrupt, only what was paid for."""
    # characters that the terminal cannot print are spelled out, so that nothing is lost because of them
    getattr(sys.stdout, "reconfigure", lambda errors: None)(errors="backslashreplace")
    paid = PaidResult(result.noun, result.epsilon, place, lambda: result.to_dict(complete=False))
    saved = paid.save(lambda: None if place is None else result.save_in(place, look))
    problems, rowless = list[str](), list[str]()
    quiet = quiet or as_json
    try:
        if interrupt is not None:
            raise interrupt
        with progress("estimating the error", quiet=quiet):
            sheets, problems = (None, problems) if saved is None else saved.finish()
            contents = _contents(result, look, sheets, problems, as_json=as_json, quiet=quiet)
    except KeyboardInterrupt as came:
        if as_json or place is None:
            bare = _bare(result, look, as_json=as_json)
            paid.print() if bare is None else paid.show(lambda: _print(result, bare, place, quiet=quiet))
        raise paid.interrupted(came) from None
    if contents is None:
        if place is None:
            paid.print()
        raise AdytonError(f"the result is not complete. {' '.join(problems)} {paid.kept()}")
    try:
        few = place is None and contents.sheets.lines <= _SHOWN
        paid.show(lambda: _print(result, contents, place, quiet=quiet), needed=few)
        made = rows and attempt("The synthetic rows", rowless, lambda: _make_rows(result, rows, quiet=quiet))
    except KeyboardInterrupt as came:
        raise paid.interrupted(came) from None
    words, shown = result.which_rows, result.shown(quiet=quiet)
    if not as_json and shown and words and words not in shown:  # a single number does not say which rows were counted
        remark(words)
    _remark(result, contents, place, quiet=quiet)
    for problem in (*problems, *([made] if made and not quiet else [])):
        remark(problem)
    if rowless or result.unfinished is not None:
        raise AdytonError(f"{' '.join(rowless) or result.unfinished} {paid.kept()}")


@dataclass(frozen=True)
class _Contents:
    """What is printed of a result, and remarks on it."""

    sheets: Sheets
    plain: dict[str, Any] | None = None
    """The same for JSON, if requested."""
    remarks: Sequence[str] = ()


def _contents(
    result: Result, look: Look, sheets: Sheets | None, problems: list[str], *, as_json: bool, quiet: bool
) -> _Contents | None:
    """What is printed, with bounds if there are any; None if not even the numbers can be computed.

    Parts that cannot be computed are left out, and *problems* gets a sentence for each.
    """
    if sheets is None and not problems:
        sheets = attempt("The numbers with their bounds", problems, lambda: result.sheets(look, CONFIDENCE))
    if sheets is None:
        sheets = attempt("The numbers", problems, lambda: result.sheets(look, None))
    if sheets is None:
        return None
    plain = None
    if as_json:
        whole = attempt("The expected error", problems, result.to_dict)
        plain = {**(whole or result.to_dict(complete=False)), "answers": sheets.to_plain()}
    said = (
        None
        if quiet
        else attempt("The explanation", problems, lambda: result.paragraphs("producer")[len(result.opening()) :])
    )
    return _Contents(sheets, plain, said or result.misfit_paragraphs()[0])


def _bare(result: Result, look: Look, *, as_json: bool) -> _Contents | None:
    """Only the numbers, if they are available at once."""
    sheets = attempt("The numbers", [], lambda: result.sheets(look, None)) if result.at_once else None
    if sheets is None:
        return None
    return _Contents(sheets, {**result.to_dict(complete=False), "answers": sheets.to_plain()} if as_json else None)


# ---- whatever interrupts it -----------------------------------------------------------------------------------------


def delivered(
    keeper: Keeper,
    ask: Callable[[], Answer],
    deliver: Callable[[Answer, KeyboardInterrupt | None], None],
    doing: str | None,
    *,
    place: Place | None = None,
    quiet: bool,
) -> None:
    """Carry out a request and *deliver* its result, even if interrupts come before it is delivered.

    *keeper* holds what was paid for. *deliver* is given the interrupt, if there was one: then it saves only what was
    paid for, and says so. Progress is shown if *doing* names the activity.
    """
    try:
        deliver(*_answered(keeper, ask, doing, place=place, quiet=quiet))
    except KeyboardInterrupt as came:  # between answer and delivery, or after delivery
        with deferred():
            paid = keeper.last
            if place is not None and place.settled:
                raise InterruptedRelease(f"interrupted; {place.given} was written{_charge(paid)}.", came) from None
            if isinstance(paid, Measurements):
                raise InterruptedRelease(_kept(paid, place), came) from None
            if paid is None:
                raise InterruptedRelease("interrupted.", came) from None
            deliver(cast("Answer", paid), came)


def _answered(
    keeper: Keeper, ask: Callable[[], Answer], doing: str | None, *, place: Place | None, quiet: bool
) -> tuple[Answer, KeyboardInterrupt | None]:
    """The result of a request, and the interrupt that came after it was paid for, if any.

    Without a result, the measurements so far are written into its folder, or printed; the message says what was
    charged.
    """
    try:
        with nullcontext() if doing is None else progress(doing, quiet=quiet):
            return ask(), None
    except KeyboardInterrupt as came:
        bare = keeper.measurements
        if bare is not None and not bare.answers:
            raise InterruptedRelease(f"interrupted{_charge(bare)}. {bare.elsewhere}".rstrip(), came) from None
        paid = _finished(keeper, bare, quiet=quiet)
        if paid is None:
            raise InterruptedRelease("interrupted.", came) from None
        if not isinstance(paid, Measurements):
            return cast("Answer", paid), came
        raise InterruptedRelease(_kept(paid, place), came) from None
    except Unfinished:
        paid = keeper.last
        if not isinstance(paid, Measurements):
            raise
        raise AdytonError(_kept(paid, place)) from None


def _finished(keeper: Keeper, bare: Measurements | None, *, quiet: bool) -> object:
    """What the interrupted request has paid for: its result or, after a second interrupt, only the measurements; None
    if there are none."""
    try:
        if bare is not None and not quiet:
            remark(
                "Interrupted after it was charged: the result is computed from what was measured. Interrupt again to "
                "keep only the measurements."
            )
        return keeper.last
    except KeyboardInterrupt:
        return bare


def _kept(measurements: Measurements, place: Place | None) -> str:
    """Save or print measurements; return a sentence that says where they are."""
    paid = PaidResult("list of measurements", measurements.epsilon, place, measurements.to_dict)
    if measurements.answers and place is not None:
        paid.save(lambda: measurements.save_in(place))
    elif measurements.answers:
        paid.print()
    return f"{measurements} {paid.kept() if measurements.answers else ''}".rstrip()


def _charge(paid: Any) -> str:
    charged = getattr(paid, "epsilon", Fraction(0))
    return f"; ε = {display(charged)} was charged already and stays spent" if charged else ""


@dataclass
class PaidResult:
    """A result that was paid for, the folder it is saved in, if any, and messages about it."""

    noun: str
    """What it is called: “release”."""
    epsilon: Fraction
    place: Place | None
    plain: Callable[[], dict[str, Any]]
    """The complete result as plain values, to print if it cannot be written."""
    _printed: str = field(default="printed", init=False)
    """Where it was printed."""

    def save(self, save: Callable[[], Saved]) -> Saved:
        """Write it into the folder; if that fails, print it."""
        try:
            return save()
        except KeyboardInterrupt as interrupt:  # the folder may not have been written
            if not self._settled:
                self.print()
            raise self.interrupted(interrupt) from None
        except Exception as error:
            if self._settled:  # it is completely on disk, and the message says where
                raise
            self.print()
            raise AdytonError(
                f"the {self.noun} could not be written ({reason_of(error)}). It is paid for, so all of it is "
                f"{self._printed} instead: keep that in a .json file, which ad.load and `adyton explain` open."
            ) from None

    def print(self) -> None:
        """Print all of it, despite interrupts: to standard output, to standard error, or into a new file."""
        with deferred():
            self._printed = printed(self.plain())

    def show(self, printing: Callable[[], None], *, needed: bool = False) -> None:
        """Print it for people. If that fails and no folder has it, all of it is printed elsewhere; if it is *needed*
        (so short that a reader wants all of it), also if the reader has closed the pipe."""
        try:
            with nullcontext() if self._settled else deferred():
                printing()
                sys.stdout.flush()
        except BrokenPipeError:
            if not needed:
                raise  # the reader, such as head, does not want more
            self.print()
            raise AdytonError(
                f"the {self.noun} could not be printed: the reader has closed the pipe. {self.kept()}"
            ) from None
        except (OSError, ValueError) as error:
            if not self._settled:
                self.print()
            raise AdytonError(f"the {self.noun} could not be printed ({reason_of(error)}). {self.kept()}") from None

    def interrupted(self, came: KeyboardInterrupt) -> InterruptedRelease:
        """The error that says where the result is."""
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
    """Print plain values as JSON, and return where. If a terminal is closed or a disk is full, the next place is
    tried."""
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
    raise AdytonError("the answer was paid for, and could neither be printed nor written to a temporary file.")


def reason_of(error: BaseException) -> str:
    """Why something failed: the message of Adyton or of the system, or else the type of the error."""
    reason = str(error).rstrip(".") if isinstance(error, AdytonError) else getattr(error, "strerror", None)
    return reason or type(error).__name__


# ---- on standard output ---------------------------------------------------------------------------------------------


def _print(result: Result, contents: _Contents, place: Place | None, *, quiet: bool) -> None:
    """Print all of it, or only the beginning if a folder has all of it."""
    if contents.plain is not None:
        print_json(contents.plain)
        return
    if shown := result.shown(quiet=quiet):
        for line in "\n".join(shown).splitlines():
            sys.stdout.write(f"{printable(line)}\n")
        return
    say_first(result.head)
    print_sheets(contents.sheets, None if place is None else f"{printable(str(place.given))} has them all")


def print_sheets(sheets: Sheets, elsewhere: str | None = None) -> None:
    """Print line by line; only the first lines if *elsewhere* says where all of them are."""
    left = sheets.lines if elsewhere is None else _SHOWN
    for sheet in sheets.sheets:
        shown = min(sheet.lines, left)
        if shown:
            sys.stdout.writelines(_lines(sheet, shown, sheets.confidence))
        left -= shown
    hidden = sheets.lines - _SHOWN
    if elsewhere is not None and hidden > 0:
        sys.stdout.write(f"… and {hidden:,} more lines: {elsewhere}.\n")


def _lines(sheet: Sheet, rows: int, confidence: float | None) -> Iterator[str]:
    """The first *rows* lines of a sheet, under its header. There may be a million, so they are plain text."""
    columns = [[name, *map(str, islice(labels, rows))] for name, labels in sheet.labels.items()]
    columns = [[printable(text) for text in column] for column in columns]
    for column in sheet.columns:
        columns.extend(_written(column, rows, confidence, prefixed=sheet.prefixed))
    widths = [max(map(_width, column)) for column in columns]
    yield "\n"
    for number, texts in enumerate(zip(*columns, strict=True)):
        padded = (
            f"{text}{' ' * (width - _width(text))}" if place < len(sheet.labels) else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(texts, widths, strict=True))
        )
        yield _GAP.join(padded).rstrip() + "\n"
        if number == 0:
            yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)) + "\n"


def _width(text: str) -> int:
    """How many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _written(column: Column, rows: int, confidence: float | None, *, prefixed: bool) -> Iterator[list[str]]:
    """A column of numbers, and a column of their bounds if there are any."""
    values = column.values[:rows].tolist()
    small = prefixed or all(abs(value) < 1 for value in values if isinstance(value, float))
    number = _figure if small else _count
    held = [False] * len(values) if column.held is None else column.held[:rows].tolist()
    texts = (number(value) if column.known else "–" for value in values)
    yield [printable(column.name.replace("_", " ")), *_marked(texts, held, "held back")]
    if confidence is not None and column.lower is not None and column.upper is not None:
        pairs = zip(column.lower[:rows].tolist(), column.upper[:rows].tolist(), strict=True)
        bounds = (" to ".join(span(*pair, number, _more_digits)) if column.known else "–" for pair in pairs)
        yield [f"{100 * confidence:g}% interval", *_marked(bounds, held, "")]


def _marked(texts: Iterable[str], held: Sequence[bool], mark: str) -> Iterator[str]:
    """The texts, with a mark in place of those that are held back."""
    return (mark if blank else text for text, blank in zip(texts, held, strict=True))


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _more_digits(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def _figure(value: float) -> str:
    """A number with four digits, or with all digits before the decimal point if there are more."""
    if isinstance(value, int) or not math.isfinite(value) or value == 0:
        return f"{value:,.0f}" if not isinstance(value, float) or math.isfinite(value) else "–"
    if not 1e-5 <= abs(value) < 1e12:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


# ---- on standard error ----------------------------------------------------------------------------------------------


def _remark(result: Result, contents: _Contents, place: Place | None, *, quiet: bool) -> None:
    """Print warnings and, unless *quiet*, all other remarks."""
    shown = result.shown()
    for paragraph in contents.remarks:
        if paragraph not in shown:
            remark(paragraph)
    if quiet:
        return
    if contents.sheets.note:
        remark(contents.sheets.note)
    if place is not None:
        whole = not place.single and (place.folder / REPORT).exists()
        said = (
            f"Everything is in {place.given}; begin with {REPORT}."
            if whole
            else f"The {result.noun} is in {place.given}."
        )
        remark(said)


def _make_rows(result: Any, rows: Rows, *, quiet: bool) -> str:
    """Write synthetic rows; return a sentence that says how many, and where."""
    with progress("making rows", quiet=quiet):
        made = result.write_rows(rows.file, result.rows_estimated if rows.count is None else rows.count)
    far = (
        ""
        if made.distance is None
        else f" Their tables of two attributes differ from the released ones by {percent(made.distance)}."
    )
    return f"{made.rows:,} synthetic rows are in {rows.file}.{far} {' '.join(made.head)}".rstrip()
