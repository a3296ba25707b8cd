"""The sheets of a release of counts: what was asked for, line by line, and the cells that it all comes from."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.queries import Identity, Queries
from adyton.queries import Marginals as MarginalQueries
from adyton.result import frames
from adyton.result.intervals import MOST_QUERIES, NOT_MEASURED, Interval
from adyton.result.released import Table
from adyton.result.result import Look
from adyton.result.sheets import Column, Sheet, Sheets
from adyton.tasks.questions import question_in_words

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.result.release import Release


Group = tuple[str, ...]
MEASURED, EVEN = "measured", "filled in evenly"
LEAST_SQUARES = "least squares"
_SHOWN = 1 << 17
"""How many cells in all are simulated to find errors that have no closed form."""


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


def cell_table(release: Release, group: Group) -> Table:
    """The counts of some attributes, summed over the others."""
    counts, how = _counts(release, group), how_summed(release, group)
    return Table(group, release.labels(group), counts, how, counted=release.counted_rows)


def unbiased_table(release: Release, group: Group) -> Table:
    """The same with exact standard errors, if the algorithm is linear and the table follows from what it measured."""
    queries = _queries(release, group)
    noise = release.noise
    if noise.kind(queries) != "exact":
        why = (
            "it does not follow from what was measured"
            if not noise.determines(queries)
            else f"{release.algorithm} is not linear, so that its errors depend on the data"
        )
        raise BadInput(
            f"there is no unbiased table of {listing(group)}: {why}. table({listing(group)}) estimates it. For"
            "  unbiased tables release marginals with all-pairs, identity, hdmm or another linear algorithm."
        )
    variances = noise.variances(queries)
    errors = _in_order(release, group, np.sqrt(variances))
    counts, counted = _counts(release, group), release.counted_rows
    return Table(group, release.labels(group), counts, LEAST_SQUARES, errors, counted=counted)


def together(release: Release, group: Group, confidence: float) -> Interval:
    """Bounds on all cells of a table that hold at the same time, in its shape."""
    found = release.noise.interval(_queries(release, group), confidence, together=True)
    ends = (_in_order(release, group, end) for end in (found.estimate, found.lower, found.upper))
    estimate, lower, upper = ends
    return replace(found, estimate=estimate, lower=lower, upper=upper)


def how_summed(release: Release, group: Group) -> str:
    """What a table rests on."""
    queries = _queries(release, group)
    if not release.noise.determines(queries):
        return EVEN
    return MEASURED if release.noise.kind(queries) == "exact" else f"estimated by {release.algorithm}"


def cell_errors(release: Release) -> pa.Table:
    """A line for each table that was asked for; for tasks that are no marginals, one for the table of all attributes.

    The expected total variation is ½·Σ min(E|error|, count)/N: from the variances where the algorithm is linear, else
    from simulated runs on what it published.
    """
    import pyarrow as pa

    groups = release.task.tables(release.schema) or (release.schema.names,)
    sizes = [math.prod(len(release.axes[name]) for name in group) for group in groups]
    found = _mean_absolute(release, groups) if sum(sizes) <= _SHOWN else [None] * len(groups)
    total = max(1.0, float(release.estimate.sum()))
    errors = [
        None
        if off is None
        else float(np.minimum(off, np.maximum(_counts(release, group), 0.0).ravel()).sum() / (2 * total))
        for group, off in zip(groups, found, strict=True)
    ]
    columns = {
        "table": [" × ".join(group) for group in groups],
        "cells": sizes,
        "expected_error": pa.array(errors, type=pa.float64()),
        "how": [how_summed(release, group) for group in groups],
    }
    return pa.table(frames.with_counted(columns, release.counted_rows, len(groups)))


def _mean_absolute(release: Release, groups: tuple[Group, ...]) -> list[Reals | None]:
    """The mean of |error| of every cell of each table, as far as it is known."""
    queries = MarginalQueries(release.schema.shape, [sorted(_places(release, group)) for group in groups])
    found = release.noise.mean_absolute(queries)
    if found is None:
        return [None] * len(groups)
    return list(np.split(found, np.cumsum(queries.sizes)[:-1]))


def _places(release: Release, group: Group) -> list[int]:
    return [release.schema.names.index(name) for name in group]


def _queries(release: Release, group: Group) -> MarginalQueries:
    return MarginalQueries(release.schema.shape, [sorted(_places(release, group))])


def _counts(release: Release, group: Group) -> Reals:
    places = _places(release, group)
    others = tuple(axis for axis in range(release.estimate.ndim) if axis not in places)
    return _transposed(release.estimate.sum(axis=others), places)


def _in_order(release: Release, group: Group, cells: Reals) -> Reals:
    places = _places(release, group)
    return _transposed(cells.reshape([release.schema.shape[place] for place in sorted(places)]), places)


def _transposed(table: Reals, places: list[int]) -> Reals:
    """From the order of the schema to the order asked."""
    return np.ascontiguousarray(table.transpose([sorted(places).index(place) for place in places]))
