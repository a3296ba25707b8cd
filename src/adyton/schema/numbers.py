"""Attributes of ordered numbers: whole numbers in cells of equal length, real numbers in bins, places on the earth as
two axes, and lengths of time; and the public grid on which their values are added up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from adyton.errors import BadInput, SchemaError
from adyton.messages import listing, shorten
from adyton.schema.attributes import Attribute, CelledAttribute, Label
from adyton.schema.reading import LookUp, column_name, real_number, whole_number

_PLAIN = ("integer", "numeric")


@dataclass(frozen=True)
class Numbers(CelledAttribute):
    """What attributes of numbers share: their order, and how texts are read as numbers."""

    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")

    _: KW_ONLY
    currency: str | Sequence[str] = field(default=(), repr=False)
    thousands: str | None = field(default=None, repr=False)
    decimal: str = field(default=".", repr=False)
    case: str = field(default="exact", repr=False)
    first: int | None = field(default=None, repr=False)
    lookup: LookUp | Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def years(self) -> bool:
        """Whether its values can be years, which are written without commas: all of them are from 1000 to 2999.

        >>> Integer(1975, 2014).years, Integer(0, 2014).years
        (True, False)
        """
        least, most = getattr(self, "min", None), getattr(self, "max", None)
        return least is not None and most is not None and 1000 <= least <= most < 3000 and self.kind in _PLAIN


@dataclass(frozen=True)
class Integer(Numbers):
    """Whole numbers from *min* to *max*, both included, in cells of *step* numbers each.

    A number with a fraction falls into the cell of the whole number below it.

    >>> Integer(0, 99, step=25).labels
    ('[0, 24]', '[25, 49]', '[50, 74]', '[75, 99]')
    """

    kind: ClassVar[str] = "integer"

    min: int
    max: int
    step: int = 1

    def __post_init__(self) -> None:
        self._check_policies()
        for name in ("min", "max", "step"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if self.min > self.max:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must not exceed max. Swap them?")
        if self.max - self.min >= 2**53:
            raise SchemaError(f"max − min must be below 2^53, given {self.min} to {self.max}. Write tighter bounds.")
        if self.step < 1:
            raise SchemaError(f"step must be at least 1, given {self.step}.")

    @property
    def base_size(self) -> int:
        """One cell per *step* numbers; the last may be shorter."""
        return (self.max - self.min) // self.step + 1

    def _base_labels(self) -> tuple[Label, ...]:
        starts = range(self.min, self.max + 1, self.step)
        if self.step == 1:
            return tuple(starts)
        return tuple(f"[{start}, {min(start + self.step - 1, self.max)}]" for start in starts)


@dataclass(frozen=True)
class Numeric(Numbers):
    """Real numbers from *min* to *max* in *bins* cells of equal width, or in the cells between given *edges*.

    Cells include their left edge but not their right edge, except the last, which includes both. With bins of equal
    width, a value less than a billionth of a bin below an edge counts as on it: 0.29 is in [0.29, 0.3), although the
    nearest doubles say otherwise. Given edges are compared exactly.

    >>> Numeric(0, 1, bins=2).labels
    ('[0, 0.5)', '[0.5, 1]')
    >>> Numeric(edges=[0, 1, 10]).size
    2
    """

    kind: ClassVar[str] = "numeric"

    min: float = field(default=None)  # type: ignore[assignment]
    max: float = field(default=None)  # type: ignore[assignment]
    bins: int = field(default=None)  # type: ignore[assignment]
    edges: Sequence[float] | None = None

    def __post_init__(self) -> None:
        self._check_policies()
        if self.edges is not None:
            self._check_edges()
            return
        missing = [name for name in ("min", "max", "bins") if getattr(self, name) is None]
        if missing:
            raise SchemaError(
                f"{' and '.join(missing)} missing: numeric needs min, max and bins, or edges. "
                "Write bounds from public knowledge, never from the rows."
            )
        object.__setattr__(self, "min", real_number(self.min, "min"))
        object.__setattr__(self, "max", real_number(self.max, "max"))
        object.__setattr__(self, "bins", whole_number(self.bins, "bins"))
        if self.min >= self.max:
            raise SchemaError(f"min is {self.min:.12g} and max is {self.max:.12g}: min must be below max. Swap them?")
        if self.bins < 1:
            raise SchemaError(f"bins must be at least 1, given {self.bins}.")
        largest = max(abs(self.min), abs(self.max))
        if self.width < largest * 2**-52 or self.width < 1e-300:
            raise SchemaError(f"{self.bins} bins between {self.min} and {self.max} are too narrow. Ask for fewer bins.")

    def _check_edges(self) -> None:
        given: Any = self.edges
        if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__"):
            raise SchemaError(f"edges must be a list of numbers, given {shorten(given)}. Write edges = [0, 10, 100].")
        edges = tuple(real_number(edge, "an edge") for edge in given)
        if len(edges) < 2:
            raise SchemaError(f"edges needs at least two numbers, given {shorten(list(edges))}.")
        for left, right in pairwise(edges):
            if left >= right:
                raise SchemaError(f"edges must increase, given {left} before {right}. Sort them; write each once.")
        derived = {"min": edges[0], "max": edges[-1], "bins": len(edges) - 1}
        for name, value in derived.items():
            if getattr(self, name) not in (None, value):
                raise SchemaError(f"give either edges or {name}, not both: the edges already imply {name} = {value}.")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "edges", edges)

    @property
    def width(self) -> float:
        """The width of a cell, where all are equally wide."""
        return (self.max - self.min) / self.bins

    @property
    def tolerance(self) -> float:
        """The fraction of a bin below its upper edge that counts as on the edge; more than the rounding of doubles."""
        return max(1e-9, 1e-15 * self.bins)

    @property
    def base_size(self) -> int:
        """One cell per bin."""
        return self.bins

    def _base_labels(self) -> tuple[Label, ...]:
        edges = self.edges or [*(self.min + i * self.width for i in range(self.bins)), self.max]
        texts = [_number_text(edge) for edge in edges]
        closing = [")"] * (self.bins - 1) + ["]"]
        return tuple(f"[{a}, {b}{close}" for a, b, close in zip(texts, texts[1:], closing, strict=False))


def _number_text(number: float) -> str:
    """A number for a label: without the rounding error of the last digits, and whole numbers without a point."""
    text = f"{number:.12g}"
    return text if "e" not in text or abs(number) >= 2**53 or number % 1 else str(int(number))


AXES = ("longitude", "latitude")


@dataclass(frozen=True)
class Quantity(Numeric):
    """Numbers in a unit of measurement, without the keys for amounts of money."""

    currency: ClassVar[tuple[str, ...]] = ()  # type: ignore[misc]
    thousands: ClassVar[None] = None  # type: ignore[misc]
    decimal: ClassVar[str] = "."  # type: ignore[misc]
    case: ClassVar[str] = "exact"  # type: ignore[misc]
    first: ClassVar[None] = None  # type: ignore[misc]
    lookup: ClassVar[None] = None  # type: ignore[misc]


@dataclass(frozen=True)
class Coordinate(Quantity):
    """Degrees along one axis of a map, in bins of equal width."""

    furthest: ClassVar[int]

    _: KW_ONLY
    decimal: str = field(default=".", repr=False)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
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

    In a schema it declares two attributes, ``NAME_longitude`` and ``NAME_latitude``, which can be used together by the
    point's name or separately. They are read from columns of the same names, unless *longitude* and *latitude* name
    others.

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
                "a point has cells on the map only: outside is drop or clamp, and nulls is drop. For other policies, "
                "declare longitude and latitude as separate attributes."
            )
        object.__setattr__(self, "box", tuple(real_number(edge, "an edge of box") for edge in box))
        object.__setattr__(self, "grid", tuple(whole_number(side, "a side of grid") for side in (*grid, *grid)[:2]))
        for name in AXES:
            object.__setattr__(self, name, column_name(getattr(self, name), name))
        self.axes("point")

    def axes(self, name: str) -> dict[str, Attribute]:
        """The two attributes that a point of this name declares."""
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
    """The names of the two attributes of a point; the name itself if it is not that of a point."""
    pair = (f"{name}_longitude", f"{name}_latitude")
    axes = [attributes.get(axis) for axis in pair]
    is_point = isinstance(axes[0], Longitude) and isinstance(axes[1], Latitude) and name not in attributes
    return pair if is_point else (name,)


UNITS: dict[str, float] = {
    "nanoseconds": 1e-9,
    "microseconds": 1e-6,
    "milliseconds": 1e-3,
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
}
"""The number of seconds in each unit."""


@dataclass(frozen=True)
class Duration(Quantity):
    """Lengths of time from *min* to *max* units, in *bins* of equal length or between given *edges*.

    A plain number counts in *unit*. A text can also be ``1:30:00``, ``2 days 01:30:00`` or ``PT1H30M``; columns of
    durations are converted to the unit.

    >>> Duration(0, 90, bins=3, unit="minutes").labels
    ('[0, 30)', '[30, 60)', '[60, 90]')
    """

    kind: ClassVar[str] = "duration"

    _: KW_ONLY
    unit: str = "seconds"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise SchemaError(f"unit must be one of {listing(UNITS, 8)}, given {shorten(self.unit)}.")

    @property
    def seconds(self) -> float:
        """The number of seconds in a unit."""
        return UNITS[self.unit]


_DIGITS = 8
"""There are fewer than 10⁸ steps between the bounds: cents up to a million. Squares of steps fit into 64 bits."""


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as whole multiples of a *step*, a power of ten, from *low* to *high*; all three follow from the schema.

    Whole numbers are counted in ones; real numbers, and whole numbers of a very wide range, in steps of the eighth
    digit of the range. The bounds are moved outwards to the next multiple.

    >>> FixedPoint.of(Integer(0, 119))
    FixedPoint(step=Fraction(1, 1), low=0, high=119)
    >>> FixedPoint.of(Numeric(0, 750_000, bins=100))
    FixedPoint(step=Fraction(1, 100), low=0, high=75000000)
    """

    step: Fraction
    low: int
    high: int

    @classmethod
    def of(cls, attribute: Attribute) -> FixedPoint:
        """The grid of an attribute of numbers."""
        if not isinstance(attribute, Integer | Numeric):
            raise BadInput(f"a {attribute.kind} attribute has no numbers to add up.")
        least, most = Fraction(str(attribute.min)), Fraction(str(attribute.max))  # 0.1 is one tenth
        width = max(most - least, Fraction(1)) if isinstance(attribute, Integer) else most - least
        step = Fraction(10) ** (_leading_digit(width) + 1 - _DIGITS)
        if isinstance(attribute, Integer):
            step = max(step, Fraction(1))
        low, high = math.floor(least / step), math.ceil(most / step)
        return cls(step, low, max(high, low + 1))

    @property
    def span(self) -> int:
        """The number of steps between the bounds."""
        return self.high - self.low

    @property
    def reach(self) -> int:
        """The largest distance from 0, in steps."""
        return max(abs(self.low), abs(self.high))

    @property
    def width(self) -> float:
        """The distance between the bounds."""
        return float(self.span * self.step)

    @property
    def lower(self) -> float:
        """The lower bound."""
        return float(self.low * self.step)

    @property
    def upper(self) -> float:
        """The upper bound."""
        return float(self.high * self.step)

    def steps_of_cells(self, attribute: Integer | Numeric) -> tuple[int, ...]:
        """How many steps the middle of each cell of numbers lies above the lower bound."""
        middles = cell_middles(attribute)
        return tuple(min(max(round(middle / self.step) - self.low, 0), self.span) for middle in middles)


def cell_middles(attribute: Integer | Numeric) -> list[Fraction]:
    """The middle of each cell of numbers; for a cell of a single number, that number.

    >>> cell_middles(Integer(0, 5, step=2))
    [Fraction(1, 2), Fraction(5, 2), Fraction(9, 2)]
    """
    edges = cell_edges(attribute)
    last = 1 if isinstance(attribute, Integer) else 0
    return [(left + right - last) / 2 for left, right in pairwise(edges)]


def cell_edges(attribute: Integer | Numeric) -> list[Fraction]:
    """Where the cells of numbers begin, and where the last one ends: one edge more than there are cells."""
    if isinstance(attribute, Integer):
        starts = range(attribute.min, attribute.max + 1, attribute.step)
        return [*map(Fraction, starts), Fraction(attribute.max + 1)]
    if attribute.edges is not None:
        return [Fraction(edge) for edge in attribute.edges]
    low, high = Fraction(attribute.min), Fraction(attribute.max)
    return [low + (high - low) * place / attribute.bins for place in range(attribute.bins + 1)]


def _leading_digit(width: Fraction) -> int:
    """d with 10^d ≤ width < 10^(d+1), exactly."""
    guess = math.floor(math.log10(width)) if width < 10**300 else len(str(math.floor(width))) - 1
    while Fraction(10) ** (guess + 1) <= width:
        guess += 1
    while Fraction(10) ** guess > width:
        guess -= 1
    return guess
