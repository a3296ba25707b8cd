"""What all pictures of evaluations share: colours, ticks, and a sheet that becomes an SVG and a PNG file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from adyton.errors import BadInput

BLUE, VERMILLION, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
OTHERS = ("#000000", "#CC79A7", "#E69F00", "#999999", "#8C6D1F", "#5E4FA2", "#66A61E", "#A6761D", "#444444")
"""The colours of Okabe and Ito, which colour-blind readers tell apart; lines differ by their markers too."""
MARKERS = ("^", "v", "P", "X", "*", "<", ">", "p", "h", "d")

Styles = dict[str, tuple[str, str]]
"""A colour and a marker for each method."""


def need_plots() -> None:
    """Refuse before any work is done if the library that draws is missing."""
    try:
        import_module("matplotlib")
    except ImportError:
        raise BadInput("pictures need matplotlib, which is not here. Run: pip install 'adyton[plots]'") from None


def styles(methods: list[str], fixed: Styles) -> Styles:
    """A colour and a marker for each method, the same in all panels of a picture; *fixed* ones first."""
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
    """One legend below all panels; what several of them show is named once."""
    handles = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    columns = 4 if 5 < len(handles) < 9 else 5
    where = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles.values(), handles.keys(), **where, fontsize=8, frameon=False)


@contextmanager
def canvas(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A figure that is saved as *path* and as PNG: same records, same bytes, and ids of its own."""
    matplotlib = import_module("matplotlib")
    options = {"svg.fonttype": "none", "svg.hashsalt": path.name, "hatch.linewidth": 0.6}
    with matplotlib.rc_context(options):
        figure = import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
        yield figure
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=110)
