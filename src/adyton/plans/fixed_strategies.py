"""Strategies that stay the same, whatever is asked: cells, a total, a wavelet, trees of counts."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


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
