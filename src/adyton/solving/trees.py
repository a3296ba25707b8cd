"""Least squares on a tree of blocks: one pass up and one down, in time linear in the number of blocks, with any noise.

Every block has an answer with its own precision, 1/variance, or none. Upwards, each block's sum is estimated from the
measurements inside it: the children's estimates add up, with variance U = Σ u_c, and are averaged with the block's own
answer. Downwards, the surplus of a block over its children's sum, positive or negative, is divided among the children
in proportion to their variances u_c. This is exact generalised least squares (Hay et al., "Boosting the accuracy of
differentially private histograms through consistency", PVLDB 2010, for unequal noise), and where cells are not
distinguished it is the solution in which they are equal: as long as a block has cells about which nothing is known,
they take its whole surplus, in equal parts.

**The error.** Given a block's sum, the sums of its children have covariance diag(u) − uuᵀ/U, and the errors inside one
subtree are independent of the rest. So the estimate of a query q has the variance u_root·α_root² plus, for every block
v, Σ_c u_c·(α_c − α_v)² over its children, where α_v is the mean of q over the cells of v, weighted with the shares that
they take of a surplus of v.

**No negative cells.** The task is to find the cells x ≥ 0 with the least Σ_b (Σ_{i∈b} x_i − y_b)² / variance_b. For a
block let total(price) be the sum of its cells when they minimise (misfit inside the block) − price·sum. At price zero a
leaf without measurement can hold any amount; below it, nothing. Two rules lead up the tree:

- the totals of siblings add up, at the same price;
- a measurement y with precision p shifts the price: price′ = price + p·(total − y).

So total(price) is continuous, increasing and piecewise linear, with one corner per leaf: the price at which this leaf
rises above zero. Both rules keep the order of the corners, so a block's corners are its children's corners, merged. At
the root the price is zero, and the corners below it give the leaves above zero: the active set of the optimum, found in
O(cells · height) without iterating. One pass of least squares on it, O(cells), gives the cells.

Blocks keep a list of corners by increasing price, *corners[0]* the prices and *corners[1]* the steps, with the *names*
of their leaves: at that price the leaf rises above zero, and the slope of total(price) grows by the step. A leaf
without measurement has an infinite step at price 0, beyond which no corner is ever reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Flags, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.queries import Hierarchy, Measurement, Queries
from adyton.queries.domain_trees import from_root_to_cells, layout
from adyton.queries.hierarchy import BlockTree
from adyton.solving.energies import tree_energies
from adyton.whole import rises


class TreeSolver:
    """Least squares for one hierarchy and one set of variances, prepared once for any number of answers."""

    exact = True

    def __init__(self, queries: Hierarchy, variances: npt.ArrayLike) -> None:
        self.queries, self.tree = queries, from_root_to_cells(queries)
        own = 1 / np.broadcast_to(np.asarray(variances, dtype=np.float64), (queries.count,))
        self._fit = BlockFit.of(layout(self.tree).offsets, self._in_tree(own), np.ones(queries.cells))
        self._known, self._shares = self.tree.by_level(self._fit.variances), self.tree.by_level(self._fit.shares)
        self._unknown = self.tree.by_level(self._fit.unknown)
        self._mixed = bool((self._fit.shares == 0).any())

    def _in_tree(self, values: Reals) -> Reals:
        """Values of the queries for every block of the tree, including the root and the cells; 0 for blocks without a
        query."""
        every = np.zeros((*values.shape[:-1], self.tree.blocks))
        first = int(self.tree.boundaries[0].size < self.queries.boundaries[0].size)  # 1 if the root was added
        every[..., first : first + self.queries.blocks] = self.queries.for_every_block(values)
        return every

    def solve(self, answers: Array) -> Reals:
        """The estimate of the cells, in row-major order; leading axes are independent trials."""
        every = self._fit.estimates(self._in_tree(np.asarray(answers, dtype=np.float64)))
        return np.ascontiguousarray(self.tree.unordered(every[..., -self.tree.cells :]))

    # ---- the error --------------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every cell is determined: otherwise the estimate has a bias that depends on the data.

        One cell per block may follow from the other cells if the block itself is known.
        """
        known = [np.isfinite(level) for level in self._known]
        below = enumerate(zip(known, self._unknown[1:], strict=False))
        return bool(known[0].all()) and all(
            (self.tree.sums(lost, level)[own] <= 1).all() for level, (own, lost) in below
        )

    def variances(self, rows: Reals) -> Reals:
        """The variance of the estimated answer to each of these queries (rows of coefficients).

        Where a block is not known from inside, the means inside it are compared with that of the next block above that
        is known: its surplus comes from there.
        """
        return _variances(self.tree, self._known, self._shares, rows)

    def total_variance(self, workload: Queries) -> float:
        """The sum of the variances of the workload's answers, tr(W·Cov·Wᵀ)."""
        if self._mixed:
            return float(sum(self.variances(rows).sum() for rows in workload.rows()))
        energies = tree_energies(workload, self.tree.boundaries, self._profile(), self.tree.order)
        pairs = zip(self._block_weights(), energies, strict=True)
        return float(sum(weights @ energy for weights, energy in pairs))

    def _block_weights(self) -> list[Reals]:
        """The coefficient of a query's squared mean over a block in its variance: Σ_v (Σ_c u_c·α_c² − U_v·α_v²), sorted
        by block, gives u_v − U_v, with U = 0 where nothing is known below."""
        inside = [self.tree.sums(known, level) for level, known in enumerate(self._known[1:])]
        pairs = zip(self._known, [*inside, np.zeros(1)], strict=True)
        return [_finite(known) - _finite(below) for known, below in pairs]

    def _profile(self) -> Reals:
        """The share that each cell, in the tree's order, takes of a surplus of the whole domain."""
        shares = np.ones(1)
        for level, below in enumerate(self._shares[1:]):
            shares = self.tree.spread(shares, level) * below
        return shares


def _variances(tree: BlockTree, known: Sequence[Reals], shares: Sequence[Reals], rows: Reals) -> Reals:
    """As :meth:`TreeSolver.variances`; *known* and *shares* are the variances and shares of :class:`BlockFit`, cut into
    levels."""
    means = _block_means(tree, shares, rows)
    result = np.zeros(rows.shape[:-1])
    centre = np.zeros((*rows.shape[:-1], 1))
    for level, own in enumerate(known):
        result += np.square(means[level] - centre) @ _finite(own)
        if level < tree.depth:
            centre = tree.spread(np.where(np.isfinite(own), means[level], centre), level)
    return result


def _block_means(tree: BlockTree, shares: Sequence[Reals], rows: Reals) -> list[Reals]:
    """For every level, the mean of each query over the cells of each block, weighted with the shares that they take of
    a surplus of the block."""
    means = [tree.ordered(rows)]
    for level in range(tree.depth - 1, -1, -1):
        means.append(tree.sums(means[-1] * shares[level + 1], level))
    return means[::-1]


def _finite(values: Reals) -> Reals:
    return np.where(np.isfinite(values), values, 0.0)


_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class BlockAnswers:
    """Answers on the blocks of a tree whose first level is the whole domain and whose last level is the cells.

    Cells that no answer distinguishes get equal shares. If blocks inside a block are measured, they must cover it.

    >>> from adyton.queries.domain_trees import tree_of_halves
    >>> known = BlockAnswers.none(tree_of_halves(3)).with_answers([0], [9.0], 2.0)
    >>> known.with_answers([1, 2], [8.0, 3.0], 1.0).cells()  # one too many each: half of the two is the total's fault
    array([3.75, 3.75, 2.5 ])
    """

    tree: BlockTree
    answers: Reals
    precisions: Reals

    @classmethod
    def none(cls, tree: BlockTree, totals: Sequence[Measurement] = ()) -> BlockAnswers:
        """A tree without answers, except for the given totals."""
        known = cls(tree, np.zeros(tree.blocks), np.zeros(tree.blocks))
        for total in totals:
            known = known.with_level(0, total)
        return known

    def with_level(self, level: int, measured: Measurement) -> BlockAnswers:
        """These answers and those on all blocks of a level, in the order of the tree."""
        first, end = self.tree.level_starts[level : level + 2]
        return self.with_answers(np.arange(first, end), measured.answers, measured.variances)

    def with_answers(self, blocks: npt.ArrayLike, answers: npt.ArrayLike, variances: npt.ArrayLike) -> BlockAnswers:
        """These answers and further ones, which are averaged with the answers that the blocks have, by precision."""
        places = np.asarray(blocks, dtype=np.int64).reshape(-1)
        given = np.broadcast_to(np.asarray(answers, dtype=np.float64), places.shape)
        noise = np.broadcast_to(np.asarray(variances, dtype=np.float64), places.shape)
        if places.size and (places.min() < 0 or places.max() >= self.tree.blocks):
            raise BadInput(f"blocks are numbered from 0 to {self.tree.blocks - 1}.")
        if not (np.isfinite(given).all() and (noise >= 0).all()) or not (rises(places) or rises(np.sort(places))):
            raise BadInput("answers must be finite numbers with variances of at least 0, and blocks must not repeat.")
        added = 1 / np.maximum(noise, _LEAST_VARIANCE)
        every, precisions = self.answers.copy(), self.precisions.copy()
        precisions[places] += added
        every[places] += (given - every[places]) * (added / precisions[places])
        return BlockAnswers(self.tree, every, precisions)

    def estimates(self) -> tuple[Reals, Reals]:
        """For every block, the least-squares estimate of its sum, and the variance of the estimate from inside it."""
        fit = BlockFit.of(layout(self.tree).offsets, self.precisions, np.ones(self.tree.cells))
        return fit.estimates(self.answers), fit.variances

    def cells(self) -> Reals:
        """The least-squares estimate of the cells, in the order of the tree."""
        return self.estimates()[0][-self.tree.cells :]

    def variances(self, rows: Reals, uneven: float = 0.0) -> Reals:
        """The variance of the least-squares answers to queries (rows of coefficients in row-major order), if M rows of
        a block inside which nothing was measured divide among its halves with a difference of mean square M +
        *uneven*·M².

        Such a difference counts with half of the difference of the query's means over the halves, and
        E m² = ((1 + *uneven*)·M² + M)/4 for the rows m of a half. Blocks that are not halved divide by chance alone.
        M² is that of the estimate plus the variance of its noise.
        """
        tree = self.tree
        fit = BlockFit.of(layout(tree).offsets, self.precisions, np.ones(tree.cells))
        known, shares = tree.by_level(fit.variances), tree.by_level(fit.shares)
        result, means = _variances(tree, known, shares, rows), _block_means(tree, shares, rows)
        first = [np.maximum(level, 0.0) for level in tree.by_level(fit.estimates(self.answers))]
        second = [np.square(level) + _finite(noise) for level, noise in zip(first, known, strict=True)]
        for level, below in enumerate(known[1:]):
            halved = np.where(np.diff(tree.children[level]) == 2, uneven, 0.0) * second[level]
            unseen = np.isinf(tree.sums(below, level))
            scattered = tree.sums(np.square(means[level + 1]) * shares[level + 1], level) - np.square(means[level])
            result += np.maximum(scattered, 0.0) @ np.where(unseen, halved + first[level], 0.0)
            parts = tree.spread((second[level] + halved + first[level]) / 4, level)
            second[level + 1] = np.where(tree.spread(unseen, level), parts, second[level + 1])
        return np.asarray(result)


@dataclass(frozen=True, eq=False)
class BlockFit:
    """Both passes for one tree and one set of precisions, prepared once for any number of answers."""

    offsets: Places
    """The first child of each block that has children, as in :attr:`adyton.queries.domain_trees.Layout.offsets`."""
    variances: Reals
    """The variance of each block's sum estimated from the measurements inside it; infinite where it is not known."""
    gains: Reals
    """The weight of each block's own answer relative to its children's estimate."""
    shares: Reals
    """The share that each block takes of its parent's surplus."""
    unknown: Reals
    """The number of cells of each block about which nothing is known; 0 where the block's sum is known."""

    @classmethod
    def of(cls, offsets: Places, precisions: Reals, sizes: Reals) -> BlockFit:
        """*precisions* are 0 for a missing answer and infinite for an exact one; *sizes* are those of the leaves."""
        blocks, inner = precisions.size, offsets.size - 1
        unknown = np.zeros(blocks)
        unknown[inner:] = sizes
        fit = cls(offsets, np.empty(blocks), np.empty(blocks), np.ones(blocks), unknown)
        weigh(offsets, np.ascontiguousarray(precisions), fit.variances, fit.gains, fit.shares, unknown)
        return fit

    def estimates(self, answers: Reals) -> Reals:
        """The least-squares estimate of every block; leading axes are independent trials."""
        every = np.array(answers, dtype=np.float64, order="C")
        rows = every.reshape(-1, every.shape[-1])
        combine(self.offsets, self.gains, self.shares, rows, np.empty(self.offsets.size - 1))
        return every


@compiled
def weigh(offsets: Places, precisions: Reals, variances: Reals, gains: Reals, shares: Reals, unknown: Reals) -> None:
    """Fill the arrays of :class:`BlockFit`, from the leaves upwards; *unknown* holds the sizes of the leaves."""
    inner = offsets.size - 1
    for block in range(precisions.size - 1, -1, -1):
        variance, missing = np.inf, unknown[block]
        if block < inner:
            variance = 0.0
            for child in range(offsets[block], offsets[block + 1]):
                variance += variances[child]  # infinite if a child is not known
                missing += unknown[child]
            for child in range(offsets[block], offsets[block + 1]):
                if missing > 0:
                    shares[child] = unknown[child] / missing
                else:
                    shares[child] = variances[child] / variance if variance > 0 else 0.0
        own = precisions[block]
        if variance == 0.0:  # the sum is known exactly
            gains[block] = variances[block] = 0.0
        elif own == np.inf:
            gains[block], variances[block] = 1.0, 0.0
        else:
            precision = own + 1 / variance
            gains[block] = own / precision if precision > 0 else 0.0
            variances[block] = 1 / precision if precision > 0 else np.inf
        unknown[block] = missing if variances[block] == np.inf else 0.0


@compiled
def combine(offsets: Places, gains: Reals, shares: Reals, answers: Reals, surplus: Reals) -> None:
    """Both passes in every row of *answers*, which become estimates; *surplus* is a buffer of one number per parent."""
    inner = offsets.size - 1
    for trial in range(answers.shape[0]):
        values = answers[trial]
        for leaf in range(inner, values.size):
            if gains[leaf] == 0.0:
                values[leaf] = 0.0
        for block in range(inner - 1, -1, -1):
            inside = 0.0
            for child in range(offsets[block], offsets[block + 1]):
                inside += values[child]
            surplus[block] = gains[block] * (values[block] - inside) if gains[block] > 0 else 0.0
            values[block] = inside + surplus[block]
        for block in range(inner):
            for child in range(offsets[block], offsets[block + 1]):
                extra = surplus[block] * shares[child]
                values[child] += extra
                if child < inner:
                    surplus[child] += extra


def nonnegative_tree_least_squares(tree: BlockTree, answers: npt.ArrayLike, precisions: npt.ArrayLike) -> Reals:
    """The cells x ≥ 0, in the order of the tree, that fit noisy sums of its blocks best.

    The last axis of ``answers`` and ``precisions`` runs over the blocks, leading axes over trials. A precision is
    1/variance, 0 for a block that was not measured; at the coarsest level it may be infinite: such a sum, at least 0,
    is met exactly. If several solutions fit equally well, the one with the least sum of squares is returned: a sum that
    is known only for a group of cells is spread evenly over them.

    >>> nonnegative_tree_least_squares(BlockTree(2, [[0, 2], [0, 1, 2]]), [3, 5, -2], [1, 1, 1])
    array([4., 0.])
    >>> nonnegative_tree_least_squares(BlockTree(4, [[0, 4], [0, 1, 4]]), [10, 4, 0], [np.inf, 1, 0])
    array([4., 2., 2., 2.])
    """
    values, weights = np.asarray(answers, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
    top, blocks, sizes = tree.boundaries[0].size - 1, tree.blocks, np.diff(tree.boundaries[-1])
    _check(values, weights, top, blocks)
    offsets, inner = layout(tree).offsets, blocks - sizes.size
    leading = np.broadcast_shapes(values.shape[:-1], weights.shape[:-1])
    rows, row_weights = (np.broadcast_to(part, (*leading, blocks)).reshape(-1, blocks) for part in (values, weights))
    sums = np.empty((len(rows), sizes.size))
    for row, weight, leaf_sums in zip(rows, row_weights, sums, strict=True):
        given, own = row.copy(), weight.copy()
        corners, names = np.zeros((2, 2, sizes.size)), np.empty((2, sizes.size), dtype=np.int64)
        corners[0, 1], names[0] = np.inf, np.arange(sizes.size)
        active = np.zeros(sizes.size, dtype=np.bool_)  # the leaves above zero at the optimum
        climb(given, own, offsets, top, corners, names, np.empty((2, blocks), dtype=np.int64), active)
        rest = ~active
        given[inner:][rest], own[inner:][rest] = 0.0, np.inf  # the other leaves are held at zero
        leaf_sums[:] = np.maximum(0.0, BlockFit.of(offsets, own, sizes).estimates(given)[inner:])
    cells = sums if sizes.max() == 1 else np.repeat(sums / sizes, sizes, axis=-1)
    return cells.reshape(*leading, -1)


def _check(answers: Reals, precisions: Reals, top: int, blocks: int) -> None:
    """One number per block, precisions of at least 0, finite answers."""
    for name, values in (("answers", answers), ("precisions", precisions)):
        if values.ndim == 0 or values.shape[-1] != blocks:
            raise BadInput(f"the tree has {blocks} blocks, given {name} of shape {values.shape}: give one per block.")
    if not (precisions >= 0).all() or np.isinf(precisions[..., top:]).any():
        raise BadInput("precisions (1/variance) must be at least 0, and finite below the coarsest level.")
    known = np.isinf(precisions[..., :top])
    if not np.isfinite(np.where(precisions > 0, answers, 0)).all() or (known & (answers[..., :top] < 0)).any():
        raise BadInput("answers must be finite, and sums that are known exactly must be at least 0.")


@compiled
def climb(
    answers: Reals,
    precisions: Reals,
    offsets: Places,
    top: int,
    corners: Reals,
    names: Places,
    spans: Places,
    active: Flags,
) -> None:
    """Merge the corners of children and account for measurements, from the leaves to the roots.

    *corners* and *names* hold two lists, which are merged from one into the other; *spans* says where a block's corners
    begin and end.
    """
    inner = offsets.size - 1
    for block in range(answers.size - 1, -1, -1):
        if block >= inner:
            spans[0, block], spans[1, block] = block - inner, block - inner + 1
        else:
            runs, start = offsets[block + 1] - offsets[block], offsets[block]
            parts = spans[:, start : start + runs]  # overwritten: the children are finished
            low, full = parts[0, 0], 0
            while runs > 1:
                merge_pairs(corners[full], names[full], corners[1 - full], names[1 - full], parts, runs)
                full = 1 - full
                runs = (runs + 1) // 2
            high = parts[1, 0]
            spans[0, block], spans[1, block] = low, high
            if full == 1:
                for place in range(low, high):
                    corners[0, 0, place], corners[0, 1, place] = corners[1, 0, place], corners[1, 1, place]
                    names[0, place] = names[1, place]
        first, stop = spans[0, block], spans[1, block]
        if block < top:
            decide(corners[0], names[0], first, stop, answers[block], precisions[block], active)
        elif precisions[block] > 0:
            spans[1, block] = weigh_in(corners[0], names[0], first, stop, answers[block], precisions[block])


@compiled
def merge_pairs(corners: Reals, names: Places, to_corners: Reals, to_names: Places, spans: Places, runs: int) -> None:
    """Merge neighbouring sorted runs, two at a time, into the other list."""
    for pair in range((runs + 1) // 2):
        left, left_end = spans[0, 2 * pair], spans[1, 2 * pair]
        right, right_end = 0, 0
        if 2 * pair + 1 < runs:
            right, right_end = spans[0, 2 * pair + 1], spans[1, 2 * pair + 1]
        place = left
        spans[0, pair] = place
        while left < left_end or right < right_end:
            take_left = right == right_end or (left < left_end and corners[0, left] <= corners[0, right])
            source = left if take_left else right
            to_corners[0, place], to_corners[1, place] = corners[0, source], corners[1, source]
            to_names[place] = names[source]
            left += take_left
            right += not take_left
            place += 1
        spans[1, pair] = place


@compiled
def weigh_in(corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float) -> int:
    """Account for the measurement of a block: price′ = price + precision·(total − answer). Returns the new end."""
    slope, total, before, place = 0.0, 0.0, 0.0, first
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
        if slope == np.inf:
            if step == np.inf:  # a second leaf that was not measured rises together with the first
                corners[0, place], corners[1, place], names[place] = corners[0, place - 1], 0.0, names[position]
                place += 1
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        damping = 1 + precision * slope
        slope += step
        corners[0, place] = price + precision * (total - answer)
        # slope′ = slope / (1 + precision·slope), so step′ = step / ((1 + precision·slope₀)(1 + precision·slope₁))
        if step == np.inf:
            corners[1, place] = 1 / (precision * damping)
        else:
            corners[1, place] = step / (damping * (1 + precision * slope))
        names[place] = names[position]
        place += 1
    return place


@compiled
def decide(
    corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float, active: Flags
) -> None:
    """At a block without a parent the price is known: the leaves whose own price is below it are above zero."""
    slope, total, before = 0.0, 0.0, 0.0
    rising = True
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
        if slope == np.inf:
            active[names[position]] = rising and step == np.inf
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        slope += step
        if precision == np.inf:
            rising = rising and total < answer
        else:
            rising = rising and price + precision * (total - answer) < 0
        active[names[position]] = rising
