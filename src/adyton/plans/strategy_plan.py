"""Plans that measure queries which are chosen without data, and solve for the cells."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.exact import Rational, positive
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan
from adyton.plans.expected_error import ErrorKind, ExpectedError
from adyton.plans.limits import MOST_PLAIN_CELLS
from adyton.queries import Queries
from adyton.strategies.base import Strategy


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
