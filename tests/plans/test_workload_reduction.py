"""Merging the cells that a workload cannot tell apart (Zhang et al., εKTELO, SIGMOD 2018, Table 2)."""

import numpy as np
import pytest

from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Kronecker, RandomRanges, Ranges, Total


def test_the_identity_gains_more_than_twofold_on_small_ranges():
    workload = RandomRanges((256, 256), 1000, seed=0, kind="short")
    plain, reduced = (plan_named("identity", reduce=reduce) for reduce in (False, True))
    gain = plain.expected_error(workload, 1).total / reduced.expected_error(workload, 1).total
    assert gain > 2.5  # 3.2
    x = np.random.default_rng(0).poisson(0.5, (256, 256))
    errors = [
        np.linalg.norm(workload @ (simulate(plan, x, workload, 1, seed=1, trials=20) - x), axis=-1).mean()
        for plan in (plain, reduced)
    ]
    assert errors[0] / errors[1] == pytest.approx(gain, rel=0.15)


def test_hb_gains_on_small_ranges_of_a_line():
    workload = RandomRanges(4096, 1000, seed=0, kind="short")
    plain, reduced = (plan_named("hb", reduce=reduce).expected_error(workload, 1).total for reduce in (False, True))
    assert plain / reduced > 1.2  # 1.26


@pytest.mark.parametrize("name", ["identity", "hb", "greedy-h", "hdmm", "privelet"])
def test_estimates_answer_the_workload_as_the_groups_do(name):
    x = np.arange(60)
    workload = RandomRanges(60, 5, seed=3, kind="medium")
    plan = plan_named(name, reduce=True)
    groups = plan.merging(workload).groups
    estimates = simulate(plan, x, workload, 1, seed=0, trials=500)
    for group in groups.parts():
        np.testing.assert_allclose(np.ptp(estimates[:, group], axis=1), 0, atol=1e-9)
    measured = np.square(workload @ (estimates - x)).sum(axis=-1).mean()
    assert np.sqrt(measured) == pytest.approx(plan.expected_error(workload, 1).total, rel=0.3)


@pytest.mark.parametrize("name", ["identity", "hb", "hdmm", "privelet"])
def test_axes_stay_axes_where_that_loses_nothing(name):
    """Nobody asks about the last attribute, nor tells the halves of the first: 10 cells of 160 are left, in a table."""
    workload = Kronecker([Ranges(8, [[0], [4], [0]], [[3], [7], [7]]), Identity(5), Total(4)])
    plain, merged = plan_named(name, reduce=False), plan_named(name, reduce=True)
    assert merged.merging(workload).workload.domain == (2, 5, 1)
    assert merged.expected_error(workload, 1).total < plain.expected_error(workload, 1).total * 1.001
    x = np.random.default_rng(3).poisson(4, (8, 5, 4))
    np.testing.assert_allclose(workload @ simulate(merged, x, workload, 900, seed=1), workload @ x, atol=0.1)
