"""Many tables, measured one by one, where the whole domain is too large or need not be counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from adyton.errors import BadInput
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.sources import TableSource
from adyton.marginals.deciding import LEAST_REST
from adyton.marginals.program import NAMED, PROGRAMS, Outcome, TableSet, TablesProgram, program_named
from adyton.marginals.select_pairs import AllPairs, AllTables
from adyton.marginals.tables_release import TablesRelease
from adyton.plans.algorithm import MOST_CELLS, MOST_PLAIN_CELLS
from adyton.plans.base import ExpectedError
from adyton.programs.base import FAR, Answer, Outlook, Program, least_known
from adyton.programs.counts import Counts, in_words
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.result.release import Release
from adyton.schema import Schema
from adyton.schema.cell_groups import changes
from adyton.solving.residuals import part_variances
from adyton.tasks import Marginals
from adyton.tasks.request import AUTO, Request

MANY_ATTRIBUTES = 5
"""From this many attributes on, ``auto`` measures tables of two attributes one by one."""
_LINEAR = {AllPairs.name, AllTables.name}
"""Programs whose error is known beforehand."""


@dataclass(frozen=True, eq=False)
class Tables(Program):
    """Tables that are measured one by one; or a plan over all cells, where that is as good."""

    result = TablesRelease
    other_results = (Release,)

    request: Request
    schema: Schema
    wanted: TableSet
    way: TablesProgram
    coarser: tuple[str, ...]
    """The attributes that are read in fewer cells than the table's schema has, in words."""

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Program:
        """The program for a table with this schema: tables one by one, or a plan over all cells."""
        if not measures_tables(request, schema):
            return Counts.of(request, schema)
        task = _marginals(request)
        wanted = TableSet.fitting(task, task.select(schema))
        wanted.check()
        way = program_named(request.algorithm, **request.options)
        coarser = tuple(changes(schema.select(wanted.schema.names), wanted.schema))
        return cls(request, wanted.schema, wanted, way, coarser)

    @property
    def lines(self) -> int:
        """One line for each cell."""
        return self.wanted.cells

    def source(self, table: TableSource) -> TableSource:
        """The rows, in the cells of the task."""
        return table.select(list(self.schema.names)).coarsen(self.schema)

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Run the checks of the program."""
        return partial(self._answer, self.way.prepared(source, self.wanted, epsilon))

    def _answer(self, run: Callable[[], Outcome]) -> Answer:
        """All measured tables; if the program ends early, those measured until then."""
        outcome = run()
        known = PROGRAMS[outcome.algorithm].option_names()
        own = {
            "schema": self.schema,
            "measured": outcome.measured,
            "why": "; ".join((outcome.why, *self.coarser)),
            "bought": outcome.bought,
        }
        options = {name: value for name, value in self.request.options.items() if name in known}
        return Answer(outcome.algorithm, own, outcome.ended, options)

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> TablesOutlook:
        """The outlook for the tables; the whole domain is never built."""
        algorithm = self.request.algorithm
        self.way.check(self.wanted, Fraction(1))
        names = ("all-pairs", "select-pairs") if algorithm == AUTO and self.wanted.pairs else (algorithm,)
        names = ("all-pairs",) if names == (AUTO,) else names
        return TablesOutlook(_marginals(self.request), self.wanted, names, len(names) > 1, misfits)


def measures_tables(request: Request, schema: Schema) -> bool:
    """Whether a release is made of tables that are measured one by one; decided by public information only."""
    task, algorithm = _marginals(request), request.algorithm
    selected = task.select(schema)
    if algorithm in NAMED:
        return True
    if algorithm == AUTO:
        many = len(selected.names) >= MANY_ATTRIBUTES and task.widest(schema) <= 2
        return many or task.weights is not None or selected.cells > MOST_CELLS
    if selected.cells > MOST_PLAIN_CELLS:
        raise BadInput(
            f"these attributes have {in_words(selected.cells)} cells together; at most {MOST_PLAIN_CELLS:,} are "
            f"allowed where an algorithm works on all of them. Name {' or '.join(NAMED)}, or auto: these measure "
            "tables one by one."
        )
    return False


def _marginals(request: Request) -> Marginals:
    assert isinstance(request.task, Marginals)
    return request.task


@dataclass(frozen=True, eq=False)
class TablesOutlook(Outlook):
    """What can be known of many tables beforehand."""

    task: Marginals
    wanted: TableSet
    names: tuple[str, ...]
    """The programs that could run."""
    chooses: bool
    misfits: MisfitShare = NO_SHARE

    @property
    def schema(self) -> Schema:
        """The schema of the attributes that the task is about."""
        return self.wanted.schema

    @property
    def cells(self) -> int:
        """The number of cells of all tables: the whole domain is never built."""
        return self.wanted.cells

    @property
    def queries(self) -> int:
        """The number of queries: one for each cell by default."""
        return self.wanted.queries

    def notes(self, schema: Schema, epsilon: Fraction) -> tuple[str, ...]:
        """Notes that tables are measured one by one, and which attributes are made coarser."""
        domain = in_words(self.schema.cells)
        way = f"Tables are measured one by one, never the domain of {domain} cells: {len(self.wanted.groups):,} tables "
        way += f"of {len(self.schema.names)} attributes, from at most {len(self.wanted.pairs):,} measured pairs."
        way += " The others are computed from these, or as if their attributes did not depend on each other."
        words = changes(schema.select(self.schema.names), self.schema)
        return (way, f"{'; '.join(words)}.") if words else (way,)

    def errors(self, epsilon: Fraction) -> dict[str, ExpectedError | None]:
        """The errors of all-pairs and all-tables, in closed form; those of other programs depend on the data."""
        errors = dict[str, ExpectedError | None].fromkeys(self.names)
        for name in _LINEAR & errors.keys():
            total = sum(self._summed_variances(name, epsilon).values())
            if math.isfinite(total):
                errors[name] = ExpectedError(math.sqrt(total), self.wanted.queries, "upper mark")
        return errors

    def _summed_variances(self, name: str, epsilon: Fraction) -> dict[tuple[str, ...], float]:
        """The summed variance of the answers of each table."""
        row_epsilon = self.share(epsilon) / self.schema.rows_per_unit * (LEAST_REST if self.chooses else 1)
        shares = self.wanted.shares() if name == AllPairs.name else self.wanted.direct_shares()
        variances = MeasureTables(tuple(range(len(shares))), tuple(shares.values())).variances(row_epsilon)
        squares = part_variances(self.wanted.sides, zip(shares, variances.tolist(), strict=True))
        return {group: self.wanted.summed_variance(squares, group) for group in self.wanted.groups}

    def half_width(self, epsilon: Fraction) -> float:
        """That of the table with the largest variance; all cells of a table have the same."""
        best = least_known(self.errors(epsilon))
        if best is None or self.task.cumulative or self.task.weights is not None:
            return super().half_width(epsilon)
        summed = self._summed_variances(best[0], epsilon)
        sizes = {group: math.prod(self.wanted.sides[name] for name in group) for group in summed}
        return FAR * math.sqrt(max(variance / sizes[group] for group, variance in summed.items()))

    def even_share(self, rows: int) -> float | None:
        """The mean count of a cell of a table."""
        return rows * len(self.wanted.groups) / self.wanted.queries

    @property
    def advice(self) -> str:
        """Advice to name a program whose error is known."""
        return f"Name {AllPairs.name if self.task.widest(self.schema) <= 2 else AllTables.name}."
