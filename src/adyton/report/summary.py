"""What is shown of a release: a few pictures and the first lines of a table, with bounds for every number in them.

What is shown is asked of the release as queries, all of them at once: a step of a picture that joins four cells has the
bounds of their sum, not the sum of their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.queries import Queries, Ranges
from adyton.queries.base import Reals
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.display_axis import DisplayAxis, display_axis
from adyton.report.questions import question_in_words
from adyton.tasks import Cdf, Marginals, QueryList, as_queries

if TYPE_CHECKING:
    from adyton.release import Release
    from adyton.release.intervals import Interval

MOST_STEPS, MOST_SQUARES, ROWS = 512, 64, 200
_FEW, _TYPICAL = 12, 256
"""So many cells are bars even if they have an order; so many squares of a map show how wide its intervals are."""

Boxes: TypeAlias = tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
"""The first and the last cell, along every axis, of some boxes of cells."""
_Numbers: TypeAlias = tuple[Reals, Reals | None, Reals | None]
"""Answers and, where there are any, their lower and upper bounds."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture."""

    kind: Literal["bars", "line", "map"]
    title: str
    axes: tuple[DisplayAxis, ...]
    labels: tuple[str, ...]
    values: Reals
    lower: Reals | None
    upper: Reals | None
    """The bounds; for a map, those of some squares only."""


@dataclass(frozen=True, eq=False)
class Table:
    """The first lines of all there are: the labels of each, the answer and its bounds."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    values: Reals
    lower: Reals | None
    upper: Reals | None
    of: int
    """How many lines there are in all."""


@dataclass(frozen=True, eq=False)
class Summary:
    """All that is shown."""

    panels: tuple[Panel, ...]
    table: Table
    total: tuple[float, float | None, float | None] | None
    """The number of rows in all, and its bounds; None where single queries were asked."""
    queries: Queries
    """What was asked to show this."""
    interval: Interval | None
    why_no_interval: str | None


def summarise(
    release: Release, *, rows: int = ROWS, pictures: int | None = None, confidence: float | None = 0.95
) -> Summary:
    """What to show of a release: *rows* lines of the table, the first *pictures* of all there are, and intervals unless
    *confidence* is None."""
    asked = _Asked(release)
    whole = None
    if isinstance(release.task, QueryList):
        panels, table = _of_queries(release, release.task, asked, rows)
    else:
        whole = asked.boxes(([[0] * release.estimate.ndim], [[side - 1 for side in release.estimate.shape]]))
        panels, table = _panels(release, asked)[:pictures], _table(release, asked, rows)
    queries = asked.queries()
    interval, problem = _interval(release, queries, confidence)
    answers = np.asarray(queries @ release.estimate.reshape(-1), dtype=np.float64)

    def numbers(part: slice) -> _Numbers:
        if interval is None:
            return answers[part], None, None
        return answers[part], np.asarray(interval.lower)[part], np.asarray(interval.upper)[part]

    total = None if whole is None else _first(*numbers(whole))
    return Summary(tuple(panel(numbers) for panel in panels), table(numbers), total, queries, interval, problem)


def _first(values: Reals, lower: Reals | None, upper: Reals | None) -> tuple[float, float | None, float | None]:
    low, high = (None if bound is None else float(bound[0]) for bound in (lower, upper))
    return float(values[0]), low, high


class _Asked:
    """The queries so far, in the order in which they were asked."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lower: list[Sequence[int]] = []
        self._upper: list[Sequence[int]] = []
        self._other: Queries | None = None

    def boxes(self, boxes: Boxes) -> slice:
        """Ask for boxes; says where their answers will be."""
        start = len(self._lower)
        self._lower += boxes[0]
        self._upper += boxes[1]
        return slice(start, len(self._lower))

    def other(self, queries: Queries) -> slice:
        """Ask these queries and no boxes: whether bounds are exact depends on all that is asked with them."""
        self._other = queries
        return slice(0, queries.count)

    def queries(self) -> Queries:
        """All that was asked."""
        return self._other or Ranges(self._release.estimate.shape, self._lower, self._upper)


_Later: TypeAlias = Callable[[Callable[[slice], _Numbers]], Panel]


def _interval(release: Release, queries: Queries, confidence: float | None) -> tuple[Interval | None, str | None]:
    if confidence is None:
        return None, "none were asked for."
    try:
        return release.interval(queries, confidence), None
    except BadInput as error:
        return None, str(error)


def _panels(release: Release, asked: _Asked) -> list[_Later]:
    """The joint picture of one or two attributes, and of more than one also each by itself."""
    names, ndim = tuple(release.axes), release.estimate.ndim
    panels: list[_Later] = []
    if isinstance(release.task, Cdf):
        panels.append(_along(release, asked, 0, cumulative=True))
    if ndim == 2 and not apart(release):
        panels.append(_map(release, asked, names))
    return panels + [_along(release, asked, place, cumulative=False) for place in range(ndim)]


def apart(release: Release) -> bool:
    """Whether the task asks for sums only, so that single cells are a by-product that says little."""
    return isinstance(release.task, Marginals) and release.task.way < release.estimate.ndim


def _along(release: Release, asked: _Asked, place: int, *, cumulative: bool) -> _Later:
    """The counts along one attribute, summed over all others."""
    name = tuple(release.axes)[place]
    axis = display_axis(name, release.schema.attributes[name], MOST_STEPS)
    few = axis.size <= _FEW or (not axis.ordered and axis.size <= MOST_BARS)
    first = [0] * axis.size if cumulative else axis.first
    where = asked.boxes(_boxes(release.estimate.shape, {place: (first, axis.last)}))
    title = f"Rows up to each {name}" if cumulative else f"Rows by {name}"
    kind: Literal["bars", "line"] = "bars" if few and not cumulative else "line"
    return lambda numbers: Panel(kind, title, (axis,), axis.labels, *numbers(where))


def _map(release: Release, asked: _Asked, names: tuple[str, ...]) -> _Later:
    """The counts of two attributes together."""
    across, up = (display_axis(name, release.schema.attributes[name], MOST_SQUARES) for name in names)
    first, last = (
        [(a, b) for a in one for b in other] for one, other in ((across.first, up.first), (across.last, up.last))
    )
    values = np.asarray(Ranges(release.estimate.shape, first, last) @ release.estimate.reshape(-1), dtype=np.float64)
    some = np.unique(np.linspace(0, len(first) - 1, min(_TYPICAL, len(first))).astype(int)).tolist()
    where = asked.boxes(([first[one] for one in some], [last[one] for one in some]))
    title = f"Rows by {names[0]} and {names[1]}"

    def panel(numbers: Callable[[slice], _Numbers]) -> Panel:
        _, lower, upper = numbers(where)
        return Panel("map", title, (across, up), (), values.reshape(across.size, up.size), lower, upper)

    return panel


def _boxes(shape: tuple[int, ...], spans: dict[int, tuple[Sequence[int], Sequence[int]]]) -> Boxes:
    """Boxes with these spans along some axes, and all cells along the others."""
    count = len(next(iter(spans.values()))[0])
    ends = [spans.get(axis, ([0] * count, [side - 1] * count)) for axis, side in enumerate(shape)]
    return tuple([list(box) for box in zip(*(end[which] for end in ends), strict=True)] for which in (0, 1))  # type: ignore[return-value]


def _table(release: Release, asked: _Asked, rows: int) -> Callable[[Callable[[slice], _Numbers]], Table]:
    """The first cells."""
    size = math.prod(release.estimate.shape)
    places = np.unravel_index(np.arange(min(rows, size)), release.estimate.shape)
    cells = np.stack(places, axis=1).tolist()
    where = asked.boxes((cells, cells))
    axes = tuple(release.axes.values())
    labels = tuple(tuple(str(axes[axis][place]) for axis, place in enumerate(cell)) for cell in cells)
    return lambda numbers: Table(tuple(release.axes), labels, *numbers(where), size)


def _of_queries(
    release: Release, task: QueryList, asked: _Asked, rows: int
) -> tuple[list[_Later], Callable[[Callable[[slice], _Numbers]], Table]]:
    """The answers to the queries that were asked, and no others: cells by themselves may mean little."""
    first = list(task.queries[: max(rows, MOST_BARS)])
    where = asked.other(as_queries(release.schema, first))
    top = slice(where.start, where.start + min(rows, len(first)))
    words = tuple(question_in_words(query) for query in first)
    panels: list[_Later] = []
    if len(task.queries) <= MOST_BARS:
        panels.append(lambda numbers: Panel("bars", "Answers to the queries", (), words, *numbers(where)))
    labels = tuple((word,) for word in words[:rows])
    return panels, lambda numbers: Table(("query",), labels, *numbers(top), len(task.queries))
