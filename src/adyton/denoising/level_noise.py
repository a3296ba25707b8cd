"""The noise of a least-squares estimate from whole levels of a binary tree: independent in every Haar coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.whole import whole


@dataclass(frozen=True, eq=False)
class LevelNoise:
    """A least-squares estimate of the cells, from the blocks of some sizes, each size with noise of one variance."""

    estimate: Reals
    block_sizes: tuple[int, ...]
    variances: tuple[float, ...]

    def sum_variance(self, size: int) -> float:
        """The variance of a block's sum, from what was measured inside it; infinite if nothing was.

        Each measured level of blocks of s ≤ size cells with variance v knows the sum up to v·size/s.
        """
        pairs = zip(self.block_sizes, self.variances, strict=True)
        precision = sum(own / (variance * size) for own, variance in pairs if own <= size)
        return 1 / precision if precision > 0 else np.inf


def level_noise(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> LevelNoise:
    """Check and keep an estimate with its cells along the last axis.

    >>> level_noise([1.0, 2.0], [1, 2], [4.0, 8.0]).sum_variance(2)
    4.0
    """
    cells = np.asarray(estimate, dtype=np.float64)
    if cells.ndim == 0 or cells.shape[-1] == 0 or not np.isfinite(cells).all():
        raise BadInput(f"an estimate must be finite numbers, one per cell at least, given an array of {cells.shape}.")
    sizes = tuple(whole(size, "block_sizes", 1) for size in block_sizes)
    if not sizes or any(size & (size - 1) for size in sizes) or list(sizes) != sorted(set(sizes)):
        raise BadInput(f"block_sizes must be powers of two in ascending order, given {shorten(block_sizes)}.")
    noise = tuple(float(variance) for variance in variances)
    if len(noise) != len(sizes) or not all(0 < variance < np.inf for variance in noise):
        raise BadInput(f"variances must be one finite number above 0 per block size, given {shorten(variances)}.")
    return LevelNoise(cells, sizes, noise)
