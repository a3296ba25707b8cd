"""Delphi: experiments that resume, training, and plans of one's own."""

import runpy
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import algorithms, plan_named, simulate
from adyton.plans.registry import PLANS
from adyton_lab.audit.certificates import cost_of
from adyton_lab.corpus import Shape
from adyton_lab.training.delphi import CRITERIA
from adyton_lab.training.experiments import Experiments, grid
from adyton_lab.training.replay import expected_errors, held_out
from over_cases import over

W = ad.workloads
SHAPES = [
    Shape("even", "a", np.ones(64)),
    Shape("peak", "b", np.eye(64)[9] + 1e-6),
    Shape("ramp", "c", np.arange(64.0)),
]
SMALL = ad.Delphi(
    public=True,
    corpus=SHAPES,
    sides=[16, 32],
    scales=[20, 2000, 200_000],
    algorithms=["identity", "hb", "uniform"],
    trials=4,
    processes=1,
)


@over(sorted(algorithms()))
def test_plans_that_say_so_do_not_mind_the_workload(name):
    plan = plan_named(name)
    domain = (8,) if plan.serves.serves(1) else (4, 4)
    x = np.arange(np.prod(domain)).reshape(domain)
    asked = [W.Identity(domain), *(W.RandomRanges(domain, 3, seed=seed) for seed in (1, 2))]
    for one, other in ((asked[0], asked[1]), (asked[1], asked[2])):
        if plan.minds(one) == plan.minds(other):
            assert np.array_equal(simulate(plan, x, one, 1, seed=1), simulate(plan, x, other, 1, seed=1))
    assert plan.minds_workload or plan.minds(asked[0]) == plan.minds(asked[1])


def test_inputs_are_drawn_once_and_for_all():
    one, again = (grid(SHAPES, [16], [1000])[2] for _ in range(2))
    assert np.array_equal(one.counts(), again.counts())
    assert one.counts().sum() == 1000
    assert one.key != grid(SHAPES, [16], [1000], ["0.1"])[2].key
    assert one.data == grid(SHAPES, [16], [1000], ["0.1"])[2].data


def test_what_was_measured_is_not_measured_again(tmp_path):
    experiments, inputs = Experiments(tmp_path / "errors.db"), grid(SHAPES, [16], [50])
    steps = []
    names, once = ["identity", "hb"], {"trials": 3, "processes": 1}
    first = experiments.measure(inputs, names, ["identity"], **once, advance=steps.append).errors["identity"]
    assert sum(steps) == 3 * 3
    true = simulate("hb", inputs[1].counts(), W.Identity(16), 1, seed=inputs[1].seed, trials=3) - inputs[1].counts()
    assert first[1, 1] == pytest.approx(np.linalg.norm(true, axis=1))
    before = rows(experiments.path)
    again = experiments.measure(inputs, names, ["identity", "prefix"], trials=3, processes=2)
    assert np.array_equal(first, again.errors["identity"])
    assert len(rows(experiments.path)) == len(before) + 3 * 2
    assert again.features[0].tolist()[:2] == [50, np.count_nonzero(inputs[0].counts())]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    experiments, inputs = Experiments(tmp_path / "errors.db"), grid(SHAPES, [16, 32], [50, 500])

    def interrupt(steps):
        if len(calls := [*done, steps]) == 9:
            raise KeyboardInterrupt
        done[:] = calls

    done = []
    with pytest.raises(KeyboardInterrupt):
        experiments.measure(inputs, ["identity", "hb"], ["identity"], trials=2, processes=1, advance=interrupt)
    kept = rows(experiments.path)
    steps = []
    experiments.measure(inputs, ["identity", "hb"], ["identity"], trials=2, processes=1, advance=steps.append)
    assert kept <= rows(experiments.path)
    assert steps[0] >= 8  # so many were there


def rows(path):
    with sqlite3.connect(path) as file:
        errors = set(file.execute("SELECT input, workload || algorithm, errors FROM errors"))
        return errors | set(file.execute("SELECT input, 'features', features FROM features"))


@pytest.mark.full
def test_a_killed_run_loses_nothing_that_was_finished(tmp_path):
    path = tmp_path / "errors.db"
    code = (
        "import sys, adyton as ad\n"
        "ad.Delphi(dimensions=1, algorithms=['dawa', 'mwem'], sides=[64, 128], scales=[100, 1000], trials=5, "
        "cache=sys.argv[1], processes=2).measure()"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)])
    while not path.exists() or len(rows(path)) < 20:
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = rows(path)
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert kept <= rows(path)
    assert len(rows(path)) == 7 * 2 * 2 * (2 * 2 + 1) - 7 * 2 * 2 * 2 + 7 * 2 * 2 * 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees_and_similar_inputs_learn_where_an_even_spread_wins(criterion):
    measured = SMALL.measure()
    tree = ad.Delphi(public=True, corpus=SHAPES, kind="tree", criterion=criterion, share=F(1, 2)).learn(measured)
    for selector in (tree, ad.Delphi(public=True, corpus=SHAPES, share=F(1, 2)).learn(measured)):
        choice = selector.choose(
            Kernel.simulated(np.ones(32, dtype=np.int64), epsilon=50, seed=1).root, W.Prefix(32), F(50)
        )
        assert choice.algorithm in selector.training.algorithms
        selectors = held_out(measured, lambda part: SMALL.learn(part))
        errors = expected_errors(measured, selectors, "identity")
        assert (errors >= measured.mean_errors("identity").min(axis=1) - 1e-9).all()


def test_training_says_where_it_comes_from():
    about = SMALL.train().training
    assert (about.dimensions, about.corpus, about.inputs, about.trials) == (1, ("a", "b", "c"), 18, 4)
    assert about.workloads == ("identity", "prefix")


def test_bad_input(tmp_path):
    with pytest.raises(BadInput, match="usable|no shape|corpus"):
        ad.Delphi(public=True, corpus=tmp_path).train()
    with pytest.raises(BadInput, match="dimensions"):
        ad.Delphi(public=True, corpus=SHAPES, dimensions=2).train()
    with pytest.raises(BadInput, match="1 or 2 dimensions"):
        ad.Delphi(dimensions=3).train()
    for wrong, match in (
        ({"algorithms": ["daw"]}, "dawa"),
        ({"algorithms": ["pythia"]}, "cannot include pythia"),
        ({"algorithms": ["adaptive-grid"]}, "does not serve"),
        ({"workloads": ["prefixes"]}, "prefix"),
        ({"trials": 0}, "trials"),
        ({"sides": [0]}, "sides"),
    ):
        with pytest.raises(BadInput, match=match):
            ad.Delphi(public=True, corpus=SHAPES, **wrong).train()
    for wrong, match in (({"kind": "forest"}, "tree"), ({"kind": "tree", "criterion": "gini"}, "criterion")):
        with pytest.raises(BadInput, match=match):
            ad.Delphi(
                public=True,
                corpus=SHAPES,
                sides=[8],
                scales=[9],
                trials=2,
                algorithms=["identity"],
                processes=1,
                **wrong,
            ).train()
    (tmp_path / "text.db").write_text("not a database, but long enough to be taken for one " * 30)
    with pytest.raises(BadInput, match="cannot hold experiments"):
        Experiments(tmp_path / "text.db")


def test_a_plan_of_ones_own_joins_is_trained_in_and_chosen_where_it_wins():
    script = Path(__file__).parents[3] / "examples" / "own_plan.py"
    assert sum(bool(line.strip()) for line in script.read_text().splitlines()) <= 25
    try:
        own = runpy.run_path(str(script))["EveryTenth"]
        steps = Shape("steps", "steps", np.repeat([1.0, 5, 2, 9], 30))
        names = ["identity", own.name]
        selector = ad.Delphi(public=True, corpus=[steps], algorithms=names, sides=[120], trials=4, processes=1).train()
        few, many = np.repeat([0, 1, 0, 2], 30), np.random.default_rng(0).integers(0, 10**5, 120)
        for x, name in ((few, own.name), (many, "identity")):
            choice = ad.Pythia(selector).choose(Kernel.simulated(x, epsilon=1, seed=1).root, W.Identity(120), 1)
            assert choice.algorithm == name
        assert cost_of(ad.Pythia(selector), W.Identity(20), F(1)) == 1
    finally:
        PLANS.pop("every-tenth", None)


@pytest.mark.full
def test_training_after_a_session_whose_remains_are_not_swept_up_yet(tmp_path):
    """Workers inherit the parent's memory. One that sweeps it up closes a database that is not its own, and dies."""
    code = """if True:
        import pandas, adyton as ad
        def use():
            session = ad.Session(pandas.DataFrame({"a": [True]}), schema=ad.Schema({"a": ad.Boolean()}), epsilon=1)
            session.count("0.5")
            session.itself = session
        for _ in range(3):
            use()
        delphi = ad.Delphi(algorithms=["identity", "uniform"], sides=[64], scales=[100, 10000], trials=5, processes=2)
        print(delphi.train().kind)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "similar-inputs\n", done.stderr
