"""The simplest query sets: every cell, the total, some of the cells, sums over groups of cells; and marginals, which
count the combinations of some attributes and sum over the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size, scatter
from adyton.queries.coefficients import by_part
from adyton.queries.partition import Partition
from adyton.whole import as_shape, freeze, whole


@dataclass(frozen=True, init=False)
class DomainQueries(Queries):
    """A query set that is determined by its domain."""

    domain: tuple[int, ...]
    one_axis: ClassVar[str] = ""
    """The message for a domain of several axes where only one is allowed; empty where any number of axes is."""

    def __init__(self, domain: int | Sequence[int]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        if self.one_axis and len(self.domain) != 1:
            raise BadInput(self.one_axis.format(self.domain))


@dataclass(frozen=True, init=False)
class Identity(DomainQueries):
    """One query per cell: the histogram itself.

    >>> Identity(3) @ [4, 5, 6]
    array([4, 5, 6])
    """

    @property
    def count(self) -> int:
        """The number of cells."""
        return self.cells

    def _apply(self, cells: Array) -> Array:
        return cells.copy()

    def _transpose(self, answers: Array) -> Array:
        return answers.copy()

    def __str__(self) -> str:
        return f"histogram of {self.cells:,} cells"

    def _plain_sensitivity(self) -> int:
        return 1

    def largest_row_sum(self) -> int:
        """Each query counts one cell."""
        return 1

    def column_groups(self) -> Partition:
        """Every cell is its own group."""
        return Partition(np.arange(self.cells))

    def _gram(self) -> Reals:
        return np.eye(self.cells)

    def squared_norm(self) -> float:
        """1 for each cell."""
        return float(self.cells)


@dataclass(frozen=True, init=False)
class Total(DomainQueries):
    """One query: the total number of rows.

    >>> Total((2, 2)) @ [[1, 2], [3, 4]]
    array([10])
    """

    @property
    def count(self) -> int:
        """One query."""
        return 1

    def _apply(self, cells: Array) -> Array:
        return np.asarray(cells.sum(axis=-1, keepdims=True))

    def _transpose(self, answers: Array) -> Array:
        return np.repeat(answers, self.cells, axis=-1)

    def __str__(self) -> str:
        return "total"

    def _plain_sensitivity(self) -> int:
        return 1

    def squared_norm(self) -> float:
        """1 for each cell."""
        return float(self.cells)


@dataclass(frozen=True, eq=False)
class Reduction(Queries):
    """The sum of the cells of each group of a partition.

    >>> Reduction(Partition([0, 1, 1])) @ [4, 5, 6]
    array([ 4, 11])
    """

    domain: tuple[int, ...]
    partition: Partition

    def __init__(self, partition: Partition, domain: int | Sequence[int] | None = None) -> None:
        if not isinstance(partition, Partition):
            raise BadInput(f"a reduction needs a Partition, given {shorten(partition)}.")
        object.__setattr__(self, "partition", partition)
        object.__setattr__(self, "domain", as_shape(partition.cells if domain is None else domain))
        if self.cells != partition.cells:
            raise BadInput(f"the partition labels {partition.cells} cells; the domain has {self.cells}.")

    @property
    def count(self) -> int:
        """The number of groups."""
        return self.partition.groups

    def _apply(self, cells: Array) -> Array:
        labels = self.partition.labels
        if labels.min() >= 0:
            return scatter(cells, labels, self.count)
        return scatter(cells, np.where(labels < 0, self.count, labels), self.count + 1)[..., :-1]

    def _transpose(self, answers: Array) -> Array:
        nothing = np.zeros((*answers.shape[:-1], 1), dtype=answers.dtype)
        return np.concatenate([answers, nothing], axis=-1)[..., self.partition.labels]

    def __str__(self) -> str:
        return f"sums of {self.count:,} groups of cells"

    def largest_row_sum(self) -> int:
        """The largest group."""
        return max(1, int(self.partition.sizes.max()))

    def squared_norm(self) -> float:
        """Every cell that is in a group counts once."""
        return float(self.partition.sizes.sum())


@dataclass(frozen=True, eq=False)
class Cells(Queries):
    """Some of the cells, in the given order.

    >>> Cells(3, [2, 0]) @ [4, 5, 6]
    array([6, 4])
    """

    domain: tuple[int, ...]
    places: Integers

    def __init__(self, domain: int | Sequence[int], places: npt.ArrayLike) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        object.__setattr__(self, "places", freeze(places, "places").reshape(-1))
        if not self.places.size or int(self.places.min()) < 0 or int(self.places.max()) >= self.cells:
            raise BadInput(f"places must be at least one cell out of 0 … {self.cells - 1}.")

    @property
    def count(self) -> int:
        """The number of cells listed."""
        return int(self.places.size)

    def _apply(self, cells: Array) -> Array:
        return cells[..., self.places]

    def _transpose(self, answers: Array) -> Array:
        return scatter(answers, self.places, self.cells)

    def __str__(self) -> str:
        return f"{self.count:,} of {self.cells:,} cells"

    def largest_row_sum(self) -> int:
        """Each query counts one cell."""
        return 1

    def squared_norm(self) -> float:
        """Each query counts one cell."""
        return float(self.count)


_MOST_MARGINALS = 100_000


@dataclass(frozen=True)
class Marginals(Queries):
    """One histogram for each set of axes, summed over all other axes: ``Marginals(shape, way=2)`` for all pairs.

    >>> Marginals((2, 3), way=1) @ [[1, 2, 3], [4, 5, 6]]
    array([ 6, 15,  5,  7,  9])
    """

    domain: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        domain: int | Sequence[int],
        axes: Sequence[Sequence[int]] | None = None,
        *,
        way: int | None = None,
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        dimensions = len(self.domain)
        if (axes is None) == (way is None):
            raise BadInput("say which marginals: either way=k for all sets of k axes, or axes=[(0, 1), …].")
        if way is not None:
            size = whole(way, "way", 0)
            if size > dimensions:
                raise BadInput(f"the domain has {dimensions} axes, given way = {size}.")
            if math.comb(dimensions, size) > _MOST_MARGINALS:
                raise BadInput(
                    f"{dimensions} axes have more than {_MOST_MARGINALS:,} sets of {size}. Name some of them."
                )
            sets = tuple(itertools.combinations(range(dimensions), size))
        else:
            assert axes is not None
            if not all(isinstance(chosen, Sequence) for chosen in axes):
                raise BadInput(f"axes must be a list of sets of axes, like [(0, 1), (2,)], given {shorten(axes)}.")
            sets = tuple(tuple(whole(axis, "axes", 0) for axis in chosen) for chosen in axes)
            for chosen in sets:
                if list(chosen) != sorted(set(chosen)) or (chosen and chosen[-1] >= dimensions):
                    raise BadInput(f"axes are numbered 0 … {dimensions - 1} in ascending order, given {chosen}.")
        if not sets:
            raise BadInput("marginals need at least one set of axes, given none.")
        object.__setattr__(self, "axes", sets)

    @property
    def sizes(self) -> list[int]:
        """How many cells each marginal has."""
        return [math.prod(self.domain[axis] for axis in chosen) for chosen in self.axes]

    @property
    def count(self) -> int:
        """The number of cells of all marginals together."""
        return sum(self.sizes)

    def _apply(self, cells: Array) -> Array:
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        parts = [table.sum(axis=self._others(chosen, cells.ndim - 1), keepdims=True) for chosen in self.axes]
        pairs = zip(parts, self.sizes, strict=True)
        return np.concatenate([part.reshape(*cells.shape[:-1], size) for part, size in pairs], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        leading = answers.shape[:-1]
        table = np.zeros((*leading, *self.domain), dtype=answers.dtype)
        start = 0
        for chosen, size in zip(self.axes, self.sizes, strict=True):
            table += answers[..., start : start + size].reshape(*leading, *self._kept(chosen))
            start += size
        return table.reshape(*leading, self.cells)

    def _rows(self, numbers: Integers) -> Reals:
        """A query of a marginal counts the cells that fall into one cell of the marginal."""
        rows = np.empty((numbers.size, self.cells))
        for part, own, within in by_part(numbers, self.sizes):
            kept = self._kept(self.axes[part])
            places = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), self.domain).reshape(-1)
            rows[own] = places == within[:, None]
        return rows

    def _kept(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a marginal, with a side of 1 for each axis that is summed over."""
        return tuple(side if axis in chosen else 1 for axis, side in enumerate(self.domain))

    def _others(self, chosen: tuple[int, ...], leading: int) -> tuple[int, ...]:
        return tuple(leading + axis for axis in range(len(self.domain)) if axis not in chosen)

    def __str__(self) -> str:
        return f"{len(self.axes):,} marginals of {' × '.join(f'{side:,}' for side in self.domain)} cells"

    def size(self) -> Size:
        """Every marginal reads every cell."""
        return Size(2 * self.count + self.cells, len(self.axes) * self.cells + 2 * self.count)

    def largest_row_sum(self) -> int:
        """The number of cells that one cell of the smallest marginal sums up."""
        return self.cells // min(self.sizes)

    def squared_norm(self) -> float:
        """Every marginal counts every cell once."""
        return float(self.cells * len(self.axes))
