"""DAWA: budgets, options, the two phases, and the published one that is no plan."""

from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import chisquare

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MECHANISMS, DawaPartition
from adyton.noise import SimulatedNoise
from adyton.plans import algorithms, plan_named, simulate
from adyton.plans.published import groups as dawa
from adyton.queries import Explicit, Identity, Partition, Prefix, RandomRanges
from adyton.queries.domain_trees import hilbert_order
from adyton_lab.reproduce.dawa import published_dawa, published_partition

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("share", [0.25, "1/3", "0.9"])
@pytest.mark.parametrize(("lengths", "centre"), [("powers", "mean"), ("powers", "median"), ("all", "mean")])
def test_spends_exactly_what_was_asked(share, lengths, centre):
    for domain in ((9,), (5, 4)):
        kernel = Kernel.simulated(np.arange(np.prod(domain)).reshape(domain), epsilon=1, seed=0)
        plan = plan_named("dawa", partition_share=share, lengths=lengths, centre=centre)
        assert plan.estimate(kernel.root, Identity(domain), "2/7").shape == domain
        assert kernel.spent == F(2, 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition_share": 0}, "partition_share"),
        ({"partition_share": 1}, "partition_share"),
        ({"partition_share": float("nan")}, "partition_share"),
        ({"lengths": "some"}, "lengths"),
        ({"longest": 0}, "longest"),
        ({"longest": 2.5}, "longest"),
        ({"allowance": -1}, "allowance"),
        ({"allowance": "much"}, "allowance"),
        ({"centre": "mode"}, "centre"),
    ],
)
def test_bad_options_spend_nothing(options, message):
    kernel = Kernel.simulated(np.arange(9), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=message):
        plan_named("dawa", **options).estimate(kernel.root, Prefix(9), "1/3")
    assert kernel.spent == 0


def test_too_many_intervals_are_refused_before_anything_is_spent():
    kernel = Kernel.simulated(np.zeros(6000, dtype=int), epsilon=1, seed=0)
    with pytest.raises(BadInput, match="longest up to 5,000"):
        plan_named("dawa", lengths="all").estimate(kernel.root, Identity(6000), 1)
    assert kernel.spent == 0
    plan_named("dawa", lengths="all", longest=16).estimate(kernel.root, Identity(6000), 1)
    assert kernel.spent == 1


def test_blocks_of_equal_cells_are_averaged():
    """Where the data are flat, far less than the noise of the cells is left; on single cells nothing is lost for it."""
    flat = np.repeat([0, 300, 20, 0], 256)
    estimates = simulate("dawa", flat, Identity(1024), 1, seed=0, trials=20)
    error = np.linalg.norm(estimates - flat, axis=1).mean()
    assert error < 0.6 * plan_named("identity").expected_error(Identity(1024), 1).total


def test_the_allowance_pays_where_there_is_nothing():
    """Fewer intervals, less noise."""
    x = np.zeros(256, dtype=int)
    errors = [
        np.square(simulate("dawa", x, Identity(256), 1, seed=3, trials=20, allowance=allowance)).sum()
        for allowance in (0, None)
    ]
    assert errors[0] > 3 * errors[1]


def test_a_plane_is_walked_along_a_hilbert_curve(monkeypatch):
    """The selection sees the cells in the order of the curve, and its intervals come back as runs on it."""
    x = np.random.default_rng(0).integers(0, 1000, (4, 4))
    seen = []
    honest = DawaPartition.draw

    def spy(self, data, epsilon, noise, trials):
        seen.append(data.values().copy())
        return honest(self, data, epsilon, noise, trials)

    monkeypatch.setattr(DawaPartition, "draw", spy)
    simulate("dawa", x, Identity((4, 4)), 1, seed=0)
    order = hilbert_order((4, 4))
    assert seen[0].tolist() == x.reshape(-1)[order].tolist()
    halves = np.zeros(16, dtype=np.int64)
    halves[order[:8]] = 40
    estimate = simulate("dawa", halves.reshape(4, 4), Identity((4, 4)), 50, seed=0).reshape(-1)[order]
    np.testing.assert_allclose(estimate, np.repeat([40, 0], 8), atol=1)


def test_the_tree_ends_at_the_buckets():
    buckets = Partition([0, 0, 0, 0, 1, 2, 2, 3])
    strategy = dawa.bucket_strategy(Prefix(8), None, buckets)
    leaves = strategy.queries.boundaries[-1]
    assert leaves.tolist() == [0, 4, 5, 7, 8]


def test_boxes_that_were_left_out_are_answered_without_bias():
    """Only some boxes weight the tree; cells that these do not tell apart are measured all the same."""
    x = np.random.default_rng(0).integers(0, 10**6, (32, 32))
    workload = RandomRanges((32, 32), 3000, seed=0)
    estimate = simulate("dawa", x, workload, 1, seed=0)
    assert np.abs(workload @ (estimate - x)).max() < 10**4


def test_workloads_without_structure():
    workload = Explicit.from_rows(np.random.default_rng(0).integers(-2, 3, (7, 24)), (4, 6))
    assert np.isfinite(simulate("dawa", np.arange(24).reshape(4, 6), workload, 1, seed=0)).all()


# ---- two phases, two streams ----------------------------------------------------------------------------------------


def noise_of_merged_totals(trials):
    """On two equal cells: what is added to the total when they were merged."""
    x, found = np.array([50, 50]), []
    for seed in range(trials):
        estimate = plan_named("dawa", allowance=0).estimate(
            Kernel.simulated(x, epsilon=1, seed=seed).root, Identity(2), 1
        )
        if estimate[0] == estimate[1]:
            found.append(round(estimate.sum()) - 100)
    return np.array(found)


def fits_the_noise_of_the_second_phase(noise):
    """DLap(1/ε₂) with ε₂ = 3/4, whatever partition was chosen."""
    ratio = np.exp(-0.75)
    places = np.arange(-4, 5)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    counted = np.array([(noise == place).sum() for place in places])
    observed = np.append(counted, noise.size - counted.sum())
    return chisquare(observed, np.append(law, 1 - law.sum()) * noise.size).pvalue


def by_inversion(again):
    """The same noise, each number from one uniform number; with *again*, from the same ones in every call."""

    def draw(self, size, scale):
        if again:
            first = self.__dict__.setdefault("first", self._generator.integers(1 << 62))
            self._generator = np.random.default_rng(first)
        scales = np.asarray(scale.numerator / scale.denominator, dtype=float)
        uniform = 2 * self._generator.random(size) - 1
        shift = np.log(2 / (1 + np.exp(-1 / scales)))
        return (np.sign(uniform) * np.floor(scales * (shift - np.log1p(-np.abs(uniform))))).astype(np.int64)

    return draw


def test_the_counts_do_not_remember_the_noise_of_the_partition():
    noise = noise_of_merged_totals(1000)
    assert noise.size > 200
    assert fits_the_noise_of_the_second_phase(noise) > FALSE_ALARM


@pytest.mark.parametrize("again", [pytest.param(False, marks=pytest.mark.full), True])
def test_one_seed_for_two_phases_is_caught(monkeypatch, again):
    """The first number of both phases would be one: cells are merged when it is large, and then counted too large."""
    monkeypatch.setattr(SimulatedNoise, "discrete_laplace", by_inversion(again))
    assert (fits_the_noise_of_the_second_phase(noise_of_merged_totals(1000)) < FALSE_ALARM) == again


# ---- the published one ----------------------------------------------------------------------------------------------


def test_the_published_one_is_neither_a_plan_nor_a_mechanism():
    assert not any("published" in name for name in algorithms())
    assert not any("ublished" in mechanism.__name__ for mechanism in MECHANISMS)
    assert "NOT PRIVATE" in published_dawa.__doc__
    assert "NOT PRIVATE" in published_partition.__doc__


def test_the_published_one_repeats_with_its_seed_and_finds_longer_intervals():
    x = np.repeat([0, 300, 20, 0], 64)
    first, again, other = (published_partition(x, 1, seed=seed) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    honest = Kernel.simulated(x, epsilon=1, seed=0).root.select(DawaPartition(F(4, 3)), "1/4")
    assert first[-1] + 1 < honest.groups
    for domain in ((256,), (16, 16)):
        estimates = [published_dawa(x.reshape(domain), Identity(domain), 1, seed=seed) for seed in (3, 3, 4)]
        assert estimates[0].shape == domain
        np.testing.assert_array_equal(estimates[0], estimates[1])
        assert not np.array_equal(estimates[0], estimates[2])
