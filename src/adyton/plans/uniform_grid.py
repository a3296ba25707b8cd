"""The uniform grid: as many equal boxes as a noisy number of rows deserves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Tasks
from adyton.plans.options import RowsInBox
from adyton.plans.steps import CountsRows, grid_of
from adyton.queries import Queries
from adyton.solving.nested_groups import Layer, nested_least_squares


@dataclass(frozen=True, kw_only=True)
class UniformGrid(CountsRows):
    """One grid of equal boxes, √(rows·ε/10) along each side, each measured with noise and spread evenly over its cells.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is bought
    with a small part of the budget, where the paper takes it for public.
    """

    name = "uniform-grid"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    rows_per_box: RowsInBox = Fraction(10)
    """c in the paper: a box gets about c/ε rows."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, one grid, least squares."""
        rows = self.count_rows(x, epsilon)
        grid = grid_of(x.shape, math.sqrt(rows.number * float(rows.left) / float(self.rows_per_box)))
        counts = x.measure(grid, rows.left)
        total = (Layer(one.answers, one.variances) for one in rows.measured)
        boxes = nested_least_squares(
            Layer(counts.answers, counts.variances, np.zeros(grid.count, dtype=np.int64)), *total
        )
        sizes = np.asarray(grid @ np.ones(grid.domain), dtype=np.float64)
        return np.asarray(grid.transpose(boxes / sizes))
