"""Whether answers follow from what was measured: as the ranks of the written-out matrices say, for every solver."""

import itertools

import numpy as np
import pytest

from adyton.queries import (
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Partition,
    Prefix,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.solving.noise_moments import among, determined
from adyton.solving.solvers import IterativeSolver, solver
from over_cases import over

DOMAIN = (4, 6)
RANDOM = np.random.default_rng(0)
QUERIES = {
    "cells": Identity(DOMAIN),
    "total": Total(DOMAIN),
    "wavelet": Kronecker([Haar(4), Haar(6)]),
    "blocks": Hierarchy(DOMAIN, [[0, 24], [0, 6, 12, 18, 24]]),
    "blocks and some cells": Hierarchy(DOMAIN, [[0, 6, 24], [0, 1, 2, 3, 4, 5, 6, 24]]),
    "grid": Grid.of_blocks(DOMAIN, (2, 3)),
    "groups": Reduction(Partition(np.arange(24) % 5)),
    "groups without some cells": Reduction(Partition(np.arange(24) % 5 - 1)),
    "product": Kronecker([Prefix(4), Total(6)]),
    "rows": Marginals(DOMAIN, [(0,)]),
    "rows and columns": Marginals(DOMAIN, way=1),
    "blocks and ranges": Stack([Hierarchy(DOMAIN, [[0, 6, 12, 18, 24]]), Ranges(DOMAIN, [[1, 0]], [[2, 5]])]),
    "boxes": Ranges(DOMAIN, [[0, 0], [1, 2], [0, 3]], [[3, 2], [2, 5], [3, 5]]),
    "anything": Explicit.from_rows(RANDOM.integers(-1, 3, (9, 24)), DOMAIN),
    "much of anything": Explicit.from_rows(RANDOM.integers(-1, 3, (40, 24)), DOMAIN),
    "weights": Weighted(Marginals(DOMAIN, [(0,), ()]), [1e-9, 1, 1, 1, 1e9]),
    "hardly a cell": Stack([Total(DOMAIN), Weighted(Ranges(DOMAIN, [[0, 0]], [[0, 0]]), 1e-9)]),
}
MEASURED = [name for name, queries in QUERIES.items() if queries.whole]


def written_out(queries):
    return (queries @ np.eye(24)).T


def follows(measured, asked):
    """By ranks, each row scaled to length 1."""
    matrix, more = (written_out(queries) for queries in (measured, asked))
    more = more / np.linalg.norm(more, axis=1, keepdims=True)
    return np.linalg.matrix_rank(np.concatenate([matrix, more]), 1e-6) == np.linalg.matrix_rank(matrix, 1e-6)


@over(MEASURED)
def test_as_the_ranks_say(measured):
    prepared = solver(QUERIES[measured], RANDOM.uniform(0.5, 2, QUERIES[measured].count))
    for name, asked in QUERIES.items():
        assert determined(QUERIES[measured], prepared, asked) == follows(QUERIES[measured], asked), name


@pytest.mark.parametrize("measured", MEASURED)
def test_a_solver_that_may_stop_too_early_errs_on_the_safe_side(measured):
    prepared = IterativeSolver(QUERIES[measured], RANDOM.uniform(0.5, 2, QUERIES[measured].count))
    for name, asked in QUERIES.items():
        assert determined(QUERIES[measured], prepared, asked) <= follows(QUERIES[measured], asked), name
    marginals = QUERIES["rows and columns"]
    assert determined(marginals, IterativeSolver(marginals, np.ones(marginals.count)), QUERIES["rows"])


def test_what_shows_is_so():
    for measured, asked in itertools.product(MEASURED, QUERIES):
        if among(QUERIES[measured], QUERIES[asked]):
            assert follows(QUERIES[measured], QUERIES[asked])
    assert among(QUERIES["rows and columns"], QUERIES["rows"])
    assert among(QUERIES["rows and columns"], QUERIES["weights"])
    assert not among(QUERIES["rows"], QUERIES["rows and columns"])


def test_a_solver_that_does_stop_too_early_determines_nothing():
    cells = Prefix(64)
    hasty = IterativeSolver(cells, np.ones(64))
    hasty._until = {"maxiter": 5}
    assert determined(cells, solver(cells, 1.0), cells)
    assert not determined(cells, hasty, cells)
