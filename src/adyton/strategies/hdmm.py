"""HDMM: strategies optimised for the workload.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. One order of the cells: OPT₀ (:mod:`adyton.strategies.p_identity`). Products over the axes: OPT_⊗
(:mod:`adyton.strategies.products`). Marginals: OPT_M (:mod:`adyton.strategies.weighted_marginals`).
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.queries import (
    Cells,
    Grid,
    Identity,
    Kronecker,
    Marginals,
    Queries,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.queries.product_parts import product_parts
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy
from adyton.strategies.one_order import BITS, BITS_IN_PRODUCTS, one_order, weighted_tree
from adyton.strategies.products import MOST_PARTS, best_product, product
from adyton.strategies.weighted_marginals import weighted_marginals

_ROUNDS = 3
_LARGEST_COMPARISON = 1 << 23
_WORTH_IT = 0.998
"""Products stay unless marginals lower the squared error below this part of theirs."""


def hdmm(workload: Queries) -> Strategy:
    """The queries to measure, and their weights, that suit the workload best.

    - Disjoint queries (cells, groups, grids, the total) are measured as they are.
    - Kronecker products, and unions of them, weighted or not: a product of one strategy per axis, or weighted
      marginals, whichever errs less.
    - Boxes in several dimensions (:class:`Ranges`): a product of one strategy per axis; each in turn is optimised for
      the sides of the boxes, weighted with the variances that the other axes leave.
    - Marginals: weighted marginals.
    - Everything else is optimised over the cells as they stand, in several dimensions in Morton order: OPT₀ with n/16
      further queries (4 to 128), constant on up to 1,024 blocks of cells, on top of a weighted tree inside the blocks.
      The time is bounded by that, but for reading the workload: it is a few seconds for 1,024 cells and for 65,536.

    The workload itself and the tree of :func:`adyton.strategies.greedy_h.greedy_h` are returned if they do as well.

    >>> print(hdmm(Identity((4, 4))).queries)
    histogram of 16 cells
    >>> from adyton.queries import Prefix
    >>> cells, rows = hdmm(Prefix(64)).queries.parts
    >>> print(cells)
    histogram of 64 cells
    >>> rows.count <= 4
    True
    """
    if not isinstance(workload, Queries):
        raise BadInput(f"a strategy is chosen for queries, given {type(workload).__name__}.")
    return _choose(workload, BITS)


def _choose(workload: Queries, bits: int) -> Strategy:
    """What suits the kind of the workload."""
    match workload:
        case Identity() | Total() | Grid() | Reduction():
            return Strategy(workload)
        case Cells() if np.unique(workload.places).size == workload.places.size:
            return Strategy(workload)
        case Ranges() if len(workload.domain) > 1:
            return _boxes(workload)
        case Kronecker() | Marginals() | Stack() | Weighted() if len(workload.domain) > 1:
            found = _by_axes(workload)
            if found is not None:
                return found
    return one_order(workload, bits)[0]


def _by_axes(workload: Queries) -> Strategy | None:
    """The better of a product and of weighted marginals; None where the workload is not known to be a union of
    products, nor what it asks about sets of axes."""
    marginals = weighted_marginals(workload)
    if isinstance(workload, Marginals):
        return Strategy(workload) if marginals is None else marginals[0]
    parts = product_parts(workload)
    if parts is not None and len(parts) <= MOST_PARTS:
        products, error = best_product(parts, lambda line: _choose(line, BITS_IN_PRODUCTS))
        return marginals[0] if marginals is not None and marginals[1] < _WORTH_IT * error else products
    if marginals is None and isinstance(workload, Kronecker):
        return product([_choose(factor, BITS_IN_PRODUCTS) for factor in workload.factors])
    return None if marginals is None else marginals[0]


def _boxes(workload: Ranges) -> Strategy:
    """One strategy per axis: the variance of a box is the product of the variances of its sides."""
    axes = range(len(workload.domain))
    sides = [workload.side(axis) for axis in axes]
    lengths = [(side.upper - side.lower + 1.0)[:, 0] for side in sides]
    variances = lengths.copy()  # those of single cells
    best, least = Strategy(Identity(workload.domain)), float(np.prod(lengths, axis=0).sum())
    chosen: list[Strategy] = []
    for _ in range(_ROUNDS):
        for axis in axes:
            others = np.prod([variances[other] for other in axes if other != axis], axis=0)
            places, weighted = _weighted_sides(sides[axis], others)
            strategy, _ = one_order(weighted, BITS_IN_PRODUCTS)
            variances[axis] = _variances(strategy, weighted.queries)[places]
            chosen[axis : axis + 1] = [strategy]
        error = float(np.prod(variances, axis=0).sum())
        if error >= 0.999 * least:
            break
        best, least = product(chosen), error
    if workload.count * workload.cells <= _LARGEST_COMPARISON:
        tree = weighted_tree(workload)
        if tree.error < least:
            return tree.strategy()
    return best


def _weighted_sides(side: Ranges, weights: Reals) -> tuple[Places, Weighted]:
    """The different sides, each with the root of the sum of its weights; and which of them each box has."""
    pairs = np.stack([side.lower[:, 0], side.upper[:, 0]], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    ranges = Ranges(side.domain, different[:, 0], different[:, 1])
    places = places.reshape(-1)
    return places, Weighted(ranges, np.sqrt(np.bincount(places, weights)))


def _variances(strategy: Strategy, queries: Queries) -> Reals:
    """The variance of the answer to each query, with variance 1 at weight 1 and sensitivity 1."""
    weights = np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights
    scale = float(strategy.queries._absolute_transpose(weights).max())
    prepared = solver(strategy.queries, np.square(scale / weights))
    return np.concatenate([prepared.variances(rows) for rows in queries.rows()])
