"""Single numbers: how many rows there are, how many units, and what the limit on the rows of a unit leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.noise.probabilities import discrete_laplace_variance
from adyton.plans.algorithm import check_reach
from adyton.plans.base import ExpectedError
from adyton.programs.base import Answer, Outlook, Program
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.result.number import Number, RowsCut, measured_cut_off, unit_sizes
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.tasks.request import AUTO, Request
from adyton.tasks.units import RowsLeftOut

LAPLACE = "laplace"
"""What the noise of a single number is called."""


@dataclass(frozen=True, eq=False)
class Single(Program):
    """A noisy number of rows, or of units that have some."""

    noun = "a count"
    results: ClassVar[Mapping[str, type[Result]]] = {"number": Number}
    result = Number

    request: Request
    schema: Schema
    rows_per_unit: int
    """How often the noise of one row is charged."""

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Single:
        """Nothing can be chosen."""
        named = request.algorithm not in (AUTO, LAPLACE)
        others = {"algorithm": named, "options": bool(request.options), "misfits": bool(request.misfits)}
        if any(others.values()):
            words = ", ".join(name for name, given in others.items() if given)
            raise BadInput(f"not for {cls.noun}: {words}. Leave that out.")
        selected = request.task.select(schema)
        return cls(request, selected, selected.rows_per_unit)

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """None: nothing is read but what a predicate looks at."""
        return None

    def source(self, table: TableSource) -> TableSource:
        """The rows; or one for each unit."""
        return table.units(most=1) if self.request.task.per_unit else table

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Every table has a count."""

        def run() -> Answer:
            return Answer(
                LAPLACE, {"schema": self.schema, "value": source.count(epsilon).value, "row_epsilon": epsilon}
            )

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> SingleOutlook:
        """The noise is known."""
        return SingleOutlook(self.rows_per_unit)


@dataclass(frozen=True, eq=False)
class SingleOutlook(Outlook):
    """What can be known of a single number beforehand: all of its noise."""

    rows_per_unit: int
    misfits: MisfitShare = NO_SHARE
    chooses = False
    size = "one number"

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The standard deviation of the noise."""
        variance = discrete_laplace_variance([self.rows_per_unit / epsilon])
        return {LAPLACE: ExpectedError(float(variance[0]) ** 0.5, 1, "exact")}

    def error_at(self, epsilon: Fraction) -> float:
        """The same."""
        found = self.errors(epsilon)[LAPLACE]
        assert found is not None
        return found.total


@dataclass(frozen=True, eq=False)
class LeftOut(Single):
    """Units with more rows than the limit, and their rows beyond it up to a public number."""

    results: ClassVar[Mapping[str, type[Result]]] = {"rows cut": RowsCut}
    result = RowsCut  # type: ignore[assignment]

    @classmethod
    def of(cls, request: Request, schema: Schema) -> LeftOut:
        """Of the limit that is in force."""
        if request.where is not None:
            raise BadInput("what the limit leaves out is counted for the whole table. Leave where out.")
        found = super().of(request, schema)
        return cls(found.request, found.schema, schema.rows_per_unit)

    def source(self, table: TableSource) -> VectorSource:  # type: ignore[override]
        """The number of units with 1, 2, … rows."""
        task = self.request.task
        assert isinstance(task, RowsLeftOut)
        return unit_sizes(table, task.most)

    def check(self, source: VectorSource, epsilon: Fraction) -> Callable[[], Answer]:  # type: ignore[override]
        """One measurement of two numbers."""
        check_reach(epsilon)
        source.kernel.afford(source, epsilon)

        def run() -> Answer:
            found = measured_cut_off(source, self.rows_per_unit, epsilon)
            return Answer(LAPLACE, {"schema": self.schema, "cut_off": found})

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> LeftOutOutlook:
        """Half of the budget goes to each of two numbers."""
        task = self.request.task
        assert isinstance(task, RowsLeftOut)
        return LeftOutOutlook(task.most - self.rows_per_unit)


@dataclass(frozen=True, eq=False)
class LeftOutOutlook(SingleOutlook):
    """The noise of the rows: each counts up to so many of a unit, for half of the budget."""

    size = "two numbers"

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The standard deviation of the noise of the rows."""
        variance = discrete_laplace_variance([2 * max(1, self.rows_per_unit) / epsilon])
        return {LAPLACE: ExpectedError(float(variance[0]) ** 0.5, 1, "exact")}
