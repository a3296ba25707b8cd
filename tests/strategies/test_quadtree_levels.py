"""Which levels of a quadtree to measure."""

from __future__ import annotations

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries import Explicit, Identity, Ranges, Total
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes
from adyton.queries.ranges import RandomRanges
from adyton.solving.trees import TreeSolver
from adyton.strategies.optimal_levels import (
    denoised_levels,
    halving_energies,
    level_strategy,
    quadtree_levels,
    quadtree_stages,
    rectangle_energies,
    workload_energies,
)


def expected_error(domain, weights, workload):
    """The total squared error of least squares at ε = 1, with continuous Laplace noise."""
    strategy = level_strategy(boxes_in_boxes(domain), np.asarray(weights)[::-1])
    return TreeSolver(strategy.queries, 2 * np.square(np.sum(weights) / strategy.weights)).total_variance(workload)


@pytest.mark.parametrize("domain", [(8, 8), (5, 3), (17, 6), (1, 7), (1, 1), (9,), (2, 3, 4)])
def test_energies_are_traces_of_projections(domain):
    boxes = RandomRanges(domain, 20, seed=1)
    tree = boxes_in_boxes(domain)
    rows = tree.ordered(np.stack([boxes @ one for one in np.eye(boxes.cells, dtype=np.int64)], axis=1))
    within = []
    for level in reversed(tree.boundaries):
        sums = np.add.reduceat(rows, level[:-1], axis=1)
        within.append((np.square(sums) / np.diff(level)).sum())
    expected = np.array(within) - np.array([*within[1:], 0])
    assert rectangle_energies(domain, boxes.lower, boxes.upper) == pytest.approx(expected, abs=1e-9)
    assert workload_energies(boxes) == pytest.approx(expected, abs=1e-9)


def test_energies_of_other_workloads():
    assert workload_energies(Identity((4, 4))).tolist() == [12, 3, 1]
    assert workload_energies(Total((4, 4))).tolist() == [0, 0, 16]


@pytest.mark.parametrize("side", [16, 32])
def test_the_error_is_the_closed_form(side):
    boxes = RandomRanges((side, side), 200, seed=2)
    energies = workload_energies(boxes)
    weights = quadtree_levels((side, side), energies, denoised=False)
    precisions = np.cumsum(np.square(weights) * 4.0 ** np.arange(weights.size))
    assert expected_error((side, side), weights, boxes) == pytest.approx(2 * (energies / precisions).sum())


@pytest.mark.parametrize("domain", [(32, 32), (64, 64), (16, 64)])
def test_no_other_weights_have_a_smaller_error(domain):
    boxes = RandomRanges(domain, 300, seed=3)
    energies = workload_energies(boxes)
    weights = quadtree_levels(domain, energies, denoised=False)
    best = expected_error(domain, weights, boxes)
    random = np.random.default_rng(4)
    for _ in range(60):
        chosen = random.random(weights.size) < 0.4
        chosen[0] = True
        other = np.where(chosen, random.dirichlet(np.ones(weights.size)), 0)
        assert expected_error(domain, other / other.sum(), boxes) > best
    for level in np.flatnonzero(weights):
        for factor in (0.95, 1.05):
            moved = np.where(np.arange(weights.size) == level, factor * weights, weights)
            assert expected_error(domain, moved / moved.sum(), boxes) >= best * (1 - 1e-9) or weights[level] == 1


def test_the_optimum_for_all_boxes_at_128():
    weights = quadtree_levels((128, 128), denoised=False)
    assert weights.round(2).tolist() == [0.69, 0, 0, 0.29, 0, 0, 0, 0.03]
    boxes = RandomRanges((128, 128), 500, seed=5)
    alone = 2 * float(np.prod(boxes.upper - boxes.lower + 1, axis=1).sum())
    assert expected_error((128, 128), weights, boxes) < 0.62**2 * alone


def test_denoising_needs_less_of_the_finest_level():
    plain, denoised = quadtree_levels((128, 128), denoised=False), quadtree_levels((128, 128))
    assert 0 < denoised[0] < plain[0]


def test_single_cells_need_the_cells_alone_and_totals_the_root_alone():
    assert quadtree_levels((16, 16), workload_energies(Identity((16, 16)))).tolist() == [1, 0, 0, 0, 0]
    assert quadtree_levels((16, 16), workload_energies(Total((16, 16)))).tolist() == [0, 0, 0, 0, 1]
    quarters = Ranges((4, 4), [[0, 0], [2, 2]], [[1, 1], [3, 3]])
    assert quadtree_levels((4, 4), workload_energies(quarters))[0] == 0


@pytest.mark.parametrize("domain", [(1, 1), (1, 7), (5, 3), (17, 64), 4096, (3, 5, 7)])
def test_any_domain(domain):
    weights = quadtree_levels(domain)
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0
    assert np.count_nonzero(weights) <= 4
    strategy = level_strategy(boxes_in_boxes(domain), np.asarray(weights)[::-1])
    assert strategy.queries.sensitivity() == np.count_nonzero(weights)


def test_a_strategy_measures_its_levels_with_their_weights():
    strategy = level_strategy(boxes_in_boxes((4, 4)), [0.1, 0, 0.5])
    assert strategy.queries @ np.arange(16) == pytest.approx(
        np.concatenate([[120], strategy.queries.ordered(np.arange(16))])
    )
    assert strategy.weights.tolist() == [0.1] + [0.5] * 16


@pytest.mark.parametrize("energies", [[1, 2], [1, 2, -1], [0, 0, 0], [1, np.nan, 1]])
def test_bad_energies_are_refused(energies):
    with pytest.raises(BadInput, match="3 numbers"):
        quadtree_levels((4, 4), energies)


@pytest.mark.parametrize("weights", [[1, 2], [1, 2, -1], [0, 0, 0], [1, np.inf, 1]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(BadInput, match="3 numbers"):
        level_strategy(boxes_in_boxes((4, 4)), weights)


def test_bad_boxes_are_refused():
    with pytest.raises(BadInput, match="range 0"):
        rectangle_energies((4, 4), [[0, 3]], [[1, 2]])


@pytest.mark.parametrize("domain", [(8, 8), (5, 3), (17, 6), (1, 7), (1, 1), (9,)])
def test_energies_on_the_tree_of_halves_are_traces_of_projections(domain):
    boxes = RandomRanges(domain, 20, seed=1)
    rows = np.stack([boxes @ one for one in np.eye(boxes.cells, dtype=np.int64)], axis=1)
    tree = halved_boxes(domain)
    within = [0.0]
    for level in tree.boundaries:
        sums = np.add.reduceat(tree.ordered(rows), level[:-1], axis=1)
        within.append((np.square(sums) / np.diff(level)).sum())
    expected = np.diff(within)[::-1]
    assert halving_energies(boxes) == pytest.approx(expected, abs=1e-9)
    assert halving_energies(Explicit.from_rows(rows, domain)) == pytest.approx(expected, abs=1e-9)
    assert sum(halving_energies(Identity(domain))) == pytest.approx(boxes.cells)


def test_stages_of_squares():
    boxes = RandomRanges((64, 64), 300, seed=3)
    few, some, many = (quadtree_stages(boxes, signal) for signal in (0.0, 0.05, 1e9))
    for stages in (few, some, many):
        assert set(stages.block_sizes) < {4**level for level in range(6)}  # not the whole domain
        assert list(stages.block_sizes) == sorted(stages.block_sizes)
        assert sum(stages.weights) == pytest.approx(1)
    assert few.weights[0] < some.weights[0] < many.weights[0]
    assert quadtree_stages(boxes, 0.05 * 1.01) is some
    assert quadtree_stages(Total((4, 4)), 1.0).block_sizes == (16,)
    assert quadtree_stages(Explicit.from_rows(np.zeros((2, 16), dtype=int), (4, 4)), 1.0).block_sizes[0] == 1


def test_block_sizes_of_oblongs():
    """A level halves each axis that can still be halved, so that blocks of 1, 2 × 2, 4 × 4 and then 4 × 8 cells."""
    boxes = RandomRanges((4, 32), 300, seed=3)
    weights = quadtree_levels((4, 32), workload_energies(boxes))
    sizes = np.array([1, 4, 16, 32, 64, 128])
    levels = denoised_levels(boxes)
    assert levels.block_sizes == tuple(sizes[np.flatnonzero(weights)].tolist())
    assert levels.weights == pytest.approx(weights[weights > 0])
