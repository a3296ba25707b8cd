"""From what is shown of a release to drawings."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.report.bars import bars
from adyton.report.display_axis import DisplayAxis
from adyton.report.dots import dots
from adyton.report.geography import ground_of, middle_of
from adyton.report.heat_map import heat_map
from adyton.report.multiples import multiples
from adyton.report.pyramid import pyramid
from adyton.report.scales import figure, people
from adyton.report.shown import Panel
from adyton.report.step_line import Shape, step_line
from adyton.schema import Longitude

_ONE = {"bars": "bar", "map": "square", "pyramid": "bar", "dots": "dot", "trend": "point"}


def draw(panel: Panel, width: float) -> str:
    """The picture of a panel, so many pixels wide, as SVG."""
    common: dict[str, Any] = {"title": panel.title, "description": describe(panel), "unit": panel.unit, "width": width}
    match panel.kind:
        case "map":
            values, across, up = oriented(panel)
            return heat_map(values, across, up, digits=0 if panel.people else 1, **common)
        case "bars":
            three = panel.values.tolist(), _listed(panel.lower), _listed(panel.upper)
            return bars(panel.labels, *three, digits=0 if panel.people else 1, **common)
        case "dots":
            return dots(
                panel.labels, panel.values, panel.lower, panel.upper, series=panel.series, within=panel.within, **common
            )
        case "pyramid":
            return _draw_pyramid(panel, common)
        case "multiples":
            names, shape = panel.axes[1].labels, _shape(panel.axes[0])
            bounds = panel.values, panel.lower, panel.upper
            return multiples(*bounds, axis=panel.axes[0], names=names, shape=shape, **common)
    axis = panel.axes[0]
    return step_line(
        panel.values.tolist(),
        _listed(panel.lower),
        _listed(panel.upper),
        ticks=axis,
        apart=axis.labels[axis.size - axis.apart :],
        name=axis.name,
        height=300 if width > 500 else 260,
        shape=_shape(axis),
        zero=panel.zero,
        within=panel.within,
        **common,
    )


def _shape(axis: DisplayAxis) -> Shape:
    return "points" if axis.dated else "steps"


def _draw_pyramid(panel: Panel, common: dict[str, Any]) -> str:
    along, levels = panel.axes
    return pyramid(
        *(None if one is None else one[:, :2] for one in (panel.values, panel.lower, panel.upper)),  # type: ignore[arg-type]
        labels=along.labels,
        sides=(levels.labels[0], levels.labels[1]),
        apart=along.apart,
        name=along.name,
        **common,
    )


def oriented(panel: Panel) -> tuple[Reals, DisplayAxis, DisplayAxis]:
    """The values of a map, what goes to the right and what upwards: names are better read on the left, and longitude
    from left to right."""
    across, up = panel.axes
    turned = up.ordered and not across.ordered
    if not up.ordered and not across.ordered:
        turned = max(map(len, across.labels)) > max(map(len, up.labels))
    if turned or isinstance(up.attribute, Longitude):
        return panel.values.T, up, across
    return panel.values, across, up


def describe(panel: Panel) -> str:
    """A picture in words."""
    values = panel.values.reshape(-1)
    told = people if panel.people else figure
    low, high = told(float(values.min())), told(float(values.max()))
    return f"{values.size} values from {low} to {high} {panel.unit}; the greatest is at {peak(panel)}. {caption(panel)}"


def peak(panel: Panel) -> str:
    """The name of the cell with the greatest value."""
    place = int(panel.values.reshape(-1).argmax())
    if len(panel.axes) == 2:
        (across, up), (column, row) = panel.axes, divmod(place, panel.axes[1].size)
        if ground_of(across, up):
            return f"{' and '.join(middle_of(axis, cell) for axis, cell in ((across, column), (up, row)))}"
        return f"{across.name} {across.labels[column]} and {up.name} {up.labels[row]}"
    row, column = divmod(place, len(panel.series) or 1)
    label = panel.labels[row] + (f", {panel.series[column]}" if panel.series else "")
    return f"{panel.axes[0].name} {label}" if panel.axes else label


def caption(panel: Panel) -> str:
    """What has to be said about a picture: which cells were joined, what was left out, and what shows the interval."""
    words = []
    one = _ONE.get(panel.kind, "step")
    for axis in panel.axes:
        if axis.joined > 1:
            words.append(f"Each {one} adds up {axis.joined} neighbouring cells of {axis.name}.")
        if panel.kind == "map" and axis.ordered and axis.apart:
            words.append(f"At the end of {axis.name}: {' and '.join(axis.labels[-axis.apart :])}.")
    words += _left_out(panel)
    if panel.about is not None:
        return " ".join([*words, panel.about])
    if panel.lower is None or panel.upper is None:
        words.append("Shown without intervals.")
    elif panel.kind == "map":
        radius = max(1, round(float((panel.upper - panel.lower).mean() / 2)))
        rows = f"{radius:,} row{'s' * (radius > 1)}"
        words.append(f"The {panel.rate} of a square reaches about {rows} to either side.")
    else:
        band = "shaded band is" if panel.kind in ("line", "trend", "multiples") else "thin lines are"
        words.append(f"The {band} the {panel.rate} of each {one}.")
    if panel.within is not None:
        words.append("Where too little is known, intervals are wider than the picture, and end at its edge.")
    if panel.zero and (panel.values < 0).any():
        shown = "shown as 0" if panel.kind == "pyramid" else "shown as they are"
        words.append(f"Values below zero are noise, {shown}.")
    return " ".join(words)


def _left_out(panel: Panel) -> list[str]:
    """Other and missing values for which a pyramid has no side, and small multiples no place."""
    if panel.kind == "pyramid":
        levels = panel.axes[1]
        sums = [(levels.labels[place], float(panel.values[:, place].sum())) for place in range(2, levels.size)]
        return [f"Not drawn: {levels.name} {label}, about {people(count)} rows." for label, count in sums]
    if panel.kind == "multiples" and (along := panel.axes[0]).apart:
        base = along.size - along.apart
        sums = [(along.labels[place], float(np.sum(panel.values[place]))) for place in range(base, along.size)]
        return [f"Not drawn: {along.name} {label}, about {people(count)} rows." for label, count in sums]
    return []


def _listed(bounds: Reals | None) -> list[float] | None:
    return None if bounds is None else bounds.tolist()
