"""The numbers of an attribute by groups, as a task asks for them; a statistic of each group; tails of sums of noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.result.intervals import Kind
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.numbers import FixedPoint
from adyton.tasks import NumbersTask

_FEW = 8
"""For sums of up to this many noise terms the exact law is used; sums of more are close to normal."""
_GAP = 1e-3
"""Scales with a smaller relative difference are moved apart: the closed form divides by differences."""


@dataclass(frozen=True)
class GroupedNumbers:
    """A task about numbers, and the schema of its attributes: those of the groups, then the one with the numbers."""

    task: NumbersTask
    schema: Schema

    @classmethod
    def of(cls, task: NumbersTask, schema: Schema) -> GroupedNumbers:
        """The task on a table with this schema; refused if it does not fit."""
        selected = task.select(schema)
        return cls(replace(task, by=selected.names[:-1]), selected)  # with both axes for a point

    @property
    def attribute(self) -> Integer | Numeric:
        """The declared attribute with the numbers."""
        attribute = self.schema.attributes[self.task.attribute]
        assert isinstance(attribute, Integer | Numeric)
        return attribute

    @property
    def cells(self) -> int:
        """The number of cells of numbers."""
        return self.attribute.base_size

    @cached_property
    def grid(self) -> FixedPoint:
        """The grid on which the numbers are added up."""
        return FixedPoint.of(self.attribute)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return math.prod(self.schema.attributes[name].size for name in self.task.by)

    @property
    def lines(self) -> list[tuple[Any, ...]]:
        """The labels of each group."""
        return list(itertools.product(*(self.schema.attributes[name].labels for name in self.task.by)))

    @cached_property
    def middles(self) -> Reals:
        """The middle of each cell of numbers; a cell of a single number is that number."""
        return np.asarray((self.edges[:-1] + self.edges[1:] - self.gap) / 2)

    @property
    def gap(self) -> int:
        """The distance from the last number of a cell to the first of the next: 1 for whole numbers, else 0."""
        return 1 if isinstance(self.attribute, Integer) else 0

    @cached_property
    def edges(self) -> Reals:
        """Where the cells of numbers begin, and where the last one ends."""
        kind = self.attribute
        if isinstance(kind, Integer):
            return np.append(np.arange(kind.min, kind.max + 1, kind.step), kind.max + 1).astype(float)
        if kind.edges is not None:
            return np.array(kind.edges, dtype=float)
        return np.linspace(kind.min, kind.max, kind.bins + 1)

    @property
    def single(self) -> bool:
        """Whether every cell is a single number, so that a histogram determines the sums."""
        return isinstance(self.attribute, Integer) and self.attribute.step == 1

    @property
    def rounding(self) -> float:
        """The largest distance of a value on the grid from the row's own value."""
        exact = isinstance(self.attribute, Integer) and self.grid.step == 1
        return 0.0 if exact else float(self.grid.step) / 2


@dataclass(frozen=True, eq=False)
class Figures:
    """One statistic for each group. *error* is the expected standard error; *kind* says whether the confidence of the
    bounds is guaranteed."""

    name: str
    estimate: Reals
    lower: Reals
    upper: Reals
    error: Reals
    kind: Kind

    @classmethod
    def missing(cls, name: str, groups: int) -> Figures:
        """A statistic that was not measured."""
        nothing = np.full(groups, np.nan)
        return cls(name, nothing, nothing, nothing, nothing, "approximate")

    @property
    def typical_error(self) -> float:
        """The standard error in the median group, without groups whose error is unknown."""
        return float(np.nanquantile(self.error, 0.5, method="lower")) if self.known else math.nan

    @property
    def known(self) -> bool:
        """Whether it was measured."""
        return bool(np.isfinite(self.estimate).any())


def tail(scales: Reals, far: Reals) -> Reals:
    """P(|Σ η_j| > far) for η_j ~ Laplace(scale_j), the scales along the last axis.

    The kernel's noise is discrete, on a grid that is fine compared with its scale; here it is treated as continuous.

    With partial fractions of Π 1/(1 + b_j²s²): Σ_i e^(−t/b_i) · Π_{j≠i} b_i²/(b_i² − b_j²).

    >>> tail(np.array([1.0]), np.array(2.0)).round(4).item(), tail(np.array([1.0, 1.0]), np.array(2.0)).round(2).item()
    (0.1353, 0.27)
    """
    if scales.shape[-1] > _FEW:
        spread = np.sqrt(2 * (scales**2).sum(axis=-1))
        return np.asarray(np.vectorize(math.erfc)(far / np.maximum(spread, 1e-300) / math.sqrt(2)))
    apart = _apart(scales)
    squares = apart**2
    total = np.zeros(np.broadcast_shapes(scales.shape[:-1], np.shape(far)))
    for place in range(scales.shape[-1]):
        own = squares[..., place : place + 1]
        others = np.delete(squares, place, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight = np.where(own > 0, own / np.where(own == others, 1.0, own - others), 0.0).prod(axis=-1)
            term = weight * np.exp(-far / apart[..., place])
        total += np.where(apart[..., place] > 0, term, 0.0)
    return np.clip(total, 0.0, 1.0)


def radius(scales: Reals, confidence: float) -> Reals:
    """The t with P(|Σ η_j| ≤ t) = confidence, by bisection."""
    low = np.zeros(scales.shape[:-1])
    high = (scales.sum(axis=-1) + 1e-300) * (math.log(1 / (1 - confidence)) + 1)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = tail(scales, middle) > 1 - confidence
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


def _apart(scales: Reals) -> Reals:
    """The scales from the largest to the smallest, none of them close to the previous one."""
    ordered = -np.sort(-np.abs(scales), axis=-1)
    for place in range(1, ordered.shape[-1]):
        ordered[..., place] = np.minimum(ordered[..., place], ordered[..., place - 1] * (1 - _GAP))
    return np.where(ordered < ordered[..., :1] * 1e-9, 0.0, ordered)
