"""Prefixes, grids, and ranges, which are boxes of neighbouring cells; and workloads over groups or with weights.
Usually they are answered from an estimate; only a plan that names them measures them.

Ranges are answered from summed-area tables. A workload can ask about groups of cells that have the same coefficient in
all its queries, and can give some queries more weight than others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.exact import positive
from adyton.messages import no_such, shorten
from adyton.queries.base import Queries, Size, add_at, check_queries
from adyton.queries.basic import Cells, DomainQueries
from adyton.queries.combined import Explicit, Product
from adyton.queries.partition import Partition
from adyton.whole import as_shape, freeze, narrow, rises, whole, widen


@dataclass(frozen=True, init=False)
class Prefix(DomainQueries):
    """Query i counts the rows in cells 0 … i: the empirical distribution function before division by the total.

    >>> Prefix(3) @ [4, 5, 6]
    array([ 4,  9, 15])
    """

    one_axis: ClassVar[str] = "prefixes need an ordered domain of one dimension, given the shape {}."

    @property
    def count(self) -> int:
        """The number of cells."""
        return self.cells

    def _apply(self, cells: Array) -> Array:
        return cells.cumsum(axis=-1)

    def _transpose(self, answers: Array) -> Array:
        return answers[..., ::-1].cumsum(axis=-1)[..., ::-1]

    def __str__(self) -> str:
        return f"prefix sums of {self.cells:,} cells"

    def column_groups(self) -> Partition:
        """Every cell is its own group: a prefix ends between any two cells."""
        return Partition(np.arange(self.cells))

    def _gram(self) -> Reals:
        """Prefixes from max(i, j) on count both cells i and j."""
        places = np.arange(self.cells)
        return (self.cells - np.maximum.outer(places, places)).astype(np.float64)

    def squared_norm(self) -> float:
        """1 + 2 + … + n."""
        return self.cells * (self.cells + 1) / 2


@dataclass(frozen=True, eq=False)
class Grid(Queries):
    """The sums over a grid of boxes: along each axis, ``edges`` lists where the blocks start.

    >>> Grid.of_blocks((2, 4), (1, 2)) @ [[1, 2, 3, 4], [5, 6, 7, 8]]
    array([14, 22])
    """

    domain: tuple[int, ...]
    edges: tuple[Integers, ...]
    """For each axis, the first cell of each block, followed by the number of cells along the axis."""

    def __init__(self, domain: int | Sequence[int], edges: Sequence[npt.ArrayLike]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        frozen = tuple(freeze(axis, "edges").reshape(-1) for axis in edges)
        if len(frozen) != len(self.domain) or any(
            axis.size < 2 or axis[0] != 0 or axis[-1] != side or not rises(axis)
            for axis, side in zip(frozen, self.domain, strict=False)
        ):
            raise BadInput(f"edges must rise from 0 to the side along each axis of the domain {self.domain}.")
        object.__setattr__(self, "edges", frozen)

    @classmethod
    def of_blocks(cls, domain: int | Sequence[int], blocks: int | Sequence[int]) -> Grid:
        """A grid with this many blocks along each axis, as equal as possible; at most one block per cell."""
        sides, numbers = as_shape(domain), as_shape(blocks, "blocks")
        if len(numbers) != len(sides):
            raise BadInput(f"the domain {sides} needs one number of blocks per axis, given {numbers}.")
        pairs = [(side, min(side, number)) for side, number in zip(sides, numbers, strict=True)]
        return cls(sides, [np.arange(number + 1) * side // number for side, number in pairs])

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many blocks there are along each axis."""
        return tuple(axis.size - 1 for axis in self.edges)

    @property
    def count(self) -> int:
        """How many boxes there are."""
        return math.prod(self.blocks)

    def _apply(self, cells: Array) -> Array:
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        for axis, starts in enumerate(self.edges, start=cells.ndim - 1):
            table = np.add.reduceat(table, starts[:-1], axis=axis)
        return table.reshape(*cells.shape[:-1], self.count)

    def _transpose(self, answers: Array) -> Array:
        table = answers.reshape(*answers.shape[:-1], *self.blocks)
        for axis, starts in enumerate(self.edges, start=answers.ndim - 1):
            table = np.repeat(table, np.diff(starts), axis=axis)
        return table.reshape(*answers.shape[:-1], self.cells)

    def __str__(self) -> str:
        return f"grid of {' × '.join(f'{number:,}' for number in self.blocks)} boxes"

    def _plain_sensitivity(self) -> int:
        """Every cell is in one box."""
        return 1

    def largest_row_sum(self) -> int:
        """The largest box."""
        return math.prod(int(np.diff(axis).max()) for axis in self.edges)

    def squared_norm(self) -> float:
        """Every cell is in one box."""
        return float(self.cells)


_MOST_PADDING = 8


_AT_ONCE = 1 << 22
"""How many coefficients are written out at a time."""


@dataclass(frozen=True, eq=False)
class Ranges(Queries):
    """Query q counts the cells from ``lower[q]`` to ``upper[q]``, both included, along every axis.

    >>> Ranges(8, [[0], [3]], [[1], [7]]) @ [1, 2, 3, 4, 5, 6, 7, 8]
    array([ 3, 30])
    """

    domain: tuple[int, ...]
    lower: Integers
    upper: Integers

    def __init__(self, domain: int | Sequence[int], lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        axes = len(self.domain)
        for name, given in (("lower", lower), ("upper", upper)):
            bounds = freeze(given, name)
            if bounds.ndim == 1 and axes == 1:
                bounds = bounds.reshape(-1, 1)
            if bounds.ndim != 2 or bounds.shape[1] != axes or not bounds.shape[0]:
                raise BadInput(
                    f"{name} must hold one row per range with {axes} bound{'s' * (axes > 1)}, one per axis, "
                    f"given an array of shape {bounds.shape}."
                )
            object.__setattr__(self, name, bounds)
        if self.lower.shape != self.upper.shape:
            raise BadInput(f"there are {len(self.lower)} lower and {len(self.upper)} upper bounds. Give one each.")
        wrong = (self.lower < 0) | (self.upper < self.lower) | (self.upper >= np.array(self.domain))
        if wrong.any():
            number = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise BadInput(
                f"range {number} goes from {self.lower[number].tolist()} to {self.upper[number].tolist()}. Bounds are "
                f"inclusive, lower ≤ upper, and lie in 0 … {[side - 1 for side in self.domain]}."
            )

    @property
    def count(self) -> int:
        """How many ranges there are."""
        return len(self.lower)

    def side(self, axis: int) -> Ranges:
        """The intervals that the boxes span along one axis: each box is the product of its sides."""
        return Ranges(self.domain[axis], self.lower[:, axis], self.upper[:, axis])

    @property
    def _many_corners(self) -> bool:
        """Whether a summed-area table would be many times larger than the domain, as with many short axes."""
        return math.prod(side + 1 for side in self.domain) > _MOST_PADDING * self.cells

    def _some_rows(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """The coefficients, some rows at a time."""
        step = max(1, _AT_ONCE // self.cells)
        for start in range(0, self.count, step):
            part = slice(start, min(self.count, start + step))
            yield part, self._rows(np.arange(part.start, part.stop)).astype(np.int64).astype(dtype)

    def _apply(self, cells: Array) -> Array:
        if self._many_corners:
            answers = np.zeros((*cells.shape[:-1], self.count), dtype=cells.dtype)
            for part, rows in self._some_rows(cells.dtype):
                answers[..., part] = cells @ rows.T
            return answers
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        leading = cells.ndim - 1
        padded = np.zeros((*cells.shape[:-1], *(side + 1 for side in self.domain)), dtype=cells.dtype)
        padded[(slice(None),) * leading + (slice(1, None),) * len(self.domain)] = table
        for axis in range(leading, padded.ndim):
            np.cumsum(padded, axis=axis, out=padded)
        flat = padded.reshape(*cells.shape[:-1], math.prod(side + 1 for side in self.domain))
        answers = np.zeros((*cells.shape[:-1], self.count), dtype=cells.dtype)
        for negative, corner in self._corners():
            if negative:
                answers -= flat[..., corner]
            else:
                answers += flat[..., corner]
        return answers

    def _transpose(self, answers: Array) -> Array:
        if self._many_corners:
            total = np.zeros((*answers.shape[:-1], self.cells), dtype=answers.dtype)
            for part, rows in self._some_rows(answers.dtype):
                total += answers[..., part] @ rows
            return total
        sides = tuple(side + 1 for side in self.domain)
        flat = np.zeros((*answers.shape[:-1], math.prod(sides)), dtype=answers.dtype)
        for negative, corner in self._corners():
            add_at(flat, corner, -answers if negative else answers)
        table = flat.reshape(*answers.shape[:-1], *sides)
        for axis in range(answers.ndim - 1, table.ndim):
            np.cumsum(np.flip(table, axis), axis=axis, out=np.flip(table, axis))
        inside = (slice(None),) * (answers.ndim - 1) + (slice(1, None),) * len(self.domain)
        return np.ascontiguousarray(table[inside]).reshape(*answers.shape[:-1], self.cells)

    def _rows(self, numbers: Integers) -> Reals:
        """Each box is the product of its sides."""
        rows = np.ones((numbers.size, 1), dtype=bool)
        for axis, side in enumerate(self.domain):
            low, high = self.lower[numbers, axis, None], self.upper[numbers, axis, None]
            inside = (np.arange(side) >= low) & (np.arange(side) <= high)
            rows = (rows[:, :, None] & inside[:, None, :]).reshape(numbers.size, -1)
        return rows.astype(np.float64)

    def _corners(self) -> Iterator[tuple[bool, Array]]:
        """Inclusion and exclusion: the corners of the boxes in the padded summed-area table, with their signs."""
        for corner in itertools.product((False, True), repeat=len(self.domain)):
            places = np.zeros(self.count, dtype=np.int64)
            for axis, low in enumerate(corner):
                places *= self.domain[axis] + 1
                places += self.lower[:, axis] if low else self.upper[:, axis] + 1
            yield bool(sum(corner) % 2), places

    def __str__(self) -> str:
        return f"{self.count:,} ranges on {' × '.join(f'{side:,}' for side in self.domain)} cells"

    def size(self) -> Size:
        """A summed-area table and its corners; or, with many short axes, every coefficient."""
        if self._many_corners:
            return Size(self.count + 4 * _AT_ONCE + 4 * self.cells, self.count * self.cells)
        table, axes = math.prod(side + 1 for side in self.domain), len(self.domain)
        return Size(2 * table + 4 * self.count, axes * (table + (self.count << axes)))

    def largest_row_sum(self) -> int:
        """The largest box; partial sums in the table can reach all cells."""
        return self.cells

    def squared_norm(self) -> float:
        """The sum of the sizes of all boxes."""
        return float((self.upper - self.lower + 1.0).prod(axis=1).sum())


@dataclass(frozen=True, init=False)
class AllRange(DomainQueries):
    """All n(n+1)/2 intervals of an ordered domain: those that start at cell 0, then those that start at cell 1, …

    >>> AllRange(3) @ [4, 5, 6]
    array([ 4,  9, 15,  5, 11,  6])
    """

    one_axis: ClassVar[str] = "intervals need an ordered domain of one dimension, given the shape {}."

    @property
    def count(self) -> int:
        """n(n+1)/2."""
        return self.cells * (self.cells + 1) // 2

    def _apply(self, cells: Array) -> Array:
        starts = (cells[..., start:].cumsum(axis=-1) for start in range(self.cells))
        return np.concatenate(list(starts), axis=-1)

    def _transpose(self, answers: Array) -> Array:
        result = np.zeros((*answers.shape[:-1], self.cells), dtype=answers.dtype)
        end = 0
        for start in range(self.cells):
            begin, end = end, end + self.cells - start
            result[..., start:] += answers[..., begin:end][..., ::-1].cumsum(axis=-1)[..., ::-1]
        return result

    def _rows(self, numbers: Integers) -> Reals:
        firsts = np.concatenate([[0], np.cumsum(np.arange(self.cells, 0, -1))])
        starts = np.searchsorted(firsts, numbers, side="right") - 1
        ends = starts + numbers - firsts[starts]
        places = np.arange(self.cells)
        return np.asarray((places >= starts[:, None]) & (places <= ends[:, None]), dtype=np.float64)

    def column_sums(self, weights: Array | None = None) -> Array:
        """Cell i lies in (i + 1)(n − i) intervals."""
        if weights is not None:
            return super().column_sums(weights)
        places = widen(np.arange(self.cells), self.cells)
        return narrow((places + 1) * (self.cells - places))

    def column_groups(self) -> Partition:
        """Every cell is its own group: an interval ends between any two cells."""
        return Partition(np.arange(self.cells))

    def __str__(self) -> str:
        return f"all intervals of {self.cells:,} cells"

    def _gram(self) -> Reals:
        """Cells i ≤ j are both in the intervals that start at 0 … i and end at j … n − 1."""
        places = np.arange(self.cells, dtype=np.float64)
        return np.asarray((np.minimum.outer(places, places) + 1) * (self.cells - np.maximum.outer(places, places)))

    def squared_norm(self) -> float:
        """n(n+1)(n+2)/6: the sum of the lengths of all intervals."""
        return self.cells * (self.cells + 1) * (self.cells + 2) / 6


LENGTHS = ("short", "medium", "long")


KINDS = ("uniform", "any-length", "clustered", *LENGTHS, "mixed")


_CENTRES = 5


def RandomRanges(  # noqa: N802
    domain: int | Sequence[int],
    count: int,
    *,
    seed: int | None = None,
    kind: str = "uniform",
    spread: float | None = None,
) -> Ranges:
    """*count* random boxes.

    ``uniform``: along each axis two cells are drawn and put in order. ``any-length``: along each axis a length is
    drawn, then a place for it, which gives larger boxes. ``clustered``: around one of five random centres, each bound
    at a normally distributed distance of standard deviation *spread* (a sixteenth of the side by default), as in the
    evaluation of DAWA (Li et al., PVLDB 2014). ``short``, ``medium`` and ``long``: lengths along each axis below
    1/16 of the side (but at least one cell), from there to below 1/4, and from there to the side; ``mixed``: each box
    of one of these three kinds, as in the evaluation of Pythia (Kotsogiannis et al., SIGMOD 2017).

    >>> print(RandomRanges((64, 64), 3, seed=1, kind="short"))
    3 ranges on 64 × 64 cells
    """
    sides = as_shape(domain)
    number = whole(count, "count", 1)
    if kind not in KINDS:
        raise BadInput(no_such("kind of random range", kind, KINDS))
    if spread is not None and kind != "clustered":
        raise BadInput(f"spread is only for clustered ranges, given together with kind = {kind!r}.")
    random = np.random.default_rng(None if seed is None else whole(seed, "seed", 0))
    chosen = random.integers(0, _CENTRES if kind == "clustered" else 3, number)  # the same along all axes of a box
    bounds = [_bounds(random, side, kind, chosen, spread) for side in sides]
    return Ranges(sides, np.stack([low for low, _ in bounds], axis=1), np.stack([high for _, high in bounds], axis=1))


def _bounds(
    random: np.random.Generator, side: int, kind: str, chosen: Integers, spread: float | None
) -> tuple[Integers, Integers]:
    """Lower and upper bounds along one axis; *chosen* is the cluster, or the kind, of each box."""
    number = chosen.size
    if kind == "uniform":
        ends = np.sort(random.integers(0, side, (number, 2)), axis=1)
        return ends[:, 0], ends[:, 1]
    if kind == "clustered":
        deviation = side / 16 if spread is None else float(positive(spread, "spread"))
        centres = random.integers(0, side, _CENTRES)[chosen]
        distances = np.rint(np.abs(random.normal(0, deviation, (2, number))))
        lower, upper = np.maximum(centres - distances[0], 0), np.minimum(centres + distances[1], side - 1)
        return lower.astype(np.int64), upper.astype(np.int64)
    if kind == "any-length":
        lengths = random.integers(1, side, number, endpoint=True)
    else:
        chosen = chosen if kind == "mixed" else np.full(number, LENGTHS.index(kind))
        edges = np.array([1, -(-side // 16), -(-side // 4), side + 1])  # each kind's lengths end where the next begin
        lengths = random.integers(edges[chosen], np.maximum(edges[chosen], edges[chosen + 1] - 1), endpoint=True)
    starts = random.integers(0, side - lengths, endpoint=True)
    return starts, starts + lengths - 1


_SMALLEST = 1e-12
"""Weights other than 0 must be at least this, and at most 1 divided by it."""


@dataclass(frozen=True, eq=False)
class OnGroups(Queries):
    """The queries restricted to one cell of each group: W′ = W·Eᵀ, where E selects the first cell of every group.

    Where all cells of a group have equal columns in W, and cells without a group have a column of zeros, this is the
    workload W·P⁺ over the groups: W′·(P·x) = W·x (Zhang et al., εKTELO, SIGMOD 2018, Proposition A.2). This class does
    not check that; :func:`adyton.partitions.reduce_workload` does.

    >>> from adyton.queries import Ranges
    >>> OnGroups(Ranges(4, [[0]], [[1]]), Partition([0, 0, 1, 1])) @ [5, 3]
    array([5])
    """

    domain: tuple[int, ...] = field(init=False)
    queries: Queries
    partition: Partition
    sides: tuple[int, ...] | None = None
    """The shape of the groups' domain; None for a line."""
    first: Integers = field(init=False)
    """The first cell of each group."""

    def __init__(self, queries: Queries, partition: Partition, sides: tuple[int, ...] | None = None) -> None:
        (queries,) = check_queries([queries], "queries")
        if not isinstance(partition, Partition):
            raise BadInput(f"groups of cells must be a Partition, given {shorten(partition)}.")
        if partition.cells != queries.cells:
            raise BadInput(f"the partition labels {partition.cells} cells; the queries ask about {queries.cells}.")
        groups, first = np.unique(partition.labels, return_index=True)
        first = first[groups >= 0]
        if first.size < partition.groups:
            raise BadInput(f"every group needs a cell, but only {first.size} of {partition.groups} groups have one.")
        shape = as_shape(partition.groups if sides is None else sides)
        if math.prod(shape) != partition.groups:
            raise BadInput(f"there are {partition.groups} groups, given the shape {shape}.")
        object.__setattr__(self, "domain", shape)
        object.__setattr__(self, "sides", None if sides is None else shape)
        object.__setattr__(self, "queries", queries)
        object.__setattr__(self, "partition", partition)
        object.__setattr__(self, "first", freeze(first, "first"))

    @property
    def count(self) -> int:
        """The number of queries is unchanged."""
        return self.queries.count

    def _apply(self, cells: Array) -> Array:
        every = np.zeros((*cells.shape[:-1], self.queries.cells), dtype=cells.dtype)
        every[..., self.first] = cells
        return self.queries._apply(every)

    def _transpose(self, answers: Array) -> Array:
        return self.queries._transpose(answers)[..., self.first]

    def _absolute_transpose(self, weights: Array) -> Array:
        return self.queries._absolute_transpose(weights)[..., self.first]

    def _rows(self, numbers: Integers) -> Reals:
        return self.queries._rows(numbers)[..., self.first]

    def _whole_form(self) -> Queries:
        return self if self.queries.whole else OnGroups(self.queries._whole_form(), self.partition, self.sides)

    def __str__(self) -> str:
        return f"{self.queries} on {self.cells:,} groups of cells"

    def size(self) -> Size:
        """The queries about all cells."""
        own = self.queries.size()
        return Size(own.numbers + 2 * self.queries.cells, own.steps + 2 * self.queries.cells)

    def largest_row_sum(self) -> int:
        """An upper bound: that of the queries about cells."""
        return self.queries.largest_row_sum()

    def largest_coefficient(self) -> int:
        """An upper bound: that of the queries about cells."""
        return self.queries.largest_coefficient()


@dataclass(frozen=True, eq=False)
class Weighted(Queries):
    """The same queries, each multiplied by a weight, for workloads in which some queries matter more.

    Weights need not be whole numbers, so such a set is answered from an estimate and never measured itself.

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
        """The number of queries is unchanged."""
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
        """A query of weight 0 distinguishes no cells; any other weight distinguishes the same cells as weight 1."""
        kept = np.flatnonzero(self.weights)
        if not kept.size:
            return Explicit(self.domain, [], [], [], 1)
        if kept.size == self.count or not self.queries.whole:
            return self.queries._whole_form()
        return Product(Cells(self.count, kept), self.queries)

    def __str__(self) -> str:
        return f"weighted {self.queries}"

    def size(self) -> Size:
        """The queries, and one multiplication for each."""
        own = self.queries.size()
        return Size(own.numbers + self.count, own.steps + self.count)

    def largest_row_sum(self) -> int:
        """An upper bound."""
        return self.queries.largest_row_sum() * math.ceil(float(np.abs(self.weights).max()))

    def largest_coefficient(self) -> int:
        """An upper bound."""
        return self.queries.largest_coefficient() * math.ceil(float(np.abs(self.weights).max()))
