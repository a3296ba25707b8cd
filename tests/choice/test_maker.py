"""Choice makers: what they spend, what they look at, what they learn, and how they are kept."""

import json
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision import Looks
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.models import TreeModel
from adyton.choice.policy import Learnt
from adyton.errors import BadInput, BudgetExceeded
from adyton.queries import Total
from places import budget, cells, even, filled, lines, rows, score

PUBLIC = [ad.PublicData(name, counts // part) for name, counts in lines(10, seed=5).items() for part in (1, 40)]
MAKER = ad.ChoiceMaker([cells, even], informed_by=[rows, filled, budget], share="0.1", score=score)


@pytest.fixture(scope="module")
def trained():
    return MAKER.train(PUBLIC, [1, "0.01"], trials=2)


def tree(*features):
    """Asks for all of these features on its left path, and for the first alone on the right."""
    inner = Leaf("even", {"cells": 1.0, "even": 0.0}, 3)
    right = Leaf("cells", {"cells": 0.0, "even": 1.0}, 3)
    for feature in reversed(features):
        inner = Split(feature, 1000.0, inner, right)
    return TreeModel(inner)


def with_tree(*features, most=2, share="0.1", ranges=(-1e9, 1e9)):
    from dataclasses import replace

    learnt = Learnt(("cells", "even"), "cells", tree(*features), dict.fromkeys(features, ranges))
    return replace(MAKER, learnt=learnt, most=most, share=share)


def kernel(counts=(0,) * 32, epsilon=1):
    return ad.Kernel.on_vector(np.array(counts), epsilon=epsilon)


@pytest.mark.parametrize(("counts", "looked"), [((0,) * 32, ["rows", "filled"]), ((900,) * 32, ["rows"])])
def test_features_are_bought_lazily_and_every_path_costs_epsilon(counts, looked):
    private = kernel(counts)
    maker = with_tree("rows", "filled")
    with private.recording() as recorder:
        maker(private.root, epsilon=1)
    decision = maker.trace[-1]
    assert [one.name for one in decision.bought] == looked
    assert private.spent == 1
    assert len(recorder.debits) == len(looked) + 1
    assert decision.spent == F(len(looked), 20)
    assert decision.left == 1 - decision.spent == recorder.debits[-1].amount
    assert decision.bought[0].deviation > 0
    assert str(decision).startswith(f"{decision.chosen}, chosen after buying rows = ")


def test_public_facts_are_free():
    private = kernel()
    decision = with_tree("budget", most=1).decide(private.root, epsilon="0.5")
    assert (private.spent, decision.spent, decision.left, decision.measured) == (0, 0, F(1, 2), {"budget": 0.5})


def test_outside_of_what_was_trained_on_no_more_is_bought():
    private = kernel()
    decision = with_tree("rows", "filled", ranges=(1e6, 1e7)).decide(private.root, epsilon=1)
    assert decision.chosen == "cells"
    assert [one.name for one in decision.bought] == ["rows"]
    assert "lies outside" in decision.notes[0]


def test_the_fourth_path_of_a_look_is_no_second_purchase():
    bought = []
    looks = Looks(lambda name: bought.append(name) or rows.buy(kernel().root, F(1, 10)))
    assert looks("rows") == looks("rows")
    assert bought == ["rows"]


def test_training_learns_to_choose(trained):
    """Few rows at a small ε: the even spread is better; many rows: the cells."""
    assert trained.learnt.model is not None
    assert trained.learnt.figures["default"].held_out > 2 * trained.learnt.figures[trained.learnt.model.kind].held_out
    private = kernel(PUBLIC[0].counts, epsilon=2)
    trained(private.root, epsilon=1)
    assert trained.trace[-1].chosen == "cells"
    trained(private.root, epsilon="0.01")
    assert trained.trace[-1].chosen == "even"
    assert private.spent == F(101, 100)
    words = trained.explain()
    assert all(word in words for word in ("held out", "in sample", "for at most 0.1 of ε", "+ "))


def test_training_is_repeatable_and_changes_nothing(trained):
    again = MAKER.train(PUBLIC, [1, "0.01"], trials=2)
    assert again.explain() == trained.explain()
    assert MAKER.learnt is None


def test_files(trained, tmp_path):
    path = tmp_path / "maker.json"
    trained.save(path)
    again = MAKER.load(path)
    assert again.learnt.to_plain() == trained.learnt.to_plain()
    assert (again.share, again.most, again.default) == (trained.share, trained.most, trained.default)
    with pytest.raises(BadInput, match="it chooses among"):
        ad.ChoiceMaker([cells], informed_by=[rows, filled, budget]).load(path)
    with pytest.raises(BadInput, match="trained with the metafeatures"):
        ad.ChoiceMaker([cells, even], informed_by=[rows]).load(path)
    with pytest.raises(BadInput, match="nothing to save"):
        MAKER.save(path)
    body = json.loads(path.read_text())
    for name, value in (
        ("share", "2"),
        ("share", 0.5),
        ("most", 0),
        ("learnt", {}),
        ("version", 2),
        ("format", "selector"),
    ):
        changed = body | {name: value}
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        with pytest.raises(BadInput):
            MAKER.load(tmp_path / "changed.json")
    (tmp_path / "no.json").write_text("{")
    with pytest.raises(BadInput, match="not a JSON"):
        MAKER.load(tmp_path / "no.json")


def test_a_stranger_s_file_with_a_fitting_digest_is_checked_too(trained, tmp_path):
    from adyton.choice.checked_file import digest_of

    trained.save(tmp_path / "maker.json")
    body = json.loads((tmp_path / "maker.json").read_text())
    del body["digest"]
    greedy = body | {
        "most": 1,
        "learnt": body["learnt"]
        | {"model": {"kind": "tree", "learnt": TreeModel(tree("rows", "filled").tree).learnt()}},
    }
    for changed in (greedy, body | {"share": "1/1"}, body | {"most": "1"}, body | {"informed_by": 3}):
        (tmp_path / "changed.json").write_text(json.dumps({"digest": digest_of(changed), **changed}))
        with pytest.raises(BadInput):
            MAKER.load(tmp_path / "changed.json")


def test_what_programmers_predict_decides_before_training():
    told = [
        ad.option(predict=lambda features: -features.rows)(even.function),
        ad.option(predict="rows")(cells.function),
    ]
    maker = ad.ChoiceMaker(told, informed_by=[rows, filled])
    private = kernel((500,) * 32)
    maker(private.root, epsilon=1)
    decision = maker.trace[-1]
    assert decision.chosen == "cells"
    assert decision.measured.keys() == {"rows"}
    assert decision.regrets == {"cells": 0.0, "even": pytest.approx(2 * decision.measured["rows"])}
    assert private.spent == 1


def test_a_prediction_that_cannot_be_computed_leaves_the_default():
    told = [
        ad.option(predict=lambda features: 1 / (features.rows * 0))(even.function),
        ad.option(predict="1")(cells.function),
    ]
    maker = ad.ChoiceMaker(told, informed_by=[rows], default="cells")
    private = kernel()
    maker(private.root, epsilon=1)
    assert (maker.trace[-1].chosen, private.spent) == ("cells", 1)
    assert "cannot be computed" in maker.trace[-1].notes[0]


def test_without_training_and_predictions_the_default_stands():
    private = kernel()
    MAKER(private.root, epsilon=1)
    assert (MAKER.trace[-1].chosen, private.spent, MAKER.trace[-1].bought) == ("cells", 1, ())
    assert "not trained" in MAKER.trace[-1].notes[0]


def greedy(x, epsilon):
    return x.measure(Total(x.shape), 2 * epsilon)


def thrifty(x, epsilon):
    return x.measure(Total(x.shape), epsilon / 2)


def broken(x, epsilon):
    return x.measure(Total(x.shape), epsilon).answers.tolist()


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [(greedy, BudgetExceeded, "asks for|costs"), (thrifty, BadInput, "spent"), (broken, BadInput, "is a list")],
)
def test_metafeatures_that_spend_something_else_are_refused_before_anything_is_spent(function, error, words):
    feature = ad.metafeature(function)
    told = [ad.option(predict=function.__name__)(cells.function), ad.option(predict="0")(even.function)]
    private = kernel()
    with pytest.raises(error, match=words):
        ad.ChoiceMaker(told, informed_by=[feature])(private.root, epsilon=1)
    assert private.spent == 0
    with pytest.raises(error, match=words):
        ad.ChoiceMaker(told, informed_by=[feature], score=score).train(PUBLIC[:2])


def test_a_public_fact_that_measures_is_refused():
    fact = ad.metafeature(public=True, name="fact")(greedy)
    told = [ad.option(predict="fact")(cells.function), ad.option(predict="0")(even.function)]
    private = kernel(epsilon=3)
    with pytest.raises((BadInput, BudgetExceeded)):
        ad.ChoiceMaker(told, informed_by=[fact])(private.root, epsilon=1)
    assert private.spent == 0


def test_options_that_spend_something_else_are_refused_in_training():
    lazy = ad.option(name="lazy")(lambda x, *, epsilon: x.measure(Total(x.shape), epsilon / 2).value)
    with pytest.raises(BadInput, match="the option 'lazy' was given ε = 1 and spent 0.5"):
        ad.ChoiceMaker([lazy], score=lambda answer, public: 0).train(PUBLIC[:2])


@pytest.mark.parametrize(
    ("options", "informed_by", "more", "words"),
    [
        ([], [], {}, "at least one option"),
        ([cells, cells], [], {}, "two options have the same name"),
        ([cells, even], [rows, rows], {}, "two metafeatures have the same name"),
        ([cells, even], [], {"default": "evn"}, "Did you mean 'even'"),
        ([cells, even], [], {"share": 1}, "share must be greater than 0 and less than 1"),
        ([cells, even], [], {"share": 0}, "share must be greater than 0 and less than 1"),
        ([cells, even], [lambda counts: 3], {}, "can be used in a formula"),
        ("cells", [], {}, "options is a list"),
        ([3], [], {}, "an option is a function"),
        ([ad.option(predict="row")(cells.function)], [rows], {}, "Did you mean 'rows'"),
    ],
)
def test_bad_choice_makers(options, informed_by, more, words):
    with pytest.raises(BadInput, match=words):
        ad.ChoiceMaker(options, informed_by=informed_by, **more)


@pytest.mark.parametrize(
    ("public", "epsilons", "words"),
    [
        ([], 1, "at least one entry"),
        ("census", 1, "list of PublicData"),
        ([3], 1, "list of PublicData"),
        (PUBLIC[:2], [], "at least one entry"),
        (PUBLIC[:2], [-1], "greater than 0"),
    ],
)
def test_bad_training(public, epsilons, words):
    with pytest.raises(BadInput, match=words):
        MAKER.train(public, epsilons)
    with pytest.raises(BadInput, match="needs a score"):
        ad.ChoiceMaker([cells, even]).train(PUBLIC)


def test_more_than_is_left_is_refused_before_features_are_bought():
    private = kernel(epsilon="0.5")
    with pytest.raises(BudgetExceeded):
        with_tree("rows")(private.root, epsilon=1)
    assert private.spent == 0
    with pytest.raises(BadInput, match="needs a source"):
        MAKER(PUBLIC[0].counts, epsilon=1)


def test_several_rows_of_a_person_cost_more():
    private = ad.Kernel.on_vector(np.zeros(32, dtype=int), epsilon=6, rows_per_unit=3)
    with_tree("rows", "filled")(private.root, epsilon=2)
    assert private.spent == 6
