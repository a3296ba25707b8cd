"""A plan: an algorithm that estimates the counts of all cells, as a short program of operators; with the domains and
workloads that it serves, the cells that it merges, its limits, and its expected error.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.partitions import (
    groups_by_axis,
    lift,
    product_partition,
    reduce_by_axis,
    reduce_workload,
    tells_apart,
    workload_partition,
)
from adyton.plans.algorithm import MOST_CELLS, MOST_PLAIN_CELLS, Algorithm, Share, Within, whole_number
from adyton.queries import (
    AllRange,
    Identity,
    Marginals,
    Measurement,
    Partition,
    Prefix,
    Queries,
    Ranges,
    Reduction,
    Stack,
    Total,
)
from adyton.queries.axes import product_parts
from adyton.queries.base import Size
from adyton.solving.noise_moments import Moments
from adyton.solving.nonnegative import project_to_simplex, project_to_total
from adyton.whole import SAFE

Estimate: TypeAlias = Reals
"""An estimated count for every cell. The last axes are the domain; a leading axis counts simulated trials."""
LARGEST_COEFFICIENT = 1 << 40
_LEVELS = 8
Effort: TypeAlias = Literal["light", "usual", "search", "dense"]
"""How much work it is to find the queries that a plan measures, and its error: hardly any, reading every coefficient, a
numerical optimisation, or solving equations for all cells at once."""
_MOST_COEFFICIENTS = 1 << 24
_MOST_SEARCHED, _MOST_SEARCHED_BY_AXES = 1 << 14, 1 << 21
"""The most cells for which an optimisation takes a short time. The weights of marginals are found on sets of axes,
those of products on each axis separately, not on cells."""


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Which domains and workloads a plan is for."""

    dimensions: tuple[int, ...] | None = None
    """The numbers of dimensions that it serves; None for any."""
    data_dependent: bool = False
    """Whether the measured queries depend on the data."""
    ordered: bool = False
    """Whether it relies on neighbouring cells being similar, and so is not chosen where the cells have no order."""
    sums: bool = False
    """Whether it is made for queries that add up many cells, and so is not chosen where all ask about single cells."""

    def serves(self, ndim: int) -> bool:
        """Whether a domain of this many dimensions is served."""
        return self.dimensions is None or ndim in self.dimensions

    def __str__(self) -> str:
        if self.dimensions is None:
            return "any number of"
        if len(self.dimensions) > 2:
            return f"{self.dimensions[0]} or more"
        return " or ".join(str(number) for number in self.dimensions)


class Outcome(NamedTuple):
    """The result of a run."""

    algorithm: str
    """The algorithm that ran."""
    estimate: Estimate
    choice: Any = None
    """How it was chosen, if it was: a :class:`adyton.choice.decision.Choice`, which this package does not import."""
    measured: Array | None = None
    """The noisy answers to the plan's queries, if these were fixed beforehand: see :meth:`Plan.unbiased`."""


def _noisy_total(given: object, name: str) -> Measurement:
    if not (isinstance(given, Measurement) and isinstance(given.queries, Total) and given.answers.size == 1):
        raise BadInput(f"{name} must be a measurement of the total, given {shorten(given)}.")
    return given


@dataclass(frozen=True, kw_only=True)
class Plan(Algorithm[VectorSource, Queries]):
    """An algorithm that estimates the counts of all cells: :meth:`run` is a short program of operators."""

    serves: ClassVar[Tasks]
    simulates_many: ClassVar[bool] = True
    """Whether :meth:`run` works on many simulated trials at once; if not, they run one after the other."""
    minds_workload: ClassVar[bool] = True
    """Whether :meth:`run` depends on the workload. If not, one run can measure the error on many workloads."""
    most_cells: ClassVar[int] = MOST_CELLS
    """The most cells that a domain can have, counted after merging."""
    effort: ClassVar[Effort] = "usual"
    """How much work it is to find the queries to measure, and the error."""
    buys_total: ClassVar[bool] = False
    """Whether the plan spends budget on a noisy number of rows, unless there is one already."""
    chooses: ClassVar[bool] = False
    """Whether the plan chooses another plan and runs it."""
    variant: ClassVar[bool] = False
    """Whether it exists for comparison with another plan: selectors are trained to choose it only on request."""

    nonnegative: bool = False
    """Make the estimate non-negative, keeping its total."""
    total: Annotated[int, Within(whole_number, 0, SAFE)] | None = None
    """The number of rows, if it is public: the estimate then adds up to it."""
    rows: Annotated[Measurement, _noisy_total] | None = None
    """A noisy number of rows that was measured before: a plan that needs one does not measure it again."""
    reduce: bool = False
    """Merge the cells that the workload does not distinguish, and answer on the groups."""

    def estimate(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Estimate:
        """Run on a source, spending *epsilon*, and return the estimate in the shape of the domain."""
        return self.carry_out(x, workload, self.admitted(x, workload, epsilon)).estimate

    def check_asked(self, x: VectorSource, workload: Queries) -> None:
        """Check that the plan serves the workload, and that it is about the cells of this vector."""
        self.check(workload)
        if workload.domain != x.shape:
            raise BadInput(f"the workload asks about a domain of shape {workload.domain}; the vector has {x.shape}.")
        if self.rows is not None and self.rows.queries.domain != x.shape:
            raise BadInput(f"rows counts a domain of shape {self.rows.queries.domain}; the vector has {x.shape}.")

    def check_run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Callable[[], Outcome]:
        """Check the size, on the merged cells."""
        self.check_size(self.merging(workload).workload, epsilon)
        return partial(self.carry_out, x, workload, epsilon)

    def carry_out(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Outcome:
        """Run an admitted request."""
        merging = self.merging(workload)
        cells, measured = self.run_and_keep(merging.source(x), merging.workload, epsilon)
        return Outcome(self.name, self.finish(cells, workload), measured=measured)

    def finish(self, cells: Reals, workload: Queries) -> Estimate:
        """The requested estimate in the shape of the domain, from the merged cells, which are flat."""
        cells = self.merging(workload).lift(cells)
        if self.total is not None:
            cells = project_to_total(cells, float(self.total))
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        return cells.reshape(*cells.shape[:-1], *workload.domain)

    def candidates(self, workload: Queries) -> dict[str, Plan]:
        """The plans that could run, by name: the plan itself, unless it chooses."""
        return {self.name: self}

    def choice_share(self, workload: Queries) -> Fraction:
        """The share of the budget that a choice may cost."""
        return Fraction(0)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """An error if the run would take too much memory or time; plans with costly measurements check these too."""
        check_cells(self, workload)
        if self.serves.data_dependent and self.minds_workload:
            Size(0, _LEVELS * _coefficients(workload)).check(
                lambda: f"{self.name} for {workload.count:,} queries on {workload.cells:,} cells",
                "Ask fewer queries, or name an algorithm that does not read them, such as identity.",
            )

    def minds(self, workload: Queries) -> object:
        """The part of the workload that :meth:`run` depends on: workloads that agree in it can share one run."""
        return workload if self.minds_workload else None

    @abstractmethod
    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """The program: spends exactly *epsilon* and returns the cells, flat."""

    def run_and_keep(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> tuple[Reals, Array | None]:
        """The cells, and the noisy answers for :meth:`unbiased`, if the plan has such."""
        return self.run(x, workload, epsilon), None

    @staticmethod
    def alike(workload: Queries) -> Partition:
        """Groups of cells that the workload does not distinguish, in the order that suits the plan."""
        return workload_partition(workload)

    def merging(self, workload: Queries) -> Merging:
        """The cells to merge before anything else, if :attr:`reduce` is set: public, and decided only here."""
        return _merging(self.alike, workload) if self.reduce else Merging(None, workload)

    def check(self, workload: Queries) -> None:
        """An error for workloads that the plan does not serve, or with numbers too large for floating point."""
        if not isinstance(workload, Queries):
            raise BadInput(f"a workload is a query set such as ad.workloads.Prefix(n), given {shorten(workload)}.")
        if workload.largest_coefficient() > LARGEST_COEFFICIENT:
            raise BadInput("the workload has coefficients above 2^40. Use smaller ones: only their proportions matter.")
        if not _asks(workload):
            raise BadInput("the workload asks nothing: all its coefficients are 0. Ask about at least one cell.")
        ndim = len(workload.domain)
        if not self.serves.serves(ndim):
            raise BadInput(
                f"{self.name} serves {self.serves} dimensions; the domain {workload.domain} has {ndim}. "
                "Leave the algorithm to auto, or name one that serves any number of them, such as identity or hb."
            )

    def predicts_soon(self, workload: Queries) -> bool:
        """Whether the expected error on merged cells, if it has a closed form, can be computed in a short time."""
        few = workload.cells * workload.count <= _MOST_COEFFICIENTS
        match self.effort:
            case "light":
                return True
            case "dense":
                return False
            case "search":
                by_axes = workload.cells <= _MOST_SEARCHED_BY_AXES and _by_axes(workload)
                return by_axes or (few and workload.cells <= _MOST_SEARCHED)
            case _:
                return few

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """The expected error on a workload; for biased plans, it is exact only on public data *x*."""
        raise BadInput(f"the error of {self.name} depends on the data and has no closed form. Simulate it.")

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether the noise in the answers to *queries*, in a run for *workload*, has one distribution on all data."""
        return False

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """The moments of the noise in the answers to *queries*; None unless they are the same on all data and have a
        closed form."""
        return None

    def unbiased(
        self, workload: Queries, epsilon: Fraction, measured: Reals, queries: Queries
    ) -> tuple[Reals, Moments] | None:
        """The answers to *queries* by least squares alone, from what a run measured, with the moments of their noise.

        None if they do not follow from it, or the moments have no closed form.
        """
        return None

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """The variances of the answers to *queries*, if their noise has the same distribution on all data."""
        raise BadInput(f"the error of {self.name} depends on the data and has no closed form. Simulate it.")

    def cell_covariances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals | None:
        """The covariances of the answers to *queries* with the count of every cell, queries × cells; None unless they
        are the same on all data."""
        return None

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether the measurements for *workload* could determine the answers to *queries*: not if these distinguish
        merged cells."""
        return self.merging(workload).on_groups(queries) is not None

    @property
    def linear(self) -> bool:
        """Whether nothing changes the estimate after :meth:`run`. Fitting a public total is linear too, but the total
        could be wrong."""
        return not self.nonnegative and self.total is None


class Rows(NamedTuple):
    """The number of rows, exact or noisy, and the remaining budget."""

    number: float
    """The number of rows, at least 1."""
    left: Fraction
    measured: tuple[Measurement, ...]
    """The measurement of the total, to be used again in least squares; empty if the total is public."""


@dataclass(frozen=True, kw_only=True)
class CountsRows(Plan):
    """A plan that needs the number of rows."""

    buys_total = True

    total_share: Share = Fraction(1, 50)
    """The share of the budget for the total, if it is not public."""

    def count_rows(self, x: VectorSource, epsilon: Fraction) -> Rows:
        """The public number of rows, or the noisy one measured before, or else a new one for its share of *epsilon*."""
        if self.total is not None:
            return Rows(max(1.0, float(self.total)), epsilon, ())
        if self.rows is not None:
            here = self.rows.queries.domain == x.shape  # if cells were merged, only the number itself can be used
            return Rows(max(1.0, float(self.rows.value)), epsilon, (self.rows,) if here else ())
        total = x.measure(Total(x.shape), self.total_share * epsilon)
        return Rows(max(1.0, float(total.value)), (1 - self.total_share) * epsilon, (total,))


@lru_cache(maxsize=16)
def _merging(alike: Callable[[Queries], Partition], workload: Queries) -> Merging:
    """Cached for all plans that merge in the same way. Axes are kept if the plan needs no order of the groups."""
    groups = alike(workload)
    return Merging.keeping_axes(workload, groups) if alike is Plan.alike else Merging.of(workload, groups)


@dataclass(frozen=True, eq=False)
class Merging:
    """The groups of cells that replace the cells for a plan, and the workload on the groups.

    The run, the expected error and the simulated noise all use this value.
    """

    groups: Partition | None
    """None if no cells are merged."""
    workload: Queries
    """The workload on the groups."""

    @classmethod
    def of(cls, workload: Queries, groups: Partition) -> Merging:
        """The cells of each group become one; if all groups are single cells, nothing changes."""
        if groups.groups == groups.cells:
            return cls(None, workload)
        return cls(groups, reduce_workload(workload, groups))

    @classmethod
    def by_axis(cls, workload: Queries) -> Merging:
        """Merge values of each attribute, so that axes stay axes and stripes stay stripes."""
        by_axis = groups_by_axis(workload)
        groups = product_partition(by_axis)
        return cls(None if groups.groups == groups.cells else groups, reduce_by_axis(workload, by_axis))

    @classmethod
    def keeping_axes(cls, workload: Queries, groups: Partition) -> Merging:
        """Merge by axis if that gives as few groups as the given ones; otherwise use the given groups."""
        if len(workload.domain) > 1 and groups.groups < groups.cells:
            merged = cls.by_axis(workload)
            if merged.groups is not None and merged.groups.groups == groups.groups:
                return merged
        return cls.of(workload, groups)

    def source(self, x: VectorSource) -> VectorSource:
        """The private vector of the groups."""
        return x if self.groups is None else x.reduce(self.groups)

    def counts(self, cells: npt.ArrayLike) -> Array:
        """The public counts of the groups, flat."""
        flat = np.asarray(cells).reshape(-1)
        return flat if self.groups is None else Reduction(self.groups) @ flat

    def lift(self, estimate: Reals) -> Reals:
        """An estimate of the groups as one of the cells, flat: each group is spread evenly."""
        return estimate if self.groups is None else lift(estimate, self.groups)

    def on_groups(self, queries: Queries) -> Queries | None:
        """Any queries about cells as queries about the groups; None if they distinguish merged cells."""
        if self.groups is None:
            return queries
        return None if tells_apart(queries, self.groups) else reduce_workload(queries, self.groups)


@lru_cache(maxsize=16)
def _by_axes(workload: Queries) -> bool:
    """Whether the workload consists of marginals, or of products with short axes."""
    parts = product_parts(workload) if len(workload.domain) > 1 else None
    return isinstance(workload, Marginals) or (
        parts is not None and all(factor.cells <= _MOST_SEARCHED >> 1 for part in parts for factor in part.factors)
    )


def check_cells(plan: Plan, workload: Queries) -> None:
    """Raise an error for domains that are too large for the plan."""
    if workload.cells > plan.most_cells:
        others = "" if plan.most_cells == MOST_PLAIN_CELLS else ', or name an algorithm such as "identity" or "hb"'
        raise BadInput(
            f"{plan.name} takes up to {plan.most_cells:,} cells, given {workload.cells:,}. Choose fewer attributes, "
            f"declare fewer levels or bins{others}."
        )


@lru_cache(maxsize=16)
def _asks(workload: Queries) -> bool:
    return bool(workload._whole_form().column_sums().any())


def _coefficients(workload: Queries) -> int:
    """How many coefficients are written out: none for query sets with a faster way."""
    match workload:
        case Identity() | Total() | Prefix() | AllRange() | Ranges():
            return 0
        case Stack():
            return sum(map(_coefficients, workload.parts))
        case _:
            return workload.count * workload.cells


ErrorKind: TypeAlias = Literal["exact", "estimate", "upper mark", "noise only", "modelled", "upper limit", "resampled"]
MEANINGS: dict[ErrorKind, str] = {
    "exact": "exact",
    "estimate": "up to a small error of estimation",
    "upper mark": "about this or less",
    "noise only": "noise only; a bias that depends on the data is added",
    "modelled": "noise, and an estimate of the bias",
    "upper limit": "for what was not measured, the upper 90% limit of the look at all pairs",
    "resampled": "from what was published",
}
"""What the kinds of :class:`ExpectedError` mean, in plain words."""


@dataclass(frozen=True)
class ExpectedError:
    """The expected error, before anything is spent: the square root of E‖W·x̂ − W·x‖².

    ``kind`` says what the figure is: ``exact``; an ``estimate`` (by random probes, or for the least budget that a
    private choice leaves); an ``upper mark``, the error of least squares alone, if post-processing follows that should
    reduce it by an amount that depends on the data (it can also increase it, on workloads that it is not made for); or
    ``noise only`` if the measurements do not determine all answers: then there is also a bias, which depends on the
    data. For a release, it can also be ``resampled`` from the estimate, ``modelled``: the noise, and an estimate of
    the bias; or an ``upper limit``: the noise, and what a noisy look at the data leaves for the bias, at 90%.
    """

    total: float
    queries: int
    kind: ErrorKind
    runs: int | None = None
    """The number of simulated runs behind a resampled figure, if it is smaller than planned."""

    @property
    def per_query(self) -> float:
        """The root mean square error of one answer."""
        return self.total / math.sqrt(self.queries)

    def __float__(self) -> float:
        return self.total

    def __str__(self) -> str:
        return f"{self.total:.4g} in all, {self.per_query:.4g} a query ({MEANINGS[self.kind]})"
