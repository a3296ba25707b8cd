"""The public grid on which the values of an attribute are added up: whole steps between its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from adyton.errors import BadInput
from adyton.schema.attributes import Attribute
from adyton.schema.numbers import Integer, Numeric

_DIGITS = 8
"""Between the bounds lie fewer than 10⁸ steps: cents up to a million. Squares of steps fit 64 bits."""


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as whole multiples of a *step*, a power of ten, from *low* to *high*: all of it follows from the schema.

    Whole numbers are counted in ones; real numbers, and whole ones of a very wide range, in steps of the eighth digit
    of the range. The bounds are moved outwards to the next multiple.

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
        """How many steps lie between the bounds."""
        return self.high - self.low

    @property
    def reach(self) -> int:
        """How many steps the value farthest from 0 is away from it."""
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
        """For each cell of numbers how many steps its middle lies above the lower bound."""
        middles = cell_middles(attribute)
        return tuple(min(max(round(middle / self.step) - self.low, 0), self.span) for middle in middles)


def cell_middles(attribute: Integer | Numeric) -> list[Fraction]:
    """The middle of each cell of numbers; a cell of a single number is that number.

    >>> cell_middles(Integer(0, 5, step=2))
    [Fraction(1, 2), Fraction(5, 2), Fraction(9, 2)]
    """
    edges = cell_edges(attribute)
    last = 1 if isinstance(attribute, Integer) else 0
    return [(left + right - last) / 2 for left, right in pairwise(edges)]


def cell_edges(attribute: Integer | Numeric) -> list[Fraction]:
    """Where the cells of numbers begin, and where the last one ends: one more than there are."""
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
