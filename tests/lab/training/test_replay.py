"""Training by replay: one visit is changed, those before it are as they were, and what comes out is judged held out."""

from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.models import TreeModel
from adyton.choice.policy import LearnedChoices, Learnt, Policy
from adyton.errors import BadInput
from adyton_lab.training.choices import Replayer, Run
from places import lines, program, score

PUBLIC = lines(8)


@pytest.fixture(scope="module")
def learned():
    return ad.learn_choices(program, PUBLIC, score, epsilons=["0.02", "0.2"])


def test_the_support_decides(learned):
    """A part with few rows for its noise is spread evenly, as a person would have written."""
    assert learned.learnt["how"].model is not None
    assert learned.gain.held_out > learned.gain.default + 2 * learned.gain.error
    with learned.followed():
        found = [ad.choose("how", ["cells", "even"], default="cells", support=support) for support in (0.1, 20.0)]
    assert found == ["even", "cells"]
    assert "held out" in learned.explain()


def test_files(learned, tmp_path):
    learned.save(tmp_path / "choices.json")
    again = LearnedChoices.load(tmp_path / "choices.json")
    assert again.explain() == learned.explain()
    (tmp_path / "choices.json").write_text((tmp_path / "choices.json").read_text().replace("cells", "calls"))
    with pytest.raises(BadInput, match="was changed"):
        LearnedChoices.load(tmp_path / "choices.json")


def test_defaults_stand_where_nothing_is_gained():
    """A value that says nothing about the parts teaches nothing."""
    random = np.random.default_rng(2)
    found = ad.learn_choices(
        lambda x, epsilon: program(x, epsilon=epsilon, told=random.random()),
        PUBLIC,
        lambda answer, public: random.normal(),
        epsilons="0.1",
    )
    assert all(one.model is None for one in found.learnt.values())


def test_one_visit_is_changed_and_the_earlier_ones_are_forced():
    seen = []

    def recorded(x, *, epsilon):
        chosen = [ad.choose("l", ["a", "b"], turn=turn) for turn in range(7)]
        x.measure(ad.workloads.Total(x.shape), epsilon)
        seen.append(chosen)
        return chosen

    run = Run(ad.PublicData("s", np.arange(4)), F(1), 0)
    base, lessons = Replayer(recorded, lambda answer, public: answer.count("b"), 4, 0).lessons(run, {}, 0)
    assert base == 0
    assert seen[0] == ["a"] * 7
    assert len(lessons) == 4
    assert all(lesson.scores == {"a": 0.0, "b": 1.0} and lesson.weight == 7 / 4 for lesson in lessons)
    assert sorted(one.index("b") for one in seen[1:]) == [lesson.values["turn"] for lesson in lessons]


def test_later_visits_follow_the_policy():
    """After the change the policy decides by the values that it then sees."""

    def chain(x, *, epsilon):
        first = ad.choose("first", ["a", "b"])
        second = ad.choose("second", ["a", "b"], like=first)
        x.measure(ad.workloads.Total(x.shape), epsilon)
        return first, second

    tree = TreeModel(Split("like is b", 0.5, Leaf("a", {"a": 0, "b": 1}, 1), Leaf("b", {"a": 1, "b": 0}, 1)))
    copies = {"second": Learnt(("a", "b"), "a", tree, {"like is a": (0, 1), "like is b": (0, 1)})}
    run = Run(ad.PublicData("s", np.arange(4)), F(1), 0)
    _, lessons = Replayer(chain, lambda answer, public: float(answer == ("b", "b")), 4, 0).lessons(run, copies, 0)
    assert [lesson.scores for lesson in lessons] == [{"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 0.0}]


def test_tables_are_learnt_from_too():
    schema = ad.Schema({"sex": ad.Categorical(["F", "M"]), "smoker": ad.Boolean()})
    random = np.random.default_rng(1)

    def counted(x, attribute, *, epsilon):
        assert ad.choose("l", ["a", "b"], cells=len(x.schema.attributes)) in ("a", "b")
        return x.select(attribute).vectorize().measure(ad.workloads.Identity(2), epsilon).answers

    public = [
        ad.PublicData(name, random.integers(0, 2, (50, 2)), schema=schema, arguments=("smoker",)) for name in "xyz"
    ]
    found = ad.learn_choices(counted, public, lambda answer, public: 0.0)
    assert found.learnt["l"].model is None


@pytest.mark.parametrize(
    ("options", "value", "words"),
    [
        (lambda turn: ["a", "b"][: 1 + turn], lambda turn: {"turn": turn}, "different options"),
        (lambda turn: ["a", "b"], lambda turn: {f"turn{turn}": turn}, "different values"),
    ],
)
def test_labels_that_mean_two_things(options, value, words):
    def mixed(x, *, epsilon):
        for turn in range(2):
            ad.choose("l", options(turn), **value(turn))

    with pytest.raises(BadInput, match=words):
        ad.learn_choices(mixed, PUBLIC, lambda answer, public: 0.0)


def test_scores_are_numbers():
    with pytest.raises(BadInput, match="finite number"):
        ad.learn_choices(program, PUBLIC, lambda answer, public: float("nan"))
    with pytest.raises(BadInput, match="visits must be"):
        ad.learn_choices(program, PUBLIC, score, visits=0)


def test_a_forced_option_that_is_not_there_is_passed_over():
    policy = Policy({}, {("l", 0): "c"})
    assert policy.decide("l", ("a", "b"), "a", {}).chosen == "a"


@pytest.mark.full
def test_noise_by_its_place_halves_the_variance():
    """Of what a changed visit is worth: the same noise everywhere else, against fresh noise in the second run."""
    public = ad.PublicData("s", PUBLIC["set 0"])
    replayer = Replayer(program, score, 4, 0)
    changed = {("how", 0): "cells", ("how", 1): "even"}

    def worth(fresh):
        runs = [(Run(public, F(1, 20), seed), Run(public, F(1, 20), seed + fresh)) for seed in range(150)]
        return np.array([replayer.run(second, {}, changed)[0] - replayer.run(first, {})[0] for first, second in runs])

    assert worth(0).var() < 0.5 * worth(1000).var()


def test_what_is_the_same_draws_the_same():
    """A part that is measured in the same way has the same noise, whatever was chosen for the parts before it."""
    public = ad.PublicData("s", PUBLIC["set 0"])
    answers = []
    for option in ("cells", "even"):
        kept = Replayer(program, lambda answer, public: answers.append(answer) or 0.0, 4, 0)
        kept.run(Run(public, F(1, 20), 3), {}, {("how", 0): option})
    assert answers[0][8:].tolist() == answers[1][8:].tolist()
    assert answers[0][:8].tolist() != answers[1][:8].tolist()
