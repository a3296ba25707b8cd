"""MWEM and its variants: rounds, disjoint measurements, exact spending, and what the variants gain."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.plans.published.mwem import Mwem, MwemB, MwemD, MwemStar
from adyton.queries import Explicit, Identity, Prefix, RandomRanges, Weighted

NAMES = ("mwem", "mwem*", "mwem-b", "mwem-c", "mwem-d")


def error(name, x, workload, epsilon, trials=6, **options):
    estimates = simulate(name, x, workload, epsilon, seed=0, trials=trials, **options)
    return float(np.linalg.norm(workload @ (estimates - x), axis=-1).mean())


def stepped(cells=256, rows=20_000):
    random = np.random.default_rng(0)
    return random.multinomial(rows, np.repeat(random.dirichlet(np.full(16, 0.3)), cells // 16) / (cells // 16))


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_spend_is_exact(name):
    for options in ({}, {"rest": False}, {"total": 45}, {"total_share": "1/3"}):
        kernel = Kernel.simulated(np.arange(10), epsilon=1, seed=0)
        plan_named(name, **options).estimate(kernel.root, Prefix(10), "1/7")
        assert kernel.spent == F(1, 7)


@pytest.mark.parametrize("name", ["mwem", "mwem-b", "mwem-c", "mwem-d"])
def test_rounds_are_select_and_measure_with_equal_budgets(name):
    kernel = Kernel.simulated(np.arange(10), epsilon=1, seed=0)
    seen = []
    root = kernel.root
    honest = kernel.measure
    kernel.measure = lambda source, operator, epsilon: (
        seen.append((type(operator).__name__, F(epsilon))) or honest(source, operator, epsilon)
    )
    plan_named(name, rounds=4).estimate(root, Prefix(10), 1)
    each = F(19, 20) / 8
    assert seen[0] == ("VectorLaplace", F(1, 20))
    assert seen[1:] == [("WorstApproximated", each), ("VectorLaplace", each)] * 4


def test_the_rounds_of_the_starred_plan():
    plan = MwemStar()
    line = {1: 2, 10: 2, 100: 4, 1e3: 8, 1e4: 12, 1e5: 60, 1e6: 80, 1e7: 140, 1e12: 140}
    assert {signal: plan.number_of_rounds(1, signal) for signal in line} == line
    plane = {1: 12, 1e3: 12, 5e3: 32, 1e4: 32, 1e5: 60, 5e5: 120, 1e6: 140, 1e9: 140}
    assert {signal: plan.number_of_rounds(2, signal) for signal in plane} == plane
    assert plan.number_of_rounds(1, 10**2.5) == 6
    assert plan.number_of_rounds(3, 1e5) == 60


def test_blocks_beside_the_query_never_meet_it_and_grow_from_round_to_round():
    asked = np.zeros(16)
    asked[5:9] = 1
    plain = MwemB(rest=False)
    for number, size in ((0, 1), (1, 2), (2, 4)):
        labels = plain._labels(asked, (16,), number)
        np.testing.assert_array_equal(labels == 0, asked == 1)
        free = [b for b in range(16 // size) if not asked[b * size : (b + 1) * size].any()]
        expected = np.where(asked == 1, 0, -1)
        for place, block in enumerate(free, 1):
            expected[block * size : (block + 1) * size] = place
        np.testing.assert_array_equal(labels, expected)
    with_rest = MwemB()._labels(asked, (16,), 1)
    assert (with_rest >= 0).all()
    np.testing.assert_array_equal(np.flatnonzero(with_rest == with_rest.max()), [4, 9])
    np.testing.assert_array_equal(Mwem()._labels(asked, (16,), 0), 1 - asked)


def test_blocks_in_two_dimensions_are_squares():
    asked = np.zeros((4, 4))
    asked[0, 0] = 1
    labels = MwemD(rest=False)._labels(asked.reshape(-1), (4, 4), 1).reshape(4, 4)
    np.testing.assert_array_equal(labels, [[0, -1, 1, 1], [-1, -1, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_measured_costs_no_more_than_one_query(name):
    """The sets of a round are disjoint: their sensitivity is that of the query alone."""
    kernel = Kernel.simulated(stepped(64, 1000), epsilon=1, seed=0)
    sensitivities = []
    root, honest = kernel.root, kernel.measure

    def watched(source, operator, epsilon):
        if type(operator).__name__ == "VectorLaplace":
            sensitivities.append(operator.queries.sensitivity())
        return honest(source, operator, epsilon)

    kernel.measure = watched
    plan_named(name).estimate(root, RandomRanges(64, 50, seed=1), 1)
    assert set(sensitivities) == {1}


@pytest.mark.parametrize("name", NAMES)
def test_signed_large_and_weighted_workloads(name):
    x = np.arange(12)
    signed = Explicit.from_rows(np.random.default_rng(0).integers(-3, 4, (20, 12)))
    for workload in (signed, Weighted(Prefix(12), np.linspace(0.1, 2, 12))):
        kernel = Kernel.simulated(x, epsilon=100, seed=0)
        estimate = plan_named(name).estimate(kernel.root, workload, 100)
        assert np.isfinite(estimate).all()
        assert estimate.min() >= 0
        assert kernel.spent == 100
        assert np.linalg.norm(workload @ (estimate - x)) < 0.5 * np.linalg.norm(workload @ (x - x.mean()))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_total_is_kept(name):
    x = stepped(64, 1000)
    estimate = simulate(name, x, Prefix(64), 1, seed=0, total=1000)
    assert estimate.sum() == pytest.approx(1000)


def test_the_rounds_learn():
    """Against an even spread of the true total, ten rounds leave less than a third of the error."""
    x, workload = stepped(), RandomRanges(256, 300, seed=1)
    even = np.linalg.norm(workload @ (x - x.mean()))
    for name in NAMES:
        assert error(name, x, workload, 1) < even / 3


@pytest.mark.full
def test_measuring_the_rest_too_is_better_where_noise_is_large():
    x, workload = stepped(256, 1000), Prefix(256)
    with_rest, without = (error("mwem", x, workload, 1, trials=60, rest=rest) for rest in (True, False))
    assert with_rest < 0.95 * without


@pytest.mark.full
def test_variants_with_blocks_win_on_large_data_with_fine_structure():
    random = np.random.default_rng(3)
    x, workload = random.multinomial(10**6, random.dirichlet(np.full(1024, 0.1))), RandomRanges(1024, 500, seed=1)
    plain = error("mwem", x, workload, 1, trials=3)
    assert error("mwem-b", x, workload, 1, trials=3) < plain / 2
    assert error("mwem-d", x, workload, 1, trials=3) < plain / 2


def test_without_noise_cells_come_back_exactly():
    x = np.array([0, 0, 7, 1000, 3, 0, 12, 0])
    for name in NAMES:
        np.testing.assert_allclose(simulate(name, x, Identity(8), 1000, seed=0), x, atol=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rounds": 0}, "rounds"), ({"rounds": 2.5}, "rounds"), ({"sweeps": 0}, "sweeps"), ({"total_share": 1}, "share")],
)
def test_bad_options_spend_nothing(options, message):
    kernel = Kernel.simulated([1, 2, 3], epsilon=1, seed=0)
    with pytest.raises(BadInput, match=message):
        plan_named("mwem", **options).estimate(kernel.root, Prefix(3), 1)
    assert kernel.spent == 0
