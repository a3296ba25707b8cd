"""Which way to go: pure functions of public numbers, whose shares never exceed the budget."""

from fractions import Fraction

import numpy as np
import pytest
from rough_tables import PAIRS, SIDES, measured, rows, table

from adyton.marginals import deciding
from adyton.marginals.deciding import (
    WAYS,
    Evidence,
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
    labelled = label_stages(decision, attributes, attributes - 1, possible)
    for plan in (stages(decision, attributes - 1, possible), labelled):
        steps = plan.stages
        pairs = decision.rest if decision.every_pair else sum(stage.choosing + stage.measuring for stage in steps)
        if not decision.every_pair:
            assert spent.count + spent.first + spent.distance + plan.top_up + pairs == 1
            assert sum(stage.pairs for stage in steps) <= possible
        assert all(isinstance(stage.measuring, Fraction) for stage in steps)
        assert all(stage.pairs < attributes for stage in steps if stage.forest)
    if decision.pairs and not decision.every_pair:
        assert (labelled.stages[0].label, labelled.stages[0].pairs, labelled.stages[0].choosing) == (
            True,
            attributes - 1,
            0,
        )


def test_a_look_costs_less_where_rows_are_many():
    few, many = look_shares(SIDES, 500.0, 0.1), look_shares(SIDES, 1e7, 1.0)
    assert (few.first, few.distance, few.rest) == (deciding.FIRST, deciding.DISTANCE, deciding.LEAST_REST)
    assert many == deciding.LookShares(deciding.COUNT, deciding.LEAST_FIRST, deciding.LEAST_DISTANCE)
    assert look_shares(SIDES, -50.0, 1.0) == few  # a noisy count may be below 0


def test_noise_and_signal_decide():
    rest = Fraction(9, 10)
    chosen = [decide(Evidence(10, *seen), rest) for seen in [(200.0, 0.01, 0.2), (3.0, 0.1, 0.15), (0.01, 0.5, 0.6)]]
    assert chosen[0].every_pair
    assert 0 < chosen[1].pairs < 45
    assert chosen[2].pairs <= 5
    assert all(one.top_up + one.rest == rest for one in chosen)
    assert "dependence" in chosen[0].why
    assert decide(Evidence(10, 3.0, 0.1, -0.4), rest).rest <= rest  # β is noisy: it may be below 0


def test_outlook_says_noise_and_dependence():
    data, epsilon = rows(), 0.5
    singles = measured(data, [(name,) for name in SIDES], epsilon=0.025)
    model = estimated(SIDES, singles).model
    exactly = np.mean([np.abs(table(data, pair) - model.predicted(pair)).sum() for pair in PAIRS])
    shares, known = EVERY.shares(), [(one.group, one.variance) for one in singles]
    seen = evidence(model, known, float(exactly), epsilon, 0.93 * epsilon, shares, PAIRS)
    assert seen.attributes == 6
    assert 0.7 * exactly / (2 * model.total) < seen.dependence < exactly / (2 * model.total)
    assert seen.signal == pytest.approx(model.total * epsilon / sum(SIDES[a] * SIDES[b] for a, b in PAIRS))
    noisy = measured_with(data, shares, 0.93 * epsilon)
    squares = estimated(SIDES, [*singles, *noisy]).squares
    off = np.mean([np.abs(squares.table(*pair) - table(data, pair)).sum() / (2 * len(data)) for pair in PAIRS])
    assert 0.5 * off < seen.noise < 1.1 * off  # cells that are expected to be empty count less


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
