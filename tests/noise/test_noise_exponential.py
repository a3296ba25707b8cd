"""The exponential variable: crafted words with a result known by hand, and the chances of coins."""

from fractions import Fraction

import numpy as np
import pytest
from noise_tapes import poor_words, tape_of, word

from adyton.noise import ExactNoise
from adyton.noise.exact import TapeDraws
from adyton.noise.laplace import Exponential, Uniform
from adyton_lab.audit.statistical import counts_fit

ALL = 2**32 - 1
ACCEPT = word(ALL, 0)
THIRD = 2**63 // 3  # the first 63 digits of 1/3; the digits after them are 1010…
TWO_THIRDS_OF_A_WORD = 2**65 // 3


def test_a_candidate_is_accepted_when_the_run_ends_on_an_upper_half():
    assert Exponential(tape_of([2**63, word(2**31 + 1, 0)])).floor_times(1000, 1) == 500


def test_a_candidate_is_refused_when_the_run_ends_on_a_lower_half_and_counts_as_one():
    refused = [2**63, word(2**31 - 1, 2**31)]
    assert Exponential(tape_of([*refused, *refused, 2**62, ACCEPT])).floor_times(1000, 1) == 2250


def test_a_run_goes_on_over_words():
    falling = [2**63, word(900, 800), word(700, 600), word(601, 0)]
    assert Exponential(tape_of(falling)).floor_times(1000, 1) == 500
    falling = [2**63, word(900, 800), word(700, 701), 2**62, ACCEPT]
    assert Exponential(tape_of(falling)).floor_times(1000, 1) == 1250


@pytest.mark.parametrize(("digits", "expected"), [(0, 1250), (2**64 - 1, 500)])
def test_a_tie_draws_more_digits(digits, expected):
    """The challenger agrees with the candidate 1/2 in 32 digits; its next 64 say whether it is below or above."""
    tie = [2**63 + 2**20, word(2**31, 2**31 + 1), digits, 2**62, ACCEPT]
    assert Exponential(tape_of(tie)).floor_times(1000, 1) == expected


@pytest.mark.parametrize(
    ("more", "floor"),
    [
        ([TWO_THIRDS_OF_A_WORD - 1], 0),
        ([TWO_THIRDS_OF_A_WORD + 1], 1),
        ([TWO_THIRDS_OF_A_WORD, TWO_THIRDS_OF_A_WORD - 1], 0),
        ([TWO_THIRDS_OF_A_WORD, TWO_THIRDS_OF_A_WORD + 1], 1),
    ],
)
def test_digits_are_drawn_until_the_product_is_settled(more, floor):
    words = [THIRD << 1, ACCEPT, *more]
    assert Exponential(tape_of(words)).floor_times(3, 1) == floor
    assert Exponential(tape_of(words)).at_least(1, 3) == bool(floor)


def test_uniform_numbers_compare_by_their_common_digits_first():
    tape = tape_of([])
    assert Uniform(0b01, 2).below(Uniform(0b1, 1), tape)
    assert not Uniform(0b1, 1).below(Uniform(0b01, 2), tape)
    assert tape.words.size == 0  # settled without a word


def test_floors_agree_with_thresholds():
    """⌊E·n/d⌋ ≥ k if and only if E ≥ k·d/n, on the same words, ties and restarts included."""
    for seed in range(300):
        floor = Exponential(tape_of(poor_words(seed, 50))).floor_times(7, 3)
        for k in (1, 2, floor, floor + 1):
            assert Exponential(tape_of(poor_words(seed, 50))).at_least(3 * k, 7) == (floor >= k)


@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(10**40 + 1, 10**40)])
def test_coins_have_probability_exp_minus_gamma(gamma):
    """False alarm 10⁻⁹ for each exponent."""
    draws = TapeDraws(tape_of([], seed=gamma.numerator % 1000))
    heads = sum(draws.bernoulli_exp(gamma) for _ in range(30_000))
    chance = np.exp(-float(gamma))
    assert counts_fit([heads, 30_000 - heads], [chance, 1 - chance]) > 1e-9


def test_certain_and_hopeless_coins():
    noise = ExactNoise()
    assert all(noise.bernoulli_exp(0) for _ in range(20))
    assert not any(noise.bernoulli_exp(10**300) for _ in range(20))
    assert not any(noise.bernoulli_exp(Fraction(2**9000, 3)) for _ in range(3))
    assert {noise.bernoulli_exp("0.7") for _ in range(200)} == {True, False}
