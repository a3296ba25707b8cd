"""Confidence intervals say what they are. That exact ones cover at their rate is told by test_exact_intervals.py."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pandas
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.noise.simulated import SimulatedNoise
from adyton.plans import plan_named
from adyton.queries import Identity
from adyton.result.noise_model import NoiseModel

LINE = np.random.default_rng(1).poisson(20, 64)


def model(name, x, workload, epsilon="0.1", **options):
    return NoiseModel(plan_named(name, **options), workload, F(epsilon), np.zeros(x.shape))


def test_a_public_total_could_be_wrong():
    adapted = NoiseModel(plan_named("identity", total=9), ad.workloads.Identity(64), F(1, 2), LINE.astype(float))
    assert adapted.kind() == "approximate"
    assert adapted.expected_error() is None
    assert adapted.interval(ad.workloads.Total(64), 0.9).kind == "approximate"


def test_merged_cells_are_exact_for_queries_that_do_not_cut_them():
    workload = ad.workloads.Ranges(64, [[0], [20]], [[40], [63]])
    merged = model("identity", LINE, workload, reduce=True)
    assert merged.kind() == merged.kind(workload) == "exact"
    assert merged.kind(ad.workloads.Identity(64)) == "approximate"
    plain = model("identity", LINE, workload).interval(workload, 0.95)
    assert (merged.interval(workload, 0.95).upper < plain.upper / 3).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [("dawa", {}), ("denoised-cells", {}), ("staged-hierarchy", {}), ("uniform", {}), ("hb", {"nonnegative": True})],
)
def test_what_adapts_to_the_data_is_called_approximate(name, options):
    workload = ad.workloads.Prefix(64)
    runs = ad.simulate(name, LINE * 50, workload, "0.5", seed=1, **options)
    adapted = NoiseModel(plan_named(name, **options), workload, F(1, 2), runs)
    found = adapted.interval(workload, 0.95)
    assert found.kind == "approximate"
    assert "formal guarantee" in str(found)
    assert adapted.resampled_error().total > 0
    assert np.array_equal(found.lower, adapted.interval(workload, 0.95).lower)  # the same again


def test_the_resampled_error_is_near_the_true_one():
    """On smooth data with much signal; docs/intervals.md tells how near it is on others."""
    workload, x = ad.workloads.Prefix(64), LINE * 50
    runs = ad.simulate("staged-hierarchy", x, workload, "0.5", seed=1, trials=100)
    truth = np.sqrt(np.square(workload @ (runs - x)).sum(axis=1).mean())
    adapted = NoiseModel(plan_named("staged-hierarchy"), workload, F(1, 2), runs[0])
    assert adapted.resampled_error().total == pytest.approx(truth, rel=0.3)


def released(x, epsilon, algorithm, seed):
    """A release of these counts, and its noise model."""
    table = pandas.DataFrame({"v": np.repeat(np.arange(x.size), x)})
    schema = ad.Schema({"v": ad.Integer(0, x.size - 1)})
    session = ad.Session(table, schema=schema, epsilon=1, noise=SimulatedNoise(seed))
    return session.release(ad.Histogram("v"), epsilon=epsilon, algorithm=algorithm)


def test_what_smoothing_removes_is_in_the_intervals():
    """A quarter of the cells have a few rows: they are estimated as nearly empty. Intervals from runs on such estimates
    miss many of them, intervals that use what was measured fewer. All contain the estimate, and no negative count. The
    noise is seeded: no false alarms."""
    x, covered = np.random.default_rng(3).permutation(np.repeat([0, 0, 0, 60], 40)), []
    for seed in range(2):
        release = released(x, "0.02", "change-points", seed)
        found, blind = (
            replace(release.noise, measured=kept).interval(Identity(x.shape), 0.95) for kept in (release.measured, None)
        )
        assert ((found.lower <= found.estimate) & (found.estimate <= found.upper)).all()
        assert (found.lower >= np.minimum(0, found.estimate)).all()
        assert (found.upper - found.lower).mean() < 1.4 * 2 * np.log(20) / 0.02
        covered.append([((made.lower <= x) & (x <= made.upper)).mean() for made in (found, blind)])
    with_measured, without = np.mean(covered, axis=0)
    assert with_measured > 0.85 > without + 0.05, covered


def test_intervals_contain_a_measured_count_that_noise_does_not_explain():
    """The estimate is far from what was measured: the interval reaches from one to the other. Sums of cells too."""
    workload, measured = Identity(64), np.zeros(64)
    measured[5] = 2000
    noise = NoiseModel(plan_named("denoised-cells"), workload, F(1, 50), np.zeros(64), measured)
    cells = noise.interval(workload, 0.95)
    assert cells.lower[5] == 0
    assert cells.upper[5] >= 2000
    assert cells.upper[6] < 300
    assert noise.interval(ad.workloads.Ranges(64, [[3]], [[8]]), 0.95).upper[0] >= 2000
    assert noise.interval(workload, 0.8, together=True).upper[5] >= 2000


def test_what_was_measured_is_kept_only_where_intervals_need_it(tmp_path):
    x = np.full(40, 30)
    assert released(x, "0.5", "identity", 1).measured is None  # it is the estimate
    release = released(x, "0.5", "change-points", 1)
    release.save(tmp_path / "kept")
    loaded = ad.Release.load(tmp_path / "kept")
    assert np.array_equal(loaded.measured, release.measured)
    assert np.array_equal(loaded.interval().upper, release.interval().upper)
    chosen = released(np.random.default_rng(3).permutation(np.repeat([0, 0, 0, 60], 40)), "1", "auto", 1)
    assert chosen.algorithm == "change-points"
    assert chosen.measured is not None


def test_sums_of_few_rows_far_below_the_noise_are_in_the_intervals():
    """Nearly all rows are in one row of the map; the rest adds up in large boxes, although no cell shows it. The noise
    is seeded: no false alarms."""
    workload, x, plan = (
        ad.workloads.RandomRanges((16, 16), 100, seed=1),
        np.zeros((16, 16), np.int64),
        "staged-quadtree",
    )
    x[0], x[1:] = 5000, np.random.default_rng(2).random((15, 16)) < 0.1
    made = plan_named(plan).carry_out(Kernel.simulated(x, epsilon=1, seed=3).root, workload, F(1))
    truth, covered = workload @ x, []
    for kept in (made.measured, None):
        found = NoiseModel(plan_named(plan), workload, F(1), made.estimate, kept).interval(workload, 0.95)
        covered.append(((found.lower <= truth) & (truth <= found.upper)).mean())
    assert covered[0] >= 0.95 > covered[1] + 0.05, covered


def test_differences_inside_an_interval_of_dawa_are_in_the_bounds():
    """At this ε all cells are one interval: running dawa again on even cells does not show that they differ. The noise
    is seeded: no false alarms."""
    x, workload, epsilon = np.array([900, 100, 700, 300] * 3), Identity((12,)), F(1, 100)
    made = plan_named("dawa").carry_out(Kernel.simulated(x, epsilon=epsilon, seed=5).root, workload, epsilon)
    found, blind = (
        NoiseModel(plan_named("dawa"), workload, epsilon, made.estimate, kept).interval(workload, 0.95)
        for kept in (made.measured, None)
    )
    assert ((found.lower <= x) & (x <= found.upper)).all()
    assert ((blind.lower <= x) & (x <= blind.upper)).mean() < 0.5
    assert plan_named("dawa").unbiased(workload, epsilon, made.measured[:-1], workload) is None


def test_bad_requests():
    workload = ad.workloads.Prefix(64)
    for confidence in (0, 1, 95, float("nan")):
        with pytest.raises(BadInput, match="confidence"):
            model("hb", LINE, workload).interval(workload, confidence)
    with pytest.raises(BadInput, match="at most 0.9975 here"):
        model("hb", LINE, workload).interval(workload, 0.999)
    with pytest.raises(BadInput, match="at most 131,072 queries"):
        model("hb", np.zeros(600), ad.workloads.Prefix(600)).interval(ad.workloads.AllRange(600), 0.95)
