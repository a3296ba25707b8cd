"""Pictures of the Pythia evaluation, each as SVG and PNG. They need the extra ``plots``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from adyton.errors import BadInput
from adyton_lab.reproduce.outcomes import MeanOutcome
from adyton_lab.reproduce.published import PYTHIA as PUBLISHED
from adyton_lab.reproduce.records import Record
from adyton_lab.reproduce.summaries import CHOOSERS, CRITERIA, DEFAULT, PYTHIA, RUN, Part, parts
from adyton_lab.reproduce.tables import FEW, SPLITS, by_dimension, rounded, setting, words

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


_WIDE = 4
_NOT_PRIVATE = "not private"


def draw_bars(path: Path, title: str, found: Sequence[MeanOutcome], panel: Callable[[MeanOutcome], str]) -> Path:
    """Draw to *path*, and to a PNG file beside it; *panel* says where a figure belongs. What is not private is red."""
    names = list(dict.fromkeys(map(panel, found)))
    columns = min(_WIDE, len(names))
    lines = -(-len(names) // columns)
    most = max(len({one.method for one in found if panel(one) == name}) for name in names)
    with canvas(path, (max(6.5, 3.4 * columns), (0.24 * most + 0.7) * lines + 0.6)) as figure:
        figure.suptitle(title, fontsize=12)
        grid = list(figure.subplots(lines, columns, squeeze=False).flat)
        for axes in grid[len(names) :]:
            axes.set_visible(False)
        for place, (axes, name) in enumerate(zip(grid, names, strict=False)):
            own = [one for one in found if panel(one) == name and one.mean > 0][::-1]
            colours = [VERMILLION if _NOT_PRIVATE in one.method else BLUE for one in own]
            labels = [one.method for one in own]
            axes.barh(range(len(own)), [one.mean for one in own], xerr=[one.deviation for one in own], color=colours)
            axes.set_yticks(range(len(own)), labels if place % columns == 0 else [""] * len(own), fontsize=7)
            axes.set_xscale("log")
            axes.set_title(name, fontsize=9)
            axes.xaxis.set_tick_params(labelsize=7)
    return path


_STYLES: Styles = {PYTHIA: (BLUE, "o"), RUN: (SKY, "o"), DEFAULT: (VERMILLION, "s"), "private informed": (GREEN, "D")}
_GREY = "#9A9A9A"
_MOST = 9
"""How many single algorithms Fig. 4 shows for each dimension."""

_LONGEST = 20
"""Bars of Fig. 4 end here, and an arrow says that the figure is greater; lines leave their panels here."""


def all_figures(records: Sequence[Record], folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figs. 4, 7, 9, 10 and 11 of every experiment and ε; returns the SVG files, each with a PNG beside it.

    ``fig4.svg`` is the paper's experiment; those of the others have the experiment and ε in their names.
    """
    need_plots()
    drawn = []
    for part in parts(records):
        same = part.experiment == "paper" and part.epsilon == "1"
        ending = "" if same else f"-{part.experiment}-epsilon-{part.epsilon}"
        for name, draw in (("fig4", fig4), ("fig7", fig7), *((figure, fig9_to_11) for figure in SPLITS)):
            path = Path(folder) / f"{name}{ending}.svg"
            if draw(part, path):
                drawn.append(path)
    return drawn


def fig4(part: Part, path: Path) -> bool:
    """Bars from regret 1, the informed decision: a panel for each workload, a row of panels for each dimension."""
    rows = by_dimension(part)
    methods = {dimension: part.compared(groups, _MOST) for dimension, groups in rows.items()}
    columns = max(map(len, rows.values()), default=0)
    heights = [0.24 * len(methods[dimension]) + 0.9 for dimension in rows]
    with canvas(path, (2.3 * columns + 2.2, sum(heights) + 0.9)) as figure:
        figure.suptitle(f"Mean regret of each method by workload: {setting(part)}", fontsize=12)
        grid = figure.subplots(len(rows), columns, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
        for line, (dimension, groups) in zip(grid, rows.items(), strict=True):
            for axes in line[len(groups) :]:
                axes.set_visible(False)
            for axes, group in zip(line, groups, strict=False):
                _regret_bars(axes, part, group, methods[dimension])
            line[0].set_yticks(range(len(methods[dimension])), [words(name) for name in methods[dimension]])
            for axes in line[1:]:
                axes.set_yticks([])
        diamond = "; diamond: the paper's figure" if any(one.paper for one in part.means.values()) else ""
        below = f"mean regret, log axis, 1 = informed decision (thin line: to the 95th percentile{diamond})"
        figure.supxlabel(below, fontsize=9)
    return True


def fig7(part: Part, path: Path) -> bool:
    """The splitting criteria side by side; False if the records hold fewer than two."""
    groups = [group for group in part.by_group if sum(name in part.by_group[group] for name in CRITERIA) > 1]
    if not groups:
        return False
    looks = ((BLUE, ""), (OTHERS[2], "//"), (GREEN, ".."), (OTHERS[1], "\\\\"), (OTHERS[3], "xx"))
    style_of = dict(zip(CRITERIA, looks, strict=True))
    with canvas(path, (max(7.0, 1.35 * len(groups) + 1.2), 4.2)) as figure:
        axes = figure.subplots()
        axes.set_title(f"Mean regret by the criterion that splits the tree: {setting(part)}", fontsize=12)
        for place, name in enumerate(CRITERIA):
            there = [(x, part.mean(group, name)) for x, group in enumerate(groups) if name in part.by_group[group]]
            at = [x + (place - 2) * 0.17 for x, _ in there]
            colour, hatch = style_of[name]
            bars = axes.bar(
                at,
                [mean - 1 for _, mean in there],
                0.16,
                bottom=1,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=words(name),
            )
            axes.bar_label(bars, [f"{mean:.2f}" for _, mean in there], fontsize=7, padding=2, rotation=90)
        axes.set_xticks(range(len(groups)), groups)
        axes.margins(y=0.16)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_ylabel("mean regret")
        axes.legend(ncols=2, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.08))
    return True


def fig9_to_11(part: Part, path: Path) -> bool:
    """Mean regrets by data set, cells or scale, whichever the file is named after; a panel for each workload."""
    by, word = SPLITS[path.stem.split("-")[0]]
    shown = {group: part.compared([group], FEW) for group in part.groups}
    style_of = styles(list(dict.fromkeys(name for names in shown.values() for name in names)), _STYLES)
    columns = min(3, len(shown))
    lines = -(-len(shown) // max(1, columns))
    with canvas(path, (4.1 * columns + 0.3, (3.4 if by == "source" else 2.9) * lines + 1.2)) as figure:
        figure.suptitle(f"Mean regret by {word}: {setting(part)}", fontsize=12)
        panels = list(figure.subplots(lines, columns, squeeze=False).flat)
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        for axes, (group, names) in zip(panels, shown.items(), strict=False):
            _regret_lines(axes, part, group, by, {name: style_of[name] for name in names})
        common_legend(figure)
        figure.supylabel("mean regret, on a log axis", fontsize=9)
    return True


def _regret_bars(axes: Any, part: Part, group: str, methods: Sequence[str]) -> None:
    axes.set_title(group, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.95, _LONGEST**1.3)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    for place, name in enumerate(methods):
        found = part.means.get((group, name))
        if found is None:
            continue
        mean, tail = min(found.mean, _LONGEST), min(max(found.mean, found.percentile_95), _LONGEST)
        axes.barh(place, mean - 1, 0.7, left=1, color=_STYLES[name][0] if name in _STYLES else _GREY)
        axes.plot([mean, tail], [place, place], color="black", linewidth=0.8)
        if found.percentile_95 > _LONGEST:
            axes.plot(tail, place, marker=">", color="black", markersize=3)
        number = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 7}
        axes.text(0.99, place, rounded(found.mean), **number)
        if name == PYTHIA and found.paper and group in PUBLISHED:
            axes.plot(PUBLISHED[group], place, marker="D", color="white", markeredgecolor="black", markersize=5)
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    plain_log(axes.xaxis)


def _regret_lines(axes: Any, part: Part, group: str, by: str, style_of: Styles) -> None:
    axes.set_title(group, fontsize=9)
    axes.set_yscale("log")
    found = part.split(group, by, list(style_of))
    values = list(dict.fromkeys(one.value for one in found))
    if by == "source":
        axes.set_xticks(range(len(values)), values, rotation=40, ha="right", rotation_mode="anchor", fontsize=7)
    else:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_tick_params(labelsize=8)
    for name, (colour, marker) in style_of.items():
        points = [
            (values.index(one.value) if by == "source" else one.value, one.mean) for one in found if one.method == name
        ]
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=1.8 if name in CHOOSERS else 1,
            linestyle="none" if by == "source" else "-" if name in CHOOSERS else "--",
            label=words(name),
        )
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.grid(axis="x" if by == "source" else "y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.97), min(high, _LONGEST))
    plain_log(axes.yaxis)
