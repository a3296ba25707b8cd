"""A picture of a result with matplotlib, for papers and slides: the same pictures as in the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.report.drawing import Drawing
from adyton.report.letters import wrapped
from adyton.report.pictures import check_ending, drawing, write
from adyton.report.plot_panels import INK, QUIET, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adyton.result.result import Result

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
