"""The order of scores is exact, also where doubles are too coarse to tell."""

import math
from fractions import Fraction

import numpy as np
import pytest

from adyton.configuration.family import logarithms, lost_from, on_grid, put_in_order, sign


def exact_sign(a, b, parameter):
    value = Fraction(a) - Fraction(parameter) * Fraction(b)
    return (value > 0) - (value < 0)


def hard_cases(chance, how_many):
    """Lines that are 0, or the nearest double to it, close to the parameter."""
    for _ in range(how_many):
        b = float(chance.integers(-(2**20), 2**20)) * 2.0 ** float(chance.integers(-30, 3))
        parameter = float(chance.uniform(-2, 2)) if chance.random() < 0.7 else float(chance.integers(-4, 5)) / 4
        a = parameter * b
        for near in (a, np.nextafter(a, math.inf), np.nextafter(a, -math.inf), 0.0, float(np.float32(a))):
            if near == 0 or abs(near) > 2.0**-200:
                yield float(near), b, parameter


def test_signs_are_exact():
    for a, b, parameter in hard_cases(np.random.default_rng(1), 2000):
        assert sign(a, b, parameter) == exact_sign(a, b, parameter)


@pytest.mark.parametrize("parameter", [5e-324, -5e-324, 1e-310, 1e308, -1e308, 0.0])
def test_signs_at_the_ends_of_doubles(parameter):
    for a in (0.0, 2.0**-200, -(2.0**-200), 1.0, 2.0**200):
        for b in (0.0, 2.0**-200, -(2.0**-200), 1.0, -(2.0**200)):
            assert sign(a, b, parameter) == exact_sign(a, b, parameter)


@pytest.mark.parametrize("keeps_ties", [False, True])
def test_first_double_at_which_a_line_is_lost(keeps_ties):
    for a, b, _ in hard_cases(np.random.default_rng(2), 1000):
        turn = lost_from(a, b, keeps_ties)
        if b <= 0:
            assert turn == math.inf
            continue
        before = np.nextafter(turn, -math.inf)
        assert exact_sign(a, b, turn) < (0 if keeps_ties else 1)
        assert exact_sign(a, b, float(before)) >= (0 if keeps_ties else 1)


def test_order_is_total_where_scores_nearly_tie():
    chance = np.random.default_rng(3)
    for _ in range(50):
        a = 1 + chance.integers(0, 4, 30) * 2.0**-40
        b = 1 + chance.integers(0, 4, 30) * 2.0**-40
        parameter = float(chance.choice([1.0, 1 + 2.0**-52, 1 - 2.0**-53, 0.5, chance.uniform(0.9, 1.1)]))
        order = chance.permutation(30)
        put_in_order(order, a, b, parameter)
        scores = [Fraction(x) - Fraction(parameter) * Fraction(y) for x, y in zip(a, b, strict=True)]
        assert order.tolist() == sorted(range(30), key=lambda i: (-scores[i], i))


def test_grids_make_sums_exact():
    chance = np.random.default_rng(4)
    for _ in range(200):
        values = on_grid(np.minimum(chance.lognormal(0, 5, 20), 1e4), 1e4)
        one, other = chance.choice(values, 2)
        assert Fraction(one - other) == Fraction(one) - Fraction(other)
        assert Fraction(one + other) == Fraction(one) + Fraction(other)
    assert (on_grid(np.array([0.0, 5e-324]), 5e-324) == 0).all()
    logs = logarithms(np.array([5e-324, 1.0, 3.0, 2.0**200]))
    assert (logs * 2.0**40 == np.rint(logs * 2.0**40)).all()
    assert np.allclose(logs, np.log([5e-324, 1.0, 3.0, 2.0**200]), rtol=0, atol=1e-12)
