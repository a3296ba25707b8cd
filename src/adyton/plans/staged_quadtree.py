"""A quadtree that grows where noisy answers promise something from it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.top_down import block_posterior
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Tasks
from adyton.plans.options import Share
from adyton.plans.staged_measuring import measure_levels, run_stages
from adyton.plans.steps import CountsRows
from adyton.queries import Partition, Queries
from adyton.queries.domain_trees import halved_boxes
from adyton.solving.block_answers import BlockAnswers
from adyton.strategies.quadtree_levels import denoised_levels, halving_energies, quadtree_stages

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
        tree, energy = halved_boxes(x.shape), halving_energies(workload)
        rows = self.count_rows(x, epsilon)
        known = BlockAnswers.none(tree, rows.measured)
        along = x.reduce(Partition(tree.unordered(np.arange(x.cells))))
        signal = float(epsilon) * rows.number / x.cells
        if signal > _PLENTY:
            known = measure_levels(along, known, denoised_levels(workload), rows.left)
        else:
            known = run_stages(along, known, quadtree_stages(workload, signal), energy, rows.left)
        return tree.unordered(block_posterior(known))
