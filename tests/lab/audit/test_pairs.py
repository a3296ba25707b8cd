"""Neighbouring pairs: what they must satisfy, for every shape."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton_lab.audit.pairs import signed_pairs, vector_pairs
from over_cases import over


@over([1, 2, 5, 8, (3, 4), (2, 2, 2)], [1, 2, 7])
def test_pairs_are_neighbours(shape, distance):
    pairs = vector_pairs(shape, 40, seed=3, distance=distance)
    assert len(pairs) == 40
    for pair in pairs:
        assert pair.left.shape == pair.right.shape == np.empty(shape).shape
        assert pair.left.dtype == pair.right.dtype == np.int64
        assert pair.left.min() >= 0
        assert pair.right.min() >= 0
        assert pair.distance == np.abs(pair.left - pair.right).sum() == distance
        assert distance > 1 or np.count_nonzero(pair.left != pair.right) == 1
    assert len({(pair.left.tobytes(), pair.right.tobytes()) for pair in pairs}) == 40


@pytest.mark.parametrize("shape", [1, 5, (3, 4)])
def test_signed_pairs_are_neighbours_and_negative(shape):
    pairs = signed_pairs(shape, 10)
    assert all(pair.distance == 1 and pair.left.shape == np.empty(shape).shape for pair in pairs)
    assert sum(pair.left.min() < 0 for pair in pairs) >= 5


def test_the_known_bad_cases_are_there():
    pairs = vector_pairs(8)
    sides = {(tuple(pair.left), tuple(pair.right)) for pair in pairs}
    nothing = (0,) * 8
    for cell in (0, 4, 7):
        assert (nothing, tuple(int(i == cell) for i in range(8))) in sides
    names = " ".join(pair.name for pair in pairs)
    for word in ("empty", "spike", "alternating", "all equal", "large counts", "more", "fewer", "random"):
        assert word in names


def test_the_same_seed_gives_the_same_pairs():
    first, again, other = (vector_pairs(8, 60, seed=seed) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a.left, b.left) and np.array_equal(a.right, b.right) for a, b in zip(first, again, strict=True)
    )
    assert any(not np.array_equal(a.left, b.left) for a, b in zip(first, other, strict=True))


def test_far_pairs_mix_additions_with_removals():
    changes = [pair.right - pair.left for pair in vector_pairs(8, 80, distance=5)]
    assert any(change.min() < 0 < change.max() for change in changes)
    assert any(np.count_nonzero(change) == 1 for change in changes)


@pytest.mark.parametrize(("shape", "count", "distance"), [(0, 30, 1), (4, 0, 1), (4, 30, 0)])
def test_bad_requests_are_refused(shape, count, distance):
    with pytest.raises(BadInput):
        vector_pairs(shape, count, distance=distance)
