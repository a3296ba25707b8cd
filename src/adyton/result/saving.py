"""Saving a release: first what was paid for, which cannot wait; then what is computed from it, which may fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adyton.drafts import replaced
from adyton.errors import AdytonError
from adyton.interrupts import deferred
from adyton.kernel.engines.arrow_columns import arrow_column
from adyton.result import files
from adyton.result.presentation import Look
from adyton.result.staging import Place
from adyton.result.tables import ANSWERS, CELLS, TABLES, ReleasedTable, TableSet, all_tables
from adyton.spreadsheets import harmless

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.plans.expected_error import ExpectedError
    from adyton.result.release import Release

CONFIDENCE = 0.95
REPORT = "report.html"
REPLACEABLE = (files.JSON, CELLS, ANSWERS, REPORT, TABLES, f"{TABLES}/*.csv")
"""The files of a release: what may be overwritten by another one."""
_FEW = 1 << 12
"""For so few lines, reading each is faster than loading Arrow's functions."""
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Saved:
    """A release whose counts are on the disk."""

    release: Release
    place: Place
    sets: tuple[TableSet, ...]
    """The tables that were written, without bounds; first those that were asked for."""

    def finish(self) -> tuple[TableSet, list[str]]:
        """Add what is computed from the counts: bounds, the expected error and the report.

        None of that can harm what is there. Returns the tables that were asked for, with bounds if there are any, and
        a sentence for everything that is missing.
        """
        problems: list[str] = []
        asked, *others = self.sets
        found = attempt("The bounds of the counts", problems, lambda: self._bound(asked))
        if asked.left_out:
            problems.append(f"{asked.left_out:,} more tables have no file: release.to_frame(attributes) makes each.")
        attempt("The expected error", problems, lambda: self._replace_json(self.release.expected_error))
        attempt("The report", problems, self._write_report)
        for tables in others:
            attempt(f"The bounds in {CELLS}", problems, partial(self._bound, tables))
        return found or asked, problems

    def _bound(self, tables: TableSet) -> TableSet:
        bounded = tables.bounded(self.release, CONFIDENCE)
        for table in bounded.tables:
            with replaced(self.place.folder / table.file) as file:
                _write_csv(table, file)
        return bounded

    def _replace_json(self, error: ExpectedError) -> None:
        with replaced(self.place.folder / files.JSON) as file:
            _write_json(self.release, file, error)

    def _write_report(self) -> None:
        from adyton.report.page import render

        with replaced(self.place.folder / REPORT) as file:
            file.write_text(render(self.release), encoding="utf-8")


def save(release: Release, place: Place, look: Look) -> Saved:
    """Write down what was paid for, and put it in place; interrupts wait until that is done."""
    with deferred():
        _write_json(release, place.folder / files.JSON, None)
        sets = all_tables(release, look)
        for table in (table for tables in sets for table in tables.tables):
            file = place.folder / table.file
            file.parent.mkdir(exist_ok=True)
            _write_csv(table, file)
        place.settle()
        return Saved(release, place, sets)


def attempt(what: str, problems: list[str], step: Callable[[], _T]) -> _T | None:
    """What *step* makes of a release that is paid for. If it fails, for whatever reason, there is a sentence more."""
    try:
        return step()
    except Exception as error:
        reason = str(error) if isinstance(error, AdytonError) else getattr(error, "strerror", None)
        problems.append(f"{what} could not be made ({(reason or type(error).__name__).rstrip('.')}).")
        return None


def _write_json(release: Release, file: Path, error: ExpectedError | None) -> None:
    plain = files.to_dict(release, error)
    texts = {name: files.written(plain[name]) for name in files.LONG}
    plain = {"digest": files.digest_with(plain, texts), **plain}
    for name in texts:
        del plain[name]
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    with file.open("w", encoding="utf-8") as out:
        out.write(text.removesuffix("}").rstrip())
        for name, part in texts.items():  # each on one line: a million cells are written in a second
            out.write(f',\n "{name}": ')
            out.write(part)
        out.write("\n}\n")


def _write_csv(table: ReleasedTable, file: Path) -> None:
    write_table(table.to_arrow(), file)


def write_table(table: pa.Table, file: Path) -> None:
    """A CSV file that spreadsheets can open without harm."""
    from pyarrow import csv

    csv.write_csv(for_spreadsheets(table), file)


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """The same table with names and labels that no spreadsheet takes for formulas."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        columns[harmless(name)] = harmless_column(column) if texts else column
    return pa.table(columns)


def harmless_column(column: pa.ChunkedArray) -> pa.Array:
    """Every text once: a million lines have few labels."""
    import pyarrow as pa

    if 0 < len(column) <= _FEW and not column.null_count and pa.types.is_string(column.type):
        return arrow_column([harmless(text) for text in column.to_pylist()])
    encoded = column.combine_chunks().dictionary_encode()
    labels = arrow_column([harmless(text) for text in encoded.dictionary.to_pylist()]).cast(column.type)
    return pa.DictionaryArray.from_arrays(encoded.indices, labels).dictionary_decode()
