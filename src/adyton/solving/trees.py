"""Least squares on a hierarchy in time linear in the number of blocks, with any noise, and the error that is left.

Every block has an answer with its own variance, or none. Upwards, each block's sum is estimated from what was measured
inside it: the children's estimates add up, with variance U = Σ u_c, and are averaged with the block's own answer.
Downwards, what a block is found to hold more or less than its children's sum is divided among them in proportion to
their variances u_c. This is exact generalised least squares (Hay et al., "Boosting the accuracy of differentially
private histograms through consistency", PVLDB 2010, for unequal noise), and where cells cannot be told apart it is the
solution that treats them alike.

**The error.** Given a block's sum, the sums of its children have covariance diag(u) − uuᵀ/U, and what happens in one
subtree is independent of the rest. So the estimate of a query q has the variance u_root·α_root² plus, for every block
v, Σ_c u_c·(α_c − α_v)² over its children, where α_v is the mean of q over the cells of v, weighted with the shares that
they take of a surplus of v.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.queries import Hierarchy, Queries
from adyton.queries.hierarchy import block_sums, spread
from adyton.solving.energies import tree_energies


class TreeSolver:
    """Least squares for one hierarchy and one set of variances, prepared once for any number of answers."""

    exact = True

    def __init__(self, tree: Hierarchy, variances: npt.ArrayLike) -> None:
        self.tree = tree
        own = np.zeros(tree.blocks)
        measured = slice(None) if tree.measured is None else tree.measured
        own[measured] = 1 / np.broadcast_to(np.asarray(variances, dtype=np.float64), (tree.count,))
        self._levels = list(tree.boundaries)
        precisions = _by_level(own, tree)
        if self._levels[0].size > 2:
            precisions.insert(0, np.zeros(1))
            self._levels.insert(0, np.array([0, tree.cells]))
        if self._levels[-1].size - 1 < tree.cells:
            precisions.append(np.zeros(tree.cells))
            self._levels.append(np.arange(tree.cells + 1))
        self._added = (self._levels[0] is not tree.boundaries[0], len(self._levels))
        self._children = [np.searchsorted(fine, coarse) for coarse, fine in itertools.pairwise(self._levels)]
        self._prepare(precisions)

    def _prepare(self, own: list[Reals]) -> None:
        """Upwards: the variance of each block's sum from inside it, the weight of its own answer in that, and how many
        cells of it nothing is known about; then the share that each block takes of its parent's surplus.

        As long as a block has such cells, they take its whole surplus, in equal parts.
        """
        known, gain, shares = ([np.zeros(0)] * len(own) for _ in range(3))
        with np.errstate(divide="ignore", invalid="ignore"):
            known[-1], gain[-1] = 1 / own[-1], np.where(own[-1] > 0, 1.0, 0.0)
            lost = [np.where(own[-1] > 0, 0.0, 1.0)]
            for level in range(len(own) - 2, -1, -1):
                below, children = known[level + 1], self._children[level]
                missing = block_sums(lost[-1], children)
                variance = block_sums(below, children)  # infinite where something is missing
                usual, among = below / spread(variance, children), lost[-1] / spread(missing, children)
                shares[level + 1] = np.where(spread(missing, children) > 0, among, usual)
                precision = own[level] + 1 / variance
                gain[level] = np.where(precision > 0, own[level] / precision, 0.0)
                known[level] = 1 / precision
                lost.append(np.where(precision > 0, 0.0, missing))
        self._known, self._gain, self._shares, self._lost = known, gain, shares, lost[::-1]
        self._mixed = any((share == 0).any() for share in shares)

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells, in row-major order; further axes in front are independent trials."""
        tree = self.tree
        given = np.asarray(answers, dtype=np.float64)
        if tree.measured is not None:
            every = np.zeros((*given.shape[:-1], tree.blocks))
            every[..., tree.measured] = given
        else:
            every = given
        own = _by_level(every, tree)
        if self._added[0]:
            own.insert(0, np.zeros((*given.shape[:-1], 1)))
        if len(own) < self._added[1]:
            own.append(np.zeros((*given.shape[:-1], tree.cells)))
        sums = [own[-1]]
        surpluses: list[Reals] = []
        for level in range(len(own) - 2, -1, -1):
            inside = block_sums(sums[-1], self._children[level])
            surplus = self._gain[level] * (own[level] - inside)
            surpluses.append(surplus)
            sums.append(inside + surplus)
        extra = surpluses.pop() if surpluses else np.zeros((*given.shape[:-1], 1))
        for level in range(1, len(own)):
            extra = spread(extra, self._children[level - 1]) * self._shares[level]
            if surpluses:
                extra += surpluses.pop()
        return np.ascontiguousarray(tree.unordered(sums[0] + extra))

    # ---- the error --------------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every cell is determined: otherwise the estimate has a bias that depends on the data.

        One cell per block may be known from the rest alone, if the block itself is known.
        """
        blocks = zip(self._known, self._lost[1:], self._children, strict=False)
        alone = all((block_sums(lost, children)[np.isfinite(known)] <= 1).all() for known, lost, children in blocks)
        return alone and bool(np.isfinite(self._known[0]).all())

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients).

        Where a block is not known from inside, what happens in it is compared with the next block above that is: the
        surplus comes from there.
        """
        means = [self.tree.ordered(rows)]
        for level in range(len(self._children) - 1, -1, -1):
            means.append(block_sums(means[-1] * self._shares[level + 1], self._children[level]))
        means.reverse()
        result = np.zeros(rows.shape[:-1])
        centre = np.zeros((*rows.shape[:-1], 1))
        for level, known in enumerate(self._known):
            result += np.square(means[level] - centre) @ _finite(known)
            if level < len(self._children):
                centre = spread(np.where(np.isfinite(known), means[level], centre), self._children[level])
        return result

    def total_variance(self, workload: Queries) -> float:
        """Σ_q of the variances of the workload's answers, tr(W·Cov·Wᵀ)."""
        if self._mixed:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        energies = tree_energies(workload, self._levels, self._profile(), self.tree.order)
        pairs = zip(self._block_weights(), energies, strict=True)
        return float(sum(weights @ energy for weights, energy in pairs))

    def _block_weights(self) -> list[Reals]:
        """What the squared mean of a query over a block adds to its variance: Σ_v (Σ_c u_c·α_c² − U_v·α_v²), sorted
        by block, gives u_v − U_v, with U = 0 where nothing is known below."""
        weights = []
        for level, known in enumerate(self._known):
            inside = block_sums(self._known[level + 1], self._children[level]) if level < len(self._children) else 0.0
            weights.append(_finite(known) - _finite(np.asarray(inside)))
        return weights

    def _profile(self) -> Reals:
        """The share that each cell, in the tree's order, takes of a surplus of the whole domain."""
        shares = np.ones(1)
        for level, children in enumerate(self._children, start=1):
            shares = spread(shares, children) * self._shares[level]
        return shares


def _finite(values: Reals) -> Reals:
    return np.where(np.isfinite(values), values, 0.0)


def _by_level(values: Array, tree: Hierarchy) -> list[Array]:
    """Values per block, cut into levels."""
    return np.split(values, tree.level_starts[1:-1], axis=-1)
