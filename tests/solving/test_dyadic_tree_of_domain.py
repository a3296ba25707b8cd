"""The order of the cells of a domain along a binary tree."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import DyadicPartition
from adyton.queries.orders import block_tree
from adyton.solving.dyadic_tree_of_domain import tree_order

DOMAINS = [(1,), (7,), (64,), (1, 1), (1, 7), (7, 1), (5, 3), (17, 64), (16, 16), (65, 3), (2, 3, 4)]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_the_order_and_the_blocks_are_those_of_the_tree_that_cuts_all_axes_at_once(domain):
    line, (order, levels) = tree_order(domain), block_tree(domain)
    np.testing.assert_array_equal(line.order, order)
    found = [line.boundaries(level).tolist() for level in range(len(line.axes) + 1)]
    assert all(boundaries.tolist() in found for boundaries in levels)
    assert found[0] == list(range(order.size + 1))
    assert found[-1] == [0, order.size]
    np.testing.assert_array_equal(line.ranks.labels[order], np.arange(order.size))


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_every_block_is_a_box_halved_as_often_as_is_said(domain):
    line = tree_order(domain)
    for level in range(len(line.axes) + 1):
        halvings = line.halvings(level)
        assert sum(halvings) == level
        bounds = line.boundaries(level)
        for first, last in itertools.pairwise(bounds):
            place = np.stack(np.unravel_index(line.order[first:last], domain))
            sides = np.ptp(place, axis=1) + 1
            assert np.prod(sides) == last - first
            assert (sides <= 2 ** np.array(halvings)).all()
    np.testing.assert_array_equal(2 ** np.array(line.halvings(len(line.axes))) >= domain, True)


@pytest.mark.parametrize("domain", [domain for domain in DOMAINS if len(domain) < 3], ids=str)
def test_the_blocks_of_a_partition(domain):
    """Those of the private partition are found in the tree, and have the same cells."""
    line = tree_order(domain)
    tree = line.tree()
    for seed in range(5):
        x = np.random.default_rng(seed).integers(0, 20, domain)
        kernel = Kernel.simulated(x, epsilon=1, seed=seed)
        partition = kernel.root.select(DyadicPartition(domain, Fraction(3)), Fraction(1))
        blocks = line.blocks(partition)
        assert tree.sizes[blocks].tolist() == partition.sizes.tolist()
        for group, block in enumerate(blocks):
            first = tree.starts([block])[0]
            inside = (line.places >= first) & (line.places < first + (1 << tree.levels([block])[0]))
            assert sorted(line.order[inside]) == np.flatnonzero(partition.labels == group).tolist()
