"""Least squares on a binary tree whose blocks were measured one by one, compiled.

Block 1 is the whole domain, the halves of block v are 2v and 2v + 1; some blocks have no cells, as those beyond the end
of the domain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled


@compiled
def sum_upwards(answers: Reals, precisions: Reals, sizes: Places) -> tuple[Reals, Reals]:
    """Each block's sum from what was measured inside it, and the variance of that, infinite where nothing was."""
    sums, variances = np.zeros(sizes.size), np.full(sizes.size, np.inf)
    leaves = sizes.size // 2
    for block in range(sizes.size - 1, 0, -1):
        if sizes[block] == 0:
            variances[block] = 0.0
            continue
        inside, variance = 0.0, np.inf
        if block < leaves:
            inside, variance = sums[2 * block] + sums[2 * block + 1], variances[2 * block] + variances[2 * block + 1]
        own = precisions[block]
        if own > 0 and variance < np.inf:
            share = own * variance / (1 + own * variance)
            sums[block], variances[block] = inside + share * (answers[block] - inside), variance / (1 + own * variance)
        elif own > 0:
            sums[block], variances[block] = answers[block], 1 / own
        else:
            sums[block], variances[block] = inside, variance
    return sums, variances


@compiled
def share_downwards(sums: Reals, variances: Reals, sizes: Places) -> Reals:
    """The least-squares estimate of every block: a surplus goes to the halves in proportion to their variances, and
    where nothing tells the halves apart, in proportion to their cells."""
    estimates = np.zeros(sizes.size)
    estimates[1] = sums[1]
    for block in range(1, sizes.size // 2):
        left, right = 2 * block, 2 * block + 1
        if sizes[right] == 0:
            estimates[left] = estimates[block]
        elif sizes[left] == 0:
            estimates[left] = 0.0
        elif variances[left] == np.inf and variances[right] == np.inf:
            estimates[left] = estimates[block] * (sizes[left] / sizes[block])
        elif variances[right] == np.inf:
            estimates[left] = sums[left]
        elif variances[left] == np.inf:
            estimates[left] = estimates[block] - sums[right]
        else:
            surplus = estimates[block] - sums[left] - sums[right]
            estimates[left] = sums[left] + surplus * (variances[left] / (variances[left] + variances[right]))
        if sizes[right] > 0:
            estimates[right] = estimates[block] - estimates[left]
    return estimates


@compiled
def measured_parts(
    answers: Reals, precisions: Reals, sizes: Places
) -> tuple[npt.NDArray[np.int8], Places, Reals, Reals]:
    """The tree that is left when blocks are halved only where something smaller was measured.

    Returns for each block whether it is a leaf (1), divided (2) or no part of that tree (0); the block of the tree that
    has the same cells, if any; and the answers and precisions, with those on the same cells made one.
    """
    leaves = sizes.size // 2
    kinds, homes = np.zeros(sizes.size, np.int8), np.arange(sizes.size)
    given, known = answers.copy(), precisions.copy()
    for block in range(1, leaves):
        for half in (2 * block, 2 * block + 1):
            if sizes[half] == sizes[block] > 0 and known[block] > 0:
                known[half] += known[block]
                given[half] += (given[block] - given[half]) * (known[block] / known[half])
    inside = known > 0
    for block in range(leaves - 1, 0, -1):
        inside[block] |= inside[2 * block] | inside[2 * block + 1]
        for half in (2 * block, 2 * block + 1):
            if sizes[half] == sizes[block]:
                homes[block] = homes[half]
    kinds[homes[1]] = 1
    for block in range(homes[1], leaves):
        if kinds[block] == 1 and homes[block] == block and (inside[2 * block] | inside[2 * block + 1]):
            kinds[block] = 2
            kinds[homes[2 * block]] = kinds[homes[2 * block + 1]] = 1
    return kinds, homes, given, known
