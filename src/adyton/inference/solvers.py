"""Least squares prepared for one set of queries and noise: the estimate for any answers, and the error that it has.

Structure decides: single cells need nothing, hierarchies take linear time, Haar queries are inverted, products of axes
are solved axis by axis, small domains densely, and everything else by LSMR (Fong and Saunders, 2011) on the implicit
matrix.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adyton.inference.energies import tree_energies
from adyton.inference.trees import TreeSolver
from adyton.queries import Grid, Haar, Hierarchy, Identity, Kronecker, Queries, Ranges, Reduction, Total
from adyton.queries.base import Array, Reals
from adyton.queries.hierarchy import block_boundaries

LARGEST_DENSE = 2048
_LARGEST_FACTOR = 4096
_TOLERANCE = 1e-10
_PROBES = 64


class Solver(Protocol):
    """Weighted least squares for one set of queries, of smallest norm where the queries leave a choice."""

    @property
    def complete(self) -> bool:
        """Whether the queries determine every cell: if not, the estimate has a bias that depends on the data."""

    @property
    def exact(self) -> bool:
        """Whether the variances are computed and not estimated."""

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells; axes in front are independent trials."""

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each query, given by its coefficients."""

    def total_variance(self, workload: Queries) -> float:
        """The sum of the variances of the estimated answers to a workload."""


def solver(queries: Queries, variances: npt.ArrayLike) -> Solver:
    """The fastest solver for these queries, whose answers have these variances.

    >>> solver(Identity(2), 2.0).total_variance(Identity(2))
    4.0
    """
    noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), (queries.count,))
    tree = as_tree(queries)
    if isinstance(queries, Identity):
        return CellSolver(noise)
    if tree is not None:
        return TreeSolver(tree, noise)
    if isinstance(queries, Haar):
        return HaarSolver(queries, noise)
    if (
        isinstance(queries, Kronecker)
        and np.ptp(noise) <= 1e-12 * noise[0]
        and max(factor.cells for factor in queries.factors) <= _LARGEST_FACTOR
    ):
        return KroneckerSolver(queries, float(noise[0]))
    if queries.cells <= LARGEST_DENSE:
        return DenseSolver(queries, noise)
    return IterativeSolver(queries, noise)


def as_tree(queries: Queries) -> Hierarchy | None:
    """The same queries as a hierarchy, in the same order, where they are one."""
    match queries:
        case Hierarchy():
            return queries
        case Total():
            return Hierarchy(queries.domain, [[0, queries.cells]])
        case Reduction() if queries.partition.sizes.all():
            return _groups(queries.domain, queries.partition.labels)
        case Grid():
            numbers = np.arange(queries.count, dtype=np.float64)
            return _groups(queries.domain, queries.transpose(numbers).astype(np.int64))
        case _:
            return None


def _groups(domain: tuple[int, ...], labels: npt.NDArray[np.int64]) -> Hierarchy:
    """The groups of a partition as blocks; cells without a group form a block of their own that is not a query."""
    named = np.where(labels < 0, labels.max() + 1, labels)
    order = np.argsort(named, kind="stable")
    starts = np.flatnonzero(np.diff(named[order], prepend=-1))
    blocks = np.arange(int(labels.max()) + 1)
    return Hierarchy(domain, [np.append(starts, labels.size)], order, None if starts.size == blocks.size else blocks)


class CellSolver:
    """Every cell was measured on its own."""

    complete = exact = True

    def __init__(self, noise: Reals) -> None:
        self._noise = noise

    def solve(self, answers: Array) -> Reals:
        """The answers are the estimate."""
        return np.asarray(answers, dtype=np.float64)

    def variances(self, rows: Reals) -> Reals:
        """Σ_i q_i²·σ_i²."""
        return np.asarray(np.square(rows) @ self._noise)

    def total_variance(self, workload: Queries) -> float:
        """‖W‖²·σ² for equal noise."""
        if np.ptp(self._noise) == 0:
            return workload.squared_norm() * float(self._noise[0])
        return float(sum(self.variances(rows).sum() for rows in workload.rows()))


class HaarSolver:
    """Haar queries are orthogonal on the padded domain, so their inverse is written down."""

    complete = exact = True

    def __init__(self, queries: Haar, noise: Reals) -> None:
        self._queries, self._noise = queries, noise

    def solve(self, answers: Array) -> Reals:
        """Halves are (sum ± difference) / 2, from the whole domain down."""
        return self._queries.inverse(np.asarray(answers, dtype=np.float64))

    def variances(self, rows: Reals) -> Reals:
        """Σ_j (q·h_j)²·σ_j² / ‖h_j‖⁴."""
        return np.asarray(np.square(self._queries.inverse_transpose(rows)) @ self._noise)

    def total_variance(self, workload: Queries) -> float:
        """Σ_j ‖W·h_j‖²·σ_j² / ‖h_j‖⁴; for h = left − right, ‖W·h‖² = 2‖W·left‖² + 2‖W·right‖² − ‖W·(left + right)‖²."""
        queries = self._queries
        sizes = [1 << power for power in range(queries.levels, -1, -1)]
        levels = block_boundaries(queries.cells, sizes, root=False)
        means = tree_energies(workload, levels, np.ones(queries.cells), None)
        sums = [mean * np.square(np.diff(level)) for mean, level in zip(means, levels, strict=True)]
        norms = [sums[0]]
        for whole, halves in itertools.pairwise(sums):
            padded = np.append(halves, np.zeros(2 * whole.size - halves.size))
            norms.append(2 * padded.reshape(-1, 2).sum(axis=1) - whole)
        return float(np.concatenate(norms) @ (self._noise / np.square(queries.sizes)))


class KroneckerSolver:
    """Equal noise on a product of axes: (A₁ ⊗ A₂)⁺ = A₁⁺ ⊗ A₂⁺, so that each axis is solved for itself."""

    exact = True

    def __init__(self, queries: Kronecker, noise: float) -> None:
        self._queries, self._noise = queries, noise
        self._inverses = [_inverse(factor) for factor in queries.factors]
        self._sides = [factor.cells for factor in queries.factors]

    @property
    def complete(self) -> bool:
        """Whether each axis is determined."""
        return all(np.linalg.matrix_rank(inverse) == inverse.shape[0] for inverse in self._inverses)

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
        """σ²·‖(A⁺)ᵀ·q‖²."""
        table = rows.reshape(*rows.shape[:-1], *self._sides)
        for axis, inverse in enumerate(self._inverses, start=rows.ndim - 1):
            table = np.moveaxis(np.moveaxis(table, axis, -1) @ inverse, -1, axis)
        axes = tuple(range(rows.ndim - 1, table.ndim))
        return np.asarray(self._noise * np.square(table).sum(axis=axes))

    def total_variance(self, workload: Queries) -> float:
        """A query that is a product of axes has a variance that is one too."""
        match workload:
            case Identity():
                return self._noise * math.prod(float(np.square(inverse).sum()) for inverse in self._inverses)
            case Ranges() if list(workload.domain) == self._sides:
                sides = [workload.side(axis) for axis in range(len(self._sides))]
            case Kronecker() if [factor.cells for factor in workload.factors] == self._sides:
                axes = zip(workload.factors, self._inverses, strict=True)
                return self._noise * math.prod(float(np.square(factor @ inverse.T).sum()) for factor, inverse in axes)
            case _:
                return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        norms = [np.square(side @ inverse.T).sum(axis=0) for side, inverse in zip(sides, self._inverses, strict=True)]
        return self._noise * float(functools.reduce(np.multiply, norms).sum())


class DenseSolver:
    """A small domain: the normal equations, written out."""

    exact = True

    def __init__(self, queries: Queries, noise: Reals) -> None:
        self._queries, self._noise = queries, noise
        normal = np.zeros((queries.cells, queries.cells))
        start = 0
        for rows in queries.rows():
            scaled = rows / noise[start : start + len(rows), None]
            normal += rows.T @ scaled
            start += len(rows)
        values, vectors = np.linalg.eigh(normal)
        kept = values > values[-1] * queries.cells * np.finfo(np.float64).eps
        self.complete = bool(kept.all())
        self._root = vectors[:, kept] / np.sqrt(values[kept])  # covariance = root·rootᵀ

    def solve(self, answers: Array) -> Reals:
        """(AᵀV⁻¹A)⁺·AᵀV⁻¹·y."""
        right = self._queries.transpose(np.asarray(answers, dtype=np.float64) / self._noise)
        return np.asarray(right @ self._root @ self._root.T)

    def variances(self, rows: Reals) -> Reals:
        """q·(AᵀV⁻¹A)⁺·qᵀ."""
        return np.asarray(np.square(rows @ self._root).sum(axis=-1))

    def total_variance(self, workload: Queries) -> float:
        """‖W·root‖²."""
        if workload.count <= workload.cells or workload.cells > LARGEST_DENSE:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        return float(np.einsum("ij,ik,kj->", self._root, workload.gram(), self._root, optimize=True))


class IterativeSolver:
    """A large domain without known structure: LSMR on the implicit matrix; the error is estimated by random probes."""

    exact = False

    def __init__(self, queries: Queries, noise: Reals) -> None:
        self._queries = queries
        self._scale = 1 / np.sqrt(noise)
        self._until: Any = {"atol": _TOLERANCE, "btol": _TOLERANCE, "maxiter": 20 * min(queries.shape)}

    @property
    def complete(self) -> bool:
        """Not known."""
        return False

    def solve(self, answers: Array) -> Reals:
        """One run of LSMR per trial."""
        from scipy.sparse.linalg import lsmr

        given = np.asarray(answers, dtype=np.float64) * self._scale
        flat = [lsmr(self._operator(), trial, **self._until)[0] for trial in _as_trials(given)]
        return np.reshape(flat, (*given.shape[:-1], self._queries.cells))

    def _operator(self) -> Any:
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            shape=self._queries.shape,
            matvec=lambda x: (self._queries @ x.reshape(-1)) * self._scale,
            rmatvec=lambda y: self._queries.transpose(y.reshape(-1) * self._scale),
            dtype=np.float64,
        )

    def variances(self, rows: Reals) -> Reals:
        """q·(AᵀV⁻¹A)⁺·qᵀ = ‖z‖² for the z of smallest norm with (V^-½A)ᵀ·z = qᵀ, one run of LSMR per query."""
        from scipy.sparse.linalg import lsmr

        adjoint = self._operator().adjoint()
        found = [lsmr(adjoint, row, **self._until)[0] for row in _as_trials(rows)]
        return np.asarray(np.square(np.array(found)).sum(axis=-1).reshape(rows.shape[:-1]))

    def total_variance(self, workload: Queries) -> float:
        """E‖z‖² over workloads combined with random signs (Hutchinson), or the sum itself for few queries."""
        if workload.count <= _PROBES:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, workload.count))
        return float(self.variances(workload.transpose(signs)).mean())


def _as_trials(values: Reals) -> Reals:
    return values.reshape(-1, values.shape[-1])


def _inverse(factor: Queries) -> Reals:
    """A⁺ as a table, cells × answers."""
    if isinstance(factor, Haar):
        return np.asarray(factor.inverse(np.eye(factor.count)).T)
    if isinstance(factor, Identity):
        return np.eye(factor.cells)
    return np.asarray(np.linalg.pinv((factor @ np.eye(factor.cells)).T))
