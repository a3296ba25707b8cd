"""Sums, means, variances and quantiles of an attribute, of all rows or by groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.messages import listing
from adyton.programs.base import Answer, Outlook, Program
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.statistics.asked import Asked
from adyton.statistics.numbers_release import NumbersRelease
from adyton.statistics.programs import PROGRAMS, Weighed, in_words, rows_needed, weigh
from adyton.tasks import NumbersTask
from adyton.tasks.request import AUTO, Request

MOST_GROUPS = 1_000_000
PER_ROW = ("mean", "variance", "deviation")
"""What falls with the rows of a group."""


@dataclass(frozen=True, eq=False)
class Numbers(Program):
    """The program with the least expected error among those that tell what is asked for; or the one named."""

    results: ClassVar[Mapping[str, type[Result]]] = {"numbers": NumbersRelease}
    result = NumbersRelease

    request: Request
    asked: Asked

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Numbers:
        """Refused where there are too many groups."""
        if request.options:
            raise BadInput(f"algorithms for numbers have no options, given {listing(request.options)}. Leave them out.")
        assert isinstance(request.task, NumbersTask)
        asked = Asked.of(request.task, schema)
        if asked.groups > MOST_GROUPS:
            raise BadInput(
                f"{request.task}: {asked.groups:,} groups; at most {MOST_GROUPS:,} are allowed. Group by "
                "fewer attributes."
            )
        weigh(asked, Fraction(1), request.algorithm)
        return cls(request, asked)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """Of the groups, then of the numbers."""
        return self.asked.schema

    @property
    def lines(self) -> int:
        """One for each group."""
        return self.asked.groups

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """By the program that is best with this budget."""
        weighed = weigh(self.asked, epsilon, self.request.algorithm)
        measure = weighed.program.prepared(source, self.asked, epsilon)

        def run() -> Answer:
            parts, ended = measure()
            own = {"schema": self.schema, "task": self.asked.task, "parts": parts, "why": weighed.why()}
            return Answer(weighed.chosen, own, ended)

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> NumbersOutlook:
        """By the errors of the programs, which are public."""
        return NumbersOutlook(self.asked, self.request.algorithm, misfits)


@dataclass(frozen=True, eq=False)
class NumbersOutlook(Outlook):
    """What can be known of numbers beforehand. One program is better than the others by public facts."""

    asked: Asked
    algorithm: str = AUTO
    misfits: MisfitShare = NO_SHARE
    chooses = pictured = False
    ending, word, title = "", "standard error", "standard errors"

    @property
    def schema(self) -> Schema:
        """Of the groups, then of the numbers."""
        return self.asked.schema

    @property
    def size(self) -> str:
        """By its groups, if there are any."""
        return f"{self.asked.groups:,} groups" if self.asked.groups > 1 else ""

    def weighed(self, epsilon: Fraction) -> Weighed:
        """The programs with their errors, for a release of *epsilon*."""
        return weigh(self.asked, self.share(epsilon) / self.asked.schema.rows_per_unit, self.algorithm)

    def errors(self, epsilon: Fraction) -> Mapping[str, Mapping[str, float]]:
        """Of every program that could run: of each statistic, see :mod:`adyton.statistics.programs`."""
        return self.weighed(epsilon).errors

    def promised(self, epsilon: Fraction) -> dict[str, float]:
        """Of the best program: of each statistic, in its own unit where it can be known; in rows for quantiles; and
        times the rows of a group for means and variances of which nobody says how many rows there are."""
        found = self.weighed(epsilon)
        rows = self.asked.task.rows or 1
        errors = found.errors[found.chosen]
        return {name: errors[name] / (rows if name in PER_ROW else 1) for name in self.asked.task.statistics}

    def error_at(self, epsilon: Fraction) -> float:
        """The standard error of the statistic that was asked for."""
        task = self.asked.task
        name = next((one for one in task.statistics if one == task.kind), None) or task.statistics[-1]
        if name in PER_ROW and task.rows is None:
            raise BadInput(
                f"the error of a {name} falls with the rows of a group, which are private. If it is public how many "
                f"a group has at least, say so: --group-rows 1000 (in Python {type(task).__name__}(…, "
                "rows=1000))."
            )
        return self.promised(epsilon)[name]

    def line(self, epsilon: Fraction) -> dict[str, str]:
        """The error of each statistic; what cannot be known without the rows is multiplied by them."""
        found, task = self.promised(epsilon), self.asked.task
        shown = {f"{name}, rows" if name.endswith("%") else name: f"{one:,.4g}" for name, one in found.items()}
        if task.rows is None:
            shown = {f"{name} × rows" if name in PER_ROW else name: one for name, one in shown.items()}
        return {**shown, "algorithm": self.weighed(epsilon).chosen}

    def length(self, epsilon: Fraction) -> float:
        """None: there are several."""
        return 0.0

    def to_plain(self, epsilon: Fraction) -> dict[str, Any]:
        """What would run, and the error of each statistic."""
        return {"algorithm": self.weighed(epsilon).chosen, "errors": self.promised(epsilon)}

    def remarks(self, schema: Schema, budgets: Sequence[Fraction]) -> tuple[str, ...]:
        """The errors in words, and how to read those that fall with the rows of a group."""
        task = self.asked.task
        divided = task.rows is None and set(PER_ROW) & set(task.statistics)
        words = "Divide the figures × rows by the rows of a group; --group-rows N does so."
        return (*self.notes(schema, budgets[-1]), *((words,) if divided else ()))

    def head(self, epsilon: Fraction) -> str:
        """What would run, and why."""
        found = self.weighed(epsilon)
        other = [name for name in found.errors if name != found.chosen]
        rest = f" (better here than {', '.join(other)})" if other else ""
        return f"{found.chosen} would run: it {PROGRAMS[found.chosen].words}{rest}."

    def lines(self, epsilon: Fraction) -> list[tuple[str, ...]]:
        """None: the errors are given in words."""
        return []

    def notes(self, schema: Schema, epsilon: Fraction) -> tuple[str, ...]:
        """The errors in words, and how many rows a group needs."""
        found = self.weighed(epsilon)
        errors = found.errors[found.chosen]
        words = "; ".join(in_words(self.asked, errors, epsilon)) + "."
        needed = rows_needed(self.asked, errors)
        return (words, needed) if needed else (words,)
