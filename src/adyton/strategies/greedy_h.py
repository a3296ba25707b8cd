"""Greedy-H: a binary hierarchy whose blocks are weighted for the workload.

Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy", PVLDB
2014, section 4.4. At first the cells have weight 1. Then each block, from the bottom, takes the part λ of the weight
that lies below it and leaves the rest, 1 − λ, to the blocks inside; so weights add up to 1 along every path. λ
minimises the error of the workload inside the block (equation 9 there).

**In linear time.** Let u be the variance with which the sum of a block is known from inside it (with noise of variance
1 at weight 1), V the error of the workload inside the block when its sum is known, α(q) the mean of query q over the
cells of the block, weighted with the shares that they take of a surplus (see :mod:`adyton.solving.trees`), and
e = Σ_q α². For children 1 and 2, s = u_1 + u_2, w_c = u_c/s and x = Σ_q α_1·α_2, measuring the block is a change of
rank one, and

    V = A/(1−λ)²,  A = V_1 + V_2 + (u_1 u_2/s)·(e_1 + e_2 − 2x),
    u = s/((1−λ)² + λ²s),  e = w_1²e_1 + w_2²e_2 + 2w_1w_2x.

The error inside is V + u·e. The classes of :mod:`adyton.strategies.overlaps` find x for all siblings of a level.
Equation 9 multiplies x by a decay of 2^{−depth/2}, because the blocks above, not weighted yet, will do a part.

**Further sweeps.** How much the blocks above do is known once they are weighted. If what lies outside a block knows its
sum with precision p, and the block has the weight ρ to distribute, then as a function of λ the error of the workload is

    [A/(1−λ)² + k·u/(1 + πu)] / ρ² + what does not depend on λ,   π = p/ρ²,

where k follows from the derivative of the error by u, and all derivatives come from one pass downwards. So every λ is
chosen again, from the bottom, in its true context. This removes about a sixth of the error on prefixes and intervals.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries import Hierarchy, Queries
from adyton.strategies.base import Strategy
from adyton.strategies.leaves import Leaves
from adyton.strategies.overlaps import Overlap, overlap_of
from adyton.whole import freeze, whole

SWEEPS = 10
_HASTY = 2
"""The last sweeps take each best λ at once; those before go half the way, which ends in better optima."""


def greedy_h(
    workload: Queries, order: npt.ArrayLike | None = None, *, buckets: npt.ArrayLike | None = None, sweeps: int = SWEEPS
) -> Strategy:
    """The binary hierarchy that is weighted for the workload.

    ``order`` lists the cells as they stand under the tree (row-major order if None; a Hilbert or Morton order for two
    dimensions). ``buckets`` lists where groups of neighbours in this order begin, and at the end the number of cells:
    the tree then ends at them, and the workload is answered as if the cells of a bucket were equal. With ``sweeps=0``
    only equation 9 of the paper is used.

    Time and memory are linear in the cells for prefixes, all intervals, the identity and the total, and O(m log n) for
    m ranges on a line. Other workloads are written out, leaves × queries, or read a few times if that is too large.

    >>> from adyton.queries import Identity, Prefix
    >>> strategy = greedy_h(Prefix(16))
    >>> np.allclose(strategy.queries.transpose(strategy.weights), 1)
    True
    >>> greedy_h(Identity(16)).queries.count
    16
    """
    if not isinstance(workload, Queries):
        raise BadInput(f"a strategy is chosen for queries, given {type(workload).__name__}.")
    places, bounds = _check_order(order, workload.cells), _check_buckets(buckets, workload.cells)
    leaves = Leaves(workload.cells, places, bounds)
    tree = WeightedTree(workload, leaves)
    tree.improve(whole(sweeps, "sweeps", 0))
    return tree.strategy(workload.domain)


class WeightedTree:
    """The shares λ of all blocks, level by level, and the error that they lead to; at first those of equation 9."""

    def __init__(self, workload: Queries, leaves: Leaves, overlap: Overlap | None = None) -> None:
        self.leaves, self.depth = leaves, leaves.depth
        self.overlap = overlap = overlap_of(workload, leaves) if overlap is None else overlap
        filled = leaves.filled(self.depth)
        self.shares = [np.zeros(1 << depth) for depth in range(self.depth)]
        self.states = [np.zeros((3, 1 << depth)) for depth in range(self.depth + 1)]  # V, u and e
        self.states[-1][1] = filled
        self.states[-1][2, filled] = overlap.energies()
        self.crosses = self.shares.copy()
        self._rise([2.0 ** (-depth / 2) for depth in range(self.depth)], [np.zeros((2, 0))] * self.depth, 1.0)

    def improve(self, sweeps: int) -> None:
        """Choose every λ again, this many times, as long as the workload has a way back; keep the best."""
        best, least = self.shares, self.error
        for sweep in range(sweeps if self.overlap.sweeps else 0):
            before = self.shares
            self.sweep(0.5 if sweep < sweeps - _HASTY else 1.0)
            if self.error < least:
                best, least = self.shares, self.error
            if all(np.array_equal(old, new) for old, new in zip(before, self.shares, strict=True)):
                break
        if self.error > least:
            contexts = self._fall()
            self.shares = best
            self._rise([-1.0] * self.depth, contexts, 0.0)

    def sweep(self, step: float) -> None:
        """Choose every λ in the present context, and go this part of the way to it."""
        self._rise([-1.0] * self.depth, self._fall(), step)

    def _rise(self, decays: list[float], contexts: list[Reals], step: float) -> None:
        from adyton.strategies.greedy_h_compiled import rise

        shares = [share.copy() for share in self.shares]
        for depth in range(self.depth - 1, -1, -1):
            self.crosses[depth] = cross = self.overlap.cross()
            parts = np.empty((2, cross.size))
            below, above = self.states[depth + 1], self.states[depth]
            rise(below, cross, decays[depth], contexts[depth], step, shares[depth], parts, above)
            self.overlap.merge(parts[0], parts[1])
        self.shares = shares
        inside, variance, energy = self.states[0][:, 0]
        self.error = float(inside + variance * energy)

    def _fall(self) -> list[Reals]:
        """For each level, k and π of every block."""
        from adyton.strategies.greedy_h_compiled import fall

        _, variance, energy = self.states[0]
        by_own = np.stack([np.ones(1), energy, variance])  # the derivatives of V + u·e by V, u and e
        frame = np.array([[0.0], [1.0]])
        contexts = []
        for depth in range(self.depth):
            own, below, cross = self.states[depth], self.states[depth + 1], self.crosses[depth]
            context, crossed = np.empty_like(frame), np.empty(cross.size)
            by_below, frame_below = np.empty_like(below), np.empty((2, 2 * cross.size))
            fall(below, cross, self.shares[depth], own, by_own, frame, context, crossed, by_below, frame_below)
            left, right = below[1, 0::2], below[1, 1::2]
            pull = self.overlap.back(crossed) / (left + right) ** 2  # ∂w_1/∂u_1 = u_2/s², ∂w_1/∂u_2 = −u_1/s²
            by_below[1, 0::2] += right * pull
            by_below[1, 1::2] -= left * pull
            by_own, frame = by_below, frame_below
            contexts.append(context)
        return contexts

    def blocks(self, depth: int = 0) -> tuple[list[npt.NDArray[np.int64]], Reals]:
        """The boundaries of the levels that are measured, and the weights of their blocks, some of them 0.

        From a *depth* on, each block there has the weight 1 to distribute.
        """
        levels, kept = [], []
        rest = np.ones(1 << depth)
        for level in range(depth, self.depth + 1):
            share = self.shares[level] if level < self.depth else np.ones(rest.size)
            weights = (rest * share)[self.leaves.filled(level)]
            rest = np.repeat(rest * (1 - share), 2)
            if weights.any():
                levels.append(self.leaves.level(level))
                kept.append(weights)
        return levels, np.concatenate(kept)

    def strategy(self, domain: tuple[int, ...]) -> Strategy:
        """The hierarchy of all blocks that have a weight."""
        levels, weights = self.blocks()
        measured = np.flatnonzero(weights)
        numbers = None if measured.size == weights.size else measured
        return Strategy(Hierarchy(domain, levels, self.leaves.order, numbers), weights[measured])


def _check_order(order: npt.ArrayLike | None, cells: int) -> npt.NDArray[np.int64] | None:
    """The order as an array; None for the natural one."""
    if order is None:
        return None
    places = freeze(order, "order").reshape(-1)
    if not np.array_equal(np.sort(places), np.arange(cells)):
        raise BadInput(f"an order lists each of the {cells} cells once.")
    return None if np.array_equal(places, np.arange(cells)) else places


def _check_buckets(buckets: npt.ArrayLike | None, cells: int) -> npt.NDArray[np.int64]:
    """The boundaries of the leaves."""
    if buckets is None:
        return np.arange(cells + 1)
    bounds = freeze(buckets, "buckets").reshape(-1)
    if bounds.size < 2 or bounds[0] != 0 or bounds[-1] != cells or (np.diff(bounds) < 1).any():
        raise BadInput(f"buckets list where they begin, rising from 0, and at the end the number of cells, {cells}.")
    return bounds
