"""Least squares on hierarchies beside general solvers on the same sparse matrix, in one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Hierarchy
from adyton.solving.nonnegative import optimality
from adyton.solving.trees import TreeSolver, nonnegative_tree_least_squares
from adyton_lab.bench.timing import timed


@dataclass(frozen=True, kw_only=True)
class InferenceComparison:
    """One problem: seconds of our solver and of its peer, and how near both come to the optimum."""

    problem: str
    cells: int
    peer: str
    seconds: float
    peer_seconds: float
    reached: float
    """How far from optimal: the norm of the (projected) gradient, relative to that at zero."""
    peer_reached: float
    times_faster: float


def compare(least_squares_cells: int = 1 << 20, nonnegative_cells: int = 1 << 16) -> Iterator[InferenceComparison]:
    """Binary hierarchies with all levels, noise of scale 1 on sparse counts. Building matrices is not timed."""
    yield _least_squares(least_squares_cells)
    yield _nonnegative(nonnegative_cells)


def steps() -> int:
    """How many records :func:`compare` yields."""
    return 2


def _least_squares(cells: int) -> InferenceComparison:
    from scipy.sparse.linalg import lsmr

    tree, answers = _problem(cells)
    matrix = _sparse(tree)
    TreeSolver(tree, 1.0).solve(answers)
    seconds, ours = timed(lambda: TreeSolver(tree, 1.0).solve(answers))
    peer_seconds, theirs = timed(lambda: lsmr(matrix, answers)[0])
    start = float(np.linalg.norm(matrix.T @ answers))

    def reached(x: Reals) -> float:
        return float(np.linalg.norm(matrix.T @ (matrix @ x - answers))) / start

    return InferenceComparison(
        problem="least squares",
        cells=cells,
        peer="LSMR, default tolerance",
        seconds=seconds,
        peer_seconds=peer_seconds,
        reached=reached(ours),
        peer_reached=reached(theirs),
        times_faster=peer_seconds / seconds,
    )


def _nonnegative(cells: int) -> InferenceComparison:
    from scipy.optimize import minimize

    tree, answers = _problem(cells)
    matrix = _sparse(tree)
    ones = np.ones(tree.count)
    nonnegative_tree_least_squares(tree, answers, ones)
    seconds, ours = timed(lambda: nonnegative_tree_least_squares(tree, answers, ones))

    def misfit(x: Reals) -> tuple[float, Reals]:
        rest = matrix @ x - answers
        return 0.5 * float(rest @ rest), matrix.T @ rest

    def run() -> Reals:
        options: Any = {"maxiter": 2000, "maxfun": 4000, "ftol": 0.0, "gtol": 1e-6}
        found = minimize(
            misfit, np.zeros(cells), jac=True, bounds=[(0, None)] * cells, method="L-BFGS-B", options=options
        )
        return np.asarray(found.x)

    peer_seconds, theirs = timed(run)

    def reached(x: Reals) -> float:
        return float(np.max(optimality(tree.__matmul__, tree.transpose, answers, ones, x)))

    return InferenceComparison(
        problem="non-negative least squares",
        cells=cells,
        peer="L-BFGS-B",
        seconds=seconds,
        peer_seconds=peer_seconds,
        reached=reached(ours),
        peer_reached=reached(theirs),
        times_faster=peer_seconds / seconds,
    )


def _problem(cells: int) -> tuple[Hierarchy, Reals]:
    """A binary tree and noisy sums of sparse counts."""
    random = np.random.default_rng(0)
    tree = Hierarchy.of_blocks(cells, [1 << power for power in range(cells.bit_length() - 1, -1, -1)])
    counts = random.poisson(random.gamma(0.1, 20, cells))
    return tree, (tree @ counts) + random.laplace(0, 1, tree.count)


def _sparse(tree: Hierarchy) -> Any:
    from scipy import sparse

    levels = [
        sparse.csr_array((np.ones(tree.cells), np.arange(tree.cells), level), shape=(level.size - 1, tree.cells))
        for level in tree.boundaries
    ]
    return sparse.vstack(levels, format="csr")
