"""Block James–Stein: where the children of a block differ by no more than their noise, they become alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.denoising.level_noise import level_noise
from adyton.queries.block_tree import BlockTree

STRENGTH = 0.9
"""How much of the noise's expected squared norm is taken off; James and Stein take all but a part 2/(m − 1)."""
_FEWEST = 4
"""With three children or fewer, shrinking can do harm."""


def james_stein(
    estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float], strength: float = STRENGTH
) -> Reals:
    """Shrink a least-squares estimate from the levels of a tree, block by block, from the top downwards.

    Measured were the blocks of each of *block_sizes* (powers of two, ascending), with noise of the given *variances*.
    Inside a block, let c be the differences of its m children (the blocks of the next smaller size) from even shares.
    They carry noise of variance σ² each, and become c·max(0, 1 − strength·(m − 1)σ²/‖c‖²) (James and Stein,
    "Estimation with quadratic loss", 1961); the sum of the block stays. Cells are along the last axis.

    >>> flat = james_stein([4.0, 6.0, 5.0, 5.0, 101.0, 99.0, 100.0, 100.0], [1, 4], [2.0, 2.0])
    >>> flat.round(2).tolist()
    [5.0, 5.0, 5.0, 5.0, 100.0, 100.0, 100.0, 100.0]
    """
    noise = level_noise(estimate, block_sizes, variances)
    cells = noise.estimate.shape[-1]
    sizes = [size for size in noise.block_sizes[::-1] if size < cells]
    tree = BlockTree.of_sizes(cells, sizes)
    sums = [tree.sums(noise.estimate, len(sizes))]
    for level in range(len(sizes) - 1, -1, -1):
        sums.append(tree.sums(sums[-1], level))
    shrunk = sums.pop()
    whole = shrunk
    for level, size in enumerate(sizes):
        counts, widths = np.diff(tree.children[level]), np.diff(tree.boundaries[level + 1])
        even = widths / tree.spread(np.diff(tree.boundaries[level]).astype(np.float64), level)
        parts = sums.pop()
        apart = parts - tree.spread(whole, level) * even
        norms = tree.sums(np.square(apart), level)
        surplus = strength * (counts - 1) * noise.sum_variance(size)
        kept = np.where(counts < _FEWEST, 1.0, 1 - surplus / np.maximum(norms, surplus + np.finfo(float).tiny))
        shrunk = tree.spread(shrunk, level) * even + tree.spread(kept, level) * apart
        whole = parts
    return np.asarray(tree.spread(shrunk / np.diff(tree.boundaries[-1]), len(sizes)))
