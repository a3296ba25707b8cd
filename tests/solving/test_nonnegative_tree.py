"""Non-negative least squares on trees: against enumeration of active sets, scipy, and the solver on operators."""

import numpy as np
import pytest
from nonnegative_oracles import binary_tree, by_enumeration, misfit, noisy_counts, operators, random_tree, tree_matrix
from scipy.optimize import nnls

from adyton.errors import BadInput
from adyton.queries.hierarchy import BlockTree
from adyton.solving.nonnegative import nonnegative_least_squares, optimality
from adyton.solving.trees import nonnegative_tree_least_squares
from over_cases import over


def solved(levels, answers, precisions):
    return nonnegative_tree_least_squares(BlockTree(int(levels[0][-1]), levels), answers, precisions)


@over(range(60))
def test_tree_agrees_with_scipy(seed):
    """Any shape of tree; many blocks not measured."""
    rng = np.random.default_rng(seed)
    levels, matrix = random_tree(rng, int(rng.integers(1, 10)), int(rng.integers(1, 5)))
    answers = rng.normal(0, 5, len(matrix)).round(int(rng.integers(0, 4)))
    precisions = rng.exponential(1, len(matrix)) * (rng.random(len(matrix)) < rng.uniform(0.3, 1))
    found = solved(levels, answers, precisions)
    best = nnls(matrix * np.sqrt(precisions)[:, None], answers * np.sqrt(precisions))[0]
    assert (found >= 0).all()
    np.testing.assert_allclose(
        misfit(matrix, answers, precisions, found), misfit(matrix, answers, precisions, best), rtol=1e-9, atol=1e-9
    )
    gradient = matrix.T @ (precisions * (matrix @ found - answers))
    assert gradient.min() > -1e-9
    assert abs(gradient * found).max() < 1e-9
    # least norm: the fitted answers are unique, and so is the shortest x ≥ 0 that gives them
    fitted = np.concatenate([1e6 * matrix[precisions > 0], np.eye(matrix.shape[1])])
    shortest = nnls(fitted, np.concatenate([1e6 * (matrix @ found)[precisions > 0], np.zeros(matrix.shape[1])]))[0]
    np.testing.assert_allclose(found, shortest, atol=1e-4)


@over(range(20))
def test_tree_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    levels, matrix = random_tree(rng, int(rng.integers(1, 8)), 3)
    answers, precisions = rng.normal(0, 5, len(matrix)), rng.exponential(1, len(matrix)) + 0.01
    found = solved(levels, answers, precisions)
    expected = by_enumeration(matrix, answers, precisions)
    best = misfit(matrix, answers, precisions, expected)
    np.testing.assert_allclose(misfit(matrix, answers, precisions, found), best, rtol=1e-9)


def test_tree_and_operators_agree():
    rng = np.random.default_rng(10)
    levels = binary_tree(256)
    matrix = tree_matrix(levels)
    answers = np.stack([noisy_counts(rng, matrix, total) for total in (0, 300, 10**5)])
    precisions = rng.exponential(1, len(matrix))
    tree = solved(levels, answers, precisions)
    assert (optimality(*operators(matrix), answers, precisions, tree) <= 1e-10).all()
    general = nonnegative_least_squares(*operators(matrix), answers, precisions, tolerance=1e-9)
    np.testing.assert_allclose(general, tree, atol=1e-4)


def test_tree_meets_a_known_total_exactly():
    rng = np.random.default_rng(11)
    levels = binary_tree(32)
    matrix = tree_matrix(levels)
    answers, precisions = noisy_counts(rng, matrix), np.ones(len(matrix))
    answers[0] = 700
    found = nonnegative_tree_least_squares(
        BlockTree(levels[0][-1], levels), answers, np.where(np.arange(63) == 0, np.inf, 1)
    )
    assert found.sum() == pytest.approx(700, rel=1e-12)
    precisions[0] = 1e9
    np.testing.assert_allclose(found, solved(levels, answers, precisions), atol=1e-5)
    answers[0] = 0
    assert not nonnegative_tree_least_squares(
        BlockTree(levels[0][-1], levels), answers, np.where(np.arange(63) == 0, np.inf, 1)
    ).any()


def test_tree_trials_with_their_own_precisions():
    rng = np.random.default_rng(12)
    levels = binary_tree(16)
    answers, precisions = rng.normal(0, 5, (2, 3, 31)), rng.exponential(1, (3, 31))
    together = solved(levels, answers, precisions)
    assert together.shape == (2, 3, 16)
    for place in np.ndindex(2, 3):
        alone = solved(levels, answers[place], precisions[place[1]])
        np.testing.assert_array_equal(together[place], alone)


def test_large_counts_and_edges():
    levels = binary_tree(64)
    matrix = tree_matrix(levels)
    answers = noisy_counts(np.random.default_rng(13), matrix, 10**12, noise=10)
    found = solved(levels, answers, np.full(127, 0.01))
    assert optimality(*operators(matrix), answers, 0.01, found) <= 1e-6
    np.testing.assert_allclose(found, nnls(matrix, answers)[0], atol=0.01)
    assert not solved(levels, np.zeros(127), np.ones(127)).any()
    assert nonnegative_tree_least_squares(BlockTree(1, [[0, 1]]), [7], [2]).tolist() == [7]
    assert nonnegative_tree_least_squares(BlockTree(3, [[0, 3]]), [-7], [2]).tolist() == [0, 0, 0]
    assert nonnegative_tree_least_squares(BlockTree(3, [[0, 3]]), [7], [0]).tolist() == [0, 0, 0]


def test_many_cells_are_optimal():
    """65,536 cells on all levels of a binary tree: the active set is right to the last cell."""
    rng = np.random.default_rng(15)
    levels = binary_tree(1 << 16)
    sums = np.concatenate([[0], np.cumsum(rng.multinomial(10**5, rng.dirichlet(np.full(1 << 16, 0.05))))])
    true = np.concatenate([np.diff(sums[level]) for level in levels])
    answers = true + rng.laplace(0, 17, true.size)
    found = solved(levels, answers, np.ones(true.size))
    sums = np.concatenate([[0], np.cumsum(found)])
    gradient, first = np.zeros(1 << 16), 0
    for level in levels:
        residual = np.diff(sums[level]) - answers[first : first + level.size - 1]
        gradient += np.repeat(residual, np.diff(level))
        first += level.size - 1
    assert (found >= 0).all()
    assert abs(gradient[found > 0]).max() < 1e-6
    assert gradient[found == 0].min() > -1e-6


@pytest.mark.parametrize(
    ("answers", "precisions", "words"),
    [
        ([1, 2], [1, 1, 1], "3 blocks"),
        ([1, 2, 3], [1, 1], "3 blocks"),
        ([1, 2, 3], [1, -1, 1], "at least 0"),
        ([1, 2, 3], [1, np.inf, 1], "finite below"),
        ([-1, 2, 3], [np.inf, 1, 1], "at least 0"),
        ([1, np.nan, 3], [1, 1, 1], "finite"),
    ],
)
def test_bad_trees(answers, precisions, words):
    with pytest.raises(BadInput, match=words):
        nonnegative_tree_least_squares(BlockTree(2, [[0, 2], [0, 1, 2]]), answers, precisions)
