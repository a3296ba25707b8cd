"""Pictures as SVG at any width: bars and dots with intervals, bars to two sides, lines with a band, maps, and trees."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.axes import DisplayAxis, Ground, beside, fitted, ground_of
from adyton.report.charts import Panel, caption, describe
from adyton.report.svg import (
    BLUE,
    COLOURS,
    DATA,
    ORANGE,
    SECOND,
    SERIES,
    SKY,
    VERMILION,
    nice_ticks,
    number,
    people,
    reach,
    tick_words,
)
from adyton.schema import Longitude


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of a result, for pages and, with matplotlib, for papers and slides."""

    title: str
    caption: str
    """The caption."""
    svg: Callable[[float], str]
    """Returns the SVG for a width in pixels."""
    panel: Panel | None = None
    """The panel that is drawn, if it is one: its numbers serve as examples in the text."""

    @classmethod
    def of(cls, panel: Panel) -> Drawing:
        """The picture of a panel."""
        return cls(panel.title, caption(panel), partial(draw, panel), panel)


def draw(panel: Panel, width: float) -> str:
    """The picture of a panel, *width* pixels wide."""
    kinds = {"bars": _rows, "dots": _rows, "pyramid": _pyramid, "map": _map}
    height, parts = kinds.get(panel.kind, _lines)(panel, width)
    return svg.drawing(width, height, panel.title, describe(panel), parts)


def _columns(panel: Panel, columns: int) -> list[Reals]:
    """Values and, if there are any, their bounds, in *columns* columns."""
    bounds = [] if panel.lower is None or panel.upper is None else [panel.lower, panel.upper]
    return [part.reshape(-1, columns) for part in (panel.values, *bounds)]


def _ticks(low: float, high: float, count: int, *, whole: bool = False, years: bool = False) -> list[tuple[float, str]]:
    marks = nice_ticks(low, high, count)
    if whole:
        marks = [mark for mark in marks if mark == int(mark)] or marks
    return list(zip(marks, tick_words(marks, years=years), strict=True))


# ---- bars and dots, one below the other -----------------------------------------------------------------------------


_BAR, _ROW, _KEYS, _LANE = 15.0, 13.0, 26.0, 11.0
"""The thickness of a bar, the height of a row in addition to its text, that of the legend, and that of a series."""
_BESIDE = 0.42
"""The largest part of the width that names beside bars take."""


def _rows(panel: Panel, width: float) -> tuple[float, list[str]]:
    """Bars from the zero line, or dots, each with its interval as a thin line with ends; a single series also has its
    numbers. Names are beside them, in two lines if necessary, or above them if there is no room."""
    bars, columns = panel.kind == "bars", len(panel.series) or 1
    values, *bounds = _columns(panel, columns)
    write = panel.written if panel.people or not bars else number
    figures = [write(float(value)) for value in values[:, 0]] if columns == 1 else []
    names, left, above = _names(panel.labels, width)
    low, high = panel.ends
    beyond = [  # values outside the picture; a single series has its numbers anyway
        svg.width_of(write(float(value)) for value in values[side].tolist()) * (columns > 1)
        for side in (values < low, values > high)
    ]
    right = svg.width_of(figures) + 14 if figures else 10.0 + beyond[1]
    first = left + 6 * (not bars) + beyond[0]

    def x(value: float) -> float:
        return first + (value - low) / (high - low) * (width - first - right)

    edges = x(low), x(high)
    top = _KEYS if panel.series else 2.0
    lanes = _LANE * columns
    heights = [
        svg.LINE * len(lines) + max(_BAR, lanes) + 16 if above else max(svg.LINE * len(lines) + _ROW, lanes + 9)
        for lines in names
    ]
    bottom = top + sum(heights)
    ticks = _ticks(low, high, max(2, int((width - left - right) / 80)), whole=panel.whole, years=panel.years)
    # lines would cross names that are above the bars
    parts = [] if above else [svg.line(x(mark), top, x(mark), bottom, 0.12) for mark, _ in ticks]
    parts += [svg.text(at, bottom + 12, words, "middle") for _, at, words in fitted(ticks, x, (0, width)).marks]
    at = 6.0
    for column, name in enumerate(panel.series):
        words = svg.cut(name, width / columns - 24)
        parts += [svg.dot(at, 9, SERIES[column % len(SERIES)]), svg.text(at + 9, 9, words)]
        at += 26 + svg.length(words)
    for place, lines in enumerate(names):
        middle = top + (svg.LINE * len(lines) + 4 + max(_BAR, lanes) / 2 if above else heights[place] / 2)
        start = (0, top + 7, "start") if above else (left - 8, middle - svg.LINE * (len(lines) - 1) / 2, "end")
        parts.append(svg.text(start[0], start[1], "\n".join(lines), start[2]))
        for column, value in enumerate(values[place].tolist()):
            if math.isnan(value):
                continue
            y = middle + _LANE * (column - (columns - 1) / 2)  # so that intervals do not overlap
            colour = SERIES[column % len(SERIES)]
            ink = colour if columns > 1 else ""
            whisker = svg.whisker([x(float(bound[place, column])) for bound in bounds], y, edges, ink)
            if bars:
                begin, end = sorted((x(0), x(value)))
                parts += [svg.box(begin, y - _BAR / 2, end - begin, _BAR, DATA, 0.85), *whisker]
                ends = (y - _BAR / 2 - 2, y + _BAR / 2 + 2) if above else (top, bottom)
                parts += [svg.line(x(0), ends[0], x(0), ends[1], 0.7)] * (above or not place)
            elif low <= value <= high:
                parts += [*whisker, svg.dot(x(value), y, colour)]
            else:
                way = 1 if value > high else -1
                said = svg.text(edges[way > 0] + 5 * way, y, write(value), "start" if way > 0 else "end")
                parts += [*whisker, svg.arrow(edges[way > 0], y, colour, way), *([said] if columns > 1 else [])]
        parts += [svg.text(width, middle, figures[place], "end")] if figures else []
        top += heights[place]
    parts.append(svg.text(left, bottom + 31, svg.cut(panel.unit, width - left), pale=True))
    return bottom + 42, parts


def _names(labels: Sequence[str], width: float) -> tuple[list[list[str]], float, bool]:
    """The lines of each name, where bars begin, and whether names are above them."""
    longest, most = svg.width_of(labels), _BESIDE * width
    if longest + 12 <= most:
        return [[label] for label in labels], longest + 12, False
    if longest <= 2.2 * most and width > 500:
        names = [svg.wrapped(label, most - 12, 2) for label in labels]
        if not any(lines[-1].endswith("…") for lines in names):
            return names, svg.width_of(line for lines in names for line in lines) + 12, False
    return [svg.wrapped(label, width - 4, 3) for label in labels], 2.0, True


# ---- bars to two sides ----------------------------------------------------------------------------------------------


_TOP, _APART = 44.0, 12.0


def _pyramid(panel: Panel, width: float) -> tuple[float, list[str]]:
    """A side for each of the first two levels. The first label is at the bottom, above other and missing values."""
    along, levels = panel.axes
    values, *bounds = _columns(panel, levels.size)
    gutter = min(max(svg.width_of(along.labels), svg.length(along.name)) + 20, 0.36 * width)
    span = (width - gutter) / 2 - 1
    row, base = 19.0 if along.size > 8 else 25.0, along.size - along.apart
    low, most = panel.ends
    bottom = _TOP + row * along.size + _APART * bool(along.apart)
    heights = [_TOP + row * (base - place - 0.5) for place in range(base)]
    heights += [_TOP + row * (base + place + 0.5) + _APART for place in range(along.apart)]
    parts = [svg.text(width / 2, _TOP - 14, svg.cut(along.name, gutter - 8), "middle", pale=True)]
    ticks = _ticks(low, most, max(2, int(span / 75)))
    for side, (colour, start, way) in enumerate(((DATA, span, -1), (SECOND, width - span, 1))):

        def x(value: float, start: float = start, way: int = way) -> float:
            return start + way * (value - low) / (most - low) * span

        edges = (0.0, span + 12) if way < 0 else (width - span - 12, width)
        parts += [svg.line(x(mark), _TOP - 4, x(mark), bottom, 0.12) for mark, _ in ticks]
        parts += [svg.text(at, bottom + 12, words, "middle") for _, at, words in fitted(ticks, x, edges, way=way).marks]
        whole = float(values[:, side].sum())  # not known if a part is held back
        said = levels.labels[side] if math.isnan(whole) else f"{levels.labels[side]}: {people(whole)}"
        total = svg.cut(said, 0.86 * span)
        parts.append(svg.text(0 if way < 0 else width, 8, total, "start" if way < 0 else "end", bold=True))
        for place, y in enumerate(heights):
            if math.isnan(values[place, side]):
                parts.append(svg.text(x(0) + 6 * way, y, "held back", "end" if way < 0 else "start", pale=True))
                continue
            begin, end = sorted((x(0), x(float(values[place, side]))))
            parts.append(svg.box(begin, y - row / 2 + 2, end - begin, row - 4, colour, 0.85))
            parts += svg.whisker([x(float(bound[place, side])) for bound in bounds], y, (0, width))
        parts.append(svg.line(x(0), _TOP - 4, x(0), bottom, 0.7))
    for words, y in zip(along.labels, heights, strict=True):
        parts.append(svg.text(width / 2, y, svg.cut(words, gutter - 8), "middle"))
    return bottom + 42, [*parts, svg.text(0, bottom + 31, svg.cut(panel.unit, width), pale=True)]


# ---- lines with a band, and small ones side by side -----------------------------------------------------------------


_ABOVE, _HEAD, _HIGH, _SPACE, _OTHER = 26.0, 22.0, 104.0, 18.0, 48.0
"""The space above the first line, the height of a name, the height of a small multiple, the space between two of them,
and the width of a value that is drawn apart."""
_DOTS = 40
"""Up to this many points, each has a dot."""


def _lines(panel: Panel, width: float) -> tuple[float, list[str]]:
    """A step or a point for each value: one line, with other and missing values after gaps; or one for each level."""
    axis, several = (panel.axes[0] if panel.axes else None), panel.kind == "multiples"
    names = panel.axes[1].labels if several else ("",)
    base = len(panel.values) - (axis.apart if axis else 0)
    apart = () if axis is None or several else axis.labels[base:]
    every = [part[:base] if several else part for part in _columns(panel, len(names))]
    low, high = panel.ends
    ticks = _ticks(low, high, 3 if several else 5, years=panel.years)
    left = svg.width_of(words for _, words in ticks) + 14
    end = width - 2 - len(apart) * (_OTHER + _APART)
    columns = min(len(names), max(1, int((width - left) / 150)))
    while columns > 1 and -(-len(names) // (columns - 1)) == -(-len(names) // columns):
        columns -= 1
    wide = (end - left - _SPACE * (columns - 1)) / columns
    name, scale = panel.along or (panel.axes[0].name, panel.axes[0])
    edges = (-8.0, wide + 2) if several else (-left, wide if apart else wide + 2)
    row = fitted(scale, lambda at: at / max(1, base) * wide, edges)
    deep = _HIGH if several else (300 if width > 500 else 260) - _ABOVE - 34 - row.depth
    step = _HEAD * several + deep + row.depth + 26
    parts = [svg.text(0, 8, svg.cut(panel.unit, width), pale=True)]
    for place, words in enumerate(names):
        start = left + place % columns * (wide + _SPACE)
        bottom = _ABOVE + place // columns * step + _HEAD * several + deep
        last = start + wide if several else width

        def y(value: float, bottom: float = bottom) -> float:
            return bottom - (min(max(value, low), high) - low) / (high - low) * deep

        parts += [svg.text(start, bottom - deep - _HEAD + 8, svg.cut(words, 0.88 * wide), bold=True)] * several
        for mark, height in ticks:
            parts.append(svg.line(start, y(mark), last, y(mark), 0.12))
            parts += [svg.text(left - 8, y(mark), height, "end")] * (place % columns == 0)
        sides = [start + at / max(1, base) * wide for at in range(base + 1)]
        heights = [[y(value) for value in part[:, place].tolist()] for part in every]
        if base:
            parts += _line(sides, [part[:base] for part in heights], axis is not None and axis.dated)
        for at, label in enumerate(apart):
            begin = end + _APART + at * (_OTHER + _APART)
            parts += _line([begin, begin + _OTHER], [part[base + at : base + at + 1] for part in heights])
            parts.append(svg.text(begin + _OTHER / 2, bottom + 15, svg.cut(label, _OTHER), "middle"))
        parts += [svg.line(start, y(0), last, y(0), 0.7)] if low <= 0 <= high else []
        parts += row.draw(bottom, start)
    total = _ABOVE + -(-len(names) // columns) * step
    parts.append(svg.text((left + end) / 2, total - 1, svg.cut(name, end - left), "middle", pale=True))
    return total + 8, parts


def _line(sides: Sequence[float], heights: Sequence[Sequence[float]], points: bool = False) -> list[str]:
    """Lines with their bands, and gaps where values are not shown."""
    parts, dots = [], points and 1 < len(heights[0]) <= _DOTS
    for known, run in groupby(range(len(heights[0])), lambda at: not math.isnan(heights[0][at])):
        first, *others = run
        end = first + len(others) + 1
        if known:
            own = sides[first : end + 1]
            parts += _stretch(own, [part[first:end] for part in heights], points and end > first + 1)
            middles = [(a + b) / 2 for a, b in pairwise(own)] if dots else []
            parts += [svg.dot(x, y, DATA, 2.6) for x, y in zip(middles, heights[0][first:end], strict=dots)]
    return parts


def _stretch(sides: Sequence[float], heights: Sequence[Sequence[float]], points: bool) -> list[str]:
    """A line with its band: in steps or, for dates, from the middle of one date to the next."""
    values, *bounds = heights

    def path(sides: Sequence[float], heights: Sequence[float]) -> str:
        if points:
            middles = [(a + b) / 2 for a, b in pairwise(sides)]
            return "L".join(f"{svg.place(a)} {svg.place(b)}" for a, b in zip(middles, heights, strict=True))
        steps = (f"V{svg.place(height)}H{svg.place(side)}" for height, side in zip(heights, sides[1:], strict=True))
        return f"{svg.place(sides[0])} {svg.place(heights[0])}{''.join(steps)}"

    parts = []
    if bounds:
        lower, upper = bounds
        back = "L" + path(sides[::-1], lower[::-1])
        parts.append(f'<path d="M{path(sides, upper)}{back}Z" style="fill:{DATA}" fill-opacity=".22"/>')
    look = f'fill="none" style="stroke:{DATA}" stroke-width="1.6" stroke-linejoin="round"'
    return [*parts, f'<path d="M{path(sides, values)}" {look}/>']


# ---- two attributes together as coloured squares --------------------------------------------------------------------


_LEGEND = 12.0
_NAMED_ROW, _FEW_ROWS, _FEW = 17.0, 34.0, 9
"""The least height of a row that has a name, and of a row if there are few."""
_WRITTEN = 160
"""Up to this many squares, numbers are written in them."""
_UPWARDS, _DOWNWARDS = ("#F7F7F5", SKY, BLUE, "#00263C"), ("#F7F7F5", ORANGE, VERMILION, "#571F00")


def _oriented(panel: Panel) -> tuple[Reals, DisplayAxis, DisplayAxis]:
    """The values of a map, and its horizontal and vertical axes: names are easier to read on the left, and longitude
    goes from left to right."""
    across, up = panel.axes
    turned = up.ordered and not across.ordered
    if not up.ordered and not across.ordered:
        turned = max(map(len, across.labels)) > max(map(len, up.labels))
    if turned or isinstance(up.attribute, Longitude):
        return panel.values.T, up, across
    return panel.values, across, up


def _map(panel: Panel, width: float) -> tuple[float, list[str]]:
    """The second axis goes upwards or, where it has no order, downwards. Longitude and latitude make a map with its
    true aspect and a scale."""
    values, across, up = _oriented(panel)
    columns, rows = values.shape
    ground = ground_of(across, up)
    left, top, wide, high = _place(up, rows, width, ground)
    low, high_value = reach([float(values.min()), float(values.max())])
    shown, bottom = (values[:, ::-1].T if up.ordered else values.T), top + high
    parts = [] if ground else [svg.text(0, 8, svg.cut(up.name, width), pale=True)]
    parts += _squares(panel, shown, max(-low, high_value), (left, top, wide, high))
    parts += [svg.line(left, top, left, bottom, 0.5), svg.line(left, bottom, left + wide, bottom, 0.5)]
    row = fitted(across, lambda at: left + at / columns * wide, (0, width), whole=True)
    parts += row.draw(bottom)
    for at, words in beside(up, high):
        y = bottom - at / rows * high if up.ordered else top + at / rows * high
        lines = svg.wrapped(words, left - 8, 1 if up.numbered else max(1, int(high / rows / svg.LINE)))
        parts.append(svg.line(left - 4, y, left, y, 0.6))
        parts.append(svg.text(left - 8, y - svg.LINE * (len(lines) - 1) / 2, "\n".join(lines), "end"))
    named = bottom + 8 + row.depth + 16
    if ground:
        part, words = ground.scale()
        y, end = named + 4, left + part * wide
        parts += [svg.line(left, y, end, y, 0.9, 2), svg.text(end + 9, y, words)]
        parts += [svg.line(side, y - 5, side, y + 5, 0.9, 1.5) for side in (left, end)]
    else:
        parts.append(svg.text(left + wide / 2, named, svg.cut(across.name, wide), "middle", pale=True))
    # the legend: colours from the least to the greatest value, with ticks
    y, length = named + 38, min(width - left - 2, 360)
    ramp = np.linspace(low, high_value, 256)[None, :] / max(-low, high_value)
    parts += [_image(ramp, left, y, length, _LEGEND), svg.text(left, y - 10, svg.cut(panel.unit, length), pale=True)]
    ticks = _ticks(low, high_value, 4)
    legend = fitted(ticks, lambda at: left + (at - low) / (high_value - low) * length, (0, left + length + 2))
    return y + _LEGEND + 26, parts + legend.draw(y + _LEGEND)


def _place(up: DisplayAxis, rows: int, width: float, ground: Ground | None) -> tuple[float, float, float, float]:
    """The place of the squares: left, top, width, height."""
    words = [words for _, words in up.ticks(8, whole=True)] if up.numbered else up.labels
    left = min(max(svg.width_of(words), 14) + 14, (0.42 if width < 500 else 0.36) * width)
    plot = width - left - 2
    if ground:
        height = min(ground.aspect * plot, 1.1 * width, 680)
        return left, 10, height / ground.aspect, height
    least = _FEW_ROWS if rows <= _FEW else 5.0 if up.numbered else _NAMED_ROW
    return left, 26.0, plot, rows * min(max(0.62 * plot / rows, least), max(30.0, least))


def _squares(panel: Panel, shown: Reals, strongest: float, place: tuple[float, float, float, float]) -> list[str]:
    """Coloured squares, with numbers in them if they are few and large enough."""
    (rows, columns), (left, top, width, height) = shown.shape, place
    wide, high = width / columns, height / rows
    write = people if panel.people else number
    words = [[write(value) for value in line] for line in shown.tolist()] if shown.size <= _WRITTEN else []
    if not words or high < 17 or max(map(svg.width_of, words)) + 6 > wide:
        return [_image(shown / strongest, *place)]
    colours, boxes, figures = heat(shown / strongest), [], []
    for row, column in np.ndindex(shown.shape):
        red, green, blue = colours[row, column].tolist()
        x, y = left + column * wide, top + row * high
        boxes.append(svg.box(x + 0.5, y + 0.5, wide - 1, high - 1, f"#{red:02x}{green:02x}{blue:02x}"))
        deep = 0.299 * red + 0.587 * green + 0.114 * blue < 112  # white letters are easier to read on dark colours
        ink = "var(--adyton-on-deep,#fff)" if deep else "var(--adyton-on-pale,#1d2329)"
        figures.append(svg.text(x + wide / 2, y + high / 2, words[row][column], "middle", colour=ink))
    return [f'<g class="heat">{"".join(boxes)}</g>', *figures]


def heat(shares: Reals) -> npt.NDArray[np.uint8]:
    """Red, green and blue for numbers from −1 to 1: nearly white at 0, darker blue above it, darker orange below."""

    def mixed(stops: Sequence[str]) -> Reals:
        channels = np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in stops], dtype=float)
        strength = np.abs(shares) * (len(stops) - 1)
        return np.stack([np.interp(strength, range(len(stops)), channel) for channel in channels.T], axis=-1)

    return np.where(shares[..., None] < 0, mixed(_DOWNWARDS), mixed(_UPWARDS)).round().astype(np.uint8)


def _image(shares: Reals, x: float, y: float, width: float, height: float) -> str:
    data = base64.b64encode(png(heat(shares))).decode()
    return (
        f'<image class="heat" x="{svg.place(x)}" y="{svg.place(y)}" width="{svg.place(width)}" '
        f'height="{svg.place(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file from rows of red, green and blue."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


# ---- trees line by line, like a folder tree: each branch with a bar in the colours of its outcomes ------------------


_LINE_HIGH, _LINE_BAR, _INDENT, _SWATCH = 24.0, 13.0, 14.0, 11.0


class Branch(NamedTuple):
    """One line of a tree."""

    depth: int
    words: str
    shares: Sequence[float]
    """The part of the bar that each colour takes."""
    said: str
    """The text after the bar."""


def outline(
    title: str, description: str, names: Sequence[str], branches: Sequence[Branch], width: float, left: float = 0.5
) -> str:
    """The tree as SVG; bars begin at *left* times the width; names beyond the palette share its last colour."""
    parts, top = keys(names, width)
    begin, right = left * width, 0.74 * width
    above: dict[int, float] = {}
    for row, (depth, words, shares, said) in enumerate(branches):
        middle, x = top + _LINE_HIGH * (row + 0.5), _INDENT * depth
        if depth:
            parts.append(svg.line(x - 8, above[depth - 1], x - 8, middle, 0.35))
            parts.append(svg.line(x - 8, middle, x - 2, middle, 0.35))
        above[depth] = middle + _LINE_HIGH / 3
        parts.append(svg.text(x + 2, middle, svg.cut(words, begin - x - 8)))
        start = begin
        for place, share in enumerate(shares):
            length = share * (right - begin)
            if length >= 0.5:
                colour = COLOURS[min(place, len(COLOURS) - 1)]
                parts.append(svg.box(start, middle - _LINE_BAR / 2, length, _LINE_BAR, colour, 0.9))
            start += length
        parts.append(svg.text(right + 8, middle, svg.cut(said, width - right - 8)))
    return svg.drawing(width, top + _LINE_HIGH * len(branches) + 6, title, description, parts)


def keys(names: Sequence[str], width: float, colours: Sequence[str] = COLOURS) -> tuple[list[str], float]:
    """A legend with a square and a name for each colour, in as many lines as needed; and the height where it ends."""
    left = len(names) - len(colours)
    shown = [*names[: len(colours) - 1], f"{left + 1} others"] if left > 0 else names
    parts: list[str] = []
    x, y = 0.0, 10.0
    for colour, words in zip(colours, [svg.cut(name, width - 30) for name in shown], strict=False):
        room = _SWATCH + 6 + svg.length(words) + 14
        if x and x + room > width:
            x, y = 0.0, y + 20
        parts.append(svg.box(x, y - _SWATCH / 2, _SWATCH, _SWATCH, colour, 0.9))
        parts.append(svg.text(x + _SWATCH + 6, y, words))
        x += room
    return parts, y + 20
