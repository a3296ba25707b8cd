"""What is asked about numbers, with all that the schema says of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.remembered import cached_property
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.numbers import FixedPoint
from adyton.tasks import NumbersTask


@dataclass(frozen=True)
class Asked:
    """A task about numbers, and the schema of its attributes: those of the groups, then that of the numbers."""

    task: NumbersTask
    schema: Schema

    @classmethod
    def of(cls, task: NumbersTask, schema: Schema) -> Asked:
        """For a table with this schema; an error if it does not fit."""
        selected = task.select(schema)
        return cls(replace(task, by=selected.names[:-1]), selected)  # with both axes for a point

    @property
    def attribute(self) -> Integer | Numeric:
        """What is declared about the numbers."""
        found = self.schema.attributes[self.task.attribute]
        assert isinstance(found, Integer | Numeric)
        return found

    @cached_property
    def grid(self) -> FixedPoint:
        """The steps in which they are added up."""
        return FixedPoint.of(self.attribute)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many groups there are along each attribute in *by*."""
        return tuple(self.schema.attributes[name].size for name in self.task.by)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return math.prod(self.shape)

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
        """From the last number of a cell to the first of the next: whole numbers have nothing between them."""
        return 1 if isinstance(self.attribute, Integer) else 0

    @cached_property
    def edges(self) -> Reals:
        """Where the cells of numbers begin, and where the last one ends."""
        one = self.attribute
        if isinstance(one, Integer):
            return np.append(np.arange(one.min, one.max + 1, one.step), one.max + 1).astype(float)
        if one.edges is not None:
            return np.array(one.edges, dtype=float)
        return np.linspace(one.min, one.max, one.bins + 1)

    @property
    def single(self) -> bool:
        """Whether every cell is a single number, so that a histogram tells all about sums."""
        return isinstance(self.attribute, Integer) and self.attribute.step == 1

    @property
    def rounding(self) -> float:
        """How far a value on the grid is from the row's own, at most."""
        exact = isinstance(self.attribute, Integer) and self.grid.step == 1
        return 0.0 if exact else float(self.grid.step) / 2
