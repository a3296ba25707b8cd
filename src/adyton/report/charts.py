"""From what is shown of a release to drawings."""

from __future__ import annotations

from typing import Any

from adyton.arrays import Reals
from adyton.report.bars import bars
from adyton.report.display_axis import DisplayAxis
from adyton.report.heat_map import heat_map
from adyton.report.scales import figure, number
from adyton.report.shown import Panel
from adyton.report.step_line import step_line

_TICK_ROOM, _LEVELS = 70, 7
"""How many pixels a tick takes from side to side, and how many ticks a map has from top to bottom."""


def draw(panel: Panel, width: float) -> str:
    """The picture of a panel, so many pixels wide, as SVG."""
    common: dict[str, Any] = {"title": panel.title, "description": describe(panel), "unit": panel.unit, "width": width}
    if panel.kind == "map":
        return _draw_map(panel, width)
    values, lower, upper = panel.values.tolist(), _listed(panel.lower), _listed(panel.upper)
    if panel.kind == "bars":
        return bars(panel.labels, values, lower, upper, **common)
    axis = panel.axes[0]
    return step_line(
        values,
        lower,
        upper,
        ticks=axis.ticks(int(width / _TICK_ROOM)),
        apart=axis.labels[axis.size - axis.apart :],
        name=axis.name,
        height=300 if width > 500 else 250,
        **common,
    )


def oriented(panel: Panel) -> tuple[Reals, DisplayAxis, DisplayAxis]:
    """The values of a map, what goes to the right and what upwards: names are better read on the left."""
    across, up = panel.axes
    if up.ordered and not across.ordered:
        return panel.values.T, up, across
    return panel.values, across, up


def _draw_map(panel: Panel, width: float) -> str:
    values, across, up = oriented(panel)
    return heat_map(
        values,
        names=(across.name, up.name),
        ticks=(
            across.ticks(int(width / _TICK_ROOM), whole=True),
            up.ticks(_LEVELS if up.ordered else up.size, whole=True),
        ),
        upwards=up.ordered,
        title=panel.title,
        description=describe(panel),
        unit=panel.unit,
        width=width,
    )


def describe(panel: Panel) -> str:
    """A picture in words."""
    values = panel.values.reshape(-1)
    peak = int(values.argmax())
    if panel.kind == "map":
        across, up = panel.axes
        column, row = divmod(peak, up.size)
        where = f"{across.name} {across.labels[column]} and {up.name} {up.labels[row]}"
    else:
        where = f"{panel.axes[0].name} {panel.labels[peak]}" if panel.axes else panel.labels[peak]
    shown = f"{values.size} values from {number(float(values.min()))} to {number(float(values.max()))} {panel.unit}"
    return f"{shown}; the greatest is at {where}. {caption(panel)}"


def caption(panel: Panel) -> str:
    """What has to be said about a picture: which cells were joined, and what shows the interval."""
    words, rate = [], f"{100 * panel.confidence:g}%"
    for axis in panel.axes:
        if axis.joined > 1:
            one = {"bars": "bar", "line": "step", "map": "square"}[panel.kind]
            words.append(f"Each {one} adds up {axis.joined} neighbouring cells of {axis.name}.")
        if panel.kind == "map" and axis.ordered and axis.apart:
            words.append(f"At the end of {axis.name}: {' and '.join(axis.labels[-axis.apart :])}.")
    if panel.about is not None:
        return " ".join([*words, panel.about])
    if panel.lower is None or panel.upper is None:
        words.append("Shown without intervals.")
    elif panel.kind == "map":
        radius = figure(float((panel.upper - panel.lower).mean() / 2))
        words.append(f"The {rate} interval of a square reaches about {radius} rows to either side.")
    else:
        band = "thin lines are" if panel.kind == "bars" else "shaded band is"
        words.append(f"The {band} the {rate} interval of each {'bar' if panel.kind == 'bars' else 'step'}.")
    if (panel.values < 0).any():
        words.append("Values below zero are noise, shown as they are.")
    return " ".join(words)


def _listed(bounds: Reals | None) -> list[float] | None:
    return None if bounds is None else bounds.tolist()
