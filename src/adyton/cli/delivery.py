"""What comes of a release once it is paid for: files and lines that reach the person, whatever happens next.

The counts come first. What is computed from them, bounds and expected errors, may be slow, fail or be interrupted: then
the counts are shown without.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adyton.cli.console import InterruptedRelease, notes, out, plain_table, print_json, printable, progress
from adyton.errors import AdytonError
from adyton.exact import display

if TYPE_CHECKING:
    from adyton.release import Release
    from adyton.release.presentation import Look
    from adyton.release.saving import Saved
    from adyton.release.staging import Place
    from adyton.release.tables import ReleasedTable, TableSet

_ROWS_SHOWN = 60


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
    from adyton.release.files import to_dict

    _print_anything()
    saved, asked = _put_down(release, place, look)
    try:
        if interrupt is not None:
            raise interrupt
        with progress("estimating the error", quiet=quiet or as_json):
            found, problems = (asked, []) if saved is None and as_json else _complete(release, saved, asked)
            if as_json or not quiet:
                _ = release.known_error  # stays with the release
    except KeyboardInterrupt as came:
        if as_json:
            print_json(to_dict(release, None))
        elif place is None:
            _print(asked)
        raise InterruptedRelease(_interrupted(release, place), came) from None
    if as_json:
        print_json(release.to_dict())
    else:
        _print(found)
    _remark(release, found, place, quiet=quiet or as_json)
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)


def _put_down(release: Release, place: Place | None, look: Look) -> tuple[Saved | None, TableSet]:
    """Have the counts where nothing can happen to them: in the folder, or else on standard output."""
    from adyton.release.files import to_dict
    from adyton.release.saving import save
    from adyton.release.tables import asked_tables

    try:
        saved = None if place is None else save(release, place, look)
        return saved, asked_tables(release, look) if saved is None else saved.sets[0]
    except KeyboardInterrupt as interrupt:
        if place is None:
            print_json(to_dict(release, None))
        raise InterruptedRelease(_interrupted(release, place), interrupt) from None
    except Exception as error:
        if place is not None and place.settled:  # all of it is on the disk, and the message says where
            raise
        print_json(to_dict(release, None))
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        raise AdytonError(
            f"the release could not be written ({reason or type(error).__name__}). It is paid for, so that all of it "
            "was printed instead: keep that."
        ) from None


def _complete(release: Release, saved: Saved | None, asked: TableSet) -> tuple[TableSet, list[str]]:
    """What was asked for with its bounds, and a sentence for everything that could not be computed."""
    from adyton.release.saving import CONFIDENCE, attempt

    if saved is not None:
        return saved.finish()
    problems: list[str] = []
    bounded = attempt("The bounds of the counts", problems, lambda: asked.bounded(release, CONFIDENCE))
    return bounded or asked, problems


def _interrupted(release: Release, place: Place | None) -> str:
    where = f"in {place.given}" if place is not None else "printed"
    return f"interrupted. The counts are {where}; ε = {display(release.epsilon)} was charged for them and stays spent."


def _print_anything() -> None:
    """Letters that the terminal does not know are spelled out: nothing is lost over them."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _print(found: TableSet) -> None:
    left = _ROWS_SHOWN
    for lines in found.tables:
        rows = min(len(lines.counts), left)
        if rows:
            out().print(_lines(lines, rows, found.confidence))
        left -= rows
    hidden = sum(len(lines.counts) for lines in found.tables) - (_ROWS_SHOWN - left)
    if hidden:
        out().print(f"… and {hidden:,} more lines: --json or --out has them all.")


def _lines(lines: ReleasedTable, rows: int, confidence: float | None) -> Any:
    table = plain_table()
    for name in lines.names:
        table.add_column(printable(name))
    table.add_column(lines.what.replace("_", " "), justify="right")
    bounds: Sequence[tuple[float, float]] | None = None
    if confidence is not None and lines.lower is not None and lines.upper is not None:
        table.add_column(f"{100 * confidence:g}% interval", justify="right")
        bounds = list(zip(lines.lower[:rows].tolist(), lines.upper[:rows].tolist(), strict=True))
    counts = lines.counts[:rows].tolist()
    for place, count in enumerate(counts):
        labels = (printable(str(column[place])) for column in lines.labels)
        between = [] if bounds is None else [" to ".join(map(_number, bounds[place]))]
        table.add_row(*labels, _number(count), *between)
    return table


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _remark(release: Release, found: TableSet, place: Place | None, *, quiet: bool) -> None:
    """On standard error: what nobody should overlook and, unless *quiet*, everything else there is to say."""
    from adyton.release.explanation import misfits_in_words
    from adyton.release.saving import REPORT

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
