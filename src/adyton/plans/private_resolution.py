"""A histogram at the resolution that its data deserve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.shrinkage import monotone_prefix
from adyton.kernel.mechanisms import Resolution
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.base import Tasks
from adyton.plans.options import Positive, Share
from adyton.plans.registry import plan_named
from adyton.plans.staged_measuring import measure_in_stages
from adyton.plans.steps import CountsRows, staged_estimate
from adyton.queries import Partition, Prefix, Queries
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, prefix_energy

_BLOCKS = 64
"""How many blocks the coarse view has, or up to twice as many."""
_FINE, _COARSE = Fraction("0.45"), Fraction("0.41")
"""What is left of the error of plain least squares, on cells measured in stages and on blocks denoised down a tree.

The second is what histograms of 25 rows have; the first is more than the 0.26 that they have, so that cells are chosen
only when the blocks are clearly wrong: the noise of the choice is about as large as the difference."""


@dataclass(frozen=True, kw_only=True)
class PrivateResolution(CountsRows):
    """With little data, look at about 64 blocks instead of at all cells, unless prefix sums inside them look crooked: a
    private choice. The blocks are denoised down a tree; cells are measured in stages. For ε·rows of a few dozens.

    After Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, who derive a resolution
    from the number of rows alone.
    """

    name = "private-resolution"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    selection_share: Share = Fraction(3, 100)
    """The part of the rest that chooses between blocks and cells."""
    plenty: Positive = Fraction(60)
    """From this ε·rows on, as far as it is known, cells are best, and nothing is spent on a choice."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, resolution, then a tree."""
        energy, part = level_energy_of(workload), self.selection_share
        rows, left, _ = self.count_rows(x, epsilon)
        size = 1 << max(0, (x.cells // _BLOCKS).bit_length() - 1)
        if size > 1 and float(epsilon) * rows < self.plenty:
            noise = {1: _FINE * _noise(x.cells), size: _COARSE * _noise(-(-x.cells // size))}
            costs = {block: error / ((1 - part) * left) for block, error in noise.items()}
            size, left = x.select(Resolution.at_costs(costs), part * left), (1 - part) * left
        else:
            size = 1
        if size == 1:
            return staged_estimate(measure_in_stages(x, energy, left, rows))
        blocks = Partition(np.arange(x.cells) // size)
        estimate = plan_named("denoised-tree").run(x.reduce(blocks), Prefix(blocks.groups), left)
        return lift(monotone_prefix(estimate), blocks)


@lru_cache(maxsize=64)
def _noise(cells: int) -> Fraction:
    """The root mean square error of prefix sums by least squares on the best levels, at ε = 1."""
    energy = prefix_energy(cells)
    variance = optimal_levels(cells, energy).strategy(cells).solver(Fraction(1)).total_variance(Prefix(cells))
    return Fraction(float(np.sqrt(variance / cells)))
