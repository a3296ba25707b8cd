"""Pictures with matplotlib, for papers and slides: the same as in the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from adyton.errors import BadInput
from adyton.exact import display
from adyton.report.axes import DisplayAxis
from adyton.report.charts import Kind, Panel, oriented
from adyton.report.maps import ground_of
from adyton.report.palette import BLUE, VERMILION, heat, is_deep
from adyton.report.pictures import check_ending, drawing, write
from adyton.report.scales import number, people, spread
from adyton.report.svg import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adyton.report.drawing import Drawing
    from adyton.result.result import Result

INK, QUIET = "#1D2329", "#55606B"
_ROOM = 540.0
"""How wide a line of the title is, in the pixels of a report."""
_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": QUIET,
    "xtick.color": INK,
    "ytick.color": INK,
}


def plot(
    result: Result, path: str | os.PathLike[str] | None = None, drawings: Sequence[Drawing] | None = None
) -> Figure:
    """The pictures of a result, or these, below one another under a title; written to a file if a path is given."""
    if path is not None:
        check_ending(path)
    drawn = result.drawings() if drawings is None else drawings
    if not drawn:
        raise BadInput(
            f"there is no picture of this {result.noun}. to_frame() has the numbers, and explain() tells it in words."
        )
    where = f" where {result.where}" if result.where else ""
    told = f"{result.task}{where}{result.counted.aside}: ε = {display(result.epsilon)}, by {result.algorithm}"
    title = "" if result.schema is None else result.schema.report.title
    with drawing(_SETTINGS) as new_figure:
        heights = [one.height for one in drawn]
        lines = wrapped(title, _ROOM, 2) * bool(title) + wrapped(told, _ROOM, 3)
        figure = new_figure(figsize=(WIDTH, sum(heights) + 0.2 + 0.2 * len(lines)), facecolor="white")
        figure.set_layout_engine("constrained")
        figure.suptitle("\n".join(lines), fontsize=11, color=INK)
        rows = figure.subplots(len(drawn), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, one in zip(rows, drawn, strict=True):
            one.plot(axes)
        if path is not None:
            write(figure, path)
    return figure


# ---- one function for each kind of picture ---------------------------------------------------------------------------


WIDTH = 7.2
_BAR, _NAMES = 0.27, 230.0
"""The height of a bar in inches, and the room for names in the pixels of a report."""
_WRITTEN = 160
_SERIES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A949E")


def height_of(panel: Panel) -> float:
    """How many inches a picture takes from top to bottom."""
    if panel.kind in ("bars", "dots"):
        return _BAR * sum(len(lines) for lines in _lines(panel.labels)) + 0.9
    if panel.kind == "pyramid":
        return 0.19 * panel.axes[0].size + 1.1
    if panel.kind == "map":
        values, across, up = oriented(panel)
        ground = ground_of(across, up)
        if ground is not None:
            return min(8.0, 0.78 * WIDTH * ground.aspect + 0.6)
        return max(3.0, 0.26 * values.shape[1] + 1.0) if not up.numbered else 3.2
    if panel.kind == "multiples":
        return 1.25 * -(-panel.axes[1].size // _columns(panel)) + 0.6
    return 3.0


def draw_panel(axes: Axes, panel: Panel) -> None:
    """One picture, with its title."""
    _DRAW[panel.kind](axes, panel)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=INK, pad=20 if panel.kind == "pyramid" else None)


def _lines(labels: tuple[str, ...]) -> list[list[str]]:
    return [wrapped(label, _NAMES, 2) for label in labels]


def _written(value: float, _: object) -> str:
    """A number beside an axis."""
    return number(value, 6)


def _quiet(axes: Axes, *hidden: str) -> None:
    axes.spines[list(hidden)].set_visible(False)
    axes.set_axisbelow(True)


def _draw_bars(axes: Axes, panel: Panel) -> None:
    places = np.arange(panel.values.size)
    errors = None if panel.lower is None or panel.upper is None else np.abs([panel.lower, panel.upper] - panel.values)
    style = {"ecolor": INK, "elinewidth": 1.0, "capsize": 2.5}
    axes.barh(places, panel.values, height=0.6, color=BLUE, alpha=0.85, xerr=errors, error_kw=style)
    axes.axvline(0, color=INK, linewidth=0.8)
    _named(axes, panel)


def _draw_dots(axes: Axes, panel: Panel) -> None:
    rows, columns = len(panel.labels), len(panel.series) or 1
    values, lower, upper = (
        None if one is None else one.reshape(rows, columns) for one in (panel.values, panel.lower, panel.upper)
    )
    assert values is not None
    for column in range(columns):
        places = np.arange(rows) + (0.0 if columns == 1 else 0.18 * (column % 2) - 0.09)
        errors = None
        if lower is not None and upper is not None:
            errors = np.abs([lower[:, column], upper[:, column]] - values[:, column])
        axes.errorbar(
            values[:, column], places, xerr=errors, fmt="o", markersize=5, color=_SERIES[column % len(_SERIES)],
            ecolor=INK, elinewidth=1.0, capsize=2.5, label=panel.series[column] if panel.series else None,
        )  # fmt: skip
    if panel.series:
        axes.legend(ncols=columns, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    if panel.within is not None:
        axes.set_xlim(panel.within)
    _named(axes, panel)


def _named(axes: Axes, panel: Panel) -> None:
    """Names from top to bottom."""
    lines = _lines(panel.labels)
    axes.set_yticks(range(len(lines)), ["\n".join(one) for one in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlabel(panel.unit)
    axes.xaxis.set_major_formatter(_written)
    axes.grid(axis="x", alpha=0.25)
    _quiet(axes, "top", "right", "left", "bottom")
    axes.tick_params(length=0)


def _draw_line(axes: Axes, panel: Panel) -> None:
    axis = panel.axes[0]
    _curve(axes, panel.values, panel.lower, panel.upper, axis.dated)
    if panel.zero:
        axes.axhline(0, color=INK, linewidth=0.8)
    if panel.within is not None:
        axes.set_ylim(panel.within)
    last = [(axis.size - axis.apart + place + 0.5, words) for place, words in enumerate(axis.labels[-axis.apart :])]
    ticks = axis.ticks(8) + (last if axis.apart else [])
    axes.set_xticks([place for place, _ in ticks], [words for _, words in ticks])
    axes.set(xlim=(0, axis.size), xlabel=axis.name, ylabel=panel.unit)
    axes.yaxis.set_major_formatter(_written)
    axes.grid(axis="y", alpha=0.25)
    _quiet(axes, "top", "right")


def _curve(axes: Axes, values: Any, lower: Any, upper: Any, dated: bool) -> None:
    """Steps with their band; for dates, a line from point to point."""
    edges = np.arange(len(values) + 1, dtype=np.float64)
    bounded = lower is not None and upper is not None
    if dated:
        middles = edges[:-1] + 0.5
        if bounded:
            axes.fill_between(middles, lower, upper, color=BLUE, alpha=0.22, linewidth=0)
        axes.plot(middles, values, color=BLUE, linewidth=1.3, marker="o" if len(values) <= 40 else None, markersize=3)
        return
    if bounded:
        axes.stairs(upper, edges, baseline=lower, fill=True, color=BLUE, alpha=0.22, linewidth=0)
    axes.stairs(values, edges, baseline=None, color=BLUE, linewidth=1.3)


def _draw_map(axes: Axes, panel: Panel) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    values, across, up = oriented(panel)
    low, high = spread([float(values.min()), float(values.max())])
    strongest = max(-low, high)
    origin: Literal["upper", "lower"] = "lower" if up.ordered else "upper"
    extent = (
        (0.0, float(across.size), 0.0, float(up.size)) if up.ordered else (0.0, float(across.size), float(up.size), 0.0)
    )
    ground = ground_of(across, up)
    aspect: Any = "auto" if ground is None else ground.aspect * across.size / up.size
    axes.imshow(heat(values.T / strongest), origin=origin, extent=extent, aspect=aspect, interpolation="nearest")
    if values.size <= _WRITTEN and across.size <= 12:
        _write(axes, panel, values / strongest, values)
    for axis, put in ((across, axes.set_xticks), (up, axes.set_yticks)):
        ticks = _map_ticks(axis)
        room = _NAMES if axis is up else 620 / max(1, across.size)
        names = [words if axis.numbered else "\n".join(wrapped(words, room, 2)) for _, words in ticks]
        put([place for place, _ in ticks], names)
    if ground is None:
        axes.set(xlabel=across.name, ylabel=up.name)
    else:
        part, words = ground.scale()
        end = part * across.size
        axes.annotate(
            "", (end, -0.09), (0, -0.09), xycoords=("data", "axes fraction"), arrowprops={"arrowstyle": "|-|"}
        )
        axes.annotate(f"  {words}", (end, -0.09), xycoords=("data", "axes fraction"), va="center", color=INK)
    colours = ListedColormap(heat(np.linspace(low, high, 256) / strongest) / 255.0)
    legend = axes.figure.colorbar(ScalarMappable(Normalize(low, high), colours), ax=axes, label=panel.unit)
    legend.outline.set_visible(False)


def _map_ticks(axis: DisplayAxis) -> list[tuple[float, str]]:
    if axis.numbered:
        return axis.ticks(7, whole=True)
    return [(place + 0.5, words) for place, words in enumerate(axis.labels)]


def _write(axes: Axes, panel: Panel, shares: Any, values: Any) -> None:
    """The numbers of few squares."""
    for (column, row), value in np.ndenumerate(values):
        red, green, blue = heat(np.array([shares[column, row]]))[0].tolist()
        words = people(float(value)) if panel.people else f"{value:.1f}"
        ink = "white" if is_deep(red, green, blue) else INK
        axes.text(column + 0.5, row + 0.5, words, ha="center", va="center", color=ink, fontsize=8)


def _draw_pyramid(axes: Axes, panel: Panel) -> None:
    along, levels = panel.axes
    places = np.arange(along.size, dtype=np.float64)
    places[along.size - along.apart :] = -1.6 - np.arange(along.apart)
    for side, way, colour in ((0, -1, BLUE), (1, 1, VERMILION)):
        values = np.maximum(0, panel.values[:, side])
        errors = None
        if panel.lower is not None and panel.upper is not None:
            errors = np.abs(np.maximum(0, [panel.lower[:, side], panel.upper[:, side]]) - values)[::way]
        style = {"ecolor": INK, "elinewidth": 1.0, "capsize": 2.0}
        axes.barh(places, way * values, height=0.8, color=colour, alpha=0.85, xerr=errors, error_kw=style)
        told = f"{levels.labels[side]}: {people(float(panel.values[:, side].sum()))}"
        axes.text(0.25 + 0.5 * side, 1.0, told, transform=axes.transAxes, ha="center", va="bottom", color=INK)
    most = max(abs(end) for end in axes.get_xlim())
    axes.set_xlim(-most, most)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(places, along.labels)
    axes.xaxis.set_major_formatter(lambda value, _: people(abs(value)))
    axes.set(xlabel=panel.unit, ylabel=along.name)
    axes.grid(axis="x", alpha=0.25)
    _quiet(axes, "top", "right", "left", "bottom")
    axes.tick_params(length=0)


def _columns(panel: Panel) -> int:
    return min(panel.axes[1].size, 4 if panel.axes[1].size > 6 else 3)


def _draw_multiples(axes: Axes, panel: Panel) -> None:
    """A picture for each level inside the axes of one, to the same scale."""
    along, levels = panel.axes
    base, columns = along.size - along.apart, _columns(panel)
    rows = -(-levels.size // columns)
    axes.axis("off")
    every = [one[:base] for one in (panel.values, panel.lower, panel.upper) if one is not None]
    low, high = min(0.0, *(float(one.min()) for one in every)), max(float(one.max()) for one in every)
    for place in range(levels.size):
        row, column = divmod(place, columns)
        box = (column / columns + 0.02, 1 - (row + 0.82) / rows, 0.9 / columns, 0.56 / rows)
        one = axes.inset_axes(box)
        lower, upper = (None if part is None else part[:base, place] for part in (panel.lower, panel.upper))
        _curve(one, panel.values[:base, place], lower, upper, along.dated)
        one.set(xlim=(0, base), ylim=(low, high * 1.04))
        ticks = along.ticks(3)
        one.set_xticks([at for at, _ in ticks], [words for _, words in ticks])
        one.tick_params(labelsize=7, labelleft=column == 0)
        one.set_title("\n".join(wrapped(levels.labels[place], 400 / columns, 1)), fontsize=8, color=INK, pad=3)
        one.grid(axis="y", alpha=0.25)
        _quiet(one, "top", "right")


_DRAW: dict[Kind, Callable[[Axes, Panel], None]] = {
    "bars": _draw_bars,
    "dots": _draw_dots,
    "line": _draw_line,
    "trend": _draw_line,
    "map": _draw_map,
    "pyramid": _draw_pyramid,
    "multiples": _draw_multiples,
}
