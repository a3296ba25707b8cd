"""Striped plans: one plan for one dimension in every stripe, for the price of one; what is asked of a stripe."""

from fractions import Fraction as F

import numpy as np
import pytest

from adyton.choice.pythia import ClosedForm, fixed_error, striped_plan
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.queries import (
    Explicit,
    Identity,
    Kronecker,
    Marginals,
    Prefix,
    RandomRanges,
    Stack,
    Total,
)
from adyton.queries.axes import stripe_parts, stripe_workload, stripes_of, whole_of
from adyton.solving.solvers import DenseSolver, StripedSolver, solver
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels
from over_cases import over

DOMAIN = (3, 8, 2)
ANY = [Stack([Identity(side), Total(side)]) for side in DOMAIN]
WORKLOADS = {
    "cells": Identity(DOMAIN),
    "total": Total(DOMAIN),
    "pairs": Marginals(DOMAIN, way=2),
    "boxes": RandomRanges(DOMAIN, 12, seed=1),
    "prefixes or any": Kronecker([ANY[0], Prefix(8), ANY[2]]),
    "both": Stack([Identity(DOMAIN), Marginals(DOMAIN, way=1), Total(DOMAIN)]),
}
ONE_BY_ONE = ["adaptive-hierarchy-striped", "dawa-striped", "staged-hierarchy-striped", "striped"]


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(3, DOMAIN)


@over(WORKLOADS, [0, 1, 2])
def test_what_is_asked_of_the_stripes_adds_up_to_what_is_asked(name, axis):
    """Σ_s W_sᵀ·W_s, over stripes, is Σ (how often)·partᵀ·part."""
    workload = WORKLOADS[name]
    side = DOMAIN[axis]
    rows = stripes_of(np.concatenate(list(workload.rows())), DOMAIN, axis).reshape(-1, side)
    parts = stripe_parts(workload, axis)
    np.testing.assert_allclose(sum(number * queries.gram() for number, queries in parts), rows.T @ rows)
    shape = stripe_workload(workload, axis).gram()
    np.testing.assert_allclose(shape / np.trace(shape), rows.T @ rows / np.square(rows).sum(), atol=1e-12)


def test_boxes_of_many_sizes_are_weighted_one_by_one():
    workload = RandomRanges((4, 40, 40), 300, seed=0)
    ((number, queries),) = stripe_parts(workload, 0)
    rows = stripes_of(np.concatenate(list(workload.rows())), workload.domain, 0).reshape(-1, 4)
    np.testing.assert_allclose(number * queries.gram(), rows.T @ rows)


def test_an_unknown_workload_is_asked_for_prefix_sums():
    rows = Explicit.from_rows(np.eye(48, dtype=int)[:3], DOMAIN)
    assert stripe_parts(rows, 1) is None
    assert isinstance(stripe_workload(rows, 1), Prefix)
    with pytest.raises(BadInput, match="axes are numbered 0 … 2"):
        stripe_parts(rows, 3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_stripes_and_back(axis):
    values = np.arange(2 * 48).reshape(2, 48)
    np.testing.assert_array_equal(whole_of(stripes_of(values, DOMAIN, axis), DOMAIN, axis), values)


@pytest.mark.parametrize("name", WORKLOADS)
def test_stripes_are_solved_as_all_cells_at_once(name):
    queries = Kronecker([Identity(3), plan_named("hb").strategy(Identity(8)).queries, Identity(2)])
    striped, dense = solver(queries, 2.0), DenseSolver(queries, np.full(queries.count, 2.0))
    assert isinstance(striped, StripedSolver)
    answers = np.random.default_rng(3).normal(size=(4, queries.count))
    np.testing.assert_allclose(striped.solve(answers), dense.solve(answers), atol=1e-9)
    rows = np.concatenate(list(WORKLOADS[name].rows()))
    np.testing.assert_allclose(striped.variances(rows), dense.variances(rows), rtol=1e-9)
    assert striped.total_variance(WORKLOADS[name]) == pytest.approx(dense.total_variance(WORKLOADS[name]))


def test_noise_that_differs_between_stripes_needs_another_solver():
    queries = Kronecker([Identity(3), plan_named("hb").strategy(Identity(8)).queries])
    noise = np.repeat([1.0, 2.0, 3.0], queries.count // 3)
    assert not isinstance(solver(queries, noise), StripedSolver)


@pytest.mark.parametrize("name", ["hb-striped", "change-points-striped"])
def test_all_stripes_are_measured_at_once(name, counts):
    kernel = Kernel.simulated(counts, epsilon=1, seed=0)
    with kernel.recording() as recorder:
        plan_named(name).estimate(kernel.root, Identity(DOMAIN), 1)
    assert len(recorder.debits) == 1


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("axis", [None, 0])
def test_every_stripe_gets_the_whole_budget(name, axis, counts):
    kernel = Kernel.simulated(counts, epsilon=1, seed=0)
    with kernel.recording() as recorder:
        plan_named(name, axis=axis).estimate(kernel.root, Identity(DOMAIN), "1/3")
    assert kernel.spent == F(1, 3)
    assert sum(debit.amount for debit in recorder.debits) == F(1, 3)
    assert len({debit.lineage[1] for debit in recorder.debits}) == (6 if axis is None else 16)


def test_a_stripe_is_estimated_from_its_own_rows(counts):
    """With next to no noise, every plan returns the counts, wherever the stripes run."""
    for name in ("hb-striped", "change-points-striped", "dawa-striped", "staged-hierarchy-striped"):
        for axis in range(3):
            estimate = simulate(name, counts, Identity(DOMAIN), 500, seed=0, axis=axis)
            np.testing.assert_allclose(estimate, counts, atol=0.05)


def test_any_plan_for_a_line_runs_in_stripes(counts):
    assert simulate("striped", counts, Prefix3, 1, seed=0, inner="greedy-h").shape == DOMAIN
    for inner in ("pythia", "quadtree", "no such plan", 3):
        with pytest.raises(BadInput, match="inner must be the name of an algorithm for one dimension"):
            plan_named("striped", inner=inner)


Prefix3 = WORKLOADS["prefixes or any"]


def test_values_that_no_query_tells_apart_are_merged_before(counts):
    """Nobody asks for the first attribute: its three stripes are one, with a third of the noise."""
    workload = Marginals(DOMAIN, [(1, 2)])
    plain, merged = (plan_named("hb-striped", reduce=reduce) for reduce in (False, True))
    before, after = (plan.expected_error(workload, 1) for plan in (plain, merged))
    assert after.kind == before.kind == "exact"
    assert after.total == pytest.approx(before.total / np.sqrt(3))
    runs = simulate(merged, counts, workload, 1, seed=1, trials=4000)
    measured = np.sqrt(np.square(workload @ (runs - counts)).sum(axis=-1).mean())
    assert measured == pytest.approx(after.total, rel=0.05)  # seven deviations
    for name in ONE_BY_ONE:
        kernel = Kernel.simulated(counts, epsilon=1, seed=0)
        with kernel.recording() as recorder:
            plan_named(name, reduce=True).estimate(kernel.root, workload, 1)
        assert len({debit.lineage[:4] for debit in recorder.debits}) <= 2 * 2


def test_too_many_stripes_are_refused_before_anything_is_spent():
    kernel = Kernel.simulated(np.zeros((5000, 4), dtype=int), epsilon=1, seed=0)
    with pytest.raises(BadInput, match=r"up to 4,096 stripes; along axis 1 there are 5,000.*hb-striped"):
        plan_named("dawa-striped", axis=1).estimate(kernel.root, Identity((5000, 4)), 1)
    with pytest.raises(BadInput, match="axes are numbered 0 … 1"):
        plan_named("dawa-striped", axis=2).estimate(kernel.root, Identity((5000, 4)), 1)
    assert kernel.spent == 0


def test_auto_takes_stripes_where_they_are_expected_to_err_least():
    selector, domain = ClosedForm.of(3), (256, 6, 6)
    assert selector.candidates(Identity(domain)) == ["change-points-striped"]
    pairs = Marginals(domain, way=2)
    assert "staged-hierarchy-striped" in selector.candidates(pairs)
    source = Kernel.simulated(np.zeros(domain, dtype=int), epsilon=1, seed=0).root
    chosen = selector.choose(source, pairs, F(1))
    assert chosen.algorithm == "staged-hierarchy-striped"
    assert chosen.errors[chosen.algorithm] == min(chosen.errors.values())
    assert selector.choose(source, pairs, F(12)).algorithm == "identity"  # discrete noise is next to nothing
    assert selector.choose(source, pairs, F(1), ordered=False).algorithm == "hdmm"
    assert striped_plan(Marginals(domain, [(1, 2)])) is None  # only totals of stripes are asked for
    assert striped_plan(Identity((63, 16, 16))) is None
    assert striped_plan(Identity((66, 65, 64))) is None  # too many stripes


def test_the_fixed_counterpart_of_stripes_errs_as_said():
    """The best levels in every stripe, from a workload whose stripes are not asked alike."""
    workload = Marginals((64, 3, 2), way=2)
    levels = optimal_levels(64, level_energy_of(stripe_workload(workload, 0)))
    line = levels.strategy(64)
    queries = Kronecker([line.queries, Identity(3), Identity(2)])
    noise = 2 * np.repeat(np.square(1 / line.weights), 6)
    dense = solver(queries, noise).total_variance(workload)
    assert fixed_error(workload, F(1, 2)) == pytest.approx(2 * np.sqrt(dense), rel=1e-6)
