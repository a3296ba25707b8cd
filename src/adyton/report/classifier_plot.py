"""A picture of a classifier with matplotlib, for papers and slides: the same looks as the report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.exact import display
from adyton.learning.class_profiles import ClassProfiles
from adyton.report.class_panels import class_panels
from adyton.report.classifier_pictures import trees_of
from adyton.report.pictures import check_ending, drawing, write
from adyton.report.plot import draw_panels
from adyton.report.tree_picture import colour_of, node_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adyton.learning.fitted_classifier import FittedClassifier
    from adyton.report.tree_picture import DrawnTree

_PANELS, _LINES = 6, 60
_ROW, _INK = 0.24, "#1D2329"
"""The height of a line in inches, and the colour of letters."""
_SETTINGS: dict[Any, Any] = {"font.family": "DejaVu Sans", "font.size": 8.5}


def plot(fitted: FittedClassifier, path: str | os.PathLike[str] | None = None) -> Figure:
    """The first tree, or the profiles of the classes; written to a file if a path is given."""
    if path is not None:
        check_ending(path)
    trees = trees_of(fitted.model)
    title = f"{fitted.classifier}{fitted.counted.aside}: ε = {display(fitted.epsilon)}, by {fitted.method}"
    if trees:
        return _draw_tree(trees[0], title, path)
    if isinstance(fitted.model, ClassProfiles):
        return draw_panels(class_panels(fitted.model, _PANELS), title, path)
    raise BadInput(f"there is no picture of a {fitted.model.kind} model. explain() tells it in words.")


def _draw_tree(model: DrawnTree, title: str, path: str | os.PathLike[str] | None) -> Figure:
    """Line by line: the answer, a bar of the classes, and the noisy number of rows."""
    lines = node_lines(model, _LINES)
    with drawing(_SETTINGS) as new_figure:
        figure = new_figure(figsize=(7.2, _ROW * len(lines) + 1.0), facecolor="white", layout="constrained")
        figure.suptitle(title, fontsize=11, color=_INK)
        axes = figure.subplots()
        axes.set(xlim=(0, 100), ylim=(len(lines), 0))
        axes.axis("off")
        for row, line in enumerate(lines):
            axes.text(2.5 * line.depth, row + 0.5, line.words[:60], va="center", color=_INK)
            start = 50.0
            for place, share in enumerate(line.shares):
                axes.barh(row + 0.5, 24 * share, left=start, height=0.6, color=colour_of(place), alpha=0.9)
                start += 24 * share
            axes.text(75.5, row + 0.5, line.said[:40], va="center", color=_INK)
        from matplotlib.patches import Patch

        keys = [Patch(facecolor=colour_of(place), label=str(one)) for place, one in enumerate(model.classes[:8])]
        axes.legend(handles=keys, ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        if path is not None:
            write(figure, path)
    return figure
