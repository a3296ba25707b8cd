"""The one way from a request to a result: it is checked, paid, measured and kept, whatever it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Debit, Recorder
from adyton.programs.base import Program, program_of
from adyton.result.pending import carry_out, in_short
from adyton.result.receipt import Receipt
from adyton.result.result import Result
from adyton.session.misfits import MisfitCount
from adyton.tasks.request import Request

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
