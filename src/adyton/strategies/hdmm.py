"""HDMM: strategies optimised for the workload.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018.

**One order of the cells: OPT₀.** For Θ ≥ 0 with p rows the strategy is A = [I; Θ]·diag(1/e), e = 1 + the column sums of
Θ, so that every column has L1 norm 1, and the squared error to minimise is tr[(AᵀA)⁻¹·WᵀW]. On large domains Θ is
constant on N blocks of cells, and the cells of each block are measured by a base strategy of norm 1 inside it (every
cell, or a weighted tree). Let u_c be the variance of the sum of block c under the base strategy, T_c the error of the
workload inside it, α_c(q) the mean of query q over it, weighted with the shares that its cells take of a surplus. With
B = Θ·diag(√u), K = (I + BBᵀ)⁻¹, E = diag(e) and G_cd = √u_c·√u_d·Σ_q α_c·α_d, Woodbury's identity gives

    f(B) = Σ_c e_c²·T_c − tr(K·BEG(BE)ᵀ),

both for single cells and for blocks, in O(N·p²) and one product with G. G of larger, joined blocks follows by adding
up rows and columns. The descent (L-BFGS-B) starts on a few large blocks, from random numbers with a fixed seed, and
continues with their halves: this is faster than starting with all cells, and finds lower minima. The result is rounded
to whole numbers: rows over blocks of cells, above a weighted tree inside them.

**Products over the axes: OPT_⊗.** One strategy for each axis is optimised in turn. With a strategy of norm 1 along each
axis, a product of queries has the product of their variances, so that the squared error is Σ_j w_j²·Π_i v_ij for v_ij
the error of axis i on its factor in part j. As a function of one axis alone this is the error on its factors, each
weighted with the product of the other axes' errors.

**Marginals: OPT_M.** Let the marginal over the axes S have weight θ_S. On the cells, the strategy's AᵀA = Σ_S θ_S²·⊗_i
(1 if i ∈ S else J), J the matrix of ones, has for every set T of axes one eigenvalue

    λ_T = Σ_{S ⊇ T} θ_S²·Π_{i ∉ S} n_i.

The sensitivity is Σθ, so that the squared error is (Σθ)²·Σ_T E_T/λ_T, to be minimised over the 2^d weights. E_T is the
energy of the workload on T (:mod:`adyton.queries.axes`), which has a closed form for weighted marginals, products over
the axes and boxes. The error is not convex in θ, so several starting points are tried.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import cached_property, one_thread
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
from adyton.queries.axes import ProductPart, energies_by_axes, product_parts
from adyton.queries.domain_trees import boxes_in_boxes, tree_above
from adyton.solving.residuals import over_supersets
from adyton.solving.solvers import Solver, solver
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import SWEEPS, WeightedTree
from adyton.strategies.overlaps import slots_of

BITS, BITS_IN_PRODUCTS = 10, 6
"""Coefficients are whole numbers up to 2^10, or up to 2^6 in products, where they multiply."""


_LEAST = 1e-6


_WORTH_IT = 0.998
"""A tree (for which least squares takes linear time) or a product is replaced only if the squared error falls below
this fraction of its own."""


_ROUNDS = 3


_LARGEST_COMPARISON = 1 << 23


def hdmm(workload: Queries) -> Strategy:
    """The queries to measure, and their weights, that suit the workload best.

    - Disjoint queries (cells, groups, grids, the total) are measured as they are.
    - Kronecker products, and unions of them, weighted or not: a product of one strategy per axis, or weighted
      marginals, whichever has the smaller error.
    - Boxes in several dimensions (:class:`Ranges`): a product of one strategy per axis; each in turn is optimised for
      the sides of the boxes, weighted with the variances along the other axes.
    - Marginals: weighted marginals.
    - Everything else is optimised over the cells in their given order, or in Morton order in several dimensions: OPT₀
      with n/16 further queries (4 to 128), constant on up to 1,024 blocks of cells, on top of a weighted tree inside
      the blocks. This bounds the time, except for reading the workload: a few seconds for 1,024 and for 65,536 cells.

    The workload itself or the tree of :func:`adyton.strategies.greedy_h.greedy_h` is returned if it is as good.

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
    """The strategy for this kind of workload."""
    match workload:
        case Identity() | Total() | Grid() | Reduction():
            return Strategy(workload)
        case Cells() if np.unique(workload.places).size == workload.places.size:
            return Strategy(workload)
        case Ranges() if len(workload.domain) > 1:
            return _boxes(workload)
        case Kronecker() | Marginals() | Stack() | Weighted() if len(workload.domain) > 1:
            by_axes = _by_axes(workload)
            if by_axes is not None:
                return by_axes
    return one_order(workload, bits)[0]


def _by_axes(workload: Queries) -> Strategy | None:
    """The better of a product and weighted marginals; None if the workload is not known to be a union of products and
    its energies on the sets of axes are not known either."""
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
    """Which of the distinct sides each box has; and the distinct sides, weighted with the root of their summed
    weights."""
    pairs = np.stack([side.lower[:, 0], side.upper[:, 0]], axis=1)
    different, places = np.unique(pairs, axis=0, return_inverse=True)
    ranges = Ranges(side.domain, different[:, 0], different[:, 1])
    places = places.reshape(-1)
    return places, Weighted(ranges, np.sqrt(np.bincount(places, weights)))


def _variances(strategy: Strategy, queries: Queries) -> Reals:
    """The variance of the answer to each query, with variance 1 at weight 1 and sensitivity 1."""
    prepared = _solver(strategy)
    return np.concatenate([prepared.variances(rows) for rows in queries.rows()])


def _solver(strategy: Strategy) -> Solver:
    """Least squares with variance 1 at weight 1 and sensitivity 1."""
    weights = _weights(strategy)
    scale = float(strategy.queries._absolute_transpose(weights).max())
    return solver(strategy.queries, np.square(scale / weights))


def _weights(strategy: Strategy) -> Reals:
    return np.ones(strategy.queries.count) if strategy.weights is None else strategy.weights


MOST_PARTS = 128


_AXIS_ROUNDS = 4


_ENOUGH = 0.999


def best_product(parts: Sequence[ProductPart], along: Callable[[Queries], Strategy]) -> tuple[Strategy, float]:
    """The product of one strategy per axis, found by *along*; and its squared error, with variance 1 at weight 1.
    Starts from single cells, and returns these if nothing is better."""
    sides = [factor.cells for factor in parts[0].factors]
    weights = np.square([part.weight for part in parts])
    errors = np.array([[factor.squared_norm() for factor in part.factors] for part in parts])
    best, least = Strategy(Identity(tuple(sides))), float(weights @ errors.prod(axis=1))
    chosen = [Strategy(Identity(side)) for side in sides]
    for _ in range(_AXIS_ROUNDS if len(parts) > 1 else 1):
        for axis in range(len(sides)):
            others = weights * np.delete(errors, axis, axis=1).prod(axis=1)
            factors = [part.factors[axis] for part in parts]
            chosen[axis] = along(_line(factors, others))
            errors[:, axis] = _errors(chosen[axis], factors)
        error = float(weights @ errors.prod(axis=1))
        if error >= _ENOUGH * least:
            break
        best, least = product(chosen), error
    return best, least


def product(strategies: Sequence[Strategy]) -> Strategy:
    """Every combination of one query per factor; weights multiply."""
    queries = Kronecker([strategy.queries for strategy in strategies])
    if all(strategy.weights is None for strategy in strategies):
        return Strategy(queries)
    weights = functools.reduce(lambda left, right: np.outer(left, right).reshape(-1), map(_weights, strategies))
    return Strategy(queries, weights)


def _line(factors: Sequence[Queries], importance: Reals) -> Queries:
    """The distinct factors of one axis, each weighted with the root of its total importance."""
    counted: dict[Queries, float] = {}
    for factor, own in zip(factors, importance, strict=True):
        counted[factor] = counted.get(factor, 0.0) + float(own)
    if len(counted) == 1:
        return factors[0]
    largest = max(counted.values())
    return Stack([Weighted(factor, max(1e-6, np.sqrt(own / largest))) for factor, own in counted.items()])


def _errors(strategy: Strategy, factors: Sequence[Queries]) -> list[float]:
    """The squared error of each factor, with variance 1 at weight 1 and sensitivity 1."""
    prepared = _solver(strategy)
    errors = {factor: prepared.total_variance(factor) for factor in dict.fromkeys(factors)}
    return [errors[factor] for factor in factors]


MOST_AXES = 12


_RANDOM_STARTS = 6


_NEGLIGIBLE = 5e-4
"""Marginals are left out as long as the logarithm of the squared error grows by no more than this."""


_NOTHING = 1e-12


def weighted_marginals(workload: Queries) -> tuple[Strategy, float] | None:
    """The best weights for marginals, and the squared error, with variance 1 at weight 1.

    None beyond twelve axes, and for workloads whose energies on the sets of axes are not known.

    >>> strategy, error = weighted_marginals(Marginals((10, 10), [(0,), (1,)]))
    >>> str(strategy.queries), round(error)
    ('2 marginals of 10 × 10 cells', 76)
    """
    axes = len(workload.domain)
    energies = energies_by_axes(workload) if axes <= MOST_AXES else None
    if energies is None or not energies.any():
        return None
    theta, error = optimal_weights(workload.domain, energies)
    sets = [tuple(axis for axis in range(axes) if number >> axis & 1) for number in np.flatnonzero(theta)]
    queries = Marginals(workload.domain, sets)
    return Strategy(queries, np.repeat(theta[theta > 0], queries.sizes)), error


def optimal_weights(domain: tuple[int, ...], energies: Reals) -> tuple[Reals, float]:
    """θ for every set of axes, numbered by its bits, with sum 1, and the squared error; negligible sets have weight
    0."""
    from scipy.optimize import Bounds, minimize

    energies = np.where(energies > _NOTHING * energies.max(), energies, 0.0)
    summed = _summed(domain)
    asked = (energies > 0) & (over_supersets((energies > 0).astype(np.float64)) == 1)  # no larger set has energy

    def logarithm(theta: Reals) -> tuple[float, Reals]:
        eigenvalues = np.where(energies > 0, over_supersets(theta**2 * summed), 1.0)
        terms = energies / eigenvalues
        total, error = theta.sum(), terms.sum()
        slope = -2 * theta * summed * _over_subsets(terms / eigenvalues)
        return float(2 * np.log(total) + np.log(error)), 2 / total + slope / error

    options: Any = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-12}
    bounds = Bounds(np.where(asked, _LEAST, 0.0), np.inf)
    best, least = np.ones(asked.size), np.inf
    with one_thread():
        for start in _starts(asked):
            result = minimize(logarithm, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            if result.fun < least:
                best, least = result.x, float(result.fun)
    for threshold in (1e-1, 1e-2, 1e-3, 1e-4):
        kept = np.where(best > threshold * best.max(), best, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = logarithm(kept)[0]
        if error <= least + _NEGLIGIBLE:
            best, least = kept, error
            break
    return np.asarray(best / best.sum()), float(np.exp(least))


def _starts(asked: Reals) -> list[Reals]:
    """The sets asked about, all sets, the full table, and random weights: the error has local minima."""
    random = np.random.default_rng(_SEED)
    table = np.full(asked.size, 0.05)
    table[-1] = 1.0
    return [
        np.where(asked, 1.0, 0.05),
        np.ones(asked.size),
        table,
        *(random.exponential(size=(_RANDOM_STARTS, asked.size)) ** 3 + 1e-3),
    ]


def _summed(domain: tuple[int, ...]) -> Reals:
    """For every set of axes, how many cells are summed in one cell of its marginal."""
    members = (np.arange(1 << len(domain))[:, None] >> np.arange(len(domain)) & 1).astype(bool)
    return np.asarray(np.where(members, 1.0, np.array(domain, dtype=np.float64)).prod(axis=1))


def _over_subsets(values: Reals) -> Reals:
    """For every set, the sum over all its subsets."""
    table = values.reshape((2,) * (values.size.bit_length() - 1))
    for axis in range(table.ndim):
        table = table.cumsum(axis=axis)
    return table.reshape(-1)


_DEEPEST = 10
"""Θ is constant on blocks if there are more than 2^10 cells."""


_CELLS_PER_ROW = 16


_FEWEST_ROWS, _MOST_ROWS = 4, 128


_MORE_BITS, _ROUNDING = 6, 1.0005


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
    """Θ over the blocks of the tree at a depth, above the tree's queries inside them; and coarser stages."""
    filled = np.arange(1 << depth) if depth < tree.depth else slots_of(tree.tree)
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

    The entries of a row become K/2^bits of its largest entry, with more bits where rounding would cost more than 0.05%:
    cells that are hardly measured individually need rows that agree on them closely. What the rows leave of the norm 1
    of a column goes to the base; so after rounding, Θ is the rows' part of a column divided by the rest.
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
    """The tree below a depth, and rows over its blocks; what the rows leave of the norm 1 of a column goes to the
    tree."""
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
    """m·Δ², the squared error of measuring the queries themselves with equal weights; infinite if that is not an
    option."""
    if workload.count > workload.cells or isinstance(workload, Weighted):
        return math.inf
    try:
        return workload.count * float(workload.sensitivity()) ** 2
    except BadInput:
        return math.inf


def weighted_tree(workload: Queries) -> WeightedTree:
    """Greedy-H over the cells in their given order, or in Morton order in several dimensions."""
    order = boxes_in_boxes(workload.domain).order
    tree = WeightedTree(workload, tree_above(workload.domain, np.arange(workload.cells + 1), order))
    tree.improve(SWEEPS)
    return tree


_SEED = 20180901


_FIRST, _NEXT, _LAST = 300, 60, 30
"""Iterations on the coarsest blocks, on the intermediate ones, and on the finest."""


_MOST_STARTS, _CHEAP = 5, 1 << 13


_TOLERANCE = 1e-8


_FAR = 1e3


_MEMORY = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """f(B) of the module docstring for N blocks: ``gram`` is G, ``errors`` are the T_c, ``variances`` the u_c."""

    gram: Reals
    errors: Reals
    variances: Reals

    def joined(self, starts: Places) -> Problem:
        """The same problem for joined blocks that begin at these blocks."""
        roots = np.sqrt(self.variances)
        variances = np.add.reduceat(self.variances, starts)
        rows = np.add.reduceat(self.gram * roots[:, None], starts, axis=0)
        both = np.add.reduceat(rows * roots, starts, axis=1)
        joined = np.sqrt(variances)
        return Problem(both / np.outer(joined, joined), np.add.reduceat(self.errors, starts), variances)

    @cached_property
    def _factors(self) -> tuple[Reals, Reals, Reals] | None:
        """x, y and d with G_ab = x_a·y_b for a < b and G_aa = x_a·y_a + d_a, as for prefixes and intervals; or None."""
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
    """Θ ≥ 0 with this many rows, and its f, in stages of joined blocks, from the coarsest to the blocks themselves.

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
    """The best of several descents from random numbers; the cheaper a descent, the more are run."""
    random = np.random.default_rng(_SEED)
    shape = rows, problem.errors.size
    tries = min(_MOST_STARTS, max(1, _CHEAP // (shape[0] * shape[1])))
    results = [_descend(problem, random.random(shape), _FIRST) for _ in range(tries)]
    return min(results, key=lambda result: result[1])


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
        result = minimize(
            logarithm, start.reshape(-1), jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=options
        )
    return result.x.reshape(start.shape), float(np.exp(result.fun))
