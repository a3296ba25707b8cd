"""The pictures of a model, whatever its kind: trees with noisy counts, or the profiles of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adyton.learning.class_profiles import ClassProfiles
from adyton.learning.forest_model import ForestModel
from adyton.learning.model import Model
from adyton.report.charts import caption, draw
from adyton.report.class_panels import class_panels
from adyton.report.tree_picture import MOST_LINES, DrawnTree, tree_picture

_MOST_TREES = 3
_COUNTS = (
    "Each line is a part of the rows: about how many there are, and how probable each class is among them, by noisy "
    "counts. Counts below zero are noise, and shown as 0."
)


@dataclass(frozen=True)
class ModelPicture:
    """A picture that can be drawn at any width."""

    title: str
    caption: str
    draw: Callable[[float], str]
    """From its width in pixels to SVG."""


def trees_of(model: Model) -> tuple[DrawnTree, ...]:
    """The trees that a model consists of; none where it is something else."""
    if isinstance(model, ForestModel):
        return model.trees
    return (model,) if isinstance(model, DrawnTree) else ()


def model_pictures(model: Model, most: int) -> tuple[list[ModelPicture], str]:
    """At most so many pictures, and a sentence about those that are missing; none for a model that has none."""
    if isinstance(model, ClassProfiles):
        panels = class_panels(model, most - 1)
        found = [ModelPicture(panel.title, caption(panel), partial(draw, panel)) for panel in panels]
        return found, _more(len(model.schema.names) + 1 - len(found), "attributes")
    trees = trees_of(model)
    drawn = trees[: min(most, _MOST_TREES)]
    pictures = [_tree(tree, place, len(trees)) for place, tree in enumerate(drawn)]
    return pictures, _more(len(trees) - len(drawn), "trees")


def _more(count: int, what: str) -> str:
    return f"{count:,} more {what} are in classifier.json." if count > 0 else ""


def _tree(model: DrawnTree, place: int, trees: int) -> ModelPicture:
    title = f"The tree for {model.label}" if trees == 1 else f"Tree {place + 1} of {trees} for {model.label}"
    leaves = len(model.tree.leaves)
    closed = " Of a tree of this size, the part near its root is drawn." if model.tree.split.size > MOST_LINES else ""
    words = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}. {_COUNTS}{closed}"

    def drawn(width: float) -> str:
        return tree_picture(model, title=title, description=model.draw(most=8), width=width)

    return ModelPicture(title, words, drawn)
