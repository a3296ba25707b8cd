"""The plainest query sets: every cell, the total, every prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.queries.base import Queries
from adyton.queries.partition import Partition
from adyton.whole import as_shape


@dataclass(frozen=True, init=False)
class DomainQueries(Queries):
    """A query set that follows from its domain alone."""

    domain: tuple[int, ...]
    one_axis: ClassVar[str] = ""
    """What is said of a domain of several axes where one is needed; empty where any will do."""

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
        """As many as there are cells."""
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
        """One cell, once."""
        return 1

    def column_groups(self) -> Partition:
        """Every cell for itself."""
        return Partition(np.arange(self.cells))

    def _gram(self) -> Reals:
        return np.eye(self.cells)

    def squared_norm(self) -> float:
        """One for each cell."""
        return float(self.cells)


@dataclass(frozen=True, init=False)
class Total(DomainQueries):
    """One query: how many rows there are in all.

    >>> Total((2, 2)) @ [[1, 2], [3, 4]]
    array([10])
    """

    @property
    def count(self) -> int:
        """One."""
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
        """One for each cell."""
        return float(self.cells)


@dataclass(frozen=True, init=False)
class Prefix(DomainQueries):
    """Query i counts the rows in cells 0 … i: the empirical distribution function before division by the total.

    >>> Prefix(3) @ [4, 5, 6]
    array([ 4,  9, 15])
    """

    one_axis: ClassVar[str] = "prefixes need an ordered domain of one dimension, given the shape {}."

    @property
    def count(self) -> int:
        """As many as there are cells."""
        return self.cells

    def _apply(self, cells: Array) -> Array:
        return cells.cumsum(axis=-1)

    def _transpose(self, answers: Array) -> Array:
        return answers[..., ::-1].cumsum(axis=-1)[..., ::-1]

    def __str__(self) -> str:
        return f"prefix sums of {self.cells:,} cells"

    def column_groups(self) -> Partition:
        """Every cell for itself: each is told from the next by the prefix that ends between them."""
        return Partition(np.arange(self.cells))

    def _gram(self) -> Reals:
        """Cells i and j are both counted by the prefixes from max(i, j) on."""
        places = np.arange(self.cells)
        return (self.cells - np.maximum.outer(places, places)).astype(np.float64)

    def squared_norm(self) -> float:
        """1 + 2 + … + n."""
        return self.cells * (self.cells + 1) / 2
