"""Drawings on matplotlib figures: the pictures of a report, the error against ε, and selectors."""

from __future__ import annotations

import base64
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.choice.decision_tree import Leaf, Tree
from adyton.choice.selector import CELLS, Selector, feature_named
from adyton.choice.trained_selectors import SimilarInputs, TreeSelector, Winners, domain_in_words, winners
from adyton.errors import BadInput
from adyton.exact import display
from adyton.messages import path_of, shorten
from adyton.report import svg
from adyton.report.axes import fitted
from adyton.report.pictures import Branch, Drawing, keys, outline
from adyton.report.svg import COLOURS, FONT, SERIES, wrapped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adyton.programs.base import Outlook
    from adyton.report.pictures import Drawing
    from adyton.result.result import Result


ENDINGS = (".svg", ".png", ".pdf")
INK = "#1D2329"
WIDTH, _INCH, _EDGE = 720.0, 100.0, 20.0
"""The width of drawings, their pixels per inch of a figure, and the pixels of a figure's margins."""
_TITLE, _POINT = 26.0, 72 / _INCH
_UNDATED: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": FONT * _POINT,
    "svg.hashsalt": "adyton",
    "text.parse_math": False,
}
_ROOM, _MANY = 1.15, 2e4
"""The room around curves, and the ratio of the ends of an axis from which on it has few ticks."""
_STEP = re.compile(r"([MLHVZ])([^MLHVZ]*)")


def plot(
    result: Result, path: str | os.PathLike[str] | None = None, drawings: Sequence[Drawing] | None = None
) -> Figure:
    """The pictures of a result, or *drawings*, stacked under a title; written to a file if a path is given."""
    if path is not None:
        check_ending(path)
    drawn = result.drawings() if drawings is None else drawings
    if not drawn:
        raise BadInput(
            f"there is no picture of this {result.noun}. to_frame() has the numbers, and explain() the words."
        )
    where = f" where {result.where}" if result.where else ""
    about = f"{result.task}{where}{result.counted.aside}: ε = {display(result.epsilon)}, by {result.algorithm}"
    about += "; adjusted to known totals" if getattr(result, "known", None) is not None else ""
    about += "; what says little is held back" if result.hold is not None else ""
    title = "" if result.schema is None else result.schema.report.title
    return figure_of(drawn, wrapped(title, 540, 2) * bool(title) + wrapped(about, 540, 3), path)


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file name whose ending is not that of a picture format."""
    if path_of(path).suffix.lower() not in ENDINGS:
        raise BadInput(f"the file name of a picture ends with {', '.join(ENDINGS)}, given {shorten(str(path))}.")


@contextmanager
def new_figure(path: str | os.PathLike[str] | None, width: float, height: float) -> Iterator[Figure]:
    """A figure whose size is in inches, written at the end if a path is given; the ending of the path is the format.

    The file has no date, so that the same figure gives the same file.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput("pictures need matplotlib. Install it: pip install 'adyton[plots]'") from None
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), facecolor="white")
        yield figure
        if path is not None:
            try:
                figure.savefig(path, dpi=150, metadata=_UNDATED.get(Path(path).suffix.lower(), {}))
            except OSError as error:
                raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from None


def figure_of(drawings: Sequence[Drawing], title: Sequence[str], path: str | os.PathLike[str] | None) -> Figure:
    """Drawings stacked under the lines of a title."""
    pictures = [_Pieces(drawing.svg(WIDTH)) for drawing in drawings]
    width = max(picture.width for picture in pictures) + 2 * _EDGE
    top = 2 * _EDGE + 19 * len(title)
    height = top + sum(picture.height + _TITLE + _EDGE for picture in pictures)
    with new_figure(path, width / _INCH, height / _INCH) as figure:
        figure.suptitle("\n".join(title), fontsize=11, color=INK, y=1 - _EDGE / height, va="top")
        for drawing, picture in zip(drawings, pictures, strict=True):
            top += _TITLE + picture.height
            axes = figure.add_axes((_EDGE / width, 1 - top / height, picture.width / width, picture.height / height))
            axes.set_title(drawing.title, loc="left", fontsize=9.5, color=INK)
            picture.draw(axes)
            top += _EDGE
    return figure


def plot_curves(said: str, drawing: Drawing, path: str | os.PathLike[str] | None) -> Figure:
    """A drawing of errors against ε under a sentence."""
    if path is not None:
        check_ending(path)
    return figure_of([drawing], wrapped(said, 540, 3), path)


def errors_drawing(
    task: str,
    outlook: Outlook,
    budgets: Sequence[Fraction],
    epsilon: Fraction | None,
    amount: float | None,
    *,
    briefly: bool = False,
) -> Drawing:
    """Errors against ε, both on logarithmic axes, with a legend: see :func:`adyton.programs.targets.plot_errors`.

    Refused where no error is known beforehand. *briefly*: only the half-width of the interval, if that is known, and
    not the errors of all algorithms.
    """
    budgets = sorted({*budgets, *([] if epsilon is None else [epsilon])})
    lines = (outlook.half_widths(budgets) if briefly else {}) or outlook.curves(budgets)
    if not lines:
        raise BadInput("no algorithm here has an error in closed form: there is nothing to draw.")
    mark = None
    if epsilon is not None:
        errors = dict([*lines.values()][-1])
        mark = float(epsilon), errors.get(float(epsilon), 0.0) if amount is None else amount
    names: dict[tuple[str, ...], list[str]] = {}
    for name, line in lines.items():  # lines that hide each other are one
        names.setdefault(tuple(f"{error:.3g}" for _, error in line), []).append(name)
    lines = {
        ", ".join(same) if len(same) < 3 else f"{same[0]} and {len(same) - 1} more": lines[same[0]]
        for same in names.values()
    }
    title = f"{task}: {outlook.word}, and half-width of the 95% interval, against ε"
    return Drawing(
        title,
        "",
        partial(
            _curves, title, f"error of an answer{f' ({outlook.unit.strip()})' if outlook.unit else ''}", lines, mark
        ),
    )


def _curves(
    title: str,
    unit: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    mark: tuple[float, float] | None,
    width: float,
) -> str:
    points = [point for line in lines.values() for point in line if point[1] > 0]
    ends = [
        (min(values) / _ROOM, max(values) * _ROOM)
        for values in zip(*points, *([mark] if mark is not None and mark[1] > 0 else []), strict=True)
    ]
    marks = [[(value, svg.figure(value)) for value in _round_values(low, high)] for low, high in ends]
    parts, top = keys(list(lines), width, [SERIES[place % len(SERIES)] for place in range(len(lines))])
    top += 22
    left, bottom = svg.width_of(words for _, words in marks[1]) + 14, top + min(250.0, 0.55 * width)

    def x(value: float) -> float:
        return left + math.log(value / ends[0][0]) / math.log(ends[0][1] / ends[0][0]) * (width - left - 2)

    def y(value: float) -> float:
        return bottom - math.log(value / ends[1][0]) / math.log(ends[1][1] / ends[1][0]) * (bottom - top)

    parts.append(svg.text(0, top - 14, svg.cut(unit, width), pale=True))
    for value, words in marks[1]:
        parts += [svg.line(left, y(value), width - 2, y(value), 0.12), svg.text(left - 8, y(value), words, "end")]
    parts += [svg.line(x(value), top, x(value), bottom, 0.12) for value, _ in marks[0]]
    parts += [svg.line(left, bottom, width - 2, bottom, 0.7), *fitted(marks[0], x, (0, width)).draw(bottom)]
    for place, line in enumerate(lines.values()):
        shown = [(x(epsilon), y(error)) for epsilon, error in line if error > 0]
        colour = SERIES[place % len(SERIES)]
        path = "L".join(f"{svg.place(across)} {svg.place(up)}" for across, up in shown)
        parts.append(f'<path d="M{path}" fill="none" style="stroke:{colour}" stroke-width="1.6"/>')
        parts += [svg.dot(*point, colour, 2.6) for point in shown]
    if mark is not None and mark[1] > 0:
        across, up = x(mark[0]), y(mark[1])
        parts += [svg.line(left, up, across, up, 0.8), svg.line(across, up, across, bottom, 0.8)]
        words = f"ε = {svg.figure(mark[0])}: {svg.figure(mark[1])}"
        beside = across + 8 + svg.length(words) < width
        spot = (across + 8, max(up - 10, top + 8), words, "start") if beside else (across - 8, up + 12, words, "end")
        parts += [svg.dot(across, up, "currentColor"), svg.text(*spot, bold=True)]
    parts.append(svg.text((left + width) / 2, bottom + 38, "ε", "middle", pale=True))
    said = f"{len(lines)} lines; ε from {svg.figure(points[0][0])} to {svg.figure(points[-1][0])}"
    return svg.drawing(width, bottom + 48, title, said, parts)


def _round_values(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers of ten alone over a wide range.

    >>> _round_values(0.01, 0.2), _round_values(1, 3e6)[:3]
    ([0.01, 0.02, 0.05, 0.1, 0.2], [1.0, 10.0, 100.0])
    """
    steps = (1, 2, 5) if high / low < _MANY else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = (float(f"{step}e{power}") for power in powers for step in steps)
    return [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


# ---- a drawing, piece by piece --------------------------------------------------------------------------------------


class _Pieces(HTMLParser):
    """The elements of a drawing: tags with their attributes and text, in its own pixels."""

    def __init__(self, drawing: str) -> None:
        super().__init__()
        self.pieces: list[tuple[str, dict[str, Any], list[str]]] = []
        self.feed(drawing)
        self.close()
        self.width, self.height = map(float, self.pieces[0][1]["viewbox"].split()[2:])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element."""
        self.pieces.append((tag, dict(attrs), []))

    def handle_data(self, data: str) -> None:
        """Add text to the last element."""
        if self.pieces:
            self.pieces[-1][2].append(data)

    def draw(self, axes: Axes) -> None:
        """Draw the elements in the axes of a figure, whose unit is a pixel; later elements are above earlier ones."""
        for place, (tag, facts, words) in enumerate(self.pieces):
            artist = _artist(axes, tag, facts, "".join(words))
            if artist is not None:
                artist.set_zorder(2 + place / len(self.pieces))
        axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        axes.axis("off")


def _artist(axes: Axes, tag: str, facts: dict[str, str], words: str) -> Artist | None:
    """One element as an artist; None if it is not visible."""
    from matplotlib.image import imread
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.path import Path as Outline

    def real(*names: str) -> list[float]:
        return [float(facts[name]) for name in names]

    alpha = float(facts.get("fill-opacity", facts.get("stroke-opacity", 1)))
    artist: Artist | None = None
    match tag:
        case "text":
            (x, y), turned, middle = real("x", "y"), "transform" in facts, 0.35 * FONT
            artist = axes.text(
                x + middle * turned, y + middle * (not turned), words, color=_colour(facts, "fill"), alpha=alpha,
                ha={"start": "left", "middle": "center", "end": "right"}[facts["text-anchor"]], va="baseline",
                weight="bold" if "font-weight" in facts else "normal", rotation=90 * turned, rotation_mode="anchor",
            )  # fmt: skip
        case "line":
            width, colour = _POINT * float(facts["stroke-width"]), _colour(facts, "stroke")
            ends = real("x1", "x2"), real("y1", "y2")
            artist = axes.plot(*ends, color=colour, linewidth=width, alpha=alpha, solid_capstyle="butt")[0]
        case "rect":
            x, y, width, height = real("x", "y", "width", "height")
            colour = _colour(facts, "fill")
            artist = axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, alpha=alpha, linewidth=0))
        case "circle":
            x, y, radius = real("cx", "cy", "r")
            artist = axes.add_patch(Circle((x, y), radius, facecolor=_colour(facts, "fill"), linewidth=0))
        case "path":
            filled = facts.get("fill") != "none"
            look = {"color": _colour(facts, "fill" if filled else "stroke"), "linewidth": 0 if filled else 1.6 * _POINT}
            artist = axes.add_patch(PathPatch(Outline(_corners(facts["d"])), fill=filled, alpha=alpha, **look))
        case "image":
            x, y, width, height = real("x", "y", "width", "height")
            pixels = imread(io.BytesIO(base64.b64decode(facts["href"].split(",")[1])))
            artist = axes.imshow(pixels, extent=(x, x + width, y + height, y), aspect="auto", interpolation="nearest")
    return artist


def _colour(facts: dict[str, str], of: str) -> str:
    """The colour of text, areas or lines: the default one where a page may set another."""
    given = dict(part.split(":", 1) for part in facts.get("style", "").split(";") if ":" in part).get(of, facts.get(of))
    colour = (given or "currentColor").removeprefix("var(").removesuffix(")").split(",")[-1]
    return INK if colour == "currentColor" else colour


def _corners(path: str) -> list[tuple[float, float]]:
    """The corners of a path of straight lines."""
    points: list[tuple[float, float]] = []
    for letter, numbers in _STEP.findall(path):
        given = [float(number) for number in numbers.split()]
        if letter in "HV":
            x, y = points[-1]
            given = [given[0], y] if letter == "H" else [x, given[0]]
        points.append((given[0], given[1]) if given else points[0])
    return points


# ---- selectors: trees line by line, and similar inputs as maps of the algorithms that win ----------------------------


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SQUARE, _ROW = 27.0, 42.0


def draw(selector: Selector, path: str | os.PathLike[str]) -> None:
    """Write a picture of a selector, one drawing for each workload; the ending of *path* is the format."""
    check_ending(path)
    match selector:
        case TreeSelector():
            title = "Which algorithm is chosen, by noisy features of the data"
            names = _names(leaf.algorithm for tree in selector.trees.values() for leaf in _leaves(tree))
            drawn = {name: partial(_tree, name, tree, names) for name, tree in selector.trees.items()}
        case SimilarInputs():
            title, maps = "Which algorithm has the least error, by what is known about the input", winners(selector)
            names = _names(name for area in maps for name, _ in area.best.values())
            drawn = {area.workload: partial(_map, area, selector.training.dimensions, names) for area in maps}
        case _:
            raise BadInput(f"there is no picture for a selector of kind {shorten(selector.kind)}.")
    about = selector.training
    domains = "one dimension" if about.dimensions == 1 else f"{about.dimensions} dimensions"
    data = f"{len(about.corpus)} data set{'s' * (len(about.corpus) != 1)}"
    said = f"{domains}; learnt on {about.inputs:,} public inputs from {data}, {about.date}"
    figure_of([Drawing(f"Workload: {name}", "", svg_of) for name, svg_of in drawn.items()], [title, said], path)


def _names(algorithms: Iterator[str]) -> list[str]:
    """The names of the algorithms, the most frequent first."""
    return [name for name, _ in Counter(algorithms).most_common()]


def _leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from (*_leaves(tree.left), *_leaves(tree.right))


def _tree(workload: str, tree: Tree, names: Sequence[str], width: float) -> str:
    return outline(
        workload, f"{len(list(_leaves(tree)))} leaves", names, list(_branches(tree, names)), width, left=0.66
    )


def _branches(tree: Tree, names: Sequence[str], depth: int = 0, words: str = "all inputs") -> Iterator[Branch]:
    """A line for each branch; a leaf has its algorithm and expected regret."""
    if isinstance(tree, Leaf):
        shares = [float(name == tree.algorithm) for name in names]
        yield Branch(depth, words, shares, f"{tree.algorithm}, regret {tree.regrets[tree.algorithm]:.2f}")
        return
    yield Branch(depth, words, (), "")
    feature = "the number of cells" if tree.feature == CELLS else feature_named(tree.feature).words
    threshold = f"{tree.threshold:,.0f}" if abs(tree.threshold) >= 100 else f"{tree.threshold:.3g}"
    for side, how in ((tree.left, "at most"), (tree.right, "above")):
        yield from _branches(side, names, depth + 1, f"{how} {threshold.replace('-', '−')}: {feature}")


def _map(area: Winners, dimensions: int, names: Sequence[str], width: float) -> str:
    """A square for each group of training inputs, in the colour of the winner; with a number if colours repeat."""
    many, colours = len(names) > len(COLOURS), [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    parts, top = keys([f"{place + 1} {name}" for place, name in enumerate(names)] if many else names, width, colours)
    sizes = [domain_in_words(size, dimensions) for size in area.sizes]
    left, bottom = svg.width_of(sizes) + 14, top + 16 + _ROW * len(sizes)
    wide = min(_SQUARE, (width - left) / max(1, len(area.signals)))
    parts.append(svg.text(0, top, "cells of the domain", pale=True))
    for (size, signal), (name, _) in area.best.items():
        x, y = left + wide * area.signals.index(signal), bottom - _ROW * (area.sizes.index(size) + 1)
        place = names.index(name)
        parts.append(svg.box(x + 0.5, y + 0.5, wide - 1, _ROW - 1, colours[place]))
        parts += [svg.text(x + wide / 2, y + _ROW / 2, str(place + 1), "middle")] if many else []
    for row, words in enumerate(sizes):
        parts.append(svg.text(left - 8, bottom - _ROW * (row + 0.5), words, "end"))
    step = max(1, round(len(area.signals) / 9))
    for column in range(0, len(area.signals), step):
        power = f"2{str(area.signals[column]).translate(_RAISED)}"
        parts.append(svg.text(left + wide * (column + 0.5), bottom + 13, power, "middle"))
    parts.append(svg.text(left, bottom + 32, "ε times the number of rows", pale=True))
    return svg.drawing(width, bottom + 44, f"Workload: {area.workload}", f"{len(names)} algorithms", parts)
