"""Trees and forests: what they cost, what is refused, how they predict, and what is learnt inside of them."""

import json
from fractions import Fraction as F

import numpy as np
import pytest
from learning_tables import SCHEMA, columns, fitted, kernel, labels, rows

import adyton as ad
from adyton.choice.policy import Policy, followed
from adyton.errors import BadInput, SchemaError
from adyton.kernel.kernel import Kernel
from adyton.learning import Model, PrivateDecisionTreeClassifier, PrivateRandomForestClassifier
from adyton.learning.published_trees import pruned
from adyton.learning.registry import learner_named
from adyton.learning.tree_growing import PublicRandomness, plain_shares, shrunk_shares, summed
from adyton.noise import SimulatedNoise
from adyton.schema import RowTree

CODES = rows()
PRESETS = ["friedman-schuster", "mohammed", "jagannathan", "patil-singh", "fletcher-islam"]
FORESTS = {"jagannathan", "patil-singh", "fletcher-islam"}
MODELS = {
    name: fitted(CODES, name, {"depth": 2} if name == "mohammed" else {}, epsilon=4)
    for name in [*PRESETS, "chosen", "naive-bayes-tree", "profiled-tree"]
}


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_and_are_kept(name):
    model, inputs = MODELS[name], CODES[:, :3]
    right = (model.places(inputs) == CODES[:, 3]).mean()
    assert right > (0.3 if name in FORESTS else 0.5)  # forests depend on chance more than others
    again = Model.from_plain(json.loads(json.dumps(model.to_plain())))
    assert np.array_equal(again.probabilities(inputs), model.probabilities(inputs))
    assert again.explain() == model.explain()
    assert "oisy" in model.explain()
    nothing = model.probabilities(np.full((1, 3), -1))
    assert nothing.sum() == pytest.approx(1)
    assert np.isfinite(nothing).all()


def test_codes_without_a_cell_stop_at_their_node():
    model = MODELS["chosen"]
    assert model.tree.split[0] >= 0
    codes = np.zeros((1, 3), dtype=int)
    codes[0, model.tree.split[0]] = -1
    assert np.array_equal(model.probabilities(codes)[0], model.shares[0])


STRANGERS = [
    (("learnt", "split"), [0.5], "whole numbers"),
    (("learnt", "split"), [1], "not the nodes of a tree"),
    (("learnt", "split"), [True], "whole numbers"),
    (("learnt", "counts"), [[1, 2, 3]], "shape"),
    (("learnt", "shares"), None, "must be numbers"),
    (("schema", "attributes", "age", "max"), 12, "cells"),
    (("learnt",), {"trees": []}, "has the keys"),
]


@pytest.mark.parametrize(("path", "value", "words"), STRANGERS)
def test_strangers_trees_are_refused(path, value, words):
    plain = json.loads(json.dumps(MODELS["chosen"].to_plain()))
    place = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(BadInput, match=words):
        Model.from_plain(plain)
    forest = MODELS["jagannathan"].to_plain()
    for trees in ([], "ab", [plain["learnt"]] if path[0] == "learnt" else {}):
        with pytest.raises(BadInput):
            Model.from_plain({**forest, "learnt": {"trees": trees}})


OPTIONS = [
    ("chosen", {}),
    ("chosen", {"rows": 2000}),
    ("mohammed", {"depth": 2}),
    ("jagannathan", {"trees": 3}),
    ("fletcher-islam", {"rows": 2000}),
    ("fletcher-islam", {"trees": 2, "divided_by": "town"}),
    ("naive-bayes-tree", {"depth": 2}),
    ("profiled-tree", {}),
    ("profiled-tree", {"rows": 2000, "depth": 1}),
    ("profiled-tree", {"rows": 2000, "depth": 1, "profile_support": 60}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
@pytest.mark.parametrize("codes", [CODES, CODES[:0]], ids=["rows", "no rows"])
def test_spends_exactly_epsilon(name, options, codes):
    opened = kernel(codes)
    model = learner_named(name, **options).fit(opened.root, "ill", 1)
    assert F(1) - opened.budget.spent < F(1, 10**30)
    said = model.probabilities(CODES[:5, : len(model.schema.names)])
    assert np.allclose(said.sum(axis=1), 1)


def test_published_trees_that_stop_early_cost_less():
    opened = kernel(CODES[:30])
    model = learner_named("friedman-schuster").fit(opened.root, "ill", 1)
    assert len(model.tree.leaves) == 1
    assert opened.budget.spent == F(1, 5)  # the size of the root, and its classes: two halves of a level
    made = PrivateDecisionTreeClassifier(
        schema=SCHEMA, label="ill", preset="friedman-schuster", noise=SimulatedNoise(0)
    )
    assert made.fit(columns(CODES[:30]), labels(CODES[:30])).epsilon_ == F(1, 5)


def test_a_forest_pays_for_every_tree_and_divided_rows_only_once():
    for options, leaf in (({}, F(19, 20) / 4), ({"divided_by": "town"}, F(19, 20))):
        opened = kernel(CODES)
        with opened.recording() as recorder:
            learner_named("fletcher-islam", trees=4, **options).fit(opened.root, "ill", 1)
        assert opened.budget.spent == 1
        counts = [debit for debit in recorder.debits if "leaves(ill)" in debit.lineage[-1]]
        assert len(counts) == 4
        assert all(f"ε = {ad_number(leaf)}" in debit.operator for debit in counts)


def ad_number(value):
    from adyton.exact import display

    return display(value)


def test_what_cannot_be_carried_out_is_refused_before_anything_is_spent():
    wide = ad.Schema({**{f"x{i}": ad.Integer(0, 99) for i in range(4)}, "y": ad.Boolean()})
    cases = [
        (wide, "mohammed", {}, "100,000,000 leaves"),
        (wide, "naive-bayes-tree", {"depth": 2}, "numbers here; at most"),
        (SCHEMA, "fletcher-islam", {"trees": 1000}, "Grow fewer trees"),
        (SCHEMA, "fletcher-islam", {"trees": 9, "divided_by": "smoker"}, "Grow 2 to 2"),
    ]
    for schema, name, options, words in cases:
        opened = Kernel.simulated_table(np.zeros((5, len(schema.names)), int), schema, epsilon="0.0005", seed=0)
        with pytest.raises(BadInput, match=words):
            learner_named(name, **options).fit(opened.root, schema.names[-1], "0.0005")
        assert opened.budget.spent == 0
    with pytest.raises(SchemaError, match="no attribute to divide rows by 'twon'"):
        learner_named("jagannathan", divided_by="twon").fit(kernel(CODES).root, "ill", 1)
    with pytest.raises(BadInput, match="from 1 to 1,000"):
        learner_named("jagannathan", trees=1001)


def test_a_full_tree_of_160_000_leaves():
    schema = ad.Schema({**{f"x{i}": ad.Integer(0, 19) for i in range(4)}, "y": ad.Boolean()})
    codes = np.random.default_rng(0).integers(0, 20, (500, 5)) % np.array([20] * 4 + [2])
    model = learner_named("mohammed").fit(kernel(codes, schema=schema).root, "y", 1)
    assert len(model.tree.leaves) == 160_000
    assert len(model.explain().splitlines()) < 70


def test_the_chosen_tree_asks_what_was_learnt():
    def labels_of(forced):
        with followed(Policy({}, forced)) as trace:
            model = fitted(CODES, "chosen", {})
        return model, trace

    model, trace = labels_of({})
    assert model.tree.depth > 0
    assert {visit.label for visit in trace} == {"stop or split", "how to split"}
    assert {visit.chosen for visit in trace} == {"by support", "max"}
    stopped, _ = labels_of({("stop or split", 0): "stop"})
    assert stopped.tree.depth == 0
    for way in ("random", "gini", "entropy"):
        assert labels_of({("how to split", 0): way})[0].tree.depth > 0


def test_random_attributes_can_be_repeated_and_are_even():
    random = PublicRandomness(3)
    allowed = np.tile([True, False, True, True], (30_000, 1))
    picks = random.picks(np.arange(30_000), allowed)
    counts = np.bincount(picks, minlength=4)
    assert counts[1] == 0
    assert np.abs(counts[[0, 2, 3]] - 10_000).max() < 450
    assert np.array_equal(picks, PublicRandomness(3).picks(np.arange(30_000), allowed))
    assert not np.array_equal(picks, random.part(1).picks(np.arange(30_000), allowed))
    assert PublicRandomness.of(None) != PublicRandomness.of(None)


def test_counts_of_nodes():
    tree = RowTree.stump(["a", "b"]).grow({0: "a"}, {"a": 2, "b": 2}).grow({2: "b"}, {"a": 2, "b": 2})
    counts = summed(tree, np.array([[900.0, 100.0], [-3.0, -4.0], [10.0, 90.0]]))
    assert counts.tolist()[0] == [907.0, 186.0]
    assert counts.tolist()[2] == [7.0, 86.0]
    shares = plain_shares(tree, counts)
    assert np.array_equal(shares[3], shares[2])  # nothing positive: as above
    noisy, clear = shrunk_shares(tree, counts, 1e4), shrunk_shares(tree, counts, 0.01)
    assert np.allclose(noisy[1:], noisy[0])
    assert clear[1, 0] == pytest.approx(0.9, abs=0.01)


def test_pruning_cuts_splits_without_information():
    tree = RowTree.stump(["a"]).grow({0: "a"}, {"a": 2})
    same, other = np.array([[60.0, 40.0], [60.0, 40.0]]), np.array([[90.0, 10.0], [10.0, 90.0]])
    assert pruned(tree, summed(tree, same))[0].depth == 0
    assert pruned(tree, summed(tree, other))[0] == tree


def test_estimators():
    table = columns(CODES)
    tree = PrivateDecisionTreeClassifier(schema=SCHEMA, label="ill", epsilon=2).fit(table, labels(CODES))
    assert tree.score(table, labels(CODES)) > 0.5
    assert "about" in tree.draw()
    forest = PrivateRandomForestClassifier(schema=SCHEMA, label="ill", epsilon=2, trees=3, random_state=1)
    assert len(forest.fit(table, labels(CODES)).model_.trees) == 3
    with pytest.raises(BadInput, match="no preset of a tree 'jagannathan'"):
        tree.set_params(preset="jagannathan").fit(table, labels(CODES))
    with pytest.raises(BadInput, match="no preset of a forest"):
        forest.set_params(preset="chosen").fit(table, labels(CODES))
    with pytest.raises(BadInput, match="chosen has no option 'depth'"):
        tree.set_params(preset="chosen", depth=3).fit(table, labels(CODES))
    assert forest.epsilon_ == 2


def test_choices_around_a_fit_come_before_those_of_the_package():
    """What comes with the package decides where nobody else has learnt anything."""
    from adyton.choice.policy import LearnedChoices, Learnt
    from adyton.learning.chosen_tree import HOW_TO_SPLIT, STOP_OR_SPLIT, shipped_choices

    assert set(shipped_choices().learnt) == {STOP_OR_SPLIT, HOW_TO_SPLIT}
    own = Learnt(("by support", "stop", "split"), "stop", None, {}, (), {}, "mine")
    with LearnedChoices({STOP_OR_SPLIT: own}).followed() as trace, shipped_choices().followed(yields=True) as inner:
        ad.choose(STOP_OR_SPLIT, ["by support", "stop", "split"])
        ad.choose(HOW_TO_SPLIT, ["max", "gini", "entropy", "random"])
    assert inner is trace
    assert [one.label for one in trace] == [STOP_OR_SPLIT, HOW_TO_SPLIT]
    assert "mine" in str(trace[0])
    assert "held-out public data" in str(trace[1])
