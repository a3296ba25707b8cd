"""Comparisons on tiny public data: the right counts, errors and regrets, and failures that end nothing else."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.plans import algorithms, plan_named, simulate
from adyton.queries import Prefix
from adyton_lab.compare.data_sets import DataSet, data_sets
from adyton_lab.compare.experiment import LOOKS, Experiment
from adyton_lab.compare.results import Case, Outcome, Recommendation, ranked, rounded, shown
from adyton_lab.corpus import Shape
from adyton_lab.training import engine

LINE = DataSet("line", np.bincount([3] * 500 + list(range(64)), minlength=64))
PLANE = DataSet("plane", np.arange(64).reshape(8, 8) % 7)


def shape(name, counts):
    return Shape(name, name, np.asarray(counts, dtype=float))


def case_of(errors, choices=None, failure=None):
    outcomes = [Outcome(algorithm=name, error=error) for name, error in errors.items()]
    advice = Recommendation(choices=choices or {}, failure=failure)
    return Case("d", Fraction(1, 10), "identity", ranked(outcomes), advice)


# ------------------------------------------------------------------------------------------------------- data sets


def test_whole_counts_are_taken_as_they_are():
    (line,) = data_sets([shape("a", [5, 0, 7])])
    assert (line.counts.tolist(), line.rows, line.drawn) == ([5, 0, 7], 12, False)
    long, wide = data_sets([shape("long", np.ones(8192)), shape("wide", np.ones((128, 16)))])
    assert long.counts.tolist() == [2] * 4096
    assert (wide.counts.shape, int(wide.counts.max()), wide.rows) == ((64, 16), 2, 2048)


def test_rows_are_drawn_where_they_are_asked_for_or_no_whole_numbers():
    given = [shape("a", [5, 0, 7])]
    (drawn,) = data_sets(given, rows=1000)
    assert (drawn.rows, drawn.drawn, drawn.counts[1]) == (1000, True, 0)
    assert data_sets(given, rows=1000)[0].counts.tolist() == drawn.counts.tolist()
    (halves,) = data_sets([shape("b", [2.5, 2.5, 5.0])])
    assert (halves.rows, halves.drawn) == (10, True)
    assert "10 rows drawn from it on 3 cells" in str(halves)
    (finer,) = data_sets(given, cells=4)
    assert (finer.counts.shape, finer.rows, finer.drawn) == ((4,), 12, True)


def test_names_are_kept_apart_and_chosen():
    shapes = [shape("a", [1, 2]), shape("a", [1, 2]), shape("a", [2, 1]), shape("b", [[1, 1], [1, 1]])]
    assert [one.name for one in data_sets(shapes)] == ["a", "a (2)", "b"]
    assert [one.name for one in data_sets([shape("a\udcff", [1])])] == ["a?"]
    assert [one.counts.tolist() for one in data_sets(shapes, ["a (2)", "a (2)"])] == [[2, 1]]
    with pytest.raises(BadInput, match=r"there is no data set 'c'. There are 'a', 'a \(2\)', 'b'"):
        data_sets(shapes, ["c"])


def test_sizes_that_make_no_sense():
    plane = [shape("b", np.ones((2, 2)))]
    assert data_sets(plane, cells=16, rows=9)[0].counts.shape == (4, 4)
    with pytest.raises(BadInput, match="form a square"):
        data_sets(plane, cells=8)
    with pytest.raises(BadInput, match="at most 1,048,576 cells"):
        data_sets(plane, cells=1 << 22)
    with pytest.raises(BadInput, match="add up to 1. Use --rows to draw rows from it"):
        data_sets([shape("parts", [0.5, 0.5])])
    with pytest.raises(BadInput, match="more than 2\\^53 rows"):
        data_sets([shape("a", [1e300, 1])])


# ---------------------------------------------------------------------------------------------------------- regrets


def test_regrets_are_errors_divided_by_the_least_one():
    case = case_of({"hb": 6.0, "dawa": 4.0, "odd": None, "h2": 4.0}, {"hb": 15, "dawa": 5})
    assert [one.algorithm for one in case.outcomes] == ["dawa", "h2", "hb", "odd"]
    assert case.best.algorithm == "dawa"
    assert [case.regret(name) for name in ("dawa", "hb", "odd", "unknown")] == [1.0, 1.5, None, None]
    plain = case.to_plain()
    assert (plain["best"], plain["epsilon"]) == ("dawa", "0.1")
    assert plain["recommendation"] == {
        "algorithm": "hb",
        "regret": 1.5,
        "choices": {"hb": 15, "dawa": 5},
        "failure": None,
    }


def test_who_only_chooses_is_not_the_best():
    case = case_of({"pythia": 3.0, "dawa": 4.0})
    assert (case.best.algorithm, case.regret("pythia")) == ("dawa", 0.75)
    assert case_of({"pythia": 3.0}).best.algorithm == "pythia"


def test_errors_of_zero_and_no_errors_at_all():
    case = case_of({"a": 0.0, "b": 2.0, "c": 0.0})
    assert [case.regret(name) for name in "abc"] == [1.0, math.inf, 1.0]
    assert [one["regret"] for one in case.to_plain()["outcomes"]] == [1.0, 1.0, None]
    nothing = case_of({"a": None}, failure="too small")
    assert (nothing.best, nothing.regret("a"), nothing.to_plain()["recommendation"]["algorithm"]) == (None, None, None)


# -------------------------------------------------------------------------------------------------------- the runner


def test_every_case_has_every_algorithm():
    names = ("hb", "uniform", "dawa")
    steps = []
    asked = Experiment(datasets=[LINE, PLANE], public=True, epsilons=["1", "1/10", 0.1], algorithms=names, trials=2)
    found = asked.run(steps.append)
    assert len(steps) == asked.steps() == 2 * (3 + 2) * (3 + 1)
    assert [(one.dataset, one.workload) for one in found.cases if one.epsilon == 1] == [
        *(("line", name) for name in ("identity", "prefix", "mixed")),
        *(("plane", name) for name in ("identity", "mixed")),
    ]
    for case in found.cases:
        assert sorted(one.algorithm for one in case.outcomes) == sorted(names)
        assert all(one.error > 0 and one.standard_error is not None for one in case.outcomes)
        assert sum(case.recommendation.choices.values()) == LOOKS
        assert set(case.recommendation.choices) <= set(algorithms())
    kept = {key[2:] for key in found.estimates if key[:2] == ("line", "0.1")}
    asking = {("dawa", name) for name in ("identity", "prefix", "mixed")}
    assert kept == {("hb", None), ("uniform", None), *asking}
    assert len(found.rows()) == 10 * 3


def test_errors_are_per_query_and_mean_over_trials():
    asked = Experiment(
        datasets=[LINE], public=True, epsilons=["0.5"], workloads=["prefix"], algorithms=["identity"], trials=7
    )
    found = asked.run()
    (one,) = found.cases[0].outcomes
    seed = asked._seed(LINE, Fraction(1, 2), "runs")
    estimates = simulate("identity", LINE.counts, Prefix(64), "0.5", seed=seed, trials=7)
    errors = np.sqrt(np.square(np.cumsum(estimates - LINE.counts, axis=1)).mean(axis=1))
    assert one.error == pytest.approx(errors.mean(), rel=1e-12)
    assert one.standard_error == pytest.approx(errors.std(ddof=1) / math.sqrt(7), rel=1e-12)
    np.testing.assert_array_equal(found.estimates["line", "0.5", "identity", None], estimates[0])


def test_the_seed_decides_everything():
    def errors(seed):
        asked = Experiment(
            datasets=[PLANE], public=True, epsilons=["1"], algorithms=["hb", "hdmm"], workloads=["identity"], seed=seed
        )
        return [(one.algorithm, one.error) for one in asked.run().cases[0].outcomes]

    assert errors(1) == errors(1) != errors(2)


def test_an_algorithm_that_fails_is_listed_with_the_reason(monkeypatch):
    true = engine.simulate

    def sometimes(plan, x, workload, *rest, **options):
        if plan.name == "uniform":
            raise MemoryError
        if plan.name == "dawa" and isinstance(workload, Prefix):
            raise BadInput("not this one.")
        return true(plan, x, workload, *rest, **options) * (math.inf if plan.name == "h2" else 1)

    monkeypatch.setattr(engine, "simulate", sometimes)
    names = ["uniform", "h2", "dawa", "hb"]
    found = Experiment(
        datasets=[LINE], public=True, epsilons=["1"], algorithms=names, workloads=["identity", "prefix"], trials=1
    ).run()
    each, prefix = ({one.algorithm: one for one in case.outcomes} for case in found.cases)
    assert (each["dawa"].failure, prefix["dawa"].failure) == (None, "not this one.")
    assert each["uniform"].failure == "MemoryError: no reason given"
    assert prefix["h2"].failure == "ArithmeticError: an estimate was not finite."
    assert each["hb"].standard_error is None
    assert found.cases[1].best.algorithm == "hb"


def test_each_algorithm_is_done_with_before_the_next(monkeypatch):
    """What hdmm prepares for a workload in minutes is forgotten once many others have run."""
    ran = []

    def recorded(plan, x, *_, trials, **__):
        ran.append(plan.name)
        return np.zeros((trials, *x.shape))

    monkeypatch.setattr(engine, "simulate", recorded)
    found = Experiment(
        datasets=[LINE, PLANE], public=True, algorithms=["hdmm", "h2", "workload"], workloads=["identity"]
    ).run()
    assert [(name, len(list(runs))) for name, runs in itertools.groupby(ran)] == [
        ("hdmm", 6),
        ("h2", 3),
        ("workload", 6),
    ]
    assert [case.dataset for case in found.cases] == ["line"] * 3 + ["plane"] * 3


def test_ctrl_c_ends_it(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Experiment(datasets=[LINE], public=True, algorithms=["hb"]).run()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algorithms": ["hbb"]}, "there is no algorithm 'hbb'"),
        ({"algorithms": ["quadtree"]}, "none of the algorithms asked for serves 1 dimension, which 'line' has"),
        ({"workloads": ["prefx"]}, "Did you mean 'prefix'"),
        ({"epsilons": [0]}, "epsilon must be greater than 0"),
        ({"epsilons": ["2000"]}, "epsilon must be at most 1000, given 2000"),
        ({"trials": 0}, "trials must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"datasets": [PLANE], "workloads": ["prefix"]}, "no prefixes in two dimensions, which 'plane' has"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(BadInput, match=words):
        Experiment(**{"datasets": [LINE], "public": True, **settings})


def test_all_algorithms_of_the_dimension_are_the_default():
    assert set(Experiment(datasets=[PLANE], public=True).plans(PLANE)) == set(algorithms(2))
    both = Experiment(
        datasets=[LINE, PLANE], public=True, algorithms=["hb", "quadtree", "h2"], workloads=["prefix", "long"]
    )
    assert (list(both.plans(LINE)), both.asked(LINE)) == (["hb", "h2"], ["prefix", "long"])
    assert (list(both.plans(PLANE)), both.asked(PLANE)) == (["hb", "quadtree"], ["long"])
    assert both.plans(LINE)["hb"] == plan_named("hb")


# ------------------------------------------------------------------------------------------------- what can be seen


def test_pictures_keep_the_total_and_few_digits():
    counts = np.random.default_rng(0).integers(0, 9, 4096)
    seen = shown(counts)
    assert seen.shape == (512,)
    np.testing.assert_array_equal(seen, counts.reshape(512, 8).sum(axis=1))
    assert shown(np.ones((256, 100))).shape == (64, 50)
    assert rounded(np.array([0.123456, -98765.4, 2.0]), np.array([1.0])) == [0.1235, -98770, 2]
    assert rounded(np.array([[0.123456, 1e-7]]), np.array([[1.0]])) == [0.123, 0]
    assert rounded(np.zeros(2), np.zeros(2)) == [0, 0]
