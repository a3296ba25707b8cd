"""Every guard against wrapping around in 64 bits, tried at its bound.

What is computed in machine integers up to some bound, and in Python's beyond it, must be the same on both sides. Each
function is given arrays whose numbers grow until they pass its bound, once as 64-bit integers and once as Python's
integers (dtype object), which no guard ever takes for small ones.
"""

from fractions import Fraction

import numpy as np
import pytest

from adyton.kernel.counts import CountedTables, PrivateVector
from adyton.kernel.mechanisms import DawaPartition, PairChoice, TotalVariation
from adyton.kernel.mechanisms.guessed_tables import GuessedTables
from adyton.kernel.mechanisms.nested_quantiles import NestedQuantiles
from adyton.kernel.mechanisms.published.bisections import MedianCell, _cut_deviations, _deviation, _halved, _with_room
from adyton.kernel.mechanisms.published.bucket_boundaries import GRID, LARGEST_SUM, BucketBoundaries
from adyton.kernel.mechanisms.published.dawa_partition import LeastCost, Partitionality
from adyton.kernel.mechanisms.published.dyadic_partition import deviations
from adyton.kernel.mechanisms.published.parent_choice import _score
from adyton.kernel.mechanisms.published.resolution import squared_biases, tail_squares
from adyton.kernel.mechanisms.published.windows import mean_costs, median_costs
from adyton.kernel.mechanisms.published.worst_approximated import WorstApproximated
from adyton.kernel.mechanisms.split_choice import EntropyScore, GiniScore, MaxScore
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace
from adyton.noise.exact import whole_gaps
from adyton.queries import Identity, Partition, Prefix
from adyton.whole import SAFE, absolute_sum, add, largest, narrow, widen
from over_cases import over
from queries.query_cases import CASES

MAGNITUDES = [int(2 ** (bits / 2)) for bits in range(20, 123)]
"""From 2^10 to 2^61 in steps of √2: where products of two counts, or of three, reach a bound, too."""
CELLS = 32
SIDE = 8


class Scores:
    """A noise source that keeps the scores it is asked to choose by, and chooses the first place."""

    private = False

    def __init__(self) -> None:
        self.seen: list[list[int]] = []

    def permute_and_flip(self, scores, sharpness) -> int:
        self.seen.append([int(score) for score in scores])
        return len(scores) // 2


def chosen_by(mechanism):
    """The scores that a selection chooses by."""

    def scores(values):
        noise = Scores()
        mechanism.choose(values, Fraction(1), noise)
        return noise.seen

    return scores


def flat(found):
    """Whatever came out as plain numbers."""
    if isinstance(found, np.ndarray):
        return [int(one) for one in found.reshape(-1)]
    return [flat(one) for one in found] if isinstance(found, list | tuple) else found


def tables_of(values):
    return CountedTables(lambda: [values.reshape(2, -1)], [("a", "b")], [(2, values.size // 2)])


def least_cost(values):
    sizes, exact = np.array([1, 2, 4]), values.dtype == object
    most = SAFE if exact else 16 * absolute_sum(values)  # from SAFE on it goes on in Python
    found = LeastCost(mean_costs(values, sizes, 8), most, 3, sizes, 1)
    found.grow(np.ascontiguousarray(np.broadcast_to(values[:, None] // 4, (1, values.size, 3))))
    return [found.total(), found.labels()]


def bisected(values):
    counts = _with_room(values)
    ends = np.array([0, 3, values.size])
    return [_cut_deviations(counts), _deviation(counts, ends), _halved(counts, ends).deviation]


def boundaries_of(values):
    return [np.array([0, values.size]), np.array([0, 2, 5, values.size]), np.arange(values.size + 1)]


LINE = np.array([1, 2, 4])
GUESS = GuessedTables((0,), np.resize([5, -(2**40), 7, 2**40, 0, 1, 2, 3], CELLS), 20)
PARTITION = Partition(np.resize([0, 1, 0, 1, -1, 1, 1, 0], CELLS))
TENTHS = tuple(Fraction(part, 10) for part in (1, 5, 9))

ANY_SIGN = {
    "total variation": TotalVariation().steps_in,
    "median cell": chosen_by(MedianCell()),
    "nested quantiles": chosen_by(NestedQuantiles(CELLS, CELLS, TENTHS, np.ones(CELLS, dtype=np.int64))),
    "nested quantiles, dealt": chosen_by(NestedQuantiles(16, 15, TENTHS[1:2], np.resize([1, 2, 3], 15))),
    "squared biases": lambda values: [str(one) for one in squared_biases(values, 4)],
    "window means": lambda values: mean_costs(values, LINE, 8),
    "long window means": lambda values: mean_costs(values, np.arange(1, values.size + 1), 1),
    "window medians": lambda values: median_costs(values, LINE, 8),
    "bisections": bisected,
    "dyadic deviations": lambda values: deviations(values, boundaries_of(values)),
    "tail squares": lambda values: tail_squares(values, (0, 2, 5, values.size)),
    "least cost": least_cost,
    "partitionality": Partitionality(Fraction(1)).steps_in,
    "worst approximated": WorstApproximated(Prefix(CELLS), np.arange(CELLS), 1 << 10).scores,
    "distances from guesses": lambda values: GUESS.distances(tables_of(values)),
    "choice of pairs": lambda values: PairChoice(GUESS, 1 << 62, 1).scores(tables_of(values)),
    "sums of groups": lambda values: PrivateVector(lambda: values).reduce(PARTITION).values(),
    "absolute sums": absolute_sum,
    "largest": largest,
    "added": lambda values: add(values, values[::-1].copy()),
    "widened": lambda values: narrow(widen(values, 6) * 6),
    "DAWA's deviations": lambda values: DawaPartition(Fraction(1))._deviations(values, LINE, 8),
}
COUNTS = {
    "choice of parents": lambda values: [_score(values.reshape(shape), 0) for shape in ((SIDE, SIDE), (2, SIDE, -1))],
    "gini": lambda values: GiniScore()(values.reshape(2, SIDE, -1)),
    "entropy": lambda values: EntropyScore(1 << 40)(values.reshape(2, SIDE, -1)),
    "entropy of many classes": lambda values: EntropyScore(2)(values.reshape(1, 2, -1)),
    "max": lambda values: MaxScore()(values.reshape(SIDE, 2, -1)),
}
"""For what counts rows: never negative, and fewer than 2^62 together."""


def lines(magnitude: int, cells: int):
    """Lines of cells about as large as *magnitude*: all of them, one, those on a diagonal, and at random."""
    diagonal = np.zeros(cells, dtype=np.int64)
    diagonal[:: SIDE + 1] = magnitude
    yield np.full(cells, magnitude)
    yield diagonal
    yield np.where(np.arange(cells) == 3, magnitude, 0)
    yield np.random.default_rng(magnitude).integers(0, magnitude, cells, endpoint=True)


def compare(function, values) -> None:
    before = values.copy()
    machine, exact = function(values), function(values.astype(object))
    assert flat(machine) == flat(exact), (int(values.max()).bit_length(), values.tolist())
    assert (values == before).all()


@over(ANY_SIGN)
def test_numbers_of_any_sign_are_exact_at_every_size(name: str) -> None:
    signs = np.resize([1, -1, -1, 1, 1, -1, 1, -1, 1], CELLS)
    for magnitude in MAGNITUDES:
        for values in lines(magnitude, CELLS):
            compare(ANY_SIGN[name], values)
            compare(ANY_SIGN[name], values * signs)


@over(COUNTS)
def test_counts_of_rows_are_exact_at_every_size(name: str) -> None:
    for magnitude in MAGNITUDES:
        for values in lines(magnitude, SIDE * SIDE):
            if magnitude * SIDE * SIDE < SAFE:
                compare(COUNTS[name], values)


@over([name for name, (queries, _) in CASES.items() if queries.whole])  # others are answered after the noise
def test_queries_are_exact_at_the_bound_of_64_bits(name: str) -> None:
    queries, _ = CASES[name]
    for length, reach, apply in (
        (queries.cells, queries.largest_row_sum(), lambda x: queries @ x),
        (queries.count, queries._reach(), queries.transpose),
    ):
        largest_fitting = (SAFE - 1) // max(1, reach)
        for value in (largest_fitting, largest_fitting + 1, min(SAFE - 1, 2 * largest_fitting)):
            ones = np.full(length, value, dtype=np.int64)
            for values in (ones, -ones, ones * (-1) ** np.arange(length)):
                assert flat(apply(values)) == flat(apply(values.astype(object)))


RATES = [1, Fraction(1, 3), Fraction((1 << 56) - 1, 1 << 55), Fraction(1, 1 << 80), Fraction(1000, 7), 1 << 60]
RATES += [Fraction((1 << 90) + 1, 3 << (90 + shift)) for shift in (-40, -12, 0, 3, 19, 40)]


@pytest.mark.parametrize("weights", [(1, 12345, 1 << 25), (1 << 20, 3 << 20, 1 << 24)])
@pytest.mark.parametrize("rate", list(map(Fraction, RATES)))
def test_scales_of_weighted_queries_are_exact_or_a_little_larger(rate: Fraction, weights: tuple[int, ...]) -> None:
    mechanism = VectorLaplace(Identity(3), np.array(weights))
    scales = mechanism.scales(rate)
    above = np.broadcast_to(scales.numerator, (3,)).tolist()
    below = np.broadcast_to(scales.denominator, (3,)).tolist()
    for weight, one, other in zip(mechanism.weights.tolist(), above, below, strict=True):
        exact = Fraction(max(weights), weight) / rate
        assert exact <= Fraction(one, other) <= exact * (1 + Fraction(1, 1 << 11))


def test_weights_are_whole_numbers_of_a_grid() -> None:
    assert VectorLaplace.weighted(Identity(3), [1e-30, 1, 2]).weights.tolist() == [1, 1 << 23, 1 << 24]
    assert VectorLaplace.weighted(Identity(3), [3, 3, 3]).weights is None


def test_the_largest_clip_fits_the_weights_of_buckets() -> None:
    cells = 8
    mechanism = BucketBoundaries(2, LARGEST_SUM // cells, cells)
    assert mechanism.clip == mechanism.largest_clip(cells)
    values = np.array([1, 0, 1, 1, 0, 0, 1, 1]) * mechanism.clip * 4
    weights = mechanism._weights(values, Fraction(1))
    clipped = [min(mechanism.clip, value) for value in values.tolist()]
    for end in range(1, cells + 1):
        exact = []
        for start in range(end):
            part = clipped[start:end]
            exact.append(GRID * sum(one * one for one in part) - GRID * sum(part) ** 2 // len(part))
        assert weights.costs(np.arange(end), end).tolist() == exact


@pytest.mark.parametrize("top", [(1 << 63) - 1, 0, -1])
def test_gaps_of_scores_fit_or_are_left_to_python(top: int) -> None:
    for gap in (0, 1, (1 << 62) - 1, (1 << 63) - 1, 1 << 63):
        low = top - gap
        if low < -(1 << 63):
            continue
        found = whole_gaps(np.array([low, top], dtype=np.int64), Fraction(1))
        assert found is None if gap >= 1 << 63 else found[0].tolist() == [gap, 0]
