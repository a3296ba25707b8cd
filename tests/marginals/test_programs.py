"""The programs for many tables: they spend what they are given, whatever they decide, and refuse before they spend."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, distance, rows, table

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.marginals.program import MOST_CELLS, PROGRAMS, TableSet, program_named

SCHEMA = ad.Schema({name: ad.Integer(0, side - 1) for name, side in SIDES.items()})
EVERY = TableSet.of(SCHEMA, list(itertools.combinations(SIDES, 2)))

OURS = ("auto", "all-pairs", "select-pairs")
"""Those that measure what is wanted; the others measure a network of all attributes."""


def run(name, epsilon, wanted=EVERY, data=None, **options):
    data = rows() if data is None else data
    names = list(SIDES)
    codes = data[:, [names.index(one) for one in wanted.schema.names]]
    kernel = Kernel.simulated_table(codes, wanted.schema, epsilon=epsilon, seed=11)
    outcome = program_named(name, **options).measure(kernel.root, wanted, epsilon)
    return kernel, outcome


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "epsilon", ["1", "1/100000000", *(pytest.param(other, marks=pytest.mark.full) for other in ("1/100", "1000"))]
)
def test_all_of_the_budget_is_spent_whatever_is_decided(name, epsilon):
    kernel, outcome = run(name, Fraction(epsilon))
    assert kernel.remaining == 0
    model = program_named(name).estimate(EVERY, outcome.measured).model
    assert all(np.isfinite(one).all() and (one >= 0).all() for one in model.all_pairs().values())


def test_tables_are_near_the_truth():
    data = rows()
    errors = {}
    for name in OURS:
        outcome = run(name, Fraction(1, 2), data=data)[1]
        errors[name] = distance(program_named(name).estimate(EVERY, outcome.measured).model.all_pairs(), data)
    assert max(errors.values()) < 0.02
    assert run("auto", Fraction(1, 2))[1].algorithm == "all-pairs"
    assert run("auto", Fraction(1, 500))[1].algorithm == "select-pairs"


def test_enormous_budgets_give_the_truth():
    data = rows()
    outcome = run("all-pairs", Fraction(1000), data=data)[1]
    found = program_named("all-pairs").estimate(EVERY, outcome.measured)
    assert np.allclose(found.squares.table("a", "d"), table(data, ("a", "d")))


def test_chosen_sets_and_weights_count():
    some = TableSet.of(SCHEMA.select(["a", "b", "f"]), [("a", "b"), ("f",)], [5.0, 1.0])
    kernel, outcome = run("all-pairs", Fraction(1), some)
    assert {one.group for one in outcome.measured} == {("a", "b"), ("f",)}
    even = TableSet.of(some.schema, some.groups)
    assert even.shares()["a", "b"] < some.shares()["a", "b"]
    star = TableSet.of(SCHEMA, [("a", "b"), ("a", "c"), ("d", "e"), ("f",)])
    for name in OURS:
        kernel, outcome = run(name, Fraction(1), star)
        assert kernel.remaining == 0
        assert {one.group for one in outcome.measured if len(one.group) > 1} <= {*star.pairs, *star.cover}


def test_so_many_pairs_as_asked_for():
    outcome = run("select-pairs", Fraction(1, 1000), pairs=3)[1]
    assert sum(len(one.group) == 2 for one in outcome.measured) == 3
    assert run("select-pairs", Fraction(1), pairs=99)[0].remaining == 0
    with pytest.raises(BadInput, match="pairs must be at least 1"):
        program_named("select-pairs", pairs=0)


def test_pairs_with_a_label_come_after_a_forest():
    kernel, outcome = run("select-pairs", Fraction(1, 5), label="b", pairs=9)
    assert kernel.remaining == 0
    pairs = [one.group for one in outcome.measured if len(one.group) == 2]
    assert len({*pairs}) == len(pairs) == 9
    forest, rest = pairs[: len(SIDES) - 1], pairs[len(SIDES) - 1 :]
    left = sum("b" in pair for pair in PAIRS) - sum("b" in pair for pair in forest)
    assert ["b" in pair for pair in rest[:2]] == [True] * min(2, left) + [False] * max(0, 2 - left)
    with pytest.raises(BadInput, match="there is no attribute 'z'"):
        run("auto", Fraction(1), label="z")


def test_one_attribute_needs_no_pairs():
    alone = TableSet.of(SCHEMA.select(["d"]), [("d",)])
    for name in PROGRAMS:
        kernel, outcome = run(name, Fraction(1), alone)
        assert kernel.remaining == 0
        assert program_named("auto").estimate(alone, outcome.measured).model.table("d").how == "measured"


def test_too_large_tables_are_refused_with_the_size_and_a_way_out():
    big = ad.Schema({"zip": ad.Integer(0, 9999), "age": ad.Integer(0, 999), "sex": ad.Boolean()})
    wanted = TableSet.of(big, list(itertools.combinations(big.names, 2)))
    kernel = Kernel.simulated_table(np.zeros((5, 3), dtype=int), big, epsilon=1, seed=1)
    with pytest.raises(BadInput, match=rf"the limit is {MOST_CELLS:,}.*'zip' \(10,000 cells\).*sets"):
        program_named("auto").measure(kernel.root, wanted, 1)
    assert kernel.remaining == 1
    with pytest.raises(BudgetExceeded):
        program_named("auto").measure(Kernel.simulated_table(rows(), SCHEMA, epsilon=1, seed=1).root, EVERY, 2)
