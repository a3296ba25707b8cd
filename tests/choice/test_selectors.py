"""Selectors: what they spend, what they look at, what they choose, and how they are kept."""

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision import Choice
from adyton.choice.decision_tree import Leaf, Split, walk
from adyton.choice.pythia import ClosedForm
from adyton.choice.selector import CELLS, FEATURES, Selector, Training, body_of, feature_named, kind_of, reach
from adyton.choice.trained_selectors import SimilarInputs, TreeSelector
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named
from adyton.queries import Total
from adyton_lab.training.experiments import Measured, feature_noise, true_feature

W = ad.workloads
DATA = {
    "nothing": np.zeros(16, dtype=np.int64),
    "one cell": np.eye(16, dtype=np.int64)[3] * 900,
    "even": np.full(16, 7),
    "ramp": np.arange(16) ** 2,
}


def training(dimensions=1, algorithms=("identity", "hb", "uniform"), workloads=("identity", "prefix")):
    return Training(
        dimensions=dimensions,
        algorithms=tuple(algorithms),
        workloads=workloads,
        corpus=("made up",),
        epsilons=("1",),
        inputs=4,
        trials=2,
        date="2026-01-01",
        adyton="0",
    )


def leaf(name):
    return Leaf(name, {"identity": 1.3, "hb": 1.2, "uniform": 1.1, name: 1.0}, 9)


TREE = Split(
    "scale",
    300.0,
    Split("non-zeros", 5.0, leaf("uniform"), Split(CELLS, 8.0, leaf("hb"), leaf("identity"))),
    Split("total-variation", 400.0, Split("partitionality", 60.0, leaf("hb"), leaf("identity")), leaf("uniform")),
)
SELECTOR = TreeSelector(training(), F(1, 10), {"identity": TREE, "prefix": leaf("hb")})


def faults(selector, workload=None, total=None):
    """What is wrong with a selector's runs: spending, what was looked at, what is left."""
    asked = workload or W.Identity(16)
    found = []
    for name, x in DATA.items():
        for epsilon in (F(1), F(7, 2), F(1, 10)):
            for seed in range(3):
                kernel = Kernel.simulated(x, epsilon=100, seed=seed)
                choice = selector.choose(kernel.root, asked, epsilon, total)
                features = kernel.spent
                if features != sum((one.spent for one in choice.bought), F(0)):
                    found.append(f"{name}: features cost {features}, which is not what was said")
                if features + choice.left != epsilon:
                    found.append(f"{name}: {features} and {choice.left} are not {epsilon}")
                if features > selector.share * epsilon:
                    found.append(f"{name}: features cost {features}, more than the share")
                ad.Pythia(selector, total=total).estimate(
                    Kernel.simulated(x, epsilon=epsilon, seed=seed).root, asked, epsilon
                )
                if isinstance(selector, TreeSelector):
                    values = {one.name: one.value for one in choice.bought} | {CELLS: 16.0}
                    values |= {} if total is None else {"scale": float(epsilon) * total}
                    _, seen = walk(selector.trees[kind_of(asked, selector.trees)], values.__getitem__)
                    if {one.name for one in choice.bought} - seen.keys():
                        found.append(f"{name}: a feature was looked at that is not on the path")
    return found


def test_every_path_costs_exactly_epsilon_and_looks_at_no_other_feature():
    assert faults(SELECTOR) == []
    assert faults(SELECTOR, W.Prefix(16)) == []
    assert faults(SELECTOR, total=500) == []


@dataclass(frozen=True, eq=False)
class Eager(TreeSelector):
    """Buys all features and keeps quiet about those that it did not need."""

    def choose(self, x, workload, epsilon, total=None, *, ordered=True):
        choice = super().choose(x, workload, epsilon, total)
        for feature in FEATURES[:2]:
            feature.buy(x, epsilon, epsilon / 100)
        return choice


class Talkative(TreeSelector):
    """Buys all features, pays for them, and returns them."""

    def choose(self, x, workload, epsilon, total=None, *, ordered=True):
        bought = tuple(feature.buy(x, epsilon, self.share * epsilon / 4) for feature in FEATURES)
        values = {one.name: one.value for one in bought} | {CELLS: 16.0}
        found, _ = walk(self.trees[kind_of(workload, self.trees)], values.__getitem__)
        return Choice(found.algorithm, epsilon * (1 - self.share), bought, found.regrets)


class RefundsTwice(TreeSelector):
    """Gives back twice what the path did not spend."""

    def choose(self, x, workload, epsilon, total=None, *, ordered=True):
        choice = super().choose(x, workload, epsilon, total)
        unspent = self.share * epsilon - (epsilon - choice.left)
        return replace(choice, left=choice.left + unspent)


@pytest.mark.parametrize("mutant", [Eager, Talkative, RefundsTwice])
def test_mutants_are_caught(mutant):
    broken = mutant(SELECTOR.training, SELECTOR.share, SELECTOR.trees)
    try:
        found = faults(broken)
    except ad.errors.BudgetExceeded:
        return
    assert found


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(8)])
def test_features_are_those_of_the_data_times_epsilon(epsilon):
    x = np.array([0, 3, 3, 9, 0, 0, 0, 1])
    scaled = {feature.name: true_feature(feature, x, epsilon) for feature in FEATURES}
    assert scaled["scale"] == pytest.approx(16 * epsilon)
    assert scaled["non-zeros"] == 4
    assert scaled["total-variation"] == pytest.approx(float(epsilon) * np.abs(x - 2).sum() / 2)
    if epsilon == 8:  # an interval costs 1/8, so that all cells but the equal ones stand alone: 8·5/8 and 8·1/8
        assert scaled["partitionality"] == pytest.approx(6)
    for feature in FEATURES:
        rich = feature.buy(Kernel.simulated(x, epsilon=1000, seed=1).root, epsilon, F(1000))
        assert rich.value == pytest.approx(scaled[feature.name], abs=0.05 * float(epsilon))
        assert rich.spent == 1000


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_the_noise_of_training_is_that_of_deployment_also_above_epsilon_1(feature):
    x = np.full(8, 50)
    for epsilon in (F(1, 2), F(4)):
        spent, bought = epsilon / 20, None
        values = []
        for seed in range(400):
            bought = feature.buy(Kernel.simulated(x, epsilon=epsilon, seed=seed).root, epsilon, spent)
            values.append(bought.value)
        scale = feature_noise(feature, 8, epsilon, spent)
        assert bought.deviation == pytest.approx(scale * np.sqrt(2), rel=0.02)
        # the mean of 400 Laplace draws is further off than 0.42 scales once in a million times
        assert np.mean(values) == pytest.approx(true_feature(feature, x, epsilon), abs=0.42 * scale)
        moved = abs(
            true_feature(feature, x + np.eye(8, dtype=np.int64)[0], epsilon) - true_feature(feature, x, epsilon)
        )
        assert moved <= scale * float(spent) * (1 + 1e-12)


def test_on_a_plane_the_cells_are_put_in_a_line():
    x = np.array([[5, 5], [0, 5]])
    assert true_feature(feature_named("partitionality"), x, F(1)) == 3  # [5, 5], [5], [0]: three intervals
    bought = feature_named("partitionality").buy(Kernel.simulated(x, epsilon=1000, seed=0).root, F(1), F(1000))
    assert bought.value == pytest.approx(3, abs=0.05)


def table(rows=400, algorithms=("identity", "hb", "uniform"), seed=0):
    """Training rows where uniform wins with few rows on single cells, and hb with far-reaching queries."""
    random = np.random.default_rng(seed)
    signals = 2.0 ** random.integers(4, 20, rows)
    reaches = random.choice([0.0, 0.9], rows)
    logs = np.zeros((rows, 3))
    logs[:, 2] = np.where(signals < 500, -2, 3)
    return np.full(rows, 6.0), reaches, np.zeros(rows), signals, np.arange(rows) % 3.0, logs.min(axis=1), logs


def similar(**options):
    return SimilarInputs(training(**options), F(1, 50), *table())


def test_similar_inputs_buy_a_count_where_it_pays_and_follow_it():
    selector = similar()
    assert faults(selector, W.Identity(16)) == []
    few, many = np.eye(64, dtype=np.int64)[0] * 30, np.full(64, 10**5)
    for x, names in ((few, {"uniform"}), (many, {"identity", "hb"})):  # the last two are the same on 64 cells
        choices = [
            selector.choose(Kernel.simulated(x, epsilon=1, seed=seed).root, W.Identity(64), F(1)) for seed in range(5)
        ]
        assert {choice.algorithm for choice in choices} <= names
        assert all(choice.bought[0].name == "scale" and choice.left == F(49, 50) for choice in choices)
        known = selector.choose(Kernel.simulated(x, epsilon=1, seed=0).root, W.Identity(64), F(1), int(x.sum()))
        assert known.algorithm in names
        assert (known.left, known.bought) == (1, ())


def test_similar_inputs_buy_nothing_where_it_does_not_pay():
    *columns, logs = table()
    logs[:, 2] = 1
    selector = SimilarInputs(training(), F(1, 50), *columns, logs)
    kernel = Kernel.simulated(np.ones(64, dtype=np.int64), epsilon=1, seed=0)
    choice = selector.choose(kernel.root, W.Prefix(64), F(1))
    assert (choice.left, kernel.spent) == (1, 0)


def test_closed_forms_of_the_actual_workload_replace_what_was_measured():
    """In the table hb ties with plain noise; on all prefixes of 512 cells its closed form is far better."""
    kernel = Kernel.simulated(np.full(512, 1000), epsilon=1, seed=0)
    choice = similar().choose(kernel.root, W.Prefix(512), F(1))
    assert choice.algorithm == "hb"
    exact = float(plan_named("hb").expected_error(W.Prefix(512), 1))
    assert choice.errors["hb"] == pytest.approx(exact)


def test_an_algorithm_that_the_library_lacks_or_the_selector_does_not_know_is_mentioned():
    selector = TreeSelector(training(algorithms=("gone", "hb")), F(1, 10), {"identity": leaf("gone")})
    choice = selector.choose(Kernel.simulated(DATA["even"], epsilon=1, seed=0).root, W.Identity(16), F(1))
    assert choice.algorithm == "hb"
    assert "gone" in choice.notes[0]
    known = tuple(name for name in ad.algorithms(1) if name != "dawa")
    older = replace(SELECTOR, training=replace(SELECTOR.training, library=known))
    (note,) = older.choose(Kernel.simulated(DATA["even"], epsilon=1, seed=0).root, W.Identity(16), F(1)).notes
    assert note == "the selector does not know 'dawa': train again to choose among all."
    alone = TreeSelector(training(algorithms=("gone",)), F(1, 10), {"identity": leaf("gone")})
    with pytest.raises(BadInput, match="none of which is in the library"):
        alone.choose(Kernel.simulated(DATA["even"], epsilon=1, seed=0).root, W.Identity(16), F(1))


@pytest.mark.parametrize("selector", [SELECTOR, similar(), ClosedForm.of(3)], ids=lambda one: one.kind)
def test_saving_and_loading(selector, tmp_path):
    path = tmp_path / "selector.json"
    selector.save(path)
    again = Selector.load(path)
    assert (type(again), again.training, again.share) == (type(selector), selector.training, selector.share)
    assert again.digest == selector.digest
    assert str(again) == str(selector)
    assert again.in_words() == selector.in_words()


def test_files_that_are_no_selectors(tmp_path):
    path = tmp_path / "selector.json"
    SELECTOR.save(path)
    good = json.loads(path.read_text())

    def refused(change, match):
        path.write_text(change if isinstance(change, str) else json.dumps(change))
        with pytest.raises(BadInput, match=match):
            Selector.load(path)

    refused("not json", "not a JSON")
    refused([1, 2], "not a selector")
    refused({**good, "version": 99}, "version 99")
    refused({**good, "share": "1/2"}, "was changed")
    refused({name: value for name, value in good.items() if name != "digest"}, "was changed")
    forged = json.loads(json.dumps(good))
    forged["learnt"]["prefix"]["algorithm"] = "identity"
    refused(forged, "was changed")
    with pytest.raises(BadInput, match="cannot be read"):
        Selector.load(tmp_path / "none.json")


def test_a_workload_of_another_dimension_is_refused_before_anything_is_spent():
    kernel = Kernel.simulated(np.ones((4, 4), dtype=np.int64), epsilon=1, seed=0)
    with pytest.raises(BadInput, match="trained for 1 dimension"):
        ad.Pythia(SELECTOR).estimate(kernel.root, W.Identity((4, 4)), 1)
    with pytest.raises(BadInput, match="must be a Selector"):
        ad.Pythia("tree").estimate(kernel.root, W.Identity((4, 4)), 1)
    assert kernel.spent == 0


def test_the_projection_keeps_no_more_than_the_noisy_number_of_rows():
    selector = TreeSelector(
        training(), F(1, 10), {"identity": Split("scale", -1e9, leaf("hb"), leaf("identity")), "prefix": leaf("hb")}
    )
    x = np.zeros(512, dtype=np.int64)
    x[5] = 100
    estimate = ad.simulate(ad.Pythia(selector), x, W.Identity(512), 1, seed=3)
    plain = ad.simulate("identity", x, W.Identity(512), F(9, 10), seed=3)
    assert np.abs(estimate).sum() < 250 < np.abs(plain).sum()


def test_share_is_an_option():
    kernel = Kernel.simulated(DATA["ramp"], epsilon=1, seed=0)
    choice = ad.Pythia(SELECTOR, share=F(1, 5)).choose(kernel.root, W.Identity(16), F(1))
    assert kernel.spent == F(1, 15) * len(choice.bought)


def test_workloads_are_known_by_how_far_they_reach():
    assert kind_of(W.AllRange(9), ["identity", "prefix"]) == "identity"
    assert kind_of(W.Identity((8, 8)), ["short", "medium", "long", "mixed"]) == "short"
    assert kind_of(W.RandomRanges((64, 64), 50, seed=0, kind="mixed"), ["short", "medium", "long", "mixed"]) == "mixed"
    assert 0 < reach(W.RandomRanges((64, 64), 50, seed=0, kind="short")) < reach(W.RandomRanges((64, 64), 50, seed=0))


def test_more_dimensions_choose_by_closed_forms_and_spend_nothing_on_it():
    x = np.arange(60).reshape(3, 4, 5)
    kernel = Kernel.simulated(x, epsilon=1, seed=0)
    choice = ad.Pythia().choose(kernel.root, W.Marginals((3, 4, 5), way=1), F(1))
    assert kernel.spent == 0
    assert choice.left == 1
    assert choice.errors[choice.algorithm] == min(choice.errors.values())
    cells = ad.Pythia().choose(kernel.root, W.Identity((3, 4, 5)), F(1))
    assert cells.algorithm == "denoised-cells"
    assert cells.to_plain()["regrets"]["denoised-cells"] is None  # its error depends on the data
    assert "identity 1.000" in str(cells)


def test_the_best_error_is_not_the_least_of_noisy_ones():
    """Two algorithms of the same law: the least of two means is too low, the cross-fitted one is not."""
    random = np.random.default_rng(0)
    errors = random.exponential(1, (4000, 2, 4))
    measured = Measured((), ("a", "b"), {"identity": errors}, np.zeros((0, 4)))
    assert errors.mean(axis=-1).min(axis=1).mean() < 0.8
    # the mean of 4000 means of 4 exponentials is further off than 0.04 once in a million times
    assert measured.best_errors("identity").mean() == pytest.approx(1, abs=0.04)


def forged(selector, path, change):
    """A file with a fitting digest, as somebody with bad intentions would write it."""
    body = json.loads(json.dumps(body_of(selector)))
    change(body)
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    path.write_text(json.dumps({"digest": digest, **body}))


def put(*keys, value):
    def change(body):
        for key in keys[:-1]:
            body = body[key]
        body[keys[-1]] = value

    return change


TREE_FORGERIES = [
    *(
        put("share", value=share)
        for share in ("5", "1", "0", "-1/2", "1/0", "inf", "nan", "1e99999999", 0.5, None, True)
    ),
    put("learnt", "identity", "feature", value="salary"),
    put("learnt", "identity", "threshold", value=float("inf")),
    put("learnt", "identity", "threshold", value=10**400),
    put("learnt", "prefix", "algorithm", value="gone"),
    put("learnt", "prefix", "regrets", value={"hb": 1.0}),
    put("learnt", "prefix", "regrets", "hb", value=float("nan")),
    put("learnt", value=[]),
    put("training", "algorithms", value=["hb", ["identity"]]),
    put("training", "algorithms", value=7),
    put("training", "dimensions", value="1"),
    put("training", "dimensions", value=3),
    put("training", "corpus", value=5),
    put("training", "date", value="\ud800"),
    put("kind", value="oracle"),
]


@pytest.mark.parametrize("change", TREE_FORGERIES, ids=range(len(TREE_FORGERIES)))
def test_forged_trees_are_refused(change, tmp_path):
    forged(SELECTOR, tmp_path / "forged.json", change)
    with pytest.raises(BadInput):
        Selector.load(tmp_path / "forged.json")


def test_a_tree_without_end_is_refused(tmp_path):
    body = body_of(SELECTOR)
    leaf = json.dumps(body["learnt"]["prefix"])
    endless = '{"feature": "scale", "threshold": 1.0, "above": ' + leaf + ', "at_most": '
    text = json.dumps({**body, "learnt": {"identity": "HERE"}}).replace('"HERE"', endless * 5000 + leaf + "}" * 5000)
    (tmp_path / "deep.json").write_text(text)
    with pytest.raises(BadInput):
        Selector.load(tmp_path / "deep.json")


@pytest.mark.parametrize("column", ["sizes", "signals", "logs"])
@pytest.mark.parametrize("value", [[], [[1.0]], "text", None, [float("nan")] * 400, [1e400] * 400])
def test_forged_tables_are_refused(column, value, tmp_path):
    forged(similar(), tmp_path / "forged.json", put("learnt", column, value=value))
    with pytest.raises(BadInput):
        Selector.load(tmp_path / "forged.json")


def test_tiny_signals_survive_saving(tmp_path):
    sizes, reaches, budgets, signals, sources, least, logs = table()
    selector = SimilarInputs(training(), F(1, 50), sizes, reaches, budgets, signals * 1e-9, sources, least, logs)
    selector.save(tmp_path / "tiny.json")
    kernel = Kernel.simulated(np.zeros(64, dtype=np.int64), epsilon=1, seed=0)
    for one in (selector, Selector.load(tmp_path / "tiny.json")):
        choice = one.choose(kernel.root, W.Identity(64), F(1), total=0)
        assert choice.algorithm == "uniform"
        assert np.isfinite(list(choice.regrets.values())).all()


@pytest.mark.parametrize("plan", [ad.Pythia(SELECTOR), "dawa", "mwem", "staged-hierarchy", "ahp"])
def test_a_request_beyond_the_budget_is_refused_as_a_whole(plan):
    kernel = Kernel.simulated(DATA["ramp"], epsilon=1, seed=0)
    one = plan_named(plan) if isinstance(plan, str) else plan
    with pytest.raises(ad.errors.BudgetExceeded, match="costs ε = 1.5, but 1 of 1 is left"):
        one.estimate(kernel.root, W.Identity(16), "1.5")
    assert kernel.spent == 0
    halves = kernel.root.split(ad.Partition(np.arange(16) // 8))
    for half in halves:  # disjoint parts: both for the price of one
        one.estimate(half, W.Identity(8), 1)
    assert kernel.spent == 1


def test_choosing_and_following_check_as_estimating_does():
    kernel = Kernel.simulated(DATA["ramp"], epsilon=1, seed=0)
    for wrong in (
        lambda: ad.Pythia(SELECTOR).choose(kernel.root, W.Identity(8), 1),
        lambda: ad.Pythia(SELECTOR, total=-5).choose(kernel.root, W.Identity(16), 1),
        lambda: ad.Pythia(SELECTOR).choose(kernel.root, W.Identity(16), F(1, 1 << 50)),
        lambda: ad.Pythia(SELECTOR, rows=3).choose(kernel.root, W.Identity(16), 1),
    ):
        with pytest.raises(BadInput):
            wrong()
    assert kernel.spent == 0
    plan = ad.Pythia(SELECTOR, nonnegative=True)
    choice = plan.choose(kernel.root, W.Identity(16), 0.1)
    estimate = plan.follow(kernel.root, W.Identity(16), choice)
    assert estimate.min() >= 0
    assert kernel.spent == F(1, 10)


def test_a_noisy_number_of_rows_is_used_once_and_checked_before():
    x = np.arange(64)
    kernel = Kernel.simulated(x, epsilon=3, seed=0)
    total = kernel.root.measure(Total(64), F(1, 2))
    for name in ("adaptive-hierarchy", "staged-hierarchy"):
        for reduce in (False, True):
            before = kernel.spent
            plan_named(name, rows=total, reduce=reduce).estimate(kernel.root, W.RandomRanges(64, 2, seed=0), F(1, 4))
            assert kernel.spent == before + F(1, 4)
    cells = kernel.root.measure(W.Identity(64), F(1, 2))
    before = kernel.spent
    for wrong in (cells, 5, Kernel.simulated(x[:8], epsilon=1, seed=0).root.measure(Total(8), 1)):
        with pytest.raises(BadInput, match="rows"):
            plan_named("staged-hierarchy", rows=wrong).estimate(kernel.root, W.Prefix(64), F(1, 4))
    assert kernel.spent == before
