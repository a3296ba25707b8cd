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
    cells = np.arange(workload.cells + 1)
    places = None if order is None or np.array_equal(np.reshape(np.asarray(order), -1), cells[:-1]) else order
    tree = WeightedTree(workload, tree_above(workload.domain, cells if buckets is None else buckets, places))
    tree.improve(whole(sweeps, "sweeps", 0))
    return tree.strategy()


_HASTY = 2
"""The last sweeps take each best λ at once; those before go half the way, which ends in better optima."""
_NOTHING = 1e-11
"""Where less than this part of the error depends on what happens inside a block, only the block is measured."""


class WeightedTree:
    """The shares λ of all blocks, level by level, and the error that they lead to; at first those of equation 9.

    The tree is one :func:`.tree_above`: 2^d blocks at a depth d, some of the deepest without a leaf.
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
        self._rise(
            [2.0 ** (-depth / 2) for depth in range(self.depth)],
            [np.zeros((2, 1 << depth)) for depth in range(self.depth)],
            1.0,
        )

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
    p(t) = A·D² − ks(ts − 1). So it rises, falls between the two zeros of p, if there are any, and rises: the least
    value is at 0 or at the second zero. Newton's steps approach that from the right, from where A(1+π)²t³ = k. There is
    no zero if ks² < 16A, since D ≥ 2t√s.
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
def rise(
    below: Reals, cross: Reals, decay: float, context: Reals, step: float, share: Reals, parts: Reals, above: Reals
) -> None:
    """From the rows V, u and e of a level to those of the level above it.

    With a decay of at least 0 equation 9 chooses λ; otherwise the context, rows k and π, does, and ``share`` goes this
    step towards it. Writes ``share``, the rows w_1 and w_2 of ``parts``, and ``above``.
    """
    for pair in range(cross.size):
        left, right = 2 * pair, 2 * pair + 1
        left_variance, right_variance = below[1, left], below[1, right]
        first, second = below[2, left], below[2, right]
        total = left_variance + right_variance
        parts[0, pair], parts[1, pair] = left_variance / total, right_variance / total
        apart = parts[0, pair] ** 2 * first + parts[1, pair] ** 2 * second
        together = 2 * parts[0, pair] * parts[1, pair] * cross[pair]
        inside = below[0, left] + below[0, right]
        nothing = _NOTHING * (inside + left_variance * first + right_variance * second)
        rest = inside + left_variance * parts[1, pair] * (first + second - 2 * cross[pair])
        rest = rest if rest > nothing else 0.0
        if left_variance * right_variance == 0:
            share[pair] = 0.0
        else:
            within, gain, outside = rest, context[0, pair], context[1, pair]
            if decay >= 0:
                within = inside + left_variance * parts[1, pair] * (first + second - 2 * decay * cross[pair])
                within = within if within > nothing else 0.0
                gain, outside = apart + decay * together, 0.0
            best = best_share(within, gain, total, outside)
            share[pair] = best if decay >= 0 else share[pair] + step * (best - share[pair])
        free = (1 - share[pair]) ** 2
        above[0, pair] = rest / free if rest > 0 else 0.0
        above[1, pair] = total / (free + share[pair] ** 2 * total)
        above[2, pair] = apart + together


@compiled
def fall(
    below: Reals,
    cross: Reals,
    share: Reals,
    own: Reals,
    by_own: Reals,
    frame: Reals,
    context: Reals,
    crossed: Reals,
    by_below: Reals,
    frame_below: Reals,
) -> None:
    """From the derivatives of the error by V, u and e of the blocks of a level to those of the level below it.

    ``own`` and ``below`` hold the rows V, u and e of both levels, ``frame`` the precision p from outside and the weight
    ρ. Writes the rows k and π of the context, the derivative by x, and what the level below needs; but how x depends
    on the w_c of blocks further below is left to the overlap.
    """
    for pair in range(cross.size):
        left, right = 2 * pair, 2 * pair + 1
        weight = frame[1, pair]
        context[1, pair] = frame[0, pair] / weight**2 if weight > 0 else 0.0
        context[0, pair] = weight**2 * by_own[1, pair] * (1 + context[1, pair] * own[1, pair]) ** 2
        left_variance, right_variance = below[1, left], below[1, right]
        total = left_variance + right_variance
        free = (1 - share[pair]) ** 2
        by_rest = by_own[0, pair] / free if free > 0 else 0.0
        by_total = by_own[1, pair] * free / (free + share[pair] ** 2 * total) ** 2
        by_apart = by_rest * left_variance * right_variance / total
        by_product = by_rest * (below[2, left] + below[2, right] - 2 * cross[pair]) / total**2
        energy = by_own[2, pair] / total**2
        pull = left_variance * (below[2, left] - cross[pair]) - right_variance * (below[2, right] - cross[pair])
        pull *= 2 * energy / total
        by_below[0, left] = by_below[0, right] = by_rest
        by_below[1, left] = by_total + by_product * right_variance * right_variance + pull * right_variance
        by_below[1, right] = by_total + by_product * left_variance * left_variance - pull * left_variance
        by_below[2, left] = by_apart + energy * left_variance * left_variance
        by_below[2, right] = by_apart + energy * right_variance * right_variance
        crossed[pair] = 2 * energy * left_variance * right_variance - 2 * by_apart
        known = frame[0, pair] + (share[pair] * weight) ** 2  # how well the sum is known, but for the inside
        squared = free * weight**2
        frame_below[0, left] = known * squared / (squared + known * right_variance) if known > 0 else 0.0
        frame_below[0, right] = known * squared / (squared + known * left_variance) if known > 0 else 0.0
        frame_below[1, left] = frame_below[1, right] = weight * (1 - share[pair])
