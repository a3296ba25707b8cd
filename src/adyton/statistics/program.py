"""A way to measure numbers: its errors before anything is spent, its measurements, and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.kernel.limits import check_request
from adyton.kernel.mechanisms import Mechanism, VectorLaplace
from adyton.kernel.sources import TableSource, VectorSource
from adyton.queries import Identity, Measurement, Partition
from adyton.statistics.asked import Asked
from adyton.statistics.parts import Part
from adyton.whole import IntegerArray

MOST_CELLS = 1 << 22
"""Quantiles are chosen among so many cells at most."""
Step = Callable[[], Part]
"""A measurement that was found to be possible, and its answer."""


class Program(ABC):
    """A way to measure numbers."""

    name: ClassVar[str]
    words: ClassVar[str]
    """What it does."""

    @abstractmethod
    def errors(self, asked: Asked, epsilon: Fraction) -> dict[str, float]:
        """The standard error of each statistic, with *epsilon* for a row; those are missing that it does not tell."""

    @abstractmethod
    def steps(self, source: TableSource, asked: Asked, epsilon: Fraction) -> list[Step]:
        """The measurements, once it is sure that all of them can be carried out."""

    def serves(self, asked: Asked) -> bool:
        """Whether it tells all that is asked for."""
        return set(self.errors(asked, Fraction(1))) >= set(asked.task.statistics)


def cells_of(source: TableSource, asked: Asked) -> VectorSource:
    """The count of every cell, groups first."""
    return source.select(list(asked.schema.names)).vectorize()


def lines_of(asked: Asked, parts: int, line: IntegerArray) -> Partition:
    """The cells of numbers of every group in so many parts; *line* says of each cell of one group in which. Cells
    without a number are in none."""
    every = np.full(asked.attribute.size, -1)
    every[: asked.attribute.base_size] = line
    starts = np.arange(asked.groups)[:, None] * parts
    return Partition(np.where(every < 0, -1, every + starts).reshape(-1))


def measured(kind: str, source: TableSource, x: VectorSource, width: int, epsilon: Fraction) -> Step:
    """Every cell of a vector, for *epsilon* of the table's rows: checked now, measured later.

    The kernel charges what one row can change times as much as is asked for; so that much less is asked for.
    """
    operator: Mechanism = VectorLaplace(Identity(x.shape))
    own = epsilon * source.stability / x.stability
    check_request(operator, x.facts.shape, own)

    def measure() -> Part:
        found: Measurement = x.kernel.measure(x, operator, own)
        numbers: IntegerArray = found.answers.reshape(-1, width)
        return Part(kind, numbers, epsilon)

    return measure
