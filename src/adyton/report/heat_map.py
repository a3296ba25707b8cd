"""A map of two attributes: every square has the colour of its count, with a legend that shows zero."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.report import svg
from adyton.report.palette import heat
from adyton.report.scales import nice_ticks, spread, tick_words

_TOP, _LEGEND, _BAR = 26.0, 112.0, 12.0
_SQUARE = (5.0, 30.0)
"""The least and the greatest height of a square."""


def heat_map(
    values: npt.NDArray[np.float64],
    *,
    names: tuple[str, str],
    ticks: tuple[Sequence[tuple[float, str]], Sequence[tuple[float, str]]],
    upwards: bool,
    title: str,
    description: str,
    unit: str,
    width: float = 720,
) -> str:
    """The first axis of *values* goes to the right; the second one upwards or, where it has no order, downwards."""
    columns, rows = values.shape
    left = min(max(svg.width_of(words for _, words in ticks[1]), 14) + 12, 0.3 * width)
    plot = width - left - 2
    height = rows * min(max(0.62 * plot / rows, _SQUARE[0]), _SQUARE[1])
    low, high = spread([float(values.min()), float(values.max())])
    strongest = max(-low, high)
    shown = values[:, ::-1].T if upwards else values.T
    bottom = _TOP + height
    parts = [svg.text(0, 8, names[1], pale=True), _image(shown / strongest, left, _TOP, plot, height)]
    parts += [
        svg.line(left, _TOP, left, bottom, 0.5),
        svg.line(left, bottom, width - 2, bottom, 0.5),
    ]
    room = plot / max(1, len(ticks[0])) - 4
    for place, words in ticks[0]:
        x = left + place / columns * plot
        parts += [svg.line(x, bottom, x, bottom + 4, 0.6), svg.text(x, bottom + 15, svg.cut(words, room), "middle")]
    for place, words in ticks[1]:
        y = bottom - place / rows * height if upwards else _TOP + place / rows * height
        parts += [svg.line(left - 4, y, left, y, 0.6), svg.text(left - 8, y, svg.cut(words, left - 10), "end")]
    parts.append(svg.text(left + plot / 2, bottom + 36, names[0], "middle", pale=True))
    parts += _legend(low, high, left, bottom + 64, min(plot, 360), unit)
    return svg.drawing(width, bottom + _LEGEND, title, description, parts)


def _legend(low: float, high: float, left: float, top: float, width: float, unit: str) -> list[str]:
    """The colours from the least to the greatest count, with ticks."""
    ramp = np.linspace(low, high, 256)[None, :] / max(-low, high)
    parts = [_image(ramp, left, top, width, _BAR), svg.text(left, top - 10, unit, pale=True)]
    marks = nice_ticks(low, high, 4)
    for mark, words in zip(marks, tick_words(marks), strict=True):
        x = left + (mark - low) / (high - low) * width
        parts += [svg.line(x, top + _BAR, x, top + _BAR + 4, 0.6), svg.text(x, top + _BAR + 15, words, "middle")]
    return parts


def _image(shares: npt.NDArray[np.float64], x: float, y: float, width: float, height: float) -> str:
    data = base64.b64encode(png(heat(shares))).decode()
    return (
        f'<image x="{svg.place(x)}" y="{svg.place(y)}" width="{svg.place(width)}" height="{svg.place(height)}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
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
