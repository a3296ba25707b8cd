"""The Pólya tree against a plain reading of its formulas, and what it must keep."""

import numpy as np
import pytest

from adyton.denoising.shrinkage import SPREADS, monotone_prefix, polya_tree
from adyton.errors import BadInput
from adyton.queries.domain_trees import tree_of_halves
from adyton.solving.trees import BlockAnswers
from over_cases import over

SIZES = [1, 2, 3, 7, 1000, 4097]


def by_the_formulas(cells, sizes, variances):
    """Level by level, with dictionaries instead of arrays; blocks are (first cell, end)."""
    width = 1 << (len(cells) - 1).bit_length()
    shrunk = {(0, width): float(np.sum(cells))}
    beliefs = {(0, width): np.full(len(SPREADS), 1 / len(SPREADS))}
    mixture = np.full(len(SPREADS), 1 / len(SPREADS))
    size = width // 2
    while size >= 1:
        precision = sum(own / (variance * size) for own, variance in zip(sizes, variances, strict=True) if own <= size)
        blocks = {block: held for block, held in shrunk.items() if block[1] - block[0] == 2 * size}
        found = {}
        for (start, end), held in blocks.items():
            middle = start + size
            left, right = cells[start:middle], cells[middle:end]
            even = (len(left) - len(right)) / (len(left) + len(right))
            excess = left.sum() - right.sum() - (left.sum() + right.sum()) * even
            prior = np.square(np.array(SPREADS) * max(0, held)) + max(0, held)
            noise = 2 / precision if precision else np.inf
            if precision:
                likelihood = np.exp(-0.5 * excess**2 / (prior + noise)) / np.sqrt(prior + noise)
                found[start, end] = (likelihood / likelihood.max(), excess * prior / (prior + noise), even)
            else:
                found[start, end] = (None, None, even)
        if precision:
            for _ in range(3):
                counts = np.full(len(SPREADS), 1 / len(SPREADS))
                for block, (likelihood, _, _) in found.items():
                    own = 0.4 * mixture * likelihood
                    counts += own / (own + 0.6 * beliefs[block] * likelihood).sum()
                mixture = counts / counts.sum()
        for (start, end), (likelihood, means, even) in found.items():
            held, belief = blocks[start, end], beliefs[start, end]
            difference = held * even
            if likelihood is not None:
                belief = (0.4 * mixture + 0.6 * belief) * likelihood
                belief = belief / belief.sum()
                difference += belief @ means if start + size < len(cells) else 0.0
            for block, part in (((start, start + size), 1), ((start + size, end), -1)):
                if block[0] < len(cells):
                    shrunk[block], beliefs[block] = (held + part * difference) / 2, belief
        size //= 2
    return [shrunk[place, place + 1] for place in range(len(cells))]


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 16, 21])
@pytest.mark.parametrize(("sizes", "variances"), [([1], [20.0]), ([1, 4], [30.0, 9.0]), ([2], [9.0])])
def test_formulas(cells, sizes, variances):
    random = np.random.default_rng(cells)
    estimate = random.poisson(20, cells) * random.integers(0, 3, cells) + random.normal(0, 4, cells)
    assert polya_tree(estimate, sizes, variances) == pytest.approx(by_the_formulas(estimate, sizes, variances))


@over(SIZES, [0.0, 1.0, 1e12], [1e-6, 3.0, 1e9])
def test_keeps_the_total_at_any_size(cells, scale, deviation):
    random = np.random.default_rng(cells)
    noisy = random.poisson(2.0, cells) * scale + random.laplace(0, deviation, (3, cells))
    variances = [2 * deviation**2] * 2
    result = polya_tree(noisy, [1, 16], variances)
    assert np.isfinite(result).all()
    assert result.sum(axis=-1) == pytest.approx(noisy.sum(axis=-1), rel=1e-9, abs=1e-9 * (scale + deviation) * cells)
    assert result[1].tolist() == polya_tree(noisy[1], [1, 16], variances).tolist()
    monotone = monotone_prefix(result)
    assert monotone.min() >= 0
    assert np.isfinite(monotone).all()


def test_zeros_stay():
    assert polya_tree(np.zeros((2, 7)), [1], [1.0]).tolist() == np.zeros((2, 7)).tolist()


def test_no_trials():
    assert polya_tree(np.zeros((0, 7)), [1], [1.0]).shape == (0, 7)


def test_noise_alone_goes_and_signal_stays():
    random = np.random.default_rng(1)
    noise = random.laplace(0, 10.0, (20, 1024))
    even = polya_tree(100 + noise, [1], [200.0])
    assert np.square(even - 100).mean() < 0.2 * np.square(noise).mean()
    peaks = np.where(np.arange(1024) % 32 == 0, 1e7, 0.0)
    assert np.abs(polya_tree(peaks + noise, [1], [200.0]) - peaks).max() < 150


def test_closer_prefix_sums_on_uneven_data():
    """Empty stretches, even stretches and peaks at once, measured in cells and in blocks. The factor is about 0.78."""
    random = np.random.default_rng(2)
    intensity = np.repeat(random.choice([0.0, 0.0, 1.0, 5.0], 64), 16)
    intensity[random.integers(0, 1024, 10)] += 200
    truth = random.poisson(intensity)
    before, after = [], []
    for _ in range(40):
        known = BlockAnswers.none(tree_of_halves(1024))
        for size in (1, 16, 256):
            sums = truth.reshape(-1, size).sum(axis=1)
            blocks = np.arange(sums.size - 1, 2 * sums.size - 1)
            known = known.with_answers(blocks, sums + random.laplace(0, 5.0, sums.size), 50.0)
        noisy = known.cells()
        shrunk = monotone_prefix(polya_tree(noisy, [1, 16, 256], [50.0] * 3))
        before.append(np.linalg.norm(np.cumsum(noisy - truth)))
        after.append(np.linalg.norm(np.cumsum(shrunk - truth)))
    assert np.mean(after) < 0.9 * np.mean(before)


def test_what_nothing_tells_apart_shares_alike():
    result = polya_tree([6.0, 0.0, 9.0, 3.0, 5.0], [4], [1e-9])
    assert result == pytest.approx([4.5, 4.5, 4.5, 4.5, 5.0])


def test_refusal():
    with pytest.raises(BadInput, match="powers of two"):
        polya_tree([1.0, 2.0], [3], [1.0])
