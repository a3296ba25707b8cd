"""A keeper: the process that answers for one data set. It has the ledger and the queue; its worker has the rows.

Requests are stored in the ledger under the analyst's name and an id before anything is spent for them, and their
results before anybody gets them: a repeated id returns the stored result, whatever has been killed in between. One
operation runs at a time; analysts take turns. A worker that takes too long is killed, and another finishes the request
from the answers that were written down.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput, KernelFailure, LedgerError, LedgerMismatch
from adyton.exact import display
from adyton.kernel.ledger import Analyst, Ledger, StoredRequest
from adyton.kernel.ledger.plain import report_to_plain
from adyton.kernel.ledger.records import Account
from adyton.kernel.ledger.requests import checked_id
from adyton.schema.plain_values import as_plain
from adyton.service import channel
from adyton.service.channel import Busy, Forbidden, Gone, Message, NotFound, Refused, UnderWay

LONGEST_QUEUE = 1024
OWNER = ""
"""The name under which curators take turns."""
_WORD = 500
_SECONDS_TO_OPEN = 120.0
Key: TypeAlias = tuple[str | None, str]
"""Whose request, and its id; None is the curator."""


class Turns:
    """One operation at a time; those who wait take turns, however much each of them asks."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._busy = False

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """Wait for a turn; the next waits until the block ends."""
        if self._busy:
            if len(self) >= LONGEST_QUEUE:
                raise Busy("Too many requests are waiting for this data set. Try again later.")
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(who, deque()).append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._next()
                else:
                    self._drop(who, mine)
                raise
        self._busy = True
        try:
            yield
        finally:
            self._next()

    def _drop(self, who: str, mine: asyncio.Future[None]) -> None:
        with suppress(KeyError, ValueError):
            self._waiting[who].remove(mine)
            if not self._waiting[who]:
                del self._waiting[who]

    def _next(self) -> None:
        while self._waiting:
            who = next(iter(self._waiting))
            queue = self._waiting.pop(who)
            first = queue.popleft()
            if queue:
                self._waiting[who] = queue  # behind everybody else
            if not first.done():
                first.set_result(None)
                return
        self._busy = False


class Died(Exception):
    """The worker ended, or was killed, before it replied; *slow*: because it took too long."""

    def __init__(self, *, slow: bool) -> None:
        super().__init__()
        self.slow = slow


class WorkerProcess:
    """The worker of a keeper: started when it is needed, killed when it takes too long."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self.public: Mapping[str, Any] = {}
        """What the worker said about its table when it was opened."""
        self.total = Fraction(0)
        """The total of its ledger then."""

    @property
    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it, and wait until the table is open; an error of the table is raised as it is."""
        if self.running:
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "adyton.service.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            opened = await self._exchange(self._settings, _SECONDS_TO_OPEN)
            self.public, self.total = opened["public"], Fraction(opened["total"])
        except Refused as problem:
            await self.kill()
            if not self.public:
                raise
            _log(f"the table of {self._settings['name']} cannot be opened again: {problem}")
            raise Busy(_CLOSED) from None
        except Died as end:
            why = "could not be opened in time" if end.slow else "could not be opened: its process ended"
            raise Busy(f"The table {why}. Try again later.") from None

    async def call(self, message: Message, seconds: float) -> Any:
        """The reply to a call; *seconds* later it is killed."""
        await self.start()
        return await self._exchange(message, seconds)

    async def _exchange(self, message: Mapping[str, Any], seconds: float) -> Any:
        assert self._process is not None
        writer, reader = self._process.stdin, self._process.stdout
        assert writer is not None
        assert reader is not None
        reply, slow = None, False
        try:
            async with asyncio.timeout(seconds):
                await channel.send(writer, message)
                reply = await channel.receive(reader)
        except TimeoutError:
            slow = True
        except (OSError, channel.Malformed):
            pass
        except asyncio.CancelledError:
            await self.kill()
            raise
        if reply is None:
            await self.kill()
            raise Died(slow=slow)
        if "ok" in reply:
            return reply["ok"]
        raise Refused(reply["error"])

    async def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@dataclass(frozen=True)
class Caller:
    """Who asks, as the HTTP process has found out."""

    name: str
    curator: bool

    @property
    def account(self) -> str | None:
        """Their name in the ledger; curators have one account."""
        return None if self.curator else self.name


class Keeper:
    """Everything that can be asked about one data set."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.name: str = settings["name"]
        self.time_limit: float = settings["time_limit"]
        self.results: str = settings["results"]
        self.anchor = None if settings["anchor"] is None else Path(settings["anchor"])
        self.asked_above = {name: Fraction(amount) for name, amount in settings["consent_above"].items()}
        self.worker, self.turns = WorkerProcess(settings["worker"]), Turns()
        self._settings = settings
        self.holder = this_holder()
        self._flights: dict[Key, asyncio.Task[Message]] = {}
        self._spending: set[Key] = set()
        """The requests that a worker has begun: they can no longer be cancelled."""
        self.ledger: Ledger

    async def start(self) -> None:
        """Open the table and the ledger, which the worker creates if it is new."""
        await self.worker.start()
        self.ledger = await asyncio.to_thread(self._opened)

    def _opened(self) -> Ledger:
        ledger = Ledger.open(self._settings["worker"]["ledger"], total=self.worker.total, dataset=self.name)
        if self.anchor is not None and self.anchor.exists():
            ledger.check_head(self.anchor.read_text(encoding="utf-8"))
        else:
            ledger.report()  # all entries are checked, once
        set_all(ledger, self._settings["analysts"])
        self._say_what_nobody_asks_for(ledger)
        if self.anchor is not None:
            try:
                _write_head(ledger, self.anchor)
            except OSError as error:
                raise BadInput(f"the anchor {self.anchor} cannot be written ({error.strerror}).") from None
        return ledger

    def _say_what_nobody_asks_for(self, ledger: Ledger) -> None:
        """Tell the curator of parts that are set aside for people whom the configuration does not name. They are not
        given up: the configuration of another service may name them."""
        granted = self._settings["granted"]
        for own in ledger.analysts() if granted is not None else ():
            if own.aside and own.rest and own.name not in granted:
                _log(
                    f"{display(own.rest)} of {ledger.path} stays set aside for {own.name}, who is not in this "
                    "configuration. If no other service lets them ask, give it up: "
                    f"adyton ledger analyst {ledger.path} {own.name} --release"
                )

    async def answer(self, message: Message) -> object:
        """The reply to a call of the HTTP process."""
        given = dict(message)
        call = CALLS.get(str(given.pop("call", "")))
        name, role = given.pop("analyst", None), given.pop("role", None)
        if call is None or not isinstance(name, str) or role not in ("analyst", "curator"):
            raise BadInput("this is not a call of a keeper.")
        caller = Caller(name, role == "curator")
        if call in _OF_CURATORS and not caller.curator:
            raise Forbidden("Only a curator of the data set may do this.")
        try:
            bound = inspect.signature(call).bind(self, caller, **given)
        except TypeError:
            raise BadInput("this call of a keeper lacks an argument, or has one too many.") from None
        try:
            return await call(*bound.args, **bound.kwargs)
        except AdytonError as problem:
            kind = channel.error_of(problem)["kind"]
            if caller.curator or kind not in ("LedgerError", "LedgerMismatch"):
                raise
            _log(f"{self.name}: {problem}")
            raise Refused({"kind": kind, "message": _LEDGER}) from None

    # ---- what is public ---------------------------------------------------------------------------------------------

    async def describe(self, caller: Caller) -> Message:
        """The schema, who may fetch results, and the caller's budget; for an analyst also what was granted to them, for
        a curator how many requests wait for consent."""
        account = await asyncio.to_thread(self._account, caller.account)
        own: Message = {} if account.analyst is None else {"grant": self._grant(account.analyst)}
        if caller.curator:
            own = {"waiting": await asyncio.to_thread(self.ledger.waiting)}
        public = {"dataset": self.name, **self.worker.public, "results": self.results}
        return {**public, "budget": _amounts(account), **own}

    async def health(self, caller: Caller) -> Message:
        """Whether requests can be answered now."""
        return {"worker": "ready" if self.worker.running else "starting", "queue": len(self.turns)}

    def _grant(self, own: Analyst) -> Message:
        """What was granted to an analyst, and above which ε their requests wait for consent."""
        limit = self.asked_above.get(own.name)
        return {
            "part": None if own.part is None else str(own.part),
            "aside": own.aside,
            "expires": own.expires,
            "consent_above": None if limit is None else str(limit),
        }

    async def _budget(self, caller: Caller) -> dict[str, str]:
        return _amounts(await asyncio.to_thread(self._account, caller.account))

    def _account(self, name: str | None) -> Account:
        with self.ledger.on_behalf(name):
            return self.ledger.budget

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def ask(self, caller: Caller, id: str, request: Any, wait: float = 30.0) -> Message:
        """Carry out a request, or return the stored result of the same request."""
        key, body = (caller.account, checked_id(id)), _canonical(request)
        flight = self._flights.get(key)
        if flight is None:
            limit = self.asked_above.get(caller.name)
            if limit is not None and await self._stored(key, body) is None:
                checked = await self._in_turn(caller, {"call": "check", "request": request})
                if Fraction(checked["epsilon"]) > limit:
                    begun = partial(self.ledger.begin_request, *key, body=body, status="waiting")
                    row, _ = await asyncio.to_thread(begun)
                    return {"id": id, "status": row.status}
            flight = self._flight(key, body)
        if flight.get_name() != body:
            raise BadInput(_OTHER.format(id=id))
        return await self._awaited(id, flight, wait)

    async def fetch(self, caller: Caller, id: str, analyst_of: str | None = None, wait: float = 0.0) -> Message:
        """A request that was made before: its result, or how far it is."""
        whose = caller.account if analyst_of is None else analyst_of
        if whose != caller.account and not caller.curator and self.results != "all":
            raise NotFound(_UNKNOWN)
        key = (whose, checked_id(id))
        if (flight := self._flights.get(key)) is not None:
            return await self._awaited(id, flight, wait)
        row = await self._stored(key)
        if row is None:
            raise NotFound(_UNKNOWN)
        if row.status == "begun" and _MEASURE in json.loads(row.body):
            async with self.turns.turn(caller.name):  # behind the worker that may have it
                row = await self._stored(key)
                if row is None:
                    raise NotFound(_UNKNOWN)
                if not row.finished and not self._may_take(row):
                    return {"id": id, "status": "under way"}
                return await (self._told(row) if row.finished else self._measured_by_the_dead(key))
        if row.status == "begun":  # by a process that has ended
            return await self._awaited(id, self._flight(key, row.body), wait)
        return await self._told(row)

    async def requests(self, caller: Caller) -> list[Message]:
        """The caller's requests; for a curator, everybody's."""
        everybody = caller.curator or self.results == "all"
        rows = await asyncio.to_thread(self.ledger.requests)
        return [
            self._line(row, caller)
            for row in rows
            if row.dataset == self.name and (everybody or row.analyst == caller.account)
        ]

    async def consent(self, caller: Caller, id: str, analyst_of: str, grant: bool, word: str = "") -> Message:
        """A curator's decision on a request that waits for it."""
        if not isinstance(word, str) or len(word) > _WORD or not isinstance(grant, bool):
            raise BadInput(f"a decision is grant = true or false, with a word of up to {_WORD} characters.")
        key = (_text(analyst_of), checked_id(id))
        row = await self._stored(key)
        if row is None:
            raise NotFound(_UNKNOWN)
        if row.status != "waiting":
            raise BadInput(f"this request does not wait for consent: it is {row.status}.")
        said = f"{caller.name}: {word}" if word else caller.name
        await asyncio.to_thread(partial(self.ledger.consent_request, *key, grant=grant, word=said))
        if not grant:
            return {"id": id, "status": "refused"}
        return await self._awaited(id, self._flight(key, row.body), 0.0)

    async def cancel(self, caller: Caller, id: str) -> Message:
        """Give up a request that nothing was spent for."""
        key = (caller.account, checked_id(id))
        flight, row = self._flights.get(key), await self._stored(key)
        if row is None and flight is None:
            raise NotFound(_UNKNOWN)
        if key in self._spending or (row is not None and (row.finished or row.status == "begun")):
            raise UnderWay(_BEGUN)
        if flight is not None:
            flight.cancel()
            with suppress(asyncio.CancelledError, AdytonError):
                await flight
        if not await self._forgotten(key):
            raise UnderWay(_BEGUN)
        return {"id": id, "status": "cancelled"}

    def _flight(self, key: Key, body: str) -> asyncio.Task[Message]:
        """The task that carries out a request; the same one for all who wait for it."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.create_task(self._carried_out(key, body), name=body)
            flight.add_done_callback(partial(self._landed, key))
        return flight

    def _landed(self, key: Key, flight: asyncio.Task[Message]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # whoever waited for it has been told; maybe nobody did

    async def _awaited(self, id: str, flight: asyncio.Task[Message], wait: float) -> Message:
        seconds = float(wait) if isinstance(wait, int | float) and 0 <= wait <= 3600 else 30.0
        done, _ = await asyncio.wait([flight], timeout=seconds)
        if not done:
            return {"id": id, "status": "under way"}
        if flight.cancelled():
            raise NotFound(_UNKNOWN)
        return {"id": id, **flight.result()}

    async def _carried_out(self, key: Key, body: str) -> Message:
        """Let a worker carry out a request, which stores it and its result; finish one that ended with another
        process."""
        row = await self._stored(key, body)
        if row is not None and row.finished:
            return await self._told(row)
        if row is not None and (row.status == "waiting" or not self._may_take(row)):
            return {"status": "waiting" if row.status == "waiting" else "under way"}
        who, id = key
        async with self.turns.turn(who or OWNER):
            self._spending.add(key)
            try:
                if row is not None:
                    await asyncio.to_thread(self.ledger.take_request, who, id, self.holder)
                asked: Message = {"analyst": who, "id": id, "holder": self.holder, "body": body}
                told = await self._worked(asked, resume=row is not None)
            except AdytonError:
                if not await self._forgotten(key):  # something was spent, maybe by the keeper of another service
                    row = await self._stored(key, body)
                    if row is not None and (row.finished or row.holder != self.holder):
                        return await self._told(row) if row.finished else {"status": "under way"}
                raise
            finally:
                self._spending.discard(key)
        return {**told, "receipt": await asyncio.to_thread(self._anchored, key)}

    def _may_take(self, row: StoredRequest) -> bool:
        """Whether the process that holds a request has ended, as far as can be known from here; or is this one, whose
        worker does not have it: it has one operation at a time."""
        return row.holder == self.holder or holder_ended(row.holder, 2 * self.time_limit + _SECONDS_TO_OPEN)

    async def _worked(self, asked: Message, *, resume: bool) -> Message:
        """What the worker returns. If it dies, another one finishes what it began; if it takes too long, what was
        measured until then is returned; also if another one dies of it."""
        call: Message = {"call": "resume", **asked, "bare": False} if resume else {"call": "ask", **asked}
        for _ in range(3):
            try:
                return dict(await self.worker.call(call, self.time_limit))
            except Died as end:
                call = {"call": "resume", **asked, "bare": end.slow or call["call"] == "resume"}
                if end.slow and not await asyncio.to_thread(self.ledger.answers, asked["analyst"], asked["id"]):
                    break
        raise Busy(
            f"The request could not be carried out within {self.time_limit:g} seconds. Ask for less, or try later."
        )

    async def _stored(self, key: Key, body: str | None = None) -> StoredRequest | None:
        """The stored request with this id, if it is about this data set; another one than *body* is an error."""
        row = await asyncio.to_thread(self.ledger.request, *key)
        if row is not None and body is not None and (row.body, row.dataset) != (body, self.name):
            raise BadInput(_OTHER.format(id=key[1]))
        return row if row is not None and row.dataset == self.name else None

    async def _forgotten(self, key: Key) -> bool:
        """Forget a request, unless something was spent for it, or it was granted and has not been taken from here."""
        return await asyncio.to_thread(partial(self.ledger.cancel_request, *key, holder=self.holder))

    def _receipt(self, key: Key) -> Message:
        """What a receipt says beside the result: the entries of the ledger that paid for it, and the day."""
        paid = [entry for entry, _ in self.ledger.answers(*key)]
        return {"entries": [entry.number for entry in paid], "date": paid[0].time[:10] if paid else None}

    async def _told(self, row: StoredRequest) -> Message:
        """What is said about a stored request."""
        told: Message = {"id": row.id, "status": row.status}
        told |= {} if row.note is None else {"note": row.note}
        if row.result is not None:
            told |= {"result": row.result, "receipt": await asyncio.to_thread(self._receipt, (row.analyst, row.id))}
        return told

    def _line(self, row: StoredRequest, caller: Caller) -> Message:
        asked = json.loads(row.body)
        return {
            "id": row.id,
            "analyst": row.analyst,
            "request": asked,
            "status": row.status,
            "made": row.made if caller.curator else row.made[:10],
        }

    async def _in_turn(self, caller: Caller, message: Message) -> Any:
        """A call of the worker that spends nothing, when it is the caller's turn."""
        async with self.turns.turn(caller.name):
            try:
                return await self.worker.call({**message, "analyst": caller.account}, self.time_limit)
            except Died:
                raise Busy("The process behind this data set was ended. Try again.") from None

    def _anchored(self, key: Key) -> Message:
        """Write the head of the ledger to its place outside; returns what the receipt of a request says."""
        if self.anchor is not None:
            try:
                _write_head(self.ledger, self.anchor)
            except (OSError, LedgerError) as error:  # what was asked is paid for, and is answered
                _log(f"the anchor {self.anchor} was not written: {error}")
        return self._receipt(key)

    # ---- the door ---------------------------------------------------------------------------------------------------

    async def open(self, caller: Caller) -> Any:
        """A new door of the kernel."""
        if caller.name in self.asked_above:
            raise Forbidden("Requests of this analyst need the curator's consent, so there is no door. Send requests.")
        return await self._in_turn(caller, {"call": "open"})

    async def at_door(self, caller: Caller, call: str, **given: Any) -> Any:
        """A call at a door that spends nothing."""
        if not self.worker.running:
            raise Gone("this door is closed: the process behind it has ended. Open another.")
        return await self._in_turn(caller, {"call": call, **given})

    async def measure(self, caller: Caller, door: str, id: str, **asked: Any) -> Message:
        """A measurement at a door: its answer is stored under the id."""
        if caller.name in self.asked_above:
            raise Forbidden("Requests of this analyst need the curator's consent, so there is no door. Send requests.")
        key, body = (caller.account, checked_id(id)), _canonical({_MEASURE: asked})
        async with self.turns.turn(caller.name):
            row = await self._stored(key, body)
            if row is not None and row.finished:
                told = await self._told(row)
            elif row is not None:
                told = await self._measured_by_the_dead(key)
            else:
                told = await self._measured(key, body, door, asked)
        return {"status": told["status"], "result": told["result"], "budget": await self._budget(caller)}

    async def _measured(self, key: Key, body: str, door: str, asked: Message) -> Message:
        if not self.worker.running:
            raise Gone("this door is closed: the process behind it has ended. Open another.")
        mine: Message = {"analyst": key[0], "id": key[1], "holder": self.holder, "body": body}
        try:
            told = await self.worker.call({"call": "measure", **mine, "door": door, "asked": asked}, self.time_limit)
        except Died:
            return await self._measured_by_the_dead(key)
        except AdytonError:
            await self._forgotten(key)
            raise
        await asyncio.to_thread(self._anchored, key)
        return dict(told)

    async def _measured_by_the_dead(self, key: Key) -> Message:
        """The answer that a worker wrote down before it ended."""
        stored = await asyncio.to_thread(self.ledger.answers, *key)
        if not stored:
            await self._forgotten(key)
            raise Gone("this door is closed: the process behind it has ended. Nothing was spent. Open another.")
        if stored[0].answer is None:
            raise Refused({"kind": "KernelFailure", "message": str(KernelFailure())})
        await asyncio.to_thread(self.ledger.finish_request, *key, "done", stored[0].answer)
        return {"status": "done", "result": stored[0].answer}

    # ---- the ledger -------------------------------------------------------------------------------------------------

    async def account(self, caller: Caller) -> Message:
        """Everything in the ledger."""
        return await asyncio.to_thread(lambda: report_to_plain(self.ledger.report()))

    async def analysts(self, caller: Caller) -> list[Message]:
        """Who may spend how much and what is left, what they have spent, and above which ε their requests wait."""
        balance = await asyncio.to_thread(self.ledger.balance)
        return [
            {
                **as_plain(asdict(own)),
                **self._grant(own),
                "left": str(balance.left(own)),
                "granted": own.name in self._settings["analysts"],
            }
            for own in balance.analysts.values()
        ]


_MEASURE = "measure"
"""The key of the body of a measurement at a door."""
_OTHER = "the id {id} belongs to another request. Choose a new id for a new request."
_BEGUN = "This request has begun, or has ended: it cannot be cancelled. Fetch its result."
_UNKNOWN = "There is no request of this id."
_CLOSED = "The table cannot be opened at present. Tell the curator, whose log says why, and ask again later."
_LEDGER = (
    "The ledger cannot be used at present. Tell the curator, whose log says why. Send the same request again later, "
    "with its id: nothing is charged twice."
)
"""What analysts read instead of messages with paths of the server."""


def _at_door(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(keeper: Keeper, caller: Caller, **given: Any) -> Any:
        return await keeper.at_door(caller, name, **given)

    return call


_OWN = ("analysts", "describe", "health", "ask", "fetch", "consent", "cancel", "open", "measure")
_AT_DOOR = ("transform", "afford", "forget", "close")
CALLS: Mapping[str, Callable[..., Awaitable[Any]]] = (
    {name: getattr(Keeper, name) for name in _OWN}
    | {name: _at_door(name) for name in _AT_DOOR}
    | {"ledger": Keeper.account, "list": Keeper.requests}
)
"""What can be asked of a keeper."""
_OF_CURATORS = (Keeper.consent, Keeper.account, Keeper.analysts)


def this_holder() -> str:
    """The name of this process as the holder of requests: its host, its number, when it started, and the time now."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}/{int(time.time())}"


def holder_ended(holder: str | None, seconds: float) -> bool:
    """Whether a holder has ended: on this host, if there is no such process; on another one, after this time."""
    host, number, started, since = (holder or "///0").split("/")
    if host == socket.gethostname():
        return _started(int(number)) != started
    return time.time() > int(since) + seconds


def _started(number: int) -> str:
    """When a process started, in ticks of the system's clock, or a word where the system does not say; empty if there
    is none."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"


def _amounts(account: Account) -> dict[str, str]:
    amounts = {"total": account.total, "spent": account.spent, "remaining": account.remaining}
    return {name: f"{amount.numerator}/{amount.denominator}" for name, amount in amounts.items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadInput("the name of an analyst is a text.")
    return value


def set_all(ledger: Ledger, analysts: Mapping[str, Mapping[str, Any]]) -> None:
    """Set all parts: in any order, because what one gives up may be set aside for another."""
    while analysts:
        refused = {}
        for name, own in analysts.items():
            try:
                ledger.set_analyst(name, **own)
            except LedgerMismatch as problem:
                refused[name], why = own, problem
        if len(refused) == len(analysts):
            raise why
        analysts = refused


def _write_head(ledger: Ledger, anchor: Path) -> None:
    with replaced(anchor) as file:
        file.write_text(f"{ledger.head()}\n", encoding="utf-8")


def _log(sentence: str) -> None:
    """Tell the curator, on the standard error of the service."""
    sys.stderr.write(f"adyton: {sentence}\n")


def _canonical(request: Any) -> str:
    """A request as it is stored and compared."""
    if not isinstance(request, dict):
        raise BadInput("a request must be a mapping.")
    return json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


async def run(settings: Mapping[str, Any]) -> None:
    """Serve until the process is asked to end; then what is under way is completed."""
    keeper, ended = Keeper(settings), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await keeper.start()
    except Exception as problem:
        _say({"error": channel.error_of(problem)})
        raise SystemExit(1) from None
    server = await channel.serve(settings["socket"], keeper.answer)
    if settings["socket_user"] is not None:
        os.chown(settings["socket"], settings["socket_user"], -1)
    _say({"ready": keeper.worker.public["cells"]})
    while not ended.is_set() and os.getppid() == settings["parent"]:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 1)
    server.close()
    if keeper._flights:
        await asyncio.wait(list(keeper._flights.values()), timeout=keeper.time_limit)
    with suppress(TimeoutError):  # a measurement at a door
        async with asyncio.timeout(keeper.time_limit), keeper.turns.turn(OWNER):
            pass
    await keeper.worker.kill()


def _say(message: Message) -> None:
    """Tell the supervisor."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the settings from standard input, and serve."""
    settings = json.loads(sys.stdin.readline())
    asyncio.run(run(settings))


if __name__ == "__main__":
    main()
