"""Least squares on a tree that fills up, against the normal equations."""

import itertools

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.solving.dyadic_tree import DyadicTree

SIZES = [1, 2, 3, 7, 13, 16]


def cells_of(block, tree):
    """A row of ones where the block has cells."""
    level = tree.height + 1 - int(block).bit_length()
    first = (int(block) << level) - tree.sizes.size // 2
    row = np.zeros(tree.sizes.size // 2)
    row[first : first + (1 << level)] = 1
    return row[tree.sizes[tree.sizes.size // 2 :] > 0]


def trees(cells):
    """Cells one after the other, and with gaps."""
    places = np.sort(np.random.default_rng(cells).choice(4 * cells, cells, replace=False))
    return DyadicTree.of(cells), DyadicTree.at(places, (4 * cells - 1).bit_length())


def random_tiling(tree, random, block=1):
    """Blocks that cover the domain."""
    if tree.sizes[block] == 0:
        return []
    if 2 * block >= tree.sizes.size or random.random() < 0.3:
        return [block]
    return random_tiling(tree, random, 2 * block) + random_tiling(tree, random, 2 * block + 1)


@pytest.mark.parametrize("cells", SIZES)
def test_normal_equations(cells):
    """Where cells cannot be told apart, the solution of smallest norm treats them alike."""
    random = np.random.default_rng(cells)
    for empty, _ in itertools.product(trees(cells), range(20)):
        tree, rows, answers, weights = empty, [], [], []
        for _ in range(3):
            blocks = random_tiling(tree, random)
            given, variance = random.normal(10, 5, len(blocks)), float(random.uniform(0.5, 4.0))
            tree = tree.with_answers(blocks, given, variance)
            rows += [cells_of(block, tree) / np.sqrt(variance) for block in blocks]
            answers += (given / np.sqrt(variance)).tolist()
            weights.append(variance)
        expected = np.linalg.lstsq(np.array(rows), np.array(answers), rcond=None)[0]
        assert tree.cells_estimate() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("cells", SIZES)
def test_blocks_are_sums_of_their_cells(cells):
    random = np.random.default_rng(cells)
    for empty in trees(cells):
        tree = empty.with_answers(random_tiling(empty, random), 7.0, 1.0).with_answers([1], [3.0], 2.0)
        estimates, variances = tree.estimates()
        for block in np.flatnonzero(tree.sizes):
            assert estimates[block] == pytest.approx(cells_of(block, tree) @ tree.cells_estimate())
        assert variances[1] <= 2.0


@pytest.mark.parametrize("cells", SIZES)
def test_levels_and_first_places(cells):
    for tree in trees(cells):
        blocks = np.arange(1, tree.sizes.size)
        assert tree.levels(blocks).tolist() == [tree.height + 1 - int(block).bit_length() for block in blocks]
        width = tree.sizes.size // 2
        assert tree.starts(blocks).tolist() == [(int(b) << int(tree.levels(b))) - width for b in blocks]


@pytest.mark.parametrize(
    ("places", "height"), [([], 2), ([0, 0], 2), ([1, 0], 2), ([-1, 0], 2), ([0, 4], 2), ([0.5], 1), ([0], -1)]
)
def test_places_that_are_refused(places, height):
    with pytest.raises(BadInput, match=r"places|height"):
        DyadicTree.at(places, height)


def test_answers_on_one_block_are_averaged_by_precision():
    tree = DyadicTree.of(1).with_answers([1], [10.0], 1.0).with_answers([1], [4.0], 2.0)
    assert tree.cells_estimate().tolist() == [8.0]


@pytest.mark.parametrize("cells", [1000, 4097])
def test_large_counts_and_little_noise(cells):
    truth = np.random.default_rng(0).integers(0, 10**12, cells)
    tree = DyadicTree.of(cells)
    leaves = np.flatnonzero(tree.sizes[tree.sizes.size // 2 :]) + tree.sizes.size // 2
    tree = tree.with_answers(leaves, truth, 0.0).with_answers([1], truth.sum() + 100.0, 1.0)
    assert tree.cells_estimate() == pytest.approx(truth, rel=1e-9, abs=1e-3)


def test_nothing_measured():
    assert DyadicTree.of(5).cells_estimate().tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("blocks", "answers", "variances"),
    [
        ([0], [1.0], 1.0),
        ([16], [1.0], 1.0),
        ([13], [1.0], 1.0),
        ([1], [np.nan], 1.0),
        ([1], [1.0], -1.0),
        ([2, 2], 1.0, 1.0),
    ],
)
def test_refusals(blocks, answers, variances):
    with pytest.raises(BadInput, match=r"blocks are numbered|answers are finite"):
        DyadicTree.of(5).with_answers(blocks, answers, variances)
