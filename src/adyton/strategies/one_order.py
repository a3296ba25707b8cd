"""OPT₀ over one order of the cells, in whole numbers: rows over blocks of cells, above a weighted tree inside them."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.queries import Explicit, Hierarchy, Identity, Partition, Product, Queries, Reduction, Stack, Weighted
from adyton.queries.block_tree import BlockTree
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import SWEEPS
from adyton.strategies.p_identity import Problem, optimise
from adyton.strategies.weighted_tree import WeightedTree

_DEEPEST = 10
"""Θ is constant on blocks if there are more than 2^10 cells."""
_CELLS_PER_ROW = 16
_FEWEST_ROWS, _MOST_ROWS = 4, 128
BITS, BITS_IN_PRODUCTS = 10, 6
"""Coefficients are whole numbers up to 2^10; up to 2^6 in products, where they multiply."""
_MORE_BITS, _ROUNDING = 6, 1.0005
_LEAST = 1e-6
_WORTH_IT = 0.998
"""A tree, for which least squares take linear time, stays unless the squared error falls below this part of its own."""


def one_order(workload: Queries, bits: int = BITS) -> tuple[Strategy, float]:
    """The best of OPT₀, a weighted tree and the workload itself; and its squared error, with variance 1 at weight 1."""
    tree = weighted_tree(workload)
    depth = min(tree.depth, _DEEPEST)
    problem, stages = _problem(tree, depth)
    rows = min(_MOST_ROWS, max(_FEWEST_ROWS, workload.cells // _CELLS_PER_ROW))
    theta, _ = optimise(problem, rows, stages)
    coefficients, weights, error = _rounded(problem, theta, bits)
    if error < _WORTH_IT * tree.error:
        strategy = _with_rows(workload, tree, depth, coefficients, weights)
    elif len(tree.blocks()[0]) == 1 and tree.blocks()[1].size == workload.cells:
        strategy, error = Strategy(Identity(workload.domain)), tree.error
    else:
        strategy, error = tree.strategy(), tree.error
    direct = _direct_error(workload)
    return (Strategy(workload), direct) if direct < error else (strategy, error)


def _problem(tree: WeightedTree, depth: int) -> tuple[Problem, list[Places]]:
    """Θ over the blocks of the tree at a depth, on top of what the tree measures inside them; and coarser stages."""
    filled = np.arange(1 << depth) if depth < tree.depth else tree.tree.slots
    inside, variances, energies = tree.states[depth][:, filled]
    gram = tree.overlap.gram(depth)[np.ix_(filled, filled)]
    np.fill_diagonal(gram, energies)
    roots = np.sqrt(variances)
    problem = Problem(gram * np.outer(roots, roots), inside + variances * energies, variances)
    levels = tree.tree.boundaries
    depths = sorted({max(min(depth, 5), depth - 3), max(0, depth - 1), depth}) if depth > 5 else [depth]
    stages = [np.searchsorted(levels[depth], levels[level][:-1]) for level in depths[:-1]]
    return problem, [*stages, np.arange(filled.size)]


def _rounded(problem: Problem, theta: Reals, bits: int) -> tuple[Places, Reals, float]:
    """Whole coefficients of the rows of Θ/e, the weights of these rows, and the squared error that they lead to.

    A row becomes K/2^bits of its largest entry, with more bits where rounding would cost more than 0.05%: cells that
    are hardly measured one by one need rows that agree on them closely. What the rows leave of the norm 1 of a column
    goes to the base; so Θ is, after rounding, what the rows have of a column divided by what they leave.
    """
    rows = theta / (1 + theta.sum(axis=0))
    rows = rows[rows.max(axis=1) > _LEAST]
    top = rows.max(axis=1, initial=0.0)
    ideal, _ = problem.value(theta * np.sqrt(problem.variances))
    for more in range(0, _MORE_BITS + 1, 2):
        weights = top / (1 << (bits + more))
        coefficients = np.rint(rows / weights[:, None]).astype(np.int64)
        rest = np.maximum(1 - weights @ coefficients, _LEAST)
        error, _ = problem.value(weights[:, None] * coefficients / rest * np.sqrt(problem.variances))
        if error <= _ROUNDING * ideal:
            break
    return coefficients, weights, error


def _with_rows(workload: Queries, tree: WeightedTree, depth: int, coefficients: Places, weights: Reals) -> Strategy:
    """The tree below a depth and rows over its blocks; what these leave of the norm 1 of a column goes to the tree."""
    rest = np.maximum(1 - weights @ coefficients, _LEAST)
    order, bounds = tree.tree.order, tree.tree.boundaries[depth]
    levels, below = tree.blocks(depth)
    owners = np.concatenate([np.searchsorted(bounds, level[:-1], side="right") - 1 for level in levels])
    below *= rest[owners]
    lower: Queries
    if len(levels) == 1 and levels[0].size == workload.cells + 1:
        lower = Identity(workload.domain)
        below = tree.tree.unordered(below)
    else:
        measured = np.flatnonzero(below)
        lower, below = Hierarchy(workload.domain, levels, order, measured), below[measured]
    labels = tree.tree.unordered(np.repeat(np.arange(rest.size), np.diff(bounds)))
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


def weighted_tree(workload: Queries) -> WeightedTree:
    """Greedy-H over the cells as they stand, in several dimensions in Morton order."""
    order = boxes_in_boxes(workload.domain).order
    tree = WeightedTree(workload, BlockTree.of_leaves(workload.domain, np.arange(workload.cells + 1), order))
    tree.improve(SWEEPS)
    return tree
