"""Least squares for any queries: densely on small domains, by LSMR on large ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Array, Reals
from adyton.queries import Queries
from adyton.queries.size import MOST_STEPS

LARGEST_DENSE = 2048
_TOLERANCE = 1e-10
_PROBES = 64
_FEWEST = 50
"""So many iterations are made in any case; more only as long as they do not take too long."""


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
        most = min(20 * min(queries.shape), max(_FEWEST, MOST_STEPS // (4 * queries.size().steps)))
        self._until: Any = {"atol": _TOLERANCE, "btol": _TOLERANCE, "maxiter": most}

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
