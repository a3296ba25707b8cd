"""What is learnt is judged on data sets that were held out; the default stands wherever a model is no better."""

import json

import numpy as np
import pytest

from adyton.choice.models import Lessons
from adyton.choice.policy import Learnt
from adyton.choice.training import learn, usual_fits
from adyton.errors import BadInput


def lessons(rule, sets=8, rows=12, noise=0.1, seed=0, dear=0.0):
    """Two features; option b is better than a where rule(features) > 0."""
    random = np.random.default_rng(seed)
    values = random.uniform(-1, 1, (sets * rows, 2))
    gain = rule(values) + random.normal(0, noise, sets * rows)
    scores = np.stack([np.zeros(sets * rows), gain], axis=1)
    names = tuple(f"set {number}" for number in range(sets) for _ in range(rows))
    return Lessons(("x", "y"), ("a", "b"), values, scores, scores - dear, names, np.ones(sets * rows))


def learnt_from(table, **options):
    return learn(table, "a", usual_fits(table), **options)


@pytest.fixture(scope="module")
def by_sign():
    """What is learnt where the sign of x says which option is better: judging every model takes a while."""
    return learnt_from(lessons(lambda v: np.sign(v[:, 0])))


def test_a_rule_is_learnt_and_pays(by_sign):
    found = by_sign
    assert found.model is not None
    assert found.figures["default"].held_out > 0.4
    assert all(found.figures[kind].held_out < 0.1 for kind in ("tree", "formula"))
    assert [found.decide({"x": x, "y": 0.0}.__getitem__).chosen for x in (-0.5, 0.5)] == ["a", "b"]
    assert "held out" in found.in_words()


def test_noise_is_not_learnt():
    """In sample a tree gains; held out nothing is left, and the default stands. Figures of both are there."""
    found = learnt_from(lessons(lambda v: np.zeros(len(v)), noise=1.0))
    assert found.model is None
    assert found.figures["tree"].in_sample < found.figures["tree"].held_out
    verdict = found.decide({"x": 0.0, "y": 0.0}.__getitem__)
    assert verdict.chosen == "a"
    assert "the default a stands" in verdict.notes[0]
    assert "held-out" in verdict.notes[0]


def test_outside_of_what_was_trained_on_the_default_stands(by_sign):
    verdict = by_sign.decide({"x": 1.5, "y": 0.0}.__getitem__)
    assert verdict.chosen == "a"
    assert "outside" in verdict.notes[0]


def test_an_option_that_is_always_better_needs_no_features():
    found = learnt_from(lessons(lambda v: np.ones(len(v))))
    assert found.model.kind == "fixed"
    assert found.decide({}.__getitem__).chosen == "b"


def test_features_that_cost_more_than_they_bring_are_not_bought():
    """What a model gains is less than what looking costs: with a dear price the default stands."""
    cheap, dear = (learnt_from(lessons(lambda v: 0.3 * np.sign(v[:, 0]), dear=price), most=1) for price in (0.0, 0.5))
    assert cheap.model is not None
    assert dear.model is None or dear.model.most() == 0


def test_features_that_are_free_cost_nothing():
    table = lessons(lambda v: 0.3 * np.sign(v[:, 0]), dear=0.5)
    found = learn(table, "a", usual_fits(table), most=1, free=frozenset(["x", "y"]))
    assert found.model.most() > 0


def test_one_data_set_teaches_nothing():
    found = learnt_from(lessons(lambda v: np.sign(v[:, 0]), sets=1, rows=40))
    assert found.model is None
    assert "only one" in found.reason


def test_an_option_that_loses_where_it_is_taken_is_barred():
    table = lessons(lambda v: np.sign(v[:, 0]))
    three = Lessons(
        table.features,
        ("a", "b", "c"),
        table.values,
        np.column_stack([table.scores, np.full(len(table.sources), -9.0)]),
        np.column_stack([table.scores, np.full(len(table.sources), -9.0)]),
        table.sources,
        table.weights,
    )
    found = learnt_from(three)
    assert found.barred == ("c",)


def test_weights_count():
    """The same rows twice, or with twice the weight."""
    table = lessons(lambda v: v[:, 0], noise=0.5)
    twice = np.repeat(np.arange(96), np.where(np.arange(96) % 3 == 0, 2, 1))
    weighted = Lessons(
        table.features,
        table.options,
        table.values,
        table.scores,
        table.scores,
        table.sources,
        1.0 + (np.arange(96) % 3 == 0),
    )
    repeated = Lessons(
        table.features,
        table.options,
        table.values[twice],
        table.scores[twice],
        table.scores[twice],
        tuple(table.sources[place] for place in twice),
        np.ones(twice.size),
    )
    by_weight, by_rows = (learnt_from(rows).figures for rows in (weighted, repeated))
    for kind in ("fixed", "formula"):
        assert by_weight[kind].held_out == pytest.approx(by_rows[kind].held_out, abs=1e-6)


@pytest.mark.parametrize("kind", ["fixed", "tree", "similar", "formula"])
def test_models_are_read_back(kind, by_sign):
    table = lessons(lambda v: np.sign(v[:, 0]))
    model = usual_fits(table)[kind](table)
    found = Learnt(table.options, "a", model, table.ranges(), ("b",), by_sign.figures, "because")
    again = Learnt.from_plain(json.loads(json.dumps(found.to_plain())))
    assert again.in_words() == found.in_words()
    for row in table.values[:20].tolist():
        look = dict(zip(table.features, row, strict=True)).__getitem__
        assert again.model.regrets(look) == pytest.approx(model.regrets(look), abs=1e-3)
    assert (again.model.asked, again.model.most()) == (model.asked, model.most())


@pytest.mark.parametrize(
    "change",
    [
        {"default": "c"},
        {"options": ["a", "a"]},
        {"options": [1, 2]},
        {"ranges": {"x": [0.0, "many"]}},
        {"ranges": {}},
        {"barred": ["z"]},
        {"figures": {"tree": [float("nan"), 1.0, 0.0]}},
        {"reason": 3},
        {"model": {"kind": "pickle", "learnt": "…"}},
        {"model": {"kind": "written", "learnt": None}},
        {"model": {"kind": "fixed", "learnt": {"a": 1.0}}},
        {"model": {"kind": "fixed", "learnt": {"a": 1.0, "b": float("inf")}}},
        {"model": {"kind": "formula", "learnt": {"a": "1", "b": "__import__('os')"}}},
        {"model": {"kind": "formula", "learnt": {"a": "1", "b": "z"}}},
        {"model": {"kind": "tree", "learnt": {"algorithm": "z", "regrets": {"z": 1.0}, "inputs": 3}}},
        {
            "model": {
                "kind": "similar",
                "learnt": {"features": ["x"], "values": [[1.0]], "known": [[1.0]], "sources": [0], "weights": [1.0]},
            }
        },
        {
            "model": {
                "kind": "similar",
                "learnt": {
                    "features": ["x"],
                    "values": [[1.0]],
                    "known": [[1.0, 0.0]],
                    "sources": [0],
                    "weights": [0.0],
                },
            }
        },
    ],
)
def test_strange_models_are_refused(change):
    table = lessons(lambda v: np.sign(v[:, 0]))
    plain = Learnt(table.options, "a", usual_fits(table)["tree"](table), table.ranges()).to_plain()
    with pytest.raises(BadInput):
        Learnt.from_plain(plain | change)
