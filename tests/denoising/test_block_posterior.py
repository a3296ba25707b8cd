"""Posterior means where blocks of a tree were measured unevenly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from split_tables import parts

from adyton.denoising import splits as split_laws
from adyton.denoising import top_down
from adyton.denoising.top_down import block_posterior
from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.queries.domain_trees import layout, tree_of_halves
from adyton.queries.hierarchy import BlockTree
from adyton.solving.trees import BlockAnswers
from over_cases import over

RATE = 1.0
VARIANCE = 1 / (2 * np.sinh(RATE / 2) ** 2)
"""Of discrete Laplace noise that falls by e^-RATE a count."""


def empty(cells):
    """Halves of halves without answers."""
    return BlockAnswers.none(tree_of_halves(cells))


def random_tiling(tree, random, block=0):
    """Blocks that cover the domain."""
    if block >= tree.blocks - tree.cells or random.random() < 0.3:
        return [block]
    first, last = layout(tree).offsets[block : block + 2]
    return [one for child in range(first, last) for one in random_tiling(tree, random, child)]


@pytest.fixture
def one_pass(monkeypatch):
    """The posterior under the prior that the passes start from, without any fit, in steps of one row."""
    monkeypatch.setattr(top_down, "_SOLE_PASSES", 1)
    monkeypatch.setattr(top_down, "_COARSE_NOISE", 1e9)


@pytest.mark.parametrize("answers", [[3, 3, 1, 1], [0, 1, -1, 0], [9, 2, 8, 0], [7, 5, -1, 3]])
@pytest.mark.usefixtures("one_pass")
def test_one_pass_is_the_exact_posterior_mean(answers):
    """The left half is one leaf of two cells, the right half was cut: only the splits of the tree have a prior."""
    tree = empty(4).with_answers([0, 1, 5, 6], answers, VARIANCE)
    splits, _ = parts(split_laws.mixed(split_laws.start(3)))
    total, first = 0.0, np.zeros(3)
    for left, a, b in itertools.product(range(20), repeat=3):
        truth = np.array([left + a + b, left, a, b])
        prior = float(splits[2, left, a + b]) * float(splits[1, a, b])
        weight = prior * np.exp(-RATE * np.abs(truth - answers).sum())
        total, first = total + weight, first + weight * truth[1:]
    means = first / total
    assert block_posterior(tree) == pytest.approx([means[0] / 2, means[0] / 2, means[1], means[2]], abs=3e-3)


@pytest.mark.parametrize("cells", [2, 5, 64, 1000])
def test_whole_levels_are_as_from_the_top_down(cells):
    random = np.random.default_rng(cells)
    counts = random.poisson(random.gamma(0.2, 20, cells))
    coarse = 1 << max(1, (cells - 1).bit_length() // 2)
    blocks = Hierarchy.of_blocks(cells, [coarse, 1])
    answers = np.rint(blocks @ counts + random.laplace(0, 2, blocks.count))
    expected = top_down.top_down(blocks, answers, 8.0)
    known = empty(cells)
    tree, number = known.tree, blocks.count - cells
    depth = len(tree.boundaries) - coarse.bit_length()
    places = np.arange(tree.level_starts[depth], tree.level_starts[depth + 1])
    whole = number - places.size
    assert whole in (0, 1)
    known = known.with_answers(places, answers[whole:number], 8.0)
    known = known.with_answers(tree.blocks - cells + np.arange(cells), answers[number:], 8.0)
    if whole:
        known = known.with_answers([0], answers[:1], 8.0)
    assert block_posterior(known) == pytest.approx(expected, abs=1e-3)


def test_blocks_of_the_same_cells_share_their_answers():
    """Of 4 cells, in blocks of 1 | 3, 1 | 1 | 2, 1 | 1 | 1 | 1: the first cell is a block three times."""
    tree = BlockTree(4, [[0, 4], [0, 1, 4], [0, 1, 2, 4], range(5)])
    often = BlockAnswers.none(tree).with_answers([1, 2], [20.0, 31.0], 2.0)
    often = often.with_answers([3, 4, 5], [18.0, 2.0, 30.0], 3.0).with_answers([8, 9], [0.0, 29.0], 1.0)
    once = BlockAnswers.none(tree).with_answers([6], [(20 / 2 + 18 / 3) / (1 / 2 + 1 / 3)], 6 / 5)
    once = once.with_answers([2], [31.0], 2.0).with_answers([7, 5], [2.0, 30.0], 3.0)
    once = once.with_answers([8, 9], [0.0, 29.0], 1.0)
    assert block_posterior(often) == pytest.approx(block_posterior(once), rel=1e-9)
    assert block_posterior(often) == pytest.approx([19.2, 1.5, 0.3, 29.3], abs=1.0)


@over([2, 3, 7, 300], [0.0, 30.0, 1e12], [1e-300, 1.0, 1e13])
def test_any_tiling_any_counts_any_noise(cells, scale, noise):
    random = np.random.default_rng(cells)
    for _ in range(5):
        known, truth = empty(cells), np.rint(random.gamma(0.3, 1, cells) * scale)
        sums = np.concatenate([[0.0], np.cumsum(truth)])
        for _ in range(2):
            tree = known.tree
            blocks = np.array(random_tiling(tree, random))
            first = layout(tree).starts[blocks]
            counts = sums[first + layout(tree).sizes[blocks]] - sums[first]
            answers = np.rint(counts + random.laplace(0, np.sqrt(noise / 2), blocks.size))
            known = known.with_answers(blocks, answers, noise)
        found = block_posterior(known)
        assert found.shape == (cells,)
        assert np.isfinite(found).all()
        assert found.min() >= -1e-6 * max(scale, 1)
        assert abs(found.sum() - truth.sum()) < 1e-6 * truth.sum() + 10 * np.sqrt(2 * noise * cells) + 1


@over([1, 5], [-3.0, 0.0, 10.0, 1e12])
def test_a_domain_that_was_not_divided(cells, answer):
    tree = empty(cells).with_answers([0], [answer], 2.0)
    assert block_posterior(tree) == pytest.approx([max(0.0, answer) / cells] * cells)


def test_sparse_counts_lose_most_of_the_error_that_least_squares_leaves():
    random = np.random.default_rng(1)
    counts = np.zeros(1024, dtype=np.int64)
    counts[200:220] = random.poisson(40, 20)
    tree = empty(1024).with_answers(np.arange(15, 31), counts.reshape(16, 64).sum(axis=1), 30.0)
    cells = np.arange(1023 + 192, 1023 + 256)  # of the block that holds the rows, and of no other
    tree = tree.with_answers(cells, counts[192:256] + np.rint(random.laplace(0, 3, 64)), 18.0)
    found, plain = block_posterior(tree) - counts, tree.cells() - counts
    assert np.linalg.norm(found[192:256]) < 0.75 * np.linalg.norm(plain[192:256])


@pytest.mark.parametrize("blocks", [[], [1], [0, 1], [3, 4, 5]])
def test_blocks_that_do_not_cover_are_refused(blocks):
    tree = empty(4).with_answers(blocks, np.ones(len(blocks)), 1.0)
    with pytest.raises(BadInput, match="some cells are in no measured block"):
        block_posterior(tree)
