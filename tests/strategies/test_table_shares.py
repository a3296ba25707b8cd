"""Shares of a budget for tables: exact fractions, the best there are, and the errors that they promise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries.measurement import MeasuredTable
from adyton.solving.residuals import part_variances, residuals
from adyton.strategies import table_shares as module
from adyton.strategies.table_shares import mean_absolute, on_grid, table_shares

SIDES = {"a": 2, "b": 5, "c": 9, "d": 20, "e": 3}
PAIRS = list(itertools.combinations(SIDES, 2))


def cells(group):
    return math.prod(SIDES[name] for name in group)


def promised(shares, asked=PAIRS):
    """Σ n·√Var for ε = 1, with the variance of Laplace noise."""
    squares = part_variances(SIDES, [(group, 2 / float(share) ** 2) for group, share in shares.items()])
    return sum(cells(group) * math.sqrt(squares.variance(*group)) for group in asked)


def test_shares_are_exact_and_no_neighbour_is_better():
    shares = table_shares(SIDES, PAIRS)
    assert all(isinstance(share, Fraction) and module.STEPS % share.denominator == 0 for share in shares.values())
    assert 1 - Fraction(len(shares), module.STEPS) <= sum(shares.values()) <= 1
    best = promised(shares)
    assert best < 0.99 * promised({pair: Fraction(1, len(PAIRS)) for pair in PAIRS})
    random = np.random.default_rng(0)
    for _ in range(20):
        moved = {pair: float(share) * math.exp(random.normal(scale=0.1)) for pair, share in shares.items()}
        total = sum(moved.values())
        assert promised({pair: share / total for pair, share in moved.items()}) > best


def test_smaller_tables_are_not_worth_measuring():
    smaller = [(), *((name,) for name in SIDES)]
    shares = table_shares(SIDES, [*smaller, *PAIRS], PAIRS)
    assert sum(share for group, share in shares.items() if len(group) < 2) < Fraction(1, 100)
    assert promised(shares) <= promised(table_shares(SIDES, PAIRS)) * 1.001


def test_what_matters_more_gets_more():
    weights = [10.0 if pair == ("a", "b") else 1.0 for pair in PAIRS]
    assert table_shares(SIDES, PAIRS, weights=weights)["a", "b"] > 2 * table_shares(SIDES, PAIRS)["a", "b"]
    alone = table_shares(SIDES, PAIRS, [("a",)])
    assert max(alone, key=alone.get)[0] == "a"


def test_promised_errors_are_those_of_simulated_noise():
    """Within 10%; the noise is seeded."""
    shares, epsilon, random = table_shares(SIDES, PAIRS), 0.7, np.random.default_rng(8)
    measured = []
    for pair, share in shares.items():
        scale = 1 / (epsilon * float(share))
        shape = (4000, *(SIDES[name] for name in pair))
        measured.append(MeasuredTable(pair, random.laplace(scale=scale, size=shape), 2 * scale**2))
    fit, own = residuals(SIDES, measured), {one.group: one.variance for one in measured}
    for pair in PAIRS:
        errors = fit.table(*pair)
        assert np.mean(errors**2) == pytest.approx(fit.variance(*pair), rel=0.1)
        assert np.abs(errors).mean() == pytest.approx(mean_absolute(fit.variance(*pair), own[pair]), rel=0.1)
    single = fit.table("d")
    assert np.abs(single).mean() == pytest.approx(mean_absolute(fit.variance("d")), rel=0.1)


def test_grid_never_sums_above_one():
    random = np.random.default_rng(1)
    for size in (1, 3, 1000):
        shares = on_grid(random.exponential(size=size) ** 4)
        assert 1 - Fraction(size + 1, module.STEPS) <= sum(shares) <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((SIDES, [("a", "b")], [("a", "c")]), "no table that may be measured has"),
        ((SIDES, PAIRS, None, [1.0]), "needs a weight"),
        ((SIDES, PAIRS, None, [0.0] * len(PAIRS)), "needs a weight"),
    ],
)
def test_what_cannot_be_answered_is_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        table_shares(*arguments)
