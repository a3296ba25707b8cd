"""What every denoiser promises, whatever it is made of."""

from functools import partial

import numpy as np
import pytest

from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes, with_neighbours
from adyton.denoising.shrinkage import james_stein, monotone_prefix, polya_tree
from adyton.denoising.top_down import top_down
from adyton.queries import Hierarchy

CELLS = 48
LEVELS = {"block_sizes": [1, 8], "variances": [2.0, 1e6]}
WITHOUT_ORDER = {
    "empirical-bayes": partial(empirical_bayes, epsilon=1.0),
    "settled": partial(empirical_bayes, epsilon=1.0, settle=True),
}
IN_ORDER = {
    "neighbours": partial(with_neighbours, epsilon=1.0, domain=(6, 8)),
    "change-points": partial(change_points, epsilon=1.0),
    "top-down": partial(top_down, Hierarchy(CELLS, [np.arange(CELLS + 1)]), variances=2.0),
    "james-stein": partial(james_stein, **LEVELS),
    "polya-tree": partial(polya_tree, **LEVELS),
    "monotone-prefix": monotone_prefix,
}
DENOISERS = WITHOUT_ORDER | IN_ORDER


def noisy(trials):
    """Noisy counts of smooth and sparse cells; no two are equal, so that their order is clear."""
    random = np.random.default_rng(3)
    truth = random.poisson(40 * np.exp(-np.arange(CELLS) / 6))
    return truth, truth + random.laplace(0, 1, (*trials, CELLS))


@pytest.mark.parametrize("name", DENOISERS)
def test_trials_keep_their_shape_and_do_not_depend_on_one_another(name):
    _, given = noisy((2, 3))
    before = given.copy()
    cells = DENOISERS[name](given)
    assert cells.shape == given.shape
    assert np.isfinite(cells).all()
    assert np.array_equal(given, before)
    for place in np.ndindex(2, 3):
        assert cells[place] == pytest.approx(DENOISERS[name](given[place]), rel=1e-12)


@pytest.mark.parametrize("name", DENOISERS)
def test_the_cells_come_closer_to_the_truth(name):
    truth, given = noisy((40,))
    near, far = (np.square(one - truth).sum() for one in (DENOISERS[name](given), given))
    assert near < far


@pytest.mark.parametrize("name", WITHOUT_ORDER)
def test_cells_in_another_order_stay_in_that_order(name):
    _, given = noisy(())
    way = np.random.default_rng(4).permutation(CELLS)
    assert DENOISERS[name](given[way]) == pytest.approx(DENOISERS[name](given)[way], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", IN_ORDER)
def test_the_order_of_the_cells_matters_to_the_others(name):
    _, given = noisy(())
    way = np.random.default_rng(4).permutation(CELLS)
    assert np.abs(DENOISERS[name](given[way]) - DENOISERS[name](given)[way]).max() > 1e-3
