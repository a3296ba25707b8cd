"""Options of plans: read once, when a plan is made, by the types of their fields."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction as F
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.plans import Plan, Tasks, algorithms, plan_named, plan_type
from adyton.plans.algorithm import Positive, Share, Whole, Within, whole_number
from adyton.queries import Identity
from over_cases import over

if TYPE_CHECKING:
    from elsewhere import Unknown


@dataclass(frozen=True, kw_only=True)
class Optioned(Plan):
    name, serves = "optioned", Tasks()

    part: Share = F(1, 4)
    price: Positive = F(2)
    most: Whole | None = None
    rounds: Annotated[int, Within(whole_number, 2, 9)] = 3
    way: Literal["up", "down"] = "up"
    deep: bool = False
    anything: object = None
    usual: Share = 0.1

    def run(self, x, workload, epsilon):
        return x.measure(Identity(x.shape), epsilon).answers.astype(float)


@dataclass(frozen=True, kw_only=True)
class WithForeignTypes(Optioned):
    foreign: Unknown | None = None


@pytest.mark.parametrize("kind", [Optioned, WithForeignTypes])
def test_what_was_given_becomes_a_value(kind):
    plan = kind(part="0.3", price=Decimal("0.1"), most=np.int64(7), rounds=9, way="down", deep=np.True_, anything="x")
    assert (plan.part, plan.price, plan.most, plan.rounds) == (F(3, 10), F(1, 10), 7, 9)
    assert [type(one) for one in (plan.part, plan.most, plan.deep)] == [F, int, bool]
    assert (plan.way, plan.deep, plan.anything) == ("down", True, "x")
    assert replace(plan, part=0.5).part == F(1, 2)
    assert kind(most=None).most is None
    assert kind().usual == F(1, 10)


@pytest.mark.parametrize("kind", [Optioned, WithForeignTypes])
@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("part", 1, "less than 1"),
        ("part", None, "finite number"),
        ("price", 0, "greater than 0"),
        ("price", "much", "finite number"),
        ("most", 0, "at least 1"),
        ("most", 1.5, "whole number"),
        ("rounds", 10, "from 2 to 9"),
        ("rounds", 1, "from 2 to 9"),
        ("way", "sideways", "'up' or 'down'"),
        ("deep", 1, "true or false"),
        ("anything", [], "single value"),
        ("total", -1, "at least 0"),
        ("total", 1 << 63, "from 0 to"),
        ("rows", 5, "measurement of the total"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(kind, name, given, words):
    with pytest.raises(BadInput, match=f"^{name} .*{words}"):
        kind(**{name: given})


@over(algorithms())
def test_the_options_of_every_plan_have_a_type_that_reads(name):
    """What is no number, flag or word is refused for each of them."""
    for field in fields(plan_type(name)):
        with pytest.raises(BadInput, match=field.name):
            plan_named(name, **{field.name: "what makes no sense"})
