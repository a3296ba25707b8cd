"""Quantiles of all rows: the chosen cell is published, however noisy the counts around it are; promises are kept."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import adyton as ad
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.quantile_posterior import located_figures, parts_around
from adyton.statistics.quantiles import rank_errors

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


def skewed(rows, cells=1000):
    """Counts of cells of 100 with a lognormal law: a tenth of the rows is above cell 47, a hundredth above 120."""
    values = np.exp(7.3 + 0.9 * np.array([NormalDist().inv_cdf((row + 0.5) / rows) for row in range(rows)]))
    return np.bincount(np.minimum(values / 100, cells - 1).astype(int), minlength=cells)


def law(scores):
    """The exact law of permute-and-flip: p_j·∫ Π_{i≠j} (1 − p_i·t) dt for p = e^(score − best)."""
    chances = np.exp(scores - scores.max())
    nodes, weights = np.polynomial.legendre.leggauss(400)
    points = (nodes + 1) / 2
    logs = np.log1p(-np.outer(chances, points).clip(max=1 - 1e-15))
    inside = np.exp(logs.sum(axis=0) - logs) @ (weights / 2)
    return chances * inside / (chances * inside).sum()


@pytest.mark.parametrize("part", ["0.01", "0.1", "0.5", "0.9", "0.99"])
@pytest.mark.parametrize("cells", [200, 1000])
def test_the_promised_error_in_rows_is_kept(part, cells):
    """Also where a hundred rows above compete with 900 empty cells; by the exact law of the choice."""
    rows, counts, part = 7000, skewed(7000, cells), Fraction(part)
    upto, few = np.cumsum(counts), float(min(part, 1 - part)) * 7000
    target = float(part) * rows
    off = np.maximum(np.maximum(target - upto, upto - counts - target), 0.0)
    deep = np.maximum(target - upto, upto - counts - target)
    for error in (0.02 * few, 0.1 * few, 0.4 * few):
        low, high = 1e-6, 1e3
        for _ in range(60):
            middle = math.sqrt(low * high)
            enough = rank_errors([part], middle, rows, cells)[0] <= error
            low, high = (low, middle) if enough else (middle, high)
        reached = math.sqrt(law(-deep * high / (2 * float(max(part, 1 - part)))) @ off**2)
        assert reached < 1.1 * error
