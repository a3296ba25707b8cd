"""Projections: against enumeration, bisection and the conditions that define a nearest point."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from adyton.errors import BadInput
from adyton.queries.hierarchy import BlockTree
from adyton.solving.nonnegative import project_to_ball, project_to_simplex, project_to_total
from adyton.solving.trees import nonnegative_tree_least_squares
from over_cases import over


def simplex_by_enumeration(y, total):
    """The nearest of the points that meet the total on some set of cells and have no negative one."""
    best, distance = None, np.inf
    for chosen in itertools.product([0.0, 1.0], repeat=y.size):
        shares = np.array(chosen)
        if not shares.any():
            continue
        x = shares * y + shares * (total - shares @ y) / shares.sum()
        if (x >= 0).all() and ((x - y) ** 2).sum() < distance:
            best, distance = x, ((x - y) ** 2).sum()
    return best


@over(range(20))
def test_simplex_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(0, 5, int(rng.integers(1, 9))).round(int(rng.integers(0, 3)))
    total = rng.exponential(10)
    np.testing.assert_allclose(project_to_simplex(y, total), simplex_by_enumeration(y, total), atol=1e-12)


def test_simplex_is_a_tree_with_a_known_root():
    rng = np.random.default_rng(1)
    y = rng.normal(3, 10, (5, 100))
    answers = np.concatenate([np.full((5, 1), 250.0), y], axis=-1)
    precisions = np.concatenate([[np.inf], np.ones(100)])
    tree = nonnegative_tree_least_squares(BlockTree(100, [[0, 100], np.arange(101)]), answers, precisions)
    np.testing.assert_allclose(project_to_simplex(y, 250), tree, atol=1e-10)


def test_simplex_at_scale_and_at_the_edges():
    rng = np.random.default_rng(2)
    y = rng.laplace(0, 20, (3, 2, 5000)) + rng.multinomial(10**12, rng.dirichlet(np.full(5000, 0.05)))
    totals = np.array([0.0, 1e12])
    found = project_to_simplex(y, totals)
    assert found.shape == y.shape
    assert (found >= 0).all()
    assert not found[:, 0].any()
    np.testing.assert_allclose(found[:, 1].sum(axis=-1), 1e12, rtol=1e-14)
    one = y[1, 1]
    price = brentq(lambda c: np.maximum(one - c, 0).sum() - 1e12, -1e6, 1e6, xtol=1e-9)
    np.testing.assert_allclose(found[1, 1], np.maximum(one - price, 0), atol=1e-3)
    assert project_to_simplex([-5.0], 3).tolist() == [3]
    assert project_to_simplex([5.0, 1.0], -3).tolist() == [0, 0]
    assert project_to_simplex(np.zeros(4), 2).tolist() == [0.5] * 4
    assert project_to_simplex([1e12, 0.0], 1).tolist() == [1, 0]


def test_a_known_total_moves_all_cells_alike():
    rng = np.random.default_rng(3)
    y = rng.normal(size=6)
    found = project_to_total(y, 4.0)
    assert found.sum() == pytest.approx(4)
    np.testing.assert_allclose(found - y, (found - y)[0], atol=1e-12)


def test_total_in_batches_and_at_the_edges():
    y = np.arange(24.0).reshape(2, 3, 4)
    found = project_to_total(y, np.array([[10.0], [20.0]]))
    np.testing.assert_allclose(found.sum(axis=-1), [[10] * 3, [20] * 3])
    assert project_to_total([5.0], 7).tolist() == [7]


@over(range(10))
def test_ball_meets_the_conditions_of_a_nearest_point(seed):
    rng = np.random.default_rng(seed)
    y, radius = rng.normal(0, 5, (4, 7)), 6.0
    found = project_to_ball(y, radius)
    assert (np.abs(found).sum(axis=-1) <= radius * (1 + 1e-12)).all()
    # ⟨y − x, z − x⟩ ≤ 0 for every z in the ball; its corners suffice
    corners = radius * np.concatenate([np.eye(7), -np.eye(7)])
    angles = np.einsum("ti,tci->tc", y - found, corners - found[:, None])
    assert angles.max() < 1e-9
    assert (found * y >= 0).all()


def test_ball_leaves_its_inside_alone():
    y = np.array([[1.0, -2.0], [30.0, -40.0]])
    found = project_to_ball(y, np.array([3.0, 0.0]))
    assert found.tolist() == [[1, -2], [0, 0]]
    assert project_to_ball([1e12, -1e12], 1e12).tolist() == [5e11, -5e11]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: project_to_simplex([np.nan, 1], 1),
        lambda: project_to_simplex([], 1),
        lambda: project_to_total([np.inf, 2], 1),
        lambda: project_to_ball([1, 2], -1),
    ],
)
def test_bad_input(wrong):
    with pytest.raises(BadInput, match="must be"):
        wrong()
