"""The law of permute-and-flip, written out, for tests of selections made of it; and the budgets to test them at."""

import itertools
import math
from fractions import Fraction

import pytest

ONE_EPSILON = [Fraction(1), *(pytest.param(other, marks=pytest.mark.full) for other in (Fraction(1, 10), Fraction(3)))]
"""For exact losses on many pairs. On some pairs the brief audit, which every run of the tests makes, has all three."""


def permute_and_flip_law(scores, sharpness):
    """By all orders of the candidates."""
    law = [0.0] * len(scores)
    passes = [math.exp(sharpness * (score - max(scores))) for score in scores]
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            law[candidate] += reached * passes[candidate] / len(orders)
            reached *= 1 - passes[candidate]
    return law
