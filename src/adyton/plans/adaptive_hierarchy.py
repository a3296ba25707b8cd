"""Hierarchies that adapt to how much data there is, and to where it is, as far as noisy answers have shown it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Reals
from adyton.denoising.shrinkage import monotone_prefix, polya_tree
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Tasks
from adyton.plans.limits import MOST_LONG_CELLS
from adyton.plans.staged_measuring import measure_in_stages
from adyton.plans.steps import CountsRows, staged_estimate
from adyton.queries import Queries
from adyton.solving.least_squares import least_squares
from adyton.strategies.optimal_levels import level_energy_of
from adyton.strategies.signal_levels import signal_levels


@dataclass(frozen=True, kw_only=True)
class AdaptiveHierarchy(CountsRows):
    """A noisy total decides which levels of a tree are worth measuring; then the differences between halves of blocks
    are estimated by empirical Bayes, and the prefix sums are made to rise.

    After Ferguson, "Prior distributions on spaces of probability measures", 1974, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "adaptive-hierarchy"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True, sums=True)
    simulates_many = False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, levels, least squares, empirical Bayes."""
        energy, rows = level_energy_of(workload), self.count_rows(x, epsilon)
        levels = signal_levels(x.cells, float(rows.left) * rows.number, energy)
        blocks = levels.strategy(x.cells).measure(x, rows.left)
        cells = least_squares(blocks, *rows.measured, local=True)
        return monotone_prefix(polya_tree(cells, levels.block_sizes, levels.variances(float(rows.left))))


@dataclass(frozen=True, kw_only=True)
class StagedHierarchy(CountsRows):
    """Coarse blocks first; then, in each part of the domain, finer blocks or one last precise look, whichever the
    answers so far promise more from. The estimate is for the most part the posterior mean under a law, learnt from the
    answers, of how blocks divide their rows, and for the rest least squares with prefix sums that rise.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-hierarchy"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True, sums=True)
    most_cells = MOST_LONG_CELLS
    simulates_many = False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure in stages; posterior means, mixed with monotone least squares."""
        energy, rows = level_energy_of(workload), self.count_rows(x, epsilon)
        return staged_estimate(measure_in_stages(x, energy, rows.left, rows.number, rows.measured))
