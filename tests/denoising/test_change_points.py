"""The chain of intensities: exact where it can be checked, useful with an order, harmless without one."""

import numpy as np
import pytest

from adyton.denoising import change_points as chain
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.intensities import SCATTERED, SPIKES, blended, distribution, first_shares, intensities, relearnt
from adyton.errors import BadInput
from adyton.plans.registry import plan_named, simulate
from adyton.queries import Identity
from over_cases import over


def laplace(random, epsilon, shape):
    """Discrete Laplace noise from NumPy's generator: nothing private here."""
    chance = -np.expm1(-epsilon)
    return (random.geometric(chance, shape) - random.geometric(chance, shape)).astype(float)


def error(estimate, truth):
    return np.sqrt(((estimate - truth) ** 2).sum(axis=-1)).mean()


def stairs(random, cells, high):
    """Long runs of equal intensity."""
    return np.repeat(random.uniform(0, high, cells // 64) * random.integers(0, 2, cells // 64), 64)


def amounts(cells):
    """An attribute that begins at zero: a heavy first cell, then levels that halve as the place doubles."""
    shape = 0.5 ** np.floor(np.log2(np.arange(1, cells + 1)))
    shape[0] = 4
    return shape / shape.sum()


def dense_moves(levels, arrivals, change, drifting, restart):
    """The chance of every level after every other, by what happened: edge, fresh start, drift, stay."""
    drift = np.zeros((levels, levels))
    for k in range(levels):
        drift[k, max(k - 1, 0)] += 0.5
        drift[k, min(k + 1, levels - 1)] += 0.5
    fresh = np.tile(arrivals, (levels, 1))
    usual = 1 - restart
    stay = np.eye(levels) * (1 - change - drifting)
    return np.stack([restart * fresh, usual * change * fresh, usual * drifting * drift, usual * stay])


def dense_fit(noisy, epsilon, steps, opening, restarts, belief):
    """EM by full matrices and pairs of neighbouring cells; *opening* None stands for a fresh start."""
    table = intensities(epsilon)
    bins, likelihood, moment = table.seen(noisy)
    cells, levels = noisy.size, table.base.size
    shares, spikes, arrivals = first_shares(likelihood.shape[0], SCATTERED, SPIKES), table.base, table.base
    change = drifting = 0.001
    for _ in range(steps + 1):
        evidence = blended(likelihood, table.kind, shares, spikes)
        moves = [dense_moves(levels, arrivals, change, drifting, restarts[i]) for i in range(cells)]
        before = [arrivals if opening is None else opening]
        for i in range(cells):
            vector = (before[i] @ moves[i].sum(axis=0)) * evidence[bins[i]]
            before.append(vector / vector.sum())
        after = np.ones(levels)
        counts, landed, occupied = np.zeros(4), np.zeros(levels), np.zeros_like(evidence)
        estimate = np.empty(cells)
        for i in range(cells - 1, -1, -1):
            pairs = before[i][:, None] * moves[i] * (evidence[bins[i]] * after)
            pairs /= pairs.sum()
            posterior = pairs.sum(axis=(0, 1))
            means = blended(moment, table.kind, shares, spikes)[bins[i]] / evidence[bins[i]]
            estimate[i] = posterior @ means
            counts += pairs.sum(axis=(1, 2))
            landed += pairs[:2].sum(axis=(0, 1))
            occupied[bins[i]] += posterior
            after = moves[i].sum(axis=0) @ (evidence[bins[i]] * after)
            after /= after.sum()
        assert counts.sum() == pytest.approx(cells)
        occupied[-1] = 0
        arrivals = distribution(landed, table.base, 50.0)
        change, drifting = (counts[1:3] + belief) / (counts[1:].sum() + 1)
        shares, spikes = relearnt(likelihood, table.kind, table.base, shares, spikes, evidence, occupied)
    return estimate


SHORT = np.array([41.0, 9, 2, 0, 1, 0, 9, 12, 70, 11, 2, -1, 0, 0, 1, -2])


@over([1, 2, 3, SHORT.size], [0, 1, 5])
def test_edge_agrees_with_a_dense_chain(cells, steps):
    """The opening: half on the clear levels, half as the base is; cell i starts afresh with chance 1/(2i)."""
    table = intensities(1.0)
    clear = table.rates >= 1
    opening = np.where(clear, 0.5 / clear.sum(), 0.5 * table.base / table.base[~clear].sum())
    restarts = np.array([0, *(0.5 / i for i in range(2, cells + 1))])
    bins, likelihood, moment = table.seen(SHORT[:cells])
    (estimate,), _ = chain.fitted(bins, likelihood, [moment], table, steps, edge=True)
    dense = dense_fit(SHORT[:cells], 1.0, steps, opening, restarts, 0.1)
    assert estimate == pytest.approx(dense, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("steps", [1, 5])
def test_without_an_edge_all_cells_move_alike(steps):
    bins, likelihood, moment = intensities(1.0).seen(SHORT)
    (estimate,), _ = chain.fitted(bins, likelihood, [moment], intensities(1.0), steps)
    dense = dense_fit(SHORT, 1.0, steps, None, np.zeros(SHORT.size), 0.5)
    assert estimate == pytest.approx(dense, rel=1e-8, abs=1e-10)


def test_an_edge_without_restarts_or_opening_is_none(monkeypatch):
    """The rates of every cell are then the constant ones."""
    random = np.random.default_rng(11)
    noisy = random.poisson(stairs(random, 512, 9)) + laplace(random, 1.0, 512)
    monkeypatch.setattr(chain, "EDGE_RATES", chain.RATES)
    plain = change_points(noisy, 1.0, edge=False)
    assert np.abs(change_points(noisy, 1.0, edge=True) - plain).max() > 1e-3
    monkeypatch.setattr(chain, "_edge", lambda table, cells: (None, np.zeros(cells)))
    assert np.array_equal(change_points(noisy, 1.0, edge=True), plain)


@pytest.mark.parametrize(("epsilon", "rows"), [(0.1, 250), (1.0, 25)])
def test_heavy_first_cells_are_estimated_better_with_an_edge(epsilon, rows):
    random = np.random.default_rng(12)
    truth = random.multinomial(rows, amounts(2048), 10)
    noisy = truth + laplace(random, epsilon, truth.shape)
    with_edge, without = (change_points(noisy, epsilon, edge=edge) for edge in (True, False))
    assert error(with_edge, truth) < 0.7 * error(without, truth)


def test_an_edge_costs_little_where_there_is_none():
    random = np.random.default_rng(13)
    truth = np.stack([random.poisson(stairs(random, 4096, 4)) for _ in range(4)])
    noisy = truth + laplace(random, 1.0, truth.shape)
    with_edge, without = (change_points(noisy, 1.0, edge=edge) for edge in (True, False))
    assert error(with_edge, truth) < 1.02 * error(without, truth)


def test_the_plan_has_the_edge_in_one_dimension_only():
    random = np.random.default_rng(14)
    counts = random.multinomial(200, amounts(256))
    on, off = (
        simulate("change-points", counts, Identity(256), 1.0, seed=1, trials=2, edge=edge) for edge in (True, False)
    )
    assert not np.array_equal(on, off)
    assert np.array_equal(on, simulate("change-points", counts, Identity(256), 1.0, seed=1, trials=2))
    plane = counts.reshape(16, 16)
    on, off = (simulate("change-points", plane, Identity((16, 16)), 1.0, seed=1, edge=edge) for edge in (True, False))
    assert np.array_equal(on, off)
    assert plan_named("change-points").edge


def test_posterior_means_are_those_of_a_dense_chain():
    """Before any EM step, against products of full matrices over all cells but one, with one cell above the limit."""
    noisy = np.array([0.0, 1, 0, 9, 12, 70, 11, 2, -1])
    table = intensities(1.0)
    bins, likelihood, moment = table.seen(noisy)
    (estimate,), weight = chain.fitted(bins, likelihood, [moment], table, 0)
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
    fits = [np.log(chain.fitted(bins, likelihood, [moment], table, steps)[1]).sum() for steps in (0, 3, 20)]
    assert fits[0] < fits[1] - 10 < fits[2] - 10


@pytest.mark.parametrize("edge", [False, True])
def test_blocks_change_nothing(monkeypatch, edge):
    random = np.random.default_rng(2)
    noisy = random.poisson(stairs(random, 256, 9)) + laplace(random, 1.0, 256)
    table = intensities(1.0)
    bins, likelihood, moment = table.seen(noisy)
    whole = chain.fitted(bins, likelihood, [moment], table, 4, edge)
    for block in (1, 60, 64, 255):
        monkeypatch.setattr(chain, "BLOCK", block)
        parts = chain.fitted(bins, likelihood, [moment], table, 4, edge)
        assert parts[0] == pytest.approx(whole[0], rel=1e-9)
        assert parts[1] == pytest.approx(whole[1], rel=1e-9)


@pytest.mark.parametrize("edge", [False, True])
def test_long_chains_learn_from_a_part(monkeypatch, edge):
    """An eighth of the cells, evenly spread, teach nearly the same; all cells are estimated."""
    random = np.random.default_rng(4)
    truth = random.poisson(stairs(random, 1 << 14, 9))
    noisy = truth + laplace(random, 1.0, truth.size)
    whole = change_points(noisy, 1.0, edge=edge)
    monkeypatch.setattr(chain, "BLOCK", 256)
    monkeypatch.setattr(chain, "LEARNT", 2048)
    part = change_points(noisy, 1.0, edge=edge)
    assert not np.array_equal(part, whole)
    assert error(part, truth) < 1.03 * error(whole, truth)


def test_ways_share_what_is_learnt_from_and_the_cores(monkeypatch):
    """Of a large map a part teaches nearly the same; ways that are fitted at the same time give the same numbers."""
    random = np.random.default_rng(5)
    truth = random.poisson(np.kron(random.gamma(0.5, 20, (8, 8)), np.ones((8, 8)))).reshape(-1)
    noisy = truth + laplace(random, 1.0, truth.size)
    ways = np.stack([np.arange(4096), np.arange(4096).reshape(64, 64).T.reshape(-1)])
    whole = change_points(noisy, 1.0, ways, edge=False)
    monkeypatch.setattr(chain, "BLOCK", 256)
    monkeypatch.setattr(chain, "LEARNT", 4096)
    part = change_points(noisy, 1.0, ways, edge=False)
    assert not np.array_equal(part, whole)
    assert error(part, truth) < 1.05 * error(whole, truth)
    monkeypatch.setattr("adyton.denoising.change_points._LARGE", 0)
    assert np.array_equal(change_points(noisy, 1.0, ways, edge=False), part)


def test_nothing_is_learnt_between_two_parts(monkeypatch):
    """Cells of one even level, and parts of another far above: only where a part begins does the level change."""
    monkeypatch.setattr(chain, "BLOCK", 64)
    bins, restarts = chain._sampled(np.arange(1000), np.zeros(1000), 4)
    assert bins[::64].tolist() == [0, 312, 624, 936]
    assert bins[-1] == 999
    assert np.flatnonzero(restarts).tolist() == [64, 128, 192]
    table, noisy = intensities(1.0), np.repeat([0.0, 30.0, 0.0, 30.0], 64)
    law = chain._Law.first(table.likelihood.shape[0], table.base)
    seen, likelihood, _ = table.seen(noisy)
    sure, unsure = (
        chain._Passes(seen, fresh, None, likelihood, table).relearnt(law, chain.RATES).change
        for fresh in (restarts, np.zeros(256))
    )
    assert sure < 1 / 256 < 3 / 256 <= unsure


@pytest.mark.parametrize(("epsilon", "high"), [(1.0, 3), (0.1, 10), (0.1, 300)])
def test_order_is_used(epsilon, high):
    random = np.random.default_rng(3)
    truth = np.stack([random.poisson(stairs(random, 4096, high)) for _ in range(3)])
    noisy = truth + laplace(random, epsilon, truth.shape)
    assert error(change_points(noisy, epsilon), truth) < 0.8 * error(empirical_bayes(noisy, epsilon), truth)


@pytest.mark.parametrize("edge", [False, True])
@pytest.mark.parametrize(("epsilon", "high"), [(1.0, 8), (0.1, 60)])
def test_cells_without_order_lose_little_to_empirical_bayes(epsilon, high, edge):
    random = np.random.default_rng(4)
    truth = random.permuted(np.stack([random.poisson(stairs(random, 4096, high)) for _ in range(3)]), axis=1)
    noisy = truth + laplace(random, epsilon, truth.shape)
    assert error(change_points(noisy, epsilon, edge=edge), truth) < 1.06 * error(empirical_bayes(noisy, epsilon), truth)


def test_spikes_stay_sharp():
    random = np.random.default_rng(5)
    truth = np.zeros(4096)
    truth[::100] = 400
    estimate = change_points(truth + laplace(random, 0.1, 4096), 0.1)
    assert estimate[::100] == pytest.approx(400, abs=120)
    assert estimate[truth == 0].max() < 60
    assert estimate[truth == 0].mean() < 0.5


@pytest.mark.parametrize("edge", [False, True])
def test_finds_nothing_in_plain_noise(edge):
    noisy = laplace(np.random.default_rng(6), 0.1, (5, 4096))
    assert error(change_points(noisy, 0.1, edge=edge), 0) < 0.06 * error(np.maximum(noisy, 0), 0)


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


@over([1e-6, 1e-4, 0.01, 0.37, 1.0, 10.0, 100.0, 1000.0], [1, 2, 3, 40], [False, True])
def test_never_fails(epsilon, cells, edge):
    random = np.random.default_rng(10)
    for noisy in [
        np.zeros(cells),
        np.full(cells, 1e13),
        np.full(cells, -1e13),
        np.full(cells, 1e12),
        laplace(random, epsilon, cells),
        random.integers(0, int(60 / epsilon) + 2, cells),
        np.where(np.arange(cells) % 2, 1e13, 0),
    ]:
        estimate = change_points(noisy, epsilon, edge=edge)
        assert np.isfinite(estimate).all()
        assert (estimate >= 0).all()
        assert np.array_equal(estimate[noisy > 50 / epsilon], noisy[noisy > 50 / epsilon])
        if epsilon >= 100:  # there is no noise
            assert estimate == pytest.approx(np.maximum(noisy, 0), abs=1e-3)


@pytest.mark.parametrize("edge", [False, True])
def test_no_cells_and_no_trials(edge):
    for shape in [(0,), (3, 0), (0, 5)]:
        assert change_points(np.zeros(shape), 1.0, edge=edge).shape == shape


@pytest.mark.parametrize("orders", [[[0, 1]], [[0, 1, 1]], [[0.0, 1.0, 2.0]], [[1, 2, 3]]])
def test_orders_must_be_permutations(orders):
    with pytest.raises(BadInput, match="permutations of the 3 cells"):
        change_points([0, 1, 2], 1.0, orders)
