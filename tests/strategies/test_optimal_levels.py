"""Optimal levels: the published figures, the exact error of least squares, and no better choice to be found."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.plans import plan_named
from adyton.queries import AllRange, Explicit, Hierarchy, Identity, Prefix, Total
from adyton.solving.trees import TreeSolver
from adyton.strategies.optimal_levels import (
    LevelWeights,
    level_energy_of,
    optimal_levels,
    prefix_energy,
    signal_levels,
    squared_error,
)
from adyton.whole import halvings
from over_cases import over

SIZES = [1, 2, 3, 7, 64, 1000, 4097]


def test_figures_for_prefixes():
    best = optimal_levels(4096, prefix_energy(4096))
    assert best.block_sizes == (1, 16, 128, 1024)
    assert best.weights == pytest.approx((0.311, 0.222, 0.218, 0.249), abs=5e-4)
    assert math.sqrt(squared_error(best, prefix_energy(4096)) / 4096) == pytest.approx(13.9, abs=0.01)
    small = optimal_levels(512, prefix_energy(512))
    assert math.sqrt(squared_error(small, prefix_energy(512)) / 512) == pytest.approx(9.59, abs=0.005)


def test_six_percent_below_hb():
    """At a small ε the discrete noise has the variance of the continuous one."""
    hb = plan_named("hb").strategy(Prefix(4096)).solver(F(1, 1000)).total_variance(Prefix(4096)) * 1e-6
    ours = squared_error(optimal_levels(4096, prefix_energy(4096)), prefix_energy(4096))
    assert math.sqrt(ours / hb) < 0.94


@pytest.mark.parametrize("workload", [Prefix(64), AllRange(64), Identity(64)], ids=str)
def test_closed_form_is_the_error_of_least_squares(workload):
    levels = LevelWeights((1, 4, 32), (0.5, 0.2, 0.3))
    tree = Hierarchy.of_blocks(64, [32, 4, 1], root=False)
    variances = np.array(levels.variances(1.0))[::-1][tree.query_levels()]
    assert squared_error(levels, level_energy_of(workload)) == pytest.approx(
        TreeSolver(tree, variances).total_variance(workload), rel=1e-9
    )


@pytest.mark.parametrize("cells", [2, 7, 8, 13])
def test_energies_are_traces_of_projections(cells):
    rows = np.tril(np.ones((cells, cells)))
    held = []
    for level in range(halvings(cells) + 1):
        label = np.arange(cells) >> level
        same = (label[:, None] == label).astype(float)
        held.append(np.trace(rows.T @ rows @ (same / same.sum(axis=0))))
    expected = -np.diff([*held, 0.0])
    assert prefix_energy(cells) == pytest.approx(expected)
    assert level_energy_of(Prefix(cells)) == pytest.approx(expected)
    assert level_energy_of(Explicit.from_rows(rows.astype(int))) == pytest.approx(expected)


@pytest.mark.parametrize("workload", [Prefix(256), AllRange(256)], ids=str)
def test_no_random_choice_is_better(workload):
    energy = np.array(level_energy_of(workload))
    least = squared_error(optimal_levels(256, energy), energy)
    random = np.random.default_rng(0)
    for _ in range(3000):
        levels = np.flatnonzero(np.r_[True, random.random(8) < 0.3])
        weights = random.dirichlet(np.full(levels.size, 2.0))
        tried = LevelWeights(tuple((1 << levels).tolist()), tuple(weights.tolist()))
        assert squared_error(tried, energy) >= least * (1 - 1e-9)


def test_optimum_is_stationary():
    energy = prefix_energy(4096)
    best = optimal_levels(4096, energy)
    least = squared_error(best, energy)
    for place in range(4):
        for factor in (0.98, 1.02):
            moved = list(best.weights)
            moved[place] *= factor
            assert squared_error(LevelWeights(best.block_sizes, tuple(moved)), energy) > least


@pytest.mark.parametrize("cells", [*SIZES, 1 << 20])
def test_any_size(cells):
    best = optimal_levels(cells, prefix_energy(cells))
    assert math.fsum(best.weights) == pytest.approx(1.0)
    assert best.block_sizes[0] == 1
    assert all(size & (size - 1) == 0 for size in best.block_sizes)
    assert list(best.block_sizes) == sorted(best.block_sizes)


def test_simple_workloads_get_simple_levels():
    assert optimal_levels(64, level_energy_of(Identity(64))).block_sizes == (1,)
    assert optimal_levels(64, level_energy_of(Total(64))).block_sizes == (64,)
    assert optimal_levels(64, np.zeros(7)).block_sizes == (1,)
    assert len(optimal_levels(4096, prefix_energy(4096), most=2).block_sizes) == 2


def test_unmeasured_levels_have_no_finite_error():
    assert squared_error(LevelWeights((2,), (1.0,)), prefix_energy(4)) == math.inf


def test_refusals():
    with pytest.raises(BadInput, match="4 finite numbers"):
        optimal_levels(8, [1.0, 2.0])
    with pytest.raises(BadInput, match="at least 0"):
        optimal_levels(2, [1.0, -1.0])
    with pytest.raises(BadInput, match="finite"):
        signal_levels(8, math.nan)


def test_signal_levels_of_the_table():
    assert signal_levels(4096, 25.0).weights == pytest.approx((0.231, 0.769), abs=1e-3)
    assert signal_levels(4096, 6400.0).weights == pytest.approx((0.085, 0.180, 0.304, 0.431), abs=1e-3)
    assert signal_levels(4096, 1e9).weights == pytest.approx(
        optimal_levels(4096, prefix_energy(4096)).weights, abs=1e-3
    )


@over(SIZES, [-3.0, 0.0, 50.0, 1e4, 1e15])
def test_signal_levels_of_any_size(cells, signal):
    levels = signal_levels(cells, signal)
    assert math.fsum(levels.weights) == pytest.approx(1.0)
    assert min(levels.weights) > 0


def test_less_data_means_coarser_blocks():
    coarsest = [signal_levels(65536, signal).weights[-1] for signal in (1e2, 1e3, 1e4, 1e5, 1e7)]
    assert coarsest == sorted(coarsest, reverse=True)
    assert coarsest[0] > 2 * coarsest[-1]
