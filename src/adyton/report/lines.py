"""The lines of a release as a table: the first of what was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from adyton.report.bars import MOST as MOST_BARS
from adyton.report.shown import Asked, LaterPanel, LaterTable, Panel, Table, boxes
from adyton.result.tables import table_places
from adyton.tasks import Cdf, Marginals, QueryList, as_queries
from adyton.tasks.words import question_in_words

if TYPE_CHECKING:
    from adyton.result import Release


MOST_TABLES, _FEWEST = 24, 60
"""So many tables are shown, and so many lines of each at the least."""


def apart(release: Release) -> bool:
    """Whether the task asks for sums only, so that single cells are a by-product that says little."""
    return isinstance(release.task, Marginals) and release.task.groups(release.schema) != (release.schema.names,)


def lines(release: Release, asked: Asked, rows: int) -> list[LaterTable]:
    """The first lines of what was asked for: of each marginal, of a cumulative distribution, or the first cells."""
    if apart(release):
        return _tables_of_marginals(release, asked, rows)
    size = math.prod(release.estimate.shape)
    places = np.unravel_index(np.arange(min(rows, size)), release.estimate.shape)
    cells = np.stack(places, axis=1).tolist()
    cumulative = isinstance(release.task, Cdf)
    where = asked.boxes(([[0]] * len(cells) if cumulative else cells, cells))
    labels = tuple(_labels(release, range(release.estimate.ndim), cell) for cell in cells)
    what = "rows up to here" if cumulative else "rows"
    return [lambda numbers: Table(tuple(release.axes), labels, *numbers(where), size, what)]


def _tables_of_marginals(release: Release, asked: Asked, rows: int) -> list[LaterTable]:
    """The first lines of every table that was asked for, as far as tables are shown: about as many of each."""
    assert isinstance(release.task, Marginals)
    every = min(len(release.task.groups(release.schema)), MOST_TABLES)
    some = max(_FEWEST, rows // every) if rows >= _FEWEST else rows
    return [_marginal(release, asked, axes, some) for axes in islice(table_places(release, release.task), every)]


def _marginal(release: Release, asked: Asked, axes: tuple[int, ...], most: int) -> LaterTable:
    shape = release.estimate.shape
    sides = [shape[axis] for axis in axes]
    size = math.prod(sides)
    cells = np.stack(np.unravel_index(np.arange(min(most, size)), sides), axis=1)
    spans = {axis: (column.tolist(), column.tolist()) for axis, column in zip(axes, cells.T, strict=True)}
    where = asked.boxes(boxes(shape, spans))
    names = tuple(tuple(release.axes)[axis] for axis in axes)
    labels = tuple(_labels(release, axes, cell) for cell in cells.tolist())
    return lambda numbers: Table(names, labels, *numbers(where), size)


def _labels(release: Release, axes: Iterable[int], cell: Sequence[int]) -> tuple[str, ...]:
    """What a cell is called along some axes."""
    every = tuple(release.axes.values())
    return tuple(str(every[axis][place]) for axis, place in zip(axes, cell, strict=True))


def lines_of_queries(release: Release, task: QueryList, asked: Asked, rows: int) -> tuple[list[LaterPanel], LaterTable]:
    """The answers to the queries that were asked, and no others: cells by themselves may mean little."""
    first = list(task.queries[: max(rows, MOST_BARS)])
    where = asked.other(as_queries(release.schema, first))
    top = slice(where.start, where.start + min(rows, len(first)))
    words = tuple(question_in_words(query) for query in first)
    panels: list[LaterPanel] = []
    if len(task.queries) <= MOST_BARS:
        panels.append(lambda numbers: Panel("bars", "Answers to the queries", (), words, *numbers(where)))
    labels = tuple((word,) for word in words[:rows])
    return panels, lambda numbers: Table(("query",), labels, *numbers(top), len(task.queries))
