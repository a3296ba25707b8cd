"""OPT₀: strategies of all cells and p further queries, optimised for a workload in one order of the cells.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. For Θ ≥ 0 with p rows the strategy is A = [I; Θ]·diag(1/e), e = 1 + the column sums of Θ, so that
every column has L1 norm 1, and the squared error to minimise is tr[(AᵀA)⁻¹·WᵀW].

**Blocks.** On large domains Θ is constant on N blocks of cells, and the cells of each are measured by a base strategy
of norm 1 inside the block (every cell, or a weighted tree). Let u_c be the variance with which the base knows the sum
of block c, T_c the error of the workload inside it, α_c(q) the mean of query q over it, weighted with the shares that
its cells take of a surplus. With B = Θ·diag(√u), K = (I + BBᵀ)⁻¹, E = diag(e) and G_cd = √u_c·√u_d·Σ_q α_c·α_d,
Woodbury's identity gives

    f(B) = Σ_c e_c²·T_c − tr(K·BEG(BE)ᵀ),

for single cells and for blocks alike, in O(N·p²) and one product with G. Blocks joined into larger ones follow from G
by adding up rows and columns. The descent (L-BFGS-B) starts on few large blocks, from random numbers of a fixed seed,
and goes on with their halves: this is faster than to start with all cells, and ends lower. The result is rounded to
whole numbers: rows over blocks of cells, above a weighted tree inside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import cached_property, one_thread
from adyton.errors import BadInput
from adyton.queries import Explicit, Hierarchy, Identity, Partition, Product, Queries, Reduction, Stack, Weighted
from adyton.queries.block_tree import BlockTree
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import SWEEPS, WeightedTree

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


_SEED = 20180901
_FIRST, _NEXT, _LAST = 300, 60, 30
"""Iterations on the coarsest blocks, on those between, and on the finest."""
_MOST_STARTS, _CHEAP = 5, 1 << 13
_TOLERANCE = 1e-8
_FAR = 1e3
_MEMORY = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """f(B) of the module for N blocks: ``gram`` is G, ``errors`` are the T_c, ``variances`` the u_c."""

    gram: Reals
    errors: Reals
    variances: Reals

    def joined(self, starts: Places) -> Problem:
        """The same problem for blocks that begin at these blocks (the number of blocks listed at the end)."""
        roots = np.sqrt(self.variances)
        variances = np.add.reduceat(self.variances, starts)
        rows = np.add.reduceat(self.gram * roots[:, None], starts, axis=0)
        both = np.add.reduceat(rows * roots, starts, axis=1)
        joined = np.sqrt(variances)
        return Problem(both / np.outer(joined, joined), np.add.reduceat(self.errors, starts), variances)

    @cached_property
    def _factors(self) -> tuple[Reals, Reals, Reals] | None:
        """x, y and d, if G_ab = x_a·y_b for all a < b and G_aa = x_a·y_a + d_a: so it is for prefixes and intervals."""
        first, last = self.gram[0], self.gram[:, -1]
        if not (first[-1] > 0 and first.size > 2):
            return None
        x, y = last.copy(), first / first[-1]
        x[-1], y[0] = 0.0, 0.0  # not part of any pair a < b
        above = np.triu(np.outer(x, y), 1)
        if np.abs(above - np.triu(self.gram, 1)).max() > 1e-11 * np.abs(self.gram).max():
            return None
        return x, y, np.diagonal(self.gram) - x * y

    def product(self, rows: Reals) -> Reals:
        """rows·G, with two cumulative sums where G allows it."""
        if self._factors is None:
            return np.asarray(rows @ self.gram)
        x, y, diagonal = self._factors
        result = rows * (x * y + diagonal)
        before, after = rows * x, rows * y
        result[:, 1:] += before.cumsum(axis=1)[:, :-1] * y[1:]
        result[:, :-1] += after[:, ::-1].cumsum(axis=1)[:, -2::-1] * x[:-1]
        return result

    def value(self, b: Reals) -> tuple[float, Reals]:
        """f(B) and its gradient."""
        roots = np.sqrt(self.variances)
        e = 1 + b.sum(axis=0) / roots
        k = np.linalg.inv(np.eye(len(b)) + b @ b.T)
        scaled = b * e
        crossed = self.product(scaled)
        middle = crossed @ scaled.T  # BEG(BE)ᵀ
        value = float(np.square(e) @ self.errors - np.vdot(k, middle))
        solved = k @ crossed
        gradient = (k @ middle @ k) @ b - solved * e
        gradient += (e * self.errors - np.einsum("rc,rc->c", solved, b)) / roots
        return value, 2 * gradient


def optimise(problem: Problem, rows: int, stages: list[Places]) -> tuple[Reals, float]:
    """Θ ≥ 0 with this many rows and its f, from stages of joined blocks, from the coarsest to the blocks themselves.

    Each stage lists the first block of each of its joined blocks.
    """
    theta, value = np.zeros((rows, 0)), np.inf
    for number, starts in enumerate(stages):
        last = number == len(stages) - 1
        stage = problem if last else problem.joined(starts)
        roots = np.sqrt(stage.variances)
        if number:
            counts = np.diff(np.searchsorted(starts, np.append(stages[number - 1], starts[-1] + 1)))
            b, value = _descend(stage, np.repeat(theta, counts, axis=1) * roots, _LAST if last else _NEXT)
        else:
            b, value = _start(stage, rows)
        theta = b / roots
    return theta, value


def _start(problem: Problem, rows: int) -> tuple[Reals, float]:
    """The best of some descents from random numbers: more of them where they are cheap."""
    random = np.random.default_rng(_SEED)
    shape = rows, problem.errors.size
    tries = min(_MOST_STARTS, max(1, _CHEAP // (shape[0] * shape[1])))
    found = [_descend(problem, random.random(shape), _FIRST) for _ in range(tries)]
    return min(found, key=lambda result: result[1])


def _descend(problem: Problem, start: Reals, iterations: int) -> tuple[Reals, float]:
    """A local minimum of ln f over B ≥ 0."""
    from scipy.optimize import Bounds, minimize

    def logarithm(flat: Reals) -> tuple[float, Reals]:
        value, gradient = problem.value(flat.reshape(start.shape))
        if not value > 0:  # a step so long that only rounding errors are left
            return _FAR, np.zeros(flat.size)
        return float(np.log(value)), gradient.reshape(-1) / value

    options: Any = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": _MEMORY, "ftol": _TOLERANCE, "gtol": 0.0}
    with one_thread():
        found = minimize(
            logarithm, start.reshape(-1), jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=options
        )
    return found.x.reshape(start.shape), float(np.exp(found.fun))
