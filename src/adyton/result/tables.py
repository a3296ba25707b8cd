"""The sheets of a release of counts: what was asked for, line by line, and the cells that it all comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adyton.arrays import Array
from adyton.queries import Identity, Queries
from adyton.queries import Marginals as MarginalQueries
from adyton.result import frames
from adyton.result.interval import NOT_MEASURED, Interval
from adyton.result.intervals import MOST_QUERIES
from adyton.result.presentation import Look
from adyton.result.sheets import Column, Sheet, Sheets
from adyton.tasks.words import question_in_words

if TYPE_CHECKING:
    from adyton.result.release import Release

CELLS, ANSWERS, TABLES = "estimate.csv", "answers.csv", "tables.csv"
TOO_MANY_LINES = f"No bounds: they are computed for at most {MOST_QUERIES:,} lines at a time."


def asked_sheets(release: Release, look: Look, confidence: float | None) -> Sheets:
    """What was asked for: marginals, cumulative counts, answers to queries, or the cells."""
    if parts_alone(release):
        return _bounded(release, *_marginals(release, look), look, confidence)
    if release.task.cumulative:
        ((only,),) = (cell_sheets(release, release.schema.names, look, None).sheets,)
        counts = look.numbers(release.workload @ look.shown(release.estimate))
        found = Sheets(CELLS, (replace(only, columns=(Column("cumulative_count", counts),)),), look=_told(look))
        return _bounded(release, release.workload, found, look, confidence)
    if questions := release.task.questions():
        words = [question_in_words(query) for query in questions]
        answers = look.numbers(release.workload @ look.shown(release.estimate))
        sheet = Sheet({"query": words}, (Column("count", answers),), counted=release.counted_rows)
        return _bounded(release, release.workload, Sheets(ANSWERS, (sheet,), look=_told(look)), look, confidence)
    return cell_sheets(release, release.schema.names, look, confidence)


def cell_sheets(release: Release, names: Collection[str], look: Look, confidence: float | None) -> Sheets:
    """The counts of every cell of some attributes, summed over the others."""
    places = [place for place, name in enumerate(release.schema.names) if name in names]
    queries: Queries = MarginalQueries(release.schema.shape, [places])
    sheet = _sheet(release, places, look.numbers(queries @ look.shown(release.estimate)))
    if len(places) == len(release.schema.names):
        queries = Identity(release.schema.shape)
    return _bounded(release, queries, Sheets(CELLS, (sheet,), look=_told(look)), look, confidence)


def parts_alone(release: Release) -> bool:
    """Whether the task asks for tables of some attributes, so that single cells are a by-product that says little."""
    return release.task.tables(release.schema) not in ((), (release.schema.names,))


def _marginals(release: Release, look: Look) -> tuple[Queries, Sheets]:
    """Every table of so many attributes, in the order of the workload."""
    shape, cells = release.schema.shape, look.shown(release.estimate)
    sets = [list(places) for places in table_places(release)]
    plain = isinstance(release.workload, MarginalQueries)
    queries = release.workload if plain else MarginalQueries(shape, sets)
    sheets = [_sheet(release, places, look.numbers(MarginalQueries(shape, [places]) @ cells)) for places in sets]
    return queries, Sheets(TABLES, tuple(sheets), look=_told(look))


def table_places(release: Release) -> Iterator[tuple[int, ...]]:
    """The axes of each table that was asked for, in the order of the workload."""
    names = release.schema.names
    return (tuple(names.index(name) for name in group) for group in release.task.tables(release.schema))


def _sheet(release: Release, places: Sequence[int], counts: Array) -> Sheet:
    names = [release.schema.names[place] for place in places]
    labels = frames.labels([release.axes[name] for name in names])
    return Sheet(dict(zip(names, labels, strict=True)), (Column("count", counts),), counted=release.counted_rows)


def _told(look: Look) -> dict[str, bool]:
    return {"integer": look.integer, "nonnegative": look.nonnegative}


def _bounded(release: Release, queries: Queries, found: Sheets, look: Look, confidence: float | None) -> Sheets:
    """The same with bounds, as far as there are any: notes say what is missing, and why."""
    if confidence is None:
        return found
    if queries.count > MOST_QUERIES:
        return found.noted(TOO_MANY_LINES)
    if release.noise.beyond(queries):
        return found.noted(NOT_MEASURED)
    bounds = release.interval(queries, confidence)  # all at once: the algorithm is run again for it
    return found.noted(bounds.missing) if bounds.missing else within(found, bounds, look)


def within(found: Sheets, bounds: Interval, look: Look) -> Sheets:
    """Sheets with the bounds of all their lines."""
    sheets, start = [], 0
    for sheet in found.sheets:
        part, (column,) = slice(start, start + sheet.lines), sheet.columns
        lower, upper = look.around(column.values, bounds.lower[part], bounds.upper[part])
        sheets.append(replace(sheet, columns=(replace(column, lower=lower, upper=upper),), note=bounds.note))
        start = part.stop
    return replace(found, sheets=tuple(sheets), confidence=bounds.confidence)
