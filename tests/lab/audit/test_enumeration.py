"""The enumeration against closed forms, and against selections that are broken on purpose. Nothing here is random."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from adyton.errors import AdytonError, BadInput
from adyton_lab.audit.enumeration import EnumeratingSource, enumerate_distribution, largest_loss
from adyton_lab.audit.pairs import Pair, vector_pairs

EPSILON = Fraction(1)
ROUNDING = 1e-12
PAIRS = vector_pairs(4, 40)


def permute_and_flip(source, scores, sharpness, flip=None):
    """Candidates in random order, the first that passes exp(-sharpness · (best - score))."""
    flip = flip or source.bernoulli_exp
    waiting, best = list(range(len(scores))), max(scores)
    while True:
        candidate = waiting.pop(source.uniform_integer(len(waiting)))
        if flip(sharpness * (best - scores[candidate])):
            return candidate


def on(choose, sharpness=EPSILON / 2):
    """A selection by the scores x_i - x_(i+1), around the circle: one row raises one score and lowers another by 1.

    The sensitivity of every score is thus 1 and the sharpness that ε pays for is ε/2.
    """

    def run_on(data):
        scores = [int(score) for score in data - np.roll(data, -1)]
        return lambda source: choose(source, scores, sharpness)

    return run_on


def law_of_permute_and_flip(gammas):
    """The sum over all orders, directly."""
    chance = [math.exp(-float(gamma)) for gamma in gammas]
    law = [0.0] * len(gammas)
    for order in permutations(range(len(gammas))):
        still = 1 / math.factorial(len(gammas))
        for candidate in order:
            law[candidate] += still * chance[candidate]
            still *= 1 - chance[candidate]
    return law


def test_uniform_choices_multiply():
    result = enumerate_distribution(lambda source: tuple(source.uniform_integers(2, 3).tolist()))
    assert result == pytest.approx({(i, j): 1 / 9 for i in range(3) for j in range(3)}, rel=1e-15)


def test_flips_have_the_right_probability():
    for gamma in (Fraction(1, 3), 2, "0.1", Fraction(1, 10**30)):
        result = enumerate_distribution(lambda source, gamma=gamma: source.bernoulli_exp(gamma))
        rate = float(Fraction(gamma))
        assert result == pytest.approx({True: math.exp(-rate), False: -math.expm1(-rate)}, rel=1e-14)


def test_certain_outcomes_do_not_branch():
    run = lambda source: (source.bernoulli_exp(0), source.uniform_integer(1))  # noqa: E731
    assert enumerate_distribution(run, limit=1) == {(True, 0): 1.0}


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 1, 0, 2), (5, 5, -40), (7,), (0, 1, 2, 3, 4)])
def test_permute_and_flip_has_its_law(scores):
    sharpness = Fraction(2, 5)
    law = law_of_permute_and_flip([sharpness * (max(scores) - score) for score in scores])
    by_flips = enumerate_distribution(lambda source: permute_and_flip(source, scores, sharpness))
    by_law = enumerate_distribution(lambda source: source.permute_and_flip(scores, sharpness))
    assert by_flips == pytest.approx(dict(enumerate(law)), rel=1e-12)
    assert by_law == pytest.approx(by_flips, rel=1e-14)


def rejecting_exponential_mechanism(source, scores, sharpness):
    """One attempt: a uniform candidate that passes its flip, or None; given a success it is exp(sharpness·score)."""
    candidate = source.uniform_integer(len(scores))
    return candidate if source.bernoulli_exp(sharpness * (max(scores) - scores[candidate])) else None


def test_exponential_mechanism_has_its_law():
    scores, sharpness = (0, 3, 1), Fraction(1, 2)
    result = enumerate_distribution(lambda source: rejecting_exponential_mechanism(source, scores, sharpness))
    weights = np.exp([float(sharpness * score) for score in scores])
    chosen = np.array([result[i] for i in range(3)]) / (1 - result[None])
    np.testing.assert_allclose(chosen, weights / weights.sum(), rtol=1e-14)


def test_permute_and_flip_is_private_and_nearly_spends_its_budget():
    loss, pair = largest_loss(on(permute_and_flip), PAIRS)
    assert 0.95 * EPSILON < loss <= EPSILON + ROUNDING
    assert pair in PAIRS
    law_loss, law_pair = largest_loss(on(lambda source, *given: source.permute_and_flip(*given)), PAIRS)
    assert (law_loss, law_pair) == (pytest.approx(loss, rel=1e-14), pair)


def test_distance_multiplies_the_loss():
    loss, _ = largest_loss(on(permute_and_flip), vector_pairs(3, 40, distance=3))
    assert EPSILON < loss <= 3 * EPSILON + ROUNDING


def test_a_loss_behind_tiny_probabilities_is_seen():
    """exp(-10^6) underflows a double; its ratio to exp(-10^6 - 3) does not."""
    pair = vector_pairs(2, 1, distance=3)[0]
    run_on = lambda data: lambda source: source.bernoulli_exp(10**6 + int(data.sum()))  # noqa: E731
    assert largest_loss(run_on, [pair])[0] == pytest.approx(3, rel=1e-12)


def skipped_permutation(source, scores, sharpness):
    best = max(scores)
    return next(i for i, score in enumerate(scores) if source.bernoulli_exp(sharpness * (best - score)))


def rounded_flip(source, scores, sharpness):
    """A flip whose probability was rounded to a multiple of 1/8 before it was used."""

    def flip(gamma):
        return source.uniform_integer(8) < round(8 * math.exp(-gamma))

    return permute_and_flip(source, scores, sharpness, flip)


def clamped_flip(source, scores, sharpness):
    """A flip that never passes below e^-10, as if such a chance could be neglected."""
    return permute_and_flip(source, scores, sharpness, lambda gamma: gamma <= 10 and source.bernoulli_exp(gamma))


def underflowing_flip(source, scores, sharpness):
    """math.exp(-gamma) as the probability: zero beyond 745."""

    def flip(gamma):
        return math.exp(-gamma) > 0 and source.bernoulli_exp(gamma)

    return permute_and_flip(source, scores, sharpness, flip)


def deterministic(source, scores, sharpness):
    return max(range(len(scores)), key=scores.__getitem__)


def dropped_factor_two(source, scores, sharpness):
    return permute_and_flip(source, scores, 2 * sharpness)


def one_number_for_all(source, scores, sharpness):
    """All candidates judged by the same uniform number: the first within that distance of the best."""
    level = source.uniform_integer(4)
    return next(i for i in range(len(scores)) if max(scores) - scores[i] <= level)


INFINITE = [skipped_permutation, rounded_flip, clamped_flip, underflowing_flip, deterministic, one_number_for_all]


def edges():
    """One cell far above the others, where a flip's chance is near 1/16, e^-10 or the smallest double."""
    heights = [*range(30), *range(1480, 1495)]
    spikes = [Pair(f"{n}|{n + 1}", np.array([0, n, 0]), np.array([0, n + 1, 0])) for n in heights]
    return vector_pairs(3, 40) + spikes


def test_the_honest_selection_passes_where_the_mutants_fail():
    assert largest_loss(on(permute_and_flip), edges())[0] <= EPSILON + ROUNDING


@pytest.mark.parametrize("mutant", INFINITE)
def test_mutants_with_different_supports_lose_everything(mutant):
    losses = (largest_loss(on(mutant), [pair]) for pair in edges())
    assert any(loss == math.inf and pair is not None for loss, pair in losses)  # up to the first of them


def test_a_dropped_factor_two_exceeds_the_budget():
    loss, _ = largest_loss(on(dropped_factor_two), PAIRS)
    assert 1.9 * EPSILON < loss <= 2 * EPSILON + ROUNDING


def test_a_flip_rounded_to_few_digits_exceeds_the_budget():
    """Chances rounded to one decimal, but never to zero: the support is right and the ratios are not."""

    def choose(source, scores, sharpness):
        chance = lambda gamma: max(Fraction(1, 10), Fraction(round(10 * math.exp(-gamma)), 10))  # noqa: E731
        flip = lambda gamma: source.uniform_integer(10) < 10 * chance(gamma)  # noqa: E731
        return permute_and_flip(source, scores, sharpness, flip)

    loss, _ = largest_loss(on(choose), edges()[-45:-42])
    assert EPSILON * 1.01 < loss < math.inf


def test_too_many_paths_are_refused():
    with pytest.raises(BadInput, match="more than 100 paths"):
        enumerate_distribution(lambda source: source.uniform_integer(101), limit=100)


def test_a_path_without_end_is_refused():
    def stubborn(source):
        while source.bernoulli_exp(1):
            pass

    with pytest.raises(BadInput, match="more than 1000 choices"):
        enumerate_distribution(stubborn, limit=1000)


def test_infinite_support_is_refused():
    with pytest.raises(BadInput, match="infinitely many values"):
        enumerate_distribution(lambda source: int(source.discrete_laplace(1, 1)[0]))


def test_randomness_from_elsewhere_is_noticed():
    calls = iter(range(10))
    with pytest.raises(AdytonError, match="different choices"):
        enumerate_distribution(lambda source: source.uniform_integer(2) if next(calls) == 0 else 0)
    calls = iter(range(10))
    with pytest.raises(AdytonError, match="different choices"):
        enumerate_distribution(lambda source: source.uniform_integer(3 if next(calls) < 2 else 2))
    calls = iter(range(10))
    with pytest.raises(AdytonError, match="add up to"):
        enumerate_distribution(lambda source: source.uniform_integer(3 if next(calls) == 0 else 2))


@pytest.mark.parametrize("gamma", [-1, 10**18, float("nan")])
def test_bad_rates_are_refused(gamma):
    with pytest.raises(BadInput):
        EnumeratingSource([], 10).bernoulli_exp(gamma)
