"""Votes: against sums over single inputs, and where a look pays."""

import numpy as np
import pytest

from adyton.choice import trained_selectors as module
from adyton.choice.trained_selectors import Votes


def table(seed=0, rows=60, algorithms=3):
    random = np.random.default_rng(seed)
    weights = random.random(rows)
    signals = 2.0 ** random.integers(3, 9, rows)
    return weights, signals, random.integers(0, 4, rows), 1 + random.random((rows, algorithms))


def test_expected_regrets_are_weighted_means_with_what_is_usual():
    weights, signals, sources, regrets = table()
    usual = np.array([2.0, 1.0, 3.0])
    k = 7.0
    votes = Votes.of(weights, signals, sources, regrets, usual, k)
    assert votes.expected() == pytest.approx((weights @ regrets + k * usual) / (weights.sum() + k))
    noisy, noise = np.array([10.0, 300.0]), 40.0
    for value, found in zip(noisy, votes.expected(votes.shares(noisy, noise)), strict=True):
        scale = np.sqrt(noise**2 + (module._SIGNAL_WIDTH * signals) ** 2)
        likelihood = np.exp(-abs(value - signals) / scale) / scale
        counted = weights * likelihood / likelihood.max()
        assert found == pytest.approx((counted @ regrets + k * usual) / (counted.sum() + k))


@pytest.mark.parametrize("value", [-1e300, -5.0, 0.0, 1e-300, 1e18, 1e300])
def test_no_signal_is_too_strange(value):
    votes = Votes.of(*table(), np.ones(3), 5.0)
    expected = votes.expected(votes.shares(value, 100.0))
    assert np.isfinite(expected).all()
    assert np.isfinite(votes.expected(votes.shares(abs(value), 0.0))).all()


def test_a_look_pays_where_the_winner_depends_on_the_signal_and_not_where_it_does_not():
    signals = np.repeat([10.0, 10.0, 1e6, 1e6], 100)
    sources = np.arange(400) % 2
    few = signals < 100
    differ = np.where(few[:, None], [1.0, 2.0], [2.0, 1.0])
    same = np.tile([1.0, 2.0], (400, 1))
    weights, free = np.ones(400), np.ones(2)
    assert Votes.of(weights, signals, sources, differ, differ.mean(axis=0), 5.0).pays(50.0, free)
    assert not Votes.of(weights, signals, sources, differ, differ.mean(axis=0), 5.0).pays(50.0, 1.6 * free)
    assert not Votes.of(weights, signals, sources, same, same.mean(axis=0), 5.0).pays(50.0, free)
    assert not Votes.of(weights, signals, sources, differ, differ.mean(axis=0), 5.0).pays(1e12, free)


def test_a_data_set_does_not_vote_on_itself():
    """What wins in one of two data sets loses in the other: each would be told the wrong thing."""
    signals, sources = np.repeat(2.0 ** np.arange(4, 20), 2), np.tile([0, 1], 16)
    winner = (np.arange(32) // 2 + sources) % 2
    regrets = np.where(np.arange(2) == winner[:, None], 1.0, 1.5)
    votes = Votes.of(np.ones(32), signals, sources, regrets, np.ones(2), 5.0)
    assert not votes.pays(1.0, np.ones(2))
