"""Algorithm 6 on cases worked out by hand."""

from fractions import Fraction as F

from adyton.kernel.budget import ROOT, Budget


def spend(budget, node, amount):
    quote = budget.quote(node, F(amount))
    budget.commit(quote)
    return quote.at_root


def test_stability_multiplies_along_the_path():
    budget = Budget()
    table = budget.add_source(ROOT, 2)
    grouped = budget.add_source(table, 2)
    mapped = budget.add_source(grouped, 3)
    assert spend(budget, mapped, F(1, 12)) == 1
    assert [budget.spent(node) for node in (ROOT, table, grouped, mapped)] == [1, F(1, 2), F(1, 4), F(1, 12)]


def test_siblings_of_a_split_pay_only_their_excess():
    budget = Budget()
    table = budget.add_source(ROOT, 1)
    split = budget.add_partition(table)
    left, right = budget.add_source(split, 1), budget.add_source(split, 1)
    assert spend(budget, left, F(1, 2)) == F(1, 2)
    assert spend(budget, right, F(1, 3)) == 0
    assert spend(budget, right, F(1, 3)) == F(1, 6)
    assert spend(budget, left, F(1, 6)) == 0
    assert budget.spent() == F(2, 3)


def test_two_splits_of_one_table_add_up():
    budget = Budget()
    table = budget.add_source(ROOT, 1)
    for _ in range(2):
        split = budget.add_partition(table)
        parts = [budget.add_source(split, 1) for _ in range(3)]
        assert sum(spend(budget, part, 1) for part in parts) == 1
    assert budget.spent() == 2


def test_nested_splits():
    budget = Budget()
    outer = budget.add_partition(budget.add_source(ROOT, 1))
    first, second = budget.add_source(outer, 1), budget.add_source(outer, 1)
    inner = budget.add_partition(first)
    a, b = budget.add_source(inner, 1), budget.add_source(inner, 1)
    assert [spend(budget, node, 1) for node in (a, b, second, second)] == [1, 0, 0, 1]


def test_a_quote_spends_nothing():
    budget = Budget()
    node = budget.add_source(ROOT, 1)
    assert budget.quote(node, F(5)).at_root == 5
    assert budget.spent() == 0


def test_stability_zero_costs_nothing():
    budget = Budget()
    node = budget.add_source(budget.add_source(ROOT, 1), 0)
    assert spend(budget, node, 7) == 0
