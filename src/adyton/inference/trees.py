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

from adyton.inference.energies import tree_energies
from adyton.queries import Hierarchy, Queries
from adyton.queries.base import Array, Reals
from adyton.queries.hierarchy import block_sums, spread


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
        """Variances from below (inf where nothing is known), own answers' weights, and the shares of a surplus."""
        known = [np.zeros(0)] * len(own)
        self._gain: list[Reals] = [np.zeros(0)] * len(own)
        self._shares: list[Reals] = [np.zeros(0)] * len(own)
        sizes = [np.diff(level).astype(np.float64) for level in self._levels]
        with np.errstate(divide="ignore", invalid="ignore"):
            known[-1] = 1 / own[-1]
            self._gain[-1] = np.where(own[-1] > 0, 1.0, 0.0)
            for level in range(len(own) - 2, -1, -1):
                below, children = known[level + 1], self._children[level]
                blind = np.isinf(below)
                if blind.any():
                    lost = block_sums(np.where(blind, sizes[level + 1], 0.0), children)
                    among = np.where(blind, sizes[level + 1], 0.0) / spread(lost, children)
                    variance = np.where(lost > 0, np.inf, block_sums(np.where(blind, 0.0, below), children))
                    usual = np.where(blind, 0.0, below) / spread(np.where(lost > 0, 1.0, variance), children)
                    self._shares[level + 1] = np.where(spread(lost, children) > 0, among, usual)
                else:
                    variance = block_sums(below, children)
                    self._shares[level + 1] = below / spread(variance, children)
                precision = own[level] + 1 / variance
                self._gain[level] = np.where(precision > 0, own[level] / precision, 0.0)
                known[level] = 1 / precision
        self._known = known
        self._mixed = any((share == 0).any() for share in self._shares)
        settled = np.isfinite(known[0])
        self._settled = [settled]
        for level, children in enumerate(self._children, start=1):
            settled = spread(settled, children) | np.isfinite(known[level])
            self._settled.append(settled)

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

        One child per block may be known from the rest alone, if the block itself is known.
        """
        blind = [
            block_sums((~np.isfinite(k)).astype(np.int64), c)
            for k, c in zip(self._known[1:], self._children, strict=True)
        ]
        return bool(self._settled[0].all()) and all((b <= s).all() for b, s in zip(blind, self._settled, strict=False))

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients)."""
        means = self.tree.ordered(rows)
        result = np.zeros(rows.shape[:-1])
        for level in range(len(self._children) - 1, -1, -1):
            children = self._children[level]
            finer, means = means, block_sums(means * self._shares[level + 1], children)
            known = self._known[level + 1]
            centre = spread(self._settled[level] * means, children)
            result += np.square(finer - centre) @ _finite(known)
        root = self._known[0][0]
        return np.asarray(result + (root * np.square(means[..., 0]) if np.isfinite(root) else 0.0))

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
