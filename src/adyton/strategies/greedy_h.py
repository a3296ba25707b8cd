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

from adyton.errors import BadInput
from adyton.queries import Queries
from adyton.queries.block_tree import BlockTree
from adyton.strategies.base import Strategy
from adyton.strategies.weighted_tree import WeightedTree
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
    tree = WeightedTree(workload, BlockTree.of_leaves(workload.domain, cells if buckets is None else buckets, places))
    tree.improve(whole(sweeps, "sweeps", 0))
    return tree.strategy()
