"""A plan: one algorithm, as a short program of operators, with what it serves and what error to expect."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.limits import check_depth
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.partitions import workload_partition
from adyton.plans.limits import MOST_CELLS, STEPS_INSIDE, check_cells, check_coefficients, check_reading
from adyton.plans.merging import Merging
from adyton.queries import Measurement, Partition, Queries, Total
from adyton.solving.projections import project_to_simplex, project_to_total
from adyton.strategies.base import Strategy
from adyton.whole import SAFE, whole

Estimate: TypeAlias = Reals
"""An estimated count for every cell. The last axes are the domain; an axis in front counts simulated trials."""

ErrorKind: TypeAlias = Literal["exact", "estimate", "upper mark", "noise only", "resampled"]
MEANINGS: dict[ErrorKind, str] = {
    "exact": "certain, whatever the data",
    "estimate": "certain, whatever the data, up to rounding",
    "upper mark": "about this or less",
    "noise only": "from noise; the data add to it",
    "resampled": "from what was published",
}
"""What the kinds of :class:`ExpectedError` mean, in plain words."""

SMALLEST_EPSILON = Fraction(1, 1 << 40)
_MOST_BITS = 1000


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """What a plan can be asked for."""

    dimensions: tuple[int, ...] | None = None
    """The numbers of dimensions that it serves; None for any."""
    data_dependent: bool = False
    """Whether what it measures depends on the data."""
    ordered: bool = False
    """Whether it counts on neighbouring cells to be alike, and so is not chosen where the cells have no order."""
    sums: bool = False
    """Whether it is made for queries that add up many cells, and so is not chosen where all ask about single cells."""

    def serves(self, ndim: int) -> bool:
        """Whether a domain of this many dimensions is served."""
        return self.dimensions is None or ndim in self.dimensions

    def __str__(self) -> str:
        return "any number of" if self.dimensions is None else " or ".join(str(number) for number in self.dimensions)


@dataclass(frozen=True)
class ExpectedError:
    """The error to expect, before anything is spent: the square root of E‖W·x̂ − W·x‖².

    ``kind`` says what the figure is: ``exact``; an ``estimate`` (by random probes, or for the least budget that a
    private choice leaves); an ``upper mark``, the error of least squares alone, where post-processing follows that is
    meant to improve on it by an amount that depends on the data (it can also lose, on workloads that it is not made
    for); or ``noise only`` where not all that is asked follows from what is measured: a bias comes on top that depends
    on the data. Of a release, it can also be ``resampled`` from the estimate.
    """

    total: float
    queries: int
    kind: ErrorKind
    runs: int | None = None
    """How many simulated runs a resampled figure comes from, if they were fewer than planned."""

    @property
    def per_query(self) -> float:
        """The root mean square error of one answer."""
        return self.total / math.sqrt(self.queries)

    def __float__(self) -> float:
        return self.total

    def __str__(self) -> str:
        return f"{self.total:.4g} in all, {self.per_query:.4g} a query ({MEANINGS[self.kind]})"


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """An algorithm. Subclasses are frozen values: their fields are the options, :meth:`run` is the program."""

    name: ClassVar[str]
    serves: ClassVar[Tasks]
    simulates_many: ClassVar[bool] = True
    """Whether :meth:`run` works on many simulated trials at once; if not, they run one after the other."""
    minds_workload: ClassVar[bool] = True
    """Whether :meth:`run` depends on the workload. If not, one run serves to measure the error on many of them."""
    most_cells: ClassVar[int] = MOST_CELLS
    """How many cells a domain can have, after those were merged that are merged."""

    nonnegative: bool = False
    """Make the estimate non-negative, keeping its total."""
    total: int | None = None
    """The number of rows, where it is public: the estimate then adds up to it."""
    rows: Measurement | None = None
    """A noisy number of rows that was bought before: a plan that needs one does not buy it again."""
    reduce: bool = False
    """Merge the cells that the workload cannot tell apart, and answer on the groups."""

    def estimate(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Estimate:
        """Run on a source, spending *epsilon*, and return the estimate in the shape of the domain."""
        amount = self.admit(x, workload, epsilon)
        merging = self.merging(workload)
        cells = merging.lift(self.run(merging.source(x), merging.workload, amount))
        return self._finish(cells).reshape(*cells.shape[:-1], *workload.domain)

    def admit(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Fraction:
        """The budget, once it is sure that the plan can be run to its end with it: else nothing is spent."""
        amount = _within_reach(positive(epsilon, "epsilon", computed=True))
        self.check(workload)
        if workload.domain != x.shape:
            raise BadInput(f"the workload asks about a domain of shape {workload.domain}, the vector has {x.shape}.")
        if self.rows is not None and self.rows.queries.domain != x.shape:
            raise BadInput(f"rows counts a domain of shape {self.rows.queries.domain}, the vector has {x.shape}.")
        x.kernel.afford(x, amount)
        check_depth(x.lineage, STEPS_INSIDE)
        self.check_size(self.merging(workload).workload, amount)
        return amount

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse what is too much to be carried out to its end; plans with costly measurements check those as well."""
        check_cells(self, workload)
        if self.serves.data_dependent and self.minds_workload:
            check_reading(self, workload)

    def minds(self, workload: Queries) -> object:
        """What of the workload :meth:`run` depends on: workloads that agree in it can share one run."""
        return workload if self.minds_workload else None

    @abstractmethod
    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """The program: spends exactly *epsilon* and returns the cells, flat."""

    @staticmethod
    def alike(workload: Queries) -> Partition:
        """Groups of cells that the workload cannot tell apart, in the order that suits the plan."""
        return workload_partition(workload)

    def merging(self, workload: Queries) -> Merging:
        """The cells to merge before anything else, if :attr:`reduce` is set: public, and decided nowhere else."""
        return _merging(self.alike, workload) if self.reduce else Merging(None, workload)

    def check(self, workload: Queries) -> None:
        """Refuse what the plan does not serve, and options that make no sense."""
        if not isinstance(workload, Queries):
            raise BadInput(f"a workload is a query set such as ad.workloads.Prefix(n), given {shorten(workload)}.")
        check_coefficients(workload)
        if self.total is not None and whole(self.total, "total", 0) > SAFE:
            raise BadInput(f"total must be at most 2^62, given {shorten(self.total)}.")
        if self.rows is not None and not (
            isinstance(self.rows, Measurement) and isinstance(self.rows.queries, Total) and self.rows.answers.size == 1
        ):
            raise BadInput(f"rows must be a measurement of the total, given {shorten(self.rows)}.")
        for field in fields(self):
            if isinstance(field.default, bool) and not isinstance(getattr(self, field.name), bool | np.bool_):
                raise BadInput(f"{field.name} is True or False, given {shorten(getattr(self, field.name))}.")
            if getattr(type(getattr(self, field.name)), "__hash__", None) is None:
                raise BadInput(f"{field.name} must be a single value, given {shorten(getattr(self, field.name))}.")
        ndim = len(workload.domain)
        if not self.serves.serves(ndim):
            raise BadInput(
                f"{self.name} serves {self.serves} dimensions, the domain {workload.domain} has {ndim}. "
                f"ad.algorithms(ndim={ndim}) lists the algorithms that serve it."
            )

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """The error to expect on a workload; for biased plans exactly so only on public data *x*."""
        raise BadInput(f"the error of {self.name} depends on the data and has no closed form. Simulate it.")

    def one_law(self, workload: Queries, epsilon: Rational, queries: Queries) -> bool:
        """Whether the noise in the answers to *queries* has one law on all data, if the plan runs for *workload*."""
        return False

    def determines(self, workload: Queries, epsilon: Rational, queries: Queries) -> bool:
        """Whether the answers to *queries* could follow from what is measured for *workload*: not those that tell
        merged cells apart."""
        return self.merging(workload).on_groups(queries) is not None

    @property
    def linear(self) -> bool:
        """Whether the estimate is left as it is found. A public total is linear too, but it could be wrong."""
        return not self.nonnegative and self.total is None

    def _finish(self, cells: Reals) -> Reals:
        if self.total is not None:
            cells = project_to_total(cells, float(self.total))
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        return cells


def _within_reach(epsilon: Fraction) -> Fraction:
    """The budget, refused where a plan that divides it further could fail in the middle."""
    if epsilon < SMALLEST_EPSILON:
        raise BadInput("epsilon must be at least 2^-40 for every row that a person has: below, nothing can be told.")
    if max(epsilon.numerator.bit_length(), epsilon.denominator.bit_length()) > _MOST_BITS:
        raise BadInput(f"epsilon has more than {_MOST_BITS} bits. Write it with fewer digits.")
    return epsilon


@lru_cache(maxsize=16)
def _merging(alike: Callable[[Queries], Partition], workload: Queries) -> Merging:
    """Once for all plans that merge in the same way."""
    return Merging.of(workload, alike(workload))


@dataclass(frozen=True, kw_only=True)
class StrategyPlan(Plan):
    """A plan that measures one strategy with the whole budget and solves for the cells by least squares."""

    @abstractmethod
    def strategy(self, workload: Queries) -> Strategy:
        """The queries to measure."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure, then least squares."""
        strategy = self.strategy(workload)
        return strategy.solver(epsilon).solve(strategy.measure(x, epsilon).answers)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """In closed form, 2/ε²·‖W·A⁺·D‖²_F with the variances of the discrete noise, plus the bias on *x* if any."""
        self.check(workload)
        merging = self.merging(workload)
        strategy, asked = self.strategy(merging.workload), merging.workload
        solver = strategy.solver(epsilon)
        squared = solver.total_variance(asked)
        if x is not None and not solver.complete:
            counts = merging.counts(np.asarray(x, dtype=np.float64))
            squared += float(np.square(asked @ (solver.solve(strategy.queries @ counts) - counts)).sum())
        return ExpectedError(math.sqrt(squared), asked.count, self._kind(strategy, asked, epsilon, biased=x is None))

    def one_law(self, workload: Queries, epsilon: Rational, queries: Queries) -> bool:
        """Where they follow from what was measured, and least squares are all that is done."""
        return self.linear and self.determines(workload, epsilon, queries)

    def determines(self, workload: Queries, epsilon: Rational, queries: Queries) -> bool:
        """Whether they are sums of multiples of what is measured."""
        asked = self.merging(workload).on_groups(queries)
        return asked is not None and self.strategy(self.merging(workload).workload).determines(asked, epsilon)

    @property
    def linear(self) -> bool:
        """Least squares are; another program may do anything."""
        return super().linear and type(self).run is StrategyPlan.run

    def _kind(self, strategy: Strategy, asked: Queries, epsilon: Rational, *, biased: bool) -> ErrorKind:
        if biased and not (strategy.measures(asked) or strategy.determines(asked, epsilon)):
            return "noise only"
        if not self.linear:
            return "upper mark"
        return "exact" if strategy.solver(epsilon).exact else "estimate"


@dataclass(frozen=True, kw_only=True)
class DenoisingPlan(StrategyPlan):
    """A strategy plan with free, non-linear post-processing after (or instead of) least squares."""

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """What least squares alone would have: an upper mark."""
        linear = super().expected_error(workload, epsilon, x)
        return ExpectedError(linear.total, linear.queries, "upper mark")
