"""Algorithm 6 on cases worked out by hand, and on every small tree of sources against its definition."""

from copy import copy
from fractions import Fraction as F
from functools import partial
from itertools import accumulate, product
from random import Random

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


# ---- every small tree of sources ------------------------------------------------------------------------------------


class Tree:
    """Sources, splits and requests in the order in which they came, and what they cost by two definitions."""

    def __init__(self, stability=1):
        self.budget = Budget()
        self.parents = {self.budget.add_source(ROOT, stability): (ROOT, stability, None)}
        self.splits = {}  # the split's parent, whether it is one of rows, and the time when it was made
        self.events = []  # the node and amount of a request; None where the rows changed

    def copy(self):
        other = copy(self)
        other.budget = Budget()
        other.budget._nodes = [copy(node) for node in self.budget._nodes]
        other.parents, other.splits, other.events = dict(self.parents), dict(self.splits), list(self.events)
        return other

    def moves(self):
        """Everything that can happen next but a request, to this tree or to a copy."""
        for node in self.parents:
            yield partial(Tree.derive, node=node)
            yield partial(Tree.split, node=node, of_rows=True)
            yield partial(Tree.split, node=node, of_rows=False)
        yield Tree.change

    def derive(self, node, stability=2):
        self.parents[self.budget.add_source(node, stability)] = (node, stability, None)

    def split(self, node, of_rows, parts=2):
        split = self.budget.add_partition(node, of_rows=of_rows)
        self.splits[split] = (node, of_rows, len(self.events))
        for _ in range(parts):
            self.parents[self.budget.add_source(split, 1)] = (node, 1, split)

    def change(self):
        self.budget.rows_changed()
        self.events.append(None)

    def request(self, node, amount):
        before, quote = self.budget.spent(), self.budget.quote(node, amount)
        self.budget.commit(quote)
        self.events.append((node, amount))
        assert self.budget.spent() == before + quote.at_root >= before

    def ended(self, split):
        """When the parts of a split stopped being disjoint: at the first change after it was made."""
        _, of_rows, made = self.splits[split]
        changes = (time for time in range(made, len(self.events)) if self.events[time] is None)
        return next(changes, None) if of_rows else None

    def consumed(self, node, upto):
        """B(node) from scratch: of the parts of a split the dearest counts, and from a change on all of them."""
        total = sum(event[1] for event in self.events[:upto] if event and event[0] == node)
        for child, (parent, stability, split) in self.parents.items():
            if parent == node and split is None:
                total += stability * self.consumed(child, upto)
        for split, (parent, _, _) in self.splits.items():
            if parent == node:
                parts, end = [part for part in self.parents if self.parents[part][2] == split], self.ended(split)
                until = upto if end is None else min(end, upto)
                before = [self.consumed(part, until) for part in parts]
                total += max(before) + sum(self.consumed(part, upto) for part in parts) - sum(before)
        return total

    def loss(self):
        """The largest loss of a row: between two changes it is in one part of each split of rows, and the cell that it
        changes is in one part of a split vector for ever."""
        moments = list(accumulate((event is None for event in self.events), initial=0))
        kinds = [
            (split, moment if of_rows else 0) for split, (_, of_rows, _) in self.splits.items() for moment in {*moments}
        ]
        kinds = list(dict.fromkeys(kinds))
        parts = [[part for part in self.parents if self.parents[part][2] == split] for split, _ in kinds]
        return max(
            sum(
                self.seen(*event, moment, dict(zip(kinds, choice, strict=True)))
                for event, moment in zip(self.events, moments, strict=False)
                if event
            )
            for choice in product(*parts)
        )

    def seen(self, node, amount, moment, choice):
        """What a request costs a row that is in these parts."""
        while node != ROOT:
            parent, stability, split = self.parents[node]
            if split is not None and choice[split, moment if self.splits[split][1] else 0] != node:
                return 0
            node, amount = parent, amount * stability
        return amount

    def check(self):
        assert self.budget.spent() == self.consumed(ROOT, len(self.events)), vars(self)
        for node in self.parents:
            disjoint = [split for split in self.above(node) if self.splits[split][1] and self.ended(split) is None]
            assert self.budget.is_part(node) == bool(disjoint)

    def above(self, node):
        """The splits of which it lies in a part."""
        while node != ROOT:
            node, _, split = self.parents[node]
            if split is not None:
                yield split


AMOUNTS = (2, 3, 1, 2, 4)


def trees(tree, steps):
    """Everything that can happen in at most so many steps, of which the last is a request."""
    requests = sum(event is not None for event in tree.events)
    for node in tree.parents:
        other = tree.copy()
        other.request(node, AMOUNTS[requests])
        yield other
        if steps > 1:
            yield from trees(other, steps - 1)
    for move in tree.moves() if steps > 1 else ():
        other = tree.copy()
        move(other)
        yield from trees(other, steps - 1)


def test_every_tree_of_a_few_steps_costs_what_the_definition_says():
    for tree in trees(Tree(), 4):
        tree.check()


def test_no_row_loses_more_than_a_longer_tree_costs():
    random = Random(3)
    tight = 0
    for _ in range(300):
        tree = Tree(random.choice([1, 3]))
        for _ in range(random.randint(4, 14)):
            if random.random() < 0.5:
                tree.request(random.choice(list(tree.parents)), random.randint(1, 5))
            elif len(tree.splits) < 3 or random.random() < 0.2:
                random.choice(list(tree.moves()))(tree)
        tree.check()
        loss = tree.loss()
        assert loss <= tree.budget.spent()
        tight += loss == tree.budget.spent()
    assert tight > 200  # or the charge would be far above the loss
