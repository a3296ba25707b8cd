"""Least squares on a tree that fills up, against the normal equations."""

import itertools

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.plans.published.groups import tree_of_groups
from adyton.queries import Partition
from adyton.queries.domain_trees import layout, tree_of_halves
from adyton.queries.hierarchy import BlockTree
from adyton.solving.trees import BlockAnswers
from over_cases import over

SIZES = [1, 2, 3, 7, 13, 16]


def cells_of(block, tree):
    """A row of ones where the block has cells."""
    row = np.zeros(tree.cells)
    row[layout(tree).starts[block] : layout(tree).starts[block] + layout(tree).sizes[block]] = 1
    return row


def trees(cells):
    """Blocks of powers of two, and blocks with one part only here and there."""
    random = np.random.default_rng(cells)
    cuts = [random.choice(cells + 1, int(random.integers(0, cells + 1)), replace=False) for _ in range(4)]
    cuts = [np.unique(np.concatenate([[0, cells], *cuts[:level]])) for level in range(5)]
    return tree_of_halves(cells), BlockTree(cells, [*cuts, np.arange(cells + 1)])


def random_tiling(tree, random, block=0):
    """Blocks that cover the domain."""
    if block >= tree.blocks - tree.cells or random.random() < 0.3:
        return [block]
    first, last = layout(tree).offsets[block : block + 2]
    return [one for child in range(first, last) for one in random_tiling(tree, random, child)]


@pytest.mark.parametrize("cells", SIZES)
def test_normal_equations(cells):
    """Where cells cannot be told apart, the solution of smallest norm treats them alike."""
    random = np.random.default_rng(cells)
    for tree, _ in itertools.product(trees(cells), range(20)):
        known, rows, answers, weights = BlockAnswers.none(tree), [], [], []
        for _ in range(3):
            blocks = random_tiling(tree, random)
            given, variance = random.normal(10, 5, len(blocks)), float(random.uniform(0.5, 4.0))
            known = known.with_answers(blocks, given, variance)
            rows += [cells_of(block, tree) / np.sqrt(variance) for block in blocks]
            answers += (given / np.sqrt(variance)).tolist()
            weights.append(variance)
        expected = np.linalg.lstsq(np.array(rows), np.array(answers), rcond=None)[0]
        assert known.cells() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("cells", SIZES)
def test_blocks_are_sums_of_their_cells(cells):
    random = np.random.default_rng(cells)
    for tree in trees(cells):
        known = BlockAnswers.none(tree).with_answers(random_tiling(tree, random), 7.0, 1.0)
        estimates, variances = known.with_answers([0], [3.0], 2.0).estimates()
        for block in range(tree.blocks):
            assert estimates[block] == pytest.approx(cells_of(block, tree) @ estimates[-cells:])
        assert variances[0] <= 2.0


def test_answers_on_one_block_are_averaged_by_precision():
    known = BlockAnswers.none(tree_of_halves(1)).with_answers([0], [10.0], 1.0).with_answers([0], [4.0], 2.0)
    assert known.cells().tolist() == [8.0]


@pytest.mark.parametrize("cells", [1000, 4097])
def test_large_counts_and_little_noise(cells):
    truth = np.random.default_rng(0).integers(0, 10**12, cells)
    tree = tree_of_halves(cells)
    known = BlockAnswers.none(tree).with_answers(np.arange(tree.blocks - cells, tree.blocks), truth, 0.0)
    assert known.with_answers([0], truth.sum() + 100.0, 1.0).cells() == pytest.approx(truth, rel=1e-9, abs=1e-3)


def test_nothing_measured():
    assert BlockAnswers.none(tree_of_halves(5)).cells().tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("blocks", "answers", "variances"),
    [
        ([-1], [1.0], 1.0),
        ([11], [1.0], 1.0),
        ([1], [np.nan], 1.0),
        ([1], [1.0], -1.0),
        ([2, 2], 1.0, 1.0),
    ],
)
def test_refusals(blocks, answers, variances):
    with pytest.raises(BadInput, match=r"blocks are numbered|answers must be finite"):
        BlockAnswers.none(tree_of_halves(5)).with_answers(blocks, answers, variances)


@over(range(10))
def test_groups_of_cells_in_any_order(seed):
    """Some cells and groups without answers: the smallest norm shares equally, as dense least squares do."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.append(np.arange(5), random.integers(0, 5, 7)))
    tree = tree_of_groups(Partition(labels))
    rows = np.concatenate([np.ones((1, 12)), np.arange(5)[:, None] == labels, np.eye(12)[tree.order]])
    measured = np.flatnonzero(random.random(18) < 0.6)
    answers, variances = random.normal(0, 5, measured.size), random.uniform(0.5, 4, measured.size)
    scales = np.sqrt(variances)
    expected = np.linalg.pinv(rows[measured] / scales[:, None]) @ (answers / scales)
    known = BlockAnswers.none(tree).with_answers(measured, answers, variances)
    np.testing.assert_allclose(tree.unordered(known.cells()), expected, atol=1e-9)
    with pytest.raises(BadInput):
        tree_of_groups(Partition([0, -1, 1]))


def test_variances_are_those_of_least_squares_and_of_blocks_that_were_not_cut():
    """A block of 100 ± √3 rows: its halves differ by a mean square of u·(100² + 3) + 100, of which each has a half."""
    known = BlockAnswers.none(tree_of_halves(4)).with_answers([1, 2], [100.0, 7.0], [3.0, 5.0])
    rows = np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    noise = np.array([8.0, 3.0, 0.75, 0.75])
    inside = np.array([0.0, 0.0, 1.0, 1.0]) * (0.4 * (100**2 + 3) + 100) / 4
    assert known.variances(rows, 0.4) == pytest.approx(noise + inside)


def test_variances_of_blocks_that_were_not_cut_agree_with_random_divisions():
    """Blocks of 4 cells divide by chance, with u = 0: a normal approximation at five deviations has false alarms in
    less than 1e-6 of all runs; the noise is seeded."""
    known, random = BlockAnswers.none(tree_of_halves(4)).with_answers([0], [200.0], [1e-9]), np.random.default_rng(4)
    rows = random.random((3, 4))
    sums = random.multinomial(200, np.full(4, 0.25), size=20_000) @ rows.T
    assert known.variances(rows) == pytest.approx(sums.var(axis=0), rel=5 * np.sqrt(2 / 20_000))
