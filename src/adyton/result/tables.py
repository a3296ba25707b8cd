"""The tables that a release is about: what was asked for, line by line, and the cells that it all comes from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array
from adyton.kernel.engines.arrow_columns import arrow_column
from adyton.queries import Identity, Queries
from adyton.queries import Marginals as MarginalQueries
from adyton.result import frames
from adyton.result.interval import NOT_MEASURED, Interval
from adyton.result.intervals import MOST_QUERIES
from adyton.result.presentation import Look
from adyton.tasks import Cdf, Marginals, QueryList
from adyton.tasks.words import question_in_words

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.result.release import Release

CELLS, ANSWERS, TABLES = "estimate.csv", "answers.csv", "tables"
MOST_TABLES = 1000
"""How many tables of a release are made at once; each of them is a file."""
TOO_MANY_LINES = f"No bounds: they are computed for at most {MOST_QUERIES:,} lines at a time."
_LONGEST = 60
"""How many letters the name of a file has."""


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table: the labels of its lines by column, their counts, and bounds if there are any."""

    file: str
    """The name of its file within the folder of a release."""
    names: tuple[str, ...]
    labels: tuple[Sequence[Any], ...]
    """A label for each line, column by column."""
    what: str
    """What the counts are called."""
    counts: Array
    lower: Array | None = None
    upper: Array | None = None
    note: str = ""
    """What has to be said about the bounds."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table. A note is in its first line, in a column of its own."""
        import pyarrow as pa

        columns = dict(zip(self.names, self.labels, strict=True))
        values: dict[str, Any] = {self.what: self.counts}
        if self.lower is not None and self.upper is not None:
            values |= {"lower": self.lower, "upper": self.upper}
        if self.note:
            values["note"] = [self.note, *itertools.repeat(None, len(self.counts) - 1)]
        columns |= {frames.free(name, columns): value for name, value in values.items()}
        columns = frames.with_counted(columns, self.counted, len(self.counts))
        return pa.table({name: arrow_column(value) for name, value in columns.items()})

    def to_plain(self) -> dict[str, Any]:
        """Column by column, as plain values for JSON."""
        return {
            "labels": {name: np.asarray(one).tolist() for name, one in zip(self.names, self.labels, strict=True)},
            "what": self.what,
            "counted": self.counted or None,
            "counts": self.counts.tolist(),
            "lower": None if self.lower is None else self.lower.tolist(),
            "upper": None if self.upper is None else self.upper.tolist(),
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class TableSet:
    """Tables whose lines, one after the other, are the answers to some queries."""

    queries: Queries
    tables: tuple[ReleasedTable, ...]
    look: Look
    confidence: float | None = None
    """The confidence of the bounds, if there are any."""
    left_out: int = 0
    """How many tables were asked for beyond these."""

    def bounded(self, release: Release, confidence: float) -> TableSet:
        """The same with bounds, as far as there are any: notes say what is missing, and why."""
        if self.queries.count > MOST_QUERIES:
            return self._noted(TOO_MANY_LINES)
        if release.noise.beyond(self.queries):
            return self._noted(NOT_MEASURED)
        found = release.interval(self.queries, confidence)  # all at once: the algorithm is run again for it
        return self._noted(found.missing) if found.missing else self.within(found)

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            "integer": self.look.integer,
            "nonnegative": self.look.nonnegative,
            "confidence": self.confidence,
            "left_out": self.left_out,
            "tables": [table.to_plain() for table in self.tables],
        }

    def within(self, found: Interval) -> TableSet:
        """The same with the bounds of all its lines."""
        tables, start = [], 0
        for table in self.tables:
            part = slice(start, start + len(table.counts))
            lower, upper = self.look.around(table.counts, found.lower[part], found.upper[part])
            tables.append(replace(table, lower=lower, upper=upper, note=found.note))
            start = part.stop
        return replace(self, tables=tuple(tables), confidence=found.confidence)

    def _noted(self, note: str) -> TableSet:
        return replace(self, tables=tuple(replace(table, note=note) for table in self.tables))


def asked_tables(release: Release, look: Look) -> TableSet:
    """What was asked for: marginals, cumulative counts, answers to queries, or the cells."""
    task = release.task
    if isinstance(task, Marginals) and task.groups(release.schema) != (release.schema.names,):
        return _marginals(release, task, look)
    if isinstance(task, Cdf):
        cells = table_of(release, release.schema.names, look).tables[0]
        counts = look.numbers(release.workload @ look.shown(release.estimate))
        return TableSet(release.workload, (replace(cells, what="cumulative_count", counts=counts),), look)
    if isinstance(task, QueryList):
        words = [question_in_words(query) for query in task.queries]
        answers = look.numbers(release.workload @ look.shown(release.estimate))
        table = ReleasedTable(ANSWERS, ("query",), (words,), "count", answers, counted=release.counted_rows)
        return TableSet(release.workload, (table,), look)
    return table_of(release, release.schema.names, look)


def all_tables(release: Release, look: Look) -> tuple[TableSet, ...]:
    """What is written as files: what was asked for, and the cells if these were not."""
    asked = asked_tables(release, look)
    return (asked,) if asked.tables[0].file == CELLS else (asked, table_of(release, release.schema.names, look))


def table_of(release: Release, names: Collection[str], look: Look) -> TableSet:
    """The counts of every cell of some attributes, summed over the others."""
    places = [place for place, name in enumerate(release.schema.names) if name in names]
    queries = MarginalQueries(release.schema.shape, [places])
    table = _table(CELLS, release, places, look.numbers(queries @ look.shown(release.estimate)))
    whole = len(places) == len(release.schema.names)
    return TableSet(Identity(release.schema.shape) if whole else queries, (table,), look)


def _marginals(release: Release, task: Marginals, look: Look) -> TableSet:
    """Every table of so many attributes, in the order of the workload."""
    names, shape = release.schema.names, release.schema.shape
    cells = look.shown(release.estimate)
    every = len(task.groups(release.schema))
    sets = [list(places) for places in itertools.islice(table_places(release, task), MOST_TABLES)]
    plain = len(sets) == every and isinstance(release.workload, MarginalQueries)
    queries = release.workload if plain else MarginalQueries(shape, sets)
    taken: set[str] = set()
    tables = []
    for places in sets:
        kept = tuple(names[place] for place in places)
        counts = look.numbers(MarginalQueries(shape, [places]) @ cells)
        tables.append(_table(file_name(kept, taken), release, places, counts))
    return TableSet(queries, tuple(tables), look, left_out=every - len(sets))


def table_places(release: Release, task: Marginals) -> Iterator[tuple[int, ...]]:
    """The axes of each table that was asked for, in the order of the workload."""
    names = release.schema.names
    return (tuple(names.index(name) for name in group) for group in task.groups(release.schema))


def _table(file: str, release: Release, places: Sequence[int], counts: Array) -> ReleasedTable:
    names = [release.schema.names[place] for place in places]
    labels = frames.labels([release.axes[name] for name in names])
    return ReleasedTable(file, tuple(names), labels, "count", counts, counted=release.counted_rows)


def file_name(names: Sequence[str], taken: set[str]) -> str:
    """A name for the file of a table that every file system holds, and that no other table has."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(names))[:_LONGEST].strip("_-") or "table"
    numbered = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    free = next(name for name in numbered if name.lower() not in taken)
    taken.add(free.lower())
    return f"{TABLES}/{free}.csv"
