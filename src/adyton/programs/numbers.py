"""Sums, means, variances and quantiles of an attribute, of all rows or by groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.messages import listing
from adyton.programs.base import FAR, Answer, Outlook, Program
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.schema import Schema
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.numbers_release import NumbersRelease
from adyton.statistics.programs import PROGRAMS, Ranking, in_words, rank, rows_needed
from adyton.tasks import NumbersTask
from adyton.tasks.numbers import statistic_in_words
from adyton.tasks.request import AUTO, Request

MOST_GROUPS = 1_000_000
PER_ROW = ("mean", "variance", "deviation")
"""Statistics whose error falls with the rows of a group."""
_MEAN_AT_BOUND = 2**0.25
"""The largest error of a mean relative to the reported one; see :func:`adyton.statistics.parts.moment_errors`."""


@dataclass(frozen=True, eq=False)
class Numbers(Program):
    """The program with the smallest expected error among those that measure the requested statistics; or the named
    program."""

    result = NumbersRelease

    request: Request
    numbers: GroupedNumbers

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Numbers:
        """The program for a table with this schema; refused where there are too many groups."""
        if request.options:
            raise BadInput(f"algorithms for numbers have no options, given {listing(request.options)}. Leave them out.")
        assert isinstance(request.task, NumbersTask)
        numbers = GroupedNumbers.of(request.task, schema)
        if numbers.groups > MOST_GROUPS:
            raise BadInput(
                f"{request.task}: {numbers.groups:,} groups; at most {MOST_GROUPS:,} are allowed. Group by "
                "fewer attributes."
            )
        rank(numbers, Fraction(1), request.algorithm)
        return cls(request, numbers)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """The attributes of the groups, then the one with the numbers."""
        return self.numbers.schema

    @property
    def lines(self) -> int:
        """One line for each group."""
        return self.numbers.groups

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Run the checks of the best program for this budget."""
        ranking = rank(self.numbers, epsilon, self.request.algorithm)
        measure = ranking.program.prepared(source, self.numbers, epsilon)

        def run() -> Answer:
            parts, ended = measure()
            own = {"schema": self.schema, "task": self.numbers.task, "parts": parts, "why": ranking.why()}
            return Answer(ranking.chosen, own, ended)

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> NumbersOutlook:
        """The outlook, from the errors of the programs, which are public."""
        return NumbersOutlook(self.numbers, self.request.algorithm, misfits)


@dataclass(frozen=True, eq=False)
class NumbersOutlook(Outlook):
    """What can be known of numbers beforehand. Which program is best follows from public information."""

    numbers: GroupedNumbers
    algorithm: str = AUTO
    misfits: MisfitShare = NO_SHARE
    chooses = False
    ending, word, title = "", "standard error", "standard errors"

    @property
    def schema(self) -> Schema:
        """The attributes of the groups, then the one with the numbers."""
        return self.numbers.schema

    @property
    def size(self) -> str:
        """The number of groups, if there are any."""
        return f"{self.numbers.groups:,} groups" if self.numbers.groups > 1 else ""

    def ranking(self, epsilon: Fraction) -> Ranking:
        """The programs with their errors, for a release of *epsilon*."""
        return rank(self.numbers, self.share(epsilon) / self.numbers.schema.rows_per_unit, self.algorithm)

    def errors(self, epsilon: Fraction) -> Mapping[str, Mapping[str, float]]:
        """The error of each statistic for every program that could run; see :mod:`adyton.statistics.programs`."""
        return self.ranking(epsilon).errors

    def promised(self, epsilon: Fraction) -> dict[str, float]:
        """The errors of the best program: in the unit of the statistic; in rows for quantiles; times the rows of a
        group for means and variances where the number of rows is not public."""
        ranking = self.ranking(epsilon)
        rows = self.numbers.task.rows or 1
        errors = ranking.errors[ranking.chosen]
        return {name: errors[name] / (rows if name in PER_ROW else 1) for name in self.numbers.task.statistics}

    @property
    def statistic(self) -> str:
        """The requested statistic, or the last of several."""
        task = self.numbers.task
        return task.kind if task.kind in task.statistics else task.statistics[-1]

    @property
    def answers(self) -> str:
        """The requested statistics, as they are called in a sentence."""
        quantiles = len(self.numbers.task.quantiles) if self.unit else 1
        number, noun = self.numbers.groups * quantiles, statistic_in_words(self.statistic)
        noun = "quantile" if noun.endswith("%") or (self.unit and quantiles > 1) else noun
        return f"this {noun}" if number == 1 else f"these {number:,} {noun}s"

    @property
    def adapts(self) -> bool:
        """No: the noise has the same law on all data."""
        return False

    @property
    def column(self) -> str:  # type: ignore[override]
        """The statistic; errors of quantiles are compared with the rows of a group."""
        return "count" if self.unit else self.statistic

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Errors of quantiles are in ranks: in rows, if these stood in order of the number."""
        return " ranks" if self.statistic.endswith("%") else ""

    def half_width(self, epsilon: Fraction) -> float:
        """From the standard error, for noise as heavy-tailed as Laplace noise; that of a mean depends on where it lies
        between its bounds, so the largest is taken."""
        if self.statistic in ("variance", "deviation"):
            raise BadInput(f"the interval of a {self.statistic} depends on the data. Give a typical error, such as 10.")
        return FAR * self.error_at(epsilon) * (_MEAN_AT_BOUND if self.statistic == "mean" else 1)

    def even_share(self, rows: int) -> float | None:
        """The rows of a group, for quantiles."""
        return (self.numbers.task.rows or rows / self.numbers.groups) if self.unit else None

    def curves(self, budgets: Sequence[Fraction]) -> dict[str, list[tuple[float, float]]]:
        """The standard error of the requested statistic, and the half-width of its 95% interval."""
        return {self.statistic: [(float(budget), self.error_at(budget)) for budget in budgets]} | self.half_widths(
            budgets
        )

    def error_at(self, epsilon: Fraction) -> float:
        """The standard error of the requested statistic; the largest of several quantiles."""
        task, name = self.numbers.task, self.statistic
        if name in PER_ROW and task.rows is None:
            raise BadInput(
                f"the error of a {name} falls with the rows of a group, which are private. If a smallest number of "
                f"rows of a group is public, give it: --group-rows 1000 (in Python {type(task).__name__}(…, "
                "rows=1000))."
            )
        promised = self.promised(epsilon)
        return max(error for other, error in promised.items() if other.endswith("%")) if self.unit else promised[name]

    def line(self, epsilon: Fraction) -> dict[str, str]:
        """The error of each statistic; errors that fall with the rows are multiplied by them if they are private."""
        per_row = PER_ROW if self.numbers.task.rows is None else ()
        shown = {
            f"{name}, rows" if name.endswith("%") else f"{name} × rows" if name in per_row else name: f"{error:,.4g}"
            for name, error in self.promised(epsilon).items()
        }
        return {**shown, "algorithm": self.ranking(epsilon).chosen}

    def length(self, epsilon: Fraction) -> float:
        """0: there are several errors."""
        return 0.0

    def to_plain(self, epsilon: Fraction) -> dict[str, Any]:
        """The program that would run, and the error of each statistic."""
        return {"algorithm": self.ranking(epsilon).chosen, "errors": self.promised(epsilon)}

    def remarks(self, schema: Schema, budgets: Sequence[Fraction]) -> tuple[str, ...]:
        """The errors in words, and how to read those that fall with the rows of a group."""
        task = self.numbers.task
        divided = task.rows is None and set(PER_ROW) & set(task.statistics)
        words = "Divide the figures × rows by the rows of a group; --group-rows N does so."
        return (*self.notes(schema, budgets[-1]), *((words,) if divided else ()))

    def head(self, epsilon: Fraction) -> str:
        """The program that would run, and why."""
        ranking = self.ranking(epsilon)
        other = [name for name in ranking.errors if name != ranking.chosen]
        rest = f" (better here than {', '.join(other)})" if other else ""
        return f"{ranking.chosen} would run: it {PROGRAMS[ranking.chosen].words}{rest}."

    def lines(self, epsilon: Fraction) -> list[tuple[str, ...]]:
        """Empty: the errors are given in words."""
        return []

    def notes(self, schema: Schema, epsilon: Fraction) -> tuple[str, ...]:
        """The errors in words, and how many rows a group needs."""
        ranking = self.ranking(epsilon)
        errors = ranking.errors[ranking.chosen]
        words = "; ".join(in_words(self.numbers, errors, epsilon)) + "."
        needed = rows_needed(self.numbers, errors)
        return (words, needed) if needed else (words,)
