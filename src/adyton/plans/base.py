"""An algorithm: whatever can be run on a source. A plan: one that estimates the counts of all cells, as a short program
of operators, with what it serves and what error to expect.

Plans, programs for many tables, programs for numbers and learners differ in what they are asked for and in what comes
out, not in how they are admitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.operators import check_depth
from adyton.kernel.sources import Source, VectorSource
from adyton.messages import shorten
from adyton.partitions import workload_partition
from adyton.plans.expected_error import ExpectedError
from adyton.plans.limits import (
    MOST_CELLS,
    STEPS_INSIDE,
    Effort,
    check_cells,
    check_coefficients,
    check_reach,
    check_reading,
    soon,
)
from adyton.plans.merging import Merging
from adyton.plans.options import Within, read_options, whole_number
from adyton.queries import Measurement, Partition, Queries, Total
from adyton.solving.noise_moments import Moments
from adyton.solving.projections import project_to_simplex, project_to_total
from adyton.whole import SAFE

if TYPE_CHECKING:
    from adyton.selection.choice import Choice

Estimate: TypeAlias = Reals
"""An estimated count for every cell. The last axes are the domain; an axis in front counts simulated trials."""


Input = TypeVar("Input", bound=Source)
Question = TypeVar("Question")


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC, Generic[Input, Question]):
    """A frozen value: its fields are the options. What it does, :meth:`check_run` returns.

    It cannot tell whether a source is private, with exact noise, or public, with simulated noise: one text serves for
    both. *epsilon* is for one row, as everywhere below a session; a source of stability s is charged s times as much.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(self)  # a subclass that checks more does so after this

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """What can be said of it: of what a choice was told, the algorithm that it decides for may know only a part."""
        return tuple(option.name for option in fields(cls))

    def prepared(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Make sure that it can be run to its end with this budget: else nothing is spent.

        Returns what runs then, and again in a replay: it does not look at what is left of a budget.
        """
        check_reach(epsilon)
        self.check_asked(source, asked)
        source.kernel.afford(source, epsilon)
        check_depth(source.lineage, STEPS_INSIDE)
        return self.check_run(source, asked, epsilon)

    def admit(self, source: Input, asked: Question, epsilon: Fraction, /) -> None:
        """Make sure that it can be run to its end with this budget: else nothing is spent."""
        self.prepared(source, asked, epsilon)

    def admitted(self, source: Input, asked: Question, epsilon: Rational, /) -> Fraction:
        """The budget as an exact number, once it was admitted."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, asked, amount)
        return amount

    @abstractmethod
    def check_asked(self, source: Input, asked: Question, /) -> None:
        """Refuse what does not fit the source, or is not served, whatever the budget."""

    @abstractmethod
    def check_run(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Refuse what could not be carried out to its end. Sources may be derived for it, and nothing is measured.

        Returns what runs then.
        """


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
        if self.dimensions is None:
            return "any number of"
        if len(self.dimensions) > 2:
            return f"{self.dimensions[0]} or more"
        return " or ".join(str(number) for number in self.dimensions)


class Outcome(NamedTuple):
    """What came out of a run."""

    algorithm: str
    """What was run in the end."""
    estimate: Estimate
    choice: Choice | None = None
    """How it was chosen, if it was."""


def _noisy_total(given: object, name: str) -> Measurement:
    if not (isinstance(given, Measurement) and isinstance(given.queries, Total) and given.answers.size == 1):
        raise BadInput(f"{name} must be a measurement of the total, given {shorten(given)}.")
    return given


@dataclass(frozen=True, kw_only=True)
class Plan(Algorithm[VectorSource, Queries]):
    """An algorithm that estimates the counts of all cells: :meth:`run` is its text, a short program of operators."""

    serves: ClassVar[Tasks]
    simulates_many: ClassVar[bool] = True
    """Whether :meth:`run` works on many simulated trials at once; if not, they run one after the other."""
    minds_workload: ClassVar[bool] = True
    """Whether :meth:`run` depends on the workload. If not, one run serves to measure the error on many of them."""
    most_cells: ClassVar[int] = MOST_CELLS
    """How many cells a domain can have, after those were merged that are merged."""
    effort: ClassVar[Effort] = "usual"
    """What it takes to find what is measured, and its error."""
    buys_total: ClassVar[bool] = False
    """Whether a noisy number of rows is bought, unless there is one already."""
    chooses: ClassVar[bool] = False
    """Whether another plan is chosen, and run."""
    variant: ClassVar[bool] = False
    """Whether it is there to be compared with another plan, and no selector is trained to choose it unless asked to."""

    nonnegative: bool = False
    """Make the estimate non-negative, keeping its total."""
    total: Annotated[int, Within(whole_number, 0, SAFE)] | None = None
    """The number of rows, where it is public: the estimate then adds up to it."""
    rows: Annotated[Measurement, _noisy_total] | None = None
    """A noisy number of rows that was bought before: a plan that needs one does not buy it again."""
    reduce: bool = False
    """Merge the cells that the workload cannot tell apart, and answer on the groups."""

    def estimate(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Estimate:
        """Run on a source, spending *epsilon*, and return the estimate in the shape of the domain."""
        return self.carry_out(x, workload, self.admitted(x, workload, epsilon)).estimate

    def check_asked(self, x: VectorSource, workload: Queries) -> None:
        """A workload that the plan serves, about the cells of this vector."""
        self.check(workload)
        if workload.domain != x.shape:
            raise BadInput(f"the workload asks about a domain of shape {workload.domain}, the vector has {x.shape}.")
        if self.rows is not None and self.rows.queries.domain != x.shape:
            raise BadInput(f"rows counts a domain of shape {self.rows.queries.domain}, the vector has {x.shape}.")

    def check_run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Callable[[], Outcome]:
        """No more to do on the merged cells than can be done."""
        self.check_size(self.merging(workload).workload, epsilon)
        return partial(self.carry_out, x, workload, epsilon)

    def carry_out(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Outcome:
        """Run what was admitted."""
        merging = self.merging(workload)
        return Outcome(self.name, self.finish(self.run(merging.source(x), merging.workload, epsilon), workload))

    def finish(self, cells: Reals, workload: Queries) -> Estimate:
        """From the merged cells, flat, to the estimate that was asked for, in the shape of the domain."""
        cells = self.merging(workload).lift(cells)
        if self.total is not None:
            cells = project_to_total(cells, float(self.total))
        if self.nonnegative:
            cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
        return cells.reshape(*cells.shape[:-1], *workload.domain)

    def candidates(self, workload: Queries) -> dict[str, Plan]:
        """What could run, by name: the plan itself, unless it chooses."""
        return {self.name: self}

    def choice_share(self, workload: Queries) -> Fraction:
        """The part of the budget that a choice may cost."""
        return Fraction(0)

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
        """Refuse what the plan does not serve."""
        if not isinstance(workload, Queries):
            raise BadInput(f"a workload is a query set such as ad.workloads.Prefix(n), given {shorten(workload)}.")
        check_coefficients(workload)
        ndim = len(workload.domain)
        if not self.serves.serves(ndim):
            raise BadInput(
                f"{self.name} serves {self.serves} dimensions, the domain {workload.domain} has {ndim}. "
                "Leave the algorithm to auto, or name one that serves any number of them, such as identity or hb."
            )

    def predicts_soon(self, workload: Queries) -> bool:
        """Whether the expected error on merged cells, where it has a closed form, can be computed in a short time."""
        return soon(self.effort, workload)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """The error to expect on a workload; for biased plans exactly so only on public data *x*."""
        raise BadInput(f"the error of {self.name} depends on the data and has no closed form. Simulate it.")

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether the noise in the answers to *queries* has one law on all data, if the plan runs for *workload*."""
        return False

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """How the noise in the answers to *queries* is spread, where it has one law on all data and a closed form."""
        return None

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """Those of the answers to *queries*, where their noise has one law on all data."""
        raise BadInput(f"the error of {self.name} depends on the data and has no closed form. Simulate it.")

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Whether the answers to *queries* could follow from what is measured for *workload*: not those that tell
        merged cells apart."""
        return self.merging(workload).on_groups(queries) is not None

    @property
    def linear(self) -> bool:
        """Whether the estimate is left as it is found. A public total is linear too, but it could be wrong."""
        return not self.nonnegative and self.total is None


@lru_cache(maxsize=16)
def _merging(alike: Callable[[Queries], Partition], workload: Queries) -> Merging:
    """Once for all plans that merge in the same way. Axes are kept where no order of the groups is asked for."""
    groups = alike(workload)
    return Merging.keeping_axes(workload, groups) if alike is Plan.alike else Merging.of(workload, groups)
