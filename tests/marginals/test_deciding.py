"""Which way to go: pure functions of public numbers, whose shares never exceed the budget."""

from fractions import Fraction

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, measured, rows, table

from adyton.marginals import deciding
from adyton.marginals.deciding import (
    WAYS,
    decide,
    evidence,
    label_stages,
    look_shares,
    pair_shares,
    single_shares,
    stages,
)
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import TableSet
from adyton.schema import Integer, Schema
from over_cases import over

EVERY = TableSet.of(Schema({name: Integer(0, side - 1) for name, side in SIDES.items()}), PAIRS)


@over(WAYS, [2, 5, 24])
def test_every_way_spends_the_budget_exactly(way, attributes):
    spent = look_shares(dict.fromkeys(map(str, range(attributes)), 5), 3000.0, 0.7)
    possible = attributes * (attributes - 1) // 2
    decision = WAYS[way].decision(attributes, spent.rest)
    plans = [stages(decision, attributes - 1, possible)]
    if not decision.every_pair:
        plans.append(label_stages(decision, attributes - 1, attributes - 1, possible))
    for plan in plans:
        steps = plan.stages
        pairs = sum(stage.choosing + stage.measuring for stage in steps)
        assert spent.count + spent.first + spent.distance + plan.top_up + pairs == 1
        assert sum(stage.pairs for stage in steps) <= possible
        assert all(isinstance(stage.measuring, Fraction) for stage in steps)
        assert all(stage.pairs < attributes for stage in steps if stage.forest)
    if len(plans) > 1 and 0 < decision.pairs < possible:
        forest, *others = plans[1].stages
        assert (forest.forest, others[0].label, others[0].pairs) == (True, True, -(-(attributes - 1) // 3))


def test_a_look_costs_less_where_rows_are_many():
    few, many = look_shares(SIDES, 500.0, 0.1), look_shares(SIDES, 1e7, 1.0)
    assert (few.first, few.distance, few.rest) == (deciding.FIRST, deciding.DISTANCE, deciding.LEAST_REST)
    assert many == deciding.LookShares(deciding.COUNT, deciding.LEAST_FIRST, deciding.LEAST_DISTANCE)
    assert look_shares(SIDES, -50.0, 1.0) == few  # a noisy count may be below 0


def test_noise_and_signal_decide():
    rest, data = Fraction(9, 10), rows()
    chosen = {epsilon: decide(look(data, epsilon), rest) for epsilon in (5.0, 0.02, 1e-4)}
    assert chosen[5.0].every_pair
    assert 0 < chosen[0.02].pairs < 15
    assert chosen[1e-4].pairs == 0
    assert all(one.top_up + one.rest == rest for one in chosen.values())
    assert not decide(look(data, 5.0), rest, every=False).every_pair
    assert decide(look(data, 5.0), rest, pairs=3).pairs == 3


def test_words_never_show_a_dependence_beyond_what_noise_allows():
    """β may be below 0, or far above the number of rows: then the dependence is that of public tables."""
    data, rest = rows(), Fraction(9, 10)
    for noise in (-1e7, 0.0, 1e7):
        seen = look(data, 0.001, distance=(noise, 2e6))
        assert 0 < seen.dependence < 0.5
        assert "a dependence that noise hides" in decide(seen, rest).why
    clear = look(data, 1.0)
    assert f"a dependence of {clear.dependence:.2g}" in decide(clear, rest).why


def look(data, epsilon, distance=None):
    singles = measured(data, [(name,) for name in SIDES], epsilon=0.05 * epsilon)
    model = estimated(SIDES, singles).model
    exactly = np.mean([np.abs(table(data, pair) - model.predicted(pair)).sum() for pair in PAIRS])
    known = [(one.group, one.variance) for one in singles]
    seen = distance or (float(exactly), 70 / epsilon)
    return evidence(model, known, seen, epsilon, 0.93 * epsilon, EVERY.shares(), PAIRS)


def test_outlook_says_noise_and_dependence():
    data, epsilon = rows(), 0.5
    seen = look(data, epsilon)
    singles = {name: table(data, (name,)) for name in SIDES}
    model = PairModel.of(singles, {})
    exactly = np.mean([np.abs(table(data, pair) - model.predicted(pair)).sum() for pair in PAIRS]) / (2 * len(data))
    assert seen.attributes == 6
    assert 0.8 * exactly < seen.dependence < 1.25 * exactly
    assert seen.signal == pytest.approx(len(data) * epsilon / sum(SIDES[a] * SIDES[b] for a, b in PAIRS), rel=0.01)
    every = seen.noise["all pairs"]
    noisy = [*measured(data, [(name,) for name in SIDES], 0.025), *measured_with(data, EVERY.shares(), 0.93 * epsilon)]
    found = estimated(SIDES, noisy)
    off = np.mean([np.abs(found.squares.table(*pair) - table(data, pair)).sum() / (2 * len(data)) for pair in PAIRS])
    assert 0.5 * off < every.pair < 1.1 * off  # cells that are expected to be empty count less
    right = np.mean([np.abs(found.model.pairs[pair] - table(data, pair)).sum() / (2 * len(data)) for pair in PAIRS])
    assert 0.5 * right < seen.expected("all pairs") < 2 * right
    assert seen.expected("all pairs") < seen.expected("no pairs")


def measured_with(data, shares, epsilon):
    random = np.random.default_rng(5)
    return [
        type(one)(
            one.group, table(data, one.group) + random.laplace(scale=scale, size=np.shape(one.counts)), 2 * scale**2
        )
        for one in measured(data, list(shares), epsilon)
        for scale in [1 / (epsilon * float(shares[one.group]))]
    ]


def test_shares_sum_to_at_most_one():
    assert sum(single_shares(SIDES).values()) <= 1
    tables = [np.full((4, 4), 100.0), np.zeros((9, 9)), np.full((9, 9), 100.0)]
    shares = pair_shares(tables, 10.0)
    assert sum(shares) <= 1
    assert shares[1] < shares[0] < shares[2]


def test_a_part_of_the_cells_is_expected_to_have_rows():
    counts = {"a": np.array([1e6, 1.0, 1.0, 1.0]), "b": np.array([1e6, 1.0])}
    model = PairModel.of(counts, {})
    found = deciding.occupied(model, {("a", "b"): Fraction(1)}, [("a", "b")], 1.0)
    assert found["a", "b"] == pytest.approx((1 + 4 + 2) / (8 + 2), abs=0.01)
