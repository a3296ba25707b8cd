"""What comes of a release of many tables once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, plain_table, print_json, printable, progress, say_counted
from adyton.cli.delivery import print_anything
from adyton.cli.paid import Paid, reason_of
from adyton.errors import AdytonError
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease
    from adyton.result.released import Released
    from adyton.result.staging import Place

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
    from adyton.marginals.tables_file import to_dict
    from adyton.marginals.tables_saving import save

    print_anything()
    paid = Paid("the release", "What was measured is", release.epsilon, place, lambda: to_dict(release, None))
    saved = paid.put_down(lambda: None if place is None else save(release, place))
    try:
        if interrupt is not None:
            raise interrupt
        with progress("working out the tables", quiet=quiet or as_json):
            _ = release.model
            problems = [] if saved is None else saved.finish()
        made = None if rows is None else make_rows(release, release.model.total, *rows, quiet=quiet or as_json)
        if as_json:
            paid.show(lambda: _print(release))
        elif not quiet or place is None:
            paid.show(lambda: _show(release, place, quiet=quiet))
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, Exception) as came:  # whatever it is: what was paid for must not be lost over it
        if place is None:
            paid.print()
        if isinstance(came, KeyboardInterrupt):
            raise paid.interrupted(came) from None
        raise AdytonError(
            f"what follows from the measurements could not all be made ({reason_of(came)}). {paid.kept()}"
        ) from None
    for remark in (*problems, *([] if made is None or quiet or as_json else [made])):
        notes().print(printable(remark), soft_wrap=True)
    if release.unfinished is not None:
        raise AdytonError(f"{release.unfinished} {paid.kept()}")


def make_rows(release: Released, total: float, file: Path, count: int | None, *, quiet: bool) -> str:
    """Write synthetic rows, about as many as there are if nothing is said; a sentence says how many, and where."""
    with progress("making rows", quiet=quiet):
        made = release.write_rows(file, max(0, round(total)) if count is None else count)
    far = "" if made.distance is None else f" Their pairs are {100 * made.distance:.2g}% from the released ones."
    return f"{made.rows:,} synthetic rows are in {file}.{far} {release.counted.first(release.where)}".rstrip()


def _print(release: TablesRelease) -> None:
    from adyton.marginals.tables_saving import answers

    with deferred():
        print_json({**release.to_dict(), "answers": answers(release)})


def _show(release: TablesRelease, place: Place | None, *, quiet: bool) -> None:
    """The tables by expected error on standard output, and what else there is to say on standard error."""
    from adyton.marginals.table_errors import table_errors

    say_counted(release.counted.first(release.where))
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
    if place is None:
        _print_counts(release)
    if quiet:
        return
    for paragraph in release.explain().paragraphs[1:]:
        loud = "bold red" if paragraph.startswith("WARNING") else None
        notes().print(printable(paragraph), soft_wrap=True, style=loud)
    if place is not None:
        notes().print(printable(f"Everything is in {place.given}: each table as a CSV file in tables."), soft_wrap=True)


def _print_counts(release: TablesRelease) -> None:
    """Every count of every table, a line each: no folder has them."""
    from adyton.marginals.tables_saving import all_lines

    found = all_lines(release)
    with deferred():
        sys.stdout.write("\n")
        for table, cell, count in zip(*(column.to_pylist() for column in found.columns[:3]), strict=True):
            sys.stdout.write(f"{printable(table)}: {printable(cell)}   {count:,.1f}\n")
