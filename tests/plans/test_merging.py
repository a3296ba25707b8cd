"""Merging is decided once: before spending and afterwards the same figure, and it is the one that releases show."""

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.choice.pythia import Chosen
from adyton.noise import SimulatedNoise
from adyton.plans import algorithms, plan_named, plan_type, simulate
from adyton.plans.base import Merging
from adyton.plans.strategy_plan import StrategyPlan
from adyton.queries import Identity, Partition, Ranges

SIDE = 12
TRIALS = 2000
ROWS = (SIDE * np.random.default_rng(1).beta(0.5, 2, (3000, 2))).astype(int)


def boxes(ndim):
    """A dozen boxes that leave most neighbours together, and the task that asks for them."""
    random = np.random.default_rng(ndim)
    ends = np.sort(random.integers(0, SIDE, (12 if ndim > 1 else 3, ndim, 2)), axis=-1)
    asked = [{name: tuple(map(int, pair)) for name, pair in zip("ab", box, strict=False)} for box in ends]
    return ad.QueryList(asked)


@pytest.fixture(scope="module")
def session():
    schema = ad.Schema({name: ad.Integer(0, SIDE - 1) for name in "ab"})
    return ad.Session(pd.DataFrame(ROWS, columns=["a", "b"]), schema=schema, epsilon=100, noise=SimulatedNoise(7))


LINEAR = [name for name in algorithms(1) if isinstance(plan_named(name), StrategyPlan) and plan_named(name).linear]
"""Those with one error on all data. Merged cells of a map stand in a line, so that others cannot merge."""
EVERY_TIME = {"adaptive-hierarchy", "ahp", "dawa", "denoised-cells", "efpa", "mwem"}
"""One of each kind of adaptive plan: what is tested of them is the merging, which all share."""
ADAPTIVE = [
    pytest.param(name, marks=[] if name in EVERY_TIME else [pytest.mark.full])
    for name in algorithms(1)
    if name not in LINEAR and not plan_type(name).chooses
]


@pytest.mark.parametrize(
    ("name", "ndim"), [(name, ndim) for name in LINEAR for ndim in (1, 2) if plan_type(name).serves.serves(ndim)]
)
def test_preview_and_release_agree_with_each_other_and_with_the_truth(session, name, ndim):
    """2,000 simulated runs of twelve answers: 10% are at least five deviations (√(kurtosis/2,000) of one squared)."""
    task = boxes(ndim)
    before = session.preview(task, 1, algorithm=name, reduce=True).candidates[name]
    release = session.release(task, 1, algorithm=name, reduce=True)
    assert plan_named(name, reduce=True).merging(release.workload).groups is not None
    if name == "uniform":
        assert before.kind == "noise only"
        assert release.expected_error.kind == "resampled"
        return
    assert before.kind == "exact"
    assert release.expected_error == before
    x = np.arange(release.estimate.size).reshape(release.estimate.shape)
    runs = simulate(name, x, release.workload, 1, seed=3, trials=TRIALS, reduce=True)
    measured = np.sqrt(np.square(release.workload @ (runs - x)).sum(axis=-1).mean())
    assert measured == pytest.approx(before.total, rel=0.1)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_where_the_error_depends_on_the_data_the_release_computes_it_from_the_same_cells(session, name):
    """Twenty runs on what was published, thirty on the truth: a figure of other cells would be far off."""
    task, x = boxes(1), np.bincount(ROWS[:, 0], minlength=SIDE)
    before = session.preview(task, 1, algorithm=name, reduce=True).candidates[name]
    release = session.release(task, 1, algorithm=name, reduce=True)
    assert before is None or before.kind == "upper mark"
    assert release.expected_error.kind == "resampled"
    groups = plan_named(name, reduce=True).merging(release.workload).groups
    means = np.bincount(groups.labels, release.estimate) / groups.sizes
    np.testing.assert_allclose(release.estimate, means[groups.labels])
    runs = simulate(name, x, release.workload, 1, seed=3, trials=30, reduce=True)
    measured = np.sqrt(np.square(release.workload @ (runs - x)).sum(axis=-1).mean())
    assert measured / 3 < release.expected_error.total < 3 * measured


def test_what_was_chosen_agrees_with_its_preview(session):
    """The budget that features cost is taken off before: an error is never promised that is too small."""
    task = boxes(2)
    release = session.release(task, 1)
    known = session.preview(task, 1).candidates
    assert release.choice is not None
    if release.expected_error.kind in ("exact", "estimate"):
        assert release.expected_error.total <= known[release.algorithm].total
    assert all(error is None or error.kind != "exact" for error in known.values())  # what features cost is not known


@pytest.mark.parametrize("reduce", [False, True])
def test_an_algorithm_that_merges_by_itself_does_so_inside_a_choice(reduce):
    """Pythia's merging comes first, the algorithm's own second."""
    from adyton.choice.pythia import Chosen

    workload = Ranges((8, 8), [[0, 0], [2, 4]], [[5, 7], [7, 7]])
    chosen = Chosen.named("greedy-h", reduce=reduce)
    x = np.arange(64).reshape(8, 8)
    runs = simulate(chosen, x, workload, 1, seed=0, trials=TRIALS)
    measured = np.sqrt(np.square(workload @ (runs - x)).sum(axis=-1).mean())
    assert measured == pytest.approx(chosen.expected_error(workload, 1).total, rel=0.1)
    assert chosen.one_law(workload, 1, workload)
    assert not chosen.one_law(workload, 1, Identity((8, 8)))


def test_queries_on_groups():
    merging = Merging.of(Ranges(4, [[0]], [[1]]), Partition([0, 0, 1, 1]))
    assert merging.on_groups(Identity(4)) is None
    np.testing.assert_array_equal(merging.on_groups(Ranges(4, [[2]], [[3]])) @ [5, 6], [6])
    np.testing.assert_array_equal(merging.counts([[1, 2], [3, 4]]), [3, 7])
    np.testing.assert_array_equal(merging.lift(np.array([2.0, 6.0])), [1, 1, 3, 3])
    alone = Merging.of(Identity(4), Partition(range(4)))
    assert alone.on_groups(Identity(4)).count == 4
    np.testing.assert_array_equal(alone.lift(np.arange(4.0)), range(4))


@pytest.mark.parametrize("algorithm", ["staged-quadtree", "denoised-cells", "identity"])
def test_a_chosen_algorithm_runs_on_merged_cells_of_two_attributes(algorithm):
    """It may see axes, and says what it found in the shape of the domain all the same."""
    schema = ad.Schema({"age": ad.Integer(0, 99, step=5), "sex": ad.Categorical(["F", "M"])})
    workload = ad.QueryList([{"age": (20, 29)}, {"sex": "F"}]).workload(schema)
    counts = np.full((20, 2), 10)
    found = simulate(Chosen.named(algorithm, finished=True, reduce=True), counts, workload, 1000, seed=0, trials=3)
    assert found.shape == (3, 20, 2)
    assert np.allclose(workload @ found[0].reshape(-1), workload @ counts.reshape(-1), atol=1)
