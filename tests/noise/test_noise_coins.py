"""Coins with real probabilities: bounds of any width lead to the same law."""

from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import binomtest

from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import COIN_BITS, Tape, enclose, toss
from adyton_lab.audit.enumeration import enumerate_distribution

ONE = 1 << COIN_BITS


def thirds(coin, digits):
    return Decimal(coin + 1), Decimal(3 - coin - 1)


@pytest.mark.parametrize("slack", [1, 2**20, 2**60, ONE])
def test_the_law_does_not_depend_on_the_bounds(slack):
    """False alarm 1e-7 for each of the eight tests."""
    lower = np.array([max(0, ONE // 3 - slack), max(0, 2 * ONE // 3 - slack)])
    upper = np.array([min(ONE, ONE // 3 + slack), min(ONE, 2 * ONE // 3 + slack)])
    tosses = np.array([ExactNoise().coins(lower, upper, thirds) for _ in range(4000)])
    for coin, heads in enumerate(tosses.sum(axis=0)):
        assert binomtest(int(heads), 4000, (coin + 1) / 3).pvalue > 1e-7


def test_simulated_coins():
    third = np.array([ONE // 3])
    heads = sum(bool(SimulatedNoise(seed).coins(third, third + 1, thirds)[0]) for seed in range(4000))
    assert binomtest(heads, 4000, 1 / 3).pvalue > 1e-7


def test_enumerated_coins():
    bounds = np.array([0]), np.array([ONE])
    law = enumerate_distribution(lambda source: bool(source.coins(*bounds, thirds)[0]))
    assert law == {True: pytest.approx(1 / 3, rel=1e-15), False: pytest.approx(2 / 3, rel=1e-15)}


@pytest.mark.parametrize(("word", "heads"), [(0, True), (2**64 // 3 - 1, True), (2**64 // 3 + 1, False)])
def test_digits_that_tie_are_continued(word, heads):
    """The first 62 digits are those of 1/3 itself; the next word decides."""
    first = ONE // 3
    words = iter([np.array([first, word], dtype=np.uint64)] + [np.array([0], dtype=np.uint64)] * 9)
    tape = Tape(lambda: next(words))
    assert bool(toss(tape, np.array([first]), np.array([first + 1]), thirds)[0]) is heads


def test_enclosures_hold_the_share():
    for heads, tails in [(1, 2), (1, 10**40), (10**40, 1), (0, 1), (1, 0)]:
        low, high = enclose(Decimal(heads), Decimal(tails), 200)
        assert low * (heads + tails) <= heads << 200 <= high * (heads + tails)
        assert high - low <= 3
