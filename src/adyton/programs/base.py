"""A program: what answers a task on a table with a certain schema.

It is a frozen value, independent of ledgers, files, pages and shells. *of*, *check* and *outlook* read no row; *check*
returns a short function that calls operators and computes with their answers. Each answer is recorded before the
function gets it, so that an interrupted request is finished by running the same function on the recorded answers.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from adyton.errors import BadInput
from adyton.marginals.program import what_it_does
from adyton.plans.base import MEANINGS, ExpectedError
from adyton.plans.registry import standing
from adyton.result.folder import KIND
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.result.result import Result, read_result, result_from
from adyton.schema import Schema
from adyton.tasks.known import KnownTotals
from adyton.tasks.request import Request, Task

UNKNOWN = "depends on the data"
FAR = math.log(20) / math.sqrt(2)
"""The half-width of a 95% interval for Laplace noise with a standard deviation of 1; sums of noise need less."""
OFTEN = "19 times of 20"
_LINES = {"upper mark": " (at most about)", "noise only": " (noise alone)"}
"""What the names of error lines add."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a program computed from its measurements: the fields that only this kind of result has."""

    algorithm: str
    """The algorithm that ran, named or chosen."""
    own: Mapping[str, Any]
    """The fields of the result in addition to those that every result has."""
    ended: BaseException | None = None
    """The exception that ended the program early, where the measurements until then were used."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The given options that the algorithm which ran has."""


class Program(ABC):
    """What answers a task: made by :meth:`of`, which refuses requests that cannot be answered with the schema."""

    noun: ClassVar[str] = "a release"
    """The name of the result, with its article."""
    may_need_less: ClassVar[bool] = False
    """Whether less than the requested budget may be charged."""
    result: ClassVar[type[Result]]
    """The kind of result that it returns."""
    other_results: ClassVar[tuple[type[Result], ...]] = ()
    """The kinds of results that other programs for the same tasks return."""

    request: Request
    schema: Schema
    """The schema of the attributes that the task is about."""

    @classmethod
    @abstractmethod
    def of(cls, request: Request, schema: Schema) -> Program:
        """The program for a request on a table with this schema."""

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """The attributes in which rows that do not match the schema are counted; None where values need not match."""
        return self.schema.names

    @property
    def lines(self) -> int:
        """The approximate number of lines of the answer."""
        return 1

    def source(self, table: Any) -> Any:
        """The source that is measured, derived from the rows that the request is about."""
        return table

    @abstractmethod
    def check(self, source: Any, epsilon: Fraction) -> Callable[[], Answer]:
        """Make sure that the program can be completed with *epsilon* for a row; otherwise refuse, and nothing is spent.

        Returns the function that measures and computes, spending *epsilon* for a row, or less where it needs less. A
        replay calls it again after the budget is spent, so it must not depend on what is left.
        """

    def known_totals(self) -> KnownTotals | None:
        """The known totals of the request, checked; refused by programs whose results cannot be adjusted to them."""
        if self.request.known is None:
            return None
        raise BadInput(
            f"{self.request.task}: known totals are for counts of cells (a histogram, ranges, queries, marginals of "
            "few attributes), not for numbers, classifiers, or tables that are measured one by one. Leave them out."
        )

    @abstractmethod
    def outlook(self, misfits: MisfitShare = NO_SHARE) -> Outlook:
        """What can be known beforehand; nothing is spent."""


class Outlook(ABC):
    """What can be known of a request before anything is spent: the algorithms that could run, and their errors."""

    misfits: MisfitShare
    chooses: bool
    """Whether one of several candidates is chosen privately."""

    @property
    def cells(self) -> int | None:
        """The number of cells that are estimated, if any."""
        return None

    @property
    def queries(self) -> int | None:
        """The number of queries that the task asks about them."""
        return None

    @property
    def size(self) -> str:
        """The size of the release in a few words; empty where there is nothing to say."""
        return "" if self.cells is None else f"{self.cells:,} cells"

    @property
    def advice(self) -> str:
        """What to do where no error is known beforehand."""
        return "Name a budget."

    @abstractmethod
    def errors(self, epsilon: Fraction) -> Mapping[str, Any]:
        """The expected error of each candidate, or of each statistic; None where it depends on the data."""

    def error_at(self, epsilon: Fraction) -> float:
        """The error of an answer that is known beforehand for a budget: one number; refused where it is unknown."""
        errors = self.errors(epsilon)
        best = least_known(errors)
        if best is None:
            raise BadInput(
                f"the error of {' or '.join(errors)} depends on the data and has no closed form. {self.advice}"
            )
        return best[1].per_query

    def half_width(self, epsilon: Fraction) -> float:
        """How far from the truth each answer is at most, 19 times of 20; refused where that is unknown."""
        return FAR * self.error_at(epsilon)

    def even_share(self, rows: int) -> float | None:
        """The number of rows in an answer on average, if *rows* rows are spread evenly; None for other answers."""
        return None

    def curves(self, budgets: Sequence[Fraction]) -> dict[str, list[tuple[float, float]]]:
        """Errors against ε, by name: typical ones, and the half-width of the 95% interval last."""
        lines: dict[str, list[tuple[float, float]]] = {}
        for budget in budgets:
            for name, error in self.errors(budget).items():
                if error is not None and error.per_query > 0:
                    words = f"{name}{_LINES.get(error.kind, '')}"
                    lines.setdefault(words, []).append((float(budget), error.per_query))
        return lines | self.half_widths(budgets)

    def half_widths(self, budgets: Sequence[Fraction]) -> dict[str, list[tuple[float, float]]]:
        """The half-widths of the 95% interval against ε, under a name; empty where they are unknown."""
        try:
            return {f"±, {OFTEN}": [(float(budget), self.half_width(budget)) for budget in budgets]}
        except BadInput:
            return {}

    def notes(self, schema: Schema, epsilon: Fraction) -> tuple[str, ...]:
        """What else is known beforehand, given the schema of the whole table."""
        return ()

    def share(self, epsilon: Fraction) -> Fraction:
        """The budget for the answer itself, after rows that do not match the schema are counted."""
        return epsilon * (1 - self.misfits.of(epsilon))

    def head(self, epsilon: Fraction) -> str:
        """The sentence before the candidates."""
        return "One of these is chosen privately:" if self.chooses else "This would run:"

    def what_it_does(self, name: str) -> str:
        """A short description of a candidate."""
        return what_it_does(name)

    def promised(self, epsilon: Fraction) -> Any:
        """The error that is known beforehand; None where it is unknown."""
        best = least_known(self.errors(epsilon))
        return None if best is None else best[1]

    def lines(self, epsilon: Fraction) -> list[tuple[str, ...]]:
        """A header and a line for each candidate: its error, what that means, what it does; smallest error first."""
        errors = self.errors(epsilon)
        known = {name: error for name, error in errors.items() if error is not None}
        ranked = sorted(known, key=lambda name: known[name].total)
        rest = [name for name in errors if name not in known]
        figures = [(name, f"{known[name].per_query:.4g}", MEANINGS[known[name].kind]) for name in ranked]
        lines = [(*line, self.what_it_does(line[0])) for line in (*figures, *((name, "–", UNKNOWN) for name in rest))]
        return [("algorithm", "error", "what the error is", "what the algorithm does"), *lines]

    ending: ClassVar[str] = "The error is the typical error of one answer, in rows."

    @property
    def answers(self) -> str:
        """The answers, as they are called in a sentence."""
        if self.queries == 1:
            return "this count"
        return f"these {self.queries:,} counts" if self.queries else "these counts"

    @property
    def adapts(self) -> bool:
        """Whether an algorithm that adapts to the data may run: then intervals hold on average over the answers."""
        return any(error is None or error.kind == "upper mark" for error in self.errors(Fraction(1)).values())

    column: ClassVar[str] = "count"
    """The name of the answers in a release."""
    unit: ClassVar[str] = ""
    """The unit of the errors, after a number."""

    # ---- against ε --------------------------------------------------------------------------------------------------

    word: ClassVar[str] = "typical error"
    """The name of the error."""
    title: ClassVar[str] = "typical error of an answer"
    """The heading of a table of errors."""

    def line(self, epsilon: Fraction) -> dict[str, str]:
        """The error that is known beforehand for a budget: a line of a table, by the titles of its columns."""
        name, error = least_known(self.errors(epsilon)) or (UNKNOWN, None)
        shown, kind = ("–", "") if error is None else (f"{error.per_query:,.4g}", MEANINGS[error.kind])
        return {"error": shown, "algorithm": name, "what the error is": kind}

    def length(self, epsilon: Fraction) -> float:
        """The same as one positive number for a picture; 0 where it is unknown."""
        best = least_known(self.errors(epsilon))
        return 0.0 if best is None else best[1].per_query

    def to_plain(self, epsilon: Fraction) -> dict[str, Any]:
        """What is known for a budget, as plain values for JSON."""
        figures = {
            name: None if error is None else {"per_query": error.per_query, "kind": error.kind}
            for name, error in self.errors(epsilon).items()
        }
        return {"algorithms": figures}

    def remarks(self, schema: Schema, budgets: Sequence[Fraction]) -> tuple[str, ...]:
        """Remarks on the errors for some budgets."""
        errors = self.errors(budgets[0])
        bests = (least_known(self.errors(budget)) for budget in budgets)
        names = dict.fromkeys(best[0] for best in bests if best is not None)
        described = tuple(f"{name}: {words}." for name in names if (words := self.what_it_does(name)))
        others = [name for name, error in errors.items() if error is None or error.kind == "upper mark"]
        others = [name for name in others if name not in names]
        more = f"The choice also includes {', '.join(others)}: often better, by how much depends on the data."
        chosen = self.chooses and others and any(error is None for error in errors.values())
        return (*described, self.ending, *((more,) if chosen else ()))


def least_known(errors: Mapping[str, ExpectedError | None]) -> tuple[str, ExpectedError] | None:
    """The algorithm of smallest error among those whose error does not depend on the data; if there are none, among
    those with a known upper bound on the error; None if there are none of either kind."""
    known = [(name, error) for name, error in errors.items() if error is not None]
    for kinds in ({"exact", "estimate"}, {"upper mark"}):
        fitting = [pair for pair in known if pair[1].kind in kinds]
        if fitting:
            return min(fitting, key=lambda pair: pair[1].total)
    return None


def program_type(task: Task) -> type[Program]:
    """The class of the program that answers a task."""
    program: type[Program] = standing(task.answered_by) if isinstance(task.answered_by, str) else task.answered_by
    return program


def program_of(request: Request, schema: Schema) -> Program:
    """The program for a request on a table with this schema; refused if it cannot be answered."""
    return program_type(request.task).of(request, schema)


def load(folder: str | os.PathLike[str]) -> Result:
    """The result in a folder that ``save`` or ``adyton … --out`` wrote, or in its JSON file, whatever its kind.

    Nothing in the file is trusted, and nothing in it is run; the data are not needed.
    """

    return read_result(folder, _result_type, "a result")


def result_in(text: str, name: str) -> Result:
    """The same, from the content of such a JSON file, which messages call *name*."""
    return KIND.parsed(text, name, lambda plain: result_from(plain, _result_type))


def _result_type(task: Task, kind: str) -> type[Result] | None:
    """The class of the results of this kind that a program for the task returns."""
    program = program_type(task)
    return {result.kind: result for result in (program.result, *program.other_results)}.get(kind)
