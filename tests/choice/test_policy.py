"""Learned conditionals: what they may see, who decides, and what the trace says."""

import threading
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.choice.decision_tree import Leaf, Split
from adyton.choice.models import TreeModel
from adyton.choice.policy import LearnedChoices, Learnt, Policy, followed
from adyton.errors import BadInput
from adyton.kernel.mechanisms import NonZeros
from adyton.queries import Identity, Total
from places import lines, program

TREE = TreeModel(
    Split("support", 2.0, Leaf("even", {"cells": 1.0, "even": 0.0}, 9), Leaf("cells", {"cells": 0.0, "even": 1.0}, 9))
)
LEARNT = LearnedChoices({"how": Learnt(("cells", "even"), "cells", TREE, {"support": (-5.0, 90.0)})})


def root(epsilon=1):
    return ad.Kernel.simulated(next(iter(lines(1).values())), epsilon=epsilon, seed=1).root


def test_without_a_policy_the_default_stands():
    assert ad.choose("how", ["cells", "even"]) == "cells"
    assert ad.choose("how", ["cells", "even"], default="even", support=1) == "even"
    assert ad.choose("how", {"cells": lambda: 3, "even": lambda: 4}, default="even") == 4


@pytest.mark.parametrize("value", [1, 1.0, F(1), Decimal(1), np.float32(1), np.int64(1), np.bool_(True), True])
def test_public_numbers_decide(value):
    with LEARNT.followed() as trace:
        assert ad.choose("how", ["cells", "even"], support=value) == "even"
    assert (trace[0].values, trace[0].number, trace[0].regrets) == ({"support": 1.0}, 0, {"cells": 1.0, "even": 0.0})


def test_measured_values_decide():
    x = root()
    count, filled = x.measure(Total(x.shape), F(1, 8)), x.statistic(NonZeros(), F(1, 8))
    with LEARNT.followed() as trace:
        ad.choose("how", ["cells", "even"], support=count)
        ad.choose("how", ["cells", "even"], support=filled)
    assert [visit.values["support"] for visit in trace] == [float(count.value), filled.value]
    assert [visit.number for visit in trace] == [0, 1]


@pytest.mark.parametrize("given", ["handle", "kernel", "cells", "array", "list", "none"])
def test_what_leads_to_rows_is_refused(given):
    x = root()
    spent = x.kernel.budget.spent
    value = {
        "handle": lambda: x,
        "kernel": lambda: x.kernel,
        "cells": lambda: x.measure(Identity(x.shape), F(1, 8)),
        "array": lambda: np.arange(9),
        "list": lambda: [1, 2],
        "none": lambda: None,
    }[given]()
    before = x.kernel.budget.spent
    with LEARNT.followed() as trace, pytest.raises(BadInput) as refused:
        ad.choose("how", ["cells", "even"], support=value)
    assert not trace
    assert ("leads to private data" in str(refused.value)) == (given in ("handle", "kernel"))
    assert str(refused.value).count(". ") == 1
    assert x.kernel.budget.spent == before == spent + (F(1, 8) if given == "cells" else 0)


@pytest.mark.parametrize(
    ("label", "options", "default", "words"),
    [
        ("", ["a"], None, "label of a choice"),
        ("l", [], None, "list of names"),
        ("l", "ab", None, "list of names"),
        ("l", ["a", "a"], None, "have the same name"),
        ("l", ["a", 3], None, "texts as names"),
        ("l", {"a": 1}, None, "functions of no arguments"),
        ("l", ["cells", "even"], "evn", "Did you mean 'even'"),
    ],
)
def test_bad_questions(label, options, default, words):
    with pytest.raises(BadInput, match=words):
        ad.choose(label, options, default=default)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"support": 91.0}, "outside of -5 to 90"),
        ({"support": float("nan")}, "outside of"),
        ({"support": "many"}, "outside of"),
        ({"other": 1.0}, "outside of"),
    ],
)
def test_nothing_is_extrapolated(values, words):
    with LEARNT.followed() as trace:
        assert ad.choose("how", ["cells", "even"], default="even", **values) == "even"
        assert ad.choose("how", ["even", "cells", "third"], default="third", support=1) == "third"
        assert ad.choose("what", ["a", "b"], support=1) == "a"
    assert words in trace[0].notes[0]
    assert "learnt among" in trace[1].notes[0]
    assert "nothing was learnt" in trace[2].notes[0]


def test_words_are_seen_as_such():
    tree = TreeModel(Split("kind is leaf", 0.5, Leaf("a", {"a": 0.0, "b": 1.0}, 9), Leaf("b", {"a": 1.0, "b": 0.0}, 9)))
    ranges = {"kind is leaf": (0.0, 1.0), "kind is root": (0.0, 1.0)}
    with LearnedChoices({"l": Learnt(("a", "b"), "a", tree, ranges)}).followed() as trace:
        assert [ad.choose("l", ["a", "b"], kind=kind) for kind in ("leaf", "root", "twig")] == ["b", "a", "a"]
    assert [bool(visit.notes) for visit in trace] == [False, False, True]


def test_barred_options_give_way():
    learnt = LearnedChoices({"how": Learnt(("cells", "even"), "cells", TREE, {"support": (-5.0, 90.0)}, ("even",))})
    with learnt.followed() as trace:
        assert ad.choose("how", ["cells", "even"], support=1) == "cells"
    assert "even did not beat it" in str(trace[0])


def test_forced_visits_and_outer_policies():
    outer = LearnedChoices({"other": Learnt(("x", "y"), "x", TreeModel(Leaf("y", {"x": 1.0, "y": 0.0}, 1)), {})})
    with outer.followed() as above, followed(Policy(LEARNT.learnt, {("how", 1): "cells"})) as trace:
        found = [ad.choose("how", ["cells", "even"], support=1) for _ in range(3)]
        assert ad.choose("other", ["x", "y"]) == "y"
    assert found == ["even", "cells", "even"]
    assert [visit.label for visit in trace] == ["how", "how", "how", "other"]
    assert [visit.label for visit in above] == ["other"]


def test_a_policy_in_training_overrules_those_of_the_program():
    with followed(Policy({}, {("how", 0): "cells"}, overrules=True)) as trace, LEARNT.followed():
        assert [ad.choose("how", ["cells", "even"], support=1) for _ in range(2)] == ["cells", "cells"]
    assert len(trace) == 2


def test_threads_do_not_see_each_other():
    found = {}

    def elsewhere():
        found["thread"] = ad.choose("how", ["cells", "even"], support=1)

    with LEARNT.followed() as trace:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert ad.choose("how", ["cells", "even"], support=1) == "even"
    assert found["thread"] == "cells"
    assert len(trace) == 1


def test_a_followed_program_spends_the_same():
    x = root()
    with LEARNT.followed() as trace:
        program(x, epsilon=F(1, 2))
    assert x.kernel.budget.spent == F(1, 2)
    assert [visit.number for visit in trace] == [0, 1, 2, 3]
    assert trace[0].to_plain()["label"] == "how"
