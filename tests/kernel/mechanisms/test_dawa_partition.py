"""DAWA's partition: exact costs, the exact law of the choice on small domains, and the published shortcuts caught."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import chisquare

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import DawaPartition
from adyton.kernel.mechanisms.published import dawa_partition
from adyton.kernel.mechanisms.published.dawa_partition import LeastCost
from adyton.kernel.mechanisms.published.windows import mean_costs, median_costs
from adyton.kernel.shapes import VectorShape
from adyton.noise import ExactNoise, SimulatedNoise
from adyton.queries import Partition
from adyton.session.wire import decode, encode
from adyton_lab.audit.pairs import vector_pairs
from adyton_lab.audit.statistical import audit_mechanism
from over_cases import over

FALSE_ALARM = 1e-6


# ---- costs, against fractions ---------------------------------------------------------------------------------------


def deviation(x, first, end):
    cells = [F(int(value)) for value in x[first:end]]
    mean = sum(cells) / len(cells)
    return sum(abs(value - mean) for value in cells)


def all_excesses(values, length):
    """h of every window of this length, with a Fenwick tree over the distinct values, in Python integers."""
    distinct = sorted(set(values))
    place = {value: rank for rank, value in enumerate(distinct, 1)}
    numbers, sums = [0] * (len(distinct) + 1), [0] * (len(distinct) + 1)
    highest = 1 << len(distinct).bit_length()
    total, found = 0, []
    for end, value in enumerate(values):
        for change, moved in ((1, value), (-1, values[end - length])) if end >= length else ((1, value),):
            total += change * moved
            rank = place[moved]
            while rank < len(numbers):
                numbers[rank] += change
                sums[rank] += change * moved
                rank += rank & -rank
        if end < length - 1:
            continue
        rank, below, sum_below, step = 0, 0, 0, highest
        while step:  # the largest rank whose value is at most the mean
            if rank + step < len(numbers) and length * distinct[rank + step - 1] <= total:
                rank += step
                below, sum_below = below + numbers[rank], sum_below + sums[rank]
            step //= 2
        found.append(length * (total - sum_below) - (length - below) * total)
    return found


def cut(values, factor):
    """Counts cut off at the public bound from which on *factor* times as many would not fit 62 bits."""
    most = (2**62 - 1) // factor
    return [max(-most, min(most, int(value))) for value in values]


def median_deviation(x, first, end):
    window = sorted(F(int(value)) for value in x[first:end])
    return sum(abs(value - window[len(window) // 2]) for value in window)


def costs_in_fractions(x, lengths, grid):
    costs = np.zeros((len(lengths), len(x)), dtype=object)
    for row, length in zip(costs, lengths, strict=True):
        for end in range(length, len(x) + 1):
            row[end - 1] = math.floor(grid * deviation(x, end - length, end))
    return costs


def data(cells):
    random = np.random.default_rng(cells)
    yield "few", random.poisson(1, cells)
    yield "signed", random.integers(-50, 50, cells)
    yield "heavy tail", np.minimum(random.pareto(0.5, cells) * 10, 1e9).astype(np.int64)
    yield "near 2^53", random.integers(2**53 - 5, 2**53 + 5, cells)
    yield "near 2^62", random.integers(2**62 - 5, 2**62 + 5, cells)
    beyond = random.integers(0, 3, cells).astype(object)
    beyond[0] = 2**70 + 1
    yield "beyond 64 bits", beyond


@over([1, 2, 3, 17, 40], ["powers", "all"])
def test_deviations_are_exact(cells, lengths):
    selection = DawaPartition(lengths=lengths)
    sizes = selection.sizes(cells)
    for name, x in data(cells):
        grid, before = selection.grid(sizes), x.copy()
        seen = cut(x, 2 * max(2 * grid, int(sizes[-1])) * cells)
        assert (mean_costs(x, sizes, grid) == costs_in_fractions(seen, sizes.tolist(), grid)).all(), name
        assert (x == before).all()
        if lengths == "powers":
            exact = [selection.grid(sizes) * deviation(x, 0, int(size)) for size in sizes]
            assert all(cost.denominator == 1 for cost in exact)


@pytest.mark.parametrize("cells", [1, 2, 3, 17, 40])
def test_distances_from_the_median_are_exact(cells):
    sizes = np.arange(1, cells + 1)
    for name, x in data(cells):
        expected = np.zeros((cells, cells), dtype=object)
        for length, end in itertools.combinations_with_replacement(range(1, cells + 1), 2):
            window = sorted(cut(x[end - length : end], 14 * cells))
            expected[length - 1, end - 1] = 7 * sum(abs(value - window[length // 2]) for value in window)
        assert (median_costs(x, sizes, 7) == expected).all(), name


def test_many_distinct_counts_and_long_jumps_of_the_mean():
    random = np.random.default_rng(0)
    for x in (random.permutation(3000), np.where(np.arange(3000) % 97, random.integers(0, 9, 3000), 10**6)):
        sizes = np.array([64, 256, 1000])
        expected = [all_excesses(x.tolist(), size) for size in sizes.tolist()]
        found = mean_costs(x, sizes, 1 << 10)
        for size, row, excesses in zip(sizes.tolist(), found, expected, strict=True):
            assert row[size - 1 :].tolist() == [(1 << 11) * excess // size for excess in excesses]


@pytest.mark.parametrize("centre", ["mean", "median"])
@pytest.mark.parametrize("lengths", ["powers", "all"])
def test_one_row_moves_a_cost_by_at_most_its_sensitivity(lengths, centre):
    random = np.random.default_rng(1)
    selection = DawaPartition(lengths=lengths, centre=centre)
    sizes = selection.sizes(13)
    moves, grid = selection.sensitivities(sizes), selection.grid(sizes)
    attained = np.zeros(sizes.size, dtype=np.int64)
    for top in (0, *[1, 3, 30] * 100):
        x = random.choice([1, -1]) * random.integers(0, top + 1, 13)
        y = x.copy()
        y[random.integers(13)] += 1
        left, right = (selection._deviations(side, sizes, grid) for side in (x, y))
        attained = np.maximum(attained, np.abs(left - right).max(axis=1))
    assert (attained <= moves).all()
    assert (attained >= moves - 1).all()


# ---- the dynamic program, against all partitions --------------------------------------------------------------------


def every_partition(cells, lengths):
    if cells == 0:
        return [()]
    return [
        (*rest, last) for last in lengths if last <= cells for rest in every_partition(cells - last, lengths)
    ]  # fmt: skip


def labels_of(parts):
    return np.repeat(np.arange(len(parts)), parts)


@pytest.mark.parametrize("scale", [1, 2**61, 2**70])
@pytest.mark.parametrize("lengths", [(1, 2, 4, 8), (1, 2, 3, 4, 5, 6, 7, 8)])
def test_the_least_noisy_cost_wins_and_ties_go_to_short_last_buckets(scale, lengths):
    """With few different numbers ties abound; large ones take the way through Python integers."""
    random = np.random.default_rng(2)
    sizes, cells, trials = np.array(lengths), 8, 6
    for _ in range(4):
        costs = random.integers(0, 3, (sizes.size, cells)).astype(object) * scale
        noise = random.integers(-2, 3, (trials, cells, sizes.size)).astype(object) * scale
        if scale == 1:
            costs, noise = costs.astype(np.int64), noise.astype(np.int64)
        program = LeastCost(costs, int(costs.max()) * cells, scale, sizes, trials)
        program.grow(noise[:, :4])
        program.grow(noise[:, 4:])
        for drawn, found in zip(noise, program.labels(), strict=True):

            def cost(parts, drawn=drawn, costs=costs):
                ends = itertools.accumulate(parts)
                places = [
                    (end - 1, int(np.flatnonzero(sizes == part)[0])) for end, part in zip(ends, parts, strict=True)
                ]
                return sum(costs[place, end] + drawn[end, place] + scale for end, place in places)

            best = min(every_partition(cells, lengths), key=lambda parts: (cost(parts), parts[::-1]))
            assert found.tolist() == labels_of(best).tolist()


# ---- the exact law --------------------------------------------------------------------------------------------------


def noisy_law(cost, scale, reach, clamped):
    """P(cost + noise = z) for z in -reach … reach: never above cost + ⌊scale⌋, geometric below it."""
    places = np.arange(-reach, reach + 1)
    top = cost + math.floor(scale)
    if scale == 0:
        law = (places == cost).astype(float)
    else:
        law = np.where(places <= top, (1 - math.exp(-1 / scale)) * np.exp(np.minimum(0, places - top) / scale), 0.0)
    if clamped:
        law[reach] += law[:reach].sum()
        law[:reach] = 0
    return law


def pair_law(x, scales, grid, extra, *, clamped=False, tail=30):
    """The law of the partition into buckets of one or two cells.

    The difference of successive least costs is a Markov chain, d_j = min(s_j, p_j − d_{j−1}) for the noisy costs s_j
    and p_j of the last single cell and the last pair, and the last bucket is single just if s_j ≤ p_j − d_{j−1}.
    """
    cells = len(x)
    largest = max(float(scale) for scale in scales)
    reach = 2 * (math.ceil(tail * largest) + int(grid * max(map(int, x))) + extra)
    places = np.arange(-reach, reach + 1)

    def law(length, end):
        cost = int(grid * deviation(x, end - length, end))
        shifted = np.zeros(places.size)
        shifted[extra:] = noisy_law(cost, float(scales[length - 1]), reach, clamped)[: places.size - extra]
        return shifted

    partitions = every_partition(cells, (1, 2))
    lasts = [dict(zip(itertools.accumulate(parts), parts, strict=True)) for parts in partitions]
    mass = np.tile(law(1, 1), (len(partitions), 1))
    both = places[:, None] + places[None, :]
    index, inside = np.clip(both + reach, 0, 2 * reach), np.abs(both) <= reach
    for end in range(2, cells + 1):
        single, pair = law(1, end), law(2, end)
        single_above = np.append(np.cumsum(single[::-1])[::-1][1:], 0.0)  # P(s > z)
        pair_from = np.cumsum(pair[::-1])[::-1]  # P(p ≥ z)
        reached = np.where(both > reach, 0.0, np.where(inside, pair_from[index], 1.0))
        by_single = mass @ (single[None, :] * reached)
        by_pair = mass @ (np.where(inside, pair[index], 0.0) * single_above[None, :])
        wanted = np.array([last.get(end, 0) for last in lasts])[:, None]
        mass = np.where(wanted == 1, by_single, np.where(wanted == 2, by_pair, by_single + by_pair))
    return dict(zip(partitions, mass.sum(axis=1).tolist(), strict=True))


def loss_between(left, right):
    if any((left[parts] == 0) != (right[parts] == 0) for parts in left):
        return math.inf
    return max(abs(math.log(left[parts] / right[parts])) for parts in left if left[parts])


def pairs_only(cost):
    return DawaPartition(F(cost), longest=2)


@pytest.fixture
def coarse(monkeypatch):
    """The coarsest grid there is, so that all values of the noise can be summed over."""
    monkeypatch.setattr(dawa_partition, "_COARSEST", 1)


def scales_of(selection, cells, epsilon):
    ratio = selection.scales(selection.sizes(cells), epsilon)
    return [F(int(top), int(ratio.denominator[0])) for top in ratio.numerator]


def largest_loss(spoil, epsilon, *, cells=4, clamped=False, count=20, costs=(2, 8)):
    worst = 0.0
    small = [pair for pair in vector_pairs((cells,), count=count) if pair.left.max() < 20]
    for cost in costs:
        scales = spoil(scales_of(pairs_only(cost), cells, epsilon))
        for pair in small:
            laws = [pair_law(x, scales, 1, cost, clamped=clamped) for x in (pair.left, pair.right)]
            worst = max(worst, loss_between(*laws))
    return worst / float(epsilon)


def honest(scales):
    return scales


def test_scales_are_those_of_the_claim(coarse):
    by_median = DawaPartition(centre="median")
    assert scales_of(by_median, 8, F(3)) == [F(4, 3), F(8, 3), F(8, 3), F(8, 3)]  # G/ε and 2G/ε with G = 4
    assert scales_of(pairs_only(1), 5, F(1, 2)) == [2, 4]  # (Δ_2 + Δ_1)/ε and (Δ_2 + Δ_2)/ε with Δ_1 = 0, Δ_2 = 1
    assert scales_of(DawaPartition(), 8, F(3)) == [F(7, 3), F(11, 3), F(13, 3), F(14, 3)]  # 7, 4 + 7, 6 + 7, 7 + 7
    assert scales_of(DawaPartition(lengths="all"), 3, F(1)) == [2, 3, 4]  # ⌈2(1 − 1/L)⌉ = 0, 1, 2


@pytest.mark.parametrize("epsilon", [F(1), F(3)])
def test_exact_loss_is_at_most_epsilon_and_halved_noise_is_not(coarse, epsilon):
    assert 0.5 < largest_loss(honest, epsilon) <= 1 + 1e-9
    assert largest_loss(lambda scales: [scale / 2 for scale in scales], epsilon, count=12) > 1.2


def test_exact_loss_on_eight_cells(coarse):
    assert 0.8 < largest_loss(honest, F(3), cells=8, count=12, costs=(8,)) <= 1 + 1e-9


def test_what_is_published_loses_twice_what_it_claims_already_on_pairs(coarse):
    """Half the noise, none on single cells, no negative costs."""
    assert largest_loss(lambda scales: [0, scales[1] / 2], F(1), clamped=True, count=12) > 1.99


def quad_law(x, scales, grid, extra, *, clamped=False, tail=24, distance=deviation):
    """The law on four cells with buckets of 1, 2 and 4: the chain of :func:`pair_law` with the least cost itself."""
    reach = math.ceil(tail * max(float(scale) for scale in scales)) + int(grid * 2 * sum(map(int, x))) + extra
    places = np.arange(-reach, reach + 1)
    far = 4 * reach

    def law(length, end):
        cost = int(grid * distance(x, end - length, end))
        shifted = np.zeros(places.size)
        kept = noisy_law(cost, float(scales[length.bit_length() - 1]), reach, clamped)
        shifted[extra:] = kept[: places.size - extra]
        return shifted

    partitions = every_partition(4, (1, 2))
    result = {}
    both = places[:, None] + places[None, :]
    index, inside = np.clip(both + reach, 0, 2 * reach), np.abs(both) <= reach
    steps = []
    for end in range(2, 5):
        single, pair = law(1, end), law(2, end)
        single_above = np.append(np.cumsum(single[::-1])[::-1][1:], 0.0)
        pair_from = np.cumsum(pair[::-1])[::-1]
        reached = np.where(both > reach, 0.0, np.where(inside, pair_from[index], 1.0))
        steps.append((single[None, :] * reached, np.where(inside, pair[index], 0.0) * single_above[None, :]))
    four_from = np.cumsum(law(4, 4)[::-1])[::-1]  # P(q ≥ z)
    costs = np.arange(-far, far + 1)
    waits = np.where(costs > reach, 0.0, np.where(costs < -reach, 1.0, four_from[np.clip(costs + reach, 0, 2 * reach)]))
    for parts in partitions:
        last = dict(zip(itertools.accumulate(parts), parts, strict=True))
        mass = np.zeros((costs.size, places.size))  # least cost so far × its last difference
        mass[places + far, np.arange(places.size)] = law(1, 1)
        for end, (by_single, by_pair) in enumerate(steps, 2):
            chosen = {1: by_single, 2: by_pair}.get(last.get(end), by_single + by_pair)
            moved = mass @ chosen
            mass = np.zeros_like(moved)
            for column, step in enumerate(places):
                low, high = max(0, step), min(costs.size, costs.size + step)
                mass[low:high, column] = moved[low - step : high - step, column]
        result[parts] = float(mass.sum(axis=1) @ waits)
    result[(4,)] = 1 - sum(result.values())
    return result


def quad_loss(spoil, pairs, *, clamped=False, extra=4, distance=deviation):
    scales = spoil(scales_of(DawaPartition(), 4, F(3)))
    return max(
        loss_between(*(quad_law(x, scales, 2, extra, clamped=clamped, distance=distance) for x in (left, right))) / 3
        for left, right in pairs
    )  # fmt: skip


QUADS = [
    (np.array(left), np.array(right))
    for left, right in (
        ([0, 0, 0, 0], [0, 1, 0, 0]),
        ([1, 1, 1, 1], [1, 1, 2, 1]),
        ([0, 2, 1, 0], [0, 2, 0, 0]),
    )
]


def test_exact_loss_with_buckets_of_four(coarse):
    assert 0.5 < quad_loss(honest, QUADS) <= 1 + 1e-6


def noise_of_the_median(_):
    return scales_of(DawaPartition(centre="median"), 4, F(3))


def test_exact_loss_with_medians(coarse):
    """It reaches ε, so nothing is to spare: half of the noise loses twice as much."""
    assert 0.99 < quad_loss(noise_of_the_median, QUADS, extra=6, distance=median_deviation) <= 1 + 1e-6

    def half(scales):
        return [scale / 2 for scale in noise_of_the_median(scales)]

    assert quad_loss(half, QUADS, extra=6, distance=median_deviation) > 1.9


def test_the_mean_with_the_noise_of_the_median_is_caught(coarse):
    assert quad_loss(noise_of_the_median, QUADS, extra=6) > 1.25


def test_no_noise_on_single_cells_is_caught(coarse):
    """A pair of equal cells never costs more than two free ones; one row more, and it may."""
    assert quad_loss(lambda scales: [0, *scales[1:]], QUADS, extra=2) > 1.25


def test_clamped_costs_are_caught(coarse):
    assert quad_loss(honest, QUADS, clamped=True) > 1.25


# ---- the sampler ----------------------------------------------------------------------------------------------------


def tally(selection, x, epsilon, noise, trials, partitions):
    drawn = selection.draw(PrivateVector.of(np.asarray(x)), epsilon, noise, trials)
    powers = 10 ** np.arange(len(x))
    found, counts = np.unique(drawn @ powers, return_counts=True)
    counted = dict(zip(found.tolist(), counts.tolist(), strict=True))
    return np.array([counted.pop(int(labels_of(parts) @ powers), 0) for parts in partitions]), counted


def agree(selection, x, epsilon, law, noise, trials=100_000):
    observed, strange = tally(selection, x, epsilon, noise, trials, list(law))
    expected = np.array(list(law.values())) * trials
    common = expected > 20
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    kept = expected > 5
    return (
        not strange and chisquare(observed[kept], expected[kept] / expected[kept].sum() * observed[kept].sum()).pvalue
    )


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(3)], ids=["exact", "simulated"])
def test_samples_follow_the_law(coarse, noise):
    for x, epsilon, cost in (([0, 2, 2, 5, 0], F(1), 1), ([3, 3, 0, 0, 1, 1], F(3), 2)):
        law = pair_law(x, scales_of(pairs_only(cost), len(x), epsilon), 1, cost)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12)
        assert agree(pairs_only(cost), x, epsilon, law, noise) > FALSE_ALARM
    for centre, distance in (("mean", deviation), ("median", median_deviation)):
        selection = DawaPartition(F(2), centre=centre)
        law = quad_law([0, 2, 1, 0], scales_of(selection, 4, F(3)), 2, 4, distance=distance)
        assert agree(selection, [0, 2, 1, 0], F(3), law, noise) > FALSE_ALARM


def test_a_sampler_with_other_noise_does_not_follow_the_law(coarse, monkeypatch):
    x, epsilon = [0, 2, 2, 5, 0], F(1)
    law = pair_law(x, scales_of(pairs_only(1), 5, epsilon), 1, 1)
    honest_scales = DawaPartition.scales
    monkeypatch.setattr(
        DawaPartition, "scales", lambda self, sizes, given: honest_scales(self, sizes, given * F(11, 10))
    )
    assert agree(pairs_only(1), x, epsilon, law, SimulatedNoise(0)) < FALSE_ALARM


class Repeating(SimulatedNoise):
    """One seed for every bucket of a trial."""

    def discrete_laplace(self, size, scale):
        return np.repeat(super().discrete_laplace(size, scale)[..., -1:], size[-1], axis=-1)


def test_one_draw_for_several_buckets_does_not_follow_the_law(coarse):
    x, epsilon = [0, 2, 2, 5, 0], F(1)
    law = pair_law(x, scales_of(pairs_only(1), 5, epsilon), 1, 1)
    assert agree(pairs_only(1), x, epsilon, law, Repeating(0)) < FALSE_ALARM


def test_parts_of_trials_and_of_cells_change_nothing_but_the_order_of_the_draws(coarse, monkeypatch):
    x, epsilon = [0, 2, 2, 5, 0], F(1)
    law = pair_law(x, scales_of(pairs_only(1), 5, epsilon), 1, 1)
    monkeypatch.setattr(dawa_partition, "_AT_ONCE", 4)
    monkeypatch.setattr(dawa_partition, "_FIRST_CELLS", 1)
    assert agree(pairs_only(1), x, epsilon, law, SimulatedNoise(1), trials=2_000) > FALSE_ALARM


@pytest.mark.full
@pytest.mark.parametrize("case", DawaPartition.audit_cases(), ids=lambda case: case.name)
def test_audit(case):
    """More draws of each pair than in the quick profile of ``adyton audit``, which attacks these cases every time."""
    assert audit_mechanism(case, pairs=10, draws=20_000, strong_draws=100_000).passed


class Quarter(SimulatedNoise):
    def discrete_laplace(self, size, scale):
        return super().discrete_laplace(size, replace(scale, denominator=scale.denominator * 4))


@pytest.mark.full
def test_the_audit_catches_a_quarter_of_the_noise():
    case = DawaPartition.audit_cases()[0]
    assert not audit_mechanism(case, pairs=30, draws=40_000, strong_draws=400_000, noise=Quarter(0)).passed


# ---- what goes in and comes out -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selection",
    [DawaPartition(), DawaPartition(lengths="all"), DawaPartition(longest=1), DawaPartition(centre="median")],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [F(1, 10**6), F(1), F(1000), F(1, 10**30)])
def test_every_domain_and_budget(selection, epsilon):
    for cells in (1, 2, 3, 5, 64, 65):
        for _, x in data(cells):
            labels = selection.choose(x, epsilon, SimulatedNoise(0))
            assert labels[0] == 0
            assert set(np.diff(labels).tolist()) <= {0, 1}
            sizes = set(np.bincount(labels).tolist())
            assert sizes <= set(selection.sizes(cells).tolist())


def test_one_cell_or_single_cells_need_no_noise():
    assert DawaPartition().choose(np.array([7]), F(1), None).tolist() == [0]
    assert DawaPartition(longest=1).choose(np.array([7, 9]), F(1), None).tolist() == [0, 1]


def test_a_clear_structure_is_found():
    x = np.repeat([0, 1000, 50], [32, 64, 16])
    found = DawaPartition(F(10)).choose(x, F(10), SimulatedNoise(0))
    edges = np.flatnonzero(np.diff(found)) + 1
    assert {32, 96} <= set(edges.tolist())
    assert edges.size < 30
    every = DawaPartition(F(40), "all").choose(x, F(10), SimulatedNoise(0))
    assert {32, 96} <= set((np.flatnonzero(np.diff(every)) + 1).tolist())


def test_from_the_kernel():
    kernel = Kernel.simulated([0, 0, 0, 90, 90, 90], epsilon=1, seed=0)
    buckets = kernel.root.select(DawaPartition(F(1)), "1/3")
    assert isinstance(buckets, Partition)
    assert buckets.cells == 6
    assert kernel.spent == F(1, 3)


@pytest.mark.parametrize(
    ("selection", "shape", "message"),
    [
        (DawaPartition(1), (4,), "bucket_cost must be a Fraction"),
        (DawaPartition(F(-1)), (4,), "bucket_cost must be a Fraction from 0"),
        (DawaPartition(lengths="some"), (4,), "'powers' or 'all'"),
        (DawaPartition(centre="mode"), (4,), "'mean' or 'median'"),
        (DawaPartition(longest=0), (4,), "longest must be"),
        (DawaPartition(longest=True), (4,), "longest must be"),
        (DawaPartition(), (2, 2), "cells in a line"),
        (DawaPartition(lengths="all"), (10_000,), "longest up to 3,000"),
        (DawaPartition(lengths="all", longest=3001), (10_000,), "more than 30,000,000 buckets"),
    ],
)
def test_bad_input(selection, shape, message):
    with pytest.raises(BadInput, match=message):
        selection.check(VectorShape(shape))


def test_wire():
    for selection in (DawaPartition(), DawaPartition(F(4, 3), "all", 12, "median")):
        assert decode(encode(selection)) == selection
