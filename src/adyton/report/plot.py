"""A picture of a release with matplotlib, for papers and slides: the same looks as the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from adyton.errors import BadInput
from adyton.exact import display
from adyton.report.charts import oriented
from adyton.report.palette import BLUE, heat
from adyton.report.pictures import check_ending, drawing, write
from adyton.report.scales import spread
from adyton.report.shown import Panel
from adyton.report.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adyton.release import Release

_INK, _QUIET = "#1D2329", "#55606B"
_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _QUIET,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
_WIDTH, _BAR = 7.2, 0.27
"""The width of a picture and the height of a bar, in inches."""


def plot(release: Release, path: str | os.PathLike[str] | None = None) -> Figure:
    """The pictures of a release below one another; written to a file if a path is given."""
    if path is not None:
        check_ending(path)
    panels = summarise(release, rows=1).panels
    if not panels:
        raise BadInput("there is no picture for so many queries. Ask for to_frame(), or answer fewer at a time.")
    return draw_panels(panels, _title(release), path)


def draw_panels(panels: Sequence[Panel], title: str, path: str | os.PathLike[str] | None) -> Figure:
    """Pictures below one another, under a title."""
    with drawing(_SETTINGS) as new_figure:
        heights = [_BAR * len(panel.labels) + 0.9 if panel.kind == "bars" else 3.0 for panel in panels]
        figure = new_figure(figsize=(_WIDTH, sum(heights) + 0.4), facecolor="white", layout="constrained")
        figure.suptitle(title, fontsize=11, color=_INK)
        rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            _DRAW[panel.kind](axes, panel)
            axes.set_title(panel.title, loc="left", fontsize=9.5, color=_INK)
        if path is not None:
            write(figure, path)
    return figure


def _title(release: Release) -> str:
    where = f" where {release.where}" if release.where else ""
    return f"{release.task}{where}: ε = {display(release.epsilon)}, by {release.algorithm}"


def _draw_bars(axes: Axes, panel: Panel) -> None:
    places = np.arange(panel.values.size)
    errors = None if panel.lower is None or panel.upper is None else np.abs([panel.lower, panel.upper] - panel.values)
    style = {"ecolor": _INK, "elinewidth": 1.0, "capsize": 2.5}
    axes.barh(places, panel.values, height=0.6, color=BLUE, alpha=0.85, xerr=errors, error_kw=style)
    axes.axvline(0, color=_INK, linewidth=0.8)
    axes.set_yticks(places, [label if len(label) <= 32 else label[:31] + "…" for label in panel.labels])
    axes.invert_yaxis()
    axes.set_xlabel(panel.unit)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def _draw_line(axes: Axes, panel: Panel) -> None:
    axis = panel.axes[0]
    edges = np.arange(axis.size + 1, dtype=np.float64)
    if panel.lower is not None and panel.upper is not None:
        axes.stairs(panel.upper, edges, baseline=panel.lower, fill=True, color=BLUE, alpha=0.22, linewidth=0)
    axes.stairs(panel.values, edges, baseline=None, color=BLUE, linewidth=1.3)
    axes.axhline(0, color=_INK, linewidth=0.8)
    last = [(axis.size - axis.apart + place + 0.5, words) for place, words in enumerate(axis.labels[-axis.apart :])]
    ticks = axis.ticks(8) + (last if axis.apart else [])
    axes.set_xticks([place for place, _ in ticks], [words for _, words in ticks])
    axes.set(xlim=(0, axis.size), xlabel=axis.name, ylabel=panel.unit)
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


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
    axes.imshow(heat(values.T / strongest), origin=origin, extent=extent, aspect="auto", interpolation="nearest")
    levels = up.ticks(7 if up.ordered else up.size, whole=True)
    for ticks, put in ((across.ticks(8, whole=True), axes.set_xticks), (levels, axes.set_yticks)):
        put([place for place, _ in ticks], [words for _, words in ticks])
    axes.set(xlabel=across.name, ylabel=up.name)
    colours = ListedColormap(heat(np.linspace(low, high, 256) / strongest) / 255.0)
    legend = axes.figure.colorbar(ScalarMappable(Normalize(low, high), colours), ax=axes, label=panel.unit)
    legend.outline.set_visible(False)


_DRAW = {"bars": _draw_bars, "line": _draw_line, "map": _draw_map}
