"""Instances of problems: what is packed, chosen, sold or delivered. Whatever their numbers are, they are no error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.whole import maybe_whole

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Items:
    """Things with a value and a size, and room for some of them.

    Items without a positive value are never packed; a size of 0 or less needs no room.

    >>> Items(values=[60, 100, 120], sizes=[10, 20, 30], capacity=50).values
    array([ 60., 100., 120.])
    """

    values: Reals
    sizes: Reals
    capacity: float

    def __init__(self, values: npt.ArrayLike, sizes: npt.ArrayLike, capacity: float) -> None:
        _set(self, values=_reals(values, "values"), sizes=_reals(sizes, "sizes"), capacity=_real(capacity, "capacity"))
        _same_length(values=self.values, sizes=self.sizes)


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """Vertices 0, 1, … with their weights, and edges as pairs of vertices.

    Vertices without a positive weight count as absent. So do edges to vertices that there are not, and loops.

    >>> WeightedGraph(weights=[1, 2, 3], edges=[(0, 1), (1, 2)]).edges.shape
    (2, 2)
    """

    weights: Reals
    edges: Places

    def __init__(self, weights: npt.ArrayLike, edges: npt.ArrayLike) -> None:
        pairs = _whole(edges, "edges")
        if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise BadInput("edges must be pairs of vertices. Write them like [(0, 1), (1, 2)].")
        _set(self, weights=_reals(weights, "weights"), edges=_frozen(pairs.reshape(-1, 2)))


@dataclass(frozen=True, eq=False)
class Bids:
    """Bids in an auction: each offers a price for a bundle of goods, all or nothing.

    Bids without a positive price are never accepted. *goods* says how many goods there are, numbered from 0: larger
    numbers in bundles stand for no real good, but at most one bid with such a number is accepted. Without it every
    number is a good.

    >>> Bids(prices=[10, 7], bundles=[(0, 1), (1,)]).bundles
    ((0, 1), (1,))
    """

    prices: Reals
    bundles: tuple[tuple[int, ...], ...]
    goods: int | None = None

    def __init__(self, prices: npt.ArrayLike, bundles: Sequence[Sequence[int]], goods: int | None = None) -> None:
        held = tuple(tuple(sorted(set(_whole(bundle, "goods of a bundle").ravel().tolist()))) for bundle in bundles)
        if goods is not None and maybe_whole(goods) is None:
            raise BadInput("goods must be a whole number: how many goods there are.")
        _set(self, prices=_reals(prices, "prices"), bundles=held, goods=goods)
        _same_length(prices=self.prices, bundles=self.bundles)


@dataclass(frozen=True, eq=False)
class Deliveries:
    """Customers with demands, vehicles of one capacity, and the distances between a depot (number 0) and customers.

    *distances* is a square table with one row more than there are customers; where the two ways differ, their mean
    counts. A customer whose demand is above the capacity gets a round of his own.

    >>> Deliveries.in_the_plane(depot=(0, 0), customers=[(3, 4), (0, 1)], demands=[1, 1], capacity=2).distances[0]
    array([0., 5., 1.])
    """

    distances: Reals
    demands: Reals
    capacity: float

    def __init__(self, distances: npt.ArrayLike, demands: npt.ArrayLike, capacity: float) -> None:
        table, asked = _numbers(distances, "distances"), _reals(demands, "demands")
        if table.shape != (len(asked) + 1, len(asked) + 1):
            raise BadInput("distances must be a square table with one row for the depot and one for each demand.")
        _set(self, distances=_frozen(table), demands=asked, capacity=_real(capacity, "capacity"))

    @classmethod
    def in_the_plane(
        cls, depot: Sequence[float], customers: npt.ArrayLike, demands: npt.ArrayLike, capacity: float
    ) -> Deliveries:
        """Distances as the crow flies, between points (x, y)."""
        places, start = _numbers(customers, "customers"), _numbers(depot, "depot")
        if start.shape != (2,) or (places.size and (places.ndim != 2 or places.shape[1] != 2)):
            raise BadInput("the depot and each customer must be points. Write them like (3, 4).")
        points = np.vstack([start, places.reshape(-1, 2)])
        with np.errstate(invalid="ignore", over="ignore"):
            across, along = (np.subtract.outer(axis, axis) for axis in points.T)
            return cls(np.hypot(across, along), demands, capacity)


def _set(instance: object, **fields: object) -> None:
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def _same_length(**columns: Sequence[object] | Reals) -> None:
    (one, first), (other, second) = columns.items()
    if len(first) != len(second):
        raise BadInput(f"{one} and {other} must have the same length: one of each for every candidate.")


def _numbers(values: npt.ArrayLike, name: str) -> Reals:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be numbers. Give them as a list or an array.") from None


def _reals(values: npt.ArrayLike, name: str) -> Reals:
    numbers = _numbers(values, name)
    if numbers.ndim != 1:
        raise BadInput(f"{name} must be one list of numbers.")
    return _frozen(numbers)


def _real(value: float, name: str) -> float:
    number = _numbers(value, name)
    if number.ndim:
        raise BadInput(f"{name} must be one number.")
    return float(number)


def _whole(values: npt.ArrayLike, name: str) -> Places:
    try:
        numbers = np.array(values)
        if numbers.size == 0:
            return numbers.astype(np.int64)
        if numbers.dtype.kind == "i":
            return numbers.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadInput(f"{name} must be whole numbers.") from None


def _frozen(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    numbers.flags.writeable = False
    return numbers
