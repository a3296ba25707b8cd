"""Instances of problems: what is packed, chosen, sold or delivered. No number in them is an error."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.whole import maybe_whole, whole

HEAVIEST = 1e100
"""Larger weights count as this much: sums of them stay finite."""
_PURPOSE = b"adyton/max-cut/1"


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

    Vertices without a positive weight count as absent. So do loops, and edges to vertices that do not exist.

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
    numbers in bundles are not real goods, but at most one bid with the same such number is accepted. Without it every
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

    *distances* is a square table with one row more than there are customers; where the two directions differ, their
    mean counts. A customer whose demand is above the capacity gets a separate round.

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
    (name, first), (other, second) = columns.items()
    if len(first) != len(second):
        raise BadInput(f"{name} and {other} must have the same length: one of each for every candidate.")


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


@dataclass(frozen=True, eq=False)
class CutGraph:
    """A graph whose vertices are to be split into two sides, so that the edges between them weigh as much as possible.

    ``weights[i, j]`` is the weight of the edge between i and j; 0 where there is none. Weights may be negative, as in
    spin glasses. A quadratic program, the largest xᵀAx over signs x, is the max-cut of −A. Invalid values are not an
    error, because an error would reveal something about the instance: NaN counts as 0, the diagonal is ignored, and the
    mean of two weights for the same edge is used.

    >>> CutGraph.of_edges(3, [(0, 1, 2.0), (1, 2, -1.0)]).weights.tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
    """

    weights: Reals

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadInput("the weights of a graph must be numbers. Give a matrix, or use CutGraph.of_edges.") from None
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise BadInput("the weights of a graph must be a square matrix. Give one, or use CutGraph.of_edges.")
        clean = np.where(np.isfinite(given), np.clip(given, -HEAVIEST, HEAVIEST), 0.0)
        clean = clean / 2 + clean.T / 2 + 0.0  # + 0.0: −0.0 and 0.0 are the same content
        np.fill_diagonal(clean, 0.0)
        clean.flags.writeable = False
        object.__setattr__(self, "weights", clean)

    @classmethod
    def of_edges(cls, vertices: int, edges: Iterable[tuple[int, int, float]]) -> CutGraph:
        """A graph from edges (i, j, weight) between vertices 0, 1, …; edges between the same two are added up."""
        size = whole(vertices, "vertices", 0)
        weights = np.zeros((size, size))
        try:
            for *ends, weight in edges:
                first, second = (whole(vertex, "vertex", 0) for vertex in ends)
                weights[first, second] += weight
                if first != second:
                    weights[second, first] += weight
        except (TypeError, ValueError, IndexError):
            raise BadInput(
                f"an edge must be two of the vertices 0 to {size - 1} and a weight. Write it like (0, 1, 2.5)."
            ) from None
        return cls(weights)

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return len(self.weights)

    @cached_property
    def _key(self) -> int:
        content = self.vertices.to_bytes(8) + self.weights.astype("<f8").tobytes()
        return int.from_bytes(hashlib.sha256(_PURPOSE + content).digest()[:16])

    def chance(self) -> np.random.Generator:
        """Random numbers that depend on the graph's own content, and on nothing else: not on its place in a list.

        They are not noise and protect nothing: the algorithm needs them, and remains a function of its instance.
        """
        return np.random.Generator(np.random.Philox(key=self._key))
