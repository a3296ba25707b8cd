"""The pictures of a release: along one attribute, or of two together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from adyton.queries import Ranges
from adyton.release.tables import table_places
from adyton.report.bars import MOST as MOST_BARS
from adyton.report.display_axis import display_axis
from adyton.report.shown import Asked, LaterPanel, NumbersOf, Panel, boxes
from adyton.tasks import Cdf, Marginals

if TYPE_CHECKING:
    from adyton.release import Release

MOST_STEPS, MOST_SQUARES = 512, 64
_MOST_PICTURES = 24
"""So many tables are drawn; the files hold all of them."""
_FEW, _TYPICAL = 12, 256
"""So many cells are bars even if they have an order; so many squares of a map show how wide its intervals are."""


def panels_of(release: Release, asked: Asked, most: int | None) -> list[LaterPanel]:
    """The tables that were asked for, as far as they can be drawn; else the joint picture of two attributes, and of
    more than one also each by itself."""
    names, ndim = tuple(release.axes), release.estimate.ndim
    if isinstance(release.task, Marginals) and release.task.widest(release.schema) <= 2:
        every = islice(table_places(release, release.task), _MOST_PICTURES if most is None else most)
        return [_map(release, asked, places) if places[1:] else _along(release, asked, *places) for places in every]
    panels: list[Callable[[], LaterPanel]] = []
    if isinstance(release.task, Cdf):
        panels.append(lambda: _along(release, asked, 0, cumulative=True))
    if ndim == 2:
        panels.append(lambda: _map(release, asked, (0, 1)))
    panels += [partial(_along, release, asked, place) for place in range(len(names))]
    return [panel() for panel in panels[:most]]


def _along(release: Release, asked: Asked, place: int, *, cumulative: bool = False) -> LaterPanel:
    """The counts along one attribute, summed over all others."""
    name = tuple(release.axes)[place]
    axis = display_axis(name, release.schema.attributes[name], MOST_STEPS)
    few = axis.size <= _FEW or (not axis.ordered and axis.size <= MOST_BARS)
    first = [0] * axis.size if cumulative else axis.first
    where = asked.boxes(boxes(release.estimate.shape, {place: (first, axis.last)}))
    title = f"Rows up to each {name}" if cumulative else f"Rows by {name}"
    kind: Literal["bars", "line"] = "bars" if few and not cumulative else "line"
    return lambda numbers: Panel(kind, title, (axis,), axis.labels, *numbers(where))


def _map(release: Release, asked: Asked, places: tuple[int, ...]) -> LaterPanel:
    """The counts of two attributes together, summed over all others."""
    names = [tuple(release.axes)[place] for place in places]
    across, up = (display_axis(name, release.schema.attributes[name], MOST_SQUARES) for name in names)
    spans = [
        tuple(zip(*((a, b) for a in one for b in other), strict=True))
        for one, other in ((across.first, up.first), (across.last, up.last))
    ]
    first, last = boxes(
        release.estimate.shape, {place: (spans[0][at], spans[1][at]) for at, place in enumerate(places)}
    )
    values = np.asarray(Ranges(release.estimate.shape, first, last) @ release.estimate.reshape(-1), dtype=np.float64)
    some = np.unique(np.linspace(0, len(first) - 1, min(_TYPICAL, len(first))).astype(int)).tolist()
    where = asked.boxes(([first[one] for one in some], [last[one] for one in some]))
    title = f"Rows by {names[0]} and {names[1]}"

    def panel(numbers: NumbersOf) -> Panel:
        _, lower, upper = numbers(where)
        return Panel("map", title, (across, up), (), values.reshape(across.size, up.size), lower, upper)

    return panel
