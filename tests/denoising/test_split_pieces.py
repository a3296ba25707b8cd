"""Large trees in pieces: the pieces are those of the tree, and what they find is what the whole tree finds, nearly."""

import numpy as np
import pytest

from adyton.denoising import top_down
from adyton.denoising.splits import Splits, generations, least_squares
from adyton.denoising.top_down import leaf_means, posterior
from adyton.queries.domain_trees import layout, tree_of_halves


def measured(cells, seed=0):
    """Noisy counts of blocks of halves: the total, all of eight cells, and of single cells in some places."""
    random = np.random.default_rng(seed)
    tree = tree_of_halves(cells)
    truth = random.poisson(np.repeat(random.gamma(0.3, 20, -(-cells // 16)), 16)[:cells])
    coarse = np.flatnonzero(layout(tree).sizes == 8)
    fine = tree.level_starts[-2] + np.flatnonzero(np.repeat(random.random(-(-cells // 8)) < 0.6, 8)[:cells])
    blocks = np.sort(np.concatenate([[0], coarse, fine]))
    splits = Splits.of(tree, blocks, tree.depth - layout(tree).levels)
    sums = np.concatenate([[0], np.cumsum(truth)])
    starts = layout(tree).starts[splits.blocks]
    counts = sums[starts + layout(tree).sizes[splits.blocks]] - sums[starts]
    precisions = np.where(np.isin(splits.blocks, blocks), 0.5, 0.0)
    noise = random.laplace(0, 1, counts.size).round()
    return splits, np.where(precisions > 0, counts + noise, 0.0), precisions, counts[: splits.leaves]


@pytest.mark.parametrize("most", [1, 7, 100, 700])
def test_pieces_are_the_tree(most):
    splits, answers, precisions, _ = measured(1024)
    above, pieces = top_down._cut(splits, most)
    nodes = np.concatenate([above.blocks[above.leaves :], *(piece.nodes for piece in pieces)])
    assert np.array_equal(np.sort(nodes), np.arange(splits.levels.size))
    assert all(piece.leaves <= most for piece in pieces)
    whole = least_squares(generations(splits), answers, precisions)
    inside = [top_down._inside(one.tree(splits), answers[one.nodes], precisions[one.nodes]) for one in pieces]
    roots = above.blocks[: above.leaves]
    assert np.transpose(inside) == pytest.approx(np.stack([whole.inside[roots], whole.noise[roots]]))
    mean, precision = top_down._outside(above, np.transpose(inside), answers[above.blocks], precisions[above.blocks])
    assert 1 / (precision + 1 / whole.noise[roots]) == pytest.approx(whole.variance[roots])
    both = (mean * precision + whole.inside[roots] / whole.noise[roots]) * whole.variance[roots]
    assert both == pytest.approx(whole.mean[roots])


def test_pieces_find_what_the_whole_tree_finds():
    splits, answers, precisions, truth = measured(1 << 13)
    whole = posterior(splits, answers, precisions)[: splits.leaves]
    parts = leaf_means(splits, answers, precisions, most=1 << 11)
    assert np.abs(parts - whole).mean() < 0.1 * np.abs(whole - truth).mean()
    for errors_of in (lambda found: found - truth, lambda found: np.cumsum(found - truth)):
        assert np.linalg.norm(errors_of(parts)) < 1.05 * np.linalg.norm(errors_of(whole))


def test_a_tree_that_is_small_enough_is_one_piece():
    splits, answers, precisions, _ = measured(256)
    whole = posterior(splits, answers, precisions)[: splits.leaves]
    assert np.array_equal(leaf_means(splits, answers, precisions), whole)
