"""Quantiles of all rows: the chosen cell is published, however noisy the counts around it are."""

import numpy as np

import adyton as ad
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.quantile_posterior import located_figures, parts_around

SCHEMA = ad.Schema({"cost": ad.Numeric(0, 100_000, bins=1000), "ward": ad.Categorical(["a", "b"])})


def figures(by=()):
    """A 90% quantile chosen in cell 47, and counts around it that would have it far below."""
    numbers = GroupedNumbers.of(ad.Quantiles("cost", [0.9], by=by), SCHEMA)
    look, chosen = np.arange(2, 32, 2), np.full((numbers.groups, 1), 47)
    counts = np.tile([2000, 6000, 40, -900, -800][: parts_around(numbers)], (numbers.groups, 1))
    (found,) = located_figures(numbers, look, chosen, counts, (0.002, 0.096, 0.002), 0.95)
    return found


def test_noisy_counts_do_not_move_the_cell_that_was_chosen():
    found = figures()
    assert found.estimate.tolist() == [4750.0]
    assert found.lower[0] < 3000  # they only widen the interval
    assert (figures("ward").estimate < 4000).all()  # of a group of many, more is known than from its own choice
