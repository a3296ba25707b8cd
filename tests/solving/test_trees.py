"""Tree least squares and its error, against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adyton.queries import AllRange, Explicit, Hierarchy, Identity, Prefix, RandomRanges, Stack, Total
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.solving.energies import _energies_by_rows, _energies_of_boxes, tree_energies
from adyton.solving.trees import TreeSolver
from over_cases import over


def dense(queries):
    return np.vstack(list(queries.rows()))


@st.composite
def trees(draw):
    cells = draw(st.integers(1, 12))
    levels, inner = [], set()
    for _ in range(draw(st.integers(1, 4))):
        if cells > 1:
            inner |= draw(st.sets(st.integers(1, cells - 1), max_size=6))
        levels.append([0, *sorted(inner), cells])
    order = draw(st.none() | st.permutations(range(cells)))
    blocks = sum(len(level) - 1 for level in levels)
    measured = draw(st.none() | st.sets(st.integers(0, blocks - 1), min_size=1).map(sorted))
    return Hierarchy(cells, levels, order, measured)


@given(trees(), st.integers(0, 2**32 - 1))
@example(Hierarchy(3, [[0, 3], [0, 1, 3], [0, 1, 2, 3]], None, [0, 4]), 0)
@settings(max_examples=100, deadline=None)
def test_solution_and_variances_are_those_of_dense_least_squares(tree, seed):
    random = np.random.default_rng(seed)
    variances = random.uniform(0.2, 5, tree.count)
    solver = TreeSolver(tree, variances)
    matrix = dense(tree) / np.sqrt(variances)[:, None]
    answers = random.normal(size=(3, tree.count)) * 10
    expected = answers / np.sqrt(variances) @ np.linalg.pinv(matrix).T
    estimate = solver.solve(answers)
    np.testing.assert_allclose(estimate, expected, atol=1e-7)
    queries = np.concatenate([np.eye(tree.cells), np.tril(np.ones((tree.cells, tree.cells)))])
    inverse = solver.solve(np.eye(tree.count)).T  # cells × answers: the linear map itself
    np.testing.assert_allclose(
        solver.variances(queries), np.square(queries @ inverse * np.sqrt(variances)).sum(axis=1), atol=1e-8
    )
    for workload in (Identity(tree.cells), Prefix(tree.cells), AllRange(tree.cells)):
        total = np.square(dense(workload) @ inverse * np.sqrt(variances)).sum()
        assert solver.total_variance(workload) == pytest.approx(total, abs=1e-7)
    assert solver.complete == (np.linalg.matrix_rank(matrix) == tree.cells)


def test_cells_that_cannot_be_told_apart_get_equal_estimates():
    solver = TreeSolver(Hierarchy(4, [[0, 1, 4]]), 1.0)
    np.testing.assert_allclose(solver.solve(np.array([5, 6])), [5, 2, 2, 2])
    assert not solver.complete


@over([1, 2, 7, 64, 100], [False, True])
def test_energies_in_closed_form_are_those_of_the_rows(cells, permuted):
    random = np.random.default_rng(cells)
    levels = list(Hierarchy.of_blocks(cells, [16, 4, 1]).boundaries)
    profile = random.uniform(0.1, 1, cells)
    order = random.permutation(cells) if permuted else None
    wide = Explicit.from_rows(random.integers(-3, 4, (9, cells)))
    workloads = (Identity(cells), Total(cells), Prefix(cells), AllRange(cells), RandomRanges(cells, 50, seed=1), wide)
    for workload in (*workloads, Stack(workloads)):
        expected = _energies_by_rows(workload, levels, profile, order)
        for got, want in zip(tree_energies(workload, levels, profile, order), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)


def test_a_million_cells_are_solved_in_linear_time():
    cells = 1 << 20
    tree = Hierarchy.of_blocks(cells, [1 << power for power in range(20, -1, -1)])
    solver = TreeSolver(tree, 1.0)
    x = np.random.default_rng(0).poisson(3, cells)
    np.testing.assert_allclose(solver.solve(tree @ x), x, atol=1e-6)


@pytest.mark.parametrize("domain", [(1, 1), (8, 8), (5, 3), (1, 7)])
def test_energies_of_boxes_are_those_of_the_rows(domain):
    tree = boxes_in_boxes(domain)
    order, levels = tree.order, tree.boundaries
    workload = RandomRanges(domain, 40, seed=2)
    for profile in (np.full(order.size, 0.3), np.linspace(1, 2, order.size)):
        assert _energies_of_boxes(workload, levels, profile, order) is not None
        expected = _energies_by_rows(workload, levels, profile, order)
        for got, want in zip(tree_energies(workload, levels, profile, order), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)
