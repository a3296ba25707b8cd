"""Maps of longitude and latitude: their true aspect, and how many pixels a kilometre is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adyton.report import svg
from adyton.report.cell_ticks import coordinate_signs, degrees
from adyton.report.display_axis import DisplayAxis
from adyton.report.scales import figure, nice_step
from adyton.schema import Latitude, Longitude

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
