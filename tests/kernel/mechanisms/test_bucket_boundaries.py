"""The boundaries of StructureFirst: exact least costs, the sensitivity, the law, the loss, and mutants."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import chisquare
from selection_laws import ONE_EPSILON

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, BucketBoundaries
from adyton.kernel.mechanisms.published.bucket_boundaries import GRID, LARGEST_EXPONENT, LARGEST_SUM
from adyton.kernel.shapes import VectorShape
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.noise.bits import COIN_BITS, enclose
from adyton.session.wire import decode, encode
from adyton_lab.audit.enumeration import enumerate_distribution, selection_loss
from adyton_lab.audit.pairs import Pair, vector_pairs
from over_cases import over


def squared_error(counts):
    """Σ (x − mean)² in fractions."""
    mean = F(sum(counts), len(counts))
    return sum((count - mean) ** 2 for count in counts)


def every_partition(cells, buckets, longest, step=1):
    """The boundaries of every partition, as tuples from 0 to the number of cells."""
    inner = range(step, cells, step)
    for chosen in itertools.combinations(inner, buckets - 1):
        bounds = (0, *chosen, cells)
        if all(-(-(end - start) // step) <= longest for start, end in itertools.pairwise(bounds)):
            yield bounds


def costs_of(counts, mechanism):
    """What every partition costs, in fractions, rounded up bucket by bucket."""
    clipped = [max(0, min(mechanism.clip, int(count))) for count in counts]
    return {
        bounds: sum(math.ceil(GRID * squared_error(clipped[start:end])) for start, end in itertools.pairwise(bounds))
        for bounds in every_partition(len(counts), mechanism.buckets, mechanism.longest, mechanism.step)
    }


def law_of(counts, mechanism, epsilon):
    """P(B) ∝ exp(−ε·cost/(2·GRID·clip)), with the least cost taken out of the exponents."""
    costs = costs_of(counts, mechanism)
    least = min(costs.values())
    rate = epsilon / (2 * GRID * mechanism.clip)
    weights = {bounds: math.exp(-float(rate * (cost - least))) for bounds, cost in costs.items()}
    return {bounds: weight / sum(weights.values()) for bounds, weight in weights.items()}


def bounds_of(labels):
    return (0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels))


def step_pairs(cells, high):
    """Empty cells, full cells, and one more row in a cell between them."""
    for place, start, mirror in itertools.product(range(1, cells - 1), sorted({0, high - 1}), (1, -1)):
        left = np.array([0] * place + [start] + [high] * (cells - place - 1))
        right = left.copy()
        right[place] += 1
        yield Pair(f"step at {place} from {start}", left[::mirror].copy(), right[::mirror].copy())


def test_one_row_raises_every_score_by_at_most_twice_the_clip():
    """All vectors of up to four cells with counts 0 … F: S²/m rises by more than 0 and less than 2F."""
    for cells, clip in itertools.product((1, 2, 3, 4), (1, 2, 4)):
        rises = [
            F((sum(rest) + value + 1) ** 2 - (sum(rest) + value) ** 2, cells)
            for *rest, value in itertools.product(range(clip + 1), repeat=cells)
            if value < clip
        ]
        assert min(rises) > 0
        assert max(rises) == 2 * clip - F(1, cells)


@pytest.mark.parametrize("case", BucketBoundaries.audit_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("epsilon", ONE_EPSILON, ids=str)
def test_exact_loss_is_at_most_epsilon(case, epsilon):
    pairs = [*vector_pairs(case.domain, count=12), *step_pairs(*case.domain, case.mechanism.clip)]
    loss, _ = selection_loss(case, epsilon, pairs)
    assert loss <= float(epsilon) + 1e-9


# ---- mutants --------------------------------------------------------------------------------------------------------


class Mutant(BucketBoundaries):
    """Claim.  None.  Proof.  None.  ∎"""


class HalfTheNoise(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def _sensitivity(self):
        return self.clip


class WithoutClip(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def _clipped(self, values):
        return values


class ClipFromTheData(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def choose(self, values, epsilon, noise):
        clip = max(1, int(values.max()))
        return replace(Mutant(self.buckets, clip, self.longest)).choose(values, epsilon, noise)


class ClipFromTheRows(Mutant):
    """Claim.  None.  Proof.  None.  ∎"""

    def choose(self, values, epsilon, noise):
        clip = max(1, int(values.sum()) // values.size)
        return replace(Mutant(self.buckets, clip, self.longest)).choose(values, epsilon, noise)


def grown(last):
    """Eight empty cells and eight full ones, of which the last gets one more row."""
    left = np.repeat([0, 50], 8)
    left[-1] = last
    right = left.copy()
    right[-1] += 1
    return Pair(f"one more on {last}", left, right)


@pytest.mark.parametrize(
    ("mutant", "cells", "pairs"),
    [
        (HalfTheNoise(2, 50, 7), 7, list(step_pairs(7, 50))),
        (WithoutClip(2, 5, 7), 7, list(step_pairs(7, 50))),
        (ClipFromTheData(2, 50, 16), 16, [grown(50)]),
        (ClipFromTheRows(2, 50, 16), 16, [grown(65)]),  # 415 rows: one more makes the mean count 26
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Mutant) else "",
)
def test_mutants_lose_more(mutant, cells, pairs):
    for mechanism, lost in ((BucketBoundaries(2, mutant.clip, cells), False), (mutant, True)):
        loss, _ = selection_loss(AuditCase("case", mechanism, (cells,), PrivateVector.of), F(1), pairs)
        assert (loss > 1 + 1e-9) == lost


# ---- the law --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        BucketBoundaries(3, 6, 5),
        BucketBoundaries(3, 6, 3),
        BucketBoundaries(2, 1, 6),
        BucketBoundaries(6, 4, 2),
        BucketBoundaries(3, 6, 2, 2),
        BucketBoundaries(2, 2**16, 5),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [F(1, 10), F(2), F(40)], ids=str)
def test_the_law_is_the_claim(mechanism, epsilon):
    """Enumerated through the sampler's own code, against all partitions in fractions."""
    counts = np.array([0, 9, 4, 4, -3, 7])
    expected = law_of(counts, mechanism, epsilon)
    found = enumerate_distribution(lambda source: bounds_of(mechanism.choose(counts, epsilon, source)))
    assert found.keys() == expected.keys()
    for bounds, chance in expected.items():
        assert found[bounds] == pytest.approx(chance, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
def test_draws_follow_the_law(noise):
    """1000 draws; chi-squared at a false-alarm rate of 10⁻⁶."""
    mechanism, counts = BucketBoundaries(3, 9, 4), np.array([3, 3, 9, 9, 0, 1, 0])
    expected = law_of(counts, mechanism, F(1, 2))
    draws = [bounds_of(mechanism.choose(counts, F(1, 2), noise)) for _ in range(1000)]
    chances = np.array(list(expected.values())) * len(draws)
    assert chances.min() > 5
    assert chisquare([draws.count(bounds) for bounds in expected], chances).pvalue > 1e-6


@over([F(1, 100), F(1), F(10**9)], [1, 40, 2**22])
def test_double_precision_encloses_the_truth(epsilon, top):
    """Every pair of bounds holds the probability that many digits give, and is narrow."""
    random = np.random.default_rng(top)
    counts = random.integers(0, top + 1, 30) * (random.random(30) < 0.6)
    weights = BucketBoundaries(9, top, 8)._weights(counts, epsilon)
    bits = 150
    for before, end in ((8, 30), (7, 25), (4, 17), (2, 9), (1, 8)):
        bucket = weights.last_bucket(before, end)
        for middle in range(1, bucket.starts.size):
            lower, upper = (int(bound[0]) for bound in bucket.bounds(0, middle, bucket.starts.size))
            low, high = enclose(*bucket.refine(0, middle, bucket.starts.size, 0, 60), bits)
            assert lower << (bits - COIN_BITS) <= low + 1
            assert high - 1 <= upper << (bits - COIN_BITS)
            assert (upper - lower) / 2**COIN_BITS < 1e-4


def test_the_sharpness_is_that_of_the_claim_or_less():
    zeros = np.zeros(64, dtype=np.int64)
    assert BucketBoundaries(4, 50, 64)._weights(zeros, F(3)).rate == F(3, 2 * GRID * 50)
    capped = BucketBoundaries(4, 2**20, 64)._weights(zeros, F(1000))
    assert capped.rate * capped.most == LARGEST_EXPONENT
    assert capped.rate < F(1000, 2 * GRID * 2**20)
    assert capped.error < 1e-6


def test_a_wide_line_has_weights_beyond_the_range_of_doubles():
    """Sums over more than e^1000 partitions, and weights below e^-10000."""
    counts = np.where(np.arange(2048) % 2, 400, 0)
    weights = BucketBoundaries(512, 400, 16)._weights(counts, F(1))
    spread = weights._exponents[weights._mantissas > 0]
    assert np.isfinite(weights._mantissas).all()
    assert weights.error < 1e-6
    assert spread.min() < -10_000
    flat = BucketBoundaries(512, 400, 16)._weights(np.zeros(2048, dtype=np.int64), F(1))
    assert flat._exponents.max() > 1100


@over(
    [SimulatedNoise(0), ExactNoise()],
    [[0] * 9, [2**53, 2**53 + 1, 0, 1] * 3, [2**62, 5, 10**30, 0, 1], list(range(30)), [-5, 4, -(2**63), 3]],
)
def test_any_counts_give_the_asked_buckets(noise, counts):
    cells = len(counts)
    for buckets, clip in itertools.product((1, 2, cells // 2, cells), (1, 10, LARGEST_SUM // cells)):
        longest = min(cells, 2 * -(-cells // buckets))
        selection = BucketBoundaries(buckets, clip, longest)
        labels = selection.choose(np.array(counts, dtype=object), F(1, 3), noise)
        sizes = np.bincount(labels)
        assert sizes.size == buckets
        assert (np.diff(labels) >= 0).all()
        assert 1 <= sizes.min() <= sizes.max() <= longest


def test_clear_steps_are_found():
    counts = np.repeat([0, 100, 0, 40], [13, 8, 11, 8])
    labels = BucketBoundaries(4, 100, 40).choose(counts, F(50), SimulatedNoise(0))
    assert (np.flatnonzero(np.diff(labels)) + 1).tolist() == [13, 21, 32]


# ---- fields ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ((0, 1, 4), "buckets"),
        ((5, 1, 4), "buckets"),
        ((True, 1, 4), "buckets"),
        ((2, 0, 4), "clip"),
        ((2, 2.5, 4), "clip"),
        ((2, LARGEST_SUM, 4), "clip"),
        ((2, 1, 1), "longest"),
        ((2, 1, 5), "longest"),
        ((2, 1, None), "longest"),
        ((2, 1, 2, 0), "step"),
        ((3, 1, 2, 2), "buckets"),
    ],
)
def test_bad_fields_are_refused_and_nothing_is_spent(fields, name):
    with pytest.raises(BadInput, match=name):
        BucketBoundaries(*fields).check(VectorShape((4,)))
    kernel = Kernel.simulated([1, 2, 3, 4], epsilon=1, seed=0)
    with pytest.raises(BadInput):
        kernel.root.select(BucketBoundaries(*fields), 1)
    assert kernel.spent == 0


def test_a_table_that_is_too_large_is_refused():
    line = VectorShape((2**20,))
    with pytest.raises(BadInput, match="buckets must be at most 8"):
        BucketBoundaries(2000, 1, 2**20).check(line)
    with pytest.raises(BadInput, match="longest must be at most 127 "):
        BucketBoundaries(2048, 1, 128, 2**8).check(line)
    with pytest.raises(BadInput, match="larger step"):
        BucketBoundaries(2, 1, 2**24).check(VectorShape((2**24,)))
    BucketBoundaries(256, 1, 64, 2**8).check(line)


def test_the_wire_brings_back_the_same():
    mechanism = BucketBoundaries(3, 20, 9, 2)
    assert decode(encode(mechanism)) == mechanism
