"""The outlook before spending where tables are measured one by one: public, and without a look at the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.mechanisms import MeasureTables
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.all_tables import AllTables, direct_shares
from adyton.marginals.deciding import LEAST_REST
from adyton.marginals.registry import AUTO, program_named
from adyton.marginals.table_errors import least_squares_error
from adyton.marginals.wanted import Wanted
from adyton.plans.expected_error import ExpectedError
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.schema import Schema
from adyton.schema.coarsening import changes
from adyton.session.least_epsilon import least_epsilon
from adyton.session.outlook import Outlook
from adyton.session.preview import promised
from adyton.session.releasing_tables import in_words, measures_tables, wanted_of
from adyton.solving.residuals import part_variances
from adyton.tasks import Marginals, Task, as_task

_LINEAR = {AllPairs.name, AllTables.name}
"""Programs whose error is known beforehand."""


@dataclass(frozen=True, eq=False)
class TablesOutlook:
    """What can be known of a release of many tables beforehand."""

    task: Marginals
    wanted: Wanted
    names: tuple[str, ...]
    """The programs that could run."""
    chooses: bool
    misfits: MisfitShare = NO_SHARE

    @property
    def schema(self) -> Schema:
        """Of the attributes that the task is about."""
        return self.wanted.schema

    def notes(self, schema: Schema) -> tuple[str, ...]:
        """That tables are measured one by one, and what is made coarser, given the schema of the whole table."""
        domain = in_words(self.schema.cells)
        way = f"Tables are measured one by one, never the domain of {domain} cells: {len(self.wanted.groups):,} tables "
        way += f"of {len(self.schema.names)} attributes, from at most {len(self.wanted.pairs):,} measured pairs."
        words = changes(schema.select(self.schema.names), self.schema)
        return (way, f"{'; '.join(words)}.") if words else (way,)

    @property
    def cells(self) -> int:
        """How many cells all tables have: the whole domain is never looked at."""
        return self.wanted.cells

    @property
    def queries(self) -> int:
        """One for each of them, if nothing else is said."""
        return self.wanted.queries

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """Of measuring all pairs, or all tables, in closed form; what choosing some does better depends on the data."""
        found = dict[str, ExpectedError | None].fromkeys(self.names)
        row_epsilon = (
            epsilon * (1 - self.misfits.of(epsilon)) / self.schema.rows_per_unit * (LEAST_REST if self.chooses else 1)
        )
        for name in _LINEAR & found.keys():
            shares = self.wanted.shares() if name == AllPairs.name else direct_shares(self.wanted)
            variances = MeasureTables(tuple(range(len(shares))), tuple(shares.values())).variances(row_epsilon)
            squares = part_variances(self.wanted.sides, zip(shares, variances.tolist(), strict=True))
            found[name] = least_squares_error(squares, self.wanted)
        return found

    def epsilon_for(self, error: Rational) -> Fraction:
        """The least ε, to four digits, with which least squares have at most this error of an answer."""
        target = float(positive(error, "error", computed=True))
        if promised(self.errors(Fraction(1))) is None:
            name = " or ".join(self.names)
            other = AllPairs.name if self.task.widest(self.schema) <= 2 else AllTables.name
            raise BadInput(f"the error of {name} depends on the data and has no closed form. Name {other}.")

        def error_at(epsilon: Fraction) -> float:
            found = promised(self.errors(epsilon))
            assert found is not None
            return found[1].per_query

        return least_epsilon(error_at, target, error)


def outlook_of(
    task: Task, schema: Schema, algorithm: str, options: Mapping[str, Any], misfits: MisfitShare = NO_SHARE
) -> Outlook | TablesOutlook:
    """For a task on a table with this schema, by whichever way it would be released."""
    asked = as_task(task)
    if not measures_tables(asked, schema, algorithm):
        return Outlook.of(asked, schema, algorithm, options, misfits)
    wanted = wanted_of(asked, schema)
    program_named(algorithm, **options).check(wanted, Fraction(1))
    names = ("all-pairs", "select-pairs") if algorithm == AUTO and wanted.pairs else (algorithm,)
    names = ("all-pairs",) if names == (AUTO,) else names
    return TablesOutlook(asked, wanted, names, len(names) > 1, misfits)
