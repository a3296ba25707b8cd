"""What the kernel returns: noisy answers, a noisy number, noisy tables, and how noisy they are.

A measurement of a derived vector is also a measurement of the vector that it was derived from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import display
from adyton.queries.base import Queries
from adyton.queries.combined import Product
from adyton.queries.partition import Partition
from adyton.whole import IntegerArray

Group: TypeAlias = tuple[str, ...]
"""Names of attributes; its table counts the rows of every combination of their cells."""
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
    """Computes the variance of the noise in each answer, which is not always needed."""
    epsilon: Fraction
    private: bool
    mapping: Queries | None = None
    """The queries that map the first vector to the measured one; None if that is the first vector itself."""
    counted: str = ""
    """Which rows were counted, in a few words, if not all of them."""

    def on_first_vector(self) -> Queries:
        """The queries, asked of the vector that the measured one was derived from."""
        return self.queries if self.mapping is None else Product(self.queries, self.mapping)

    @property
    def value(self) -> int:
        """The answer, where there is just one."""
        if self.answers.size != 1:
            raise BadInput(f"there are {self.answers.size} answers; .value is for a single one. Read .answers.")
        return int(self.answers.reshape(-1)[0])

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, if there is just one answer, or it is the same in all."""
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
    """One noisy number that is not a sum of counts, such as a distance, in its own unit: like a measurement of one
    answer, but without queries that least squares could use."""

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
        """Of its noise."""
        return np.array([self.deviation])


Noisy: TypeAlias = Measurement | NoisyValue
"""Answers with the standard deviations of their noise; if single, also as value and deviation."""


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A noisy table: counts, with an axis for each attribute of the group, and the noise variance of each count."""

    group: Group
    counts: npt.ArrayLike
    variance: float
    maps: tuple[Partition | None, ...] = ()
    """For each attribute the groups of its cells that were counted together; None, or empty, for cells as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyTables:
    """Measured tables, one after the other: the input of least squares.

    ``private`` is False when the noise was simulated: such counts protect nobody.

    >>> NoisyTables((("sex",),), ((2,),), np.array([5, 7]), np.array([2.0]), Fraction(1), True)
    <noisy table of 'sex'; ε = 1>
    """

    groups: tuple[tuple[str, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    counts: IntegerArray
    """One table after the other along the last axis. A leading axis is for independent trials."""
    variances: Reals
    """Of a cell's noise, for each table."""
    epsilon: Fraction
    private: bool

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[MeasuredTable]:
        end = 0
        for group, shape, variance in zip(self.groups, self.shapes, self.variances.tolist(), strict=True):
            start, end = end, end + math.prod(shape)
            cells = self.counts[..., start:end].reshape((*self.counts.shape[:-1], *shape))
            yield MeasuredTable(group, cells, variance)

    def tables(self) -> dict[tuple[str, ...], IntegerArray]:
        """The counts of each group."""
        return {table.group: np.asarray(table.counts) for table in self}

    def check(self) -> NoisyTables:
        """Itself, or an error if its parts do not fit together."""
        cells = sum(math.prod(shape) for shape in self.shapes)
        fits = len(self.groups) == len(self.shapes) == self.variances.size and self.variances.ndim == 1
        if not fits or self.counts.ndim not in (1, 2) or self.counts.shape[-1] != cells:
            raise BadInput("noisy tables have a shape, counts and a variance for each group.")
        if any(len(group) != len(shape) for group, shape in zip(self.groups, self.shapes, strict=True)):
            raise BadInput("a noisy table has an axis for each attribute of its group.")
        if not np.isfinite(self.variances).all() or self.variances.min(initial=1) < 0 or self.epsilon <= 0:
            raise BadInput("the variances and the ε of noisy tables are positive numbers.")
        return self

    def __repr__(self) -> str:
        what = f"table of {' × '.join(map(repr, self.groups[0]))}" if len(self.groups) == 1 else None
        mark = "" if self.private else "; simulated, NOT private"
        return f"<noisy {what or f'tables of {len(self.groups)} groups'}; ε = {display(self.epsilon)}{mark}>"
