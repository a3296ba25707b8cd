"""From noisy tables to a model: nearer to the truth than what was measured, and consistent."""

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, distance, measured, rows, table

from adyton.errors import BadInput
from adyton.marginals.estimating import denoised_single, estimated
from adyton.marginals.refining import refined

DATA = rows()


@pytest.fixture(scope="module")
def all_pairs():
    return measured(DATA, PAIRS, epsilon=0.1)


def test_model_beats_least_squares_and_that_the_noise(all_pairs):
    found = estimated(SIDES, all_pairs)
    squares = distance({pair: found.squares.table(*pair) for pair in PAIRS}, DATA)
    noisy = distance({one.group: np.asarray(one.counts) for one in all_pairs}, DATA)
    assert squares < 0.95 * noisy
    assert distance(found.model.all_pairs(), DATA) < 0.8 * squares
    assert set(found.model.pairs) == set(PAIRS)


def test_pairs_agree_with_their_single_tables(all_pairs):
    model = estimated(SIDES, all_pairs).model
    for (one, other), counts in model.pairs.items():
        np.testing.assert_allclose(counts.sum(axis=1), model.singles[one], rtol=1e-3, atol=1e-3 * model.total)
        np.testing.assert_allclose(counts.sum(axis=0), model.singles[other], rtol=1e-3, atol=1e-3 * model.total)


def test_second_pass_leans_on_the_forest():
    """Where the forest tells the truth of the other pairs, shrinking towards it gains."""
    chain = DATA[:, :3]
    noisy = [one for one in measured(DATA, PAIRS, epsilon=0.05) if set(one.group) <= {"a", "b", "c"}]
    sides = {name: SIDES[name] for name in "abc"}

    def off(passes):
        model = estimated(sides, noisy, passes=passes).model
        return np.abs(model.pairs["a", "c"] - table(DATA, ("a", "c"))).sum() / (2 * len(chain))

    assert off(2) <= off(1)


def test_expected_errors_are_near_the_true_ones(all_pairs):
    found = estimated(SIDES, all_pairs)
    truth = {pair: np.abs(found.squares.table(*pair) - table(DATA, pair)).mean() for pair in PAIRS}
    assert np.mean([found.model.errors[pair] for pair in PAIRS]) == pytest.approx(
        np.mean(list(truth.values())), rel=0.2
    )


def test_single_tables_alone_are_independent():
    model = estimated(SIDES, measured(DATA, [(name,) for name in SIDES], epsilon=1)).model
    assert model.table("a", "b").how == "independent"
    assert model.total == pytest.approx(len(DATA), rel=0.01)


def test_an_attribute_that_was_not_measured_is_said():
    with pytest.raises(BadInput, match="no measured table has 'c', 'd', 'e', 'f'"):
        estimated(SIDES, measured(DATA, [("a", "b")], epsilon=1))


@pytest.mark.full
def test_refining_uses_what_circles_say():
    """d depends on a and c, c on a: with those pairs measured, rows know more than any path."""
    circle = [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d"), ("a", "c"), ("d", "e"), ("e", "f")]
    plain = estimated(SIDES, measured(DATA, circle, epsilon=50)).model
    better = refined(plain)
    assert better.table("b", "d").how == "fitted to pairs"
    truth = table(DATA, ("b", "d"))
    gained = np.abs(better.table("b", "d").counts - truth).sum() / np.abs(plain.table("b", "d").counts - truth).sum()
    assert gained < 0.8
    assert refined(better) is better
    assert distance(better.all_pairs(), DATA) < distance(plain.all_pairs(), DATA)
    again = refined(plain)
    assert all(np.array_equal(again.fitted[pair], better.fitted[pair]) for pair in PAIRS)


def test_a_forest_needs_no_refining():
    plain = estimated(SIDES, measured(DATA, [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f")], epsilon=5)).model
    assert refined(plain) is plain


def test_single_tables_lose_noise():
    random, truth = np.random.default_rng(2), np.zeros(60)
    truth[20:40] = 300.0
    noisy = truth + random.laplace(scale=50, size=60)
    plain = np.abs(noisy - truth).mean()
    for ordered, most in ((False, 0.8), (True, 0.6)):
        found = denoised_single(noisy, 5000.0, ordered=ordered)
        assert (found > 0).all()
        assert np.abs(found - truth).mean() < most * plain
