"""Pictures of selectors: trees as boxes and arrows, similar inputs as maps of the algorithms that win."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from adyton.choice.decision_tree import Leaf, Tree
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.report.palette import COLOURS
from adyton.report.pictures import check_ending, drawing, write
from adyton.selection.selector import CELLS, Selector, feature_named
from adyton.selection.similar_inputs import SimilarInputs, Winners, domain_in_words, winners
from adyton.selection.tree_selector import TreeSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "///", "...", "xx", "\\\\\\", "++")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_INK, _PALE, _LINE = "#222222", "#F3F3F3", "#888888"
_LEAF, _LEVEL = 0.98, 1.2
"""The room that a leaf has from side to side, and a level of a tree from top to bottom, in inches."""
_TEXT_LINE, _WORD_AT = 0.131, 0.62
"""The height of a line of text in inches; and where on its arrow, from the top, the answer stands."""
_LINE_LENGTH = 24
_CELL_WIDTH, _CELL_HEIGHT = 0.27, 0.42
"""A square of a map, in inches."""
_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "hatch.linewidth": 0.6,
}


def draw(selector: Selector, path: str | os.PathLike[str]) -> None:
    """Write a picture of a selector, one panel for each workload; the ending of *path* says in which format."""
    check_ending(path)
    with drawing(_SETTINGS) as new_figure:
        figure = new_figure(facecolor="white")
        match selector:
            case TreeSelector():
                _draw_trees(figure, selector)
            case SimilarInputs():
                _draw_maps(figure, selector)
            case _:
                raise BadInput(f"there is no picture for a selector of kind {shorten(selector.kind)}.")
        write(figure, path)


def _styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour and a hatch for each name, those that occur most often first."""
    ranked = [name for name, _ in Counter(names).most_common()]
    places = (divmod(number, len(COLOURS)) for number in range(len(ranked)))
    return {
        name: (COLOURS[colour], _HATCHES[turn % len(_HATCHES)])
        for name, (turn, colour) in zip(ranked, places, strict=True)
    }


def _text_on(colour: str) -> str:
    """Dark or white letters, whichever can be read."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return _INK if 0.299 * red + 0.587 * green + 0.114 * blue > 115 else "white"


def _heading(figure: Figure, selector: Selector, title: str, height: float) -> None:
    about = selector.training
    figure.text(0.5, 1 - 0.28 / height, title, ha="center", va="center", fontsize=13, color=_INK)
    domains = "one dimension" if about.dimensions == 1 else f"{about.dimensions} dimensions"
    data = f"{len(about.corpus)} data set{'s' * (len(about.corpus) != 1)}"
    below = f"{domains}; learnt on {about.inputs:,} public inputs from {data}, {about.date}"
    figure.text(0.5, 1 - 0.53 / height, below, ha="center", va="center", fontsize=8.5, color=_LINE)


# ------------------------------------------------------------------------------------------------------------- trees


def _draw_trees(figure: Figure, selector: TreeSelector) -> None:
    """The trees below one another, all in inches, so that boxes and letters fit."""
    leaves = {name: list(_leaves(tree)) for name, tree in selector.trees.items()}
    styles = _styles(leaf.algorithm for found in leaves.values() for leaf in found)
    width = max(7.0, max(len(found) for found in leaves.values()) * _LEAF + 0.6)
    heights = [_depth(tree) * _LEVEL + 1.25 for tree in selector.trees.values()]
    height = sum(heights) + 0.75
    figure.set_size_inches(width, height)
    _heading(figure, selector, "Which algorithm is chosen, by noisy features of the data", height)
    top = height - 0.75
    for (name, tree), room in zip(selector.trees.items(), heights, strict=True):
        top -= room
        panel = figure.add_axes((0, top / height, 1, room / height))
        panel.set(xlim=(0, width), ylim=(0, room))
        panel.axis("off")
        panel.text(0.3, room - 0.15, f"Workload: {name}", fontsize=10.5, weight="bold", color=_INK, va="center")
        _draw_tree(panel, tree, (width - len(leaves[name]) * _LEAF) / 2, room - 0.62, styles)


def _draw_tree(panel: Axes, tree: Tree, left: float, height: float, styles: dict[str, tuple[str, str]]) -> float:
    """Draw a tree whose leaves begin at *left*; returns where its root is."""
    box = {"boxstyle": "round,pad=0.45", "linewidth": 0.8, "edgecolor": _LINE}
    if isinstance(tree, Leaf):
        middle, (colour, _) = left + _LEAF / 2, styles[tree.algorithm]
        face = box | {"facecolor": colour, "edgecolor": colour}
        panel.text(middle, height, _words(tree), ha="center", va="center", color=_text_on(colour), bbox=face, zorder=3)
        return middle
    sides = (tree.left, left, "yes"), (tree.right, left + sum(1 for _ in _leaves(tree.left)) * _LEAF, "no")
    below = [_draw_tree(panel, side, start, height - _LEVEL, styles) for side, start, _ in sides]
    middle = sum(below) / 2
    for place, (side, _, word) in zip(below, sides, strict=True):
        end = height - _LEVEL + (_words(side).count("\n") + 1) * _TEXT_LINE / 2 + 0.08
        arrow = {"arrowstyle": "-|>", "color": _LINE, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
        panel.annotate("", (place, end), (middle, height), arrowprops=arrow, zorder=1)
        panel.text(
            middle + _WORD_AT * (place - middle),
            height + _WORD_AT * (end - height),
            word,
            ha="center",
            va="center",
            fontsize=7.5,
            color=_INK,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
            zorder=2,
        )
    face = box | {"facecolor": _PALE}
    panel.text(middle, height, _words(tree), ha="center", va="center", color=_INK, bbox=face, zorder=3)
    return middle


def _words(tree: Tree) -> str:
    """What stands in a box: an algorithm and its expected regret, or a question."""
    if isinstance(tree, Leaf):
        name = tree.algorithm.replace("-", "-\n", 1) if len(tree.algorithm) > 11 else tree.algorithm
        return f"{name}\nregret {tree.regrets[tree.algorithm]:.2f}"
    words = "the number of cells" if tree.feature == CELLS else feature_named(tree.feature).words
    threshold = f"{tree.threshold:,.0f}" if abs(tree.threshold) >= 100 else f"{tree.threshold:.3g}"
    lines = -(-len(words) // _LINE_LENGTH)
    return f"{textwrap.fill(words, len(words) // lines + 4)}:\nat most {threshold.replace('-', '−')}?"


def _leaves(tree: Tree) -> Iterable[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from _leaves(tree.left)
        yield from _leaves(tree.right)


def _depth(tree: Tree) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(_depth(tree.left), _depth(tree.right))


# -------------------------------------------------------------------------------------------------------------- maps


def _draw_maps(figure: Figure, selector: SimilarInputs) -> None:
    """One map for each workload, two in a row, with one legend for all of them."""
    found = winners(selector)
    styles = _styles(name for one in found for name, _ in one.best.values())
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    wide = max(2.4, _CELL_WIDTH * max(len(one.signals) for one in found))
    high = max(1.2, _CELL_HEIGHT * max(len(one.sizes) for one in found))
    width = max(7.0, columns * (wide + 1.1) + 2.0)
    height = max(rows * (high + 1.15) + 0.75, 1.5 + 0.22 * len(styles))
    figure.set_size_inches(width, height)
    _heading(figure, selector, "Which algorithm has the least error, by what is known about the input", height)
    for number, one in enumerate(found):
        row, column = divmod(number, columns)
        corner = column * (wide + 1.1) + 0.95, height - 1.15 - row * (high + 1.15) - high
        panel = figure.add_axes((corner[0] / width, corner[1] / height, wide / width, high / height))
        _draw_map(panel, one, selector.training.dimensions, styles)
    from matplotlib.patches import Patch

    keys = [Patch(facecolor=c, hatch=h, edgecolor=_INK, linewidth=0, label=name) for name, (c, h) in styles.items()]
    figure.legend(
        handles=keys,
        title="algorithm",
        loc="upper left",
        bbox_to_anchor=((width - 1.75) / width, (height - 1.0) / height),
        frameon=False,
        alignment="left",
        handlelength=1.4,
        handleheight=1.4,
        fontsize=8.5,
    )


def _draw_map(panel: Axes, one: Winners, dimensions: int, styles: dict[str, tuple[str, str]]) -> None:
    """A square for each group of training inputs, in the colour of the winner."""
    from matplotlib.patches import Rectangle

    for (size, signal), (name, _) in one.best.items():
        corner = one.signals.index(signal) - 0.48, one.sizes.index(size) - 0.485
        colour, hatch = styles[name]
        panel.add_patch(Rectangle(corner, 0.96, 0.97, facecolor=colour, hatch=hatch, edgecolor=_INK, linewidth=0))
    panel.set(xlim=(-0.5, len(one.signals) - 0.5), ylim=(-0.5, len(one.sizes) - 0.5))
    step = max(1, round(len(one.signals) / 7))
    panel.set_xticks(
        range(0, len(one.signals), step), [f"2{str(signal).translate(_RAISED)}" for signal in one.signals[::step]]
    )
    panel.set_yticks(range(len(one.sizes)), [domain_in_words(size, dimensions) for size in one.sizes])
    panel.tick_params(length=0, colors=_INK)
    panel.spines[:].set_visible(False)
    panel.set_xlabel("ε times the number of rows", color=_INK)
    panel.set_ylabel("cells of the domain", color=_INK)
    panel.set_title(f"Workload: {one.workload}", fontsize=10.5, weight="bold", color=_INK, loc="left")
