"""The cells of a marginal as groups of cells of the whole domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.queries import Marginals, Partition


def marginal_partition(domain: int | Sequence[int], axes: Sequence[int]) -> Partition:
    """One group per cell of the marginal over these axes (ascending), in row-major order; all else is summed up.

    Reducing by it leaves the histogram of some attributes, as the naive-Bayes plans do with one attribute and the
    label (Zhang et al., εKTELO, SIGMOD 2018, §7.2 and Algorithm 5). No axes make one group of all cells.

    >>> marginal_partition((2, 3), [1]).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    marginal = Marginals(domain, [axes])
    return Partition(marginal.transpose(np.arange(marginal.count)))  # every cell is in one cell of the marginal
