"""The choice of badly guessed pairs and the mean distance: sensitivity, exact loss, forests, long numbers."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.counts import CountedTables
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, PairChoice
from adyton.kernel.mechanisms.guessed_tables import GuessedTables
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.schema import Integer, Schema
from adyton_lab.audit.enumeration import audit_selection_exactly

SCHEMA = Schema({name: Integer(0, 2) for name in "abcd"})
PAIRS = tuple(itertools.combinations("abcd", 2))
prepare = counting(SCHEMA, PAIRS)


def guesses(seed, scale=3.0):
    generator = np.random.default_rng(seed)
    return {place: generator.gamma(0.5, scale, (3, 3)) for place in range(6)}


def neighbours(seed):
    """Small tables, and the same with one row more."""
    generator = np.random.default_rng(seed)
    left = generator.poisson(0.2, SCHEMA.shape)
    right = left.copy()
    right[tuple(generator.integers(0, 3, 4))] += 1
    return left, right


def test_one_row_moves_each_score_by_at_most_one_row_and_both_ways():
    changes = []
    for seed in range(60):
        choice = PairChoice.of(guesses(seed), F(3, 4), 2)
        before, after = (choice.scores(prepare(side)) for side in neighbours(seed))
        changes.append((after - before) / choice.guess.unit)
    assert np.abs(changes).max() == 1
    assert np.ptp(changes, axis=1).max() == 2  # one score a row up, another a row down: they are not monotone


def test_scores_are_those_of_the_formula():
    tables, data = guesses(3), prepare(neighbours(3)[0])
    choice = PairChoice.of(tables, "1.3", 1)
    expected = [abs(data.table(place) - m).sum() - np.minimum(1.3, m).sum() for place, m in tables.items()]
    assert np.allclose(choice.scores(data) / choice.guess.unit, expected, atol=1e-4)
    value = MeanDistance.of(tables).draw(data, F(10**6), ExactNoise(), 1)[0, 0] / (6 * choice.guess.unit)
    assert value == pytest.approx(np.mean([abs(data.table(place) - m).sum() for place, m in tables.items()]), abs=1e-3)


@pytest.mark.parametrize("case", PairChoice.audit_cases(), ids=lambda case: case.name)
def test_the_loss_is_at_most_epsilon_and_reaches_it(case):
    found = audit_selection_exactly(case, pairs=8)
    assert found.passed, found
    assert found.figures["largest/ε"] > 0.99


def test_a_forest_never_closes_a_circle_and_never_runs_out():
    data = prepare(np.zeros(SCHEMA.shape, dtype=int))
    seen = set()
    choice = PairChoice.of({place: np.ones((3, 3)) for place in range(6)}, 1, 3, forest=True)
    for chosen in choice.draw(data, F(1), SimulatedNoise(1), 600).tolist():
        parts = {name: {name} for name in "abcd"}
        for first, second in (PAIRS[place] for place in chosen):
            assert parts[first] is not parts[second]
            both = parts[first] | parts[second]
            parts.update(dict.fromkeys(both, both))
        seen.add(frozenset(chosen))
    assert len(seen) == 16  # all trees on four attributes
    free = PairChoice.of({place: np.ones((3, 3)) for place in range(6)}, 1, 6)
    assert sorted(free.draw(data, F(1), SimulatedNoise(2), 1)[0].tolist()) == list(range(6))


def test_the_worst_guess_is_found():
    codes = np.random.default_rng(1).integers(0, 3, (900, 4))
    codes[:, 3] = codes[:, 1]
    kernel = Kernel.simulated_table(codes, SCHEMA, epsilon=3, seed=1)
    even = {place: np.full((3, 3), 100.0) for place in range(6)}
    tables = kernel.root.tables(PAIRS)
    assert tables.choose_pairs(PairChoice.of(even, 2, 1), 1) == (PAIRS.index(("b", "d")),)
    distance = tables.mean_distance(MeanDistance.of(even), 1)
    true = np.mean([abs(held(codes).table(place) - 100).sum() for place in range(6)])
    assert abs(distance.value - true) < 20
    assert distance.deviation == pytest.approx(math.sqrt(2), rel=1e-3)
    assert kernel.spent == 2


def held(codes):
    counts = np.zeros(SCHEMA.shape, dtype=np.int64)
    np.add.at(counts, tuple(codes.T), 1)
    return prepare(counts)


def test_the_mean_moves_by_at_most_one():
    mean = MeanDistance.of(guesses(8))
    moves = []
    for seed in range(40):
        totals = [sum(mean.guess.distances(prepare(side)).tolist()) for side in neighbours(seed)]
        moves.append(F(abs(totals[1] - totals[0]), mean.steps))
    assert F(1, 2) < max(moves) <= 1
    assert mean.scale(F(1, 3)) == 3 * mean.steps


@pytest.mark.parametrize("count", [2**31, 2**45, 2**62])
def test_long_numbers_are_exact(count):
    data = CountedTables(lambda: [np.full(2, count)], [("a",)], [(2,)])
    guess = GuessedTables((0,), np.array([3, -(2**62)]), 20)
    assert guess.distances(data).tolist() == [abs(count * 2**20 - 3) + count * 2**20 + 2**62]
    choice = PairChoice(guess, 2**62, 1)
    assert int(choice.scores(data)[0]) == 2 * count * 2**20 - 3 + 2**62 - (3 - 2**62)
    assert choice.draw(data, F(1, 3), ExactNoise(), 1).tolist() == [[0]]


@pytest.mark.parametrize("table", [[np.nan, 1], [np.inf, 1], [2.0**62, 0], [-(2.0**63), 0]])
def test_guesses_that_are_none(table):
    with pytest.raises(BadInput, match="finite numbers"):
        PairChoice.of({0: table}, 1, 1)


def test_guesses_keep_their_precision():
    assert GuessedTables.of({0: [1e9, 0.5]}).bits == 16
    assert GuessedTables.of({0: [2.0**60, 1]}).numbers.tolist() == [2**60, 1]


def test_a_price_is_kept_within_its_bounds():
    assert [PairChoice.of({0: [[1.5]]}, scale, 1).price for scale in (10**30, 0, -1)] == [1 << 62, 0, 0]
