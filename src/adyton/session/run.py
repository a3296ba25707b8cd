"""The one way from a request to a result: it is checked, paid, measured and kept, whatever it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, share
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Debit, Recorder
from adyton.kernel.sources import TableSource
from adyton.messages import shorten
from adyton.programs.base import Program, program_of
from adyton.queries import Identity
from adyton.result.misfits import GUESS, NO_SHARE, SHARE, Misfits, MisfitShare, NoisyMisfit
from adyton.result.pending import carry_out, in_short
from adyton.result.receipt import Receipt
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.schema.misfits import misfits_of
from adyton.schema.predicate_parser import parse_predicate
from adyton.schema.predicates import attributes_of
from adyton.tasks.request import Request

LEAST, MOST = Fraction(1, 1000), Fraction(1, 2)


_ROUNDING = Fraction(1, 1 << 40)


def run(kernel: Kernel[Any], request: Request, keep: Callable[[Any], None], program: Program | None = None) -> Result:
    """The result of a request; *keep* is as in :func:`~adyton.result.pending.carry_out`.

    A request that cannot be carried out to its end is refused before anything is spent. Should it nevertheless end
    early, between two measurements, what was measured is in the result where the program can use it, at the price that
    was paid, with a warning; else it is kept as it is.
    """
    return admitted(kernel, request, program)(keep)


def admitted(
    kernel: Kernel[Any], request: Request, program: Program | None = None
) -> Callable[[Callable[[Any], None]], Result]:
    """All that can be refused is refused now; what is returned carries the request out."""
    root, amount = kernel.root, request.epsilon
    program = program_of(request, root.schema) if program is None else program
    kernel.budget.afford(amount, kernel.ledger.path)
    table = root if request.where is None else root.where(request.where)
    source = program.source(table)
    misfits = MisfitCount.planned(root, program.looks_at, request)
    row_epsilon = amount * (1 - misfits.share(amount)) / source.stability
    measure = program.check(source, row_epsilon)
    odds.warn(amount, program.noun, kernel.terms.named_unit)
    receipt = Receipt.opened(kernel)
    if request.task.per_unit:  # each unit counts once, not as often as it has rows
        receipt = replace(receipt, rows_per_unit=1)

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
        return program.result.of(common | dict(answer.own), amount)

    return lambda keep: carry_out(kernel, work, keep, amount)


def charged(debits: Sequence[Debit], amount: Fraction) -> Fraction:
    """The sum of the debits; shares that a kernel has rounded down to whole steps count in full."""
    spent = sum((debit.amount for debit in debits), Fraction(0))
    return amount if 0 <= amount - spent <= amount * _ROUNDING else spent


def misfits_share(given: Rational | bool | None, schema: Schema, *, from_text: bool) -> MisfitShare:
    """The part of the budget: by default one where the table is a file of text, if that shows 5% of the rows that the
    schema says there are, or of 10,000 where it does not.

    Not where a frame holds texts: its types are inferred from rows, so that this would tell something about them.
    """
    if given is None:
        return MisfitShare(SHARE if from_text else Fraction(0), schema.rows_per_unit, schema.rows or GUESS)
    if isinstance(given, bool):
        return MisfitShare(SHARE if given else Fraction(0))
    part = share(given, "misfits")
    if not LEAST <= part <= MOST:
        raise BadInput(f"misfits is True, False or a part of epsilon from {LEAST} to {MOST}, given {shorten(given)}.")
    return MisfitShare(part)


@dataclass(frozen=True)
class MisfitCount:
    """A count of misfits that is planned: on which table, about which attributes, for which part of the budget."""

    root: TableSource
    counted: tuple[str, ...]
    """The attributes that are released."""
    tested: tuple[str, ...]
    """Other attributes that the predicate looks at."""
    shares: MisfitShare

    @classmethod
    def planned(cls, root: TableSource, counted: Sequence[str] | None, request: Request) -> MisfitCount:
        """For a request about these attributes; none where no attribute is looked at."""
        if counted is None:
            return cls(root, (), (), NO_SHARE)
        seen = () if request.where is None else attributes_of(parse_predicate(request.where, root.schema))
        tested = tuple(name for name in seen if name not in counted)
        share = misfits_share(request.misfits, root.schema, from_text=root.from_text)
        return cls(root, tuple(counted), tested, share)

    def share(self, epsilon: Fraction) -> Fraction:
        """The part that is taken of a release of *epsilon*."""
        return self.shares.of(epsilon)

    def measure(self, epsilon: Fraction) -> Misfits | None:
        """Count, for its part of what the release is charged; None if that is nothing.

        All rows are looked at, whatever the predicate: one that cannot be read is lost to the predicate, too.
        """
        share = self.share(epsilon)
        if not share:
            return None
        misfits = misfits_of(self.root.schema, self.counted, self.tested)
        price = epsilon * share
        counts = self.root.misfits(self.counted, self.tested)
        answer = counts.measure(Identity(counts.shape), price / self.root.stability)
        fits, *others = (int(count) for count in answer.answers)
        found = [NoisyMisfit(misfit, count) for misfit, count in zip(misfits, others, strict=True)]
        return Misfits(price, share, fits, answer.deviation, found)
