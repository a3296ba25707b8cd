"""The choice of splits: spreads of the scores by enumeration, the exact loss, independence of the leaves."""

import itertools
import math
from bisect import bisect_right
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import SplitChoice
from adyton.kernel.mechanisms.split_choice import GRID, EntropyScore, GiniScore, MaxScore, _table, split_score
from adyton.kernel.shapes import TableShape
from adyton.noise import ExactNoise
from adyton.schema import Integer, RowTree, Schema
from adyton_lab.audit.enumeration import selection_loss
from adyton_lab.audit.pairs import vector_pairs

SCORES = {"max": MaxScore(), "gini": GiniScore(), "entropy": EntropyScore(6), "entropy, high cap": EntropyScore(10**6)}


def changes(score, classes, most):
    """By how much one more row changes the score of a cell, over all small counts and some large ones."""
    small = [np.array(counts) for counts in itertools.product(range(most), repeat=classes)]
    large = [
        np.array([number, *rest])
        for number in (50, 4095, 4096, 10**6, 10**9)
        for rest in [(0,) * (classes - 1), (number,) * (classes - 1)]
    ]
    for counts in small + large:
        for place in range(classes):
            more = counts.copy()
            more[place] += 1
            before, after = (int(score(one.reshape(1, 1, classes))[0]) for one in (counts, more))
            yield after - before


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", SCORES)
def test_all_changes_lie_in_an_interval_of_the_spread(name, classes):
    """With 0 among them, for attributes that drop the row."""
    score = SCORES[name]
    found = list(changes(score, classes, 8))
    assert max([0, *found]) - min([0, *found]) <= score.spread
    assert max([0, *found]) - min([0, *found]) >= 0.6 * score.spread  # nothing to save by much


def test_a_row_about_which_nothing_is_known_is_worth_at_most_the_spread():
    """Even if there are many classes, and the cap is low."""
    score = EntropyScore(2)
    found = list(changes(score, 6, 2))
    assert max([0, *found]) - min([0, *found]) <= score.spread < GRID * math.log2(6)


@pytest.mark.parametrize("name", ["gini", "entropy, high cap"])
def test_scores_are_close_to_the_formulas(name):
    counts = np.random.default_rng(1).poisson(20, (6, 4, 3))
    rows = counts.sum(axis=2, keepdims=True)
    shares = counts / np.maximum(rows, 1)
    impurity = (
        1 - (shares**2).sum(axis=2) if name == "gini" else -(shares * np.log2(np.maximum(shares, 1e-300))).sum(axis=2)
    )
    whole = 1.0 if name == "gini" else math.log2(3)
    expected = ((whole - impurity) * rows[..., 0]).sum(axis=1)
    found = SCORES[name](counts) / GRID
    assert abs(found - expected).max() < (4 / GRID if name == "gini" else 0.01 * rows.sum(axis=1).max())


def test_the_table_of_the_entropy():
    for cap in (2, 5, 4096, 10**5, 10**12):
        starts, steps, sums = _table(cap)
        assert steps[0] == 0
        assert (np.diff(steps) >= 0).all()
        assert cap / 1.01 - 1 <= starts[-1] < cap
        bits = starts * np.log2(np.maximum(starts, 1))
        assert (abs(sums - GRID * bits) <= 1.5 * starts).all()  # every step is rounded, or that of its segment
        assert np.array_equal(sums[1:], np.cumsum(np.diff(starts) * steps[:-1]))
        assert EntropyScore(cap).spread <= GRID * (math.log2(cap + 1) + 1 / math.log(2)) + 1


def test_huge_counts_do_not_wrap_around():
    counts = np.array([[[2**40, 3 * 2**40], [2**40, 0]]])
    assert int(GiniScore()(counts)[0]) == GRID * (10 * 2**80 // 2**42 + 2**40)
    assert int(MaxScore()(counts)[0]) == 2**42
    assert int(EntropyScore(2**40)(counts)[0]) < 2**62


@pytest.mark.parametrize("shape", [(2, 16), (257, 2)])
def test_scores_are_exact_on_both_sides_of_64_bits(shape):
    """Of cells with equal counts, or with rows of one class only, around every power of two; one cell is empty."""
    cells, classes = shape
    table = [part.tolist() for part in _table(2**40)]

    def bits(rows):
        segment = bisect_right(table[0], rows) - 1
        return table[2][segment] + (rows - table[0][segment]) * table[1][segment]

    worth = round(GRID * math.log2(classes))
    for power, of_one_class in itertools.product(range(28, 58), (False, True)):
        count, filled = (1 << power) - 1, 1 if of_one_class else classes
        counts = np.zeros((1, *shape), dtype=np.int64)
        counts[0, :-1, :filled] = count
        assert GiniScore()(counts).tolist() == [GRID * count * (cells - 1)]
        of_a_cell = filled * bits(count) - bits(filled * count) + worth * filled * count
        assert EntropyScore(2**40)(counts).tolist() == [of_a_cell * (cells - 1)]


@pytest.mark.parametrize("case", SplitChoice.audit_cases(), ids=lambda case: case.name)
def test_the_loss_is_at_most_epsilon(case):
    for epsilon in (F(1, 10), F(2)):
        loss, _ = selection_loss(case, epsilon, vector_pairs(case.domain, count=60))
        assert 0.5 * epsilon < loss <= float(epsilon) + 1e-9


SCHEMA = Schema({**{f"x{place}": Integer(0, 1) for place in range(4)}, "y": Integer(0, 1)})


def test_leaves_choose_among_their_own_candidates():
    codes = np.random.default_rng(2).integers(0, 2, (400, 5))
    codes[:, 4] = np.where(codes[:, 0] == 1, codes[:, 2], codes[:, 3])  # the best split differs from leaf to leaf
    tree = RowTree.stump(SCHEMA.names[:4]).grow({0: "x0"}, SCHEMA)
    kernel = Kernel.simulated_table(codes, SCHEMA, epsilon=1000, seed=4)
    for score in ("max", "gini", "entropy"):
        assert kernel.root.choose_splits(SplitChoice(tree, tree.free(), "y", score, 400), 100) == (3, 2)
        only = [[0, 1, 0, 0], [0, 0, 0, 0]]
        assert kernel.root.choose_splits(SplitChoice(tree, only, "y", score, 400), 1) == (1, -1)
    assert kernel.spent == 303


@pytest.mark.parametrize("sharpness", [F(1, 3), F(1, 5120), F(10**30, 7**40)])
def test_choices_in_one_go_follow_the_law_of_single_ones(sharpness):
    """Frequencies over 20,000 rows within 5.5 standard errors: four comparisons, false alarm below 10⁻⁶."""
    scores, allowed = np.tile([[7, 5, 9, 8]], (20_000, 1)), np.tile([[True, True, False, True]], (20_000, 1))
    allowed[::2, 0] = False
    chosen = ExactNoise().permute_and_flips(scores, allowed, sharpness)
    gaps = np.exp(-float(sharpness) * np.array([1, 3, 0]))
    for rows, places in ((chosen[::2], [1, 3]), (chosen[1::2], [0, 1, 3])):
        passes = [gaps[{0: 0, 1: 1, 3: 2}[place]] for place in places]
        orders = list(itertools.permutations(range(len(places))))
        law = np.zeros(len(places))
        for order in orders:
            left = 1.0
            for place in order:
                law[place] += left * passes[place] / len(orders)
                left *= 1 - passes[place]
        found = np.array([(rows == place).mean() for place in places])
        assert (abs(found - law) <= 5.5 * np.sqrt(law * (1 - law) / len(rows)) + 1e-12).all()
    assert (ExactNoise().permute_and_flips(scores[:3], allowed[:3] & False, sharpness) == -1).all()


def test_the_work_is_that_of_every_cell():
    tree = RowTree.stump(SCHEMA.names[:4]).grow({0: "x0"}, SCHEMA)
    choice = SplitChoice(tree, tree.free(), "y")
    assert choice.size(TableShape(SCHEMA), F(1)).numbers == 4 * 2 * 2 * 3 * (2 + 1)


def test_the_score_of_a_name():
    assert isinstance(split_score("gini", 0), GiniScore)
