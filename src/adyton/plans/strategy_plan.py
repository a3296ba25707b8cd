"""Plans that measure queries which are chosen without data, and solve for the cells.

Those of this chapter measure the same, whatever is asked: cells, a total, a wavelet, trees of counts.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import MOST_PLAIN_CELLS
from adyton.plans.base import ErrorKind, ExpectedError, Plan, Tasks
from adyton.queries import Queries
from adyton.solving.noise_moments import Moments, noise_moments
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy

_MOST_WRITTEN = 1 << 30


@dataclass(frozen=True, kw_only=True)
class StrategyPlan(Plan):
    """A plan that measures one strategy with the whole budget and solves for the cells by least squares."""

    @abstractmethod
    def strategy(self, workload: Queries) -> Strategy:
        """The queries to measure."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure, then :meth:`cells_from`."""
        return self.cells_from(self.strategy(workload).measure(x, epsilon).answers, workload, epsilon)

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """The cells from the answers to the strategy, by least squares; axes in front are independent trials."""
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
        """Where they follow from what was measured, and least squares are all that is done."""
        return self.linear and self.determines(workload, epsilon, queries)

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """From the coefficients of least squares."""
        asked = self.merging(workload).on_groups(queries) if self.linear else None
        if asked is None:
            return None
        strategy = self.strategy(self.merging(workload).workload)
        return noise_moments(strategy.solver(epsilon), asked) if strategy.determines(asked, epsilon) else None

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """Of the answers by least squares, which they must follow from."""
        asked = self.merging(workload).on_groups(queries)
        assert asked is not None
        size = asked.count * asked.cells
        if size > _MOST_WRITTEN:
            raise BadInput(
                f"standard errors of {asked.count:,} answers from {asked.cells:,} cells take {size:,} coefficients, "
                f"the limit is {_MOST_WRITTEN:,}. Ask for a smaller table."
            )
        solver = self.strategy(self.merging(workload).workload).solver(epsilon)
        return np.concatenate([solver.variances(rows) for rows in asked.rows()])

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether they are sums of multiples of what is measured."""
        asked = self.merging(workload).on_groups(queries)
        return asked is not None and self.strategy(self.merging(workload).workload).determines(asked, epsilon)

    @property
    def linear(self) -> bool:
        """Least squares are; another program may do anything."""
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
    """A strategy plan that measures the same, whatever is asked."""

    most_cells = MOST_PLAIN_CELLS
    minds_workload = False


@dataclass(frozen=True, kw_only=True)
class DenoisingPlan(StrategyPlan):
    """A strategy plan with free, non-linear post-processing after (or instead of) least squares."""

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """What least squares alone would have: an upper mark."""
        return replace(super().expected_error(workload, epsilon, x), kind="upper mark")


@dataclass(frozen=True, kw_only=True)
class IdentityPlan(FixedStrategyPlan):
    """Laplace noise on every cell.

    Dwork et al., "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    """

    name = "identity"
    serves = Tasks()
    effort = "light"

    def strategy(self, workload: Queries) -> Strategy:
        """Every cell."""
        return hierarchies.identity(workload.domain)


@dataclass(frozen=True, kw_only=True)
class Uniform(FixedStrategyPlan):
    """A noisy total, spread evenly over the domain: the baseline that knows nothing else.

    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "uniform"
    serves = Tasks()

    def strategy(self, workload: Queries) -> Strategy:
        """The total."""
        return hierarchies.total(workload.domain)


@dataclass(frozen=True, kw_only=True)
class Privelet(FixedStrategyPlan):
    """Laplace noise on the Haar wavelet, with which every range needs few coefficients.

    Xiao, Wang and Gehrke, "Differential privacy via wavelet transforms", ICDE 2010.
    """

    name = "privelet"
    serves = Tasks()
    effort = "light"

    def strategy(self, workload: Queries) -> Strategy:
        """The wavelet along every axis."""
        return hierarchies.privelet(workload.domain)


@dataclass(frozen=True, kw_only=True)
class H2(FixedStrategyPlan):
    """A binary tree of counts, all levels measured alike, made consistent by least squares.

    Hay et al., "Boosting the accuracy of differentially private histograms through consistency", PVLDB 2010.
    """

    name = "h2"
    serves = Tasks(dimensions=(1,))

    def strategy(self, workload: Queries) -> Strategy:
        """The binary tree."""
        return hierarchies.h2(workload.domain)


@dataclass(frozen=True, kw_only=True)
class HB(FixedStrategyPlan):
    """A tree of counts whose branching suits the size of the domain, made consistent by least squares.

    Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    name = "hb"
    serves = Tasks()

    def strategy(self, workload: Queries) -> Strategy:
        """The tree without its root."""
        return hierarchies.hb(workload.domain)


@dataclass(frozen=True, kw_only=True)
class Quadtree(FixedStrategyPlan):
    """Counts of squares inside squares, more precise towards the cells, made consistent by least squares.

    Cormode et al., "Differentially private spatial decompositions", ICDE 2012.
    """

    name = "quadtree"
    serves = Tasks(dimensions=(2,))

    def strategy(self, workload: Queries) -> Strategy:
        """The quadtree with geometric weights."""
        return hierarchies.quadtree(workload.domain)
