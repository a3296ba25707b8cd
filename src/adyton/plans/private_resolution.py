"""A histogram at the resolution that its data deserve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.isotonic import monotone_prefix
from adyton.exact import Rational, positive, share
from adyton.kernel.mechanisms import Resolution
from adyton.kernel.mechanisms.resolution import GRID, LARGEST_COST
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.adaptive_hierarchy import staged_estimate
from adyton.plans.base import Plan, Tasks
from adyton.plans.denoised_tree import DenoisedTree
from adyton.plans.noisy_total import noisy_total
from adyton.plans.registry import register
from adyton.plans.staged_measuring import measure_in_stages
from adyton.queries import Partition, Prefix, Queries
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, prefix_energy

_BLOCKS = 64
"""How many blocks the coarse view has, or up to twice as many."""
_FINE, _COARSE = Fraction("0.45"), Fraction("0.41")
"""What is left of the error of plain least squares, on cells measured in stages and on blocks denoised down a tree.

The second is what histograms of 25 rows have; the first is more than the 0.26 that they have, so that cells are chosen
only when the blocks are clearly wrong: the noise of the choice is about as large as the difference."""


@register
@dataclass(frozen=True, kw_only=True)
class PrivateResolution(Plan):
    """With little data, look at about 64 blocks instead of at all cells, unless prefix sums inside them look crooked: a
    private choice. The blocks are denoised down a tree; cells are measured in stages. For ε·rows of a few dozens.

    After Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, who derive a resolution
    from the number of rows alone.
    """

    name = "private-resolution"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    total_share: Rational = Fraction(1, 50)
    """The part of the budget that buys the total, where it is not public."""
    selection_share: Rational = Fraction(3, 100)
    """The part of the rest that chooses between blocks and cells."""
    plenty: Rational = 60
    """From this ε·rows on, as far as it is known, cells are best, and nothing is spent on a choice."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, resolution, then a tree."""
        part, plenty = share(self.selection_share, "selection_share"), positive(self.plenty, "plenty")
        energy = level_energy_of(workload)
        rows, left, _ = noisy_total(x, epsilon, self.total_share, self)
        size = 1 << max(0, (x.cells // _BLOCKS).bit_length() - 1)
        if size > 1 and float(epsilon) * rows < plenty:
            costs = tuple(
                min(LARGEST_COST, int(GRID * kept * _noise(-(-x.cells // block)) / ((1 - part) * left)))
                for block, kept in ((1, _FINE), (size, _COARSE))
            )
            size = x.select(Resolution((1, size), costs), part * left)
            left *= 1 - part
        else:
            size = 1
        if size == 1:
            return staged_estimate(measure_in_stages(x, energy, left, rows))
        blocks = Partition(np.arange(x.cells) // size)
        estimate = DenoisedTree().run(x.reduce(blocks), Prefix(blocks.groups), left)
        return lift(monotone_prefix(estimate), blocks)


@lru_cache(maxsize=64)
def _noise(cells: int) -> Fraction:
    """The root mean square error of prefix sums by least squares on the best levels, at ε = 1."""
    energy = prefix_energy(cells)
    variance = optimal_levels(cells, energy).strategy(cells).solver(1).total_variance(Prefix(cells))
    return Fraction(float(np.sqrt(variance / cells)))
