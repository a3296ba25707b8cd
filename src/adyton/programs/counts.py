"""Counts: of rows by their cells or of units by their rows, estimated by one plan over the whole domain; and single
numbers: of all rows, of all units, and of the rows that the limit on rows per unit leaves out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.marginals.program import NAMED
from adyton.messages import listing
from adyton.noise.simulated import discrete_laplace_radius, discrete_laplace_variance
from adyton.plans.algorithm import MOST_PLAIN_CELLS, check_reach
from adyton.plans.base import ExpectedError, Outcome, Plan
from adyton.plans.registry import plan_named, plan_type
from adyton.programs.base import FAR, Answer, Outlook, Program, least_known
from adyton.queries import Queries
from adyton.result.intervals import radius
from adyton.result.known import Adjustment, KnownNoise
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.result.noise_model import NoiseModel
from adyton.result.number import Number, RowsCut, measured_cut_off, unit_sizes
from adyton.result.receipt import RowsCounted
from adyton.result.release import Release
from adyton.schema import Schema
from adyton.schema.cell_groups import changes
from adyton.tasks import Task
from adyton.tasks.counts import RowsLeftOut
from adyton.tasks.known import KnownTotals
from adyton.tasks.request import AUTO, Request

_CHOOSER = "pythia"
_WHOLE = 20.0
"""Below this half-width it matters that noise consists of whole numbers."""
_MOST_ANSWERS, _MOST_COEFFICIENTS = 1 << 22, 1 << 24
"""Up to how many answers are looked at for a target, and up to how many coefficients."""
_KEPT_WHEN_CHOSEN = ("nonnegative", "reduce", "total")


@dataclass(frozen=True, eq=False)
class Counts(Program):
    """A plan over the cells of all attributes that the task is about."""

    result = Release

    request: Request
    schema: Schema
    workload: Queries
    plan: Plan
    kept: Mapping[str, Any]
    """The options that the algorithm that finally runs has."""

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Counts:
        """The program for a table with this schema."""
        task, algorithm = request.task, request.algorithm
        if algorithm in NAMED:
            raise BadInput(f"{algorithm} is for tables: --marginals 2 (ad.Marginals(way=2)). This is {task}.")
        if task.per_unit and request.misfits:
            raise BadInput("rows that do not match the schema are not counted where units are. Leave misfits out.")
        selected = task.select(schema)
        check_held(task, selected)
        workload = task.workload(selected)
        plan, kept = plan_of(task, selected, algorithm, request.options)
        return cls(request, selected, workload, plan, kept)

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """The attributes; None for units, whose rows are counted whatever their values are."""
        return None if self.request.task.per_unit else self.schema.names

    @property
    def lines(self) -> int:
        """One line for each cell."""
        return self.schema.cells

    def source(self, table: TableSource) -> VectorSource:
        """The counts of all cells."""
        if self.request.task.per_unit:
            (name,) = self.schema.names
            return table.units(name, most=self.schema.cells).vectorize()
        return table.select(list(self.schema.names)).coarsen(self.schema).vectorize()

    def check(self, source: VectorSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Run the checks of the plan."""
        return partial(self._answer, self.plan.prepared(source, self.workload, epsilon))

    def known_totals(self) -> KnownTotals | None:
        """Checked against the cells. A warning says so if not all rows of a unit are counted."""
        known = self.request.known
        if known is None:
            return None
        if self.schema.unit is not None and not self.request.task.per_unit:
            limit = RowsCounted.of(self.schema.unit, self.schema.rows_per_unit).short
            warnings.warn(f"known totals must count the same rows as the release: {limit}.", stacklevel=2)
        return known.checked(self.schema)

    def _answer(self, run: Callable[[], Outcome]) -> Answer:
        outcome = run()
        own = {"schema": self.schema, "estimate": outcome.estimate, "choice": outcome.choice}
        own["measured"] = outcome.measured
        return Answer(outcome.algorithm, own, options=self.kept)

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> CountsOutlook:
        """The outlook, from the closed forms of the plans that could run."""
        self.plan.check(self.workload)
        plans, share = self.plan.candidates(self.workload), self.plan.choice_share(self.workload)
        known = None if self.request.known is None else self.request.known.checked(self.schema)
        how = self.plan.chooses, share, misfits
        return CountsOutlook(self.request.task, self.schema, self.workload, plans, *how, known=known)


def plan_of(task: Task, schema: Schema, algorithm: str, options: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """The plan to run for a task, and the options that the algorithm that finally runs will have.

    The schema is that of the attributes that the task is about: whether one of them has an order is public.
    """
    name = _CHOOSER if algorithm == AUTO else algorithm
    if not plan_type(name).chooses:
        if "rows" in options:
            raise BadInput("rows is for plans that run inside other plans. Leave it out, or give a public total.")
        return plan_named(name, **options), dict(options)
    allowed = ("selector", "share", *_KEPT_WHEN_CHOSEN)
    for option in options:
        if option not in allowed:
            raise BadInput(
                f"a choice has the options {listing(allowed)}, not {option!r}. Name an algorithm to set its options."
            )
    options = {"reduce": True, **options} if task.merges else options
    ordered = any(attribute.ordered for attribute in schema.attributes.values())
    kept = {option: options[option] for option in _KEPT_WHEN_CHOSEN if option in options}
    return plan_named(name, **options, ordered=ordered), kept


def check_held(task: Task, schema: Schema) -> None:
    """Refuse a domain that does not fit into memory, before anything of its size is made; say what would work."""
    if schema.cells > MOST_PLAIN_CELLS:
        some = ", ".join(f'"{name}"' for name in schema.names[:2])
        raise BadInput(
            f"{task}: {in_words(schema.cells)} cells; at most {MOST_PLAIN_CELLS:,} are allowed where each is counted. "
            "Name fewer attributes, or ask for tables of two attributes each, measured one by one: --marginals 2 "
            f"(in Python ad.Marginals(way=2, attrs=[{some}, …])). Synthetic rows from those have all attributes."
        )


def in_words(cells: int) -> str:
    """A number of cells in digits, or in scientific notation if it is huge."""
    return f"{cells:,}" if cells < 10**15 else f"{float(min(cells, 10**300)):.1e}"


@dataclass(frozen=True, eq=False)
class CountsOutlook(Outlook):
    """What can be known of counts beforehand."""

    task: Task
    schema: Schema
    """The schema of the attributes that the task is about."""
    workload: Queries
    plans: Mapping[str, Plan]
    """The algorithms that could run, as they would be run."""
    chooses: bool = False
    choosing: Fraction = Fraction(0)
    """The part of the budget that choosing among them may cost."""
    misfits: MisfitShare = NO_SHARE
    known: KnownTotals | None = None
    """The known totals that the counts will be adjusted to."""
    _known_ratios: dict[str, float] = field(default_factory=dict)
    advice = "Name an algorithm that has one, such as identity, or compare algorithms on public data."

    @property
    def cells(self) -> int:
        """The number of cells that are estimated."""
        return self.schema.cells

    @property
    def queries(self) -> int:
        """The number of queries that the task asks."""
        return self.workload.count

    def notes(self, schema: Schema, epsilon: Fraction) -> tuple[str, ...]:
        """The attributes that are made coarser, and the known totals."""
        words = [] if self.task.per_unit else changes(schema.select(self.schema.names), self.schema)
        return (*((f"{'; '.join(words)}.",) if words else ()), *self._about_totals)

    def remarks(self, schema: Schema, budgets: Sequence[Fraction]) -> tuple[str, ...]:
        """The same, with the known totals."""
        return (*super().remarks(schema, budgets), *self._about_totals)

    @property
    def _about_totals(self) -> tuple[str, ...]:
        return () if self.known is None else (f"Known totals, which ε does not cover: {self.known}.",)

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The expected error of each algorithm where it has a closed form that is computed quickly; else None.

        Where an algorithm is chosen first, it is the error with the smallest budget that the choice may leave. With
        known totals, it is that of the adjusted counts if it is the same on all data, otherwise that before.
        """
        errors, row_epsilon = dict[str, ExpectedError | None].fromkeys(self.plans), self._row_epsilon(epsilon)
        for name, plan in self.plans.items():
            if len(self.plans) == 1 or plan.predicts_soon(plan.merging(self.workload).workload):
                try:
                    error = plan.expected_error(self.workload, row_epsilon)
                except BadInput:
                    continue  # it depends on the data
                adjusted = self._adjusted(plan, row_epsilon)
                error = error if adjusted is None else adjusted.expected_error() or error
                errors[name] = replace(error, kind="estimate") if self.choosing and error.kind == "exact" else error
        return errors

    def _adjusted(self, plan: Plan, row_epsilon: Fraction) -> KnownNoise | None:
        """How counts that are adjusted to the known totals scatter; None without such, or if it depends on the data."""
        if self.known is None:
            return None
        model = NoiseModel(plan, self.workload, row_epsilon, np.zeros(self.schema.shape))
        if model.cell_covariances(self.known.queries(self.schema)) is None:
            return None
        return KnownNoise.adjusting(model, self.known, self.schema, Adjustment.of(model, self.known, self.schema))

    def _row_epsilon(self, epsilon: Fraction) -> Fraction:
        """The budget per row of the algorithm that finally runs, at least."""
        return self.share(epsilon) / self.schema.rows_per_unit * (1 - self.choosing)

    def half_width(self, epsilon: Fraction) -> float:
        """The largest half-width of a 95% interval: from the moments of the noise where they are known, otherwise from
        the largest variance."""
        best = least_known(self.errors(epsilon))
        if best is None:
            return self.error_at(epsilon)  # refuses
        plan, moments, row_epsilon = self.plans[best[0]], None, self._row_epsilon(epsilon)
        adjusted = self._adjusted(plan, row_epsilon)
        if self.queries <= _MOST_ANSWERS:
            asked = self.workload
            moments = plan.moments(asked, row_epsilon, asked) if adjusted is None else adjusted.moments(asked)
        if moments is not None:
            return float(radius(moments, 0.95).max())
        if adjusted is not None and self.queries * self.cells <= _MOST_COEFFICIENTS:
            return FAR * float(np.sqrt(adjusted.variances(self.workload).max()))
        far = best[1].per_query * self._widest(plan)
        return max(far, math.ceil(far - 0.5)) if far < _WHOLE else far

    def _widest(self, plan: Plan) -> float:
        """The largest half-width relative to the typical error."""
        if plan.name not in self._known_ratios:
            if self.queries * self.cells > _MOST_COEFFICIENTS:
                raise BadInput(
                    f"the intervals of {self.queries:,} answers from {self.cells:,} cells are not known beforehand. "
                    "Give a typical error, such as 10, or ask for fewer answers."
                )
            variances = plan.variances(self.workload, Fraction(1, 10), self.workload)
            self._known_ratios[plan.name] = FAR * float(np.sqrt(variances.max() / variances.mean()))
        return self._known_ratios[plan.name]

    def even_share(self, rows: int) -> float | None:
        """The mean answer if the rows are spread evenly; None for units, and for too many answers."""
        if self.task.per_unit or self.queries > _MOST_ANSWERS:
            return None
        return rows * float(np.mean(self.workload @ np.full(self.cells, 1 / self.cells)))


# ---- single numbers -------------------------------------------------------------------------------------------------


LAPLACE = "laplace"
"""The name of the noise of a single number."""


@dataclass(frozen=True, eq=False)
class Single(Program):
    """A noisy number of rows, or of units that have rows."""

    noun = "a count"
    result = Number

    request: Request
    schema: Schema
    rows_per_unit: int
    """The number of rows of a unit that are protected together."""

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Self:
        """Refuse an algorithm, options and misfits: there is nothing to choose."""
        named = request.algorithm not in (AUTO, LAPLACE)
        others = {"algorithm": named, "options": bool(request.options), "misfits": bool(request.misfits)}
        if any(others.values()):
            words = ", ".join(name for name, given in others.items() if given)
            raise BadInput(f"not for {cls.noun}: {words}. Leave that out.")
        selected = request.task.select(schema)
        return cls(request, selected, selected.rows_per_unit)

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """None: no attribute is read, except by a predicate."""
        return None

    def source(self, table: TableSource) -> TableSource:
        """The rows; or one row for each unit."""
        return table.units(most=1) if self.request.task.per_unit else table

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Nothing can fail: every table has a count."""

        def run() -> Answer:
            return Answer(
                LAPLACE, {"schema": self.schema, "value": source.count(epsilon).value, "row_epsilon": epsilon}
            )

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> SingleOutlook:
        """The noise is known."""
        return SingleOutlook(self.rows_per_unit, of_rows=not self.request.task.per_unit)


@dataclass(frozen=True, eq=False)
class SingleOutlook(Outlook):
    """What can be known of single numbers beforehand: the distribution of their noise."""

    reach: int
    """How much a unit can change the number, divided by the number's share of the budget."""
    size: str = "one number"
    of_rows: bool = False
    """Whether it is the number of all rows."""
    misfits: MisfitShare = NO_SHARE
    chooses = False

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The standard deviation of the noise."""
        variance = discrete_laplace_variance([self.reach / epsilon])
        return {LAPLACE: ExpectedError(float(variance[0]) ** 0.5, 1, "exact")}

    @property
    def queries(self) -> int:
        """One."""
        return 1

    def half_width(self, epsilon: Fraction) -> float:
        """From the law of the noise."""
        return discrete_laplace_radius(self.reach / epsilon, 0.95)

    def even_share(self, rows: int) -> float | None:
        """All rows, where they are what is counted."""
        return float(rows) if self.of_rows else None


@dataclass(frozen=True, eq=False)
class LeftOut(Single):
    """Units with more rows than the limit, and their rows beyond it up to a public number."""

    result = RowsCut  # type: ignore[assignment]

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Self:
        """The program for the limit on rows in the schema of the table."""
        if request.where is not None:
            raise BadInput("rows beyond the limit are counted for the whole table. Leave where out.")
        return replace(super().of(request, schema), rows_per_unit=schema.rows_per_unit)

    def source(self, table: TableSource) -> VectorSource:  # type: ignore[override]
        """The number of units with 1, 2, … rows."""
        task = self.request.task
        assert isinstance(task, RowsLeftOut)
        return unit_sizes(table, task.most)

    def check(self, source: VectorSource, epsilon: Fraction) -> Callable[[], Answer]:  # type: ignore[override]
        """Check one measurement of two numbers."""
        check_reach(epsilon)
        source.kernel.afford(source, epsilon)

        def run() -> Answer:
            cut_off = measured_cut_off(source, self.rows_per_unit, epsilon)
            return Answer(LAPLACE, {"schema": self.schema, "cut_off": cut_off})

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> SingleOutlook:
        """The noise of the rows: each unit counts up to a number of them, for half of the budget."""
        task = self.request.task
        assert isinstance(task, RowsLeftOut)
        return SingleOutlook(2 * max(1, task.most - self.rows_per_unit), "two numbers")
