"""Speed against peers in the same run: exact noise against OpenDP's, hierarchical least squares against general
solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.noise import ExactNoise, OpenDPNoise
from adyton.queries import Hierarchy
from adyton.solving.nonnegative import optimality
from adyton.solving.trees import TreeSolver, nonnegative_tree_least_squares
from adyton_lab.audit.statistical import laplace_fit, same_law
from adyton_lab.bench.common import Rows, timed

SCALES: tuple[Fraction, ...] = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6))


@dataclass(frozen=True, kw_only=True)
class NoiseRecord:
    """One scale: seconds for *draws* draws, medians over repeats, and p-values of the last timed samples."""

    scale: str
    draws: int
    seconds: float
    opendp_seconds: float
    times_faster: float
    fit_p: float
    """The p-value of our sample against the exact probabilities."""
    opendp_fit_p: float
    """The p-value of OpenDP's sample against the exact probabilities."""
    same_law_p: float
    """The p-value of the two samples having the same distribution."""


def noise(draws: int = 1_000_000, scales: Sequence[Rational] = SCALES, *, repeats: int = 3) -> Rows:
    """Time the exact discrete Laplace noise and OpenDP's in turn, and test whether both have the right distribution.

    One untimed draw of each loads and compiles what it needs. OpenDP is timed through its own measurement on a vector
    of 64-bit integers, including its list of results but not our conversion to an array.
    """
    if draws < 1000 or repeats < 1:
        raise BadInput("the benchmark of noise needs at least 1000 draws and 1 repeat.")
    return len(scales), (_noise(positive(scale, "scale"), draws, repeats) for scale in scales)


def _noise(scale: Fraction, draws: int, repeats: int) -> NoiseRecord:
    exact, theirs = ExactNoise(), OpenDPNoise().measurement(scale)
    zeros = [0] * draws
    exact.discrete_laplace(100_000, scale)
    theirs(zeros[:1000])
    our_times, their_times = [], []
    for _ in range(repeats):
        took, our_sample = timed(lambda: exact.discrete_laplace(draws, scale))
        our_times.append(took)
        took, their_sample = timed(lambda: theirs(zeros))
        their_times.append(took)
    return NoiseRecord(
        scale=str(scale),
        draws=draws,
        seconds=median(our_times),
        opendp_seconds=median(their_times),
        times_faster=median(their_times) / median(our_times),
        fit_p=laplace_fit(our_sample, scale),
        opendp_fit_p=laplace_fit(their_sample, scale),
        same_law_p=same_law(our_sample, their_sample),
    )


# ---- inference ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class InferenceRecord:
    """One problem: seconds of our solver and of its peer, and how close each comes to the optimum."""

    problem: str
    cells: int
    peer: str
    seconds: float
    peer_seconds: float
    reached: float
    """How far from optimal: the norm of the (projected) gradient, relative to that at zero."""
    peer_reached: float
    times_faster: float


def inference(least_squares_cells: int = 1 << 20, nonnegative_cells: int = 1 << 16) -> Rows:
    """Binary hierarchies with all levels, noise of scale 1 on sparse counts. Building matrices is not timed."""

    def rows() -> Iterator[InferenceRecord]:
        yield _least_squares(least_squares_cells)
        yield _nonnegative(nonnegative_cells)

    return 2, rows()


def _least_squares(cells: int) -> InferenceRecord:
    from scipy.sparse.linalg import lsmr

    tree, answers = _problem(cells)
    matrix = sparse_matrix(tree)
    start = float(np.linalg.norm(matrix.T @ answers))
    return _inference(
        "least squares",
        cells,
        lambda: TreeSolver(tree, 1.0).solve(answers),
        "LSMR, default tolerance",
        lambda: lsmr(matrix, answers)[0],
        lambda x: float(np.linalg.norm(matrix.T @ (matrix @ x - answers))) / start,
    )


def _nonnegative(cells: int) -> InferenceRecord:
    from scipy.optimize import minimize

    tree, answers = _problem(cells)
    matrix, ones = sparse_matrix(tree), np.ones(tree.count)

    def loss(x: Reals) -> tuple[float, Reals]:
        rest = matrix @ x - answers
        return 0.5 * float(rest @ rest), matrix.T @ rest

    def peer() -> Reals:
        options: Any = {"maxiter": 2000, "maxfun": 4000, "ftol": 0.0, "gtol": 1e-6}
        bounds = [(0, None)] * cells
        return np.asarray(
            minimize(loss, np.zeros(cells), jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
        )

    return _inference(
        "non-negative least squares",
        cells,
        lambda: nonnegative_tree_least_squares(tree, answers, ones),
        "L-BFGS-B",
        peer,
        lambda x: float(np.max(optimality(tree.__matmul__, tree.transpose, answers, ones, x))),
    )


def _inference(
    problem: str,
    cells: int,
    solve: Callable[[], Reals],
    peer: str,
    peer_solve: Callable[[], Reals],
    reached: Callable[[Reals], float],
) -> InferenceRecord:
    """Time both solvers on the same problem; ours runs once before, to compile its loops."""
    solve()
    (seconds, ours), (peer_seconds, theirs) = timed(solve), timed(peer_solve)
    return InferenceRecord(
        problem=problem,
        cells=cells,
        peer=peer,
        seconds=seconds,
        peer_seconds=peer_seconds,
        reached=reached(ours),
        peer_reached=reached(theirs),
        times_faster=peer_seconds / seconds,
    )


def binary_tree(cells: int) -> Hierarchy:
    """A binary hierarchy with all levels."""
    return Hierarchy.of_blocks(cells, [1 << power for power in range(cells.bit_length() - 1, -1, -1)])


def _problem(cells: int) -> tuple[Hierarchy, Reals]:
    """A binary tree and noisy sums of sparse counts."""
    random, tree = np.random.default_rng(0), binary_tree(cells)
    counts = random.poisson(random.gamma(0.1, 20, cells))
    return tree, (tree @ counts) + random.laplace(0, 1, tree.count)


def sparse_matrix(tree: Hierarchy) -> Any:
    """The queries of a tree as a sparse matrix of SciPy."""
    from scipy import sparse

    levels = [
        sparse.csr_array((np.ones(tree.cells), np.arange(tree.cells), level), shape=(level.size - 1, tree.cells))
        for level in tree.boundaries
    ]
    return sparse.vstack(levels, format="csr")
