"""A tree of questions, drawn line by line like the folders of a disk: each node with its noisy count and a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adyton.learning.leaf_profiles import LeafProfiles
from adyton.learning.tree_model import TreeModel
from adyton.learning.tree_text import shown_nodes
from adyton.report import svg
from adyton.report.palette import COLOURS
from adyton.report.scales import number

DrawnTree: TypeAlias = TreeModel | LeafProfiles
"""Whatever has a tree, with counts and shares in its nodes."""
MOST_LINES = 80
"""Of a larger tree, whole families near the root are drawn."""
_ROW, _BAR, _INDENT = 24.0, 13.0, 14.0
_SWATCH, _BELOW_KEYS = 11.0, 20.0


@dataclass(frozen=True)
class NodeLine:
    """One node, as it is drawn."""

    depth: int
    words: str
    """The answer that leads to it."""
    shares: tuple[float, ...]
    """How probable each class is."""
    said: str
    """The most probable class, and the noisy number of rows."""


def node_lines(model: DrawnTree, most: int = MOST_LINES) -> list[NodeLine]:
    """The nodes from top to bottom, at most so many."""
    tree, shown = model.tree, shown_nodes(model, most)
    lines, stack = [], [(0, 0, "all rows")]
    while stack:
        node, depth, words = stack.pop()
        size, first = int(tree.sizes[node]), int(tree.first[node])
        opened = bool(size) and bool(shown[first])
        best = int(model.shares[node].argmax())
        rows = number(max(0.0, float(model.counts[node].sum())), 0)
        said = f"{model.classes[best]} {model.shares[node, best]:.0%} of {rows}"
        more = f" (by {tree.attributes[tree.split[node]]} …)" if size and not opened else ""
        lines.append(NodeLine(depth, words + more, tuple(model.shares[node].tolist()), said))
        if opened:
            name = tree.attributes[tree.split[node]]
            labels = model.schema.attributes[name].labels
            stack += [(first + cell, depth + 1, f"{name} = {labels[cell]}") for cell in reversed(range(size))]
    return lines


def colour_of(place: int) -> str:
    """The colour of a class; those beyond the palette share its last one."""
    return COLOURS[min(place, len(COLOURS) - 1)]


def tree_picture(model: DrawnTree, *, title: str, description: str, width: float) -> str:
    """The tree, so many pixels wide, as SVG; colours are explained at the top."""
    lines = node_lines(model)
    parts, top = _keys([str(one) for one in model.classes], width)
    left, right = 0.5 * width, 0.74 * width
    above: dict[int, float] = {}
    for row, line in enumerate(lines):
        middle, x = top + _ROW * (row + 0.5), _INDENT * line.depth
        if line.depth:
            parts += [
                svg.line(x - 8, above[line.depth - 1], x - 8, middle, 0.35),
                svg.line(x - 8, middle, x - 2, middle, 0.35),
            ]
        above[line.depth] = middle + _ROW / 3
        parts.append(svg.text(x + 2, middle, svg.cut(line.words, left - x - 8)))
        parts += _bar(line.shares, left, right, middle)
        parts.append(svg.text(right + 8, middle, svg.cut(line.said, width - right - 8)))
    return svg.drawing(width, top + _ROW * len(lines) + 6, title, description, parts)


def _bar(shares: Sequence[float], left: float, right: float, middle: float) -> list[str]:
    parts, start = [], left
    for place, share in enumerate(shares):
        length = share * (right - left)
        if length >= 0.5:
            parts.append(svg.box(start, middle - _BAR / 2, length, _BAR, colour_of(place), 0.9))
        start += length
    return parts


def _keys(classes: Sequence[str], width: float) -> tuple[list[str], float]:
    """A square and a name for each class, in as many lines as they take; and where the tree begins."""
    shown = list(classes[: len(COLOURS)])
    if len(classes) > len(COLOURS):
        shown[-1] = f"{len(classes) - len(COLOURS) + 1} others"
    parts: list[str] = []
    x, y = 0.0, 10.0
    for place, words in enumerate(svg.cut(one, width - 30) for one in shown):
        room = _SWATCH + 6 + svg.width_of([words]) + 14
        if x and x + room > width:
            x, y = 0.0, y + 20
        parts += [
            svg.box(x, y - _SWATCH / 2, _SWATCH, _SWATCH, colour_of(place), 0.9),
            svg.text(x + _SWATCH + 6, y, words),
        ]
        x += room
    return parts, y + _BELOW_KEYS
