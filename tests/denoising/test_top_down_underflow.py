"""Likelihoods that nearly vanish from single precision."""

import numpy as np

from adyton.denoising.top_down import top_down
from adyton.queries import Hierarchy


def test_answers_that_contradict_each_other_do_not_overflow():
    """Blocks measured precisely, cells precisely too, and hundreds of deviations apart."""
    tree = Hierarchy.of_blocks(16, [8, 4, 1])
    random = np.random.default_rng(0)
    with np.errstate(invalid="raise", over="raise", divide="raise"):
        for gap in (20, 100, 200, 400, 2000):
            cells = random.integers(0, 3, 16)
            answers = tree @ cells
            answers[1:3] += gap
            answers[3:7] -= gap
            estimate = top_down(tree, answers, 2.0)
            assert np.isfinite(estimate).all()
            assert estimate.min() >= 0
