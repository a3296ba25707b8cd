"""How a count splits into two parts: the tree of splits, the possible counts of each node, a prior fitted to the noisy
counts, and message passing on the tree.

Blocks are halved where a smaller block inside was measured: a view of a :class:`~adyton.queries.hierarchy.BlockTree`
whose blocks have one child or two. Least squares on it bounds the possible counts of each node: its window, over which
the noisy count of the node has a likelihood.

**The prior.** A block of n rows sends l to the left and n - l to the right with the beta-binomial probability

    p_a(l | n) = C(n, l)·B(l + a, n - l + a) / B(a, a),

the law of a binomial split whose probability is drawn from Beta(a, a). A small a puts nearly all rows on one side
(empty halves are the rule in real maps), a large a splits evenly. The prior mixes five such laws, with weights for each
level of the tree and each power of two of n (Pólya trees; Lavine, "Some aspects of Polya tree distributions for
statistical modelling", Annals of Statistics 1992).

**The messages** go up and down the tree: the likelihood of the answers for each possible count of a node. In the inner
loops, unsigned indices avoid the test for negative ones, so that the loops can be vectorised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy import uint64

from adyton.arrays import Flags, Integers, Places, Reals, Singles
from adyton.compiling import cached_property, compiled
from adyton.errors import BadInput
from adyton.queries.domain_trees import layout
from adyton.queries.hierarchy import BlockTree


@dataclass(frozen=True, eq=False)
class Splits:
    """The nodes: leaves first, in the order of their cells; children before their parent; the root last."""

    blocks: Places
    """The block of each node; the last one where several blocks have the same cells."""
    kids: Places
    """The two halves of each node that is not a leaf."""
    levels: Places
    """The level of each node, counted from the leaves or the cells: splits on the same level have the same prior."""

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return self.blocks.size - len(self.kids)

    @classmethod
    def of(cls, tree: BlockTree, measured: Places, levels: Places) -> Splits:
        """The splits of a tree whose *measured* blocks are given in ascending order, the last one where several blocks
        have the same cells; *levels* are those of all blocks. Measured blocks inside a block must cover it."""
        deepest, places = np.full(tree.cells, -1), layout(tree)
        deepest[places.starts[measured]] = measured  # the last one where several blocks start at a cell
        leaves = deepest[deepest >= 0]
        ends = np.cumsum(places.sizes[leaves])
        if not np.array_equal(places.starts[leaves][1:], ends[:-1]) or not leaves.size or ends[-1] != tree.cells:
            raise BadInput("some cells are in no measured block, or only in a block whose other parts were measured.")
        halving = halving_of(tree)
        divided = np.sort(halving.meeting[ends[:-1]])[::-1]
        blocks = np.concatenate([leaves, divided])
        numbers = np.empty(tree.blocks, dtype=np.int64)
        numbers[blocks] = np.arange(blocks.size)
        left = places.offsets[divided]
        return cls(blocks, numbers[halving.homes[np.stack([left, left + 1], axis=1)]], levels[blocks])


class Halving(NamedTuple):
    """How the blocks of a tree are halved."""

    meeting: Places
    """The block whose halves meet at each cell boundary."""
    homes: Places
    """For each block, the last block with the same cells."""
    alone: list[tuple[Places, Places]]
    """The blocks with one child, and those children, level by level from the top."""


@lru_cache(maxsize=16)
def halving_of(tree: BlockTree) -> Halving:
    """How the blocks of a tree are halved."""
    meeting, homes, alone = np.zeros(tree.cells, dtype=np.int64), np.arange(tree.blocks), []
    for level, children in enumerate(tree.children[:-1]):
        parts, first, below = np.diff(children), tree.level_starts[level], tree.level_starts[level + 1]
        halved, same = np.flatnonzero(parts == 2), np.flatnonzero(parts == 1)
        meeting[tree.boundaries[level + 1][children[halved] + 1]] = first + halved
        if same.size:
            alone.append((first + same, below + children[same]))
    for upper, lower in reversed(alone):
        homes[upper] = homes[lower]
    return Halving(meeting, homes, alone)


def halved(tree: BlockTree) -> BlockTree:
    """Pair neighbours within each block until one is left, level by level, from the last level up to the domain.

    >>> [level.tolist() for level in halved(BlockTree(5, [[0, 3, 5], [0, 1, 2, 3, 4, 5]])).boundaries]
    [[0, 5], [0, 3, 5], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]]
    """
    levels = [tree.boundaries[-1]]
    for coarse in (*tree.boundaries[-2::-1], np.array([0, tree.cells])):
        while levels[-1].size > coarse.size:
            firsts = np.searchsorted(levels[-1], coarse)
            places = np.arange(levels[-1].size) - np.repeat(firsts, np.diff(firsts, append=levels[-1].size))
            levels.append(levels[-1][places % 2 == 0])
    return BlockTree(tree.domain, levels[::-1], tree.order)


def heights(tree: BlockTree) -> Places:
    """The largest number of halvings from each block of a tree to the blocks of its last level."""
    levels = [np.zeros(tree.boundaries[-1].size - 1, dtype=np.int64)]
    for children in tree.children[-2::-1]:
        levels.append(np.maximum.reduceat(levels[-1], children[:-1]) + (np.diff(children) == 2))
    return np.concatenate(levels[::-1])


REACH = 4.5
"""Windows extend this many standard deviations to both sides of the least-squares estimate."""
NEAR_ZERO = 9.0
"""Windows extend down to zero where the estimate is below this many standard deviations."""
DENSE = 24
"""A node whose leaves surely all hold at least this many rows is dense: there, the prior adds nothing."""


class Generation(NamedTuple):
    """Nodes of one level, none of them a leaf, and the two children of each."""

    nodes: Places
    left: Places
    right: Places


def generations(tree: Splits) -> list[Generation]:
    """The nodes above the leaves, from the lowest level up: children are in an earlier generation than parents."""
    levels = tree.levels[tree.leaves :]
    order = np.argsort(levels, kind="stable")
    ends = np.flatnonzero(np.diff(levels[order])) + 1
    return [Generation(own + tree.leaves, *tree.kids[own].T) for own in np.split(order, ends)]


class Squares(NamedTuple):
    """Each node's mean and variance by least squares: from the answers inside it, and from all answers."""

    inside: Reals
    noise: Reals
    mean: Reals
    variance: Reals

    def scaled(self, step: float) -> Squares:
        """The same in steps of a grid."""
        return Squares(self.inside / step, self.noise / step**2, self.mean / step, self.variance / step**2)


def least_squares(family: list[Generation], answers: Reals, precisions: Reals) -> Squares:
    """Least squares in two passes, as in :mod:`adyton.solving.trees`; all leaves must have been measured."""
    inside, noise = answers.copy(), np.zeros_like(answers)
    np.divide(1, precisions, out=noise, where=precisions > 0)
    halves = []
    for nodes, left, right in family:
        a, b, noise_a, noise_b = inside[left], inside[right], noise[left], noise[right]
        within, variance = a + b, noise_a + noise_b
        signal = precisions[nodes] * variance
        gain = signal / (signal + 1)
        inside[nodes], noise[nodes] = within + gain * (answers[nodes] - within), variance * (1 - gain)
        halves.append((nodes, variance, (left, a, noise_a), (right, b, noise_b)))
    means, variances = inside.copy(), noise.copy()
    for nodes, variance, *both in reversed(halves):
        surplus, above = means[nodes] - both[0][1] - both[1][1], variances[nodes]
        for child, own, part in both:
            share = part / variance
            means[child], variances[child] = own + share * surplus, part * (1 - share) + share * share * above
    return Squares(inside, noise, means, variances)


@dataclass(frozen=True, eq=False)
class Windows:
    """The possible counts low … high of each node."""

    low: Integers
    high: Integers
    dense: Flags
    """Whether all leaves below are dense."""
    hidden: Flags
    """Whether the parent is dense: such nodes have no window."""

    @classmethod
    def around(cls, squares: Squares, family: list[Generation]) -> Windows:
        """The windows around the least-squares estimates."""
        mean, deviation = squares.mean, np.sqrt(squares.variance)
        low = np.where(mean >= NEAR_ZERO * deviation, np.floor(mean - REACH * deviation), 0).astype(np.int64)
        high = np.ceil(np.maximum(mean + REACH * deviation, 2 * deviation + 1)).astype(np.int64)
        dense, hidden = low >= DENSE, np.zeros(low.size, dtype=bool)
        for nodes, left, right in family:
            dense[nodes] = hidden[left] = hidden[right] = dense[left] & dense[right]
        return cls(low, high, dense, hidden)

    @cached_property
    def widths(self) -> Integers:
        """The number of counts in each window."""
        return np.where(self.hidden, 0, self.high - self.low + 1)

    @cached_property
    def starts(self) -> Places:
        """Where each window starts in an array of the windows of all nodes, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    def narrowed(self, coarse: Windows, ratio: int) -> Windows:
        """Each window's overlap with that of a fit on a grid *ratio* times as coarse; unchanged without overlap."""
        low = np.maximum(self.low, np.where(coarse.low > 0, (coarse.low - 1) * ratio, 0))
        high = np.minimum(self.high, (coarse.high + 1) * ratio - 1)
        left = low <= high
        return replace(self, low=np.where(left, low, self.low), high=np.where(left, high, self.high))


def likelihoods(windows: Windows, answers: Reals, rates: Reals) -> Singles:
    """exp(-rate·|count - answer|) over each window, relative to its best count."""
    likelihood, own = np.ones(windows.starts[-1], dtype=np.float32), answers - windows.low
    best = np.clip(np.rint(own), 0, np.maximum(windows.widths - 1, 0)).astype(np.int64)
    _fall(likelihood, windows.starts, own, best, rates, np.exp(-rates))
    return likelihood


@compiled
def _fall(likelihood: Singles, starts: Places, answers: Reals, best: Places, rates: Reals, factors: Reals) -> None:
    """Fill each window: from the two counts next to the answer, the likelihood falls by a constant factor per count."""
    for v in range(len(factors)):
        at, width, own, near = starts[v], starts[v + 1] - starts[v], answers[v], best[v]
        if rates[v] == 0 or width == 0:
            continue
        left, right = (near, near + 1) if own >= near else (near - 1, near)
        second = left + right - near
        if 0 <= second < width:
            likelihood[at + second] = np.exp(-rates[v] * (abs(second - own) - abs(near - own)))
        for i in range(at + right + 1, at + width):
            likelihood[i] = likelihood[i - 1] * factors[v]
        for i in range(at + left - 1, at - 1, -1):
            likelihood[i] = likelihood[i + 1] * factors[v]


SPREADS = (1e-5, 0.03, 0.3, 2.0, 30.0)
"""The parameter a of each law."""
START = (0.25, 0.15, 0.2, 0.25, 0.15)
"""The initial weights of the laws."""
TABLE = 48
"""Splits into two parts that are both smaller than this are tabulated individually."""
SIZES = 60
"""The largest number of powers of two that are distinguished."""
SMALLEST = 6
"""The first power of two distinguished for splits with a large part."""
_LAWS = len(SPREADS)
_SPLITS = TABLE * TABLE
_EDGE = TABLE + 1
_OWN = 5.0
"""In a level's weights: the weight of all levels together, in splits."""
_SHARED = 5.0
"""In the weights of all levels: the weight of all sizes together, in splits."""
_NEIGHBOURS = 0.5
"""The weight of a split for the sizes next to its own."""
_LEAST = 1e-4
"""The smallest weight of a law."""
_FEW = 1e-7
"""Fewer splits than this are ignored."""


@lru_cache(maxsize=1)
def _laws() -> tuple[Reals, Places]:
    """The table of laws, with a column for each law, and for every row the power of two below the total l + r.

    The table has p(l | l + r) for small l and r; then, for every size of the total, the same for each small part next
    to a large one, and the mean probability of a split into two large parts. The table is a file, which its test can
    recompute: computing it here would take the third of a second that SciPy's special functions take to load.
    """
    with (files("adyton.denoising") / "split_laws.npy").open("rb") as file:
        laws = np.load(file, allow_pickle=False)
    small = np.arange(TABLE)
    sizes = np.frexp(np.maximum(small[:, None] + small, 1))[1].reshape(-1) - 1
    return laws, np.concatenate([sizes, np.repeat(np.arange(SMALLEST, SIZES), _EDGE)]).astype(np.int64)


def _width(sizes: int) -> int:
    """The length of a level's table."""
    return _SPLITS + (sizes - SMALLEST) * _EDGE


def start(levels: int, sizes: int = SIZES) -> Reals:
    """Initial weights: level × size × law."""
    return np.broadcast_to(START, (levels, sizes, len(START))).copy()


def finer(weights: Reals, halvings: int, sizes: int) -> Reals:
    """The weights for a fine grid, from those fitted on a grid 2^halvings times as coarse."""
    return np.concatenate([np.repeat(weights[:, :1], halvings, axis=1), weights], axis=1)[:, :sizes]


def size_of(counts: Reals) -> Places:
    """The power of two below each count, among those distinguished for splits with a large part."""
    return np.asarray(np.clip(np.frexp(np.maximum(counts, 1))[1] - 1, SMALLEST, SIZES - 1), dtype=np.int64)


def table_places(levels: Places, means: Reals, sizes: int) -> tuple[Places, Places]:
    """For each node, the index of its splits in the tables of all levels, and of its splits with a large part."""
    tables = levels * _width(sizes)
    return tables, tables + _SPLITS + (size_of(means) - SMALLEST) * _EDGE


def mixed(weights: Reals) -> Singles:
    """The prior: the laws mixed with the weights, one table per level, concatenated."""
    entries = len(weights) * _width(weights.shape[1])
    prior, nothing_found = np.empty(entries, dtype=np.float32), np.zeros(entries, dtype=np.float32)
    _weigh(weights, *_laws(), nothing_found, prior, np.empty_like(weights))
    return prior


def reweighted(weights: Reals, splits: Singles, power: float) -> Reals:
    """New weights from the expected number of splits of each kind: one step of EM.

    Every level borrows from the other levels, and every size from its neighbours. The ratio of the new weights to the
    old ones is raised to *power*: EM converges below 2, and near 2 twice as fast where the laws resemble each other.
    """
    splits.reshape(len(weights), -1)[:, [0, 1, TABLE]] = 0  # totals of 0 and 1 split alike under all laws
    made = np.zeros_like(weights)
    _weigh(weights, *_laws(), splits, np.empty_like(splits), made)
    if not np.isfinite(made).all():  # likelihoods beyond single precision: nothing was learnt
        return weights
    across = made.sum(axis=0)
    near = across.copy()
    near[1:] += _NEIGHBOURS * across[:-1]
    near[:-1] += _NEIGHBOURS * across[1:]
    everywhere = across.sum(axis=0) + 1.0
    near += _SHARED * everywhere / everywhere.sum()
    pooled = made + _OWN * near / near.sum(axis=-1, keepdims=True)
    pooled /= pooled.sum(axis=-1, keepdims=True)
    stepped = np.maximum(weights * (pooled / weights) ** power, _LEAST)
    return np.asarray(stepped / stepped.sum(axis=-1, keepdims=True))


@compiled
def _weigh(weights: Reals, laws: Reals, sizes: Places, splits: Singles, mixed: Singles, made: Reals) -> None:
    """Mix the laws; add to *made* the expected number of splits due to each law, by level and size."""
    width = len(splits) // len(weights)
    for level in range(len(weights)):
        for place in range(width):
            size, entry, total = sizes[place], level * width + place, 0.0
            for law in range(_LAWS):
                total += weights[level, size, law] * laws[place, law]
            mixed[entry] = total
            if splits[entry] > _FEW:
                for law in range(_LAWS):
                    made[level, size, law] += splits[entry] * (weights[level, size, law] * laws[place, law]) / total


LEAST = np.float32(1e-30)
"""Likelihoods that are all below this carry no information: they are replaced by even ones."""
_LEFT, _RIGHT, _SPLITS_AT, _EDGE_AT = range(4)
"""The columns of a node: its children; the index of the prior of its splits, and of its splits with a large part."""


class Messages:
    """For each possible count of each node, the likelihood of the answers on it, inside it and outside it.

    ``own`` is that of the node's answer alone; ``inner`` includes ``own`` and is relative to its best count; ``outer``
    is scaled so that the posterior weights outer·inner add up to 1.
    """

    def __init__(self, tree: Splits, squares: Squares, windows: Windows, own: Singles, sizes: int) -> None:
        self._leaves, self._squares = tree.leaves, squares
        self._nodes = np.zeros((tree.levels.size, 4), dtype=np.int64)
        self._nodes[tree.leaves :, : _RIGHT + 1] = tree.kids
        self._nodes[:, _SPLITS_AT], self._nodes[:, _EDGE_AT] = table_places(tree.levels, squares.mean, sizes)
        dense = windows.dense & (np.arange(windows.dense.size) >= tree.leaves)
        self._joined, self._dense = tree.leaves + np.flatnonzero(~dense[tree.leaves :]), np.flatnonzero(dense)
        self._normal = np.flatnonzero(dense & ~windows.hidden)
        self._own, self._inner, self._outer = own, np.empty_like(own), np.empty_like(own)
        self._spare = np.empty((2, 2 * int(windows.widths.max())), dtype=np.float32)

    def pass_through(self, windows: Windows, prior: Singles) -> Singles:
        """Fill ``inner`` and ``outer``; returns the expected number of splits of each kind, laid out like *prior*.

        Where nothing is known from outside (at the root, and where the answers inside a node contradict its own answer)
        the outer likelihood is even.
        """
        starts, low = self._starts, self._low = windows.starts, windows.low
        own, inner, outer, (sums, rest) = self._own, self._inner, self._outer, self._spare
        leaves, end = starts[self._leaves], starts[-1]
        inner[:leaves], inner[leaves:end], outer[:end] = own[:leaves], 0, 0
        if self._normal.size:
            self._fill_normal(windows.widths[self._normal])
        scales = np.ones(low.size, dtype=np.float32)
        upward(self._joined, self._nodes, starts, low, prior, own, inner, scales, sums, rest)
        parted, lost = self._joined[::-1], scales == 0
        self._start_afresh(np.array([scales.size - 1]))
        if lost.any():
            self._start_afresh(self._nodes[lost, : _RIGHT + 1].T.reshape(-1))
            parted = parted[~lost[parted]]
        splits = np.zeros(prior.size, dtype=np.float32)
        np.add.at(splits, self._nodes[self._dense, _EDGE_AT] + TABLE, np.float32(1))
        parted, factors = np.ascontiguousarray(parted), 1 / scales[parted].astype(np.float64)
        downward(parted, self._nodes, starts, low, prior, own, inner, outer, factors, splits, sums, rest)
        return splits

    def settled(self, cut: float) -> tuple[Reals, Integers, Integers]:
        """The posterior mean of each node's count, and its smallest and largest counts of probability at least *cut*.

        Other counts are dropped: the next pass is over the windows between these two.
        """
        means, ends = np.zeros(self._low.size), np.empty((2, self._low.size), dtype=np.int64)
        settle(self._own, self._inner, self._outer, self._starts, cut, means, ends)
        ends += self._low
        return self._low + means, ends[0], ends[1]

    def _fill_normal(self, widths: Integers) -> None:
        """Fill in the inner likelihoods of dense nodes: those of least squares, relative to the best count."""
        nodes = self._normal
        centre = self._squares.inside[nodes] - self._low[nodes]
        best = np.clip(np.rint(centre), 0, widths - 1) - centre
        count = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        exponent = np.repeat(best * best, widths) - (count - np.repeat(centre, widths)) ** 2
        places = np.repeat(self._starts[nodes], widths) + count
        self._inner[places] = np.exp(exponent / np.repeat(2 * self._squares.noise[nodes], widths))

    def _start_afresh(self, nodes: Places) -> None:
        """Set the outer likelihoods of these nodes to even ones."""
        for start, end in zip(self._starts[nodes], self._starts[nodes + 1], strict=True):
            if start < end:
                self._outer[start:end] = 1 / np.cumsum(self._inner[start:end])[-1]


@compiled
def upward(
    joined: Places,
    nodes: Places,
    starts: Places,
    low: Integers,
    prior: Singles,
    own: Singles,
    inner: Singles,
    scales: Singles,
    sums: Singles,
    rest: Singles,
) -> None:
    """Fill ``inner``, from the leaves to the root.

    For a parent of a and b it is its own likelihood times Σ a(l)·b(r)·p(l, r | l + r) over l + r = the count.
    """
    for v in joined:
        a, b, edge = nodes[v, _LEFT], nodes[v, _RIGHT], nodes[v, _EDGE_AT]
        start, start_a, start_b, low_a, low_b = starts[v], starts[a], starts[b], low[a], low[b]
        end, wide_a, wide_b = starts[v + 1], starts[a + 1] - start_a, starts[b + 1] - start_b
        few_a, few_b = min(max(TABLE - low_a, 0), wide_a), min(max(TABLE - low_b, 0), wide_b)  # counts in the table
        shift = start + low_a + low_b - low[v]  # the index of the children's smallest sum
        for i in range(wide_a + wide_b):
            sums[i] = 0
        row = nodes[v, _SPLITS_AT] + low_a * TABLE + low_b
        for i in range(few_a):
            value = inner[start_a + i]
            for r in range(few_b):
                both = value * inner[uint64(start_b + r)]
                sums[uint64(i + r)] += both * prior[uint64(row + r)]
            row += TABLE
        for i in range(few_a):
            value = inner[start_a + i] * prior[edge + low_a + i]
            for r in range(few_b, wide_b):
                sums[uint64(i + r)] += value * inner[uint64(start_b + r)]
        if few_a < wide_a:
            for r in range(wide_b):
                rest[r] = inner[start_b + r] * prior[edge + (low_b + r if r < few_b else TABLE)]
            for i in range(few_a, wide_a):
                value = inner[start_a + i]
                for r in range(wide_b):
                    sums[uint64(i + r)] += value * rest[uint64(r)]
        largest = np.float32(0)
        for i in range(max(start, shift), min(end, shift + wide_a + wide_b - 1)):
            inner[i] = sums[i - shift] * own[i]
            largest = max(largest, inner[i])
        scales[v] = largest if largest > LEAST else np.float32(0)  # below, its inverse would overflow
        for i in range(start, end):
            inner[i] = inner[i] / largest if largest > LEAST else np.float32(1)


@compiled
def downward(  # noqa: PLR0912 (a call costs as much to compile)
    parted: Places,
    nodes: Places,
    starts: Places,
    low: Integers,
    prior: Singles,
    own: Singles,
    inner: Singles,
    outer: Singles,
    factors: Reals,
    splits: Singles,
    sums: Singles,
    rest: Singles,
) -> None:
    """Fill ``outer``, from the root to the leaves; add the posterior probability of each split to *splits*.

    With g the parent's own likelihood times its outer one, that of l in a is Σ_r g(l + r)·b(r)·p(l, r | l + r). Splits
    with a large part b are added for a, then with the two exchanged; those with two large parts are counted once.
    """
    for place in range(len(parted)):
        v = parted[place]
        a, b, edge = nodes[v, _LEFT], nodes[v, _RIGHT], nodes[v, _EDGE_AT]
        start, start_a, start_b, low_a, low_b = starts[v], starts[a], starts[b], low[a], low[b]
        end, wide_a, wide_b = starts[v + 1], starts[a + 1] - start_a, starts[b + 1] - start_b
        few_a, few_b = min(max(TABLE - low_a, 0), wide_a), min(max(TABLE - low_b, 0), wide_b)  # counts in the table
        shift = start + low_a + low_b - low[v]  # the index of the children's smallest sum
        for i in range(wide_a + wide_b):
            sums[i] = 0
        for i in range(max(start, shift), min(end, shift + wide_a + wide_b - 1)):
            sums[i - shift] = outer[i] * own[i] * factors[place]
        row = nodes[v, _SPLITS_AT] + low_a * TABLE + low_b
        for i in range(few_a):
            value, mass = inner[start_a + i], np.float32(0)
            for r in range(few_b):
                split = sums[uint64(i + r)] * prior[uint64(row + r)]
                both = split * inner[uint64(start_b + r)]
                mass += both
                outer[uint64(start_b + r)] += value * split
                splits[uint64(row + r)] += value * both
            outer[start_a + i] = mass
            row += TABLE
        if few_a == wide_a and few_b == wide_b:
            continue
        for side in range(2):
            for r in range(wide_a):
                rest[r] = 0
            for i in range(few_b, wide_b):
                value = inner[start_b + i]
                for r in range(wide_a):
                    rest[uint64(r)] += value * sums[uint64(i + r)]
            for r in range(wide_a):
                part = edge + (low_a + r if r < few_a else TABLE)
                outer[start_a + r] += rest[r] * prior[part]
                if r < few_a or side == 0:
                    splits[part] += rest[r] * prior[part] * inner[start_a + r]
            for i in range(few_a):
                value = inner[start_a + i] * prior[edge + low_a + i]
                for r in range(few_b, wide_b):
                    outer[uint64(start_b + r)] += value * sums[uint64(i + r)]
            start_a, few_a, wide_a, start_b, few_b, wide_b = start_b, few_b, wide_b, start_a, few_a, wide_a
            low_a = low_b


@compiled
def settle(
    own: Singles, inner: Singles, outer: Singles, starts: Places, cut: float, means: Reals, ends: Places
) -> None:
    """The mean of each window, and its first and last counts of probability at least *cut*; the entries of ``own``
    between them move to its front. Outer likelihoods that contradict the inner ones are replaced by even ones."""
    to = 0
    for v in range(len(starts) - 1):
        at, end = starts[v], starts[v + 1] - 1
        for _ in range(2):
            total = moment = 0.0
            for i in range(at, end + 1):
                weight = outer[i] * inner[i]
                total += weight
                moment += weight * (i - at)
            if 0 < total < np.inf:
                break
            for i in range(at, end + 1):
                outer[i] = 1
        if at <= end:
            means[v] = moment / total
        least, first = np.float32(cut * total), at
        while first < end and outer[first] * inner[first] < least:
            first += 1
        while first < end and outer[end] * inner[end] < least:
            end -= 1
        for i in range(first, end + 1):
            own[to] = own[i]
            to += 1
        ends[0, v], ends[1, v] = first - at, end - at
