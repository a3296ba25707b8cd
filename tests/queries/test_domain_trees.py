"""Trees that cut the axes of a domain: their blocks are boxes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms.published.dyadic_partition import DyadicPartition
from adyton.plans.published.maps import blocks_of
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes, halving_axes, layout
from adyton.strategies import base
from over_cases import over

SHAPES = [
    (1,),
    (2,),
    (7,),
    (64,),
    (100,),
    (1, 1),
    (2, 4),
    (4, 4),
    (3, 5),
    (1, 9),
    (16, 16),
    (17, 6),
    (31, 32),
    (2, 3, 4),
    (5, 5, 5),
    (1, 6, 2, 3),
]


def in_order(tree):
    """The cells along the tree, and its levels."""
    return tree.ordered(np.arange(tree.cells)), tree.boundaries


@over(SHAPES, [2, 3, 4, 10])
def test_blocks_of_a_tree_are_boxes(shape, branching):
    order, levels = in_order(boxes_in_boxes(shape, branching))
    cells = int(np.prod(shape))
    assert sorted(order.tolist()) == list(range(cells))
    assert levels[0].tolist() == [0, cells]
    assert levels[-1].tolist() == list(range(cells + 1))
    places = np.stack(np.unravel_index(order, shape), axis=1)
    for level in levels:
        for start, end in itertools.pairwise(level.tolist()):
            block = places[start:end]
            sides = block.max(axis=0) - block.min(axis=0) + 1
            assert end - start == np.prod(sides)  # as many different cells as the box around them has
    for coarse, fine in itertools.pairwise(levels):
        assert set(coarse.tolist()) < set(fine.tolist())
        children = np.diff(np.searchsorted(fine, coarse))
        assert children.max() <= branching ** len(shape)


@pytest.mark.parametrize("shape", [(100,), (37,), (30, 50), (7, 7, 7)], ids=str)
def test_the_blocks_of_a_level_are_nearly_equal(shape):
    order, levels = in_order(boxes_in_boxes(shape))
    places = np.stack(np.unravel_index(order, shape), axis=1)
    for level in levels:
        sides = np.array([np.ptp(places[start:end], axis=0) + 1 for start, end in itertools.pairwise(level.tolist())])
        assert (np.ptp(sides, axis=0) <= 1).all()


def test_powers_of_two_are_in_morton_order():
    order, levels = in_order(boxes_in_boxes((8, 8)))
    row, column = np.unravel_index(order, (8, 8))
    code = sum(((row >> bit & 1) << 2 * bit + 1) + ((column >> bit & 1) << 2 * bit) for bit in range(3))
    assert code.tolist() == list(range(64))
    assert [level.size - 1 for level in levels] == [1, 4, 16, 64]


def test_one_axis_stays_in_order():
    order, levels = in_order(boxes_in_boxes(6, branching=3))
    assert order.tolist() == list(range(6))
    assert [level.tolist() for level in levels] == [[0, 6], [0, 2, 4, 6], list(range(7))]


DOMAINS = [(1,), (7,), (64,), (1, 1), (1, 7), (7, 1), (5, 3), (17, 64), (16, 16), (65, 3), (2, 3, 4)]


@over(DOMAINS)
def test_halves_are_those_of_the_tree_that_cuts_all_axes_at_once(domain):
    line, tree = halved_boxes(domain), boxes_in_boxes(domain)
    np.testing.assert_array_equal(line.order, tree.order)
    found = [boundaries.tolist() for boundaries in line.boundaries]
    assert all(boundaries.tolist() in found for boundaries in tree.boundaries)
    assert found[-1] == list(range(tree.cells + 1))
    assert found[0] == [0, tree.cells]


@over(DOMAINS)
def test_every_half_is_a_box_halved_as_often_as_is_said(domain):
    line, axes = halved_boxes(domain), halving_axes(domain)
    order, levels = in_order(line)
    assert len(levels) == len(axes) + 1
    for level, bounds in enumerate(levels[::-1]):
        often = [axes[:level].count(axis) for axis in range(len(domain))]
        for first, last in itertools.pairwise(bounds):
            place = np.stack(np.unravel_index(order[first:last], domain))
            sides = np.ptp(place, axis=1) + 1
            assert np.prod(sides) == last - first
            assert (sides <= 2 ** np.array(often)).all()
    assert (2 ** np.array([axes.count(axis) for axis in range(len(domain))]) >= domain).all()


@over([domain for domain in DOMAINS if len(domain) < 3])
def test_the_blocks_of_a_partition(domain):
    """Those of the private partition are found in the tree, and have the same cells."""
    tree = halved_boxes(domain)
    order, _ = in_order(tree)
    for seed in range(5):
        x = np.random.default_rng(seed).integers(0, 20, domain)
        kernel = Kernel.simulated(x, epsilon=1, seed=seed)
        partition = kernel.root.select(DyadicPartition(domain, Fraction(3)), Fraction(1))
        blocks = blocks_of(tree, partition)
        assert layout(tree).sizes[blocks].tolist() == partition.sizes.tolist()
        for group, block in enumerate(blocks):
            first = layout(tree).starts[block]
            inside = order[first : first + layout(tree).sizes[block]]
            assert sorted(inside) == np.flatnonzero(partition.labels == group).tolist()


@over([1, 2, 7, 16, 100, 101, 729, 1000], [2, 3, 10, 16])
def test_intervals_are_cut_by_their_digits(cells, branching):
    """Cell i stands at ⌊i·b^d/n⌋ of b^d places, whose first l digits say in which block of level l it is."""
    depth = next(depth for depth in range(20) if branching**depth >= cells)
    places = np.arange(cells) * branching**depth // cells
    levels = [np.unique(places // branching ** (depth - level), return_index=True)[1] for level in range(depth + 1)]
    found = boxes_in_boxes(cells, branching).boundaries
    assert [level.tolist() for level in found] == [[*level.tolist(), cells] for level in levels]


@over([1, 2, 3, 10, 100, 255, 256, 257, 1000, 4096])
def test_no_branching_of_a_line_is_better_than_that_of_hb(cells):
    every = range(2, max(3, cells + 1))
    assert base.branching((cells,)) == min(every, key=lambda b: base._average_variance(b, cells))
