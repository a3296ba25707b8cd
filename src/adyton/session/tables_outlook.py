"""The outlook before spending where tables are measured one by one: public, and without a look at the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.mechanisms import MeasureTables
from adyton.marginals.deciding import LEAST_REST
from adyton.marginals.registry import AUTO, program_named
from adyton.marginals.table_errors import least_squares_error
from adyton.marginals.wanted import Wanted
from adyton.plans.expected_error import ExpectedError
from adyton.schema import Schema
from adyton.session.least_epsilon import least_epsilon
from adyton.session.outlook import Outlook
from adyton.session.releasing_tables import measures_tables, wanted_of
from adyton.solving.residuals import part_variances
from adyton.tasks import Marginals, Task, as_task


@dataclass(frozen=True, eq=False)
class TablesOutlook:
    """What can be known of a release of many tables beforehand."""

    task: Marginals
    wanted: Wanted
    names: tuple[str, ...]
    """The programs that could run."""
    chooses: bool
    misfits: Fraction = Fraction(0)

    @property
    def schema(self) -> Schema:
        """Of the attributes that the task is about."""
        return self.wanted.schema

    @property
    def cells(self) -> int:
        """How many cells all tables have: the whole domain is never looked at."""
        return self.wanted.cells

    @property
    def queries(self) -> int:
        """One for each of them."""
        return self.wanted.cells

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """Of measuring all pairs, in closed form; what choosing some does better depends on the data."""
        every, found = "all-pairs", dict[str, ExpectedError | None].fromkeys(self.names)
        if every in found:
            row_epsilon = epsilon * (1 - self.misfits) / self.schema.rows_per_unit * (LEAST_REST if self.chooses else 1)
            shares = self.wanted.shares()
            variances = MeasureTables(tuple(range(len(shares))), tuple(shares.values())).variances(row_epsilon)
            squares = part_variances(self.wanted.sides, zip(shares, variances.tolist(), strict=True))
            found[every] = least_squares_error(squares, self.wanted)
        return found

    def epsilon_for(self, error: Rational) -> Fraction:
        """The least ε, to four digits, with which least squares on all pairs has at most this error of an answer."""
        target = float(positive(error, "error", computed=True))
        if "all-pairs" not in self.names:
            raise BadInput("the error of select-pairs depends on the data and has no closed form. Name all-pairs.")

        def error_at(epsilon: Fraction) -> float:
            found = self.errors(epsilon)["all-pairs"]
            assert found is not None
            return found.per_query

        return least_epsilon(error_at, target, error)


def outlook_of(
    task: Task, schema: Schema, algorithm: str, options: Mapping[str, Any], misfits: Fraction = Fraction(0)
) -> Outlook | TablesOutlook:
    """For a task on a table with this schema, by whichever way it would be released."""
    asked = as_task(task)
    if not measures_tables(asked, schema, algorithm):
        return Outlook.of(asked, schema, algorithm, options, misfits)
    wanted = wanted_of(asked, schema)
    program_named(algorithm, **options)
    names = ("all-pairs", "select-pairs") if algorithm == AUTO and wanted.pairs else (algorithm,)
    names = ("all-pairs",) if names == (AUTO,) else names
    return TablesOutlook(asked, wanted, names, len(names) > 1, misfits)
