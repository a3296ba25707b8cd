"""One request in progress: whatever ends it, what was paid for is returned, or kept where it can be finished.

The kernel records every answer before the request's own code sees it. If that code is interrupted or fails, it runs
again on the recorded answers (a replay, which costs no privacy); where answers are missing, the measurements are
returned as they are.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from adyton.errors import AdytonError, Unfinished, UnfinishedRelease
from adyton.exact import as_number, display
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Debit, Ended, Recorded, Recorder
from adyton.queries import Noisy, Partition
from adyton.queries.measurement import NoisyTables
from adyton.result.folder import Place, staged

Result = TypeVar("Result")
FILE, FORMAT = "measurements.json", "adyton measurements"


def carry_out(
    kernel: Kernel[Any], work: Callable[[Recorder], Result], keep: Callable[[Any], None], limit: Fraction
) -> Result:
    """The result of *work*, which measures and computes; it was checked before, and can be run again on its answers.
    At most *limit* is charged.

    *keep* is given a :class:`Pending` before anything is spent, and at the end the result, :class:`Measurements` if
    there is no result, or None if nothing was charged: whenever an interrupt comes, one of them is kept.
    """
    with kernel.recording(limit) as recorder:
        pending = Pending(kernel, work, recorder)
        keep(pending)
        try:
            result = work(recorder)
        except BaseException as cause:
            pending.cause = cause
            if not recorder.debits:
                keep(None)
                raise
            if not isinstance(cause, Exception):  # somebody ended the program
                kept = "What was measured is kept: session.last, or finish() of an estimator, makes a result of it."
                cause.add_note(f"{charge_of(recorder.debits)} {kept}")
                raise
        else:
            keep(result)
            return _remarked(result, recorder)
    finished = pending.finish()
    keep(finished)
    if isinstance(finished, Measurements) and not finished.answers:
        raise pending.cause
    if isinstance(finished, Measurements):
        raise Unfinished(f"{finished} session.last has it.") from (
            None if isinstance(pending.cause, AdytonError) else pending.cause
        )
    assert finished is not None  # there are debits
    return _remarked(finished, recorder)


def _remarked(result: Result, recorder: Recorder) -> Result:
    """The result; a warning is issued if something is missing from it."""
    unfinished = getattr(result, "unfinished", None)
    if unfinished is not None:
        said = f"{unfinished} {charge_of(recorder.debits)} What was measured is in the result."
        warnings.warn(said, UnfinishedRelease, 5)
    return result


class Pending(Generic[Result]):
    """A request that has begun and has no result yet."""

    def __init__(self, kernel: Kernel[Any], work: Callable[[Recorder], Result], recorder: Recorder) -> None:
        self._kernel, self._work, self._recorder = kernel, work, recorder
        self.cause: BaseException = KeyboardInterrupt()  # until the real cause is known

    def finish(self) -> Result | Measurements | None:
        """The result, computed from the recorded answers, or these answers as they are; None if nothing was charged."""
        if not self._recorder.debits:
            return None
        try:
            with self._kernel.replaying(self._recorder, self.cause):
                return self._work(self._recorder)
        except Ended:
            return self.measurements(self.cause)
        except Exception as problem:
            return self.measurements(problem)

    def measurements(self, cause: BaseException) -> Measurements:
        """The noisy answers, as they were measured."""
        debits, answers = tuple(self._recorder.debits), tuple(self._recorder.answers)
        return Measurements(self._kernel.ledger.dataset, debits, answers, self._kernel.private, in_short(cause))


class Keeper:
    """Holds what was paid for last, so that it is not lost if an interrupt comes before it is assigned to a name."""

    _last: Any = None

    @property
    def last(self) -> Any:
        """What was paid for last: it is not lost if an interrupt comes before it is assigned to a name.

        A request that was interrupted during its arithmetic is finished now, from its measurements: nothing more is
        spent. If measurements are missing, this is :class:`~adyton.result.pending.Measurements`: the noisy answers.
        """
        if isinstance(self._last, Pending):
            self._last = self._last.finish()
        return self._last

    @last.setter
    def last(self, kept: Any) -> None:
        self._last = kept

    @property
    def measurements(self) -> Measurements | None:
        """The measurements of a request that has no result yet; None if there is no such request."""
        return self._last.measurements(self._last.cause) if isinstance(self._last, Pending) else None

    def keep(self, paid: Any) -> None:
        """Hold *paid*: a result, measurements, or a pending request."""
        self._last = paid


@dataclass(frozen=True, eq=False, repr=False)
class Measurements:
    """The measurements of a request that could not be completed: its noisy answers, and their price.

    They are differentially private, and may be published.
    """

    dataset: str
    debits: tuple[Debit, ...]
    """All debits, answered or not."""
    answers: tuple[Recorded, ...]
    private: bool
    ended: str
    """What ended the request."""
    elsewhere: str = ""
    """Where its result can be had, for a request that is carried out elsewhere."""

    @property
    def epsilon(self) -> Fraction:
        """What was charged."""
        return sum((debit.amount for debit in self.debits), Fraction(0))

    def __str__(self) -> str:
        listed = [f"{recorded.debit.operator}: {_in_short(recorded.answer)}" for recorded in self.answers]
        measured = f"Measured before: {'; '.join(listed)}." if listed else "No measurement was answered."
        return f"{self.ended} {charge_of(self.debits)} {measured}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return {
            "format": FORMAT,
            "version": 1,
            "dataset": self.dataset,
            "ended": self.ended,
            "epsilon": as_number(self.epsilon),
            "private": self.private,
            "measurements": [
                {
                    "entry": debit.number,
                    "epsilon": as_number(debit.amount),
                    "operator": debit.operator,
                    "lineage": list(debit.lineage),
                    **_plain(answer),
                }
                for debit, answer in self.answers
            ],
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``measurements.json`` into a new folder."""
        with staged(folder) as place:
            self.save_in(place)

    def save_in(self, place: Place) -> None:
        """Write the file into a folder that was prepared."""
        (place.folder / FILE).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")
        place.settle()

    def __repr__(self) -> str:
        mark = "" if self.private else "; simulated, NOT private"
        return f"<{len(self.answers)} measurements of an unfinished request, ε = {display(self.epsilon)}{mark}>"


def in_short(cause: BaseException) -> str:
    """What happened, in a few words. Adyton's messages say nothing about rows; other errors are named only by type."""
    what = str(cause).rstrip(".") if isinstance(cause, AdytonError) else type(cause).__name__
    what = "interrupted" if isinstance(cause, KeyboardInterrupt) else what
    return f"the request ended early ({what})."


def charge_of(debits: Sequence[Debit]) -> str:
    """A sentence that says what was charged nevertheless."""
    return f"ε = {display(sum((debit.amount for debit in debits), Fraction(0)))} was charged and stays spent."


def _plain(answer: Any) -> dict[str, Any]:
    """The answer to a measurement, as plain values that a person can read."""
    if isinstance(answer, Noisy):
        return {"answers": answer.answers.tolist(), "standard_deviations": answer.standard_deviations.tolist()}
    if isinstance(answer, NoisyTables):
        return {
            "tables": [
                {
                    "attributes": list(table.group),
                    "counts": np.asarray(table.counts).tolist(),
                    "standard_deviation": float(np.sqrt(table.variance)),
                }
                for table in answer
            ]
        }
    if isinstance(answer, Partition):
        return {"groups": answer.labels.tolist()}
    return {"chosen": np.asarray(answer).tolist()}


def _in_short(answer: Any) -> str:
    """An answer in a few words: the number itself if there is only one."""
    plain = _plain(answer)
    answers = plain.get("answers")
    if answers is not None and len(answers) == 1:
        return f"{answers[0]:,} ± {plain['standard_deviations'][0]:.3g}"
    if answers is not None:
        return f"{len(answers):,} numbers"
    if "tables" in plain:
        return f"{len(plain['tables']):,} tables"
    return "a partition" if "groups" in plain else "a choice"
