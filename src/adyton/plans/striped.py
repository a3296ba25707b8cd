"""Striped plans: the domain is split into lines along one attribute, and a plan for one dimension runs in each with all
of ε.

The stripes hold different rows, so the budget is spent only once (parallel composition, which the kernel applies when
it splits a vector). Zhang et al., "εKTELO", SIGMOD 2018, §7.1 and Algorithm 3.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.kernel.sources import VectorSource
from adyton.partitions import stripe_partition
from adyton.plans.algorithm import MOST_PLAIN_CELLS, MOST_STRIPES, Within, whole_number
from adyton.plans.base import Merging, Plan, Tasks, check_cells
from adyton.plans.hierarchies import StagedHierarchy
from adyton.plans.registry import SEVERAL
from adyton.plans.strategy_plan import HB, ChangePoints, DenoisingPlan, StrategyPlan
from adyton.queries import Identity, Kronecker, Queries
from adyton.queries.axes import along_axis, stripe_workload, stripes_of, whole_of
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class StripedPlan(Plan):
    """A plan for one dimension, run in every stripe."""

    axis: Annotated[int, Within(whole_number, 0)] | None = None
    """The number of the attribute along which the stripes run, from 0; None for the one with the most cells."""

    variant = True

    @property
    @abstractmethod
    def along(self) -> Plan:
        """The plan that runs in a stripe."""

    def axis_of(self, domain: tuple[int, ...]) -> int:
        """The axis along which the stripes run."""
        return along_axis(domain, int(np.argmax(domain)) if self.axis is None else self.axis)

    def line(self, workload: Queries) -> Queries:
        """The workload of a stripe."""
        return _line(workload, self.axis_of(workload.domain))

    def check(self, workload: Queries) -> None:
        """Also raise an error if the domain has no such axis."""
        super().check(workload)
        self.axis_of(workload.domain)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Check the size of a stripe: the queries about the whole domain are never written out."""
        check_cells(self, workload)
        self.along.check_size(self.line(workload), epsilon)

    def merging(self, workload: Queries) -> Merging:
        """Values of an attribute are merged, so that stripes stay stripes."""
        return _merged_by_axis(workload) if self.reduce else Merging(None, workload)


@dataclass(frozen=True, kw_only=True)
class StripedStrategyPlan(StripedPlan, StrategyPlan):
    """A strategy for one dimension, measured in all stripes at once."""

    along: ClassVar[StrategyPlan]
    """The plan that runs in a stripe."""

    def strategy(self, workload: Queries) -> Strategy:
        """The queries of the inner plan, asked of every stripe."""
        axis = self.axis_of(workload.domain)
        return _in_every_stripe(self.along.strategy(self.line(workload)), workload.domain, axis)


@dataclass(frozen=True, kw_only=True)
class HBStriped(StripedStrategyPlan):
    """In every stripe along one attribute, a tree of counts, made consistent by least squares.

    Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, plan 14.
    """

    name = "hb-striped"
    serves = Tasks(dimensions=SEVERAL)
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False
    along = HB()


@dataclass(frozen=True, kw_only=True)
class ChangePointsStriped(StripedStrategyPlan, DenoisingPlan):
    """Noise on every cell, then a hidden Markov chain along each stripe: runs of similar cells are averaged, jumps and
    spikes are kept. Good for single cells of large tables with one attribute that has many ordered values.

    After Zhang et al., "εKTELO", SIGMOD 2018, plan 13, with ``change-points`` in place of DAWA.
    """

    name = "change-points-striped"
    serves = Tasks(dimensions=SEVERAL, ordered=True)
    along = ChangePoints()

    def minds(self, workload: Queries) -> object:
        """What the inner plan depends on, and the axis of the stripes."""
        return self.axis_of(workload.domain), self.along.minds(self.line(workload))

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Each stripe separately, as the inner plan does."""
        axis, line = self.axis_of(workload.domain), self.line(workload)
        asked = self.along.strategy(line).queries.count
        shape = tuple(asked if place == axis else side for place, side in enumerate(workload.domain))
        cells = self.along.cells_from(stripes_of(answers, shape, axis), line, epsilon)
        return whole_of(cells, workload.domain, axis)


@dataclass(frozen=True, kw_only=True)
class OneByOne(StripedPlan):
    """A plan for one dimension whose measurements depend on the data: it runs in one stripe after another."""

    simulates_many = False

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also raise an error if there are too many stripes."""
        super().check_size(workload, epsilon)
        axis = self.axis_of(workload.domain)
        stripes = workload.cells // workload.domain[axis]
        if stripes > MOST_STRIPES:
            raise BadInput(
                f"{self.name} takes up to {MOST_STRIPES:,} stripes; along axis {axis} there are {stripes:,}. Choose "
                'another axis or fewer attributes, or name "hb-striped" or "change-points-striped".'
            )

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Split the vector, and run the plan in each part."""
        axis, line, plan = self.axis_of(workload.domain), self.line(workload), self.along
        parts = x.split(stripe_partition(workload.domain, axis))
        cells = [plan.carry_out(part, line, epsilon).estimate for part in parts]
        return whole_of(np.stack(cells), workload.domain, axis)


@dataclass(frozen=True, kw_only=True)
class StagedHierarchyStriped(OneByOne):
    """In every stripe along one attribute, coarse blocks first, then finer ones where they gain most: few answers where
    there are few rows. Good for prefix sums and ranges along an attribute with many ordered values.

    After Zhang et al., "εKTELO", SIGMOD 2018, plan 13, with ``staged-hierarchy`` in place of DAWA.
    """

    name = "staged-hierarchy-striped"
    serves = Tasks(dimensions=SEVERAL, data_dependent=True, ordered=True, sums=True)
    along = StagedHierarchy()


@lru_cache(maxsize=16)
def _line(workload: Queries, axis: int) -> Queries:
    return stripe_workload(workload, axis)


@lru_cache(maxsize=16)
def _merged_by_axis(workload: Queries) -> Merging:
    """Cached for all plans that keep the axes."""
    return Merging.by_axis(workload)


@lru_cache(maxsize=16)
def _in_every_stripe(strategy: Strategy, domain: tuple[int, ...], axis: int) -> Strategy:
    if isinstance(strategy.queries, Identity):
        return Strategy(Identity(domain))
    factors = [strategy.queries if place == axis else Identity(side) for place, side in enumerate(domain)]
    if strategy.weights is None:
        return Strategy(Kronecker(factors))
    weights = strategy.weights.reshape([-1 if place == axis else 1 for place in range(len(domain))])
    counts = [factor.count for factor in factors]
    return Strategy(Kronecker(factors), np.ascontiguousarray(np.broadcast_to(weights, counts)).reshape(-1))
