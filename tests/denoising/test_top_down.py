"""Posterior means on a tree of blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from split_tables import parts

from adyton.denoising import splits as split_laws
from adyton.denoising import top_down
from adyton.denoising.splits import generations, least_squares
from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.solving.trees import TreeSolver
from over_cases import over


def quadtree(domain, levels):
    """All blocks of these levels, counted from the cells."""
    tree = boxes_in_boxes(domain)
    return Hierarchy.of_tree(tree, [len(tree.boundaries) - 1 - level for level in levels])


def noisy(tree, cells, rate, seed):
    """Answers with discrete Laplace noise, and its variance."""
    random = np.random.default_rng(seed)
    noise = random.geometric(-np.expm1(-rate), tree.count) - random.geometric(-np.expm1(-rate), tree.count)
    return tree @ cells + noise, 2 * np.exp(-rate) / np.expm1(-rate) ** 2


def one_pass(tree, answers, rate):
    """The posterior means of all nodes under the prior that the passes start from, in steps of one row."""
    splits, nodes, _ = top_down._splits_of(tree)
    values, precisions = np.zeros(splits.levels.size), np.zeros(splits.levels.size)
    values[nodes] = answers
    precisions[nodes] = 2 * np.sinh(rate / 2) ** 2
    rates = np.where(precisions > 0, rate, 0.0)
    family = generations(splits)
    squares = least_squares(family, values, precisions)
    fit = top_down._passes(splits, family, values, rates, squares, [0.0])
    return top_down._every_mean(fit, family, squares)


def first_prior(levels):
    """The prior that the passes start from, in two tables."""
    return parts(split_laws.mixed(split_laws.start(levels)))


@pytest.mark.parametrize("answers", [[3, 3, 0, 2, 1, -1, 1], [0, 0, 0, 1, -1, 0, 0], [9, 2, 8, 0, 2, 8, 0]])
def test_one_pass_is_the_exact_posterior_mean(answers):
    tree, rate = Hierarchy.of_blocks(4, [2, 1]), 1.0
    splits, _ = first_prior(3)
    total, first = 0.0, np.zeros(4)
    for cells in itertools.product(range(14), repeat=4):
        left, right = cells[0] + cells[1], cells[2] + cells[3]
        prior = splits[2, left, right] * splits[1, cells[0], cells[1]] * splits[1, cells[2], cells[3]]
        truth = np.array([left + right, left, right, *cells])
        weight = float(prior) * np.exp(-rate * np.abs(truth - answers).sum())
        total, first = total + weight, first + weight * np.array(cells)
    assert one_pass(tree, answers, rate)[:4] == pytest.approx(first / total, abs=2e-3)


@pytest.mark.parametrize("answers", [[75, 70, 5], [103, 52, 50], [60, 44, 15], [49, 0, 48], [130, 131, -1]])
def test_splits_with_large_parts_follow_the_prior_by_their_smaller_part(answers):
    tree, rate = Hierarchy.of_blocks(2, [1]), 0.8
    splits, edges = first_prior(2)
    limit = split_laws.TABLE
    estimate = TreeSolver(tree, 1.0).solve(answers).sum()
    edge = edges[1, split_laws.size_of(np.array([estimate]))[0] - split_laws.SMALLEST]
    total, first = 0.0, np.zeros(2)
    for left, right in itertools.product(range(160), range(80)):
        prior = splits[1, left, right] if max(left, right) < limit else edge[min(left, right, limit)]
        weight = float(prior) * np.exp(-rate * np.abs(np.array([left + right, left, right]) - answers).sum())
        total, first = total + weight, first + weight * np.array([left, right])
    assert one_pass(tree, answers, rate)[:2] == pytest.approx(first / total, abs=5e-3)


def test_the_prior_is_a_law_of_splits_for_wholes_of_every_size():
    splits, edges = first_prior(2)
    for whole in range(split_laws.TABLE):
        assert sum(splits[1, left, whole - left] for left in range(whole + 1)) == pytest.approx(1, abs=1e-5)
    for size in range(split_laws.SMALLEST + 1, split_laws.SIZES):
        edge = edges[1, size - split_laws.SMALLEST].astype(np.float64)
        small, between = edge[:-1], edge[-1]
        between *= 1.5 * 2.0**size - 2 * split_laws.TABLE
        assert 2 * small.sum() + between == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("law", range(len(split_laws.SPREADS)))
def test_the_weights_of_the_prior_find_the_law_that_made_the_splits(law):
    left, right = np.arange(41), 40 - np.arange(41)
    known = split_laws._laws()[0][left * split_laws.TABLE + right, law]
    found = np.zeros_like(split_laws.mixed(split_laws.start(2)))
    parts(found)[0][1, left, right] = 1000 * known
    weights = split_laws.start(2)
    for _ in range(40):
        weights = split_laws.reweighted(weights, found, 2.0)
    learned, _ = parts(split_laws.mixed(weights))
    assert np.abs(learned[1, left, right] - known).sum() < 0.04
    assert np.abs(first_prior(2)[0][1, left, right] - known).sum() > 0.2


def test_sparse_maps_lose_most_of_the_error_that_least_squares_leaves():
    tree = quadtree((32, 32), [0, 2])
    random = np.random.default_rng(1)
    cells = np.zeros((32, 32), dtype=np.int64)
    cells[3:9, 20:25] = random.poisson(40, (6, 5))
    answers, variance = noisy(tree, cells, 0.5, seed=2)
    found = top_down.top_down(tree, answers, variance) - cells.reshape(-1)
    plain = TreeSolver(tree, variance).solve(answers) - cells.reshape(-1)
    assert np.linalg.norm(found) < 0.4 * np.linalg.norm(plain)
    outside = np.ones((32, 32), dtype=bool)
    outside[3:9, 20:25] = False
    assert abs(found[outside.reshape(-1)].sum()) < 0.2 * np.sqrt(outside.sum() * variance)


def test_dense_maps_are_left_to_least_squares():
    tree = quadtree((16, 16), [0, 2, 4])
    cells = np.random.default_rng(3).integers(10**6, 10**7, 256)
    answers, variance = noisy(tree, cells, 0.4, seed=4)
    assert top_down.top_down(tree, answers, variance) == pytest.approx(
        TreeSolver(tree, variance).solve(answers), abs=0.1
    )


def test_many_rows_spread_thinly_are_not_lost():
    tree = quadtree((64, 64), [0, 3])
    cells = np.random.default_rng(5).poisson(0.25, 64 * 64)
    answers, variance = noisy(tree, cells, 0.5, seed=6)
    found = top_down.top_down(tree, answers, variance)
    assert found.sum() == pytest.approx(cells.sum(), abs=5 * np.sqrt(64 * variance))
    assert np.linalg.norm(found - cells) < 0.25 * np.sqrt(64 * 64 * variance)


def test_cells_below_the_finest_measured_level_share_evenly():
    tree = quadtree((8, 8), [2])
    found = top_down.top_down(tree, [1600, 0, 320, -3], 2.0).reshape(8, 8)
    for block, total in (((0, 0), 1600), ((0, 4), 0), ((4, 0), 320), ((4, 4), 0)):
        part = found[block[0] : block[0] + 4, block[1] : block[1] + 4]
        assert np.ptp(part) < 1e-9
        assert part.sum() == pytest.approx(total, abs=1)


@over([(1, 1), (1, 7), (5, 3), (17, 64), (9,), (3, 3, 3)], [0, 1, 10**12], [1e-6, 1.0, 40.0])
def test_any_domain_any_counts_any_noise(domain, cells, rate):
    depth = len(boxes_in_boxes(domain).boundaries)
    tree = quadtree(domain, range(depth))
    answers, variance = noisy(tree, np.full(tree.cells, cells), rate, seed=7)
    found = top_down.top_down(tree, answers, max(variance, 1e-12))
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert abs(found.sum() - tree.cells * cells) <= 1e-9 * tree.cells * cells + 40 * tree.cells / rate


@pytest.mark.parametrize("value", [-1e300, -1e12, 1e16, 1e300])
def test_answers_of_any_size(value):
    tree = quadtree((4, 4), [0, 1])
    found = top_down.top_down(tree, np.full(tree.count, value), 2.0)
    assert np.isfinite(found).all()
    assert found.min() >= 0


def test_trials_are_fitted_each_on_its_own():
    tree = quadtree((8, 8), [0, 1])
    cells = np.random.default_rng(8).poisson(3, (2, 3, 64))
    answers = np.stack([[noisy(tree, one, 0.5, seed=9)[0] for one in row] for row in cells])
    together = top_down.top_down(tree, answers, 8.0)
    assert together.shape == (2, 3, 64)
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[place], top_down.top_down(tree, answers[place], 8.0))


def test_a_known_total_is_kept():
    tree = quadtree((16, 16), [0, 4])
    cells = np.random.default_rng(10).poisson(0.5, 256)
    answers, variance = noisy(tree, cells, 0.5, seed=11)
    answers[0] = cells.sum()
    variances = np.full(tree.count, variance)
    variances[0] = 1e-9
    assert top_down.top_down(tree, answers, variances).sum() == pytest.approx(cells.sum(), abs=0.5)


@pytest.mark.parametrize("domain", [(16, 16), (5, 3), (1, 7), (13,)])
def test_halves_keep_the_blocks(domain):
    tree = Hierarchy.of_tree(boxes_in_boxes(domain))
    splits, nodes, _ = top_down._splits_of(tree)
    members = [{leaf} for leaf in range(splits.leaves)]
    members += [set() for _ in splits.kids]
    for parent, (a, b) in enumerate(splits.kids.tolist(), start=splits.leaves):
        assert a < parent
        assert b < parent
        assert not members[a] & members[b]
        members[parent] = members[a] | members[b]
    blocks = [range(*pair) for level in tree.boundaries for pair in itertools.pairwise(level.tolist())]
    assert [members[node] for node in nodes] == [set(block) for block in blocks]
    assert len(members[-1]) == tree.cells


@pytest.mark.parametrize(
    ("answers", "variances", "message"),
    [
        ([1, 2], 1.0, "measures 7 blocks"),
        (5.0, 1.0, "measures 7 blocks"),
        ([1, 2, 3, 4, 5, 6, np.nan], 1.0, "finite"),
        ([0] * 7, 0.0, "positive variance"),
        ([0] * 7, [1.0] * 6, "positive variance"),
        ([0] * 7, np.inf, "positive variance"),
    ],
)
def test_bad_input_is_refused(answers, variances, message):
    with pytest.raises(BadInput, match=message):
        top_down.top_down(Hierarchy.of_blocks(4, [2, 1]), answers, variances)


def test_levels_are_measured_wholly():
    tree = Hierarchy.of_blocks(4, [2, 1])
    with pytest.raises(BadInput, match="whole levels"):
        top_down.top_down(Hierarchy(4, tree.boundaries, None, [0, 3, 4]), [1, 2, 3], 1.0)
