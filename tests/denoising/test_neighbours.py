"""Windows around each cell: the right sums, useful where neighbours are alike, harmless where they are not."""

import numpy as np
import pytest

from adyton.denoising import empirical_bayes as module
from adyton.denoising.empirical_bayes import empirical_bayes, with_neighbours
from adyton.errors import BadInput
from over_cases import over


def laplace(random, epsilon, shape):
    """Discrete Laplace noise from NumPy's generator: nothing private here."""
    chance = -np.expm1(-epsilon)
    return (random.geometric(chance, shape) - random.geometric(chance, shape)).astype(float)


def error(estimate, truth):
    return np.sqrt(((estimate - truth) ** 2).sum(axis=-1)).mean()


def hills(random, shape, high):
    """Blocks of equal intensity, some of them empty."""
    blocks = random.uniform(0, high, [-(-side // 8) for side in shape])
    blocks *= random.integers(0, 2, blocks.shape)
    return np.kron(blocks, np.ones([8] * len(shape)))[tuple(slice(side) for side in shape)].ravel()


@pytest.mark.parametrize(("shape", "slab"), [((23,), 4), ((9, 7), 1), ((9, 7), 1000), ((4, 3, 5), 1), ((1, 6), 1)])
def test_windows_sum_over_the_cells_around(monkeypatch, shape, slab):
    monkeypatch.setattr(module, "SLAB", slab)
    random = np.random.default_rng(1)
    logs = random.normal(size=(6, 2))
    bins = random.integers(0, 6, np.prod(shape))
    places = np.stack(np.unravel_index(np.arange(bins.size), shape), axis=1)
    seen = []
    for place, around in module._slabs(bins, logs, shape, (3, 5)):
        seen += range(bins.size)[place]
        for window, side in enumerate((3, 5)):
            for row, i in enumerate(range(bins.size)[place]):
                close = (np.abs(places - places[i]).max(axis=1) <= side // 2) & (np.arange(bins.size) != i)
                assert around[window, row] == pytest.approx(logs[bins[close]].sum(axis=0))
    assert seen == list(range(bins.size))


@pytest.mark.parametrize("shape", [(4096,), (64, 64), (16, 16, 16)])
def test_neighbours_are_used(shape):
    random = np.random.default_rng(2)
    truth = random.poisson(hills(random, shape, 4), (2, 4096))
    noisy = truth + laplace(random, 0.5, truth.shape)
    assert error(with_neighbours(noisy, 0.5, shape), truth) < 0.9 * error(empirical_bayes(noisy, 0.5), truth)


@pytest.mark.parametrize("shape", [(4096,), (64, 64)])
def test_neighbours_that_are_not_alike_do_little_harm(shape):
    random = np.random.default_rng(3)
    truth = random.permuted(random.poisson(hills(random, shape, 20), (3, 4096)), axis=1)
    noisy = truth + laplace(random, 0.5, truth.shape)
    assert error(with_neighbours(noisy, 0.5, shape), truth) < 1.03 * error(empirical_bayes(noisy, 0.5), truth)


def test_finds_nothing_in_plain_noise():
    noisy = laplace(np.random.default_rng(4), 0.1, (3, 4096))
    assert error(with_neighbours(noisy, 0.1, (64, 64)), 0) < 0.12 * error(np.maximum(noisy, 0), 0)


def test_slabs_change_nothing(monkeypatch):
    random = np.random.default_rng(5)
    noisy = random.poisson(hills(random, (40, 30), 5)) + laplace(random, 1.0, 1200)
    whole = with_neighbours(noisy, 1.0, (40, 30))
    monkeypatch.setattr(module, "SLAB", 1)
    assert with_neighbours(noisy, 1.0, (40, 30)) == pytest.approx(whole, rel=1e-9)


def test_each_trial_is_fitted_by_itself():
    random = np.random.default_rng(6)
    noisy = random.poisson([[0.1], [5]], (2, 120)) + laplace(random, 1.0, (2, 2, 120))
    together = with_neighbours(noisy, 1.0, (10, 12))
    for place in np.ndindex(2, 2):
        assert np.array_equal(together[place], with_neighbours(noisy[place], 1.0, (10, 12)))


@over([1e-4, 0.01, 0.37, 1.0, 10.0, 100.0], [(1,), (2,), (3,), (1, 1), (2, 3), (1, 40), (2, 1, 3)])
def test_never_fails(epsilon, shape):
    random = np.random.default_rng(7)
    cells = int(np.prod(shape))
    for noisy in [
        np.zeros(cells),
        np.full(cells, 1e13),
        np.full(cells, -1e13),
        laplace(random, epsilon, cells),
        random.integers(0, int(60 / epsilon) + 2, cells),
    ]:
        estimate = with_neighbours(noisy, epsilon, shape)
        assert np.isfinite(estimate).all()
        assert (estimate >= 0).all()
        assert np.array_equal(estimate[noisy > 50 / epsilon], noisy[noisy > 50 / epsilon])
        if epsilon == 100:  # there is no noise
            assert estimate == pytest.approx(np.maximum(noisy, 0), abs=1e-3)


@pytest.mark.parametrize("domain", [(5,), (2, 3), (0,), (2.0, 2)])
def test_the_domain_must_have_the_cells(domain):
    with pytest.raises(BadInput):
        with_neighbours(np.zeros(4), 1.0, domain)
