"""Grids, stripes and marginals against groups that are found cell by cell."""

import itertools
import math

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.partitions import grid_partition, marginal_partition, stripe_partition
from adyton.queries import Marginals, Reduction

DOMAINS = [(1,), (7,), (1, 5), (4, 6), (3, 5), (2, 3, 4), (3, 1, 2, 5)]


def coordinates(domain):
    return list(itertools.product(*(range(side) for side in domain)))


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_marginal_groups_agree_on_their_axes(domain):
    for size in range(len(domain) + 1):
        for axes in itertools.combinations(range(len(domain)), size):
            partition = marginal_partition(domain, axes)
            values = list(itertools.product(*(range(domain[axis]) for axis in axes)))
            oracle = [values.index(tuple(cell[axis] for axis in axes)) for cell in coordinates(domain)]
            assert partition.labels.tolist() == oracle
            assert partition.groups == len(values)
            x = np.arange(math.prod(domain)).reshape(domain)
            assert (Reduction(partition, domain) @ x).tolist() == (Marginals(domain, [axes]) @ x).tolist()


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_stripes_run_along_their_axis(domain):
    x = np.arange(math.prod(domain)).reshape(domain)
    for axis in range(len(domain)):
        parts = stripe_partition(domain, axis).parts()
        stripes = np.moveaxis(x, axis, -1).reshape(-1, domain[axis])
        assert [part.tolist() for part in parts] == stripes.tolist()


def test_a_source_is_split_into_stripes():
    counts = np.arange(1, 13).reshape(3, 4) * 1_000_000
    source = ad.Kernel.simulated(counts, epsilon=100, seed=1).root
    stripes = source.split(stripe_partition((3, 4), 0))
    assert [stripe.shape for stripe in stripes] == [(3,)] * 4
    for column, stripe in enumerate(stripes):
        answers = stripe.measure(ad.workloads.Identity(3), epsilon=50).answers
        assert (np.abs(answers.reshape(-1) - counts[:, column]) < 1000).all()


GRIDS = [((7,), 3), ((4, 6), (2, 3)), ((5, 7), (2, 3)), ((3, 5), (9, 1)), ((2, 3, 5), (1, 2, 2)), ((1, 1), (1, 1))]


@pytest.mark.parametrize(("domain", "blocks"), GRIDS, ids=str)
def test_groups_of_a_grid_are_boxes_of_nearly_equal_sides(domain, blocks):
    partition = grid_partition(domain, blocks)
    wanted = [min(number, side) for number, side in zip(np.atleast_1d(blocks).tolist(), domain, strict=True)]
    assert partition.groups == math.prod(wanted)
    places = np.array(coordinates(domain))
    sides = []
    for number, part in enumerate(partition.parts()):
        low, high = places[part].min(axis=0), places[part].max(axis=0)
        assert len(part) == math.prod((high - low + 1).tolist())
        box = np.unravel_index(number, wanted)
        assert all((at == 0) == (start == 0) for at, start in zip(box, low, strict=True))
        sides.append(high - low + 1)
    assert (np.ptp(sides, axis=0) <= 1).all()


def test_boxes_are_numbered_in_row_major_order():
    assert grid_partition((3, 4), (2, 2)).labels.reshape(3, 4).tolist() == [[0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grid_partition((4, 4), 2), "one number of blocks per axis"),
        (lambda: grid_partition((4, 4), (2, 0)), "blocks must be a whole number of at least 1"),
        (lambda: grid_partition((4, 4), (2, 1.5)), "blocks must be a whole number"),
        (lambda: grid_partition(0, 1), "domain must be"),
        (lambda: stripe_partition((4, 4), 2), "numbered 0 … 1 .* given 2"),
        (lambda: stripe_partition((4, 4), -1), "at least 0, given -1"),
        (lambda: stripe_partition((4, 4), "income"), "axis must be a whole number"),
        (lambda: marginal_partition((4, 4), [2]), "numbered 0 … 1"),
        (lambda: marginal_partition((4, 4), [1, 0]), "ascending"),
        (lambda: marginal_partition((4, 4), 1), "sets"),
    ],
)
def test_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()
