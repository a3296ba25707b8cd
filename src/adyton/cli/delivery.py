"""What comes of a release once it is paid for: files and lines that reach the person, whatever happens next.

The counts come first. What is computed from them, bounds and expected errors, may be slow, fail or be interrupted: then
the counts are shown without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from adyton.cli.console import notes, print_json, printable, progress, say_counted
from adyton.cli.paid import Paid

if TYPE_CHECKING:
    from adyton.result import Release
    from adyton.result.presentation import Look
    from adyton.result.saving import Saved
    from adyton.result.staging import Place
    from adyton.result.tables import ReleasedTable, TableSet

_ROWS_SHOWN = 60
"""How many lines are printed of what stands in a folder. Without one, all of them are."""
_GAP = "   "


def deliver(
    release: Release,
    place: Place | None,
    look: Look,
    *,
    as_json: bool,
    quiet: bool,
    interrupt: KeyboardInterrupt | None = None,
) -> None:
    """Write and print a release; after an interrupt, only its counts."""
    from adyton.result.files import to_dict

    print_anything()
    paid = Paid("the release", "The counts are", release.epsilon, place, lambda: to_dict(release, None))
    saved, asked = paid.put_down(lambda: _saved(release, place, look))
    try:
        if interrupt is not None:
            raise interrupt
        with progress("estimating the error", quiet=quiet or as_json):
            found, problems = _complete(release, saved, asked)
            if as_json or not quiet:
                _ = release.known_error  # stays with the release
    except KeyboardInterrupt as came:
        if as_json or place is None:
            paid.show(lambda: _print(release, asked, place, as_json=as_json, known=False))
        raise paid.interrupted(came) from None
    try:
        paid.show(lambda: _print(release, found, place, as_json=as_json, known=True))
    except KeyboardInterrupt as came:
        raise paid.interrupted(came) from None
    _remark(release, found, place, quiet=quiet or as_json)
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)


def _saved(release: Release, place: Place | None, look: Look) -> tuple[Saved | None, TableSet]:
    from adyton.result.saving import save
    from adyton.result.tables import asked_tables

    saved = None if place is None else save(release, place, look)
    return saved, asked_tables(release, look) if saved is None else saved.sets[0]


def _complete(release: Release, saved: Saved | None, asked: TableSet) -> tuple[TableSet, list[str]]:
    """What was asked for with its bounds, and a sentence for everything that could not be computed."""
    from adyton.result.saving import CONFIDENCE, attempt

    if saved is not None:
        return saved.finish()
    problems: list[str] = []
    bounded = attempt("The bounds of the counts", problems, lambda: asked.bounded(release, CONFIDENCE))
    return bounded or asked, problems


def print_anything() -> None:
    """Letters that the terminal does not know are spelled out: nothing is lost over them."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _print(release: Release, found: TableSet, place: Place | None, *, as_json: bool, known: bool) -> None:
    """On standard output: all of it, unless a folder has it."""
    from adyton.result.files import to_dict

    if as_json:
        print_json({**to_dict(release, release.known_error if known else None), "answers": found.to_plain()})
        return
    say_counted(release.counted.first(release.where))
    left = sum(len(table.counts) for table in found.tables) if place is None else _ROWS_SHOWN
    for table in found.tables:
        shown = min(len(table.counts), left)
        if shown:
            sys.stdout.writelines(_lines(table, shown, found.confidence))
        left -= shown
    hidden = sum(len(table.counts) for table in found.tables) - _ROWS_SHOWN
    if place is not None and hidden > 0:
        sys.stdout.write(f"… and {hidden:,} more lines: {printable(str(place.given))} has them all.\n")


def _lines(table: ReleasedTable, rows: int, confidence: float | None) -> Iterator[str]:
    """So many lines of a table, under its header. They may be a million, so that no more is made of them than text."""
    from rich.cells import cell_len

    columns = [[name, *map(str, islice(labels, rows))] for name, labels in zip(table.names, table.labels, strict=True)]
    columns = [[printable(text) for text in column] for column in columns]
    columns.append([table.what.replace("_", " "), *map(_number, table.counts[:rows].tolist())])
    if confidence is not None and table.lower is not None and table.upper is not None:
        bounds = zip(table.lower[:rows].tolist(), table.upper[:rows].tolist(), strict=True)
        columns.append(
            [f"{100 * confidence:g}% interval", *(f"{_number(low)} to {_number(high)}" for low, high in bounds)]
        )
    widths = [max(map(cell_len, column)) for column in columns]
    yield "\n"
    for number, texts in enumerate(zip(*columns, strict=True)):
        padded = (
            f"{text}{' ' * (width - cell_len(text))}" if place < len(table.names) else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(texts, widths, strict=True))
        )
        yield _GAP.join(padded) + "\n"
        if number == 0:
            yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)) + "\n"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _remark(release: Release, found: TableSet, place: Place | None, *, quiet: bool) -> None:
    """On standard error: what nobody should overlook and, unless *quiet*, everything else there is to say."""
    from adyton.result.explanation import misfits_in_words
    from adyton.result.saving import REPORT

    warnings, _ = misfits_in_words(release)
    for paragraph in warnings if quiet else release.explain().paragraphs[1:]:
        notes().print(printable(paragraph), soft_wrap=True, style="bold red" if paragraph in warnings else None)
    if quiet:
        return
    if found.tables[0].note:
        notes().print(printable(found.tables[0].note), soft_wrap=True)
    if place is not None:
        whole = (place.folder / REPORT).exists()
        said = f"Everything is in {place.given}; begin with {REPORT}." if whole else f"The counts are in {place.given}."
        notes().print(printable(said), soft_wrap=True)
