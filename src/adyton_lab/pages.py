"""What the laboratory's reports share: HTML from templates, and plots, which need the extra ``plots``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from adyton.errors import BadInput


def rendered(template: Path, **values: object) -> str:
    """A template file filled in; all values are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(template.parent), autoescape=True, undefined=StrictUndefined)
    return environment.get_template(template.name).render(**values)


BLUE, VERMILLION, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
OTHERS = ("#000000", "#CC79A7", "#E69F00", "#999999", "#8C6D1F", "#5E4FA2", "#66A61E", "#A6761D", "#444444")
"""The colours of Okabe and Ito, which colour-blind readers can tell apart; lines also differ by their markers."""
MARKERS = ("^", "v", "P", "X", "*", "<", ">", "p", "h", "d")

Styles = dict[str, tuple[str, str]]
"""A colour and a marker for each method."""


def need_plots() -> None:
    """Refuse before any work is done if matplotlib is missing."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise BadInput("plots need matplotlib, which is not installed. Run: pip install 'adyton[plots]'") from None


def styles(methods: list[str], fixed: Styles) -> Styles:
    """A colour and a marker for each method, the same in all panels of a plot; *fixed* styles take precedence."""
    others = [name for name in methods if name not in fixed]
    free = {name: (OTHERS[place % len(OTHERS)], MARKERS[place % len(MARKERS)]) for place, name in enumerate(others)}
    return {name: fixed.get(name) or free[name] for name in methods}


def plain_log(axis: Any) -> None:
    """Ticks in plain numbers, as many as the range needs."""
    ticker = import_module("matplotlib.ticker")
    low, high = axis.get_view_interval()
    ticks = (1, 1.2, 1.5, 2, 3, 4, 6, 8) if high / low < 6 else (1, 2, 5) if high / low < 300 else (1,)
    axis.set_major_locator(ticker.LogLocator(subs=ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_tick_params(labelsize=7)


def common_legend(figure: Any) -> None:
    """One legend below all panels, without duplicate labels."""
    handles = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    columns = 4 if 5 < len(handles) < 9 else 5
    where = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles.values(), handles.keys(), **where, fontsize=8, frameon=False)


@contextmanager
def canvas(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A figure that is saved as *path* and as PNG: the same records give the same bytes, and element ids are unique."""
    matplotlib = import_module("matplotlib")
    options = {"svg.fonttype": "none", "svg.hashsalt": path.name, "hatch.linewidth": 0.6}
    with matplotlib.rc_context(options):
        figure = import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
        yield figure
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=110)


def panels(figure: Any, count: int, columns: int) -> list[Any]:
    """Axes for *count* panels, at most *columns* in a row; unused axes are hidden."""
    grid = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return grid[:count]


_DODGE = 0.03
"""The fraction of its place by which a point is shifted, so error bars do not hide each other."""
_WIDE = 3
"""The usual number of panels in a row."""


@dataclass(frozen=True)
class Point:
    """A value at a place, and the ends of its error bar."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """Lines by name, and levels that are the same at all places."""

    title: str
    lines: dict[str, list[Point]]
    levels: dict[str, float]


def draw_lines(path: Path, title: str, shown: Sequence[Panel], *, across: str, up: str, fixed: Styles) -> Path:
    """Draw panels to *path* and to a PNG file next to it, on a log axis; lines of *fixed* style are thicker."""
    names = list(dict.fromkeys(name for panel in shown for name in panel.lines))
    style_of = styles(names, fixed)
    columns = len(shown) if len(shown) <= _WIDE else _WIDE if len(shown) % _WIDE in (0, 2) else 2
    with canvas(path, (max(6.5, 3.7 * columns), 2.9 * -(-len(shown) // columns) + 1.1)) as figure:
        figure.suptitle(title, fontsize=12)
        grid = panels(figure, len(shown), columns)
        for axes, panel in zip(grid, shown, strict=True):
            axes.set_title(panel.title, fontsize=9)
            axes.set_xscale("log")
            for place, (name, points) in enumerate(panel.lines.items()):
                beside = (1 + _DODGE) ** (place - (len(panel.lines) - 1) / 2)
                axes.errorbar(
                    [point.x * beside for point in points],
                    [point.y for point in points],
                    yerr=[[point.y - point.low for point in points], [point.high - point.y for point in points]],
                    color=style_of[name][0],
                    marker=style_of[name][1],
                    markersize=5,
                    linewidth=1.8 if name in fixed else 1,
                    linestyle="-" if name in fixed else "--",
                    elinewidth=1,
                    capsize=2,
                    label=name,
                )
            for (name, level), look in zip(panel.levels.items(), (":", "-."), strict=False):
                axes.axhline(level, color="black", linewidth=0.9, linestyle=look, label=name)
            axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
            axes.set_axisbelow(True)
            axes.yaxis.set_tick_params(labelsize=7)
            plain_log(axes.xaxis)
            axes.set_xticks(sorted({point.x for points in panel.lines.values() for point in points}))
        common_legend(figure)
        for axes in grid[-columns:]:
            axes.set_xlabel(across, fontsize=8)
        figure.supylabel(up, fontsize=9)
    return path
