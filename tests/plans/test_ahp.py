"""AHP: two measurements with noise of their own, groups from the first, shares that add up."""

from fractions import Fraction as F

import numpy as np
import pytest
from noisy_decisions import run, watch

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.partitions import similar_counts
from adyton.plans import plan_named
from adyton.plans.published.groups import partition_share
from adyton.queries import Identity, Prefix, Reduction, Total

STEPS = np.arange(40) * 1000  # every cell a group of its own, in the order of the cells


class SameNoise(SimulatedNoise):
    """A mutant: every draw starts from the same seed."""

    def discrete_laplace(self, size, scale):
        return SimulatedNoise(self.seed).discrete_laplace(size, scale)


def correlation(monkeypatch, name, noise_for):
    """Between the noise of the two measurements, over all cells and runs."""
    seen = watch(monkeypatch)
    pairs = []
    for seed in range(60):
        seen.clear()
        kernel = Kernel.on_vector(STEPS, epsilon=1, noise=noise_for(seed))
        plan_named(name).estimate(kernel.root, Identity(40), 1)
        cells, groups = (one for one in seen if not isinstance(one.queries, Total))
        np.testing.assert_array_equal(groups.on_first_vector() @ np.arange(40), np.arange(40))
        pairs.append([cells.answers - STEPS, groups.answers - STEPS])
    first, second = np.concatenate(pairs, axis=1)
    return np.corrcoef(first, second)[0, 1]


def same_noise(seed):
    noise = SameNoise(seed)
    noise.seed = seed
    return noise


@pytest.mark.parametrize("name", ["ahp", "cdf", "dpcube"])
def test_each_measurement_has_noise_of_its_own(monkeypatch, name):
    """2400 independent pairs: a correlation beyond 0.12 is six standard deviations away."""
    assert abs(correlation(monkeypatch, name, SimulatedNoise)) < 0.12


@pytest.mark.parametrize("name", ["ahp", "cdf", "dpcube"])
def test_noise_that_is_used_twice_is_caught(monkeypatch, name):
    assert abs(correlation(monkeypatch, name, same_noise)) > 0.5


class Written(ExactNoise):
    """Exact noise that writes down its draws."""

    def __init__(self):
        self.draws = []

    def discrete_laplace(self, size, scale):
        self.draws.append(super().discrete_laplace(size, scale))
        return self.draws[-1]


@pytest.mark.parametrize("base", [2**53 + 1, 2**61 + 1])
def test_counts_that_doubles_cannot_hold_are_counted_exactly(monkeypatch, base):
    """Up to the noise everything is whole numbers: answer = true sum + draw, to the last digit."""
    seen, noise = watch(monkeypatch), Written()
    x = [base + step for step in (0, 1, 0, 2, 1, 1, 0, 3)]
    kernel = Kernel.on_vector(np.array(x), epsilon=1, noise=noise)
    plan_named("ahp").estimate(kernel.root, Identity(8), 1)
    assert len(seen) == len(noise.draws) == 2
    for measured, drawn in zip(seen, noise.draws, strict=True):
        rows = [row for chunk in measured.on_first_vector().rows() for row in chunk]
        exactly = [sum(count for count, inside in zip(x, row, strict=True) if inside) for row in rows]
        assert measured.answers.tolist() == [a + int(b) for a, b in zip(exactly, drawn[0].tolist(), strict=True)]


@pytest.mark.parametrize("name", ["ahp", "cdf"])
def test_groups_are_those_of_the_noisy_cells(monkeypatch, name):
    seen = watch(monkeypatch)
    x = np.random.default_rng(0).poisson(np.repeat([0, 0, 7, 60], 25))
    kernel, _ = run(name, x, epsilon="1/2", partition_share="2/3")
    cells, groups = seen
    assert (cells.epsilon, groups.epsilon) == (F(1, 3), F(1, 6))
    assert kernel.spent == F(1, 2)
    threshold = 0.35 * np.log(100) * 3
    expected = similar_counts(cells.answers, 2 * 36, threshold)
    assert isinstance(groups.mapping, Reduction)
    np.testing.assert_array_equal(groups.mapping.partition.labels, expected.labels)


def test_the_share_follows_the_noisy_number_of_rows(monkeypatch):
    seen = watch(monkeypatch)
    x = np.full(64, 400)
    found = set()
    for seed in range(10):
        seen.clear()
        kernel, _ = run("ahp*", x, epsilon="0.01", seed=seed)
        total, cells, groups = seen
        part = partition_share(max(1, total.value) * 0.01)
        assert cells.epsilon == part * F(98, 10_000)
        assert total.epsilon + cells.epsilon + groups.epsilon == kernel.spent == F(1, 100)
        found.add(part)
    assert len(found) > 1


def test_shares_by_signal():
    assert partition_share(1) == F(7, 10)
    assert partition_share(700) == F(9, 10)
    assert partition_share(1e9) == F(3, 10)
    assert F(8, 10) < partition_share(3e3) < F(9, 10)


def test_an_empty_domain_costs_little_error():
    x = np.zeros(4096, dtype=int)
    _, estimate = run("ahp", x)
    assert np.linalg.norm(estimate) < 30  # plain noise has 90


def test_similar_counts_far_apart_help_each_other():
    """A third of the cells at each of three counts: the groups' answers are far more precise than a cell's."""
    x = np.random.default_rng(0).permutation(np.repeat([0, 200, 1000], 300))
    errors = [np.linalg.norm(run("ahp", x, seed=seed)[1] - x) for seed in range(10)]
    plain = [np.linalg.norm(run("identity", x, seed=seed)[1] - x) for seed in range(10)]
    assert np.mean(errors) < np.mean(plain)


def test_a_distribution_function_rises():
    x = np.random.default_rng(0).poisson(np.repeat([0, 0, 7, 60], 25))
    _, estimate = run("cdf", x, epsilon="0.1")
    assert (np.diff(Prefix(100) @ estimate, prepend=0) >= 0).all()


@pytest.mark.parametrize("name", ["ahp", "ahp*", "cdf"])
@pytest.mark.parametrize("options", [{"partition_share": 1}, {"partition_share": 0}, {"eta": 0}, {"eta": "much"}])
def test_bad_options_spend_nothing(monkeypatch, name, options):
    seen = watch(monkeypatch)
    with pytest.raises(BadInput, match=next(iter(options))):
        run(name, STEPS, **options)
    assert not seen
