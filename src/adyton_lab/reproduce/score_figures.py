"""Pictures of scores against ε: a panel for each table, a line with error bars for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adyton_lab.reproduce.figures import BLUE, GREEN, VERMILLION, Styles, canvas, common_legend, plain_log, styles
from adyton_lab.reproduce.naive_bayes import MeanScore

_OURS: Styles = {
    "chosen": (VERMILLION, "s"),
    "auto": (VERMILLION, "s"),
    "naive-bayes": (BLUE, "o"),
    "recipe": (BLUE, "o"),
    "naive-bayes-tree": (GREEN, "D"),
}
"""What is not from a paper looks the same in all pictures."""
_DODGE = 0.03
"""By so much of its ε a point is moved beside its neighbour, so that error bars do not hide each other."""
_WIDE = 3
"""So many panels stand in a line."""


@dataclass(frozen=True)
class Point:
    """A score at an ε, and where its error bar begins and ends."""

    epsilon: float
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """The lines of a table, by method, and levels that no ε changes."""

    title: str
    lines: Mapping[str, Sequence[Point]]
    levels: Mapping[str, float]


def panels(scores: Sequence[MeanScore], *, medians: bool = False) -> list[Panel]:
    """A panel for each table and number of rows; what has no ε is a level.

    The bars are standard errors of the mean. With *medians*, points are medians and bars go from quartile to quartile.
    """
    return [
        Panel(f"{table}, {rows:,} rows", *_lines_and_levels([one for one in scores if _place(one) == place], medians))
        for place in dict.fromkeys(map(_place, scores))
        for table, rows in [place]
    ]


def mean_panel(title: str, several: Sequence[Panel]) -> Panel:
    """The mean of all panels, which share methods and ε; their tables have nothing in common, nor have their errors."""
    lines = {
        name: [_mean_point(points) for points in zip(*(one.lines[name] for one in several), strict=True)]
        for name in several[0].lines
    }
    return Panel(title, lines, {})


def draw(path: Path, title: str, shown: Sequence[Panel], axis: str) -> Path:
    """Draw panels to *path*, and to a PNG file beside it; *axis* says what the scores are."""
    names = list(dict.fromkeys(name for one in shown for name in one.lines))
    style_of = styles(names, _OURS)
    columns = len(shown) if len(shown) <= _WIDE else _WIDE if len(shown) % _WIDE in (0, 2) else 2
    lines = -(-len(shown) // columns)
    with canvas(path, (max(6.5, 3.7 * columns), 2.9 * lines + 1.1)) as figure:
        figure.suptitle(title, fontsize=12)
        grid = list(figure.subplots(lines, columns, squeeze=False).flat)
        for axes in grid[len(shown) :]:
            axes.set_visible(False)
        for axes, one in zip(grid, shown, strict=False):
            _draw_panel(axes, one, style_of)
        common_legend(figure)
        for axes in grid[max(0, len(shown) - columns) : len(shown)]:
            axes.set_xlabel("ε, on a log axis", fontsize=8)
        figure.supylabel(axis, fontsize=9)
    return path


def _draw_panel(axes: Any, panel: Panel, style_of: Styles) -> None:
    axes.set_title(panel.title, fontsize=9)
    axes.set_xscale("log")
    for place, (name, points) in enumerate(panel.lines.items()):
        colour, marker = style_of[name]
        beside = (1 + _DODGE) ** (place - (len(panel.lines) - 1) / 2)
        axes.errorbar(
            [one.epsilon * beside for one in points],
            [one.score for one in points],
            yerr=[[one.score - one.low for one in points], [one.high - one.score for one in points]],
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=1.8 if name in _OURS else 1,
            linestyle="-" if name in _OURS else "--",
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
    axes.set_xticks(sorted({one.epsilon for points in panel.lines.values() for one in points}))


def _place(one: MeanScore) -> tuple[str, int]:
    return one.table, one.rows


def _lines_and_levels(scores: Sequence[MeanScore], medians: bool) -> tuple[dict[str, list[Point]], dict[str, float]]:
    lines: dict[str, list[Point]] = {}
    levels = {}
    for one in scores:
        if one.epsilon:
            lines.setdefault(one.method, []).append(_point(one, medians))
        else:
            levels[one.method] = one.median if medians else one.mean
    return lines, levels


def _point(one: MeanScore, medians: bool) -> Point:
    if medians:
        return Point(float(one.epsilon), one.median, *one.quartiles)
    return Point(float(one.epsilon), one.mean, one.mean - one.deviation, one.mean + one.deviation)


def _mean_point(points: Sequence[Point]) -> Point:
    mean = float(np.mean([one.score for one in points]))
    error = float(np.sqrt(sum((one.high - one.score) ** 2 for one in points))) / len(points)
    return Point(points[0].epsilon, mean, mean - error, mean + error)
