"""Saving a release of many tables: first what was measured, which cannot wait; then all that follows from it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.drafts import replaced
from adyton.interrupts import deferred
from adyton.marginals.table_errors import how_got, table_errors, total_variation
from adyton.marginals.tables_file import KIND, to_dict
from adyton.result import frames
from adyton.result.one_table import Table
from adyton.result.saving import CONFIDENCE, REPORT, attempt, write_table
from adyton.result.staging import Place
from adyton.result.tables import MOST_TABLES, TABLES, file_name
from adyton.solving.residuals import Group

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.marginals.pair_model import PairModel
    from adyton.marginals.tables_release import TablesRelease

ERRORS = "errors.csv"
REPLACEABLE = (KIND.json, ERRORS, REPORT, TABLES, f"{TABLES}/*.csv")
"""The files of a release of tables: what may be overwritten by another one."""


@dataclass(frozen=True, eq=False)
class SavedTables:
    """A release whose measurements are on the disk."""

    release: TablesRelease
    place: Place

    def finish(self) -> list[str]:
        """Add the model, the tables and their errors. It cannot harm what is there; sentences say what is missing."""
        problems: list[str] = []
        attempt("The model", problems, lambda: _write_json(self.release, self.place.folder, self.release.model))
        attempt("The tables", problems, self._write_tables)
        attempt("The expected errors", problems, self._write_errors)
        attempt("The report", problems, self._write_report)
        left = len(self.release.groups) - MOST_TABLES
        if left > 0:
            problems.append(f"{left:,} more tables have no file: release.table(…) makes each.")
        return problems

    def _write_tables(self) -> None:
        taken: set[str] = set()
        for group in self.release.groups[:MOST_TABLES]:
            file = self.place.folder / file_name(group, taken)
            file.parent.mkdir(exist_ok=True)
            with replaced(file) as draft:
                write_table(_with_bounds(self.release, group).to_arrow(), draft)

    def _write_report(self) -> None:
        from adyton.report.tables_page import render

        with replaced(self.place.folder / REPORT) as draft:
            draft.write_text(render(self.release), encoding="utf-8")

    def _write_errors(self) -> None:
        with replaced(self.place.folder / ERRORS) as draft:
            write_table(table_errors(self.release), draft)


def _with_bounds(release: TablesRelease, group: Group) -> Table:
    """A table with its bounds, where there are any."""
    table = release.bounded(group, CONFIDENCE)
    bounded = table.upper is not None and bool(np.isfinite(table.upper).all())
    return table if bounded else release.table(*group)


def save(release: TablesRelease, place: Place) -> SavedTables:
    """Write down what was paid for, and put it in place; interrupts wait until that is done."""
    with deferred():
        _write_json(release, place.folder, release.kept)
        place.settle()
        return SavedTables(release, place)


def _write_json(release: TablesRelease, folder: Path, model: PairModel | None) -> None:
    text = json.dumps(to_dict(release, model), ensure_ascii=False, allow_nan=False)
    with replaced(folder / KIND.json) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def all_lines(release: TablesRelease, confidence: float | None = None) -> pa.Table:
    """All tables that were asked for, one after the other: which table, which cell, the count, and bounds if asked."""
    import pyarrow as pa

    parts: list[dict[str, Any]] = []
    for group in release.groups:
        table = release.table(*group) if confidence is None else release.bounded(group, confidence)
        cells = [" × ".join(map(str, cell)) for cell in itertools.product(*table.labels)]
        part: dict[str, Any] = {"table": [" × ".join(group)] * len(cells), "cell": cells, "count": table.counts.ravel()}
        if table.lower is not None and table.upper is not None:
            part |= {"lower": table.lower.ravel(), "upper": table.upper.ravel()}
        parts.append(frames.with_counted(part, table.counted, len(cells)))
    return pa.concat_tables(pa.table(part) for part in parts)


def answers(release: TablesRelease) -> list[dict[str, Any]]:
    """All tables that were asked for, as plain values for JSON."""
    return [
        {
            "attributes": list(group),
            "how": how_got(release.model, group),
            "expected_error": total_variation(release.model, group),
            "counts": release.table(*group).counts.tolist(),
        }
        for group in release.groups[:MOST_TABLES]
    ]
