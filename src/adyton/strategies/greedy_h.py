"""Greedy-H: a binary hierarchy whose blocks are weighted for the workload.

Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy", PVLDB
2014, section 4.4. At first the cells have weight 1. Then each block, from the bottom up, takes the share λ of the
weight below it and leaves the rest, 1 − λ, to the blocks inside; so weights add up to 1 along every path. λ minimises
the error of the workload inside the block (equation 9 in the paper).

**In linear time.** Let u be the variance with which the sum of a block is known from inside it (with noise of variance
1 at weight 1), V the error of the workload inside the block when its sum is known, α(q) the mean of query q over the
cells of the block, weighted with the shares that they take of a surplus (see :mod:`adyton.solving.trees`), and
e = Σ_q α². For children 1 and 2, s = u_1 + u_2, w_c = u_c/s and x = Σ_q α_1·α_2, measuring the block is a rank-one
change, and

    V = A/(1−λ)²,  A = V_1 + V_2 + (u_1 u_2/s)·(e_1 + e_2 − 2x),
    u = s/((1−λ)² + λ²s),  e = w_1²e_1 + w_2²e_2 + 2w_1w_2x.

The error inside is V + u·e. The classes of :mod:`adyton.strategies.overlaps` find x for all siblings of a level.
Equation 9 multiplies x by a decay of 2^{−depth/2}, because the blocks above, not weighted yet, will contribute too.

**Further sweeps.** The contribution of the blocks above is known once they are weighted. If the sum of a block is known
from outside with precision p, and the block has the weight ρ to distribute, then as a function of λ the error of the
workload is

    [A/(1−λ)² + k·u/(1 + πu)] / ρ² + terms that do not depend on λ,   π = p/ρ²,

where k follows from the derivative of the error with respect to u, and all derivatives come from one pass downwards. So
every λ is chosen again, from the bottom up, in its true context. This removes about a sixth of the error on prefixes
and intervals.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.queries import Hierarchy, Queries
from adyton.queries.domain_trees import tree_above
from adyton.queries.hierarchy import BlockTree
from adyton.strategies.base import Strategy
from adyton.strategies.overlaps import Overlap, overlap_of, slots_of
from adyton.whole import whole

SWEEPS = 10


def greedy_h(
    workload: Queries, order: npt.ArrayLike | None = None, *, buckets: npt.ArrayLike | None = None, sweeps: int = SWEEPS
) -> Strategy:
    """The binary hierarchy weighted for the workload.

    ``order`` is the order of the cells under the tree (row-major if None; a Hilbert or Morton order for two
    dimensions). ``buckets`` lists where groups of neighbours in this order begin, followed by the number of cells: they
    are then the leaves of the tree, and the workload is answered as if the cells of a bucket were equal. With
    ``sweeps=0`` only equation 9 of the paper is used.

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
    cells = np.arange(workload.cells + 1)
    places = None if order is None or np.array_equal(np.reshape(np.asarray(order), -1), cells[:-1]) else order
    tree = WeightedTree(workload, tree_above(workload.domain, cells if buckets is None else buckets, places))
    tree.improve(whole(sweeps, "sweeps", 0))
    return tree.strategy()


_HASTY = 2
"""The last sweeps move fully to each best λ; earlier sweeps move half the way, which leads to better optima."""
_NOTHING = 1e-11
"""Where less than this fraction of the error depends on the inside of a block, only the block itself is measured."""


class WeightedTree:
    """The shares λ of all blocks, level by level, and the resulting error; initially the shares of equation 9.

    The tree comes from :func:`.tree_above`: 2^d blocks at depth d, some of the deepest without a leaf.
    """

    def __init__(self, workload: Queries, tree: BlockTree, overlap: Overlap | None = None) -> None:
        self.tree, self.depth = tree, tree.depth
        self.overlap = overlap = overlap_of(workload, tree) if overlap is None else overlap
        filled = slots_of(tree)
        self.shares = [np.zeros(1 << depth) for depth in range(self.depth)]
        self.states = [np.zeros((3, 1 << depth)) for depth in range(self.depth + 1)]  # V, u and e
        self.states[-1][1, filled] = 1
        self.states[-1][2, filled] = overlap.energy
        self.crosses = self.shares.copy()
        self._rise(None, 1.0)

    def improve(self, sweeps: int) -> None:
        """Choose every λ again, this many times, if the workload has a backward pass; keep the best."""
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
            self._rise(contexts, 0.0)

    def sweep(self, step: float) -> None:
        """Choose every λ in its present context, and move this fraction of the way to it."""
        self._rise(self._fall(), step)

    def _rise(self, contexts: list[Reals] | None, step: float) -> None:
        """From the leaves upwards: V, u and e of every block, and every λ, moved by *step* towards its best value.

        Contexts are k and π of every block; without them, equation 9 chooses λ.
        """
        shares = self.shares.copy()
        for depth in range(self.depth - 1, -1, -1):
            self.crosses[depth] = cross = self.overlap.cross()
            values, (left, right), (first, second) = ((row[0::2], row[1::2]) for row in self.states[depth + 1])
            total = left + right
            parts = left / total, right / total
            apart = parts[0] ** 2 * first + parts[1] ** 2 * second
            together, inside = 2 * parts[0] * parts[1] * cross, values[0] + values[1]
            least = _NOTHING * (inside + left * first + right * second)
            rest = _above(least, inside + left * parts[1] * (first + second - 2 * cross))
            if contexts is None:
                decay = 2.0 ** (-depth / 2)
                within = _above(least, inside + left * parts[1] * (first + second - 2 * decay * cross))
                gain, outside = apart + decay * together, np.zeros(cross.size)
            else:
                within, (gain, outside) = rest, contexts[depth]
            best = np.empty(cross.size)
            choose_shares(within, gain, total, outside, best)
            best = best if contexts is None else shares[depth] + step * (best - shares[depth])
            shares[depth] = share = np.where(left * right == 0, 0.0, best)
            free = (1 - share) ** 2
            inner = np.divide(rest, free, out=np.zeros_like(rest), where=rest > 0)
            self.states[depth] = np.stack([inner, total / (free + share**2 * total), apart + together])
            self.overlap.merge(*parts)
        self.shares = shares
        inside, variance, energy = self.states[0][:, 0]
        self.error = float(inside + variance * energy)

    def _fall(self) -> list[Reals]:
        """For each level, k and π of every block, from the derivatives of the error with respect to V, u and e."""
        _, variance, energy = self.states[0]
        by_inside, by_variance, by_energy = np.ones(1), energy, variance  # the derivatives of V + u·e
        known, weight = np.zeros(1), np.ones(1)  # the precision p from outside, and the weight ρ to distribute
        contexts = []
        for depth in range(self.depth):
            cross, share, own = self.crosses[depth], self.shares[depth], self.states[depth][1]
            (left, right), (first, second) = ((row[0::2], row[1::2]) for row in self.states[depth + 1][1:])
            total, free, squared = left + right, (1 - share) ** 2, weight**2
            outside = np.divide(known, squared, out=np.zeros_like(known), where=weight > 0)
            contexts.append(np.stack([squared * by_variance * (1 + outside * own) ** 2, outside]))
            by_rest = np.divide(by_inside, free, out=np.zeros_like(free), where=free > 0)
            by_total = by_variance * free / (free + share**2 * total) ** 2
            by_apart = by_rest * left * right / total
            by_product = by_rest * (first + second - 2 * cross) / total**2
            by_mean = by_energy / total**2
            pull = (left * (first - cross) - right * (second - cross)) * (2 * by_mean / total)
            later = self.overlap.back(2 * by_mean * left * right - 2 * by_apart) / total**2  # ∂w_1/∂u_1 = u_2/s²
            by_inside = np.repeat(by_rest, 2)
            by_variance = _siblings(
                by_total + by_product * right * right + pull * right + right * later,
                by_total + by_product * left * left - pull * left - left * later,
            )
            by_energy = _siblings(by_apart + by_mean * left * left, by_apart + by_mean * right * right)
            known, squared = known + (share * weight) ** 2, free * squared  # the precision of the sum from above
            known = _siblings(*(_beside(known, squared, other) for other in (right, left)))
            weight = np.repeat(weight * (1 - share), 2)
        return contexts

    def blocks(self, depth: int = 0) -> tuple[list[npt.NDArray[np.int64]], Reals]:
        """The boundaries of the measured levels and the weights of their blocks, some of which are 0.

        Only levels from *depth* on are included; each block at that depth has the weight 1 to distribute.
        """
        levels, kept = [], []
        rest = np.ones(1 << depth)
        for level in range(depth, self.depth + 1):
            share = self.shares[level] if level < self.depth else np.ones(rest.size)
            weights = rest * share if level < self.depth else rest[slots_of(self.tree)]
            rest = np.repeat(rest * (1 - share), 2)
            if weights.any():
                levels.append(self.tree.boundaries[level])
                kept.append(weights)
        return levels, np.concatenate(kept)

    def strategy(self) -> Strategy:
        """The hierarchy of all blocks that have a weight."""
        levels, weights = self.blocks()
        measured = np.flatnonzero(weights)
        numbers = None if measured.size == weights.size else measured
        return Strategy(Hierarchy(self.tree.domain, levels, self.tree.order, numbers), weights[measured])


@compiled
def best_share(inside: float, gain: float, total: float, outside: float) -> float:
    """The λ in [0, 1] with the least A/(1−λ)² + k·u/(1 + πu), for A, k, s and π in this order.

    With t = λ/(1−λ) and D = 1 + t²s + πs(1+t)² it is (1+t)²·(A + ks/D), and its derivative has the sign of the convex
    p(t) = A·D² − ks(ts − 1). So it rises, falls between the two zeros of p, if there are any, and rises again: the
    least value is at 0 or at the second zero. Newton's method approaches that zero from the right, starting where
    A(1+π)²t³ = k. There is no zero if ks² < 16A, since D ≥ 2t√s.
    """
    if inside <= 0:
        return 1.0 if total > 1 or gain == 0 else 0.0
    if gain * total * total <= 16 * inside:
        return 0.0
    t = (gain / (inside * (1 + outside) ** 2)) ** (1 / 3)
    for _ in range(100):
        depth = 1 + t * t * total + outside * total * (1 + t) ** 2
        value = inside * depth * depth - gain * total * (t * total - 1)
        slope = 4 * inside * depth * total * (t + outside * (1 + t)) - gain * total * total
        if slope <= 0:
            return 0.0
        step = value / slope
        t -= step
        if t <= 0:
            return 0.0
        if step <= 1e-8 * t:
            break
    depth = 1 + t * t * total + outside * total * (1 + t) ** 2
    reached = (1 + t) ** 2 * (inside + gain * total / depth)
    return t / (1 + t) if reached < inside + gain * total / (1 + outside * total) else 0.0


@compiled
def choose_shares(inside: Reals, gain: Reals, total: Reals, outside: Reals, shares: Reals) -> None:
    """The best λ of each block."""
    for block in range(shares.size):
        shares[block] = best_share(inside[block], gain[block], total[block], outside[block])


def _above(least: Reals, values: Reals) -> Reals:
    """The values, with 0 in place of those that are not above the least."""
    return np.where(values > least, values, 0.0)


def _siblings(left: Reals, right: Reals) -> Reals:
    """One value for each left and each right half, in the order of the blocks."""
    return np.stack([left, right], axis=1).reshape(-1)


def _beside(known: Reals, squared: Reals, other: Reals) -> Reals:
    """The precision of the sum of a half from outside: from the sum of both halves, and from inside the other half."""
    whole = squared + known * other
    return np.divide(known * squared, whole, out=np.zeros_like(known), where=known > 0)
