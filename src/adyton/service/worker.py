"""A worker: the process that opens one private table, and runs one operation at a time for its keeper.

It can be killed at any moment. Debits are durable before rows are counted, and answers before a program sees them, so
another worker finishes a request by replay (:mod:`adyton.session.run`). Nothing but replies leaves the process: its
standard streams are closed, it cannot be inspected by other processes of the same user, and it writes no core file.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from adyton.errors import BadInput, LargeBudget, RowsChanged, Unfinished, UnfinishedRelease
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger, Limits
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.operators import Mechanism, check_request
from adyton.kernel.recorder import Debit, Recorded, Recorder
from adyton.kernel.sources import Source
from adyton.plans.registry import ALGORITHMS
from adyton.programs.base import Program, program_of
from adyton.result.pending import Measurements, in_short
from adyton.result.result import Result
from adyton.schema.attributes import CelledAttribute
from adyton.service.channel import Gone, Message, error_of, read, write
from adyton.service.quotas import Quota, bytes_of, cells_of, lines_of_groups, work_of
from adyton.service.sealing import seal
from adyton.session import Session
from adyton.session.run import admitted, resumed
from adyton.session.wire import decode, decode_result, encode_facts, encode_result
from adyton.tasks import NumbersTask
from adyton.tasks.request import Request, sent_request

MOST_DOORS, MOST_SOURCES = 256, 20_000
"""How many doors may be open at once, and how many sources each may hold."""
MOST_LINES, MOST_GROUPS = 7_000_000, 1_000_000
"""The most numbers of a result, and the most groups of which it has several numbers: what is paid for must fit into a
message, however long its numbers are."""
_FRACTION = re.compile(r"([0-9]{1,2700})(?:/([0-9]{1,2700}))?", re.ASCII)
_SAID = (LargeBudget, RowsChanged, UnfinishedRelease)
"""The warnings that a reply repeats."""


class Door:
    """The sources that an analyst has derived, by number."""

    def __init__(self, analyst: str | None, root: Source) -> None:
        self.analyst, self.sources = analyst, {root.node: root}

    def source(self, number: object) -> Source:
        """The source of this number."""
        source = self.sources.get(number) if isinstance(number, int) else None
        if source is None:
            raise Gone("this door has no such source: it was forgotten, or belongs to another door. Derive it again.")
        return source


class Worker:
    """One open table, and what its keeper may ask of it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        ALGORITHMS.own_only()
        data, total = settings["data"], settings["total"]
        if total is None and not Ledger.exists(settings["ledger"]):
            raise BadInput("its ledger does not exist: give the total, as total = 3 or --total 3, and it is made.")
        opened = partial(
            Session,
            data if isinstance(data, str) else list(data),
            table=settings["table"],
            schema=settings["schema"],
            epsilon=None if total is None else Fraction(total),
            ledger=settings["ledger"],
            dataset=settings["name"],
            accept=settings["accept"],
        )
        self.session = opened(unit=settings.get("unit"))
        if settings.get("unit") is not None and self.session.schema.unit is not None:
            self.session = opened()  # the table has a column of that name, which the schema does not name
        self.kernel: Kernel[Any] = self.session._kernel
        ledger = self.session.ledger
        assert isinstance(ledger, Ledger)
        self.ledger = ledger
        if settings.get("anchor") is not None:
            ledger.keep_anchor(settings["anchor"])
        self.doors: dict[str, Door] = {}
        self.quota = Quota.of(settings.get("quota"))

    # ---- what is public ---------------------------------------------------------------------------------------------

    def describe(self) -> Message:
        """What analysts may know about the table, without budgets."""
        root, terms = self.kernel.root, self.kernel.terms
        return {
            "schema": root.schema.to_dict(),
            "unit": self.session.unit,
            "rows_per_unit": terms.rows_per_unit,
            "terms": terms.to_plain(),
            "from_text": root.from_text,
            "steady": root.steady,
            "facts": encode_facts(root.facts),
            "private": self.kernel.private,
            "cells": {
                name: own.size for name, own in root.schema.attributes.items() if isinstance(own, CelledAttribute)
            },
        }

    # ---- requests ---------------------------------------------------------------------------------------------------

    def _fitting(self, asked: Request) -> Program:
        """The program for a request whose result fits into a message; other requests are refused, and cost nothing."""
        program = program_of(asked, self.kernel.root.schema)
        most = MOST_GROUPS if isinstance(asked.task, NumbersTask) else MOST_LINES
        if program.lines > most:
            raise BadInput(
                f"the result would have {program.lines:,} lines, and a service returns at most {most:,}. Choose fewer "
                "attributes, or declare fewer levels or bins."
            )
        return program

    def size(self, analyst: str, body: str) -> Message:
        """How much work a request is, from public sizes; it is refused if its answer would not fit into the storage
        that its analyst has left."""
        asked = sent_request(json.loads(body))
        lines, queries = self._fitting(asked).lines, len(getattr(asked.task, "queries", None) or ())
        if isinstance(asked.task, NumbersTask):
            lines, queries = lines_of_groups(lines), lines * len(asked.task.quantiles)
        self._check_quota(analyst, asked.epsilon, lines + queries, body)
        return {"work": work_of(lines, queries)}

    def _check_quota(self, analyst: str | None, epsilon: Fraction, lines: int, body: str) -> None:
        if analyst is not None and self.quota is not None:
            self.quota.check_epsilon(epsilon)
            self.quota.check_storage(self.ledger.stored_for(analyst), bytes_of(epsilon, lines, body))

    def ask(self, analyst: str | None, id: str, holder: str, body: str, limits: Any) -> Message:
        """Carry out a request, and store it and its result; where the limits of its analyst demand it, it is stored and
        waits for a curator's consent. Checks that need no row come first: what they refuse is not stored."""
        asked, kept = sent_request(json.loads(body)), list[Any]()
        with self._behalf(analyst, id, holder=holder, limits=_limits(limits)):
            carried_out = admitted(self.kernel, asked, self._fitting(asked))
            stored, _ = self.ledger.begin_request(analyst, id, body=body, limits=_limits(limits), holder=holder)
            if stored.status != "begun":
                return {"status": stored.status}
            try:
                result = carried_out(kept.append)
            except Exception as problem:
                return self._ended(analyst, id, body, problem)
            return self._done(analyst, id, result)

    def resume(self, analyst: str | None, id: str, holder: str, body: str, limits: Any, *, bare: bool) -> Message:
        """Finish a request that another worker began; *bare*: without computing anything from its measurements."""
        if not self._recorded(analyst, id, body).debits:
            return self.ask(analyst, id, holder, body, limits)
        with self._behalf(analyst, id, holder=holder, limits=_limits(limits)):
            return self._resumed(analyst, id, body, bare=bare)

    def _resumed(self, analyst: str | None, id: str, body: str, *, bare: bool) -> Message:
        recorder = self._recorded(analyst, id, body)
        cause = Unfinished("the process that carried it out was ended")
        if not bare:
            try:
                result = resumed(self.kernel, sent_request(json.loads(body)), recorder, cause)
            except Exception as problem:
                return self._ended(analyst, id, body, problem)
            if isinstance(result, Result):
                return self._done(analyst, id, result)
        return self._ended(analyst, id, body, cause)

    def _done(self, analyst: str | None, id: str, result: Result) -> Message:
        text = result.to_text(complete=False)  # what is computed from it, whoever gets it can compute
        return self._finished(analyst, id, "done" if result.unfinished is None else "ended", text)

    def _finished(self, analyst: str | None, id: str, status: Literal["done", "ended"], text: str) -> Message:
        """Store what became of a request; if another process was first, that is what is returned."""
        stored = self.ledger.finish_request(analyst, id, status, text)
        return {"status": stored.status, "result": stored.result}

    def _ended(self, analyst: str | None, id: str, body: str, problem: Exception) -> Message:
        """What was measured, where a request ended after a debit; before any, its error."""
        recorder = self._recorded(analyst, id, body)
        if not recorder.debits:
            raise problem
        debits, answers = tuple(recorder.debits), tuple(recorder.answers)
        measured = Measurements(self.ledger.dataset, debits, answers, self.kernel.private, in_short(problem))
        return self._finished(analyst, id, "ended", json.dumps(measured.to_dict()))

    def _recorded(self, analyst: str | None, id: str, body: str) -> Recorder:
        """The debits and answers of a request, as the ledger has them; none of another request with this id."""
        recorder, stored = Recorder(), self.ledger.request(analyst, id)
        if stored is None or (stored.body, stored.dataset) != (body, self.ledger.dataset):
            return recorder
        for entry, text in self.ledger.answers(analyst, id):
            debit = Debit(entry.number, entry.amount, entry.operator, entry.lineage)
            recorder.debits.append(debit)
            if text is not None:
                recorder.answers.append(Recorded(debit, decode_result(text)))
        return recorder

    def _behalf(self, analyst: str | None, id: str | None = None, **whose: Any) -> AbstractContextManager[Any]:
        return self.ledger.on_behalf(analyst, id, encode_result, **whose)

    # ---- the door ---------------------------------------------------------------------------------------------------

    def open(self, analyst: str | None) -> Message:
        """A new door: handles on this table for a plan elsewhere."""
        own = [token for token, door in self.doors.items() if door.analyst == analyst]
        if len(own) >= MOST_DOORS // 16:
            del self.doors[own[0]]  # the oldest
        elif len(self.doors) >= MOST_DOORS:
            raise BadInput("too many doors are open. Close one, or try again later.")
        token, root = secrets.token_hex(16), self.kernel.root
        self.doors[token] = Door(analyst, root)
        return {"door": token, "facts": encode_facts(root.facts)}

    def transform(self, analyst: str | None, door: str, source: Any, operator: Any) -> Message:
        """Derive sources; costs nothing."""
        place = self._door(analyst, door)
        derived = self.kernel.transform(place.source(source), decode(_text(operator)))
        if len(place.sources) + len(derived) > MOST_SOURCES:
            raise BadInput(f"a door holds at most {MOST_SOURCES:,} sources. Forget some, or open another door.")
        place.sources.update({one.node: one for one in derived})
        return {"facts": [encode_facts(one.facts) for one in derived]}

    def _measurement(self, analyst: str | None, door: str, asked: Message) -> tuple[Source, Any, Fraction, int]:
        """The source, the mechanism and the ε of a measurement, and the number of its answers."""
        source = self._door(analyst, door).source(asked.get("source"))
        mechanism, amount = decode(_text(asked.get("operator"))), _fraction(asked.get("epsilon"))
        if isinstance(mechanism, Mechanism):
            check_request(mechanism, source.facts.shape, amount)
        answers = getattr(getattr(mechanism, "queries", None), "count", 0)
        if isinstance(mechanism, MeasureTables):
            answers = sum(source.facts.shape.sizes(mechanism.places))  # type: ignore[union-attr]  # checked above
        return source, mechanism, amount, answers

    def weigh(self, analyst: str, door: str, body: str, asked: Message) -> Message:
        """How much work a measurement is, from public sizes; refused like a request (see :meth:`size`)."""
        source, mechanism, amount, answers = self._measurement(analyst, door, asked)
        self._check_quota(analyst, amount, answers, body + "".join(source.facts.lineage))
        return {"work": cells_of(mechanism.size(source.facts.shape, amount).steps)}

    def measure(
        self, analyst: str | None, id: str, holder: str, body: str, limits: Any, door: str, asked: Message
    ) -> Message:
        """Run a mechanism; it is charged before rows are counted, and its answer is stored under the id."""
        source, mechanism, amount, answers = self._measurement(analyst, door, asked)
        if answers > MOST_LINES:
            raise BadInput(f"a service returns at most {MOST_LINES:,} answers of a measurement, given {answers:,}.")
        with self._behalf(analyst, id, holder=holder, limits=_limits(limits)):
            self.kernel.afford(source, amount)
            self.ledger.begin_request(analyst, id, body=body, limits=_limits(limits), holder=holder)
            answer = self.kernel.measure(source, mechanism, amount)
            return self._finished(analyst, id, "done", encode_result(answer))

    def afford(self, analyst: str | None, door: str, source: Any, epsilon: Any) -> Message:
        """Refuse several measurements that cost more than the analyst has left."""
        place = self._door(analyst, door)
        with self._behalf(analyst):
            self.kernel.afford(place.source(source), _fraction(epsilon))
        return {}

    def forget(self, analyst: str | None, door: str, sources: Any) -> Message:
        """Drop handles that the client no longer holds."""
        place = self._door(analyst, door)
        for number in sources if isinstance(sources, list) else ():
            if isinstance(number, int):
                place.sources.pop(number, None)
        return {}

    def close(self, analyst: str | None, door: str) -> Message:
        """Close a door."""
        self._door(analyst, door)
        del self.doors[door]
        return {}

    def _door(self, analyst: str | None, door: object) -> Door:
        place = self.doors.get(door) if isinstance(door, str) else None
        if place is None or place.analyst != analyst:
            raise Gone(
                "this door is closed: the process behind it has ended, or it is another analyst's. Open another."
            )
        return place


CALLS: Mapping[str, Callable[..., Message]] = {
    name: getattr(Worker, name)
    for name in (
        "describe", "size", "ask", "resume", "open", "transform", "weigh", "measure", "afford", "forget", "close",
    )
}  # fmt: skip
"""What a keeper may ask of a worker."""


def reply(worker: Worker, message: Message) -> Message:
    """The reply to a message: what the call returns, or its error in one sentence."""
    given = dict(message)
    try:
        call = CALLS[given.pop("call")]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = call(worker, **given)
        remarks = [f"{one.message}" for one in said if issubclass(one.category, _SAID)]
        return {"ok": {**answer, "remarks": remarks} if remarks else answer}
    except Exception as problem:
        return {"error": error_of(problem)}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadInput("an operator is sent as a text.")
    return value


def _limits(plain: Any) -> Limits | None:
    """The limits of an analyst, as a keeper sends them: two fractions, or none of both."""
    return None if plain is None else Limits(*(None if limit is None else _fraction(limit) for limit in plain))


def _fraction(value: object) -> Fraction:
    parts = _FRACTION.fullmatch(value) if isinstance(value, str) else None
    if parts is None or not int(parts[2] or 1):
        raise BadInput('ε is sent as a fraction, such as "1/10".')
    return Fraction(int(parts[1]), int(parts[2] or 1))


def main() -> None:
    """Serve the keeper that started this process, until it closes the pipe."""
    parent = os.getppid()
    replies, calls = seal(), sys.stdin.buffer
    if os.getppid() != parent:
        return  # the keeper died before the parent-death signal was set
    settings = read(calls)
    if settings is None:
        return
    try:
        worker = Worker(settings)
        opened = {"ok": {"public": worker.describe(), "total": str(worker.ledger.total)}}
    except Exception as problem:
        write(replies, {"error": error_of(problem)})
        return
    write(replies, opened)
    while (message := read(calls)) is not None:
        write(replies, reply(worker, message))


if __name__ == "__main__":
    main()
