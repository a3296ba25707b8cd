"""The operations of one data set: one at a time, in turns, by a worker that may die of any of them.

A request is stored in the ledger under the analyst's name and an id before anything is spent for it, and its result
before anybody gets it. A worker that takes too long is killed, and another finishes the request from the answers that
were written down; a request that another process left unfinished is taken over when that process has ended.

Until the first debit a request can be cancelled, also while a worker prepares it, which may take long. Then the ledger
refuses every later debit for it, the worker is killed, and another one is started for those who wait.

Whether a request may spend is not decided here: the ledger decides it, in the transactions in which it begins and is
debited (:mod:`adyton.kernel.ledger.requests`). What is read here beforehand only says what to do next.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from adyton.errors import AdytonError, BadInput, KernelFailure, LedgerError
from adyton.kernel.ledger import Ledger, Limits, StoredRequest
from adyton.kernel.ledger.requests import USED, past_of
from adyton.service import channel
from adyton.service.channel import Busy, Gone, Message, NotFound, Refused, UnderWay
from adyton.service.quotas import Quota, WorkDone, bytes_of

_CURATOR = ""
"""The name under which curators take turns."""
_LONGEST_QUEUE = 1024
_SECONDS_TO_OPEN = 120.0
Key: TypeAlias = tuple[str | None, str]
"""Whose request, and its id; None is the curator."""
MEASURE = "measure"
"""The key of the body of a measurement at a door."""
_PAST = "the request {id} {past}, and nothing was spent for it. Choose a new id to ask again."
_BEGUN = "This request has begun, or has ended: it cannot be cancelled. Fetch its result."
CANCELLED = "This request was cancelled. Nothing was spent."
GIVEN_UP = "This request could not be carried out. Nothing was spent."
UNKNOWN = "There is no request of this id."
_CLOSED = "The table cannot be opened at present. Tell the curator, whose log says why, and ask again later."
_DOOR_CLOSED = "this door is closed: the process behind it has ended. {}Open another."


class Operations:
    """Carries out what is asked of a data set, and knows how far each request is."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        worker: WorkerProcess,
        *,
        time_limit: float,
        anchor: Path | None,
        limits: Callable[[str | None], Limits | None],
    ) -> None:
        self._name, self._ledger, self._worker = name, ledger, worker
        self._time_limit, self._anchor, self._limits = time_limit, anchor, limits
        self._turns, self._holder = Turns(), this_holder()
        self.quota: Quota | None = None
        self.work: WorkDone | None = None
        """The quota of each analyst, where they have one, and what they have used of it."""
        self._tasks: dict[Key, asyncio.Task[Message]] = {}
        """The requests that are being carried out, or wait for their turn."""

    async def ended(self) -> None:
        """Wait until what is under way has ended; each part for the time limit at most."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=self._time_limit)
        with suppress(TimeoutError):  # a measurement at a door
            async with asyncio.timeout(self._time_limit), self._turns.turn(_CURATOR):
                pass

    async def in_turn(self, who: str, message: Message) -> Any:
        """A call of the worker that spends nothing, when it is somebody's turn."""
        async with self._turns.turn(who):
            try:
                return await self._worker.call(message, self._time_limit)
            except Died:
                raise Busy("The process behind this data set was ended. Try again.") from None

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def ask(self, key: Key, body: str, wait: float) -> Message:
        """Carry out a request, or return the stored result of the same request."""
        await self._check_room(key, body)
        task = self._task(key, body)
        if task.get_name() != body:
            raise BadInput(USED.format(id=key[1]))
        return await self._awaited(key, task, wait)

    async def _check_room(self, key: Key, body: str) -> None:
        """Refuse a new request whose text alone is more than its analyst may still store: what is cancelled stays."""
        if self.quota is not None and key[0] is not None and await self.stored(key) is None:
            kept = await asyncio.to_thread(self._ledger.stored_for, key[0])
            self.quota.check_storage(kept, bytes_of(Fraction(1), 0, body))

    async def granted(self, row: StoredRequest) -> Message:
        """Carry out a request that waited for consent."""
        key = (row.analyst, row.id)
        outcome = await self._awaited(key, self._task(key, row.body), 0.0)
        if outcome["status"] == "waiting":  # of a task that asked before it was granted
            outcome = await self._awaited(key, self._task(key, row.body), 0.0)
        return outcome

    async def fetch(self, who: str, key: Key, wait: float) -> Message:
        """The result of a request, or how far it is. One that a process left unfinished when it ended is finished."""
        if (task := self._tasks.get(key)) is not None:
            return await self._awaited(key, task, wait)
        row = await self.known(key)
        if row.status != "begun":
            return await self._outcome(row)
        if MEASURE not in json.loads(row.body):
            return await self._awaited(key, self._task(key, row.body), wait)
        async with self._turns.turn(who):  # behind the worker that may have it
            row = await self.known(key)
            if row.finished:
                return await self._outcome(row)
            return await self._left_measured(key) if self._may_take(row) else {"id": row.id, "status": "under way"}

    async def cancel(self, key: Key, body: str | None = None) -> None:
        """Give up a request that nothing was spent for: the ledger refuses its debits, then a worker that prepares it
        is killed. With *body*, also one that nobody here has heard of yet."""
        task, row = self._tasks.get(key), await self.stored(key)
        if row is not None:
            body = row.body
        elif task is not None:
            body = task.get_name()
        if body is None:
            raise NotFound(UNKNOWN)
        await self._check_room(key, body)
        withdraw = partial(self._ledger.withdraw_request, *key, body=body, holder=self._holder)
        if not await asyncio.to_thread(withdraw):
            raise UnderWay(_BEGUN)
        if (task := self._tasks.get(key)) is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, AdytonError):
                await task

    async def stored(self, key: Key, body: str | None = None) -> StoredRequest | None:
        """The stored request with this id, if it is about this data set; another one than *body* is an error."""
        row = await asyncio.to_thread(self._ledger.request, *key)
        if row is not None and body is not None and (row.body, row.dataset) != (body, self._name):
            raise BadInput(USED.format(id=key[1]))
        return row if row is not None and row.dataset == self._name else None

    async def known(self, key: Key) -> StoredRequest:
        """The stored request with this id, or an error."""
        row = await self.stored(key)
        if row is None:
            raise NotFound(UNKNOWN)
        if row.status == "withdrawn":
            raise NotFound(CANCELLED if row.note is None else GIVEN_UP)
        return row

    def _task(self, key: Key, body: str) -> asyncio.Task[Message]:
        """The task that carries out a request; the same one for all who wait for it."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._carried_out(key, body), name=body)
            task.add_done_callback(partial(self._task_ended, key))
        return task

    def _task_ended(self, key: Key, task: asyncio.Task[Message]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # whoever waited for it knows of it; maybe nobody did

    async def _awaited(self, key: Key, task: asyncio.Task[Message], wait: float) -> Message:
        seconds = float(wait) if isinstance(wait, int | float) and 0 <= wait <= 3600 else 30.0
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            return {"id": key[1], "status": "under way"}
        if task.cancelled():  # how long a table takes to open depends on rows: it belongs to the time of this call
            with suppress(AdytonError):
                await self._worker.start()
            raise NotFound(CANCELLED)
        return {"id": key[1], **task.result()}

    async def _carried_out(self, key: Key, body: str) -> Message:
        """Let a worker carry out a request, which stores it and its result; finish one that ended with another
        process."""
        row = await self.stored(key, body)
        if row is not None and row.status == "withdrawn":
            raise BadInput(_PAST.format(id=row.id, past=past_of(row)))
        if row is not None and row.finished:
            return await self._outcome(row)
        if row is not None and (row.status == "waiting" or not self._may_take(row)):
            return {"status": "waiting" if row.status == "waiting" else "under way"}
        who, id = key
        if row is not None:
            await asyncio.to_thread(self._ledger.take_request, who, id, self._holder)
        async with self._turns.turn(who or _CURATOR):
            try:
                if row is None and who is not None and self.work is not None:
                    size = await self._weighed({"call": "size", "analyst": who, "body": body})
                    self.work.book(who, size["work"])
                outcome = await self._worked(self._asked(key, body), resume=row is not None)
            except AdytonError:
                row = await self._given_up(key)
                if row is not None and row.finished:  # by the keeper of another service
                    return await self._outcome(row)
                if row is not None and row.status == "begun" and row.holder != self._holder:
                    return {"status": "under way"}
                raise
        if outcome["status"] == "waiting":
            return outcome
        return {**outcome, "receipt": await asyncio.to_thread(self._anchored, key)}

    async def _weighed(self, call: Message) -> Any:
        """How much work something is; refused, if it would store too much."""
        try:
            return await self._worker.call(call, self._time_limit)
        except Died:
            raise Busy("The process behind this data set was ended. Try again.") from None

    def _asked(self, key: Key, body: str) -> Message:
        """What a worker is told of a request, whatever it does for it."""
        limits = self._limits(key[0])
        plain = None if limits is None else [None if limit is None else str(limit) for limit in limits]
        return {"analyst": key[0], "id": key[1], "holder": self._holder, "body": body, "limits": plain}

    def _may_take(self, row: StoredRequest) -> bool:
        """Whether the process that holds a request has ended, as far as can be known from here; or is this one, whose
        worker does not have it: it has one operation at a time."""
        return row.holder == self._holder or holder_ended(row.holder, 2 * self._time_limit + _SECONDS_TO_OPEN)

    async def _worked(self, asked: Message, *, resume: bool) -> Message:
        """What the worker returns. If it dies, another one finishes what it began; if it takes too long, what was
        measured until then is returned; also if another one dies of it."""
        call: Message = {"call": "resume", **asked, "bare": False} if resume else {"call": "ask", **asked}
        for _ in range(3):
            try:
                return dict(await self._worker.call(call, self._time_limit))
            except Died as end:
                call = {"call": "resume", **asked, "bare": end.slow or call["call"] == "resume"}
                if end.slow and not await asyncio.to_thread(self._ledger.answers, asked["analyst"], asked["id"]):
                    break
        raise Busy(
            f"The request could not be carried out within {self._time_limit:g} seconds. Ask for less, or try later."
        )

    async def _given_up(self, key: Key) -> StoredRequest | None:
        """Withdraw a request that could not be carried out, if nothing was spent for it; what is stored, if it is about
        this data set."""
        row = await asyncio.to_thread(partial(self._ledger.give_up_request, *key, holder=self._holder))
        return row if row is not None and row.dataset == self._name else None

    def _receipt(self, key: Key) -> Message:
        """What a receipt says beside the result: the entries of the ledger that paid for it, and the day."""
        paid = [entry for entry, _ in self._ledger.answers(*key)]
        return {"entries": [entry.number for entry in paid], "date": paid[0].time[:10] if paid else None}

    async def _outcome(self, row: StoredRequest) -> Message:
        """What is said about a stored request."""
        outcome: Message = {"id": row.id, "status": row.status}
        outcome |= {} if row.note is None else {"note": row.note}
        if row.result is not None:
            outcome |= {"result": row.result, "receipt": await asyncio.to_thread(self._receipt, (row.analyst, row.id))}
        return outcome

    def _anchored(self, key: Key) -> Message:
        """Move the anchor, unless the ledger was rolled back; returns what the receipt of a request says."""
        if self._anchor is not None:
            try:
                self._ledger.move_anchor(self._anchor)
            except (OSError, LedgerError) as error:  # what was asked is paid for, and is answered
                log(f"the anchor {self._anchor} was not moved: {error}")
        return self._receipt(key)

    # ---- measurements at a door -------------------------------------------------------------------------------------

    async def measure(self, who: str, key: Key, body: str, door: str, asked: Message) -> Message:
        """A measurement at a door, or its stored answer."""
        async with self._turns.turn(who):
            row = await self.stored(key, body)
            if row is None:
                if self.work is not None and key[0] is not None:
                    call = {"call": "weigh", "analyst": key[0], "door": door, "body": body, "asked": asked}
                    self.check_door()
                    self.work.book(key[0], (await self._weighed(call))["work"])
                return await self._measured(key, body, door, asked)
            if row.status == "withdrawn":
                raise BadInput(_PAST.format(id=row.id, past=past_of(row)))
            return await (self._outcome(row) if row.finished else self._left_measured(key))

    def check_door(self) -> None:
        """Refuse calls at doors of a worker that has ended."""
        if not self._worker.running:
            raise Gone(_DOOR_CLOSED.format(""))

    async def _measured(self, key: Key, body: str, door: str, asked: Message) -> Message:
        self.check_door()
        call: Message = {"call": "measure", **self._asked(key, body), "door": door, "asked": asked}
        try:
            outcome = await self._worker.call(call, self._time_limit)
        except Died:
            return await self._left_measured(key)
        except AdytonError:
            await self._given_up(key)
            raise
        await asyncio.to_thread(self._anchored, key)
        return dict(outcome)

    async def _left_measured(self, key: Key) -> Message:
        """The answer that a worker wrote down before it ended."""
        stored = await asyncio.to_thread(self._ledger.answers, *key)
        if not stored:
            await self._given_up(key)
            raise Gone(_DOOR_CLOSED.format("Nothing was spent. "))
        if stored[0].answer is None:
            raise Refused({"kind": "KernelFailure", "message": str(KernelFailure())})
        await asyncio.to_thread(self._ledger.finish_request, *key, "done", stored[0].answer)
        return {"status": "done", "result": stored[0].answer}


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
            if len(self) >= _LONGEST_QUEUE:
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
        self._starting = asyncio.Lock()
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
        async with self._starting:
            if not self.running:
                await self._start()

    async def _start(self) -> None:
        self._process, self._writer, self._reader = await channel.start("adyton.service.worker")
        try:
            opened = await self._exchange(self._settings, _SECONDS_TO_OPEN)
            self.public, self.total = opened["public"], Fraction(opened["total"])
            self._settings = {**self._settings, "total": None}  # from now on the ledger says it: it may be raised
        except Refused as problem:
            await self.kill()
            if not self.public:
                raise
            log(f"the table of {self._settings['name']} cannot be opened again: {problem}")
            raise Busy(_CLOSED) from None
        except Died as end:
            why = "could not be opened in time" if end.slow else "could not be opened: its process ended"
            raise Busy(f"The table {why}. Try again later.") from None

    async def call(self, message: Message, seconds: float) -> Any:
        """The reply to a call; *seconds* later it is killed."""
        await self.start()
        return await self._exchange(message, seconds)

    async def _exchange(self, message: Mapping[str, Any], seconds: float) -> Any:
        reply, slow = None, False
        try:
            async with asyncio.timeout(seconds):
                await channel.send(self._writer, message)
                reply = await channel.receive(self._reader)
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


def log(sentence: str) -> None:
    """Tell the curator, on the standard error of the service."""
    sys.stderr.write(f"adyton: {sentence}\n")
