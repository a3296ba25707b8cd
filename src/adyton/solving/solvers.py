"""Least squares prepared for one set of queries and noise: the estimate for any answers, and the error that it has.

Structure decides: single cells need nothing, hierarchies take linear time, Haar queries are inverted, stripes are
solved one by one, products of axes axis by axis, small domains densely, and everything else by LSMR (Fong and Saunders,
2011) on the implicit matrix.
"""

from __future__ import annotations

import itertools
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.queries import Grid, Haar, Hierarchy, Identity, Kronecker, Queries, Reduction, Total
from adyton.queries.block_tree import BlockTree
from adyton.solving.augmented import AugmentedSolver
from adyton.solving.energies import tree_energies
from adyton.solving.general_solvers import LARGEST_DENSE, DenseSolver, IterativeSolver
from adyton.solving.product_solver import KroneckerSolver, noise_by_axis
from adyton.solving.striped_solver import StripedSolver
from adyton.solving.trees import TreeSolver


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
    striped = StripedSolver.of(queries, noise, solver)
    if striped is not None:
        return striped
    by_axis = noise_by_axis(queries, noise) if isinstance(queries, Kronecker) else None
    if isinstance(queries, Kronecker) and by_axis is not None:
        return KroneckerSolver(queries, by_axis)
    return (DenseSolver if queries.cells <= LARGEST_DENSE else IterativeSolver)(queries, noise)


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
        levels = BlockTree.of_halves(queries.cells).boundaries
        means = tree_energies(workload, levels, np.ones(queries.cells), None)
        sums = [mean * np.square(np.diff(level)) for mean, level in zip(means, levels, strict=True)]
        norms = [sums[0]]
        for whole, halves in itertools.pairwise(sums):
            padded = np.append(halves, np.zeros(2 * whole.size - halves.size))
            norms.append(2 * padded.reshape(-1, 2).sum(axis=1) - whole)
        return float(np.concatenate(norms) @ (self._noise / np.square(queries.sizes)))
