"""What comes of a request once it is paid for: files and lines that reach the person, whatever happens next.

What was measured comes first. What is computed from it, bounds and expected errors, may be slow, fail or be
interrupted: then the numbers are shown without.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.cli.charges import Paid
from adyton.cli.console import notes, print_json, printable, progress, say_counted
from adyton.errors import AdytonError

if TYPE_CHECKING:
    from adyton.result.result import Look, Result
    from adyton.result.sheets import Column, Sheet, Sheets
    from adyton.result.staging import Place

_SHOWN = 60
"""How many lines are printed of what stands in a folder. Without one, all of them are."""
_GAP = "   "


@dataclass(frozen=True)
class Rows:
    """Synthetic rows that were asked for: the file, and how many; about as many as there are if nothing is said."""

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
    """Write and print a result, of whatever kind; after an interrupt, only what was paid for."""
    from adyton.result.folder import attempt, put_down, to_dict

    print_anything()
    paid = Paid(result.noun, result.epsilon, place, lambda: to_dict(result, complete=False))
    saved = paid.put_down(lambda: None if place is None else put_down(result, place, look))
    problems, rowless = list[str](), list[str]()
    quiet = quiet or as_json
    try:
        if interrupt is not None:
            raise interrupt
        with progress("estimating the error", quiet=quiet):
            found, problems = (None, problems) if saved is None else saved.finish()
            told = _told(result, look, found, problems, as_json=as_json, quiet=quiet)
    except KeyboardInterrupt as came:
        if as_json or place is None:
            bare = _bare(result, look, as_json=as_json)
            paid.print() if bare is None else paid.show(lambda: _print(result, bare, place, quiet=quiet))
        raise paid.interrupted(came) from None
    if told is None:
        if place is None:
            paid.print()
        raise AdytonError(f"not all could be made of it. {' '.join(problems)} {paid.kept()}")
    try:
        few = place is None and told.sheets.lines <= _SHOWN
        paid.show(lambda: _print(result, told, place, quiet=quiet), needed=few)
        made = rows and attempt("The synthetic rows", rowless, lambda: _make_rows(result, rows, quiet=quiet))
    except KeyboardInterrupt as came:
        raise paid.interrupted(came) from None
    if not as_json:
        _say_counted(result, quiet=quiet)
    _remark(result, told, place, quiet=quiet)
    for problem in (*problems, *([made] if made and not quiet else [])):
        notes().print(printable(problem), soft_wrap=True)
    if rowless or result.unfinished is not None:
        raise AdytonError(f"{' '.join(rowless) or result.unfinished} {paid.kept()}")


@dataclass(frozen=True)
class _Told:
    """What is printed of a result, and what is said of it."""

    sheets: Sheets
    plain: dict[str, Any] | None = None
    """The same for JSON, if that is asked for."""
    remarks: Sequence[str] = ()


def _told(
    result: Result, look: Look, found: Sheets | None, problems: list[str], *, as_json: bool, quiet: bool
) -> _Told | None:
    """With bounds if there are any; None where nothing can be made of it.

    What cannot be computed is left out, and a sentence more is among the problems.
    """
    from adyton.result.folder import CONFIDENCE, attempt, to_dict
    from adyton.result.result import misfits_in_words

    if found is None and not problems:
        found = attempt("The numbers with their bounds", problems, lambda: result.sheets(look, CONFIDENCE))
    if found is None:
        found = attempt("The numbers", problems, lambda: result.sheets(look, None))
    if found is None:
        return None
    plain = None
    if as_json:
        whole = attempt("The expected error", problems, lambda: to_dict(result, complete=True))
        plain = {**(whole or to_dict(result, complete=False)), "answers": found.to_plain()}
    said = None if quiet else attempt("The explanation", problems, lambda: result.paragraphs()[1:])
    return _Told(found, plain, said or misfits_in_words(result)[0])


def _bare(result: Result, look: Look, *, as_json: bool) -> _Told | None:
    """The numbers alone, where they are there in no time."""
    from adyton.result.folder import attempt, to_dict

    sheets = attempt("The numbers", [], lambda: result.sheets(look, None)) if result.at_once else None
    if sheets is None:
        return None
    return _Told(sheets, {**to_dict(result, complete=False), "answers": sheets.to_plain()} if as_json else None)


def print_anything() -> None:
    """Letters that the terminal does not know are spelled out: nothing is lost over them."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


# ---- on standard output ---------------------------------------------------------------------------------------------


def _print(result: Result, told: _Told, place: Place | None, *, quiet: bool) -> None:
    """All of it, unless a folder has it."""
    if told.plain is not None:
        print_json(told.plain)
        return
    if shown := result.shown(quiet=quiet):
        for line in "\n".join(shown).splitlines():
            sys.stdout.write(f"{printable(line)}\n")
        return
    say_counted(result.counted.first(result.where))
    print_sheets(told.sheets, None if place is None else f"{printable(str(place.given))} has them all")


def print_sheets(sheets: Sheets, elsewhere: str | None = None) -> None:
    """Line by line; a few of them where *elsewhere* says who has all."""
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
    """So many lines of a sheet, under its header. They may be a million, so that no more is made of them than text."""
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
    """How many places it takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _written(column: Column, rows: int, confidence: float | None, *, prefixed: bool) -> Iterator[list[str]]:
    """A column of numbers, and one of their bounds if there are any."""
    values = column.values[:rows].tolist()
    small = prefixed or all(abs(value) < 1 for value in values if isinstance(value, float))
    number = _figure if small else _count
    yield [printable(column.name.replace("_", " ")), *(number(value) if column.known else "–" for value in values)]
    if confidence is not None and column.lower is not None and column.upper is not None:
        pairs = zip(column.lower[:rows].tolist(), column.upper[:rows].tolist(), strict=True)
        bounds = (f"{number(low)} to {number(high)}" if column.known else "–" for low, high in pairs)
        yield [f"{100 * confidence:g}% interval", *bounds]


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _figure(value: float) -> str:
    """Four digits, or all that stand before the point, whichever is more."""
    if isinstance(value, int) or not math.isfinite(value) or value == 0:
        return f"{value:,.0f}" if not isinstance(value, float) or math.isfinite(value) else "–"
    if not 1e-5 <= abs(value) < 1e12:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


# ---- on standard error ----------------------------------------------------------------------------------------------


def _say_counted(result: Result, *, quiet: bool) -> None:
    """Which rows a bare number is of, where that is not all of them."""
    words, shown = result.counted.first(result.where), result.shown(quiet=quiet)
    if shown and words and words not in shown:
        notes().print(printable(words), soft_wrap=True)


def _remark(result: Result, told: _Told, place: Place | None, *, quiet: bool) -> None:
    """What nobody should overlook and, unless *quiet*, everything else there is to say."""
    from adyton.result.staging import REPORT

    shown = result.shown()
    for paragraph in (one for one in told.remarks if one not in shown):
        loud = "bold red" if paragraph.startswith("WARNING") else None
        notes().print(printable(paragraph), soft_wrap=True, style=loud)
    if quiet:
        return
    if told.sheets.note:
        notes().print(printable(told.sheets.note), soft_wrap=True)
    if place is not None:
        whole = not place.single and (place.folder / REPORT).exists()
        said = (
            f"Everything is in {place.given}; begin with {REPORT}."
            if whole
            else f"The {result.noun} is in {place.given}."
        )
        notes().print(printable(said), soft_wrap=True)


def _make_rows(result: Any, rows: Rows, *, quiet: bool) -> str:
    """Write synthetic rows, about as many as there are if nothing is said; a sentence says how many, and where."""
    with progress("making rows", quiet=quiet):
        made = result.write_rows(rows.file, result.rows_estimated if rows.count is None else rows.count)
    far = "" if made.distance is None else f" Their pairs are {100 * made.distance:.2g}% from the released ones."
    return f"{made.rows:,} synthetic rows are in {rows.file}.{far} {result.counted.first(result.where)}".rstrip()
