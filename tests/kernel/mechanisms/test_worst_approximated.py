"""The choice of a badly approximated query: exact scores, exact privacy loss, and mutants that must be caught."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, WorstApproximated
from adyton.noise import ExactNoise
from adyton.queries import AllRange, Explicit, Haar, Identity, Prefix, RandomRanges, Weighted
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import enumerate_distribution, selection_loss
from adyton_lab.audit.pairs import vector_pairs
from exact_laws import loses_more

MIXED = Explicit.from_rows([[1, 1, 0, 0], [0, -2, 1, 0], [0, 0, 0, 3], [1, 1, 1, 1]])
CASES = WorstApproximated.audit_cases()


def case_of(selection):
    return AuditCase("case", selection, selection.queries.domain, PrivateVector.of, enumerable=True)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_exact_loss_is_at_most_epsilon(case):
    for epsilon in (F(1, 10), F(1), F(3)):
        loss, _ = selection_loss(case, epsilon, vector_pairs(case.domain, count=40))
        assert loss <= epsilon + 1e-9


def test_the_loss_reaches_epsilon():
    """Without this, an audit of the mutants below would have no power."""
    loss, _ = selection_loss(case_of(WorstApproximated(Haar(4), [0, 7, 0, 0], 3)), F(1), vector_pairs(4, count=40))
    assert loss > 0.999


# ---- mutants --------------------------------------------------------------------------------------------------------


class FactorTwoDropped(WorstApproximated):
    """Claim. None. Proof. None: as if scores moved in one direction. ∎"""

    def choose(self, values, epsilon, noise):
        return np.array([noise.permute_and_flip(self.scores(values), 2 * epsilon / self.spread())])


class DenominatorForgotten(WorstApproximated):
    """Claim. None. Proof. None: sensitivity in rows, scores on the grid. ∎"""

    def spread(self):
        return self.queries.largest_pair()


class CoefficientsForgotten(WorstApproximated):
    """Claim. None. Proof. None: as if all coefficients were 0 or 1. ∎"""

    def spread(self):
        return 2 * self.denominator


class OneCoefficientOnly(WorstApproximated):
    """Claim. None. Proof. None: as if only one score could move. ∎"""

    def spread(self):
        return self.denominator * self.queries.largest_coefficient()


class GuessScaledByTheTrueTotal(WorstApproximated):
    """Claim. None. Proof. None: the guess is scaled by the true number of rows. ∎"""

    def scores(self, values):
        return np.abs(self.denominator * (self.queries @ values) - values.sum() * (self.queries @ self.guess))


@pytest.mark.parametrize(
    ("mutant", "queries", "guess", "denominator"),
    [
        (FactorTwoDropped, Haar(4), [0, 7, 0, 0], 3),
        (FactorTwoDropped, Prefix(6), [3, 1, 4, 1, 5, 9], 4),
        (DenominatorForgotten, Prefix(6), [3, 1, 4, 1, 5, 9], 4),
        (DenominatorForgotten, Identity(4), [1, 0, 4, 2], 3),
        (CoefficientsForgotten, MIXED, [5, 5, 5, 5], 2),
        (OneCoefficientOnly, Haar(4), [0, 7, 0, 0], 3),
        (OneCoefficientOnly, MIXED, [5, 5, 5, 5], 2),
        (GuessScaledByTheTrueTotal, Identity(4), [1, 0, 4, 2], 1),
    ],
)
def test_mutants_lose_more(mutant, queries, guess, denominator):
    pairs = vector_pairs(queries.domain, count=40)
    honest, _ = selection_loss(case_of(WorstApproximated(queries, guess, denominator)), F(1), pairs)
    assert honest <= 1 + 1e-9
    assert loses_more(case_of(mutant(queries, guess, denominator)), F(1), pairs, 1 + 1e-3)


def noisy_max_law(scores, epsilon, reach=200):
    """The law of the first of two candidates in argmax(u_q + DLap(Δ/ε)), Δ = 1, ties to the first: exact sums."""
    values = np.arange(-reach, reach + 1)
    chances = np.exp(-epsilon * np.abs(values))
    chances /= chances.sum()
    ahead = scores[0] + values[:, None] >= scores[1] + values[None, :]
    first = float((chances[:, None] * chances[None, :] * ahead).sum())
    return np.array([first, float((chances[:, None] * chances[None, :] * ~ahead).sum())])


def test_report_noisy_max_with_laplace_noise_of_scale_sensitivity_would_lose_more():
    """Two scores that move against each other lose almost 2ε under that law, and ε at most under ours."""
    selection = WorstApproximated(Explicit.from_rows([[1, 0], [1, -1]]), [0, -40])
    left, right = np.array([5, 0]), np.array([6, 0])
    scores = [selection.scores(side).tolist() for side in (left, right)]
    assert scores == [[5, 35], [6, 34]]
    mutant = [noisy_max_law(pair, 1.0) for pair in scores]
    assert np.abs(np.log(mutant[0] / mutant[1])).max() > 1.9
    honest = [
        enumerate_distribution(lambda source, side=side: int(selection.choose(side, F(1), source)[0]))
        for side in (left, right)
    ]
    assert max(abs(math.log(honest[0][query] / honest[1][query])) for query in range(2)) <= 1 + 1e-9


# ---- the law and the scores ------------------------------------------------------------------------------------------


def permute_and_flip_law(scores, sharpness):
    """All orders of the candidates, each as likely; the first that passes."""
    chances = [math.exp(float(sharpness * (score - max(scores)))) for score in scores]
    law = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0 / math.factorial(len(scores))
        for candidate in order:
            law[candidate] += left * chances[candidate]
            left *= 1 - chances[candidate]
    return law


@pytest.mark.parametrize("epsilon", [F(1, 7), F(1), F(5)])
def test_the_law_is_that_of_permute_and_flip_on_independent_scores(epsilon):
    selection = WorstApproximated(MIXED, [5, 2, 7, 1], 2)
    x = np.array([3, 0, 2, 8])
    rows = np.array([[1, 1, 0, 0], [0, -2, 1, 0], [0, 0, 0, 3], [1, 1, 1, 1]])
    scores = [
        abs(sum(F(int(q)) * (int(v) - F(g, 2)) for q, v, g in zip(row, x, [5, 2, 7, 1], strict=True))) for row in rows
    ]
    expected = permute_and_flip_law(scores, epsilon / 4)  # 3 + 1 in the last column
    law = enumerate_distribution(lambda source: int(selection.choose(x, epsilon, source)[0]))
    np.testing.assert_allclose([law[q] for q in range(4)], expected, rtol=1e-9)


@pytest.mark.parametrize("top", [10, 2**53, 2**62])
def test_scores_are_exact_for_huge_counts_and_guesses(top):
    random = np.random.default_rng(top % 1000)
    for queries in (Prefix(7), Haar(7), RandomRanges(7, 9, seed=1), AllRange(7)):
        x = np.array([top - int(random.integers(0, 3)) for _ in range(7)])
        guess = np.array([int(random.integers(-5, 5)) + (top if i % 2 else -top) for i in range(7)])
        for denominator in (1, 3, 2**20, 2**70):
            selection = WorstApproximated(queries, guess, denominator)
            missed = [denominator * int(v) - int(g) for v, g in zip(x, guess, strict=True)]
            expected = [
                abs(sum(int(q) * m for q, m in zip(queries.row(i), missed, strict=True))) for i in range(len(queries))
            ]
            assert selection.scores(x).tolist() == expected


def test_the_smallest_machine_integer_does_not_wrap():
    selection = WorstApproximated(Identity(2), [-(2**63), 0])
    assert selection.scores(np.array([2**63 - 1, 0])).tolist() == [2**64 - 1, 0]
    assert WorstApproximated(Identity(1), [0]).scores(np.array([-(2**63)])).tolist() == [2**63]


def test_real_estimates_are_rounded_to_a_grid_that_leaves_room_for_sums():
    selection = WorstApproximated.of(Prefix(4096), np.full(4096, 1000 / 4096))
    assert selection.denominator == 1 << 20
    assert selection.scores(np.zeros(4096, dtype=np.int64)).dtype == np.int64
    large = WorstApproximated.of(Prefix(4), np.full(4, 1e12))
    assert large.denominator == 1 << 4
    assert WorstApproximated.of(Identity(2), [1e18, 0]).denominator == 1
    for bad in ([np.nan, 0], [np.inf, 0], [1e19, 0]):
        with pytest.raises(BadInput, match="finite"):
            WorstApproximated.of(Identity(2), bad)


def test_both_kinds_of_noise_choose_the_worst_query_at_a_large_epsilon():
    x = np.arange(50)
    estimate = x.astype(float)
    estimate[17] += 30
    for kernel in (Kernel.on_vector(x, epsilon=10), Kernel.simulated(x, epsilon=10, seed=0)):
        chosen = kernel.root.select(WorstApproximated.of(Identity(50), estimate), 10)
        assert chosen == 17
        assert type(chosen) is int
        assert kernel.spent == 10


def test_the_sampler_follows_the_enumerated_law():
    """Exact noise, 8,000 draws: 5.5 standard deviations each way."""
    selection = WorstApproximated(Prefix(5), [1, 1, 1, 1, 1], 2)
    x = np.array([0, 4, 0, 1, 2])
    law = enumerate_distribution(lambda source: int(selection.choose(x, F(1), source)[0]))
    noise = ExactNoise()
    draws = 8_000
    counts = np.bincount([int(selection.choose(x, F(1), noise)[0]) for _ in range(draws)], minlength=5)
    for query, chance in law.items():
        assert abs(counts[query] - draws * chance) < 5.5 * math.sqrt(draws * chance * (1 - chance)) + 1


def test_queries_that_no_row_moves_are_chosen_among_too():
    kernel = Kernel.simulated([1, 2], epsilon=1, seed=0)
    assert kernel.root.select(WorstApproximated(Explicit.from_rows([[0, 0]]), [0, 0]), 1) == 0


# ---- bad input and the wire -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (lambda: WorstApproximated(Identity(4), [0, 0, 0]), "3"),
        (lambda: WorstApproximated(Identity(3), [0, 0, 0]), "queries over 3"),
        (lambda: WorstApproximated(Identity(4), [0, 0, 0, 0], 0), "denominator"),
        (lambda: WorstApproximated(Identity(4), [0, 0, 0, 0], True), "accept|denominator"),
        (lambda: WorstApproximated(Identity(4), [0, 0, 0, 0], F(1, 2)), "accept|denominator"),
        (lambda: WorstApproximated(Weighted(Identity(4), [1, 1, 0.5, 2]), [0, 0, 0, 0]), "accept|whole"),
        (lambda: WorstApproximated(Identity(4), [0.5, 0, 0, 0]), "whole numbers"),
        (lambda: WorstApproximated("prefix", [0, 0, 0, 0]), "accept|query set"),
    ],
)
def test_bad_fields_are_refused_and_nothing_is_spent(selection, message):
    kernel = Kernel.simulated([1, 2, 3, 4], epsilon=1, seed=0)
    with pytest.raises(BadInput, match=message):
        kernel.root.select(selection(), 1)
    assert kernel.spent == 0


def test_wire():
    selection = WorstApproximated(Prefix(3), [1, -2, 3], 8)
    again = decode(encode(selection))
    assert type(again) is WorstApproximated
    assert again.denominator == 8
    np.testing.assert_array_equal(again.guess, selection.guess)
    assert again.queries == Prefix(3)
    with pytest.raises(BadInput):
        decode(encode(selection).replace('"denominator": 8', '"denominator": 8.5'))


def test_text_for_the_ledger():
    assert str(WorstApproximated(Prefix(3), [0, 0, 0])) == "the worst approximated of prefix sums of 3 cells"
