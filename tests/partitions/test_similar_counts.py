"""Groups of similar counts: the least cost of all, exactly numbered, and no digits lost beside huge counts."""

from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.partitions import similar_counts
from over_cases import over


def cost_of(values, labels, noise):
    """Σ (SSE + noise/size), in fractions."""
    total = Fraction(0)
    for group in np.unique(labels):
        members = [Fraction(float(value)) for value in np.asarray(values)[labels == group]]
        mean = sum(members) / len(members)
        total += sum((value - mean) ** 2 for value in members) + Fraction(noise) / len(members)
    return total


def least_cost(values, noise):
    """By trying every start of the last run, for every end, on the sorted values."""
    ordered = sorted(Fraction(float(value)) for value in values)
    least = [Fraction(0)]
    for end in range(1, len(ordered) + 1):
        options = []
        for start in range(end):
            run = ordered[start:end]
            mean = sum(run) / len(run)
            options.append(least[start] + sum((value - mean) ** 2 for value in run) + Fraction(noise) / len(run))
        least.append(min(options))
    return least[-1]


def random_values(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 30))
    kinds = [
        lambda: random.integers(0, 6, size),
        lambda: random.poisson(random.choice([0, 3, 50], size)),
        lambda: random.normal(0, 10, size),
        lambda: random.choice([0, 10**12, 10**12 + 40], size) + random.integers(0, 9, size),
    ]
    return kinds[seed % 4]()


@over(range(60))
def test_the_least_cost_of_all(seed):
    values = random_values(seed)
    noise = float(np.random.default_rng(seed).choice([0.1, 2, 50, 3000]))
    groups = similar_counts(values, noise)
    assert float(cost_of(values, groups.labels, noise)) == pytest.approx(float(least_cost(values, noise)), rel=1e-9)


def test_groups_are_runs_numbered_from_small_to_large():
    values = np.random.default_rng(0).poisson(np.repeat([0, 20, 400], 50))
    labels = similar_counts(values, 30).labels
    order = np.argsort(values, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    assert set(labels) == set(range(labels.max() + 1))


def test_order_does_not_matter():
    random = np.random.default_rng(1)
    values = random.poisson(5, 200) + random.random(200)
    shuffle = random.permutation(200)
    np.testing.assert_array_equal(similar_counts(values[shuffle], 9).labels, similar_counts(values, 9).labels[shuffle])


def test_small_counts_become_nothing():
    groups = similar_counts([0.5, 2.0, -3.0, 8.0, 2.1], noise=1e-6, floor=2.0)
    np.testing.assert_array_equal(groups.labels, [0, 0, 0, 2, 1])


def test_never_dearer_than_greedy_steps():
    values = np.sort(np.random.default_rng(2).poisson(np.random.default_rng(3).gamma(0.3, 20, 300)))
    labels = np.zeros(values.size, dtype=int)
    for place in range(1, values.size):
        own = labels[:place] == labels[place - 1]
        joined = np.append(values[:place][own], values[place])
        apart = cost_of(values[:place][own], np.zeros(own.sum()), 40) + 40
        labels[place] = labels[place - 1] + (cost_of(joined, np.zeros(joined.size), 40) > apart)
    assert cost_of(values, similar_counts(values, 40).labels, 40) <= cost_of(values, labels, 40)


def test_no_digits_are_lost_beside_huge_counts():
    values = np.array([0, 1, 0, 1, 100, 101, 10**15, 10**15 + 1])
    labels = similar_counts(values, noise=20).labels
    np.testing.assert_array_equal(labels, [0, 0, 0, 0, 1, 1, 2, 2])


def test_without_noise_only_equal_counts_are_grouped():
    assert similar_counts([3, 1, 3, 2], noise=0).groups >= 3
    assert similar_counts([3, 1, 3, 2], noise=1e-9).labels.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize(
    ("counts", "noise"),
    [([], 1), ([[1, 2]], 1), ([1, np.nan], 1), ([1, np.inf], 1), ([1], -1), ([1], np.nan), ([1], np.inf)],
)
def test_bad_input(counts, noise):
    with pytest.raises(BadInput):
        similar_counts(counts, noise)
