"""The single path from a request to a result: every request is checked, paid for, measured and kept.

:func:`run` takes this path; a :class:`Preview` says beforehand what it would cost, and the expected error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, display, share
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.records import Account
from adyton.kernel.recorder import Debit, Recorder
from adyton.kernel.sources import TableSource
from adyton.messages import shorten
from adyton.programs.base import Outlook, Program, program_of
from adyton.programs.targets import EPSILONS, outcome, plot_errors
from adyton.queries import Identity
from adyton.result.coverage import Total
from adyton.result.misfits import GUESS, NO_SHARE, SHARE, Misfits, MisfitShare, NoisyMisfit
from adyton.result.pending import Measurements, Pending, carry_out, in_short
from adyton.result.receipt import Receipt
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.schema.misfits import misfits_of
from adyton.schema.predicates import attributes_of, parse_predicate
from adyton.tasks.known import KnownTotals
from adyton.tasks.request import Request

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST, MOST = Fraction(1, 1000), Fraction(1, 2)
"""The smallest and largest share of a budget for counting rows that do not match the schema."""
_ROUNDING = Fraction(1, 1 << 40)


def run(kernel: Kernel[Any], request: Request, keep: Callable[[Any], None], program: Program | None = None) -> Result:
    """The result of a request; *keep* is as in :func:`~adyton.result.pending.carry_out`.

    A request that cannot be completed is refused before anything is spent. If it nevertheless ends early, between two
    measurements, the result has the measurements made until then where the program can use them, at the price that was
    paid, with a warning; otherwise the measurements are kept as they are.
    """
    return admitted(kernel, request, program)(keep)


def admitted(
    kernel: Kernel[Any], request: Request, program: Program | None = None, totals: list[Total] | None = None
) -> Callable[[Callable[[Any], None]], Result]:
    """Make all checks now; the returned function carries the request out. *totals* are the numbers of rows that the
    same person was told before: the result is compared with them, and adds its own."""
    program = program_of(request, kernel.root.schema) if program is None else program
    account = kernel.budget
    account.afford(request.epsilon, kernel.ledger.path)
    work = planned(kernel, request, program, account, totals)
    return lambda keep: carry_out(kernel, work, keep, request.epsilon)


def resumed(kernel: Kernel[Any], request: Request, recorder: Recorder, cause: BaseException) -> Result | Measurements:
    """A request that another process began and paid for, finished from the debits and answers that were recorded:
    nothing is spent. Where answers are missing, the measurements as they are; *cause* is what ended the request."""
    with kernel.replaying(recorder, cause):
        work = planned(kernel, request)
    pending = Pending(kernel, work, recorder)
    pending.cause = cause
    return pending.finish() or pending.measurements(cause)


def planned(
    kernel: Kernel[Any],
    request: Request,
    program: Program | None = None,
    account: Account | None = None,
    totals: list[Total] | None = None,
) -> Callable[[Recorder], Result]:
    """The function that measures and computes, after all checks but that of the budget; *account* is the kernel's, if
    it was read already."""
    root, amount = kernel.root, request.epsilon
    program = program_of(request, root.schema) if program is None else program
    table = root if request.where is None else root.where(request.where)
    source = program.source(table)
    misfits = MisfitCount.planned(root, program.looks_at, request)
    row_epsilon = amount * (1 - misfits.shares.of(amount)) / source.stability
    known = program.known_totals()
    measure = program.check(source, row_epsilon)
    odds.warn(amount, program.noun, kernel.terms.named_unit)
    receipt = Receipt.opened(kernel, account)
    if request.task.per_unit:  # each unit counts once, however many rows it has
        receipt = replace(receipt, rows_per_unit=1)

    # taken once: a replay is not compared with what the first run has told
    earlier = max(totals or (), key=lambda total: total.rows, default=None)

    def work(recorder: Recorder) -> Result:
        counted = misfits.measure(amount)
        answer = measure()
        paid = amount
        if answer.ended is not None:
            paid = recorder.charged
        elif program.may_need_less:
            paid = charged(recorder.debits, amount)
        if counted is not None and paid != amount:
            counted = replace(counted, share=counted.epsilon / paid)
        common = {
            "task": request.task,
            "where": request.where,
            "algorithm": answer.algorithm,
            "options": answer.options,
            "epsilon": paid,
            "receipt": receipt.paid(kernel.ledger, recorder.debits),
            "misfits": counted,
            "unfinished": None if answer.ended is None else in_short(answer.ended),
        }
        result = compared(program.result.of(common | dict(answer.own), amount), earlier, totals)
        return result if known is None else _adjusted(result, known)

    return work


def _adjusted(result: Result, known: KnownTotals) -> Result:
    """The result adjusted to known totals; as it was measured, with a warning, if that fails."""
    try:
        return result.with_known(known)
    except Exception as problem:  # it is paid for
        failed = f"the counts could not be adjusted to the known totals ({type(problem).__name__})"
        with suppress(UserWarning):  # even if warnings are errors, it is returned
            warnings.warn(f"{failed}, and are as they were measured. with_known(…) tries again.", stacklevel=2)
        return result


def compared(result: Result, earlier: Total | None, totals: list[Total] | None) -> Result:
    """The result, with the largest number of rows that was told of the whole table *earlier*; its own is added to all
    *totals*, if it takes no time to compute."""
    if totals is None or result.where is not None or result.task.per_unit:
        return result
    with suppress(Exception):  # it is paid for, with or without a comparison
        own = result.total() if result.at_once else None
        totals += [] if own is None else [own]
        return result if earlier is None else replace(result, earlier=earlier)
    return result


def charged(debits: Sequence[Debit], amount: Fraction) -> Fraction:
    """The sum of the debits; the whole amount where they differ only because shares were rounded down."""
    spent = sum((debit.amount for debit in debits), Fraction(0))
    return amount if 0 <= amount - spent <= amount * _ROUNDING else spent


def misfits_share(given: Rational | bool | None, schema: Schema, *, from_text: bool) -> MisfitShare:
    """The share of the budget for counting rows that do not match the schema. By default there is one for text files,
    if it is enough to notice 5% of the rows: of the number in the schema, or of 10,000 where it gives none.

    There is none for frames that hold text: their types are inferred from rows, so the share would reveal something
    about these.
    """
    if given is None:
        return MisfitShare(SHARE if from_text else Fraction(0), schema.rows_per_unit, schema.rows or GUESS)
    if isinstance(given, bool):
        return MisfitShare(SHARE if given else Fraction(0))
    part = share(given, "misfits")
    if not LEAST <= part <= MOST:
        raise BadInput(f"misfits is True, False or a share of epsilon from {LEAST} to {MOST}, given {shorten(given)}.")
    return MisfitShare(part)


@dataclass(frozen=True)
class MisfitCount:
    """A planned count of rows that do not match the schema: the table, the attributes and the share of the budget."""

    root: TableSource
    counted: tuple[str, ...]
    """The attributes that are released."""
    tested: tuple[str, ...]
    """Other attributes that the predicate tests."""
    shares: MisfitShare

    @classmethod
    def planned(cls, root: TableSource, counted: Sequence[str] | None, request: Request) -> MisfitCount:
        """The count for a request about these attributes; no count where *counted* is None."""
        if counted is None:
            return cls(root, (), (), NO_SHARE)
        seen = () if request.where is None else attributes_of(parse_predicate(request.where, root.schema))
        tested = tuple(name for name in seen if name not in counted)
        part = misfits_share(request.misfits, root.schema, from_text=root.from_text)
        return cls(root, tuple(counted), tested, part)

    def measure(self, epsilon: Fraction) -> Misfits | None:
        """Count, with its share of the budget of a release; None if the share is 0.

        All rows are counted, whatever the predicate: a row that cannot be read does not satisfy it either.
        """
        share = self.shares.of(epsilon)
        if not share:
            return None
        misfits = misfits_of(self.root.schema, self.counted, self.tested)
        price = epsilon * share
        counts = self.root.misfits(self.counted, self.tested)
        answer = counts.measure(Identity(counts.shape), price / self.root.stability)
        fits, *others = (int(count) for count in answer.answers)
        lines = [NoisyMisfit(misfit, count) for misfit, count in zip(misfits, others, strict=True)]
        return Misfits(price, share, fits, answer.deviation, lines)


@dataclass(frozen=True, eq=False)
class Preview:
    """What a request would cost, and the expected error of its answer. A preview spends nothing."""

    task: str
    epsilon: Fraction
    remaining: Fraction
    """The budget that is left."""
    outlook: Outlook
    schema: Schema
    """The schema of the whole table."""
    counted: tuple[str, ...] = ()
    """Which rows of each unit would be counted, where not all of them are."""
    rows: int | None = None
    """The public number of rows, if all of them would be counted."""

    @property
    def candidates(self) -> Any:
        """The algorithms that could run, with their expected errors; None where the error depends on the data."""
        return self.outlook.errors(self.epsilon)

    @property
    def expected_error(self) -> Any:
        """The smallest error that is known before anything is spent."""
        return self.outlook.promised(self.epsilon)

    @property
    def chosen(self) -> bool:
        """Whether one of several algorithms will be chosen privately."""
        return self.outlook.chooses

    @property
    def cells(self) -> int | None:
        """The number of cells that would be estimated; None where there are none."""
        return self.outlook.cells

    @property
    def queries(self) -> int | None:
        """The number of queries that the task asks; None where it asks for something else."""
        return self.outlook.queries

    @property
    def misfits(self) -> Fraction:
        """The share of the budget for counting rows that do not match the schema."""
        return self.outlook.misfits.of(self.epsilon)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is known beforehand: how the release is made, and what it leaves out."""
        own = self.outlook.notes(self.schema, self.epsilon)
        return (*self.counted, *own, *self.outlook.misfits.notes(self.epsilon))

    @property
    def affordable(self) -> bool:
        """Whether the budget that is left is enough."""
        return self.epsilon <= self.remaining

    def sentence(self) -> str:
        """The cost, and whether the budget that is left is enough."""
        enough = "" if self.affordable else ", which is not enough"
        part = display(self.epsilon * self.misfits)
        checked = f" Of this, {part} counts the rows that do not match the schema." if self.misfits else ""
        size = f"{self.outlook.size}; " if self.outlook.size else ""
        return (
            f"{self.task}: {size}would cost ε = {display(self.epsilon)} of the "
            f"{display(self.remaining)} that is left{enough}.{checked}"
        )

    @property
    def outcome(self) -> str:
        """How accurate the answers would be, in one sentence; empty where it depends on the data."""
        return outcome(self.epsilon, self.outlook, self.rows)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The error against ε on a matplotlib figure, written to *path* if one is given, with this budget marked."""
        said = self.outcome or self.task
        return plot_errors(said, self.task, self.outlook, EPSILONS, self.epsilon, None, path)

    def lines(self) -> list[tuple[str, ...]]:
        """A line for each candidate, below a header; empty where the notes say everything."""
        return self.outlook.lines(self.epsilon)

    def __str__(self) -> str:
        lines = self.lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ["  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
        words = [self.sentence(), *self._words, *map(str.rstrip, rows)]
        return "\n".join([*words, self.outlook.ending] if self.outlook.ending else words)

    __repr__ = __str__

    @property
    def _words(self) -> list[str]:
        return [words for words in (*self.notes, self.outcome, self.outlook.head(self.epsilon)) if words]

    def _repr_html_(self) -> str:
        words = escape(" ".join((self.sentence(), *self._words)))
        head, *rest = self.lines() or [()]
        titles = "".join(f"<th>{escape(title)}</th>" for title in head)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in line)}</tr>" for line in rest)
        table = f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>" if head else ""
        return f"<p>{words}</p>{table}"
