"""The uniform grid: as many equal boxes as a noisy number of rows deserves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.plans.base import Plan, Tasks
from adyton.plans.noisy_total import noisy_total
from adyton.plans.registry import register
from adyton.queries import Grid, Queries
from adyton.solving.nested_groups import Layer, nested_least_squares

_FEWEST_ROWS = 1_000_000
"""A box with fewer rows than one divided by this, or with more than this, is none."""


@register
@dataclass(frozen=True, kw_only=True)
class UniformGrid(Plan):
    """One grid of equal boxes, √(rows·ε/10) along each side, each measured with noise and spread evenly over its cells.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is bought
    with a small part of the budget, where the paper takes it for public.
    """

    name = "uniform-grid"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    rows_per_box: Rational = 10
    """c in the paper: a box gets about c/ε rows."""
    total_share: Rational = Fraction(1, 50)
    """The part of the budget that buys the total, where it is not public."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, one grid, least squares."""
        constant = rows_in_box(self.rows_per_box, "rows_per_box")
        rows = noisy_total(x, epsilon, self.total_share, self)
        grid = grid_of(x.shape, math.sqrt(rows.number * float(rows.left) / constant))
        counts = x.measure(grid, rows.left)
        total = (Layer(one.answers, one.variances) for one in rows.measured)
        boxes = nested_least_squares(
            Layer(counts.answers, counts.variances, np.zeros(grid.count, dtype=np.int64)), *total
        )
        return np.asarray(grid.transpose(boxes / box_sizes(grid)))


def rows_in_box(given: Rational, name: str) -> float:
    """How many rows times ε a box gets, refused where boxes of so few or so many rows make no sense."""
    rows = positive(given, name)
    if not 1 <= rows * _FEWEST_ROWS <= _FEWEST_ROWS**2:
        raise BadInput(f"{name} must be from 1/{_FEWEST_ROWS:,} to {_FEWEST_ROWS:,}, given {shorten(given)}.")
    return float(rows)


def grid_of(domain: tuple[int, ...], blocks: float) -> Grid:
    """A grid with at least so many blocks along each side: their width is a whole number of cells, rounded down.

    >>> grid_of((32, 32), 25).blocks, grid_of((32, 32), 3).blocks
    ((32, 32), (4, 4))
    """
    widths = [max(1, int(side / max(1.0, blocks))) for side in domain]
    return Grid.of_blocks(domain, [math.ceil(side / width) for side, width in zip(domain, widths, strict=True)])


def box_sizes(grid: Grid) -> Reals:
    """The number of cells in each box."""
    return np.asarray(grid @ np.ones(grid.domain), dtype=np.float64)
