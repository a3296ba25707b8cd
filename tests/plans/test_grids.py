"""Grids follow the noisy number of rows, never the true one, and all small boxes are measured at once."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from noisy_decisions import run, watch

import adyton.plans.published.maps
from adyton.errors import BadInput
from adyton.plans.base import CountsRows
from adyton.plans.published.maps import _refine, grid_of
from adyton.queries import Grid, Total

X = np.random.default_rng(0).poisson(0.5, (64, 64))
CASES = [("uniform-grid", "0.05", 1.0), ("adaptive-grid", "0.08", 0.25)]


def grids_follow_the_noisy_total(monkeypatch, name, epsilon, factor):
    """Whether the (coarse) grid is the one that the measured total asks for, over several runs."""
    monkeypatch.setattr(adyton.plans.published.maps, "_LEAST_BLOCKS", 1)
    seen = watch(monkeypatch)
    found = set()
    for seed in range(20):
        seen.clear()
        kernel, _ = run(name, X, epsilon=epsilon, seed=seed)
        assert kernel.spent == F(epsilon)
        total, grid = seen[0], seen[1]
        assert isinstance(total.queries, Total)
        assert total.epsilon == F(epsilon) / 50
        assert isinstance(grid.queries, Grid)
        wanted = factor * math.sqrt(max(1, total.value) * float(F(epsilon) * F(49, 50)) / 10)
        if grid.queries.blocks != grid_of(X.shape, wanted).blocks:
            return False
        found.add(grid.queries.blocks)
    assert len(found) > 1  # the noise shows in the decision
    return True


@pytest.mark.parametrize(("name", "epsilon", "factor"), CASES)
def test_the_number_of_rows_is_bought(monkeypatch, name, epsilon, factor):
    assert grids_follow_the_noisy_total(monkeypatch, name, epsilon, factor)


@pytest.mark.parametrize(("name", "epsilon", "factor"), CASES)
def test_a_plan_that_peeks_at_the_true_number_is_caught(monkeypatch, name, epsilon, factor):
    honest = CountsRows.count_rows
    monkeypatch.setattr(
        CountsRows, "count_rows", lambda plan, x, amount: honest(plan, x, amount)._replace(number=float(X.sum()))
    )
    assert not grids_follow_the_noisy_total(monkeypatch, name, epsilon, factor)


@pytest.mark.parametrize("name", ["uniform-grid", "adaptive-grid"])
def test_a_public_number_of_rows_costs_nothing(monkeypatch, name):
    seen = watch(monkeypatch)
    kernel, estimate = run(name, X, total=int(X.sum()))
    assert not any(isinstance(one.queries, Total) for one in seen)
    assert sum(one.epsilon for one in seen) == kernel.spent == 1
    assert estimate.sum() == pytest.approx(X.sum())


def test_both_levels_are_measured_once(monkeypatch):
    seen = watch(monkeypatch)
    x = np.zeros((40, 40), dtype=int)
    x[:4, :4] = 200
    run("adaptive-grid", x)
    _, coarse, fine = seen
    assert coarse.epsilon == fine.epsilon == F(49, 100)
    assert coarse.queries.blocks == (10, 10)
    sums = fine.on_first_vector() @ np.ones((40, 40))
    assert sums.sum() == 1600  # every cell is in one small box
    assert fine.queries.count > coarse.queries.count


def test_boxes_that_are_cells_are_measured_once(monkeypatch):
    seen = watch(monkeypatch)
    x = np.full((8, 8), 1000)
    kernel, estimate = run("adaptive-grid", x)
    assert [one.epsilon for one in seen] == [F(1, 50), F(49, 50)]
    assert kernel.spent == 1
    np.testing.assert_allclose(estimate, x, atol=40)


def test_small_boxes_by_hand():
    coarse = Grid((4, 6), [[0, 2, 4], [0, 3, 6]])
    fine, tree = _refine(coarse, np.array([0.0, 1.4, 2.0, 9.0]))
    expected = [
        [0, 0, 0, 1, 1, 2],
        [0, 0, 0, 3, 3, 4],
        [5, 6, 7, 11, 12, 13],
        [8, 9, 10, 14, 15, 16],
    ]
    assert fine.labels.reshape(4, 6).tolist() == expected
    assert tree.boundaries[1].tolist() == [0, 1, 5, 11, 17]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("uniform-grid", {"rows_per_box": 0}),
        ("uniform-grid", {"total_share": 1}),
        ("adaptive-grid", {"coarse_share": 1}),
        ("adaptive-grid", {"coarse_share": "half"}),
        ("adaptive-grid", {"rows_per_box": -1}),
        ("adaptive-grid", {"rows_per_small_box": float("nan")}),
    ],
)
def test_bad_options_spend_nothing(monkeypatch, name, options):
    seen = watch(monkeypatch)
    with pytest.raises(BadInput, match=next(iter(options))):
        run(name, X, **options)
    assert not seen
