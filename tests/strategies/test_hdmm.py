"""HDMM against dense linear algebra, and against HB."""

import functools
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.queries import (
    AllRange,
    Explicit,
    Grid,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Partition,
    Prefix,
    RandomRanges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.queries.axes import energies_by_axes
from adyton.solving.solvers import DenseSolver, solver
from adyton.solving.trees import TreeSolver
from adyton.strategies import hdmm as module
from adyton.strategies.base import Strategy
from adyton.strategies.hdmm import Problem, hdmm, optimise, weighted_marginals


def dense(queries):
    return np.concatenate(list(queries.rows()))


def error_of(strategy, workload):
    """Root of the total squared error at ε = 1, from the matrices."""
    weights = np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights
    matrix = dense(strategy.queries) * weights[:, None]
    matrix /= np.abs(matrix).sum(axis=0).max()
    gram, inverse = workload.gram(), np.linalg.pinv(matrix)
    np.testing.assert_allclose(gram @ inverse @ matrix, gram, atol=1e-6 * gram.max())  # the workload can be answered
    return np.sqrt(2 * np.vdot(inverse, gram @ inverse))


@functools.cache
def hb_error(cells, kind):
    """HB, with or without its root, whichever is better."""
    heights = {branch: next(h for h in range(1, 64) if branch**h >= cells) for branch in range(2, cells + 1)}
    branch = min(heights, key=lambda b: (b - 1) * heights[b] ** 3 - 2 * (b + 1) * heights[b] ** 2 / 3)
    sizes = [branch**power for power in range(heights[branch] - 1, -1, -1)]
    trees = [Hierarchy.of_blocks(cells, sizes, root=root) for root in (True, False)]
    return min(np.sqrt(TreeSolver(t, 2.0 * len(t.boundaries) ** 2).total_variance(kind(cells))) for t in trees)


# ---- OPT₀ ----------------------------------------------------------------------------------------------------------


def blocks_problem(cells, starts, base, gram):
    """The problem for blocks of cells whose base strategy has this covariance, from its definition."""
    sizes = np.diff([*starts, cells])
    join = np.repeat(np.eye(len(starts)), sizes, axis=1)
    variances = np.diagonal(join @ base @ join.T)
    profile = join @ base / variances[:, None]
    roots = np.sqrt(variances)
    errors = np.array([(gram * base * np.outer(row, row)).sum() for row in join])
    return Problem(profile @ gram @ profile.T * np.outer(roots, roots), errors, variances), join


@pytest.mark.parametrize("kind", [Prefix, AllRange, lambda n: RandomRanges(n, 20, seed=4)])
def test_value_and_gradient(kind):
    cells, starts = 12, [0, 3, 4, 8, 10]
    gram, random = kind(cells).gram(), np.random.default_rng(1)
    strategy = np.eye(cells) * 0.7
    pairs = [np.isin(np.arange(cells), pair) * 0.3 for pair in ((0, 1, 2), (3,), (4, 5), (6, 7), (8, 9), (10,), (11,))]
    base = np.linalg.inv(strategy.T @ strategy + np.transpose(pairs) @ pairs)  # a tree inside the blocks
    problem, join = blocks_problem(cells, starts, base, gram)
    theta = random.random((3, len(starts)))
    b = theta * np.sqrt(problem.variances)
    value, gradient = problem.value(b)
    e = 1 + theta.sum(axis=0)
    whole = (
        np.diag(1 / (e @ join)) @ (np.linalg.inv(base) + (theta @ join).T @ (theta @ join)) @ np.diag(1 / (e @ join))
    )
    assert value == pytest.approx(np.trace(gram @ np.linalg.inv(whole)))
    direction, step = random.normal(size=b.shape), 1e-6
    slope = (problem.value(b + step * direction)[0] - problem.value(b - step * direction)[0]) / (2 * step)
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-5)
    joined = problem.joined(np.array([0, 2, 3]))
    coarse = random.random((2, 3))
    fine = np.repeat(coarse, [2, 1, 2], axis=1)
    assert joined.value(coarse * np.sqrt(joined.variances))[0] == pytest.approx(
        problem.value(fine * np.sqrt(problem.variances))[0]
    )


@pytest.mark.parametrize(("kind", "structured"), [(Prefix, True), (AllRange, True), (Identity, False)])
def test_products_with_the_gram_matrix(kind, structured):
    gram = kind(9).gram()
    problem = Problem(gram, np.diagonal(gram), np.ones(9))
    rows = np.random.default_rng(0).normal(size=(3, 9))
    assert (problem._factors is not None) == structured
    np.testing.assert_allclose(problem.product(rows), rows @ gram)
    np.testing.assert_allclose(
        problem.joined(np.array([0, 4, 5])).product(rows[:, :3]), rows[:, :3] @ problem.joined(np.array([0, 4, 5])).gram
    )


@pytest.mark.parametrize("kind", [Prefix, AllRange])
@pytest.mark.parametrize("cells", [256, *(pytest.param(cells, marks=pytest.mark.full) for cells in (512, 1024))])
def test_at_least_8_percent_below_hb(kind, cells):
    strategy = hdmm(kind(cells))
    assert error_of(strategy, kind(cells)) < 0.92 * hb_error(cells, kind)


def test_rounding_costs_little_and_the_kernel_agrees():
    workload = Prefix(128)
    strategy, ideal = module.one_order(workload)
    exact = error_of(strategy, workload)
    assert exact == pytest.approx(np.sqrt(2 * ideal), rel=1e-4)
    assert all(part.largest_coefficient() <= 1 << 10 for part in strategy.queries.parts)
    noise = np.asarray(strategy.variances(F(1, 100))) * 0.01**2
    matrix = dense(strategy.queries) / np.sqrt(noise)[:, None]
    assert np.sqrt(np.trace(np.linalg.solve(matrix.T @ matrix, workload.gram()))) == pytest.approx(exact, rel=1e-3)
    again = hdmm(workload)
    np.testing.assert_array_equal(again.weights, strategy.weights)
    measured = again.measure(ad.Kernel.simulated(np.arange(128), epsilon=1, seed=1).root, "0.5")
    assert measured.answers.shape[-1] == again.queries.count


@pytest.mark.parametrize("cells", [100, 256])
@pytest.mark.parametrize("kind", [Prefix, AllRange, lambda n: RandomRanges(n, 40, seed=4)])
def test_rows_on_blocks_of_cells(cells, kind, monkeypatch):
    monkeypatch.setattr(module, "_DEEPEST", 5)
    workload = kind(cells)
    strategy, error = module.one_order(workload)
    assert isinstance(strategy.queries, Stack)
    assert strategy.queries.parts[1].outer.cells == 32
    np.testing.assert_allclose(strategy.queries._absolute_transpose(strategy.weights), 1)
    assert error_of(strategy, workload) == pytest.approx(np.sqrt(2 * error), rel=1e-3)


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 33, pytest.param(100, marks=pytest.mark.full)])
def test_never_worse_than_single_cells(cells):
    wide = Explicit.from_rows(np.random.default_rng(cells).integers(0, 3, (2 * cells, cells)))
    for workload in (Prefix(cells), AllRange(cells), RandomRanges(cells, 50, seed=2), wide, Weighted(wide, 0.5)):
        strategy = hdmm(workload)
        assert error_of(strategy, workload) <= np.sqrt(2 * workload.squared_norm()) * (1 + 1e-4)
        assert strategy.weights is None or strategy.weights.min() > 0


def test_disjoint_and_few_queries_are_measured_themselves():
    groups = Reduction(Partition([0, 0, 1, 2]))
    for workload in (Identity((3, 4)), Total(5), Grid.of_blocks((8, 8), (2, 2)), groups):
        assert hdmm(workload).queries is workload
        assert hdmm(workload).weights is None
    few = Explicit.from_rows([[1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]])
    assert error_of(hdmm(few), few) <= np.sqrt(2 * 2 * 4) + 1e-9


def test_descent_keeps_zero_where_nothing_is_gained():
    problem = Problem(np.eye(16), np.ones(16), np.ones(16))
    theta, value = optimise(problem, 2, [np.arange(16)])
    assert theta.min() >= 0
    assert value == pytest.approx(16, rel=1e-3)


# ---- several axes --------------------------------------------------------------------------------------------------


def test_products_of_factors():
    workload = Kronecker([Prefix(32), Identity(3), Total(4)])
    strategy = hdmm(workload)
    alone = error_of(hdmm(Prefix(32)), Prefix(32)) / np.sqrt(2)
    assert error_of(strategy, workload) == pytest.approx(np.sqrt(2 * 3) * alone, rel=1e-3)
    assert strategy.weights.shape == (strategy.queries.count,)
    assert hdmm(Kronecker([Identity(2), Total(3)])).weights is None


@pytest.mark.parametrize(("domain", "kind"), [((32, 16), "long"), ((24, 24), "uniform"), ((16, 16), "short")])
def test_boxes(domain, kind):
    workload = RandomRanges(domain, 150, seed=1, kind=kind)
    strategy = hdmm(workload)
    identity = np.sqrt(2 * workload.squared_norm())
    assert error_of(strategy, workload) <= identity * {"long": 0.75, "uniform": 0.95, "short": 1.0001}[kind]


def test_other_workloads_of_several_axes():
    workload = Stack([RandomRanges((8, 8), 30, seed=1, kind="long"), Total((8, 8))])
    strategy = hdmm(workload)
    assert strategy.queries.domain == (8, 8)
    assert error_of(strategy, workload) < np.sqrt(2 * workload.squared_norm())


@pytest.mark.parametrize(
    ("domain", "sets"),
    [((4, 3, 5), [(0,), (1, 2)]), ((2, 2), [(0,), (1,)]), ((3, 4, 2), [(0, 1), (1, 2), (0, 2), ()]), ((6,), [(0,)])],
)
def test_marginals(domain, sets):
    workload = Marginals(domain, sets)
    strategy, closed_form = weighted_marginals(workload)
    error = error_of(strategy, workload)
    assert error <= np.sqrt(2 * workload.count) * len(sets) * (1 + 1e-3)
    assert error <= np.sqrt(2 * workload.squared_norm()) * (1 + 1e-3)
    assert error == pytest.approx(np.sqrt(2 * closed_form))
    theta = np.zeros(1 << len(domain))
    for chosen, first in zip(strategy.queries.axes, np.cumsum([0, *strategy.queries.sizes[:-1]]), strict=True):
        theta[sum(1 << axis for axis in chosen)] = strategy.weights[first]
    assert theta.sum() == pytest.approx(1)
    random = np.random.default_rng(0)
    for _ in range(20):  # no other weights do better
        other = np.maximum(theta + random.normal(size=theta.size) * 0.03, 1e-4)
        axes = [tuple(a for a in range(len(domain)) if number >> a & 1) for number in range(theta.size)]
        queries = Marginals(domain, axes)
        rival = Strategy(queries, np.repeat(other, queries.sizes))
        assert error_of(rival, workload) >= error * (1 - 1e-3)


DOMAIN = (6, 3, 2)
UNIONS = {
    "weighted pairs": Weighted(Marginals(DOMAIN, way=2), np.repeat([3.0, 1.0, 0.5], [18, 12, 6])),
    "prefixes or any": Kronecker([Prefix(6), Stack([Identity(3), Total(3)]), Stack([Identity(2), Total(2)])]),
    "both": Stack([Kronecker([Prefix(6), Identity(3), Total(2)]), Weighted(Marginals(DOMAIN, way=1), 3.0)]),
    "weighted boxes": Weighted(RandomRanges(DOMAIN, 9, seed=1), np.arange(1, 10)),
}


@pytest.mark.parametrize("name", UNIONS)
def test_what_a_workload_asks_about_sets_of_axes(name):
    """tr(P_T·WᵀW) from the matrices; and by them, and axis by axis, the error of whatever HDMM chooses."""
    workload = UNIONS[name]
    energies, gram = energies_by_axes(workload), workload.gram()
    for number, energy in enumerate(energies):
        means = [np.full((side, side), 1 / side) for side in DOMAIN]
        factors = [np.eye(len(m)) - m if number >> axis & 1 else m for axis, m in enumerate(means)]
        assert energy == pytest.approx(np.vdot(functools.reduce(np.kron, factors), gram))
    strategy = hdmm(workload)
    exact = error_of(strategy, workload)
    assert exact <= error_of(Strategy(Identity(DOMAIN)), workload) * (1 + 1e-3)
    assert exact <= np.sqrt(2 * weighted_marginals(workload)[1]) * (1 + 2e-3)
    noise = np.square(1 / (np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights))
    pairs = Marginals(DOMAIN, way=2), np.repeat([3.0, 1.0, 0.5], [18, 12, 6])
    for queries, own in ((strategy.queries, noise), pairs):
        fast, slow = solver(queries, own), DenseSolver(queries, own)
        assert not isinstance(fast, DenseSolver)
        assert fast.complete == slow.complete
        assert fast.total_variance(workload) == pytest.approx(slow.total_variance(workload))
        answers = np.random.default_rng(0).normal(size=(2, queries.count))
        np.testing.assert_allclose(fast.solve(answers), slow.solve(answers), atol=1e-9)
        rows = dense(workload)
        np.testing.assert_allclose(fast.variances(rows), slow.variances(rows), atol=1e-9)


def test_bad_workloads_are_refused():
    with pytest.raises(BadInput):
        hdmm(np.eye(3))
