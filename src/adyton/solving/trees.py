"""Least squares on a hierarchy by the two passes of :mod:`.block_passes`, and the error that is left.

**The error.** Given a block's sum, the sums of its children have covariance diag(u) − uuᵀ/U, and what happens in one
subtree is independent of the rest. So the estimate of a query q has the variance u_root·α_root² plus, for every block
v, Σ_c u_c·(α_c − α_v)² over its children, where α_v is the mean of q over the cells of v, weighted with the shares that
they take of a surplus of v.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.queries import Hierarchy, Queries
from adyton.solving.block_passes import BlockFit
from adyton.solving.energies import tree_energies


class TreeSolver:
    """Least squares for one hierarchy and one set of variances, prepared once for any number of answers."""

    exact = True

    def __init__(self, queries: Hierarchy, variances: npt.ArrayLike) -> None:
        self.queries, self.tree = queries, queries.from_root_to_cells()
        own = 1 / np.broadcast_to(np.asarray(variances, dtype=np.float64), (queries.count,))
        self._fit = BlockFit.of(self.tree.offsets, self._in_tree(own), np.ones(queries.cells))
        self._known, self._shares = self.tree.by_level(self._fit.variances), self.tree.by_level(self._fit.shares)
        self._unknown = self.tree.by_level(self._fit.unknown)
        self._mixed = bool((self._fit.shares == 0).any())

    def _in_tree(self, values: Reals) -> Reals:
        """Values of the queries, for every block of the tree, the root and the cells included; 0 for those that have
        none."""
        every = np.zeros((*values.shape[:-1], self.tree.blocks))
        first = int(self.tree.boundaries[0].size < self.queries.boundaries[0].size)  # where the root is new
        every[..., first : first + self.queries.blocks] = self.queries.for_every_block(values)
        return every

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells, in row-major order; further axes in front are independent trials."""
        every = self._fit.estimates(self._in_tree(np.asarray(answers, dtype=np.float64)))
        return np.ascontiguousarray(self.tree.unordered(every[..., -self.tree.cells :]))

    # ---- the error --------------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every cell is determined: otherwise the estimate has a bias that depends on the data.

        One cell per block may be known from the rest alone, if the block itself is known.
        """
        known = [np.isfinite(level) for level in self._known]
        below = enumerate(zip(known, self._unknown[1:], strict=False))
        return bool(known[0].all()) and all(
            (self.tree.sums(lost, level)[own] <= 1).all() for level, (own, lost) in below
        )

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients).

        Where a block is not known from inside, what happens in it is compared with the next block above that is: the
        surplus comes from there.
        """
        tree, last = self.tree, len(self._known) - 1
        means = [tree.ordered(rows)]
        for level in range(last - 1, -1, -1):
            means.append(tree.sums(means[-1] * self._shares[level + 1], level))
        means.reverse()
        result = np.zeros(rows.shape[:-1])
        centre = np.zeros((*rows.shape[:-1], 1))
        for level, known in enumerate(self._known):
            result += np.square(means[level] - centre) @ _finite(known)
            if level < last:
                centre = tree.spread(np.where(np.isfinite(known), means[level], centre), level)
        return result

    def total_variance(self, workload: Queries) -> float:
        """Σ_q of the variances of the workload's answers, tr(W·Cov·Wᵀ)."""
        if self._mixed:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        energies = tree_energies(workload, self.tree.boundaries, self._profile(), self.tree.order)
        pairs = zip(self._block_weights(), energies, strict=True)
        return float(sum(weights @ energy for weights, energy in pairs))

    def _block_weights(self) -> list[Reals]:
        """What the squared mean of a query over a block adds to its variance: Σ_v (Σ_c u_c·α_c² − U_v·α_v²), sorted
        by block, gives u_v − U_v, with U = 0 where nothing is known below."""
        inside = [self.tree.sums(known, level) for level, known in enumerate(self._known[1:])]
        pairs = zip(self._known, [*inside, np.zeros(1)], strict=True)
        return [_finite(known) - _finite(below) for known, below in pairs]

    def _profile(self) -> Reals:
        """The share that each cell, in the tree's order, takes of a surplus of the whole domain."""
        shares = np.ones(1)
        for level, below in enumerate(self._shares[1:]):
            shares = self.tree.spread(shares, level) * below
        return shares


def _finite(values: Reals) -> Reals:
    return np.where(np.isfinite(values), values, 0.0)
