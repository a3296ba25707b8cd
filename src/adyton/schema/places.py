"""Places on the earth: longitude and latitude, which are two axes, and a point, which stands for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from adyton.errors import SchemaError
from adyton.messages import shorten
from adyton.schema.attributes import Attribute
from adyton.schema.checks import column_name, real_number, whole_number
from adyton.schema.numbers import Numeric

AXES = ("longitude", "latitude")


@dataclass(frozen=True)
class Coordinate(Numeric):
    """Degrees along one axis of a map, in bins of equal width."""

    furthest: ClassVar[int]

    _: KW_ONLY
    column: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "column", column_name(self.column, "column"))
        if self.min < -self.furthest or self.max > self.furthest:
            raise SchemaError(
                f"a {self.kind} lies between −{self.furthest} and {self.furthest} degrees, given {self.min:g} to "
                f"{self.max:g}. Longitude comes first, latitude second."
            )


@dataclass(frozen=True)
class Longitude(Coordinate):
    """Degrees east; west is negative.

    >>> Longitude(-74.5, -73.5, bins=2).labels
    ('[-74.5, -74)', '[-74, -73.5]')
    """

    kind: ClassVar[str] = "longitude"
    furthest: ClassVar[int] = 180


@dataclass(frozen=True)
class Latitude(Coordinate):
    """Degrees north; south is negative."""

    kind: ClassVar[str] = "latitude"
    furthest: ClassVar[int] = 90


@dataclass(frozen=True)
class Point:
    """A place in a *box* of (west, south, east, north) degrees, in a *grid* of (columns, rows).

    In a schema it stands for two attributes, ``NAME_longitude`` and ``NAME_latitude``, which can be asked for together
    by the point's name or each on its own. They are read from columns of the same names, unless *longitude* and
    *latitude* name others.

    >>> from adyton.schema import Schema
    >>> schema = Schema({"pickup": Point(box=(-74.3, 40.5, -73.7, 40.9), grid=(64, 32))})
    >>> schema.names, schema.select("pickup").shape
    (('pickup_longitude', 'pickup_latitude'), (64, 32))
    """

    kind: ClassVar[str] = "point"

    box: Sequence[float]
    grid: int | Sequence[int]
    _: KW_ONLY
    longitude: str | None = None
    latitude: str | None = None
    nulls: str = "drop"
    outside: str = "drop"

    def __post_init__(self) -> None:
        box, grid = _listed(self.box), _listed(self.grid)
        if len(box) != 4:
            raise SchemaError(f"box must be [west, south, east, north] in degrees, given {shorten(self.box)}.")
        if len(grid) not in (1, 2):
            raise SchemaError(f"grid must be [columns, rows], or one number for both, given {shorten(self.grid)}.")
        if str(self.outside) == "other" or str(self.nulls) == "level":
            raise SchemaError(
                "a point has cells on the map only: outside is drop or clamp, and nulls is drop. Declare longitude and "
                "latitude as attributes of their own for more."
            )
        object.__setattr__(self, "box", tuple(real_number(edge, "an edge of box") for edge in box))
        object.__setattr__(self, "grid", tuple(whole_number(side, "a side of grid") for side in (*grid, *grid)[:2]))
        for name in AXES:
            object.__setattr__(self, name, column_name(getattr(self, name), name))
        self.axes("point")

    def axes(self, name: str) -> dict[str, Attribute]:
        """The two attributes that a point of this name stands for."""
        west, south, east, north = self.box
        columns, rows = self.grid  # type: ignore[misc]
        for low, high, words in ((west, east, "west and east"), (south, north, "south and north")):
            if low >= high:
                raise SchemaError(
                    f"box is [west, south, east, north], given {words} as {low:g} and {high:g}. Swap them?"
                )
        shared = {"nulls": self.nulls, "outside": self.outside}
        return {
            f"{name}_longitude": Longitude(west, east, columns, column=self.longitude, **shared),  # type: ignore[arg-type]
            f"{name}_latitude": Latitude(south, north, rows, column=self.latitude, **shared),  # type: ignore[arg-type]
        }


def _listed(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__"):
        return (given,)
    return tuple(given)


def axes_of(name: str, attributes: dict[str, Attribute] | Any) -> tuple[str, ...]:
    """The names of the two attributes that a point stands for; the name itself if it is no point's."""
    pair = (f"{name}_longitude", f"{name}_latitude")
    found = [attributes.get(one) for one in pair]
    is_point = isinstance(found[0], Longitude) and isinstance(found[1], Latitude) and name not in attributes
    return pair if is_point else (name,)
