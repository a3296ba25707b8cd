"""Delphi's criteria and trees: against brute force, and on data whose tree is known."""

import itertools
import json

import numpy as np
import pytest

from adyton.choice.decision_tree import Leaf, Split, from_plain, grow, most_features, prune, to_plain, walk
from adyton.errors import BadInput
from adyton_lab.training.delphi import CRITERIA, Delphi, gini, mean_group_regret, near_best
from over_cases import over

BEST_ALGORITHM = CRITERIA["best-algorithm"]


def partitions(items):
    """All partitions of a list."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        for place, group in enumerate(smaller):
            yield [*smaller[:place], [first, *group], *smaller[place + 1 :]]
        yield [[first], *smaller]


@over([1, 2, 5, 7], [0.0, 0.2, 1.0, 100.0])
def test_groups_are_the_best_of_all_partitions(algorithms, theta):
    random = np.random.default_rng(algorithms)
    regrets = 1 + random.gamma(0.5, 1, (20, algorithms)).round(1)
    shares = random.dirichlet(np.ones(algorithms), 20)
    found = mean_group_regret(np.hstack([regrets, shares]), theta)
    for r, t, impurity in zip(regrets, shares, found, strict=True):
        allowed = (
            groups
            for groups in partitions(list(range(algorithms)))
            if all(abs(r[a] - r[b]) <= theta for group in groups for a, b in itertools.combinations(group, 2))
        )
        assert impurity == pytest.approx(min(1 - sum(t[group].sum() ** 2 for group in groups) for groups in allowed))


def test_one_group_is_pure_and_no_group_is_gini():
    regrets, shares = np.array([[1.0, 1.3, 2.0]]), np.array([[0.2, 0.3, 0.5]])
    means = np.hstack([regrets, shares])
    assert mean_group_regret(means, 10) == pytest.approx(0)
    assert mean_group_regret(means, 0.1) == pytest.approx(gini(shares))


def test_votes_are_shared_by_those_that_are_near_the_best_on_the_input():
    regrets = np.array([[1.0, 1.5, 1.2, 9.0], [4.0, 1.0, 1.51, 2.0]])
    assert near_best(regrets, 0.5).round(3).tolist() == [[0.333, 0.333, 0.333, 0.0], [0.0, 1.0, 0.0, 0.0]]
    assert near_best(regrets, 0).tolist() == BEST_ALGORITHM.numbers(regrets).tolist()


def test_like_mean_regrets_are_no_group():
    """Each of two algorithms is bad on one half of the inputs: only groups by their means think them equal."""
    features = np.arange(40.0)[:, None]
    regrets = np.where((features < 20) == [True, False], 1.0, 9.0)
    for name, kind in (("group-regret", Split), ("best-algorithm", Split), ("mean-group-regret", Leaf)):
        tree = grow(features, regrets, ["scale"], ["hb", "dawa"], criterion=CRITERIA[name], depth=2)
        assert isinstance(tree, kind), name


@pytest.mark.parametrize("name", CRITERIA)
def test_a_tree_finds_the_rule(name):
    """hb below a scale of 1000, else dawa where cells are empty, else ahp."""
    random = np.random.default_rng(0)
    features = np.column_stack([random.uniform(0, 2000, 600), random.uniform(0, 100, 600)])
    best = np.where(features[:, 0] < 1000, 0, np.where(features[:, 1] < 40, 1, 2))
    wrong = [3.0, 9.0, 27.0] if name == "mean-group-regret" else 3.0
    regrets = np.where(np.arange(3) == best[:, None], 1.0, wrong + random.random((600, 3)))
    tree = grow(features, regrets, ["scale", "zeros"], ["hb", "dawa", "ahp"], criterion=CRITERIA[name], depth=4)
    chosen = [walk(tree, dict(zip(["scale", "zeros"], row, strict=True)).__getitem__)[0].algorithm for row in features]
    right = np.mean([["hb", "dawa", "ahp"][number] == one for number, one in zip(best, chosen, strict=True)])
    assert right > (0.95 if name != "mean-group-regret" else 0.5)  # which stops where mean regrets happen to be alike


def test_every_split_is_the_best_one():
    """Against all thresholds of all features, one by one."""
    random = np.random.default_rng(3)
    features, regrets = random.integers(0, 6, (40, 3)).astype(float), 1 + random.gamma(0.5, 1, (40, 4))
    regrets /= regrets.min(axis=1, keepdims=True)
    best = np.eye(4)[np.argmin(regrets, axis=1)]

    def weighted(below):
        return sum(side.mean() * float(gini(best[side].mean(axis=0))) for side in (below, ~below))

    tree = grow(features, regrets, list("abc"), list("wxyz"), criterion=BEST_ALGORITHM, depth=1, least=5)
    sides = [features[:, f] <= t for f in range(3) for t in np.arange(0.5, 6)]
    lowest = min(weighted(below) for below in sides if 5 <= below.sum() <= 35)
    assert isinstance(tree, Split)
    assert weighted(features[:, "abc".index(tree.feature)] <= tree.threshold) == pytest.approx(lowest)


def test_depth_and_leaves_are_limited():
    random = np.random.default_rng(1)
    features, regrets = random.random((200, 2)), 1 + random.random((200, 3))

    def depth_of(tree):
        return 0 if isinstance(tree, Leaf) else 1 + max(depth_of(tree.left), depth_of(tree.right))

    def leaves(tree):
        return [tree] if isinstance(tree, Leaf) else leaves(tree.left) + leaves(tree.right)

    tree = grow(features, regrets, ["a", "b"], ["x", "y", "z"], criterion=BEST_ALGORITHM, depth=3, least=20)
    assert depth_of(tree) <= 3
    assert all(leaf.inputs >= 20 for leaf in leaves(tree))
    assert sum(leaf.inputs for leaf in leaves(tree)) == 200
    for leaf in leaves(tree):
        assert leaf.algorithm == min(leaf.regrets, key=leaf.regrets.get)
    assert isinstance(grow(features, regrets, ["a", "b"], ["x", "y", "z"], criterion=BEST_ALGORITHM, depth=0), Leaf)
    assert isinstance(grow(features * 0, regrets, ["a", "b"], list("xyz"), criterion=BEST_ALGORITHM, depth=3), Leaf)


def test_a_path_looks_at_each_feature_once_and_at_no_other():
    leaf = Leaf("hb", {"hb": 1.0}, 9)
    deep = Split("scale", 10.0, Split("scale", 5.0, leaf, Split("zeros", 1.0, leaf, leaf)), leaf)
    asked = []

    def measure(name):
        asked.append(name)
        return {"scale": 7.0, "zeros": 0.0, "variation": 3.0}[name]

    assert walk(deep, measure) == (leaf, {"scale": 7.0, "zeros": 0.0})
    assert asked == ["scale", "zeros"]
    assert most_features(deep) == 2
    assert most_features(deep, frozenset(["scale"])) == 1


def test_trees_travel_as_json():
    tree = Split("scale", 0.1, Leaf("hb", {"hb": 1.0, "dawa": 1.5}, 3), Leaf("dawa", {"hb": 2.0, "dawa": 1.0}, 4))
    text = json.dumps(to_plain(tree))
    assert json.dumps(to_plain(from_plain(json.loads(text)))) == text
    for broken in ({}, [], {"feature": "scale", "threshold": "x"}, {"algorithm": "hb"}):
        with pytest.raises(BadInput, match="not a decision tree"):
            from_plain(broken)


def test_bad_input():
    with pytest.raises(BadInput, match="Did you mean 'group-regret'"):
        Delphi(criterion="group-regrets").method()
    for features, regrets in (
        ([[1.0]], [[0.5, 1.0]]),
        ([[np.nan]], [[1.0, 2.0]]),
        ([[1.0, 2.0]], [[1.0, 2.0]]),
        ([], []),
    ):
        with pytest.raises(BadInput):
            grow(features, regrets, ["a"], ["x", "y"], criterion=BEST_ALGORITHM, depth=1)


def test_questions_that_do_not_pay_are_pruned():
    few = Leaf("hb", {"hb": 1.0, "dawa": 1.2}, 10)
    many = Leaf("dawa", {"hb": 1.5, "dawa": 1.0}, 30)
    tree = Split("scale", 9.0, few, many)
    # alone, dawa has (1.2·10 + 1.0·30)/40 = 1.05: the question saves 0.05 and may take 4.7 % of the budget, not 4.8 %
    assert isinstance(prune(tree, 0.047), Split)
    merged = prune(tree, 0.048)
    assert (merged.algorithm, merged.inputs) == ("dawa", 40)
    assert merged.regrets == pytest.approx({"hb": 1.375, "dawa": 1.05})
    assert isinstance(prune(tree, 0.9, free=frozenset(["scale"])), Split)
    assert isinstance(prune(tree, 0.01, margin=0.05), Leaf)
    twice = Split("scale", 2.0, few, tree)  # what was bought for the first question is free for the second
    assert isinstance(prune(twice, 0.04).right, Split)


def test_many_values_are_cut_at_some_places_only():
    """Ten thousand values, one rule: the threshold is near the true one."""
    values = np.random.default_rng(0).permutation(10_000).astype(float)
    regrets = np.where((values < 3000)[:, None] == [True, False], 1.0, 2.0)
    tree = grow(values[:, None], regrets, ["scale"], ["hb", "dawa"], criterion=BEST_ALGORITHM, depth=1)
    assert isinstance(tree, Split)
    assert tree.threshold == pytest.approx(3000, abs=10_000 / 100)
