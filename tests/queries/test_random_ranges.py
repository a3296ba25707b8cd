"""Random ranges: seeded, inside the domain, and of the lengths that their kind promises."""

import numpy as np
import pytest

from adyton.queries import RandomRanges
from adyton.queries.ranges import KINDS
from over_cases import over

DOMAINS = [1, 2, 5, 16, 37, 4096, (64, 64), (1, 100), (33, 20), (7, 8, 9)]


def lengths(queries):
    return queries.upper - queries.lower + 1


@over(DOMAINS, KINDS)
def test_seeded_and_inside(domain, kind):
    first, again, other = (RandomRanges(domain, 300, seed=seed, kind=kind) for seed in (5, 5, 6))
    assert np.array_equal(first.lower, again.lower)
    assert np.array_equal(first.upper, again.upper)
    assert first.count == 300
    assert (first.lower >= 0).all()
    assert (first.lower <= first.upper).all()
    assert (first.upper < np.array(first.domain)).all()
    if first.cells > 100:
        assert not np.array_equal(first.lower, other.lower)
        unseeded = RandomRanges(domain, 300, kind=kind), RandomRanges(domain, 300, kind=kind)
        assert not np.array_equal(unseeded[0].lower, unseeded[1].lower)


BOUNDS = {"short": (0, 1 / 16), "medium": (1 / 16, 1 / 4), "long": (1 / 4, 1 + 1e-9)}


@over([100, 200, 37, (64, 64), (33, 50)], BOUNDS)
def test_lengths_are_of_their_kind(domain, kind):
    queries = RandomRanges(domain, 3000, seed=1, kind=kind)
    sides = np.array(queries.domain)
    low, high = BOUNDS[kind]
    assert (lengths(queries) >= low * sides).all()
    assert (lengths(queries) < high * sides).all()
    for axis, side in enumerate(queries.domain):
        allowed = {length for length in range(1, side + 1) if low * side <= length < high * side}
        assert set(lengths(queries)[:, axis].tolist()) == allowed


@over([1, 2, 3, 4, 15, 16], BOUNDS)
def test_small_sides_have_ranges_of_every_kind(side, kind):
    found = lengths(RandomRanges(side, 200, seed=1, kind=kind))
    low, high = BOUNDS[kind]
    allowed = {length for length in range(1, side + 1) if low * side <= length < high * side}
    assert set(found.ravel().tolist()) <= (allowed or {1})


def test_mixed_boxes_are_of_one_kind_along_all_axes():
    found = lengths(RandomRanges((64, 64), 3000, seed=2, kind="mixed"))
    kinds = np.searchsorted([4, 16], found, side="right")
    assert (kinds[:, 0] == kinds[:, 1]).all()
    counts = np.bincount(kinds[:, 0])
    assert (np.abs(counts - 1000) < 5.5 * np.sqrt(1000 * 2 / 3)).all()


def test_uniform_ranges_are_two_cells_in_order():
    queries = RandomRanges(10, 60_000, seed=3)
    pairs = np.bincount(queries.lower[:, 0] * 10 + queries.upper[:, 0], minlength=100).reshape(10, 10)
    expected = np.triu(np.full((10, 10), 1200.0), 1) + np.diag(np.full(10, 600.0))
    assert (np.abs(pairs - expected) <= 6 * np.sqrt(expected)).all()


def test_any_length_is_as_likely_as_any_other():
    queries = RandomRanges(10, 60_000, seed=3, kind="any-length")
    found = lengths(queries)[:, 0]
    assert (np.abs(np.bincount(found, minlength=11)[1:] - 6000) < 6 * np.sqrt(6000)).all()
    starts = np.bincount(queries.lower[found == 5, 0], minlength=6)
    assert (np.abs(starts - 1000) < 6 * np.sqrt(1000)).all()


@pytest.mark.parametrize("spread", [None, 3, 40.5])
def test_clustered_ranges_follow_their_spread(spread):
    side, deviation = 100_000, 100_000 / 16 if spread is None else spread
    queries = RandomRanges(side, 20_000, seed=4, kind="clustered", spread=spread)
    inside = (queries.lower[:, 0] > 0) & (queries.upper[:, 0] < side - 1)
    found = lengths(queries)[inside, 0] - 1
    if spread is not None:  # the length is the sum of two half-normal distances: E = 2σ√(2/π), SD = σ√(2 − 4/π)
        mean, wobble = 2 * deviation * np.sqrt(2 / np.pi), deviation * np.sqrt(2 - 4 / np.pi)
        assert abs(found.mean() - mean) < 6 * wobble / np.sqrt(found.size) + 0.01
        assert abs(found.std() / wobble - 1) < 0.05
    else:
        assert found.max() < 14 * deviation
        assert found.max() > 5 * deviation


@pytest.mark.parametrize("domain", [100_000, (100_000, 100_000)], ids=str)
def test_clustered_ranges_have_five_centres(domain):
    queries = RandomRanges(domain, 2000, seed=9, kind="clustered", spread=2)
    middles = (queries.lower + queries.upper) / 2
    boxes = {tuple(middle) for middle in np.round(middles / 1000).astype(int).tolist()}
    centres = {tuple(middle) for middle in np.round(middles / 100).astype(int).tolist()}
    assert 1 < len(boxes) <= 10  # a centre near a rounding edge counts twice
    assert len(centres) <= 20
