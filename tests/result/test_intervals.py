"""Confidence intervals say what they are. That exact ones cover at their rate is told by test_exact_intervals.py."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.plans import plan_named
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


def test_bad_requests():
    workload = ad.workloads.Prefix(64)
    for confidence in (0, 1, 95, float("nan")):
        with pytest.raises(BadInput, match="confidence"):
            model("hb", LINE, workload).interval(workload, confidence)
    with pytest.raises(BadInput, match="at most 0.9975 here"):
        model("hb", LINE, workload).interval(workload, 0.999)
    with pytest.raises(BadInput, match="at most 131,072 queries"):
        model("hb", np.zeros(600), ad.workloads.Prefix(600)).interval(ad.workloads.AllRange(600), 0.95)
