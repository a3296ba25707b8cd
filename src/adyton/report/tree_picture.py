"""A tree of questions, drawn line by line like the folders of a disk: each node with its noisy counts as a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adyton.learning.outline import Outline
from adyton.report import svg
from adyton.report.palette import COLOURS
from adyton.report.scales import number

_ROW, _BAR, _INDENT = 24.0, 13.0, 14.0
_SWATCH, _KEYS_BELOW = 11.0, 10.0
MOST_LINES = 60
"""More leaves than this are not drawn: where fewest rows are, branches stay closed."""


@dataclass(frozen=True)
class Line:
    """One node, as it is drawn."""

    depth: int
    words: str
    node: Outline
    last: bool
    """Whether no sister follows it."""


def tree_lines(tree: Outline, most: int = MOST_LINES) -> list[Line]:
    """The nodes from top to bottom, each with the answer that leads to it."""
    return list(_lines(tree.cut(most), 0, "all rows", True))


def _lines(node: Outline, depth: int, words: str, last: bool) -> Iterator[Line]:
    more = " …" if node.question is not None and not node.branches else ""
    yield Line(depth, words + more, node, last)
    for place, (answer, branch) in enumerate(node.branches):
        yield from _lines(branch, depth + 1, f"{node.question} = {answer}", place == len(node.branches) - 1)


def colour_of(place: int) -> str:
    """The colour of a class; those beyond the palette share its last one."""
    return COLOURS[min(place, len(COLOURS) - 1)]


def tree_picture(tree: Outline, classes: Sequence[object], *, title: str, description: str, width: float) -> str:
    """The whole tree, so many pixels wide, as SVG; colours are explained at the top."""
    lines = tree_lines(tree)
    keys, top = _keys([str(one) for one in classes], width)
    left, right = 0.5 * width, 0.74 * width
    parts, above = keys, dict[int, float]()
    for row, line in enumerate(lines):
        middle = top + _ROW * (row + 0.5)
        x = _INDENT * line.depth
        if line.depth:
            start = above[line.depth - 1]
            parts += [
                svg.line(x - 8, start, x - 8, middle, 0.35),
                svg.line(x - 8, middle, x - 2, middle, 0.35),
            ]
        above[line.depth] = middle + _ROW / 3
        parts.append(svg.text(x + 2, middle, svg.cut(line.words, left - x - 8)))
        parts += _bar(line.node, left, right, middle)
        said = f"{classes[line.node.best]} {line.node.shares[line.node.best]:.0%} of {number(line.node.rows, 0)}"
        parts.append(svg.text(right + 8, middle, svg.cut(said, width - right - 8)))
    return svg.drawing(width, top + _ROW * len(lines) + 6, title, description, parts)


def _bar(node: Outline, left: float, right: float, middle: float) -> list[str]:
    parts, start = [], left
    for place, share in enumerate(node.shares):
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
    parts, x, y = [], 0.0, 10.0
    for place, words in enumerate(svg.cut(one, width - 30) for one in shown):
        room = _SWATCH + 6 + svg.width_of([words]) + 14
        if x and x + room > width:
            x, y = 0.0, y + 20
        parts += [
            svg.box(x, y - _SWATCH / 2, _SWATCH, _SWATCH, colour_of(place), 0.9),
            svg.text(x + _SWATCH + 6, y, words),
        ]
        x += room
    return parts, y + 10 + _KEYS_BELOW
