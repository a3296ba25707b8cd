"""HDMM: strategies optimised for the workload.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. One order of the cells: OPT₀ (:mod:`adyton.strategies.p_identity`). Products over the axes: OPT_⊗,
one strategy per axis, whose errors multiply. Marginals: OPT_M (:mod:`adyton.strategies.weighted_marginals`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.queries import (
    Cells,
    Explicit,
    Grid,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Partition,
    Product,
    Queries,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.queries.base import Reals
from adyton.queries.orders import block_tree
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import SWEEPS, WeightedTree
from adyton.strategies.leaves import Leaves
from adyton.strategies.p_identity import Problem, optimise

_DEEPEST = 10
"""Θ is constant on blocks if there are more than 2^10 cells."""
_CELLS_PER_ROW = 16
_FEWEST_ROWS, _MOST_ROWS = 4, 128
_BITS, _BITS_IN_PRODUCTS = 10, 6
"""Coefficients are whole numbers up to 2^10; up to 2^6 in products, where they multiply."""
_WORTH_IT = 0.998
"""A tree, for which least squares take linear time, stays unless the squared error falls below this part of its own."""
_ROUNDS = 3
_LARGEST_COMPARISON = 1 << 23


def hdmm(workload: Queries) -> Strategy:
    """The queries to measure, and their weights, that suit the workload best.

    - Disjoint queries (cells, groups, grids, the total) are measured as they are.
    - Kronecker products: the product of the strategies of their factors.
    - Boxes in several dimensions (:class:`Ranges`): a product of one strategy per axis; each in turn is optimised for
      the sides of the boxes, weighted with the variances that the other axes leave (section 6.3 of the paper).
    - Marginals: weighted marginals.
    - Everything else is optimised over the cells as they stand, in several dimensions in Morton order: OPT₀ with n/16
      further queries (4 to 128), on up to 1,024 blocks of cells on top of a weighted tree. This takes some 0.5 s for
      512 cells and prefixes or intervals, 2 s for 1,024 and 5 s for any larger number.

    The workload itself and the tree of :func:`adyton.strategies.greedy_h.greedy_h` are returned if they do as well.

    >>> print(hdmm(Identity((4, 4))).queries)
    histogram of 16 cells
    >>> from adyton.queries import Prefix
    >>> print(hdmm(Prefix(64)).queries)
    histogram of 64 cells and 4 queries on 64 cells
    """
    if not isinstance(workload, Queries):
        raise BadInput(f"a strategy is chosen for queries, given {type(workload).__name__}.")
    return _choose(workload, _BITS)


def _choose(workload: Queries, bits: int) -> Strategy:
    """What suits the kind of the workload."""
    match workload:
        case Identity() | Total() | Grid() | Reduction():
            return Strategy(workload)
        case Cells() if np.unique(workload.places).size == workload.places.size:
            return Strategy(workload)
        case Kronecker():
            return _product([_choose(factor, _BITS_IN_PRODUCTS) for factor in workload.factors])
        case Marginals():
            from adyton.strategies.weighted_marginals import weighted_marginals

            return weighted_marginals(workload)
        case Ranges() if len(workload.domain) > 1:
            return _boxes(workload)
    return _one_order(workload, bits)[0]


# ---- one order of the cells ----------------------------------------------------------------------------------------


def _one_order(workload: Queries, bits: int = _BITS) -> tuple[Strategy, float]:
    """The best of OPT₀, a weighted tree and the workload itself; and its squared error, with variance 1 at weight 1."""
    order = None if len(workload.domain) == 1 else block_tree(workload.domain)[0]
    leaves = Leaves(workload.cells, order, np.arange(workload.cells + 1))
    tree = WeightedTree(workload, leaves)
    tree.improve(SWEEPS)
    depth = min(tree.depth, _DEEPEST)
    theta, error = _optimise(tree, depth)
    if error < _WORTH_IT * tree.error:
        strategy = _with_rows(workload, tree, depth, theta, bits)
    else:
        strategy, error = tree.strategy(workload.domain), tree.error
    direct = _direct_error(workload)
    return (Strategy(workload), direct) if direct < error else (strategy, error)


def _optimise(tree: WeightedTree, depth: int) -> tuple[Reals, float]:
    """Θ over the blocks of the tree at a depth, on top of what the tree measures inside them."""
    filled = tree.leaves.filled(depth)
    inside, variances, energies = tree.states[depth][:, filled]
    gram = tree.overlap.gram(depth)[np.ix_(filled, filled)]
    np.fill_diagonal(gram, energies)
    roots = np.sqrt(variances)
    problem = Problem(gram * np.outer(roots, roots), inside + variances * energies, variances)
    starts = tree.leaves.firsts(depth)[:-1][filled]
    depths = sorted({max(min(depth, 5), depth - 3), max(0, depth - 1), depth}) if depth > 5 else [depth]
    stages = [np.searchsorted(starts, tree.leaves.firsts(level)[:-1]) for level in depths[:-1]]
    rows = min(_MOST_ROWS, max(_FEWEST_ROWS, tree.leaves.count // _CELLS_PER_ROW))
    return optimise(problem, rows, [*stages, np.arange(starts.size)])


def _with_rows(workload: Queries, tree: WeightedTree, depth: int, theta: Reals, bits: int) -> Strategy:
    """The tree below a depth and the rows of Θ, in whole numbers.

    Row r of Θ/e becomes K_r/2^bits of its largest entry. What the rows leave of the norm 1 of a column goes to the tree.
    """
    rows = theta / (1 + theta.sum(axis=0))
    rows = rows[rows.max(axis=1) > 1e-6]
    top = rows.max(axis=1)
    coefficients = np.rint(rows / top[:, None] * (1 << bits)).astype(np.int64)
    weights = top / (1 << bits)
    rest = np.maximum(1 - weights @ coefficients, 1e-6)
    leaves = tree.leaves
    levels, below = tree.blocks(depth)
    bounds = leaves.level(depth)
    owners = np.concatenate([np.searchsorted(bounds, level[:-1], side="right") - 1 for level in levels])
    below *= rest[owners]
    lower: Queries
    if len(levels) == 1 and levels[0].size == workload.cells + 1:
        lower = Identity(workload.domain)
        if leaves.order is not None:
            below[leaves.order] = below.copy()
    else:
        measured = np.flatnonzero(below)
        lower, below = Hierarchy(workload.domain, levels, leaves.order, measured), below[measured]
    labels = np.empty(workload.cells, dtype=np.int64)
    labels[slice(None) if leaves.order is None else leaves.order] = np.repeat(np.arange(rest.size), np.diff(bounds))
    if rest.size == workload.cells:
        upper: Queries = Explicit.from_rows(coefficients[:, labels], workload.domain)
    else:
        upper = Product(Explicit.from_rows(coefficients), Reduction(Partition(labels), workload.domain))
    return Strategy(Stack([lower, upper]), np.concatenate([below, weights]))


def _direct_error(workload: Queries) -> float:
    """The squared error of measuring the queries themselves with equal weights, if that can be done: m·Δ²."""
    if workload.count > workload.cells or isinstance(workload, Weighted):
        return math.inf
    try:
        return workload.count * float(workload.sensitivity()) ** 2
    except BadInput:
        return math.inf


# ---- several axes --------------------------------------------------------------------------------------------------


def _product(strategies: Sequence[Strategy]) -> Strategy:
    """Every combination of one query per factor; weights multiply."""
    queries = Kronecker([strategy.queries for strategy in strategies])
    if all(strategy.weights is None for strategy in strategies):
        return Strategy(queries)
    each = [np.ones(s.queries.count) if s.weights is None else s.weights for s in strategies]
    return Strategy(queries, functools.reduce(lambda left, right: np.outer(left, right).reshape(-1), each))


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
            strategy, _ = _one_order(weighted, _BITS_IN_PRODUCTS)
            variances[axis] = _variances(strategy, weighted.queries)[places]
            chosen[axis : axis + 1] = [strategy]
        error = float(np.prod(variances, axis=0).sum())
        if error >= 0.999 * least:
            break
        best, least = _product(chosen), error
    if workload.count * workload.cells <= _LARGEST_COMPARISON:
        flat, error = _flat(workload)
        if error < least:
            return flat
    return best


def _weighted_sides(side: Ranges, weights: Reals) -> tuple[npt.NDArray[np.int64], Weighted]:
    """The different sides, each with the root of the sum of its weights; and which of them each box has."""
    pairs = np.stack([side.lower[:, 0], side.upper[:, 0]], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    ranges = Ranges(side.domain, different[:, 0], different[:, 1])
    places = places.reshape(-1)
    return places, Weighted(ranges, np.sqrt(np.bincount(places, weights)))


def _variances(strategy: Strategy, queries: Queries) -> Reals:
    """The variance of the answer to each query, with variance 1 at weight 1 and sensitivity 1."""
    from adyton.inference.solvers import solver

    weights = np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights
    scale = float(strategy.queries._absolute_transpose(weights).max())
    prepared = solver(strategy.queries, np.square(scale / weights))
    return np.concatenate([prepared.variances(rows) for rows in queries.rows()])


def _flat(workload: Queries) -> tuple[Strategy, float]:
    """A weighted tree over the cells in Morton order."""
    leaves = Leaves(workload.cells, block_tree(workload.domain)[0], np.arange(workload.cells + 1))
    tree = WeightedTree(workload, leaves)
    tree.improve(SWEEPS)
    return tree.strategy(workload.domain), tree.error
