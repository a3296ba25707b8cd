"""Boxes of alike cells: the least cost of all that halving can reach."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.partitions import kd_partition
from over_cases import over


def least_cost(table, price):
    """Every way of halving, with fractions."""
    exact = [[Fraction(float(value)) for value in row] for row in table]

    @cache
    def best(top, bottom, left, right):
        cells = [exact[row][column] for row in range(top, bottom) for column in range(left, right)]
        mean = sum(cells) / len(cells)
        options = [sum((value - mean) ** 2 for value in cells) + Fraction(price)]
        if bottom - top > 1:
            middle = (top + bottom) // 2
            options.append(best(top, middle, left, right) + best(middle, bottom, left, right))
        if right - left > 1:
            middle = (left + right) // 2
            options.append(best(top, bottom, left, middle) + best(top, bottom, middle, right))
        return min(options)

    return best(0, len(exact), 0, len(exact[0]))


def cost_of(table, labels, price):
    total = Fraction(0)
    for group in np.unique(labels):
        cells = [Fraction(float(value)) for value in table[labels == group]]
        mean = sum(cells) / len(cells)
        total += sum((value - mean) ** 2 for value in cells) + Fraction(price)
    return total


@over([(1, 1), (1, 2), (1, 7), (5, 3), (4, 4), (6, 7), (3, 16)], ["few", "steps", "huge"])
def test_the_least_cost_of_all(shape, kind):
    random = np.random.default_rng(sum(shape))
    table = random.poisson(2.0, shape) + random.random(shape)
    if kind == "steps":
        table[: shape[0] // 2 + 1, shape[1] // 2 :] += 30
    if kind == "huge":
        table[-1, -1] += 10**12
    for price in (0.5, 6.0, 300.0):
        labels = kd_partition(table, shape, price).labels.reshape(shape)
        found, least = cost_of(table, labels, price), least_cost(table, price)
        assert float(found) == pytest.approx(float(least), rel=1e-9)


def test_a_line_is_a_table_of_one_row():
    values = np.random.default_rng(0).poisson(np.repeat([0, 9, 1], [16, 16, 32]))
    line, table = kd_partition(values, 64, 8).labels, kd_partition(values, (1, 64), 8).labels
    np.testing.assert_array_equal(line, table)


def test_every_group_is_a_box():
    table = np.random.default_rng(1).poisson(np.add.outer(np.arange(13), np.arange(9)))
    partition = kd_partition(table, (13, 9), 20.0)
    labels = partition.labels.reshape(13, 9)
    for group in range(partition.groups):
        rows, columns = np.nonzero(labels == group)
        assert rows.size == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)


def test_nothing_or_everything_is_cut():
    table = np.arange(12.0)
    assert kd_partition(table, (3, 4), 1e9).groups == 1
    assert kd_partition(table, (3, 4), 1e-9).groups == 12


def test_no_digits_are_lost_beside_huge_counts():
    values = np.zeros(64)
    values[0], values[32:] = 10**15, 3.0
    labels = kd_partition(values, 64, 1.0).labels
    assert len(set(labels[32:])) == 1
    assert labels[31] != labels[32]


@pytest.mark.parametrize(
    ("counts", "domain", "price"),
    [
        ([1, 2], 3, 1.0),
        ([1, 2], (1, 1, 2), 1.0),
        ([1, np.nan], 2, 1.0),
        ([1, 2], 2, -1.0),
        ([1, 2], 2, np.inf),
    ],
)
def test_bad_input(counts, domain, price):
    with pytest.raises(BadInput):
        kd_partition(counts, domain, price)
