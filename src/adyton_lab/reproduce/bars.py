"""Pictures of mean figures as bars: a panel for each workload or data set, a bar for each method, on a log axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from adyton_lab.reproduce.canvas import BLUE, VERMILLION, canvas
from adyton_lab.reproduce.outcomes import MeanOutcome

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
