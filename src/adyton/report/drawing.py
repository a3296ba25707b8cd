"""A picture of a result: it can be drawn as SVG at any width, for pages, and with matplotlib, for papers and slides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from adyton.report.charts import Panel, caption, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Drawing:
    """A title, what has to be said about the picture, and two ways to draw it."""

    title: str
    caption: str
    svg: Callable[[float], str]
    """From its width in pixels to SVG."""
    plot: Callable[[Axes], Any]
    """Draws it into the axes of a figure."""
    height: float
    """How many inches it takes in a figure, from top to bottom."""
    panel: Panel | None = None
    """What is drawn, where it is a panel: its numbers serve as examples in the text."""

    @classmethod
    def of(cls, panel: Panel) -> Drawing:
        """The picture of a panel."""
        from adyton.report.plot import draw_panel, height_of

        drawn = partial(draw, panel)
        return cls(panel.title, caption(panel), drawn, lambda axes: draw_panel(axes, panel), height_of(panel), panel)
