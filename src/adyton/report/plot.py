"""A picture of a release with matplotlib, for papers and slides: the same pictures as in the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.report.letters import wrapped
from adyton.report.pictures import check_ending, drawing, write
from adyton.report.plot_panels import INK, QUIET, WIDTH, draw_panel, height_of
from adyton.report.shown import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adyton.marginals.tables_release import TablesRelease
    from adyton.result import Release
    from adyton.statistics.numbers_release import NumbersRelease

_MOST_TABLES = 12
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


def plot(release: Release, path: str | os.PathLike[str] | None = None) -> Figure:
    """The pictures of a release below one another; written to a file if a path is given."""
    from adyton.report.summary import summarise

    return _checked(release, summarise(release, rows=1).panels, path)


def plot_numbers(release: NumbersRelease, path: str | os.PathLike[str] | None = None) -> Figure:
    """The pictures of numbers."""
    from adyton.report.number_panels import number_panels

    return _checked(release, number_panels(release), path)


def plot_tables(
    release: TablesRelease, attributes: Sequence[str], path: str | os.PathLike[str] | None = None
) -> Figure:
    """The table of one or two attributes, or the first of those that were asked for."""
    from adyton.report.table_panels import picture_of

    asked = [group for group in release.groups if len(group) <= 2]
    groups = [release.schema.check_names(attributes)] if attributes else asked[:_MOST_TABLES]
    if any(len(group) > 2 for group in groups) or not groups:
        raise BadInput(
            'a picture shows one or two attributes, like plot(attributes=["age", "sex"]). to_frame(…) has wider tables.'
        )
    return _checked(release, [picture_of(release, group) for group in groups], path)


def _checked(
    release: Release | NumbersRelease | TablesRelease, panels: Sequence[Panel], path: str | os.PathLike[str] | None
) -> Figure:
    if path is not None:
        check_ending(path)
    if not panels:
        raise BadInput("there is no picture for so many queries. Ask for to_frame(), or answer fewer at a time.")
    where = f" where {release.where}" if release.where else ""
    title = f"{release.task}{where}{release.counted.aside}: ε = {display(release.epsilon)}, by {release.algorithm}"
    return draw_panels(panels, title, path, release.schema.report.title)


def draw_panels(panels: Sequence[Panel], title: str, path: str | os.PathLike[str] | None, heading: str = "") -> Figure:
    """Pictures below one another, under a title."""
    with drawing(_SETTINGS) as new_figure:
        heights = [height_of(panel) for panel in panels]
        lines = wrapped(heading, _ROOM, 2) * bool(heading) + wrapped(title, _ROOM, 3)
        figure = new_figure(figsize=(WIDTH, sum(heights) + 0.2 + 0.2 * len(lines)), facecolor="white")
        figure.set_layout_engine("constrained")
        figure.suptitle("\n".join(lines), fontsize=11, color=INK)
        rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            draw_panel(axes, panel)
        if path is not None:
            write(figure, path)
    return figure
