"""Permute-and-flip against its exact probabilities. False alarm 10⁻⁹ for each comparison."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest

from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import fresh_tape
from adyton.noise.exact import TapeDraws, permute_and_flip, permute_and_flip_compiled, whole_gaps
from adyton_lab.audit.statistical import counts_fit
from exact_laws import permute_and_flip_probabilities

SCORES = [3, 0, 5, 5, 4]
SHARPNESS = Fraction(1, 2)
EXACT, SIMULATED = ExactNoise(), SimulatedNoise(1)


def by_permutations(scores, sharpness):
    """The definition itself: the mean over all orders of the chance to be the first that passes."""
    passes = [exp(sharpness * (score - max(scores))) for score in scores]
    chances = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        alive = 1.0
        for candidate in order:
            chances[candidate] += alive * passes[candidate] / len(orders)
            alive *= 1 - passes[candidate]
    return chances


def total_error(probabilities):
    with localcontext() as context:
        context.prec = 60
        return abs(sum(probabilities) - 1)


def test_the_formula_is_the_definition():
    formula = permute_and_flip_probabilities(SCORES, SHARPNESS)
    assert np.allclose([float(one) for one in formula], by_permutations(SCORES, SHARPNESS), rtol=1e-12)
    assert total_error(formula) < Decimal(10) ** -48


def test_the_formula_keeps_its_precision_with_many_candidates():
    formula = permute_and_flip_probabilities([0] * 20 + [-1] * 20, 1)
    assert total_error(formula) < Decimal(10) ** -45
    assert len(set(formula[:20])) == 1


SAMPLERS = {
    "python": lambda: permute_and_flip(TapeDraws(fresh_tape(50)), SCORES, SHARPNESS),
    "compiled": lambda: permute_and_flip_compiled(fresh_tape(50), *whole_gaps(SCORES, SHARPNESS)),
    "exact": lambda: EXACT.permute_and_flip(np.array(SCORES, dtype=np.int8), SHARPNESS),
    "fractions": lambda: EXACT.permute_and_flip([Fraction(s, 6) for s in SCORES], 3),
    "huge": lambda: EXACT.permute_and_flip([s + 2**300 for s in SCORES], SHARPNESS),
    "simulated": lambda: SIMULATED.permute_and_flip(SCORES, SHARPNESS),
    "simulated huge": lambda: SIMULATED.permute_and_flip([s * 2**99 for s in SCORES], SHARPNESS / 2**99),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_choices_have_the_exact_probabilities(name):
    chosen = np.bincount([SAMPLERS[name]() for _ in range(3000)], minlength=len(SCORES))
    probabilities = [float(one) for one in permute_and_flip_probabilities(SCORES, SHARPNESS)]
    assert counts_fit(chosen, probabilities) > 1e-9


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
def test_many_candidates(source):
    scores = np.zeros(20_000, dtype=np.int64)
    scores[777] = 10**6
    assert source.permute_and_flip(scores, 1) == 777
    assert source.permute_and_flip(np.array([0, 2**64 - 1], dtype=np.uint64), 1) == 1
    assert source.permute_and_flip(np.array([-(2**63), 2**63 - 1]), 1) == 1
    assert source.permute_and_flip([-(10**400), 10**400, 0], 1) == 1
    assert source.permute_and_flip([5], 1) == 0
    assert source.permute_and_flip([Fraction(1, 3**60), Fraction(1, 2**60)], Fraction(2**400)) == 1


def test_small_integer_types_do_not_wrap_around():
    gaps, _ = whole_gaps(np.array([-128, 127], dtype=np.int8), Fraction(1))
    assert gaps.tolist() == [255, 0]
    gaps, _ = whole_gaps(np.array([2**64 - 1, 2**64 - 9], dtype=np.uint64), Fraction(1))
    assert gaps.tolist() == [0, 8]
    assert whole_gaps(np.array([-(2**63), 2**63 - 1]), Fraction(1)) is None


def test_equal_candidates_are_equally_likely():
    chosen = np.bincount([ExactNoise().permute_and_flip([7] * 6, 1) for _ in range(3000)], minlength=6)
    assert counts_fit(chosen, np.full(6, 1 / 6)) > 1e-9
