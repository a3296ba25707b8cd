"""The pictures of a model, whatever its kind: trees with noisy counts, or the profiles of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adyton.learning.class_profiles import ClassProfiles
from adyton.learning.model import Model
from adyton.learning.outline import Outline
from adyton.report.charts import caption, draw
from adyton.report.class_panels import class_panels
from adyton.report.tree_picture import MOST_LINES, tree_picture

MOST_TREES = 3
_COUNTS = (
    "Each line is a part of the rows: how many there are, with noise, and which part of them is of which class. Counts "
    "below zero are noise, and shown as none."
)


@dataclass(frozen=True)
class ModelPicture:
    """A picture that can be drawn at any width."""

    title: str
    caption: str
    draw: Callable[[float], str]
    """From its width in pixels to SVG."""


def model_pictures(model: Model, most: int) -> list[ModelPicture]:
    """At most so many pictures; none for a model that has none."""
    trees = model.outlines()
    found = [_tree(model, tree, place, len(trees)) for place, tree in enumerate(trees[: min(most, MOST_TREES)])]
    if isinstance(model, ClassProfiles):
        for panel in class_panels(model, most - 1):
            found.append(ModelPicture(panel.title, caption(panel), lambda width, panel=panel: draw(panel, width)))
    return found


def _tree(model: Model, tree: Outline, place: int, trees: int) -> ModelPicture:
    title = f"The tree for {model.label}" if trees == 1 else f"Tree {place + 1} of {trees} for {model.label}"
    words = f"{tree.leaves:,} leaves. {_COUNTS}"
    if tree.leaves > MOST_LINES:
        words += " Branches with few rows are closed: … marks them."
    description = "; ".join(tree.lines(model.classes, 8))

    def drawn(width: float) -> str:
        return tree_picture(tree, model.classes, title=title, description=description, width=width)

    return ModelPicture(title, words, drawn)
