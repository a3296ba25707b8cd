"""The pictures of a release: along one attribute, or of two together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from adyton.report.bars import MOST as MOST_BARS
from adyton.report.display_axis import DisplayAxis, display_axis
from adyton.report.lines import MOST_TABLES
from adyton.report.pairs import is_map, pair
from adyton.report.shown import Asked, Kind, LaterPanel, Panel, boxes
from adyton.result.tables import table_places
from adyton.tasks import Cdf, Marginals

if TYPE_CHECKING:
    from adyton.result import Release

MOST_STEPS = 512
_FEW = 12
"""So many cells are bars even if they have an order, unless they are dates."""


def panels_of(release: Release, asked: Asked, most: int | None) -> list[LaterPanel]:
    """The tables that were asked for, as far as they can be drawn; else the joint picture of two attributes, and of
    more than one also each by itself, unless together they are places on a map."""
    names, ndim = tuple(release.axes), release.estimate.ndim
    if isinstance(release.task, Marginals) and release.task.widest(release.schema) <= 2:
        every = islice(table_places(release, release.task), MOST_TABLES if most is None else most)
        return [pair(release, asked, places) if places[1:] else _along(release, asked, *places) for places in every]
    panels: list[Callable[[], LaterPanel]] = []
    if isinstance(release.task, Cdf):
        panels.append(lambda: _along(release, asked, 0, cumulative=True))
    if ndim == 2:
        panels.append(lambda: pair(release, asked, (0, 1)))
    if not is_map(release.schema):
        panels += [partial(_along, release, asked, place) for place in range(len(names))]
    return [panel() for panel in panels[:most]]


def kind_of(axis: DisplayAxis) -> Kind:
    """How the counts along an axis are drawn: dates as a trend, few cells or names as bars, all else as steps."""
    if axis.dated:
        return "trend"
    few = axis.size <= _FEW or (not axis.ordered and axis.size <= MOST_BARS)
    return "bars" if few else "line"


def _along(release: Release, asked: Asked, place: int, *, cumulative: bool = False) -> LaterPanel:
    """The counts along one attribute, summed over all others."""
    name = tuple(release.axes)[place]
    axis = display_axis(name, release.schema.attributes[name], MOST_STEPS)
    if axis.joined == 1:
        axis = replace(axis, labels=tuple(map(str, release.axes[name])))
    first = [0] * axis.size if cumulative else axis.first
    where = asked.boxes(boxes(release.estimate.shape, {place: (first, axis.last)}))
    title = f"Rows up to each {name}" if cumulative else f"Rows by {name}"
    kind = kind_of(axis)
    kind = "line" if cumulative and kind == "bars" else kind
    return lambda numbers: Panel(kind, title, (axis,), axis.labels, *numbers(where))
