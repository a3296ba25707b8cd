"""Least squares for products over the axes of a domain, axis by axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence

import numpy as np

from adyton.arrays import Array, Reals
from adyton.queries import Haar, Hierarchy, Identity, Kronecker, Marginals, Queries, Ranges
from adyton.queries.product_parts import product_parts
from adyton.remembered import cached_property
from adyton.solving.augmented import AugmentedSolver
from adyton.solving.trees import TreeSolver

LARGEST_FACTOR, LARGEST_SOLVED = 4096, 8192
"""The longest axis whose inverse is written out: from all coefficients, and by a solver for trees and the like."""
_NEARLY = 1e-3


def noise_by_axis(queries: Kronecker, noise: Reals) -> list[Reals] | None:
    """One factor per axis whose products are the variances of the answers.

    None where they are no products, or an axis is too long for its inverse to be written out.
    """
    if any(factor.cells > (LARGEST_SOLVED if _solved(factor) else LARGEST_FACTOR) for factor in queries.factors):
        return None
    table = noise.reshape([factor.count for factor in queries.factors])
    corner = (0,) * table.ndim
    factors = []
    for axis in range(table.ndim):
        line = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)[:, 0]
        factors.append(line if axis == 0 else line / table[corner])
    product = functools.reduce(np.multiply.outer, factors)
    return factors if (np.abs(product - table) <= _NEARLY * table).all() else None


class KroneckerSolver:
    """A product of axes whose noise is one too: (A₁ ⊗ A₂)⁺ = A₁⁺ ⊗ A₂⁺, so that each axis is solved for itself."""

    exact = True

    def __init__(self, queries: Kronecker, noise: list[Reals]) -> None:
        self._queries = queries
        found = [_inverse(factor, own) for factor, own in zip(queries.factors, noise, strict=True)]
        self._inverses = [inverse for inverse, _ in found]
        self._known = [complete for _, complete in found]
        pairs = zip(self._inverses, noise, strict=True)
        self._spreads = [inverse * np.sqrt(own) for inverse, own in pairs]  # times its transpose: the covariance
        self._sides = [factor.cells for factor in queries.factors]
        self.least_noise = math.prod(float(own.min()) for own in noise)

    @cached_property
    def complete(self) -> bool:
        """Whether each axis is determined."""
        pairs = zip(self._inverses, self._known, strict=True)
        return all(
            np.linalg.matrix_rank(inverse) == inverse.shape[0] if known is None else known for inverse, known in pairs
        )

    def solve(self, answers: Array) -> Reals:
        """One step per axis."""
        table = np.asarray(answers, dtype=np.float64)
        table = table.reshape(*table.shape[:-1], *(factor.count for factor in self._queries.factors))
        pairs = zip(self._queries.factors, self._inverses, strict=True)
        for axis, (factor, inverse) in enumerate(pairs, start=answers.ndim - 1):
            along = np.ascontiguousarray(np.moveaxis(table, axis, -1))
            along = factor.inverse(along) if isinstance(factor, Haar) else along @ inverse.T
            table = np.moveaxis(along, -1, axis)
        return np.ascontiguousarray(table).reshape(*answers.shape[:-1], -1)

    def variances(self, rows: Reals) -> Reals:
        """‖(A⁺·D)ᵀ·q‖², for D the standard deviations of the noise."""
        table = rows.reshape(*rows.shape[:-1], *self._sides)
        for axis, spread in enumerate(self._spreads, start=rows.ndim - 1):
            table = np.moveaxis(np.moveaxis(table, axis, -1) @ spread, -1, axis)
        axes = tuple(range(rows.ndim - 1, table.ndim))
        return np.asarray(np.square(table).sum(axis=axes))

    def table_moments(self, axes: Collection[int]) -> tuple[Reals, Reals]:
        """For every cell of a marginal over some axes Σ (a_j·σ_j)² and Σ (a_j·σ_j)⁴ over the noises: products, too."""
        rows = [
            spread if axis in axes else spread.sum(axis=0, keepdims=True) for axis, spread in enumerate(self._spreads)
        ]
        two, four = (
            functools.reduce(np.multiply.outer, [(row**power).sum(axis=1) for row in rows]).reshape(-1)
            for power in (2, 4)
        )
        return two, four

    def total_variance(self, workload: Queries) -> float:
        """A query that is a product of axes has a variance that is one too."""
        match workload:
            case Identity():
                return math.prod(float(np.square(spread).sum()) for spread in self._spreads)
            case Marginals() if list(workload.domain) == self._sides:
                return math.fsum(float(self.table_moments(axes)[0].sum()) for axes in workload.axes)
            case Ranges() if list(workload.domain) == self._sides:
                sides = [workload.side(axis) for axis in range(len(self._sides))]
            case Kronecker() if [factor.cells for factor in workload.factors] == self._sides:
                return self._product_variance(workload.factors)
            case _:
                parts = product_parts(workload) or []
                if parts and [factor.cells for factor in parts[0].factors] == self._sides:
                    return float(sum(part.weight**2 * self._product_variance(part.factors) for part in parts))
                return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        norms = [np.square(side @ spread.T).sum(axis=0) for side, spread in zip(sides, self._spreads, strict=True)]
        return float(functools.reduce(np.multiply, norms).sum())

    def _product_variance(self, factors: Sequence[Queries]) -> float:
        axes = zip(factors, self._spreads, strict=True)
        return math.prod(float(np.square(factor @ spread.T).sum()) for factor, spread in axes)


def _solved(factor: Queries) -> bool:
    """Whether there is a solver that takes linear time."""
    return isinstance(factor, Identity | Haar | Hierarchy) or AugmentedSolver.suits(factor)


def _inverse(factor: Queries, noise: Reals) -> tuple[Reals, bool | None]:
    """The weighted A⁺ as a table, cells × answers; and whether it determines every cell, where that is known."""
    if isinstance(factor, Haar):
        return np.asarray(factor.inverse(np.eye(factor.count)).T), True
    if isinstance(factor, Identity):
        return np.eye(factor.cells), True
    if AugmentedSolver.suits(factor) or isinstance(factor, Hierarchy):
        own = TreeSolver(factor, noise) if isinstance(factor, Hierarchy) else AugmentedSolver(factor, noise)
        return np.asarray(own.solve(np.eye(factor.count)).T), own.complete
    deviations = np.sqrt(noise)
    return np.asarray(np.linalg.pinv((factor @ np.eye(factor.cells)).T / deviations[:, None]) / deviations), None
