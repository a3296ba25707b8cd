"""Plans that measure every cell and then take the noise out again: the cells themselves show what the data are like."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.neighbours import with_neighbours
from adyton.plans.algorithm import MOST_LONG_CELLS
from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import DenoisingPlan
from adyton.queries import Queries
from adyton.queries.domain_trees import hilbert_order, snake_order
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy

Denoiser: TypeAlias = Callable[[Array], Reals]
"""Likely cells from noisy ones along the last axis; axes in front are independent trials."""


@dataclass(frozen=True, kw_only=True)
class _DenoisedCells(DenoisingPlan):
    """Every cell is measured with the whole budget."""

    def minds(self, workload: Queries) -> object:
        """Whether every query asks about one cell."""
        return _single_cells(workload)

    def strategy(self, workload: Queries) -> Strategy:
        """Every cell."""
        return hierarchies.identity(workload.domain)

    @abstractmethod
    def denoiser(self, workload: Queries, epsilon: float) -> Denoiser:
        """What takes the noise out again."""

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Denoised."""
        return self.denoiser(workload, float(epsilon))(answers)


def _single_cells(workload: Queries) -> bool:
    """Whether every query asks about one cell, so that no errors are added up."""
    return workload.largest_row_sum() <= 1


@dataclass(frozen=True, kw_only=True)
class DenoisedCells(_DenoisedCells):
    """Noise on every cell, then empirical Bayes: how often each count occurs is learnt from the noisy counts, and each
    becomes what it is on average under that distribution. Good for sparse data without order. Where every query asks
    about one cell, a measured count is kept if nothing better is known of it, and on few cells most of it always.

    After Robbins, "An empirical Bayes approach to statistics", 1956.
    """

    name = "denoised-cells"
    serves = Tasks()

    def denoiser(self, workload: Queries, epsilon: float) -> Denoiser:
        """Empirical Bayes."""
        return partial(empirical_bayes, epsilon=epsilon, settle=_single_cells(workload))


@dataclass(frozen=True, kw_only=True)
class DenoisedNeighbours(_DenoisedCells):
    """Noise on every cell, then empirical Bayes in which cells with similar neighbourhoods share their distribution.
    Good for smooth data, on a line or a plane.

    After Robbins, "An empirical Bayes approach to statistics", 1956.
    """

    name = "denoised-neighbours"
    serves = Tasks(ordered=True)

    def denoiser(self, workload: Queries, epsilon: float) -> Denoiser:
        """Empirical Bayes by neighbourhoods."""
        return partial(with_neighbours, epsilon=epsilon, domain=workload.domain)


@dataclass(frozen=True, kw_only=True)
class ChangePoints(_DenoisedCells):
    """Noise on every cell, then a hidden Markov chain along the cells: runs of alike cells are averaged, jumps and
    spikes are kept. In two dimensions chains run along the rows, the columns and a Hilbert curve. Where every query
    asks about one cell, a measured count is kept if nothing better is known of it, and on few cells most of it always.

    After Baum et al., "A maximization technique occurring in the statistical analysis of probabilistic functions of
    Markov chains", 1970.
    """

    name = "change-points"
    serves = Tasks(dimensions=(1, 2), ordered=True)
    most_cells = MOST_LONG_CELLS

    edge: bool = True
    """Assume that the first cells of an attribute differ from each other more than later ones do: good for amounts,
    durations and counts, which begin at zero. In two dimensions it has no effect."""

    def denoiser(self, workload: Queries, epsilon: float) -> Denoiser:
        """Posterior means under the chains."""
        ways, single = _ways(workload.domain), _single_cells(workload)
        return partial(change_points, epsilon=epsilon, orders=ways, edge=self.edge and ways is None, settle=single)


@lru_cache(maxsize=16)
def _ways(domain: tuple[int, ...]) -> npt.NDArray[np.int64] | None:
    """The ways through a domain of two dimensions."""
    if len(domain) == 1:
        return None
    return np.stack([snake_order(domain, 0), snake_order(domain, 1), hilbert_order(domain)])
