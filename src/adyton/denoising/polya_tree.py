"""Empirical Bayes on a binary tree: how unevenly blocks divide is learnt from the noisy tree itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.denoising.isotonic import monotone_prefix
from adyton.solving.level_noise import level_noise

SPREADS = (0.0, 0.1, 0.3, 1.0)
"""The τ of the mixture: from blocks whose halves differ by chance alone to blocks where all may be on one side."""


def polya_tree(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> Reals:
    """Shrink a least-squares estimate from the levels of a tree: the differences between halves of blocks, top-down.

    Measured were the blocks of each of *block_sizes* (powers of two, ascending), with noise of the given *variances*.
    Then the difference d̂ of a block's halves has independent noise of a known variance S². A block of M rows is thought
    to divide with d ~ Σ_k π_k·N(0, τ_k²M² + M): rows fall on either side by chance (M), and the halves are unequal by a
    factor τ of their sum. Each component gives the posterior mean d̂·v/(v + S²). The weights π are fitted to each level
    by EM and mixed with the posterior of the parent, because even regions have even parts (after Ferguson, "Prior
    distributions on spaces of probability measures", 1974, and Kolaczyk, "Bayesian multiscale models for Poisson
    processes", 1999). Sums are kept on the way down, and nothing is cut off at 0: that would push sums upwards.
    Cells are along the last axis.

    >>> polya_tree([4.0, 6.0, 5.0, 5.0, 101.0, 99.0, 300.0, 100.0], [1], [50.0]).round(1).tolist()
    [4.8, 5.4, 5.1, 5.1, 100.9, 99.2, 299.5, 100.1]
    """
    from adyton.denoising.polya_tree_compiled import shrink_trials

    noise = level_noise(estimate, block_sizes, variances)
    cells = noise.estimate.shape[-1]
    height = (cells - 1).bit_length()
    differences = np.array([2 * noise.sum_variance(1 << level) for level in range(height)])
    rows = np.ascontiguousarray(noise.estimate.reshape(-1, cells))
    return shrink_trials(rows, differences, np.array(SPREADS)).reshape(noise.estimate.shape)


def monotone_tree(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> Reals:
    """All the free post-processing for prefix sums and ranges: :func:`polya_tree`, then isotonic prefix sums.

    >>> monotone_tree([4.0, -6.0, 5.0, 5.0], [1], [2.0]).min() >= 0
    np.True_
    """
    return monotone_prefix(polya_tree(estimate, block_sizes, variances))
