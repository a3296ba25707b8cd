"""Query sets of which some queries matter more than others."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.queries.base import Queries
from adyton.queries.combined import check_queries
from adyton.queries.explicit import Explicit
from adyton.queries.product import Cells, Product
from adyton.queries.size import Size

_SMALLEST = 1e-12
"""Weights beyond this, or beyond one divided by it, mean nothing."""


@dataclass(frozen=True, eq=False)
class Weighted(Queries):
    """The same queries, each multiplied by a weight: for workloads in which some queries matter more.

    Weights can be any finite numbers, so such a set is answered from an estimate and is never measured itself.

    >>> from adyton.queries import Identity
    >>> Weighted(Identity(2), [0.5, 2]) @ [4, 5]
    array([ 2., 10.])
    """

    domain: tuple[int, ...] = field(init=False)
    queries: Queries
    weights: Reals

    def __init__(self, queries: Queries, weights: npt.ArrayLike) -> None:
        (inner,) = check_queries([queries], "queries")
        try:
            values = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape not in ((), (inner.count,)) or not np.isfinite(values).all():
            raise BadInput(f"weights must be {inner.count} finite numbers, one per query, or one number for all.")
        sizes = np.abs(values[values != 0])
        if sizes.size and not _SMALLEST <= float(sizes.min()) <= float(sizes.max()) <= 1 / _SMALLEST:
            raise BadInput(f"weights other than 0 must be from {_SMALLEST} to {1 / _SMALLEST}. Scale them.")
        values = np.broadcast_to(values, (inner.count,)).copy()
        values.flags.writeable = False
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "queries", inner)
        object.__setattr__(self, "weights", values)

    @property
    def count(self) -> int:
        """As many as there were."""
        return self.queries.count

    def _apply(self, cells: Array) -> Array:
        return np.asarray(self.queries._apply(cells) * self.weights, dtype=np.float64)

    def _transpose(self, answers: Array) -> Array:
        return self.queries._transpose(np.asarray(answers * self.weights, dtype=np.float64))

    def _absolute_transpose(self, weights: Array) -> Array:
        return self.queries._absolute_transpose(np.asarray(weights * np.abs(self.weights), dtype=np.float64))

    def _rows(self, numbers: Integers) -> Reals:
        return np.asarray(self.queries._rows(numbers) * self.weights[numbers, None])

    def _whole_form(self) -> Queries:
        """A query of weight 0 tells nothing apart; any other tells as much as with weight 1."""
        kept = np.flatnonzero(self.weights)
        if not kept.size:
            return Explicit(self.domain, [], [], [], 1)
        if kept.size == self.count or not self.queries.whole:
            return self.queries._whole_form()
        return Product(Cells(self.count, kept), self.queries)

    def __str__(self) -> str:
        return f"weighted {self.queries}"

    def size(self) -> Size:
        """The queries, and a product for each."""
        own = self.queries.size()
        return Size(own.numbers + self.count, own.steps + self.count)

    def largest_row_sum(self) -> int:
        """A bound."""
        return self.queries.largest_row_sum() * math.ceil(float(np.abs(self.weights).max()))

    def largest_coefficient(self) -> int:
        """A bound."""
        return self.queries.largest_coefficient() * math.ceil(float(np.abs(self.weights).max()))
