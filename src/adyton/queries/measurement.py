"""What the kernel returns: noisy answers, a noisy number, noisy tables, and how noisy they are.

What was measured on a vector that was derived from another one is a measurement of that one, too: of sums of groups of
its cells, of some of its cells, and of queries about those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.messages import shorten
from adyton.queries.base import Partition, Queries, Size, check_queries, scatter
from adyton.remembered import cached_property
from adyton.whole import SAFE, IntegerArray, as_shape, freeze

Group: TypeAlias = tuple[str, ...]
"""Names of attributes; its table counts the rows of every combination of their cells."""
_WRITTEN_OUT = 1 << 20
"""Products of no more coefficients than this are written out to find their column sums."""
_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """Noisy answers to queries on one source.

    ``private`` is False when the noise was simulated: such answers protect nobody and must not leave the machine.

    >>> import adyton as ad
    >>> ad.Kernel.simulated([5, 6], epsilon=1, seed=0).root.measure(ad.workloads.Identity(2), epsilon="0.5")
    <noisy histogram of 2 cells: 4 ± 2.8, 8 ± 2.8; ε = 0.5; simulated, NOT private>
    """

    queries: Queries
    answers: IntegerArray
    noise: Callable[[], Reals]
    """Computes the variance of the noise in each answer, which not every use of the answers asks for."""
    epsilon: Fraction
    private: bool
    mapping: Queries | None = None
    """The queries on the first vector whose answers were the cells that were measured; None for that vector itself."""
    counted: str = ""
    """Which rows were counted, in a few words, where somebody said that it is not all of them."""

    def on_first_vector(self) -> Queries:
        """The queries, asked of the vector that the measured one was derived from."""
        return self.queries if self.mapping is None else Product(self.queries, self.mapping)

    @property
    def value(self) -> int:
        """The answer, where there is just one."""
        if self.answers.size != 1:
            raise BadInput(f"there are {self.answers.size} answers, .value is for a single one. Read .answers.")
        return int(self.answers.reshape(-1)[0])

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, where there is just one answer, or it is the same in all."""
        return float(self.standard_deviations[0])

    @cached_property
    def variances(self) -> Reals:
        """The variance of the noise in each answer."""
        return self.noise()

    @property
    def standard_deviations(self) -> Reals:
        """The standard deviation of the noise in each answer."""
        return np.sqrt(self.variances)

    def __repr__(self) -> str:
        shown = zip(self.answers.reshape(-1).tolist()[:_SHOWN], self.standard_deviations.tolist(), strict=False)
        listed = ", ".join(f"{answer} ± {deviation:.2g}" for answer, deviation in shown)
        more = ", …" if self.answers.size > _SHOWN else ""
        mark = "" if self.private else "; simulated, NOT private"
        counted = f" ({self.counted})" if self.counted else ""
        return f"<noisy {self.queries}: {listed}{more}{counted}; ε = {display(self.epsilon)}{mark}>"


@dataclass(frozen=True)
class NoisyValue:
    """One noisy number that is no sum of counts, such as a distance, in its own unit: like a measurement of one answer,
    but without queries that least squares could use."""

    value: float
    deviation: float
    """The standard deviation of the noise."""
    private: bool

    @property
    def answers(self) -> Reals:
        """The number."""
        return np.array([self.value])

    @property
    def standard_deviations(self) -> Reals:
        """Of the number."""
        return np.array([self.deviation])


Noisy: TypeAlias = Measurement | NoisyValue
"""Answers with the standard deviations of their noise; value and deviation of a single one."""


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A noisy table: the counts, an axis for each attribute of the group, and the variance of the noise of each."""

    group: Group
    counts: npt.ArrayLike
    variance: float


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
            raise BadInput(f"the partition labels {partition.cells} cells, the domain has {self.cells}.")

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
        """As many as were named."""
        return int(self.places.size)

    def _apply(self, cells: Array) -> Array:
        return cells[..., self.places]

    def _transpose(self, answers: Array) -> Array:
        return scatter(answers, self.places, self.cells)

    def __str__(self) -> str:
        return f"{self.count:,} of {self.cells:,} cells"

    def largest_row_sum(self) -> int:
        """One cell each."""
        return 1

    def squared_norm(self) -> float:
        """One cell each."""
        return float(self.count)


@dataclass(frozen=True, eq=False)
class Product(Queries):
    """Queries about the answers of other queries: ``outer`` after ``inner``, the matrix product of both.

    Column sums are those of |outer·inner| where every cell counts in one inner query at most (a reduction), and where
    the product is small enough to be written out; else they are those of |outer|·|inner|, an upper bound.

    >>> from adyton.queries import Prefix
    >>> Product(Prefix(2), Reduction(Partition([0, 0, 1]))) @ [4, 5, 6]
    array([ 9, 15])
    """

    domain: tuple[int, ...] = field(init=False)
    outer: Queries
    inner: Queries

    def __init__(self, outer: Queries, inner: Queries) -> None:
        outer, inner = check_queries([outer, inner], "outer and inner")
        if outer.cells != inner.count:
            raise BadInput(f"the outer queries ask about {outer.cells} cells, there are {inner.count} inner queries.")
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inner", inner)

    @property
    def count(self) -> int:
        """As many as the outer queries."""
        return self.outer.count

    def _apply(self, cells: Array) -> Array:
        return self.outer._apply(self.inner._apply(cells))

    def _transpose(self, answers: Array) -> Array:
        return self.inner._transpose(self.outer._transpose(answers))

    def _absolute_transpose(self, weights: Array) -> Array:
        longest = max(self.cells, self.inner.count, self.count)
        if isinstance(self.inner, Reduction) or longest * self.cells > _WRITTEN_OUT or not self.whole:
            return self.inner._absolute_transpose(self.outer._absolute_transpose(weights))
        kind = np.int64 if self.largest_coefficient() < SAFE else object
        coefficients = np.abs(self._apply(np.eye(self.cells, dtype=np.int64).astype(kind)))
        return np.asarray(weights @ coefficients.T.astype(weights.dtype))

    def _rows(self, numbers: Integers) -> Reals:
        return self.inner._transpose(self.outer._rows(numbers))

    def _whole_form(self) -> Queries:
        """Cells that all inner queries treat alike are alike in the product too."""
        if not self.inner.whole:
            return self.inner._whole_form()
        return self if self.outer.whole else Product(self.outer._whole_form(), self.inner)

    def __str__(self) -> str:
        return f"{self.outer} of {self.inner}"

    def size(self) -> Size:
        """The inner answers first, which are held, then the outer ones."""
        inner, outer = self.inner.size(), self.outer.size()
        return Size(max(inner.numbers, outer.numbers) + self.inner.count, inner.steps + outer.steps)

    def largest_row_sum(self) -> int:
        """A bound."""
        return self.outer.largest_row_sum() * self.inner.largest_row_sum()

    def largest_coefficient(self) -> int:
        """A bound."""
        return self.outer.largest_row_sum() * self.inner.largest_coefficient()
