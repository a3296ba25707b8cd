"""What comes of a release of many tables once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.console import InterruptedRelease, notes, out, plain_table, print_json, printable, progress
from adyton.cli.delivery import print_anything
from adyton.errors import AdytonError
from adyton.exact import display
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease
    from adyton.marginals.tables_saving import SavedTables
    from adyton.release.staging import Place

_SHOWN = 40
"""How many tables are listed."""


def deliver_tables(
    release: TablesRelease,
    place: Place | None,
    rows: tuple[Path, int | None] | None,
    *,
    as_json: bool,
    quiet: bool,
    interrupt: KeyboardInterrupt | None = None,
) -> None:
    """Write what was measured, then what follows from it, then synthetic rows; after an interrupt, only the first."""
    print_anything()
    saved, problems, made = _put_down(release, place), list[str](), None
    try:
        if interrupt is not None:
            raise interrupt
        with progress("working out the tables", quiet=quiet or as_json):
            _ = release.model
            if saved is not None:
                problems = saved.finish()
        if rows is not None:
            file, count = rows
            with progress("making rows", quiet=quiet or as_json):
                made = release.write_rows(file, max(0, round(release.model.total)) if count is None else count)
        if as_json:
            _print(release)
        elif not quiet or place is None:
            _show(release, place, quiet=quiet)
    except KeyboardInterrupt as came:
        if place is None:
            _print_measured(release)
        raise InterruptedRelease(_interrupted(release, place), came) from None
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)
    if made is not None and rows is not None and not (quiet or as_json):
        far = "" if made.distance is None else f" Their pairs are {100 * made.distance:.2g}% from the released ones."
        notes().print(printable(f"{made.rows:,} synthetic rows are in {rows[0]}.{far}"), soft_wrap=True)


def _put_down(release: TablesRelease, place: Place | None) -> SavedTables | None:
    """Have what was measured where nothing can happen to it: in the folder, or else on standard output."""
    from adyton.marginals.tables_saving import save

    try:
        return None if place is None else save(release, place)
    except KeyboardInterrupt as interrupt:
        if place is None or not place.settled:
            _print_measured(release)
        raise InterruptedRelease(_interrupted(release, place), interrupt) from None
    except Exception as error:
        if place is not None and place.settled:  # all of it is on the disk, and the message says where
            raise
        _print_measured(release)
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        raise AdytonError(
            f"the release could not be written ({reason or type(error).__name__}). It is paid for, so that all of it "
            "was printed instead: keep that."
        ) from None


def _print_measured(release: TablesRelease) -> None:
    from adyton.marginals.tables_file import to_dict

    with deferred():
        print_json(to_dict(release, None))


def _print(release: TablesRelease) -> None:
    from adyton.marginals.tables_saving import answers

    with deferred():
        print_json({**release.to_dict(), "answers": answers(release)})


def _show(release: TablesRelease, place: Place | None, *, quiet: bool) -> None:
    """The tables by expected error on standard output, and what else there is to say on standard error."""
    from adyton.marginals.table_errors import table_errors

    table = plain_table()
    for title in ("table", "cells", "expected error", "how"):
        table.add_column(title, justify="left" if title in {"table", "how"} else "right")
    lines = table_errors(release).to_pylist()
    for line in lines[:_SHOWN]:
        error = "–" if line["expected_error"] is None else f"{line['expected_error']:.4f}"
        table.add_row(printable(line["table"]), f"{line['cells']:,}", error, line["how"])
    out().print(table)
    if len(lines) > _SHOWN:
        out().print(f"… and {len(lines) - _SHOWN:,} more tables.")
    if quiet:
        return
    for paragraph in release.explain().paragraphs[1:]:
        loud = "bold red" if paragraph.startswith("WARNING") else None
        notes().print(printable(paragraph), soft_wrap=True, style=loud)
    if place is not None:
        notes().print(printable(f"Everything is in {place.given}: each table as a CSV file in tables."), soft_wrap=True)


def _interrupted(release: TablesRelease, place: Place | None) -> str:
    where = "printed"
    if place is not None and place.settled:
        where = f"in {place.given if place.folder == place.goal else place.folder}"
    return (
        f"interrupted. What was measured is {where}; ε = {display(release.epsilon)} was charged for it and stays spent."
    )
