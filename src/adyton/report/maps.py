"""Two attributes together as coloured squares; as a map with a scale if they are longitude and latitude."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.report import svg
from adyton.report.axes import DisplayAxis, below, beside, coordinate_signs, degrees, fitted
from adyton.report.palette import heat, is_deep
from adyton.report.scales import figure, nice_step, nice_ticks, number, spread, tick_words
from adyton.schema import Latitude, Longitude

_TOP, _BAR = 26.0, 12.0
_NAMED_ROW, _FEW_ROWS, _FEW = 17.0, 34.0, 9
"""The least height of a row that has a name, and of one among few."""
_WRITTEN = 160
"""Up to so many squares have their numbers written in them."""


@dataclass(frozen=True)
class _Place:
    """Where the squares are."""

    left: float
    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height


def heat_map(
    values: npt.NDArray[np.float64],
    across: DisplayAxis,
    up: DisplayAxis,
    *,
    title: str,
    description: str,
    unit: str,
    width: float = 720,
    digits: int = 0,
) -> str:
    """The first axis of *values* goes to the right; the second one upwards or, where it has no order, downwards.

    Longitude and latitude make a map with its true aspect and a scale.
    """
    columns, rows = values.shape
    ground = ground_of(across, up)
    place = _place(up, rows, width, ground)
    low, high = spread([float(values.min()), float(values.max())])
    shown = values[:, ::-1].T if up.ordered else values.T
    parts = [] if ground else [svg.text(0, 8, svg.cut(up.name, width), pale=True)]
    parts += _squares(shown, max(-low, high), place, digits)
    parts += [
        svg.line(place.left, place.top, place.left, place.bottom, 0.5),
        svg.line(place.left, place.bottom, place.left + place.width, place.bottom, 0.5),
    ]
    row = below(across, lambda at: place.left + at / columns * place.width, (0, width), whole=True)
    parts += row.draw(place.bottom)
    for at, words in beside(up, place.height):
        y = place.bottom - at / rows * place.height if up.ordered else place.top + at / rows * place.height
        parts += [svg.line(place.left - 4, y, place.left, y, 0.6)]
        lines = svg.wrapped(words, place.left - 8, 1 if up.numbered else max(1, int(place.height / rows / svg.LINE)))
        parts += [svg.text(place.left - 8, y - svg.LINE * (len(lines) - 1) / 2, "\n".join(lines), "end")]
    named = place.bottom + 8 + row.depth + 16
    if ground:
        parts += scale_bar(ground, place.left, named + 4, place.width)
    else:
        middle = place.left + place.width / 2
        parts.append(svg.text(middle, named, svg.cut(across.name, place.width), "middle", pale=True))
    parts += _legend(low, high, place.left, named + 38, min(width - place.left - 2, 360), unit)
    return svg.drawing(width, named + 38 + _BAR + 26, title, description, parts)


def _place(up: DisplayAxis, rows: int, width: float, ground: Ground | None) -> _Place:
    words = [words for _, words in up.ticks(8, whole=True)] if up.numbered else up.labels
    left = min(max(svg.width_of(words), 14) + 14, (0.42 if width < 500 else 0.36) * width)
    plot = width - left - 2
    if ground:
        height = min(ground.aspect * plot, 1.1 * width, 680)
        return _Place(left, 10, height / ground.aspect, height)
    least = _FEW_ROWS if rows <= _FEW else 5.0 if up.numbered else _NAMED_ROW
    return _Place(left, _TOP, plot, rows * min(max(0.62 * plot / rows, least), max(30.0, least)))


def _squares(shown: npt.NDArray[np.float64], strongest: float, place: _Place, digits: int) -> list[str]:
    """Colours, and numbers in them where they are few and large enough."""
    rows, columns = shown.shape
    wide, high = place.width / columns, place.height / rows
    words = [[number(value, digits) for value in line] for line in shown.tolist()] if shown.size <= _WRITTEN else []
    if not words or high < 17 or max(svg.width_of(line) for line in words) + 6 > wide:
        return [_image(shown / strongest, place.left, place.top, place.width, place.height)]
    colours, boxes, figures = heat(shown / strongest), [], []
    for row in range(rows):
        for column in range(columns):
            red, green, blue = colours[row, column].tolist()
            x, y = place.left + column * wide, place.top + row * high
            boxes.append(svg.box(x + 0.5, y + 0.5, wide - 1, high - 1, f"#{red:02x}{green:02x}{blue:02x}"))
            ink = "var(--adyton-on-deep,#fff)" if is_deep(red, green, blue) else "var(--adyton-on-pale,#1d2329)"
            figures.append(svg.text(x + wide / 2, y + high / 2, words[row][column], "middle", colour=ink))
    return [f'<g class="heat">{"".join(boxes)}</g>', *figures]


def _legend(low: float, high: float, left: float, top: float, width: float, unit: str) -> list[str]:
    """The colours from the least to the greatest count, with ticks."""
    ramp = np.linspace(low, high, 256)[None, :] / max(-low, high)
    parts = [_image(ramp, left, top, width, _BAR), svg.text(left, top - 10, svg.cut(unit, width), pale=True)]
    marks = nice_ticks(low, high, 4)

    def x(mark: float) -> float:
        return left + (mark - low) / (high - low) * width

    row = fitted(list(zip(marks, tick_words(marks), strict=True)), x, (0, left + width + 2))
    return parts + row.draw(top + _BAR)


def _image(shares: npt.NDArray[np.float64], x: float, y: float, width: float, height: float) -> str:
    data = base64.b64encode(png(heat(shares))).decode()
    return (
        f'<image class="heat" x="{svg.place(x)}" y="{svg.place(y)}" width="{svg.place(width)}" '
        f'height="{svg.place(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """A picture file from rows of red, green and blue."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


# ---- places on the globe ---------------------------------------------------------------------------------------------


KILOMETRES = 6371.0088 * math.pi / 180
"""Those of one degree along a meridian, on a ball as large as the earth."""
_ALIKE = 0.05
"""If kilometres differ more than this between the map's edges, a scale says where it holds."""
_PART = 0.3
"""A scale is about so large a part of the map's width."""


@dataclass(frozen=True)
class Ground:
    """What lies below a map: how wide and how high it is in degrees, and its middle latitude."""

    wide: float
    high: float
    south: float
    north: float

    @property
    def middle(self) -> float:
        """The latitude at which widths and heights are true to each other."""
        return (self.south + self.north) / 2

    @property
    def aspect(self) -> float:
        """Its height for a width of 1: at the middle latitude, a degree east is cos(latitude) times as long as one
        north."""
        return self.high / (self.wide * _cosine(self.middle))

    def kilometres(self) -> float:
        """Its width along the middle latitude."""
        return self.wide * _cosine(self.middle) * KILOMETRES

    def scale(self) -> tuple[float, str]:
        """A round length as a part of the width, and its words.

        >>> Ground(0.6, 0.4, 40.5, 40.9).scale()[1], Ground(9.3, 7.9, 47.2, 55.1).scale()[1]
        ('20 km', '200 km at 51° N')
        """
        whole = self.kilometres()
        length = nice_step(_PART * whole, 1)
        words = f"{figure(length)} km" if length >= 1 else f"{figure(1000 * length)} m"
        least, most = sorted(_cosine(edge) for edge in (self.south, self.north))
        if most / least > 1 + _ALIKE or (self.south < 0 < self.north and 1 / least > 1 + _ALIKE):
            words += f" at {degrees([float(round(self.middle))], ('N', 'S'))[0]}"
        return length / whole, words


def ground_of(across: DisplayAxis, up: DisplayAxis) -> Ground | None:
    """What a picture of two axes is a map of, if they are longitude and latitude and nothing else."""
    one, other = across.attribute, up.attribute
    if not isinstance(one, Longitude) or not isinstance(other, Latitude) or across.apart or up.apart:
        return None
    if one.edges is not None or other.edges is not None:
        return None
    return Ground(one.max - one.min, other.max - other.min, other.min, other.max)


def middle_of(axis: DisplayAxis, cell: int) -> str:
    """The middle of a shown cell of longitude or latitude, in degrees."""
    one = axis.attribute
    assert isinstance(one, Longitude | Latitude)
    middle = one.min + one.width * (axis.first[cell] + axis.last[cell] + 1) / 2
    digits = max(0, 1 - math.floor(math.log10(one.width)))
    return degrees([round(middle, digits)], coordinate_signs(one))[0]


def scale_bar(ground: Ground, left: float, y: float, width: float) -> list[str]:
    """The scale of a map that is so many pixels wide."""
    part, words = ground.scale()
    end = left + part * width
    return [
        svg.line(left, y, end, y, 0.9, 2),
        *(svg.line(side, y - 5, side, y + 5, 0.9, 1.5) for side in (left, end)),
        svg.text(end + 9, y, words),
    ]


def _cosine(latitude: float) -> float:
    return max(0.05, math.cos(math.radians(latitude)))
