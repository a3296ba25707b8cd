"""Calls to keepers: who may make them, what is under way, and what is replied with its outcome."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from fastapi import Request, Response

from adyton.errors import BadInput, Unfinished
from adyton.service import channel
from adyton.service.access import Access, Person
from adyton.service.channel import Busy, Forbidden, NotFound
from adyton.service.gate import Passage
from adyton.service.limits import CallCount
from adyton.service.receipts import sign, signing_key
from adyton.service.settings import Settings
from adyton.service.timing import SECOND, Clock, Durations, Line, Work, class_of

_KEEPER_SECONDS = 30
_KEEPER_WAITS = 600
"""How long a keeper may take for a call that starts no work; and how long it lets us wait for a result at a time."""
Key: TypeAlias = tuple[str | None, ...]
"""What a call under way can be asked for by: data set, analyst, id."""


class Service:
    """What the routes share: keepers, and what is under way."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.clock = clock
        self.datasets = settings.datasets
        self.durations = Durations.of_seconds(**settings.timing.model_dump())
        self.key = signing_key(Path(settings.receipts))
        self.access = Access(Path(settings.access))
        self.counted = CallCount(settings.limits.under_way, settings.limits.under_way_each)
        self.works: dict[Key, Work] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._lines: defaultdict[Key, Line] = defaultdict(Line)
        self._described: defaultdict[Key, dict[str, Any]] = defaultdict(dict)
        self._idle: defaultdict[str, channel.Idle] = defaultdict(list)

    def granted(self, request: Request, name: str, *, curator: bool = False) -> Person:
        """Who is calling, if this person may use the data set."""
        person: Person = self.passage(request).person  # type: ignore[assignment]
        if name not in self.datasets:
            raise NotFound("There is no such data set.")
        allowed = person.role == "curator" or (person.role == "analyst" and person.name in self.datasets[name].analysts)
        if not allowed or (curator and person.role != "curator"):
            raise Forbidden("Only a curator may do this." if allowed else "This data set was not granted to you.")
        return person

    def curator(self, request: Request) -> Person:
        """Who is calling, if this is a curator."""
        person: Person = self.passage(request).person  # type: ignore[assignment]
        if person.role != "curator":
            raise Forbidden("Only a curator may do this.")
        return person

    def shows_all(self, name: str) -> bool:
        """Whether analysts may fetch one another's results."""
        return name in self.datasets and self.datasets[name].results == "all"

    @staticmethod
    def passage(request: Request) -> Passage:
        """What the gate knows of a call."""
        passage: Passage = request.state.passage
        return passage

    async def keeper(self, name: str, person: Person, call: str, /, **fields: Any) -> Any:
        """Ask a keeper for something that starts no work."""
        try:
            async with asyncio.timeout(_KEEPER_SECONDS):
                return await self._call(name, person, call, fields)
        except TimeoutError:
            raise Busy("The data set does not answer. Try again later.") from None

    def _call(self, name: str, person: Person, call: str, fields: Mapping[str, Any]) -> Any:
        given = {field: value for field, value in fields.items() if value is not None}
        message = {"call": call, "analyst": person.name, "role": person.role, **given}
        return channel.call(self.datasets[name].socket, message, self._idle[name])

    async def work(
        self,
        request: Request,
        name: str,
        call: str,
        key: Key | None = None,
        /,
        *,
        owner: str | None = None,
        wait: float | None = None,
        **fields: Any,
    ) -> Any:
        """What a keeper's worker returns for a call, by the rule of timing; None if it is still under way.

        The work goes on when the caller hangs up. A *key* is what a later call can ask for it by.
        """
        passage = self.passage(request)
        person: Person = passage.person  # type: ignore[assignment]
        shortest = call == "consent" and not fields["grant"]  # a refusal starts no work
        kind = "count" if shortest else class_of(call, fields.get("request"), self.datasets[name].cells)
        duration = self.durations[kind]
        subject = json.dumps([call, fields], sort_keys=True)
        work = self.works.get(key) if key else None
        if work is not None and call == "ask" and work.subject.startswith(('["consent"', '["fetch"')):
            work, key = None, None  # behind a consent to it, the keeper knows whether it is the same request
        if work is None:
            begin = partial(self._until_done, name, person, call, fields)
            place = self._place(name, owner or person.name)
            work = self._start(begin, key, person, place, passage.arrival, duration, subject)
            work.asked = fields.get("request")
        elif work.subject != subject:
            raise BadInput("Another request of yours has this id. Choose another one.")
        passage.leave, done = await work.reply(passage.arrival, None if wait is None else round(wait * SECOND))
        return work.outcome if done else None

    def _place(self, name: str, who: str) -> tuple[str, str]:
        """Where somebody waits for what they have asked: at the ledger. If they could ask one data set while another
        one with the same ledger works, the budget would show each step of that work."""
        return (self.datasets[name].account or name, who)

    def _start(
        self,
        begin: Callable[[], Any],
        key: Key | None,
        person: Person,
        place: tuple[str, str],
        arrival: int,
        duration: int,
        subject: str,
    ) -> Work:
        held = self.counted.one_more(person.name)
        held.__enter__()
        line = self._lines[place]
        work = Work(begin, self.clock, arrival=arrival, duration=duration, line=line, subject=subject)

        def ended(task: asyncio.Task[None]) -> None:
            held.__exit__(None, None, None)
            self.tasks.discard(task)
            self._described.pop(place, None)
            if key is not None and self.works.get(key) is work:
                self.works.pop(key)

        self.tasks.add(work.task)
        if key is not None:
            self.works[key] = work
        work.task.add_done_callback(ended)
        return work

    async def _until_done(self, name: str, person: Person, call: str, fields: dict[str, Any]) -> Any:
        """The keeper's reply; where it is that something is under way, the reply after that."""
        waits = {"wait": _KEEPER_WAITS} if call == "ask" else {}
        reply = await self._call(name, person, call, {**fields, **waits})
        while isinstance(reply, dict) and reply.get("status") == "under way":
            await asyncio.sleep(0.5)  # a keeper that does not wait is not asked all the time
            if call == "ask":
                reply = await self._call(name, person, call, {**fields, **waits})
            else:
                reply = await self.keeper(name, person, "fetch", id=fields["id"], analyst_of=fields["analyst_of"])
        return reply

    async def described(self, name: str, person: Person) -> Any:
        """What a keeper says of its data set.

        While something of anybody is under way, the budget is the one before it: how it is spent, step by step,
        depends on rows. Data sets may have one budget. Who asks for the first time waits for what they have asked.
        """
        if not self.durations.on:
            return await self.keeper(name, person, "describe")
        place = self._place(name, person.name)
        if name not in self._described[place] or not self.tasks:
            async with self._lines[place].turn:
                self._described[place][name] = await self.keeper(name, person, "describe")
        return self._described[place][name]

    def outcome(self, name: str, owner: str | None, identifier: str, outcome: Any) -> Response:
        """The reply for what a keeper says of a request of *owner*; None is the curators, who are one."""
        if not isinstance(outcome, dict):
            outcome = {"status": "under way"}
        status = str(outcome.get("status"))
        if status == "refused":
            word = f" ({outcome['note']})" if outcome.get("note") else ""
            raise Forbidden(f"The curator refused this request{word}. Nothing was spent.")
        headers = {"Adyton-Request": identifier, "Adyton-Status": status}
        if status not in ("done", "ended"):
            return as_json({"id": identifier, "status": status}, 202, headers)
        result = outcome.get("result")
        if not isinstance(result, str):
            raise Unfinished("This request was charged and ended without a result. Its measurements are in the ledger.")
        data = result.encode("utf-8")
        about = {"entries": [], "date": None, **(outcome.get("receipt") or {})}
        receipt = {**about, "dataset": name, "analyst": owner, "request": identifier}
        headers["Adyton-Receipt"] = sign(self.key, receipt, data)
        return Response(data, 200, headers, media_type="application/json")


def owner_of(person: Person) -> str | None:
    """Whose request it is: all curators are one."""
    return None if person.role == "curator" else person.name


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply of JSON."""
    return Response(json.dumps(value, allow_nan=False), status, headers, media_type="application/json")
