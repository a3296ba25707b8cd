"""The boundaries of StructureFirst: exact least costs, the sensitivity, the law, the loss, and mutants."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from selection_laws import permute_and_flip_law

from adyton.audit.enumeration import enumerate_distribution
from adyton.audit.pairs import Pair, vector_pairs
from adyton.audit.selections import selection_loss
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import AuditCase, BucketBoundaries
from adyton.kernel.mechanisms.bucket_boundaries import LARGEST_SUM, BucketCosts
from adyton.kernel.shapes import VectorShape
from adyton.kernel.vectors import PrivateVector
from adyton.kernel.wire import decode, encode
from adyton.noise import ExactNoise, SimulatedNoise


def squared_error(counts):
    """Σ (x − mean)² in fractions."""
    mean = F(sum(counts), len(counts))
    return sum((count - mean) ** 2 for count in counts)


def least_costs(counts, buckets, longest, grid):
    """The plain dynamic program: {(j, q): least cost of the first q cells in j buckets}."""
    least = {(0, 0): 0}
    for bucket, end in itertools.product(range(1, buckets), range(1, len(counts) + 1)):
        ways = [
            least[bucket - 1, start] + math.ceil(grid * squared_error(counts[start:end]))
            for start in range(max(0, end - longest), end)
            if (bucket - 1, start) in least
        ]
        if ways:
            least[bucket, end] = min(ways)
    return least


def step_pairs(cells, high):
    """Empty cells, full cells, and one more row in a cell between them."""
    for place, start, mirror in itertools.product(range(1, cells - 1), sorted({0, high - 1}), (1, -1)):
        left = np.array([0] * place + [start] + [high] * (cells - place - 1))
        right = left.copy()
        right[place] += 1
        yield Pair(f"step at {place} from {start}", left[::mirror].copy(), right[::mirror].copy())


def test_least_costs_are_those_of_fractions():
    random = np.random.default_rng(0)
    kinds = set()
    for _ in range(40):
        cells = int(random.integers(2, 24))
        buckets = int(random.integers(2, cells + 1))
        longest = int(random.integers(-(-cells // buckets), cells + 1))
        clip = int(random.choice([1, 3, 50, 30_000, LARGEST_SUM // cells]))
        counts = random.integers(0, clip + 1, cells) * (random.random(cells) < 0.7)
        selection = BucketBoundaries(buckets, clip, longest)
        selection.check(VectorShape((cells,)))
        costs = BucketCosts(counts, selection._grid(cells))
        table = costs.least(buckets, longest, clip)
        kinds.add((table.dtype, costs.grid))
        expected = least_costs(counts.tolist(), buckets, longest, costs.grid)
        for bucket, end in itertools.product(range(1, buckets), range(1, cells)):
            left = buckets - bucket
            if left <= cells - end <= left * longest and (bucket, end) in expected:
                assert table[end, bucket] == expected[bucket, end]
    assert {(np.dtype(np.int32), 16), (np.dtype(np.int64), 1)} <= kinds


def test_the_largest_counts_do_not_wrap():
    cells = 64
    clip = LARGEST_SUM // cells
    counts = np.arange(cells) % 2 * clip
    table = BucketCosts(counts, 1).least(2, cells, clip)
    for end in (1, 2, 33, 63):
        assert table[end, 1] == math.ceil(squared_error(counts[:end].tolist()))


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
@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3)], ids=str)
def test_exact_loss_is_at_most_epsilon(case, epsilon):
    pairs = [*vector_pairs(case.domain, count=24), *step_pairs(*case.domain, case.mechanism.clip)]
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


@pytest.mark.parametrize("longest", [3, 5])
def test_the_law_of_three_buckets(longest):
    counts, clip, epsilon = [0, 9, 4, 4, 0], 6, F(2)
    clipped = [min(clip, count) for count in counts]
    mechanism = BucketBoundaries(3, clip, longest)
    grid = mechanism._grid(5)
    sharpness = float(epsilon / 2 / (2 * clip * grid))
    least = least_costs(clipped, 3, longest, grid)

    def ways(before, end):
        starts = [start for start in range(max(before, end - longest), end) if (before, start) in least]
        scores = [-least[before, start] - math.ceil(grid * squared_error(clipped[start:end])) for start in starts]
        return zip(starts, permute_and_flip_law(scores, sharpness), strict=True)

    expected = {(first, second): chance * pick for second, chance in ways(2, 5) for first, pick in ways(1, second)}

    def run(source):
        return tuple(np.flatnonzero(np.diff(mechanism.choose(np.array(counts), epsilon, source))) + 1)

    found = enumerate_distribution(run)
    assert found.keys() == expected.keys()
    for starts, chance in expected.items():
        assert found[starts] == pytest.approx(chance, rel=1e-9)


@pytest.mark.parametrize("noise", [SimulatedNoise(0), ExactNoise()], ids=["simulated", "exact"])
@pytest.mark.parametrize(
    "counts",
    [[0] * 9, [2**53, 2**53 + 1, 0, 1] * 3, [2**62, 5, 10**30, 0, 1], list(range(30)), [-5, 4, -(2**63), 3]],
    ids=lambda counts: f"{len(counts)} up to {max(counts)}",
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
    with pytest.raises(BadInput, match="buckets must be at most 128"):
        BucketBoundaries(2000, 1, 2**20).check(VectorShape((2**20,)))


def test_the_wire_brings_back_the_same():
    mechanism = BucketBoundaries(3, 20, 9)
    assert decode(encode(mechanism)) == mechanism
