"""The choice with probability ∝ m·e^(−rate·gap): its bounds, its coins, and its law."""

from decimal import Decimal, localcontext
from fractions import Fraction as F

import numpy as np
import pytest
from noise_tapes import tape_of
from scipy import stats

from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import COIN_BITS, enclose
from adyton.noise.exponential import ExponentialWeights, exponential_choices
from adyton_lab.audit.enumeration import enumerate_distribution

RATES = [F(1, 2**20), F(10**-9).limit_denominator(10**12), F(3, 7), F(1000)]


@pytest.fixture(autouse=True)
def long_decimals():
    with localcontext(prec=120):
        yield


def exact_weight(count, gap, rate, shift):
    return (-(Decimal(rate.numerator) * gap / Decimal(rate.denominator))).exp() * count * 2**shift


@pytest.mark.parametrize("rate", RATES)
def test_bounds_lie_above_the_weights_and_hardly_so(rate):
    generator = np.random.default_rng(3)
    counts = generator.integers(1, 2**20, 200)
    gaps = np.append(generator.integers(0, 2**30, 199), 0)
    weights = ExponentialWeights(counts, gaps, rate)
    assert int(weights.sums[-1]) < 1 << 62
    for place in range(200):
        exactly = exact_weight(int(counts[place]), int(gaps[place]), rate, weights._shift)
        bound = Decimal(int(weights.bounds[place]))
        assert exactly < bound <= exactly * (1 + Decimal(2) ** -38) + 1
        lower, upper = (int(side[0]) for side in weights.coin_bounds(np.array([place])))
        share = exactly / bound * 2**COIN_BITS
        assert lower <= share <= upper
        lower, upper = enclose(*weights.refine(place, 60), COIN_BITS + 64)
        assert lower <= share * 2**64 <= upper <= lower + 4


def test_the_coin_is_settled_by_more_digits():
    """A tape whose first digits lie within the bounds of the coin: the outcome is that of more digits."""
    weights = ExponentialWeights(np.array([5, 3]), np.array([0, 7]), F(1, 3))
    lower, upper = (int(side[0]) for side in weights.coin_bounds(np.array([0])))
    between = (lower + upper) // 2
    for last in (0, 2**64 - 1):
        chosen = exponential_choices(tape_of([0, between, last, 0, 0]), 1, weights)
        assert chosen.tolist() == [0]


def test_the_law():
    counts, gaps, rate = np.array([2**31, 7, 2**20, 1]), np.array([30 * 2**20, 0, 12 * 2**20, 2**20]), F(1, 2**20)
    exactly = enumerate_distribution(lambda source: int(source.exponential_choices(1, counts, gaps, rate)[0]))
    weights = ExponentialWeights(counts, gaps, rate)
    assert weights.probabilities().tolist() == pytest.approx([exactly[place] for place in range(4)], rel=1e-12)
    for noise in (ExactNoise(), SimulatedNoise(5)):
        drawn = np.bincount(noise.exponential_choices(100_000, counts, gaps, rate), minlength=4)
        expected = np.array([exactly[place] for place in range(4)]) * 100_000
        big = expected > 5
        assert stats.chisquare(drawn[big], expected[big] * drawn[big].sum() / expected[big].sum()).pvalue > 1e-7


def test_far_candidates_are_possible_and_cost_nothing():
    """e^(−10⁹) is 0 in double precision: the bound is 1, and the coin knows better."""
    weights = ExponentialWeights(np.array([1, 1]), np.array([0, 10**9]), F(1))
    assert int(weights.bounds[1]) == 1
    lower, upper = (int(side[0]) for side in weights.coin_bounds(np.array([1])))
    assert lower == 0 < upper <= 2048
    assert weights.refine(1, 40)[0] > 0
