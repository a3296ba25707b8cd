"""The chain of intensities: exact where it can be checked, useful with an order, harmless without one."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.inference import change_points as chain
from adyton.inference.change_points import change_points
from adyton.inference.empirical_bayes import empirical_bayes
from adyton.inference.intensities import intensities
from adyton.inference.intensities_compiled import SCATTERED, SPIKES, blended, first_shares


def laplace(random, epsilon, shape):
    """Discrete Laplace noise from NumPy's generator: nothing private here."""
    chance = -np.expm1(-epsilon)
    return (random.geometric(chance, shape) - random.geometric(chance, shape)).astype(float)


def error(estimate, truth):
    return np.sqrt(((estimate - truth) ** 2).sum(axis=-1)).mean()


def stairs(random, cells, high):
    """Long runs of equal intensity."""
    return np.repeat(random.uniform(0, high, cells // 64) * random.integers(0, 2, cells // 64), 64)


def test_posterior_means_are_those_of_a_dense_chain():
    """Before any EM step, against products of full matrices over all cells but one, with one cell above the limit."""
    noisy = np.array([0.0, 1, 0, 9, 12, 70, 11, 2, -1])
    table = intensities(1.0)
    bins, likelihood, moment = table.seen(noisy)
    estimate, weight = chain._fitted(bins, likelihood, moment, table, 0)
    shares = first_shares(likelihood.shape[0], SCATTERED, SPIKES)
    evidence = blended(likelihood, table.kind, shares, table.base)
    means = blended(moment, table.kind, shares, table.base) / evidence
    levels = table.base.size
    rate = chain.CHANGE
    moves = np.eye(levels) * (1 - 2 * rate) + rate * table.base
    for k in range(levels):
        moves[k, max(k - 1, 0)] += rate / 2
        moves[k, min(k + 1, levels - 1)] += rate / 2
    assert moves.sum(axis=1) == pytest.approx(1)
    for i in range(noisy.size):
        before, after = table.base @ moves, np.ones(levels)
        for j in range(i):
            before = (before * evidence[bins[j]]) @ moves
        for j in range(noisy.size - 1, i, -1):
            after = moves @ (after * evidence[bins[j]])
        prior = before * after / (before * after).sum()
        posterior = prior * evidence[bins[i]]
        assert weight[i] == pytest.approx(posterior.sum(), rel=1e-9)
        assert estimate[i] == pytest.approx((posterior * means[bins[i]]).sum() / posterior.sum(), rel=1e-9, abs=1e-12)


def test_em_raises_the_likelihood():
    random = np.random.default_rng(1)
    noisy = random.poisson(stairs(random, 2048, 6)) + laplace(random, 1.0, 2048)
    table = intensities(1.0)
    bins, likelihood, moment = table.seen(noisy)
    fits = [np.log(chain._fitted(bins, likelihood, moment, table, steps)[1]).sum() for steps in (0, 3, 20)]
    assert fits[0] < fits[1] - 10 < fits[2] - 10


def test_blocks_change_nothing(monkeypatch):
    random = np.random.default_rng(2)
    noisy = random.poisson(stairs(random, 256, 9)) + laplace(random, 1.0, 256)
    table = intensities(1.0)
    bins, likelihood, moment = table.seen(noisy)
    whole = chain._fitted(bins, likelihood, moment, table, 4)
    for block in (1, 60, 64, 255):
        monkeypatch.setattr(chain, "BLOCK", block)
        parts = chain._fitted(bins, likelihood, moment, table, 4)
        assert parts[0] == pytest.approx(whole[0], rel=1e-9)
        assert parts[1] == pytest.approx(whole[1], rel=1e-9)


@pytest.mark.parametrize(("epsilon", "high"), [(1.0, 3), (0.1, 10), (0.1, 300)])
def test_order_is_used(epsilon, high):
    random = np.random.default_rng(3)
    truth = np.stack([random.poisson(stairs(random, 4096, high)) for _ in range(3)])
    noisy = truth + laplace(random, epsilon, truth.shape)
    assert error(change_points(noisy, epsilon), truth) < 0.8 * error(empirical_bayes(noisy, epsilon), truth)


@pytest.mark.parametrize(("epsilon", "high"), [(1.0, 8), (0.1, 60)])
def test_cells_without_order_lose_little_to_empirical_bayes(epsilon, high):
    random = np.random.default_rng(4)
    truth = random.permuted(np.stack([random.poisson(stairs(random, 4096, high)) for _ in range(3)]), axis=1)
    noisy = truth + laplace(random, epsilon, truth.shape)
    assert error(change_points(noisy, epsilon), truth) < 1.06 * error(empirical_bayes(noisy, epsilon), truth)


def test_spikes_stay_sharp():
    random = np.random.default_rng(5)
    truth = np.zeros(4096)
    truth[::100] = 400
    estimate = change_points(truth + laplace(random, 0.1, 4096), 0.1)
    assert estimate[::100] == pytest.approx(400, abs=120)
    assert estimate[truth == 0].max() < 60
    assert estimate[truth == 0].mean() < 0.5


def test_finds_nothing_in_plain_noise():
    noisy = laplace(np.random.default_rng(6), 0.1, (5, 4096))
    assert error(change_points(noisy, 0.1), 0) < 0.06 * error(np.maximum(noisy, 0), 0)


def test_each_trial_is_fitted_by_itself():
    random = np.random.default_rng(7)
    noisy = random.poisson([[0.1], [5]], (2, 200)) + laplace(random, 1.0, (2, 2, 200))
    together = change_points(noisy, 1.0)
    for place in np.ndindex(2, 2):
        assert np.array_equal(together[place], change_points(noisy[place], 1.0))


def test_one_way_through_the_cells_is_their_reordering():
    random = np.random.default_rng(8)
    noisy = random.poisson(2, 300) + laplace(random, 1.0, 300)
    way = random.permutation(300)
    assert change_points(noisy, 1.0, way)[way] == pytest.approx(change_points(noisy[way], 1.0))


def test_rows_and_columns_together_beat_either():
    random = np.random.default_rng(9)
    places = np.arange(64 * 64).reshape(64, 64)
    rows, columns = places.copy(), places.T.copy()
    rows[1::2], columns[1::2] = rows[1::2, ::-1].copy(), columns[1::2, ::-1].copy()
    blocks = np.kron(random.uniform(0, 4, (8, 8)) * random.integers(0, 2, (8, 8)), np.ones((8, 8)))
    truth = random.poisson(blocks.ravel(), (4, 4096))
    noisy = truth + laplace(random, 0.5, truth.shape)
    both = change_points(noisy, 0.5, [rows.ravel(), columns.ravel()])
    for way in (rows, columns):
        assert error(both, truth) < 0.97 * error(change_points(noisy, 0.5, way.ravel()), truth)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.37, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("cells", [1, 2, 3, 40])
def test_never_fails(epsilon, cells):
    random = np.random.default_rng(10)
    for noisy in [
        np.zeros(cells),
        np.full(cells, 1e13),
        np.full(cells, -1e13),
        laplace(random, epsilon, cells),
        random.integers(0, int(60 / epsilon) + 2, cells),
        np.where(np.arange(cells) % 2, 1e13, 0),
    ]:
        estimate = change_points(noisy, epsilon)
        assert np.isfinite(estimate).all()
        assert (estimate >= 0).all()
        assert np.array_equal(estimate[noisy > 50 / epsilon], noisy[noisy > 50 / epsilon])
        if epsilon == 100:  # there is no noise
            assert estimate == pytest.approx(np.maximum(noisy, 0), abs=1e-3)


@pytest.mark.parametrize("orders", [[[0, 1]], [[0, 1, 1]], [[0.0, 1.0, 2.0]], [[1, 2, 3]]])
def test_orders_must_be_permutations(orders):
    with pytest.raises(BadInput, match="permutations of the 3 cells"):
        change_points([0, 1, 2], 1.0, orders)
