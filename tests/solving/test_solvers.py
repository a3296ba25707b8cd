"""Every solver against dense generalised least squares, and its variances against its own linear map."""

import numpy as np
import pytest
from scipy.optimize import nnls

from adyton.kernel.kernel import Kernel
from adyton.queries import (
    AllRange,
    Explicit,
    Grid,
    Haar,
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
)
from adyton.solving.solvers import DenseSolver, IterativeSolver, as_tree, least_squares, solver
from over_cases import over

CASES = {
    "cells": Identity(6),
    "cells 2-D": Identity((2, 3)),
    "total": Total(5),
    "haar": Haar(8),
    "haar, one cell": Haar(1),
    "haar, padded": Haar(5),
    "haar 2-D": Kronecker([Haar(4), Haar(2)]),
    "haar 2-D, padded": Kronecker([Haar(3), Haar(5)]),
    "product": Kronecker([Prefix(3), Hierarchy(2, [[0, 2], [0, 1, 2]])]),
    "tree": Hierarchy.of_blocks(7, [4, 2, 1]),
    "groups": Reduction(Partition([0, 1, 0, 2, 1])),
    "groups with cells left out": Reduction(Partition([0, -1, 0, 1])),
    "grid": Grid.of_blocks((4, 5), (2, 2)),
    "prefixes": Prefix(6),
    "intervals": AllRange(5),
    "explicit": Explicit.from_rows([[1, 2, 0], [0, -1, 1], [1, 1, 1], [0, 0, 3]]),
    "marginals": Marginals((2, 3), way=1),
    "stack": Stack([Total(4), Identity(4)]),
}
EQUAL = {"haar 2-D", "haar 2-D, padded", "product"}
PADDED = {"haar, padded", "haar 2-D, padded"}


@over(CASES)
def test_estimate_and_variances(name):
    queries = CASES[name]
    random = np.random.default_rng(1)
    noise = np.full(queries.count, 2.0) if name in EQUAL else random.uniform(0.5, 3, queries.count)
    chosen = solver(queries, noise)
    matrix = np.vstack(list(queries.rows()))
    linear = chosen.solve(np.eye(queries.count)).T
    assert chosen.solve(np.zeros((2, 3, queries.count))).shape == (2, 3, queries.cells)
    if name not in PADDED:
        scaled = matrix / np.sqrt(noise)[:, None]
        fitted = scaled @ np.linalg.pinv(scaled) / np.sqrt(noise)
        np.testing.assert_allclose(matrix / np.sqrt(noise)[:, None] @ linear, fitted, atol=1e-9)
    if chosen.complete:
        np.testing.assert_allclose(linear @ matrix, np.eye(queries.cells), atol=1e-9)  # unbiased
    assert chosen.complete == (np.linalg.matrix_rank(matrix) == queries.cells)
    workloads = [Identity(queries.domain), Total(queries.domain), RandomRanges(queries.domain, 20, seed=3)]
    if len(queries.domain) == 1:
        workloads += [Prefix(queries.domain), AllRange(queries.domain)]
    if len(queries.domain) == 2:
        workloads += [Kronecker([Prefix(side) for side in queries.domain]), Marginals(queries.domain, way=1)]
    for workload in workloads:
        rows = np.vstack(list(workload.rows()))
        expected = np.square(rows @ linear) @ noise
        np.testing.assert_allclose(chosen.variances(rows), expected, atol=1e-9)
        assert chosen.total_variance(workload) == pytest.approx(expected.sum())


def test_iterative_solver_agrees_with_the_dense_one():
    queries = RandomRanges(40, 100, seed=0)
    noise = np.random.default_rng(0).uniform(0.5, 3, 100)
    dense, iterative = DenseSolver(queries, noise), IterativeSolver(queries, noise)
    answers = np.random.default_rng(1).normal(size=(2, 100))
    np.testing.assert_allclose(iterative.solve(answers), dense.solve(answers), atol=1e-5)
    few = RandomRanges(40, 10, seed=5)
    assert iterative.total_variance(few) == pytest.approx(dense.total_variance(few), rel=1e-6)
    many = RandomRanges(40, 500, seed=6)
    assert iterative.total_variance(many) == pytest.approx(dense.total_variance(many), rel=0.5)  # 64 fixed probes


@pytest.mark.parametrize("name", ["total", "tree", "groups", "groups with cells left out", "grid"])
def test_trees_ask_the_same_queries(name):
    queries = CASES[name]
    x = np.arange(queries.cells) ** 2
    np.testing.assert_array_equal(as_tree(queries) @ x, queries @ x)


def test_measurements_of_reduced_and_split_vectors_are_solved_together():
    x = np.array([3, 1, 4, 1, 5, 9])
    kernel = Kernel.simulated(x, epsilon=1000, seed=0, trials=50)
    root = kernel.root
    groups = root.reduce(Partition([0, 0, 1, 1, 2, 2])).measure(Prefix(3), epsilon=200)
    left, right = root.split(Partition([0, 1, 0, 1, 0, 1]))
    parts = [left.measure(Identity(3), epsilon=200), right.measure(Total(3), epsilon=200)]
    again = right.reduce(Partition([0, 1, -1])).measure(Identity(2), epsilon=200)
    estimate = least_squares(groups, *parts, again)
    np.testing.assert_allclose(estimate, np.tile(x, (50, 1)), atol=1e-6)
    assert kernel.spent == 600  # the halves are disjoint, and the last measurement came on top of the right one


def test_one_reduced_measurement_is_spread_evenly():
    root = Kernel.simulated([4, 8, 1], epsilon=100, seed=0).root
    groups = root.reduce(Partition([0, 0, 1])).measure(Identity(2), epsilon=100)
    np.testing.assert_allclose(least_squares(groups), [6, 6, 1])


@pytest.mark.parametrize("queries", [Identity(4), Hierarchy.of_blocks(4, [2, 1]), Prefix(4)], ids=str)
def test_nonnegative_least_squares_of_measurements(queries):
    """The misfit is the least among cells of at least 0, as scipy finds it."""
    kernel = Kernel.simulated([0, 7, 0, 0], epsilon="1/2", seed=3, trials=4)
    weights = np.linspace(1, 2, queries.count)
    answer = kernel.root.measure(queries, "1/2", weights)
    estimate = least_squares(answer, nonnegative=True)
    matrix = np.vstack(list(queries.rows())) / answer.standard_deviations[:, None]
    for trial, answers in zip(estimate, answer.answers / answer.standard_deviations, strict=True):
        assert trial.min() >= 0
        assert np.linalg.norm(matrix @ trial - answers) == pytest.approx(nnls(matrix, answers)[1], rel=1e-5)


def test_products_with_noise_that_is_a_product_are_solved_axis_by_axis():
    queries = Kronecker([Prefix(3), Hierarchy(4, [[0, 4], [0, 1, 2, 3, 4]])])
    random = np.random.default_rng(0)
    noise = np.multiply.outer(random.uniform(1, 3, 3), random.uniform(1, 3, 5)).reshape(-1)
    chosen, dense = solver(queries, noise), DenseSolver(queries, noise)
    assert type(chosen).__name__ == "KroneckerSolver"
    answers = random.normal(size=(2, queries.count))
    np.testing.assert_allclose(chosen.solve(answers), dense.solve(answers), atol=1e-9)
    for workload in (Identity((3, 4)), RandomRanges((3, 4), 9, seed=0), Marginals((3, 4), way=1)):
        assert chosen.total_variance(workload) == pytest.approx(dense.total_variance(workload))
    assert isinstance(solver(queries, random.uniform(1, 3, queries.count)), DenseSolver)
