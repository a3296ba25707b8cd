"""Sums of values by groups, and rows that are shared out between the ends of a range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.shapes import TableShape, VectorShape
from adyton.kernel.tables.private_table import LARGEST_DOMAIN
from adyton.kernel.transforms.base import Outcome, Transform
from adyton.kernel.vectors import PrivateVector
from adyton.messages import shorten
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.numbers import FixedPoint
from adyton.whole import IntegerArray, narrow

MOST_DEGREES = 2


@dataclass(frozen=True)
class SumValues(Transform):
    """Add up the values of an attribute in every group, in whole steps of its public grid.

    Groups are the cells of the attributes in *by*; without any there is one.

    Claim.  Stability max(|low|, |high|) in L1, the grid's bounds in steps.
    Proof.  A row is in one group at most, and its value is a whole number of steps from low to high, which depends on
    the row alone (see :mod:`adyton.kernel.tables.step_sums`). One row more changes one sum by at most that.  ∎
    """

    takes = TableShape
    attribute: str
    by: tuple[str, ...] = ()

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for each attribute of the groups."""
        grid, shape = _checked(source.schema, self.attribute, self.by)

        def sums(table: Any) -> IntegerArray:
            rows, steps = table.power_sums(self.attribute, self.by, 1)
            return narrow(rows.astype(object) * grid.low + steps)

        step = _described("sums", self.attribute, self.by)
        return _outcome(step, shape or (1,), sums, max(1, grid.reach))


@dataclass(frozen=True)
class ShareRows(Transform):
    """Share out every row between degree + 1 points from one bound to the other, by where its value lies.

    With M steps between the bounds and a value k steps above the lower one, point j of 0 … d gets the whole number
    C(d, j)·k^j·(M − k)^(d−j): the Bernstein polynomials. For d = 1 these are the distances from the two bounds. Summed
    over rows they tell how many rows there are (all points together are M^d·n), the sum of values (Σ_j j·point j is
    d·M^(d−1)·Σ k) and, for d = 2, that of their squares (the last point is Σ k²): one measurement serves count, mean
    and variance, and costs what either would by itself.

    Claim.  Stability M^d in L1.
    Proof.  A row is in one group at most, and k depends on the row alone (see
    :mod:`adyton.kernel.tables.step_sums`), a whole number of 0 … M. All shares are at least 0, and they add up to
    (k + M − k)^d = M^d by the binomial theorem: one row more changes the vector by exactly that in L1, or by nothing.
    The sums of shares are linear in Σ 1, Σ k and Σ k², from which they are computed in whole numbers.  ∎
    """

    takes = TableShape
    attribute: str
    by: tuple[str, ...] = ()
    degree: int = 1

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for each attribute of the groups, and one for the points."""
        grid, shape = _checked(source.schema, self.attribute, self.by)
        if not 1 <= self.degree <= MOST_DEGREES:
            raise BadInput(f"rows are shared out by the degree 1 or 2, given {shorten(self.degree)}.")

        def shares(table: Any) -> IntegerArray:
            sums = [one.astype(object) for one in table.power_sums(self.attribute, self.by, self.degree)]
            points = [_share(grid.span, self.degree, point, sums) for point in range(self.degree + 1)]
            return narrow(np.stack(points, axis=-1))

        step = _described(f"shares of degree {self.degree}", self.attribute, self.by)
        return _outcome(step, (*shape, self.degree + 1), shares, grid.span**self.degree)


def _share(span: int, degree: int, point: int, sums: Sequence[IntegerArray]) -> IntegerArray:
    """Σ C(d, j)·k^j·(M − k)^(d−j), multiplied out."""
    times = math.comb(degree, point)
    terms = [
        times
        * math.comb(degree - point, power)
        * (-1) ** power
        * span ** (degree - point - power)
        * sums[point + power]
        for power in range(degree - point + 1)
    ]
    return np.asarray(sum(terms[1:], start=terms[0]))


def _outcome(step: str, shape: tuple[int, ...], compute: Callable[[Any], IntegerArray], stability: int) -> Outcome:
    return Outcome(
        step, (VectorShape(shape),), lambda table: [PrivateVector(lambda: compute(table))], stability=stability
    )


def _checked(schema: Schema, attribute: str, by: tuple[str, ...]) -> tuple[FixedPoint, tuple[int, ...]]:
    """The grid, and how many groups there are along each attribute."""
    schema.check_names((attribute, *by))
    declared = schema.attributes[attribute]
    if not isinstance(declared, Integer | Numeric):
        raise BadInput(f"{attribute} is {declared.kind} and has no numbers to add up. Name an integer or numeric one.")
    shape = schema.select(by).shape if by else ()
    if math.prod(shape) > LARGEST_DOMAIN:
        raise BadInput(f"there are more than {LARGEST_DOMAIN:,} groups. Group by fewer attributes.")
    return FixedPoint.of(declared), shape


def _described(what: str, attribute: str, by: tuple[str, ...]) -> str:
    return f"{what}({attribute}{' by ' + ', '.join(by) if by else ''})"
