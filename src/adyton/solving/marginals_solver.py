"""Least squares for marginals of a domain that is held, part by part: see :mod:`adyton.solving.residuals`."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Array, Integers, Reals
from adyton.queries import Identity, Marginals, Queries, Ranges, Stack
from adyton.solving.residuals import MeasuredTable, part_variances, residual, residuals


class MarginalsSolver:
    """Marginals, the cells of each with the same noise: every part of the domain is solved for itself, exactly."""

    exact = True

    @staticmethod
    def suits(queries: Queries, noise: Reals) -> bool:
        """Whether the queries are marginals, and each has one variance."""
        if not isinstance(queries, Marginals) or len(set(queries.axes)) < len(queries.axes):
            return False
        starts = np.cumsum([0, *queries.sizes[:-1]])
        return bool((np.maximum.reduceat(noise, starts) == np.minimum.reduceat(noise, starts)).all())

    def __init__(self, queries: Marginals, noise: Reals) -> None:
        self._queries = queries
        self._starts = np.cumsum([0, *queries.sizes])
        self.sides = {str(axis): side for axis, side in enumerate(queries.domain)}
        groups = [tuple(map(str, axes)) for axes in queries.axes]
        self.measured = list(zip(groups, noise[self._starts[:-1]].tolist(), strict=True))
        self.parts = dict(part_variances(self.sides, self.measured).variances)

    @property
    def complete(self) -> bool:
        """Whether a marginal has all axes, but for those with one cell."""
        long = {axis for axis, side in enumerate(self._queries.domain) if side > 1}
        return any(long <= set(axes) for axes in self._queries.axes)

    def solve(self, answers: Array) -> Reals:
        """The estimate of smallest norm: what nothing was measured of is even."""
        given = np.asarray(answers, dtype=np.float64)
        leading, domain = given.shape[:-1], self._queries.domain
        tables = [
            MeasuredTable(group, given[..., start:end].reshape(*leading, *(self.sides[name] for name in group)), noise)
            for (group, noise), start, end in zip(self.measured, self._starts[:-1], self._starts[1:], strict=True)
        ]
        cells = np.zeros((*leading, *domain))
        for group, part in residuals(self.sides, tables).parts.items():
            kept = [side if name in group else 1 for name, side in self.sides.items()]
            cells += part.reshape(*leading, *kept) / self._outside(group)
        return cells.reshape(*leading, -1)

    def variances(self, rows: Reals) -> Reals:
        """Σ_T V_T·‖the part T of the query‖²/Π_{∉T} n_i², where the part is summed over the other axes."""
        leading = rows.shape[:-1]
        table = rows.reshape(-1, *self._queries.domain)
        found = np.zeros(len(table))
        for group, variance in self.parts.items():
            others = tuple(axis + 1 for axis in range(len(self.sides)) if str(axis) not in group)
            for place, own in enumerate(table.sum(axis=others)):
                found[place] += variance * float(np.square(residual(own)).sum()) / self._outside(group) ** 2
        return found.reshape(leading)

    def box_variances(self, lower: Integers, upper: Integers) -> Reals:
        """The same for sums over boxes: Σ_T V_T·Π_T k_i(1 − k_i/n_i)·Π_{∉T} (k_i/n_i)², k_i cells along each axis."""
        sides = np.array(self._queries.domain, dtype=np.float64)
        long = (upper - lower + 1).astype(np.float64)
        spread, level = long * (1 - long / sides), np.square(long / sides)
        found = np.zeros(len(long))
        for group, variance in self.parts.items():
            inside = np.array([str(axis) in group for axis in range(sides.size)])
            found += variance * np.where(inside, spread, level).prod(axis=1)
        return found

    def total_variance(self, workload: Queries) -> float:
        """In closed form for marginals and cells."""
        match workload:
            case Stack():
                return sum(self.total_variance(part) for part in workload.parts)
            case Identity() if workload.domain == self._queries.domain:
                return self._of_table(tuple(self.sides))
            case Marginals() if workload.domain == self._queries.domain:
                return sum(self._of_table(tuple(map(str, axes))) for axes in workload.axes)
            case Ranges() if workload.domain == self._queries.domain:
                return float(self.box_variances(workload.lower, workload.upper).sum())
            case _:
                return float(sum(self.variances(rows).sum() for rows in workload.rows()))

    def _of_table(self, group: tuple[str, ...]) -> float:
        """Σ of the variances of all its cells: Σ_T V_T·Π_T (n_i − 1)·Π_{Q∖T} 1/n_i."""
        asked = set(group)
        return math.fsum(
            variance
            * math.prod(self.sides[name] - 1 for name in part)
            / math.prod(self.sides[name] for name in group if name not in part)
            for part, variance in self.parts.items()
            if asked.issuperset(part)
        )

    def _outside(self, group: tuple[str, ...]) -> float:
        return float(math.prod(side for name, side in self.sides.items() if name not in group))
