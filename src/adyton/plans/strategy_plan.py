"""Plans that choose the queries to measure without the data, and solve for the cells.

The plans in this file measure the same queries for every workload: cells, a total, a wavelet, a tree of counts. Some
measure every cell and then remove noise, with a distribution learnt from the noisy cells themselves.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import MOST_LONG_CELLS, MOST_PLAIN_CELLS
from adyton.plans.base import ErrorKind, ExpectedError, Plan, Tasks
from adyton.queries import Haar, Identity, Kronecker, Queries, Total
from adyton.queries.domain_trees import boxes_in_boxes, hilbert_order, snake_order
from adyton.solving.noise_moments import Moments, noise_moments
from adyton.solving.solvers import combinations
from adyton.strategies.base import Strategy, branching, without_root

_MOST_WRITTEN, _MOST_READ = 1 << 30, 1 << 22
_MISTAKE = 1e-6
"""The largest relative error of a variance that follows from covariances."""


@dataclass(frozen=True, kw_only=True)
class StrategyPlan(Plan):
    """A plan that measures one strategy with the whole budget and solves for the cells by least squares."""

    @abstractmethod
    def strategy(self, workload: Queries) -> Strategy:
        """The queries to measure."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure, then :meth:`cells_from`."""
        return self.cells_from(self.strategy(workload).measure(x, epsilon).answers, workload, epsilon)

    def run_and_keep(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> tuple[Reals, Array | None]:
        """The cells, and the answers that they were computed from."""
        if type(self).run is not StrategyPlan.run:
            return super().run_and_keep(x, workload, epsilon)
        answers = self.strategy(workload).measure(x, epsilon).answers
        return self.cells_from(answers, workload, epsilon), answers

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """The cells from the answers to the strategy, by least squares; leading axes are independent trials."""
        return self.strategy(workload).solver(epsilon).solve(answers)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """In closed form, 2/ε²·‖W·A⁺·D‖²_F with the variances of the discrete noise, plus the bias on *x* if any."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.check(workload)
        merging = self.merging(workload)
        strategy, asked = self.strategy(merging.workload), merging.workload
        solver = strategy.solver(amount)
        squared = solver.total_variance(asked)
        if x is not None and not solver.complete:
            counts = merging.counts(np.asarray(x, dtype=np.float64))
            squared += float(np.square(asked @ (solver.solve(strategy.queries @ counts) - counts)).sum())
        return ExpectedError(math.sqrt(squared), asked.count, self._kind(strategy, asked, amount, biased=x is None))

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """If the measurements determine the answers, and there is no step but least squares."""
        return self.linear and self.determines(workload, epsilon, queries)

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """From the coefficients of least squares."""
        asked = self.merging(workload).on_groups(queries) if self.linear else None
        if asked is None:
            return None
        strategy = self.strategy(self.merging(workload).workload)
        return noise_moments(strategy.solver(epsilon), asked) if strategy.determines(asked, epsilon) else None

    def unbiased(
        self, workload: Queries, epsilon: Fraction, measured: Reals, queries: Queries
    ) -> tuple[Reals, Moments] | None:
        """Least squares, without the steps after it."""
        merging = self.merging(workload)
        asked, strategy = merging.on_groups(queries), self.strategy(merging.workload)
        if asked is None or measured.shape != (strategy.queries.count,) or not strategy.determines(asked, epsilon):
            return None
        solver = strategy.solver(epsilon)
        moments = noise_moments(solver, asked)
        if moments is None:
            if asked.count * asked.cells > _MOST_READ:
                return None
            variances = np.concatenate([solver.variances(rows) for rows in asked.rows()])
            moments = Moments(variances, 3 * np.square(variances), at_most=True)
        return np.asarray(asked @ solver.solve(measured), dtype=np.float64), moments

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """The variances of least squares; the measurements must determine the answers."""
        asked = self.merging(workload).on_groups(queries)
        assert asked is not None
        size = asked.count * asked.cells
        if size > _MOST_WRITTEN:
            raise BadInput(
                f"standard errors of {asked.count:,} answers from {asked.cells:,} cells take {size:,} coefficients; "
                f"the limit is {_MOST_WRITTEN:,}. Ask for a smaller table."
            )
        solver = self.strategy(self.merging(workload).workload).solver(epsilon)
        return np.concatenate([solver.variances(rows) for rows in asked.rows()])

    def cell_covariances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals | None:
        """C·q for the covariances C = (AᵀV⁻¹A)⁺ of least squares: if q = Aᵀb is a combination of measured queries,
        C·q = C·AᵀV⁻¹·(V·b) is the solution for the answers V·b. Combinations that have no structure are found by
        LSMR. None if there is none, or if the solver does not weight answers in this way: q·C·q must be the variance.
        """
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        if asked is None:
            return None
        strategy = self.strategy(merging.workload)
        solver = strategy.solver(epsilon)
        rows = np.concatenate([np.asarray(rows, dtype=np.float64) for rows in asked.rows()])
        match strategy.queries:
            case Identity():
                combined = rows
            case Haar():  # inverted, without weights
                combined = strategy.queries.inverse_transpose(rows)
            case _:
                combined = combinations(strategy.queries, rows)
        cells, variances = solver.solve(combined * strategy.variances(epsilon)), solver.variances(rows)
        wrong = np.abs((rows * cells).sum(axis=-1) - variances) > _MISTAKE * variances
        return None if wrong.any() else merging.lift(cells)

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether the queries are linear combinations of the measured ones."""
        asked = self.merging(workload).on_groups(queries)
        return asked is not None and self.strategy(self.merging(workload).workload).determines(asked, epsilon)

    @property
    def linear(self) -> bool:
        """Least squares is linear; plans with other steps need not be."""
        plain = type(self).run is StrategyPlan.run and type(self).cells_from is StrategyPlan.cells_from
        return super().linear and plain

    def _kind(self, strategy: Strategy, asked: Queries, epsilon: Fraction, *, biased: bool) -> ErrorKind:
        if biased and not (strategy.measures(asked) or strategy.determines(asked, epsilon)):
            return "noise only"
        if not self.linear:
            return "upper mark"
        return "exact" if strategy.solver(epsilon).exact else "estimate"


@dataclass(frozen=True, kw_only=True)
class FixedStrategyPlan(StrategyPlan):
    """A strategy plan that measures the same queries for every workload."""

    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    @staticmethod
    @abstractmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """The queries to measure on this domain."""

    def strategy(self, workload: Queries) -> Strategy:
        """The queries for the workload's domain, found once for each domain."""
        return _on(type(self), workload.domain)


@lru_cache(maxsize=64)
def _on(plan: type[FixedStrategyPlan], domain: tuple[int, ...]) -> Strategy:
    return plan.on(domain)


@dataclass(frozen=True, kw_only=True)
class DenoisingPlan(StrategyPlan):
    """A strategy plan with non-linear post-processing after (or instead of) least squares."""

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """The error of least squares alone: an upper mark."""
        return replace(super().expected_error(workload, epsilon, x), kind="upper mark")


@dataclass(frozen=True, kw_only=True)
class IdentityPlan(FixedStrategyPlan):
    """Laplace noise on every cell.

    Dwork et al., "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    """

    name = "identity"
    serves = Tasks()
    effort = "light"

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """Every cell."""
        return Strategy(Identity(domain))


@dataclass(frozen=True, kw_only=True)
class Uniform(FixedStrategyPlan):
    """A noisy total, spread evenly over the domain: the baseline that uses nothing else.

    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "uniform"
    serves = Tasks()

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """The total alone."""
        return Strategy(Total(domain))


@dataclass(frozen=True, kw_only=True)
class Privelet(FixedStrategyPlan):
    """Laplace noise on the Haar wavelet, with which every range needs few coefficients.

    Xiao, Wang and Gehrke, "Differential privacy via wavelet transforms", ICDE 2010.
    """

    name = "privelet"
    serves = Tasks()
    effort = "light"

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """The wavelet along every axis."""
        waves = [Haar(side) for side in domain]
        return Strategy(waves[0] if len(waves) == 1 else Kronecker(waves))


@dataclass(frozen=True, kw_only=True)
class HB(FixedStrategyPlan):
    """A tree of counts whose branching suits the size of the domain, made consistent by least squares.

    Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    name = "hb"
    serves = Tasks()

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """The tree without its root."""
        return Strategy(without_root(boxes_in_boxes(domain, branching(domain))))


@dataclass(frozen=True, kw_only=True)
class DenoisedCellsPlan(DenoisingPlan):
    """Every cell is measured with the whole budget."""

    def minds(self, workload: Queries) -> object:
        """Whether every query asks about one cell."""
        return _single_cells(workload)

    def strategy(self, workload: Queries) -> Strategy:
        """Every cell."""
        return _on(IdentityPlan, workload.domain)


def _single_cells(workload: Queries) -> bool:
    """Whether every query asks about one cell, so that no errors are added up."""
    return workload.largest_row_sum() <= 1


@dataclass(frozen=True, kw_only=True)
class DenoisedCells(DenoisedCellsPlan):
    """Noise on every cell, then empirical Bayes: how often each count occurs is learnt from the noisy counts, and each
    noisy count is replaced by its posterior mean under that distribution. Good for sparse data without order. If every
    query asks about one cell, a measured count is kept if nothing better is known; on few cells the estimate stays
    close to it.

    After Robbins, "An empirical Bayes approach to statistics", 1956.
    """

    name = "denoised-cells"
    serves = Tasks()

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Empirical Bayes."""
        return empirical_bayes(answers, float(epsilon), settle=_single_cells(workload))


@dataclass(frozen=True, kw_only=True)
class ChangePoints(DenoisedCellsPlan):
    """Noise on every cell, then a hidden Markov chain along the cells: runs of similar cells are averaged, jumps and
    spikes are kept. In two dimensions chains run along the rows, the columns and a Hilbert curve. If every query asks
    about one cell, a measured count is kept if nothing better is known; on few cells the estimate stays close to it.

    After Baum et al., "A maximization technique occurring in the statistical analysis of probabilistic functions of
    Markov chains", 1970.
    """

    name = "change-points"
    serves = Tasks(dimensions=(1, 2), ordered=True)
    most_cells = MOST_LONG_CELLS

    edge: bool = True
    """Assume that the first cells of an attribute differ from each other more than later ones do: good for amounts,
    durations and counts, which begin at zero. In two dimensions it has no effect."""

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Posterior means under the chains."""
        ways, single = _ways(workload.domain), _single_cells(workload)
        return change_points(answers, float(epsilon), ways, edge=self.edge and ways is None, settle=single)


@lru_cache(maxsize=16)
def _ways(domain: tuple[int, ...]) -> npt.NDArray[np.int64] | None:
    """The orders of the cells of a two-dimensional domain along which chains run; None for a line."""
    if len(domain) == 1:
        return None
    return np.stack([snake_order(domain, 0), snake_order(domain, 1), hilbert_order(domain)])
