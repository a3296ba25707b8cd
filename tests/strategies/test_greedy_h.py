"""Greedy-H against equation 9 of DAWA written out, and its sweeps against the exact error."""

import itertools

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries import AllRange, Explicit, Identity, Prefix, RandomRanges, Stack, Total
from adyton.queries.domain_trees import hilbert_order, tree_above
from adyton.solving.trees import TreeSolver
from adyton.strategies.greedy_h import WeightedTree, greedy_h
from adyton.strategies.overlaps import MeansOverlap, TableOverlap, overlap_of
from over_cases import over


def workloads(cells):
    wide = Explicit.from_rows(np.random.default_rng(cells).integers(-2, 4, (7, cells)))
    plain = [Prefix(cells), AllRange(cells), Identity(cells), Total(cells), RandomRanges(cells, 30, seed=1), wide]
    return [*plain, Stack([Prefix(cells), Identity(cells), wide])]


def leaves_of(cells, buckets=None, order=None):
    return tree_above(cells, np.arange(cells + 1) if buckets is None else buckets, order)


def error_of(strategy, workload):
    """The squared error with variance 1 at weight 1."""
    return TreeSolver(strategy.queries, 1 / strategy.weights**2).total_variance(workload)


def means(workload, leaves):
    """Definition 6 of DAWA: the mean of each query over each leaf."""
    rows = np.concatenate(list(workload.rows()))
    return np.add.reduceat(leaves.ordered(rows), leaves.boundaries[-1][:-1], axis=1) / np.diff(leaves.boundaries[-1])


def firsts(leaves, depth):
    """The first leaf of each of the 2^depth blocks, ⌈j·leaves/2^depth⌉, and the number of leaves."""
    return -(-np.arange((1 << depth) + 1) * (leaves.boundaries[-1].size - 1) >> depth)


def filled(leaves, depth):
    """Which of the 2^depth blocks hold a leaf: all but some of the deepest level."""
    return np.diff(firsts(leaves, depth)) > 0


def equation_9(matrix, covariance, left, decay, shares):
    """Equation 9 for many λ at once; *covariance* is that of the children alone, of which the left has *left* cells."""
    gram = matrix.T @ matrix
    apart = gram.copy()
    apart[:left, left:] = apart[left:, :left] = 0
    mixed = decay * gram + (1 - decay) * apart
    precision = np.linalg.inv(covariance)
    ones = np.ones_like(precision)
    return np.array([np.trace(mixed @ np.linalg.inv((1 - s) ** 2 * precision + s**2 * ones)) for s in shares])


@over([2, 3, 7, 13, 32], range(7))
def test_every_share_minimises_equation_9(cells, number):
    workload = workloads(cells)[number]
    leaves = leaves_of(cells)
    tree = WeightedTree(workload, leaves)
    matrix = means(workload, leaves)
    blocks = [np.eye(stop - start) for start, stop in itertools.pairwise(firsts(leaves, tree.depth))]
    grid = np.linspace(0, 0.995, 200)
    for depth in range(tree.depth - 1, -1, -1):
        ends, merged = firsts(leaves, depth), []
        for block in range(1 << depth):
            left, right = blocks[2 * block], blocks[2 * block + 1]
            share = tree.shares[depth][block]
            both = np.block([[left, np.zeros((len(left), len(right)))], [np.zeros((len(right), len(left))), right]])
            if len(left) and len(right):
                columns = matrix[:, ends[block] : ends[block + 1]]
                reached, *others = equation_9(
                    columns, both, len(left), 2 ** (-depth / 2), [min(share, 1 - 1e-5), *grid]
                )
                assert reached <= min(others) * (1 + 1e-4) + 1e-9
            else:
                assert share == 0
            share = min(share, 1 - 1e-5)
            merged.append(np.linalg.inv((1 - share) ** 2 * np.linalg.inv(both) + share**2 * np.ones_like(both)))
        blocks = merged
    assert tree.error == pytest.approx(np.trace(matrix @ blocks[0] @ matrix.T), rel=1e-4)


@over([1, 2, 3, 7, 100, 1000], [0, 4, 10])
def test_the_error_is_exact_and_falls(cells, sweeps):
    for workload in workloads(cells):
        tree = WeightedTree(workload, leaves_of(cells))
        before = tree.error
        tree.improve(sweeps)
        strategy = tree.strategy()
        np.testing.assert_allclose(strategy.queries.transpose(strategy.weights), 1)
        assert tree.error <= before
        assert tree.error == pytest.approx(error_of(strategy, workload), rel=1e-6)
        assert strategy.weights.min() > 0


@over([13, 64], range(7))
def test_the_context_of_a_block_predicts_the_error(cells, number):
    """With every other share fixed, the error is [A/(1−λ)² + k·u/(1 + πu)]/ρ² plus a constant."""
    workload = workloads(cells)[number]
    tree = WeightedTree(workload, leaves_of(cells))
    random = np.random.default_rng(5)
    tree.shares = [random.uniform(0.1, 0.6, share.size) for share in tree.shares]
    tree._fall()
    nothing = [np.zeros((2, share.size)) for share in tree.shares]

    def error_with(depth, block, share):
        kept = tree.shares[depth][block]
        tree.shares[depth][block] = share
        tree._rise(nothing, 0.0)
        error, below = tree.error, tree.states[depth][:, block].copy()
        contexts = tree._fall()
        tree.shares[depth][block] = kept
        return error, below, contexts[depth][:, block]

    for depth in range(tree.depth):
        block = int(random.integers(1 << depth))
        if not filled(leaves_of(cells), depth + 1)[2 * block : 2 * block + 2].all():
            continue
        weight = np.prod([1 - tree.shares[d][block >> (depth - d)] for d in range(depth)])
        errors, predicted = [], []
        for share in (0.2, 0.5, 0.8):
            error, (inside, variance, _), (gain, outside) = error_with(depth, block, share)
            errors.append(error)
            predicted.append((inside + gain * variance / (1 + outside * variance)) / weight**2)
        np.testing.assert_allclose(np.diff(errors), np.diff(predicted), rtol=1e-6, atol=1e-9 * errors[0])


@pytest.mark.parametrize("cells", [13, 100])
@pytest.mark.parametrize("buckets", [False, True])
def test_closed_forms_agree_with_the_rows(cells, buckets):
    bounds = [0, 1, 5, 6, 8, 13, *range(20, cells + 1, 5)] if buckets else None
    leaves = leaves_of(cells, bounds)
    for workload in workloads(cells):
        fast, slow = WeightedTree(workload, leaves), WeightedTree(workload, leaves, MeansOverlap(workload, leaves))
        read = WeightedTree(workload, leaves, TableOverlap(workload, leaves))
        np.testing.assert_allclose(np.concatenate(read.shares), np.concatenate(slow.shares), atol=1e-7)
        for _ in range(3):
            np.testing.assert_allclose(np.concatenate(fast.shares), np.concatenate(slow.shares), atol=1e-6)
            assert fast.error == pytest.approx(slow.error, rel=1e-7)
            fast.sweep(0.5)
            slow.sweep(0.5)
        for depth in range(fast.depth + 1):
            held = filled(leaves, depth)
            off = ~np.eye(held.sum(), dtype=bool)
            grams = [tree.overlap.gram(depth)[np.ix_(held, held)][off] for tree in (fast, slow)]
            np.testing.assert_allclose(*grams, atol=1e-5 * max(1, np.abs(grams[1]).max(initial=0)))


def test_tables_are_read_again_above_64_blocks():
    workload = Explicit.from_rows(np.random.default_rng(0).integers(0, 3, (40, 300)))
    leaves = leaves_of(300)
    read = WeightedTree(workload, leaves, TableOverlap(workload, leaves))
    held = WeightedTree(workload, leaves)
    assert isinstance(held.overlap, MeansOverlap)
    np.testing.assert_allclose(np.concatenate(read.shares), np.concatenate(held.shares), atol=1e-7)
    np.testing.assert_allclose(read.overlap.gram(4), held.overlap.gram(4))
    read.improve(3)  # there is no way back: nothing changes
    np.testing.assert_array_equal(
        read.shares[0], WeightedTree(workload, leaves, TableOverlap(workload, leaves)).shares[0]
    )


def test_an_order_moves_the_blocks_and_not_the_error():
    order = hilbert_order((8, 8))
    boxes = RandomRanges((8, 8), 60, seed=2, kind="long")
    strategy = greedy_h(boxes, order)
    assert strategy.queries.domain == (8, 8)
    assert error_of(strategy, boxes) <= boxes.squared_norm() * (1 + 1e-9)
    backwards = np.arange(50)[::-1]
    ranges = RandomRanges(50, 40, seed=3)
    mirrored = type(ranges)(50, 49 - ranges.upper, 49 - ranges.lower)
    np.testing.assert_allclose(greedy_h(ranges, backwards).weights, greedy_h(mirrored).weights, atol=1e-6)
    assert isinstance(overlap_of(ranges, leaves_of(50, order=backwards)), MeansOverlap)


def test_buckets_end_the_tree():
    strategy = greedy_h(Prefix(100), buckets=[0, 30, 31, 90, 100])
    assert strategy.queries.boundaries[-1].tolist() == [0, 30, 31, 90, 100]
    np.testing.assert_allclose(strategy.queries.transpose(strategy.weights), 1)


def test_queries_that_see_only_a_sum_measure_only_a_sum():
    for workload in (Total(64), Total(37)):
        strategy = greedy_h(workload)
        assert strategy.queries.count == 1
    half = Explicit.from_rows([[1] * 32 + [0] * 32])
    strategy = greedy_h(half)
    assert strategy.queries.count == 2
    assert error_of(strategy, half) == pytest.approx(1.0)


def test_figures_at_4096_cells():
    """Root of the total squared error at ε = 1: HB without its root has 954 on prefixes, single cells have 90.5."""
    cells = 4096
    assert np.sqrt(2 * error_of(greedy_h(Prefix(cells)), Prefix(cells))) < 875
    assert np.sqrt(2 * error_of(greedy_h(AllRange(cells)), AllRange(cells))) < 47_000
    assert greedy_h(Identity(cells)).weights.tolist() == [1.0] * cells


def test_time_is_nearly_linear():
    cells = 1 << 17
    tree = WeightedTree(Prefix(cells), leaves_of(cells))
    tree.improve(10)
    strategy = tree.strategy()
    assert tree.error == pytest.approx(error_of(strategy, Prefix(cells)), rel=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: greedy_h("prefix"),
        lambda: greedy_h(Prefix(4), [0, 1, 2, 2]),
        lambda: greedy_h(Prefix(4), buckets=[0, 2, 2, 4]),
        lambda: greedy_h(Prefix(4), buckets=[0, 3]),
        lambda: greedy_h(Prefix(4), sweeps=-1),
    ],
)
def test_bad_arguments_are_refused(make):
    with pytest.raises(BadInput):
        make()
