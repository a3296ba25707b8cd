"""A quadtree that grows where noisy answers promise something from it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.block_posterior import block_posterior
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Tasks
from adyton.plans.options import Share
from adyton.plans.steps import CountsRows
from adyton.queries import Queries
from adyton.solving.dyadic_tree_of_domain import tree_order
from adyton.strategies.quadtree_levels import denoised_levels, halving_energies, quadtree_stages
from adyton.strategies.staged_blocks import measure_levels, run_stages

_PLENTY = 3.0
"""From this many ε·rows per cell on, nearly all parts of a map are worth small squares: levels are measured at once."""


@dataclass(frozen=True, kw_only=True)
class StagedQuadtree(CountsRows):
    """Large squares first; then, in each part of the map, smaller ones or one last precise look, whichever the answers
    so far promise more from. Posterior means follow, under a law, learnt from the answers, of how squares divide their
    rows. Strong on boxes where rows are few; where there are many, all squares of a few sizes are measured at once.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-quadtree"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True, sums=True)
    simulates_many = False

    total_share: Share = Fraction(1, 100)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, then stages or levels along the tree, posterior means."""
        line, energy = tree_order(x.shape), halving_energies(workload)
        rows = self.count_rows(x, epsilon)
        tree = line.tree()
        for total in rows.measured:
            tree = tree.with_answers([1], total.answers, total.variances)
        along, signal = x.reduce(line.ranks), float(epsilon) * rows.number / x.cells
        if signal > _PLENTY:
            tree = measure_levels(along, tree, denoised_levels(workload), rows.left)
        else:
            tree = run_stages(along, tree, quadtree_stages(workload, signal), energy, rows.left)
        cells = np.empty(x.cells)
        cells[line.order] = block_posterior(tree)
        return cells
