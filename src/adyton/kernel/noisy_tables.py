"""Noisy tables of counts: what comes out when many tables are measured at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.queries import MeasuredTable
from adyton.whole import IntegerArray


@dataclass(frozen=True, eq=False, repr=False)
class NoisyTables:
    """Measured tables, one after the other: what least squares takes.

    ``private`` is False when the noise was simulated: such counts protect nobody.

    >>> NoisyTables((("sex",),), ((2,),), np.array([5, 7]), np.array([2.0]), Fraction(1), True)
    <noisy table of 'sex'; ε = 1>
    """

    groups: tuple[tuple[str, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    counts: IntegerArray
    """One table after the other along the last axis. An axis in front are independent trials."""
    variances: Reals
    """Of each cell, for each table."""
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
