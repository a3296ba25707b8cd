"""Confidence intervals cover at their stated rate where that is promised, and say so where it is not."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.plans import plan_named
from adyton.release.intervals import NoiseModel

RELEASES = 4000
LINE, PLANE = np.random.default_rng(1).poisson(20, 64), np.random.default_rng(2).poisson(5, (8, 8))


def model(name, x, workload, epsilon="0.1", merge=False, **options):
    return NoiseModel(plan_named(name, **options), workload, F(epsilon), np.zeros(x.shape), merge)


def coverage(name, x, workload, queries, confidence, epsilon="0.1", **options):
    """How many of many simulated releases have the true answer of each query in its interval."""
    radius = model(name, x, workload, epsilon, **options).interval(queries, confidence).upper
    runs = ad.simulate(name, x, workload, epsilon, seed=77, trials=RELEASES, **options)
    return (np.abs(queries @ (runs - x)) <= radius).mean(axis=0)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("name", ["identity", "h2", "hb", "privelet", "greedy-h", "optimal-hierarchy", "hdmm"])
def test_coverage_on_a_line(name, confidence):
    """4,000 releases, 40 queries: cells and ranges. Everything is seeded, so that nothing is left to chance."""
    ranges = ad.workloads.RandomRanges(64, 20, seed=4)
    queries = ad.workloads.Stack([ad.workloads.Ranges(64, np.arange(20)[:, None], np.arange(20)[:, None]), ranges])
    found = coverage(name, LINE, ad.workloads.Prefix(64), queries, confidence)
    assert found.mean() == pytest.approx(confidence, abs=0.015)
    assert found.min() > confidence - 0.04
    assert found.max() < confidence + 0.05


@pytest.mark.parametrize("name", ["identity", "quadtree", "privelet", "optimal-quadtree"])
def test_coverage_on_a_plane(name):
    workload = ad.workloads.RandomRanges((8, 8), 60, seed=4)
    found = coverage(name, PLANE, workload, workload, 0.95)
    assert found.mean() == pytest.approx(0.95, abs=0.015)
    assert found.min() > 0.93


def test_a_public_total_could_be_wrong():
    adapted = NoiseModel(plan_named("identity", total=9), ad.workloads.Identity(64), F(1, 2), LINE.astype(float))
    assert adapted.kind() == "approximate"
    assert adapted.expected_error() is None
    assert adapted.interval(ad.workloads.Total(64), 0.9).kind == "approximate"


def test_merged_cells_are_exact_for_queries_that_do_not_cut_them():
    workload = ad.workloads.Ranges(64, [[0], [20]], [[40], [63]])
    merged = model("identity", LINE, workload, merge=True)
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
    assert "nobody guarantees" in str(found)
    assert adapted.expected_total() > 0
    assert np.array_equal(found.lower, adapted.interval(workload, 0.95).lower)  # the same again


def test_the_resampled_error_is_near_the_true_one():
    """On smooth data with much signal; docs/intervals.md tells how near it is on others."""
    workload, x = ad.workloads.Prefix(64), LINE * 50
    runs = ad.simulate("staged-hierarchy", x, workload, "0.5", seed=1, trials=100)
    truth = np.sqrt(np.square(workload @ (runs - x)).sum(axis=1).mean())
    adapted = NoiseModel(plan_named("staged-hierarchy"), workload, F(1, 2), runs[0])
    assert adapted.expected_total() == pytest.approx(truth, rel=0.3)


def test_bad_requests():
    workload = ad.workloads.Prefix(64)
    for confidence in (0, 1, 95, float("nan")):
        with pytest.raises(BadInput, match="confidence"):
            model("hb", LINE, workload).interval(workload, confidence)
    with pytest.raises(BadInput, match="at most 0.9975 here"):
        model("hb", LINE, workload).interval(workload, 0.999)
    with pytest.raises(BadInput, match="at most 131,072 queries"):
        model("hb", np.zeros(600), ad.workloads.Prefix(600)).interval(ad.workloads.AllRange(600), 0.95)
