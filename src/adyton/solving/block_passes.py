"""Least squares on a tree of blocks: one pass up and one down, in time linear in the number of blocks, with any noise.

Every block has an answer with its own precision, 1/variance, or none. Upwards, each block's sum is estimated from what
was measured inside it: the children's estimates add up, with variance U = Σ u_c, and are averaged with the block's own
answer. Downwards, what a block is found to hold more or less than its children's sum is divided among them in
proportion to their variances u_c. This is exact generalised least squares (Hay et al., "Boosting the accuracy of
differentially private histograms through consistency", PVLDB 2010, for unequal noise), and where cells cannot be told
apart it is the solution that treats them alike: as long as a block has cells that nothing is known about, they take its
whole surplus, in equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import compiled


@dataclass(frozen=True, eq=False)
class BlockFit:
    """The passes for one tree and one set of precisions, prepared once for any number of answers."""

    offsets: Places
    """The first child of each block that has children, as in :attr:`adyton.queries.block_tree.BlockTree.offsets`."""
    variances: Reals
    """How well each block's sum is known from what was measured inside it, infinite where it is not."""
    gains: Reals
    """The weight of each block's own answer against what its children say."""
    shares: Reals
    """The share that each block takes of its parent's surplus."""
    unknown: Reals
    """How many cells of each block nothing is known about, counted as 0 where the block's sum is known."""

    @classmethod
    def of(cls, offsets: Places, precisions: Reals, sizes: Reals) -> BlockFit:
        """*precisions* are 0 where there is no answer, and infinite where it is known; *sizes* are those of leaves."""
        blocks, inner = precisions.size, offsets.size - 1
        unknown = np.zeros(blocks)
        unknown[inner:] = sizes
        fit = cls(offsets, np.empty(blocks), np.empty(blocks), np.ones(blocks), unknown)
        weigh(offsets, np.ascontiguousarray(precisions), fit.variances, fit.gains, fit.shares, unknown)
        return fit

    def estimates(self, answers: Reals) -> Reals:
        """The least-squares estimate of every block; axes in front are independent trials."""
        every = np.array(answers, dtype=np.float64, order="C")
        rows = every.reshape(-1, every.shape[-1])
        combine(self.offsets, self.gains, self.shares, rows, np.empty(self.offsets.size - 1))
        return every


@compiled
def weigh(offsets: Places, precisions: Reals, variances: Reals, gains: Reals, shares: Reals, unknown: Reals) -> None:
    """Fill what :class:`BlockFit` holds, from the leaves upwards; *unknown* holds the leaves' cells."""
    inner = offsets.size - 1
    for block in range(precisions.size - 1, -1, -1):
        variance, missing = np.inf, unknown[block]
        if block < inner:
            variance = 0.0
            for child in range(offsets[block], offsets[block + 1]):
                variance += variances[child]  # infinite where something is missing
                missing += unknown[child]
            for child in range(offsets[block], offsets[block + 1]):
                if missing > 0:
                    shares[child] = unknown[child] / missing
                else:
                    shares[child] = variances[child] / variance if variance > 0 else 0.0
        own = precisions[block]
        if variance == 0.0:  # all is known exactly
            gains[block] = variances[block] = 0.0
        elif own == np.inf:
            gains[block], variances[block] = 1.0, 0.0
        else:
            precision = own + 1 / variance
            gains[block] = own / precision if precision > 0 else 0.0
            variances[block] = 1 / precision if precision > 0 else np.inf
        unknown[block] = missing if variances[block] == np.inf else 0.0


@compiled
def combine(offsets: Places, gains: Reals, shares: Reals, answers: Reals, surplus: Reals) -> None:
    """Up and down in every row of *answers*, which become estimates; *surplus* has room for a number a parent."""
    inner = offsets.size - 1
    for trial in range(answers.shape[0]):
        values = answers[trial]
        for leaf in range(inner, values.size):
            if gains[leaf] == 0.0:
                values[leaf] = 0.0
        for block in range(inner - 1, -1, -1):
            inside = 0.0
            for child in range(offsets[block], offsets[block + 1]):
                inside += values[child]
            surplus[block] = gains[block] * (values[block] - inside) if gains[block] > 0 else 0.0
            values[block] = inside + surplus[block]
        for block in range(inner):
            for child in range(offsets[block], offsets[block + 1]):
                extra = surplus[block] * shares[child]
                values[child] += extra
                if child < inner:
                    surplus[child] += extra
