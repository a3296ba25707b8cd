"""Least squares on any measurements; and solvers prepared for one set of queries and noise, with their errors.

The structure of the queries decides: single cells need no solving, hierarchies take linear time, Haar queries are
inverted, marginals are solved by sets of axes, stripes separately, products axis by axis, small domains densely, and
everything else by LSMR (Fong and Saunders, 2011) on the implicit matrix.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.partitions import lift
from adyton.queries import Grid, Haar, Hierarchy, Identity, Kronecker, Measurement, Queries, Reduction, Stack, Total
from adyton.queries.axes import stripe_parts, stripes_of, whole_of
from adyton.queries.base import MOST_STEPS
from adyton.queries.domain_trees import tree_of_halves
from adyton.solving.energies import tree_energies
from adyton.solving.nonnegative import nonnegative_least_squares
from adyton.solving.product_solver import AugmentedSolver, KroneckerSolver, noise_by_axis
from adyton.solving.residuals import MarginalsSolver
from adyton.solving.trees import TreeSolver, nonnegative_tree_least_squares


def least_squares(*measurements: Measurement, nonnegative: bool = False, local: bool = False) -> Reals:
    """The cells that fit all the answers best, each answer weighted by its noise: an estimate of the first vector.

    Measurements of reduced or split vectors count as measurements of the vector that these were derived from. Cells
    that no answer distinguishes get equal shares. With *nonnegative*, the best fit among non-negative cells; ranges
    over many empty cells are then biased upwards. With *local*, the measured vector itself is estimated, which must be
    the same for all measurements.

    >>> import adyton as ad
    >>> x = ad.Kernel.simulated([5, 6, 7], epsilon=1, seed=0).root
    >>> cells = x.measure(ad.workloads.Identity(3), epsilon="0.5")
    >>> total = x.measure(ad.workloads.Total(3), epsilon="0.5")
    >>> least_squares(cells, total).shape
    (3,)
    """
    if not measurements:
        raise BadInput("least squares needs at least one measurement, given none.")
    solve = _nonnegative if nonnegative else lambda queries, noise, answers: solver(queries, noise).solve(answers)
    if local and any(measurement.mapping is not measurements[0].mapping for measurement in measurements):
        raise BadInput("local least squares is for measurements of one vector, given measurements of several.")
    if len(measurements) == 1:
        (only,) = measurements
        if only.mapping is None or local:
            return solve(only.queries, only.variances, only.answers)
        if isinstance(only.mapping, Reduction):
            return lift(solve(only.queries, only.variances, only.answers), only.mapping.partition)
    queries = Stack([given.queries if local else given.on_first_vector() for given in measurements])
    variances = np.concatenate([measurement.variances for measurement in measurements])
    answers = np.concatenate([measurement.answers.astype(np.float64) for measurement in measurements], axis=-1)
    return solve(queries, variances, answers)


def _nonnegative(queries: Queries, variances: Reals, answers: Array) -> Reals:
    if isinstance(queries, Identity):
        return np.maximum(0.0, answers.astype(np.float64))
    tree = as_tree(queries)
    if tree is not None:
        every, precisions = tree.for_every_block(answers), tree.for_every_block(1 / variances)
        return tree.unordered(nonnegative_tree_least_squares(tree, every, precisions))
    return nonnegative_least_squares(queries.__matmul__, queries.transpose, answers.astype(np.float64), 1 / variances)


class Solver(Protocol):
    """Weighted least squares for one set of queries; the solution of smallest norm if there are several."""

    @property
    def complete(self) -> bool:
        """Whether the queries determine every cell: if not, the estimate has a bias that depends on the data."""

    @property
    def exact(self) -> bool:
        """Whether the variances are computed exactly rather than estimated."""

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells; leading axes are independent trials."""

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each query, given by its coefficients."""

    def total_variance(self, workload: Queries) -> float:
        """The sum of the variances of the estimated answers to a workload."""


def solver(queries: Queries, variances: npt.ArrayLike) -> Solver:  # noqa: PLR0911
    """The fastest solver for these queries, whose answers have these variances.

    >>> solver(Identity(2), 2.0).total_variance(Identity(2))
    4.0
    """
    noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), (queries.count,))
    if isinstance(queries, Identity):
        return CellSolver(noise)
    if isinstance(queries, Haar):
        return HaarSolver(queries, noise)
    if isinstance(queries, Total):
        return TotalSolver(queries.cells, float(noise[0]))
    tree = as_tree(queries)
    if tree is not None:
        return TreeSolver(tree, noise)
    if AugmentedSolver.suits(queries):
        return AugmentedSolver(queries, noise)
    special = MarginalsSolver.of(queries, noise) or StripedSolver.of(queries, noise)
    if special is not None:
        return special
    by_axis = noise_by_axis(queries, noise) if isinstance(queries, Kronecker) else None
    if isinstance(queries, Kronecker) and by_axis is not None:
        return KroneckerSolver(queries, by_axis)
    return (DenseSolver if queries.cells <= LARGEST_DENSE else IterativeSolver)(queries, noise)


def as_tree(queries: Queries) -> Hierarchy | None:
    """The same queries as a hierarchy, in the same order; None if they are not one."""
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
    """The groups of a partition as blocks; cells without a group form a separate block that is not a query."""
    named = np.where(labels < 0, labels.max() + 1, labels)
    order = np.argsort(named, kind="stable")
    starts = np.flatnonzero(np.diff(named[order], prepend=-1))
    blocks = np.arange(int(labels.max()) + 1)
    return Hierarchy(domain, [np.append(starts, labels.size)], order, None if starts.size == blocks.size else blocks)


class CellSolver:
    """Every cell was measured individually."""

    complete = exact = True

    def __init__(self, noise: Reals) -> None:
        self.noise = noise

    def solve(self, answers: Array) -> Reals:
        """The answers are the estimate."""
        return np.asarray(answers, dtype=np.float64)

    def variances(self, rows: Reals) -> Reals:
        """Σ_i q_i²·σ_i²."""
        return np.asarray(np.square(rows) @ self.noise)

    def total_variance(self, workload: Queries) -> float:
        """‖W‖²·σ² for equal noise."""
        if np.ptp(self.noise) == 0:
            return workload.squared_norm() * float(self.noise[0])
        return float(sum(self.variances(rows).sum() for rows in workload.rows()))


class TotalSolver:
    """Only the total was measured: every cell gets the same share of it."""

    exact = True

    def __init__(self, cells: int, noise: float) -> None:
        self._cells, self._noise = cells, noise

    @property
    def complete(self) -> bool:
        """Only a single cell is determined."""
        return self._cells == 1

    def solve(self, answers: Array) -> Reals:
        """The total divided by the number of cells."""
        shares = np.asarray(answers, dtype=np.float64) / self._cells
        cells = np.empty((*shares.shape[:-1], self._cells))
        cells[...] = shares
        return cells

    def variances(self, rows: Reals) -> Reals:
        """(Σ_i q_i / n)²·σ²."""
        return np.asarray(np.square(rows.mean(axis=-1)) * self._noise)

    def total_variance(self, workload: Queries) -> float:
        """‖W·1‖²·σ²/n²."""
        return float(np.square((workload @ np.ones(self._cells)) / self._cells).sum()) * self._noise


class HaarSolver:
    """Haar queries are orthogonal on the padded domain, so their inverse has a closed form."""

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
        levels = tree_of_halves(queries.cells).boundaries
        means = tree_energies(workload, levels, np.ones(queries.cells), None)
        sums = [mean * np.square(np.diff(level)) for mean, level in zip(means, levels, strict=True)]
        norms = [sums[0]]
        for whole, halves in itertools.pairwise(sums):
            padded = np.append(halves, np.zeros(2 * whole.size - halves.size))
            norms.append(2 * padded.reshape(-1, 2).sum(axis=1) - whole)
        return float(np.concatenate(norms) @ (self._noise / np.square(queries.sizes)))


LARGEST_DENSE = 2048
_TOLERANCE = 1e-10
_PROBES = 64
_MOST_STEPS = 1000
_FEWEST = 50
"""At least this many iterations are allowed; more only if they do not take too long."""


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
        """Not known, so False."""
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
        solutions = [lsmr(adjoint, row, **self._until)[0] for row in _as_trials(rows)]
        return np.asarray(np.square(np.array(solutions)).sum(axis=-1).reshape(rows.shape[:-1]))

    def total_variance(self, workload: Queries) -> float:
        """E‖z‖² over combinations of the workload's queries with random signs (Hutchinson); for few queries the sum."""
        if workload.count <= _PROBES:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, workload.count))
        return float(self.variances(workload.transpose(signs)).mean())


def combinations(queries: Queries, rows: Reals) -> Reals:
    """For each query, given by its coefficients, the smallest b with Aᵀ·b nearest to it, by LSMR on the implicit A.

    >>> combinations(Stack([Identity(2), Total(2)]), np.array([[1.0, 1.0]])).round(3).tolist()
    [[0.333, 0.333, 0.667]]
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    adjoint = LinearOperator(
        shape=queries.shape[::-1],
        matvec=lambda y: queries.transpose(y.reshape(-1)),
        rmatvec=lambda x: queries @ x.reshape(-1),
        dtype=np.float64,
    )
    return np.array([lsmr(adjoint, row, atol=_TOLERANCE, btol=_TOLERANCE, maxiter=_MOST_STEPS)[0] for row in rows])


def _as_trials(values: Reals) -> Reals:
    return values.reshape(-1, values.shape[-1])


_NEARLY = 1e-12


class StripedSolver:
    """A solver for one stripe, applied to all stripes at once."""

    def __init__(self, queries: Kronecker, axis: int, inner: Solver) -> None:
        self._axis, self._inner = axis, inner
        self._asked = tuple(factor.count for factor in queries.factors)
        self._domain = queries.domain

    @classmethod
    def of(cls, queries: Queries, noise: Reals) -> StripedSolver | None:
        """The solver for a product that asks the same queries in every stripe along an axis, because all other factors
        are single cells, and whose noise is the same in every stripe; None for other queries."""
        if not isinstance(queries, Kronecker) or any(len(factor.domain) > 1 for factor in queries.factors):
            return None
        others = [axis for axis, factor in enumerate(queries.factors) if not isinstance(factor, Identity)]
        if len(others) != 1:
            return None
        (axis,) = others
        by_stripe = stripes_of(noise, tuple(factor.count for factor in queries.factors), axis)
        own = by_stripe[0]
        if (np.abs(by_stripe - own) > _NEARLY * own).any():
            return None
        return cls(queries, axis, solver(queries.factors[axis], own))

    @property
    def complete(self) -> bool:
        """Whether a stripe is determined."""
        return self._inner.complete

    @property
    def exact(self) -> bool:
        """Whether the solver of a stripe is exact."""
        return self._inner.exact

    def solve(self, answers: Array) -> Reals:
        """All stripes at once."""
        cells = self._inner.solve(stripes_of(answers, self._asked, self._axis))
        return whole_of(cells, self._domain, self._axis)

    def variances(self, rows: Reals) -> Reals:
        """The sum of the variances over the stripes."""
        parts = stripes_of(np.asarray(rows), self._domain, self._axis)
        flat = parts.reshape(-1, parts.shape[-1])
        return np.asarray(self._inner.variances(flat).reshape(parts.shape[:-1]).sum(axis=-1))

    def total_variance(self, workload: Queries) -> float:
        """From the queries about single stripes where these are known, otherwise query by query."""
        parts = stripe_parts(workload, self._axis) if workload.domain == self._domain else None
        if parts is None:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        return float(sum(number * self._inner.total_variance(queries) for number, queries in parts))
