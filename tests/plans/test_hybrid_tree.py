"""The hybrid tree: every round of medians is charged, the tree fits any domain, and medians follow the rows."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from noisy_decisions import run, watch

import adyton.plans.published.maps
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named
from adyton.queries import Hierarchy, Identity

SHAPES = [(1, 1), (1, 2), (2, 1), (1, 7), (5, 3), (3, 3), (17, 64)]


def rounds_possible(shape, rounds):
    """At most this many: a round is needed only while some box has two cells."""
    return min(rounds, int(np.prod(shape)) - 1)


def charges_add_up(monkeypatch, shape, rounds):
    """Whether medians and counts together cost ε, with as much for the counts as the medians leave."""
    seen = watch(monkeypatch)
    x = np.random.default_rng(0).poisson(3, shape)
    for seed in range(3):
        seen.clear()
        kernel, estimate = run("hybrid-tree", x, epsilon="1/3", seed=seed, median_rounds=rounds, median_share="1/5")
        (counts,) = seen
        used = (F(1, 3) - counts.epsilon) / (F(1, 15) / max(1, rounds))
        assert used.denominator == 1
        assert used <= rounds_possible(shape, rounds)
        assert used > 0 or rounds == 0 or np.prod(shape) == 1
        assert np.isfinite(estimate).all()
        if kernel.spent != F(1, 3):
            return False
    return True


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5])
def test_the_budget_adds_up(monkeypatch, shape, rounds):
    assert charges_add_up(monkeypatch, shape, rounds)


def test_a_round_that_is_not_charged_is_caught(monkeypatch):
    honest = adyton.plans.published.maps._halve
    monkeypatch.setattr(adyton.plans.published.maps, "_halve", lambda box, epsilon: honest(box, epsilon / 1000))
    assert not charges_add_up(monkeypatch, (17, 64), 2)


def test_siblings_cost_as_much_as_one(monkeypatch):
    """Three rounds are seven medians, and three of them are paid."""
    chosen = []
    honest = adyton.plans.published.maps._halve
    monkeypatch.setattr(
        adyton.plans.published.maps, "_halve", lambda box, epsilon: (chosen.append(epsilon), honest(box, epsilon))[1]
    )
    kernel, _ = run("hybrid-tree", np.ones((16, 16), dtype=int), median_rounds=3, median_share="0.3")
    assert chosen == 7 * [F(1, 10)]
    assert kernel.spent == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds", [0, 3, 4])
def test_the_tree_ends_in_cells(monkeypatch, shape, rounds):
    seen = watch(monkeypatch)
    run("hybrid-tree", np.ones(shape, dtype=int), median_rounds=rounds)
    tree = seen[0].queries
    assert isinstance(tree, Hierarchy)
    assert tree.boundaries[0].tolist() == [0, np.prod(shape)]
    assert tree.boundaries[-1].size == np.prod(shape) + 1
    for level in tree.boundaries:  # every block is a box
        for start, end in itertools.pairwise(level):
            rows, columns = np.unravel_index(tree.order[start:end], shape)
            assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) == end - start


def test_medians_follow_the_rows(monkeypatch):
    """Nearly all rows in one corner: the first cut along the rows lies inside it."""
    x = np.zeros((32, 32), dtype=int)
    x[:4, :4] = 1000
    seen = watch(monkeypatch)
    run("hybrid-tree", x, median_rounds=2)
    first = seen[0].queries.boundaries[1][1:-1] // 32
    assert first.max() <= 4


def test_without_pruning_it_is_least_squares(monkeypatch):
    """With sparse = 0 only boxes with negative sums are evened out: on full data, none."""
    seen = watch(monkeypatch)
    x = np.full((8, 8), 10_000)
    _, estimate = run("hybrid-tree", x, sparse=0)
    tree, counts = seen[0].queries, seen[0]
    scaled = np.concatenate(list(tree.rows())) / counts.standard_deviations[:, None]
    expected = np.linalg.lstsq(scaled, counts.answers / counts.standard_deviations, rcond=None)[0]
    np.testing.assert_allclose(estimate.reshape(-1), expected, rtol=1e-9)


def test_empty_regions_are_evened_out():
    x = np.zeros((64, 64), dtype=int)
    x[10:20, 40:50] = 30
    pruned, full = (
        np.mean([np.linalg.norm(run("hybrid-tree", x, seed=seed, sparse=sparse)[1] - x) for seed in range(3)])
        for sparse in (3, 0)
    )
    assert pruned < 0.5 * full


def test_merged_cells_of_a_plane():
    """Reduction leaves a line; the tree stands on it."""
    kernel = Kernel.simulated(np.ones((4, 4), dtype=int), epsilon=1, seed=0)
    estimate = plan_named("hybrid-tree", reduce=True).estimate(kernel.root, Identity((4, 4)), 1)
    assert estimate.shape == (4, 4)


@pytest.mark.parametrize(
    "options", [{"median_share": 1}, {"median_rounds": -1}, {"median_rounds": 1.5}, {"sparse": -1}, {"sparse": "x"}]
)
def test_bad_options_spend_nothing(options):
    kernel = Kernel.simulated(np.ones((4, 4), dtype=int), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=next(iter(options))):
        plan_named("hybrid-tree", **options).estimate(kernel.root, Identity((4, 4)), 1)
    assert kernel.spent == 0
