"""Least squares for a tree and some further queries, against dense linear algebra."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries import AllRange, Explicit, Hierarchy, Identity, Prefix, Product, Reduction, Stack
from adyton.queries.partition import Partition
from adyton.solving.product_solver import AugmentedSolver

RANDOM = np.random.default_rng(3)
ROWS = Explicit.from_rows(RANDOM.integers(0, 5, (3, 8)))
LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2])
GROUPED = Product(Explicit.from_rows([[1, 4, 0], [2, 1, 1]]), Reduction(Partition(LABELS)))
STACKS = {
    "cells": Stack([Identity(8), ROWS]),
    "tree": Stack([Hierarchy.of_blocks(8, [4, 1]), ROWS]),
    "tree in an order": Stack([Hierarchy(8, [[0, 4, 8], range(9)], [3, 1, 2, 0, 7, 6, 5, 4]), ROWS]),
    "a cell known from the rest": Stack([Hierarchy(8, [[0, 8], range(9)], None, [0, *range(2, 9)]), ROWS]),
    "cells not told apart": Stack([Hierarchy(8, [[0, 3, 6, 8], [0, 1, 3, 6, 8]], None, [0, 1, 2, 3]), GROUPED]),
}


@pytest.mark.parametrize("name", STACKS)
def test_estimate_and_variances_are_those_of_dense_least_squares(name):
    queries = STACKS[name]
    noise = RANDOM.uniform(0.5, 4, queries.count)
    solver = AugmentedSolver(queries, noise)
    matrix = np.concatenate(list(queries.rows())) / np.sqrt(noise)[:, None]
    answers = RANDOM.normal(size=(4, queries.count))
    inverse = np.linalg.pinv(matrix)
    expected = (answers / np.sqrt(noise)) @ inverse.T
    np.testing.assert_allclose(solver.solve(answers) @ matrix.T, expected @ matrix.T, atol=1e-9)
    assert solver.complete == (np.linalg.matrix_rank(matrix) == 8)
    if solver.complete:
        np.testing.assert_allclose(solver.solve(answers), expected, atol=1e-9)
    asked = matrix[:4] if not solver.complete else np.tril(np.ones((8, 8)))
    np.testing.assert_allclose(solver.variances(asked), np.square(asked @ inverse).sum(axis=1))
    if solver.complete:
        for workload in (Prefix(8), AllRange(8), Stack([Identity(8), ROWS])):
            table = np.concatenate(list(workload.rows()))
            assert solver.total_variance(workload) == pytest.approx(np.square(table @ inverse).sum())


def test_other_queries_are_refused():
    for queries in (Identity(3), Stack([ROWS, Identity(8)]), Stack([Identity(8), ROWS, ROWS])):
        assert not AugmentedSolver.suits(queries)
        with pytest.raises(BadInput):
            AugmentedSolver(queries, 1.0)
