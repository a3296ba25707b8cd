"""Every order in which the steps of a few calls can come, tried on the keeper, its operations and its ledger.

A schedule runs the calls on an event loop whose next step is chosen from outside: each continuation of a coroutine, and
each call in a thread, is a step. :func:`explore` goes through all choices, depth first: each schedule is run again from
its beginning, and left where it comes to a state from which everything was tried before. Two schedules are in one state
if the ledger is the same, and every task has seen the same.

Not real are the process of the worker, whose steps are the same (it begins a request, debits, stores), the rows, and
the clock, which stands still: what waits for a time waits until nothing else can go on. A worker does not hear of its
end at once, and outlives the keeper that started it.

The specification. Of the requests of one analyst, whatever is called, in whatever order:

1.  A request that needs consent is debited only if a curator sends one that names its id and its digest.
2.  Who is told that a request was cancelled, was refused, or that nothing was spent for it, is told the truth for ever.
3.  Once a curator has revoked an analyst's part, nothing is debited for them.
4.  What is stored stays: a request moves along the arrows below, with the body that it began with.
5.  It is debited once at most, and everything that waits for it gets its one result.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import json
import random
import time
from contextlib import contextmanager, suppress
from copy import copy
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple

from adyton.errors import AdytonError, BadInput
from adyton.kernel.ledger import Ledger, Limits, StoredRequest, tables
from adyton.service import operations as operations_module
from adyton.service.channel import NotFound, UnderWay
from adyton.service.keeper import Keeper
from adyton.service.operations import CANCELLED, GIVEN_UP, Died, Operations

SMALL, DEAR = ({"epsilon": epsilon, "task": "count"} for epsilon in ("0.1", "0.7"))
ID, OTHER = "r", "other"
LIMITS = {"limited": {"above": "0.05", "total": None}, "in all": {"above": None, "total": "0.05"}, "free": None}
"""Beyond what consent is needed; of "free" analysts it never is."""
ARROWS = {
    None: {"waiting", "begun", "withdrawn"},
    "waiting": {"begun", "refused", "withdrawn"},
    "begun": {"done", "ended", "withdrawn"},
}
"""What may follow each state of a request; None is that it is not stored."""
CALLS = ("ask", "swap", "cancel", "consent", "refuse", "revoke", "kill", "restart")
"""``swap`` asks for more under the same id; a consent is to what ``ask`` asks."""


class Violated(AssertionError):
    """A schedule in which the specification does not hold."""


def canonical(request):
    return json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(body):
    return hashlib.sha256(body.encode()).hexdigest()


DIGEST = digest(canonical(SMALL))


# ---- an event loop that is told what to do next ----------------------------------------------------------------------


class Cached:
    """The ledger, whose transactions are carried out once for each state of it that they meet."""

    def __init__(self, ledger):
        self.ledger, self.raw = ledger, ledger._file._connection
        self.states, self.numbers, self.done = [], {}, {}
        self.real = self.first = self.state()

    def state(self):
        """The number of the state that the ledger is in."""
        image = self.raw.serialize()
        tables = ("requests", "entries", "events", "analysts", "answers", "ledger")
        key = repr([self.raw.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables])
        if key not in self.numbers:
            self.numbers[key] = len(self.states)
            self.states.append((image, self._rows()))
        return self.numbers[key]

    def _rows(self):
        query = "SELECT analyst, id, status, body FROM requests WHERE id <> ?"
        return {row[:2]: row[2:] for row in self.raw.execute(query, (OTHER,)).fetchall()}

    def transact(self, state, call):
        """What a transaction returns or raises in a state, and the state after it."""
        key = state, name_of(call)
        if key not in self.done:
            if self.real != state:
                self.raw.deserialize(self.states[state][0])
            self.ledger._seen = None  # else it notices that it has gone back
            try:
                outcome = call(), None
            except Exception as problem:
                outcome = None, problem
            self.real = self.state()
            self.done[key] = outcome, self.real, hash(repr(outcome))
        return self.done[key]


def name_of(call):
    """A call with what it is given, as something that can be compared."""
    parts = (call.func, call.args, tuple(call.keywords.items())) if isinstance(call, partial) else (call, (), ())
    if isinstance(parts[0], partial):
        return (name_of(parts[0]), *map(repr, parts[1:]))
    return (parts[0].__qualname__, *map(repr, parts[1:]))


class Surprised(Exception):
    """A continuation that seemed to be local touches what others touch."""


class Woken(NamedTuple):
    """A step that only goes on."""

    task: asyncio.Task
    future: asyncio.Future

    def __call__(self):
        if not self.future.done():
            self.future.set_result(None)


class Step:
    """A call in a thread, which goes on even if nobody waits for it any more."""

    def __init__(self, world, task, call):
        self.world, self.task, self.call, self.future = world, task, call, world.loop.create_future()

    def __call__(self):
        (value, error), token = self.world.transacted(self.call)
        self.task.sees(token)
        if not self.future.done():
            if error is None:
                self.future.set_result(value)
            else:
                self.future.set_exception(copy(error))


class Task(asyncio.Task):
    """A task that knows its name, to which process it belongs, and what it has seen."""

    def __init__(self, coroutine, world, **options):
        parent = world.current()
        self.process = parent.process if parent else None
        self.seen, self.children = 0, 0
        self.label = (len(world.tasks),) if parent is None else (*parent.label, parent.children)
        if parent is not None:
            parent.children += 1
        world.tasks.append(self)
        super().__init__(coroutine, loop=world.loop, **options)

    def sees(self, token):
        """Remember something that it goes on from."""
        self.seen = hash((self.seen, token))

    def memory(self):
        """Where in the code it is, and what it knows there."""
        places, coroutine = [], self.get_coro()
        while (frame := getattr(coroutine, "cr_frame", None)) is not None:
            known = tuple((name, known_as(value)) for name, value in frame.f_locals.items())
            places.append((coroutine.__qualname__, frame.f_lasti, known))
            coroutine = coroutine.cr_await
        return tuple(places)

    def place(self):
        """Where in the code it is."""
        places, coroutine = [], self.get_coro()
        while (frame := getattr(coroutine, "cr_frame", None)) is not None:
            places.append((coroutine.__qualname__, frame.f_lasti))
            coroutine = coroutine.cr_await
        return tuple(places)


def known_as(value):
    """What matters of a value that a coroutine knows."""
    if isinstance(value, Task):
        return value.label
    if isinstance(value, asyncio.Future):
        return value.done() and (value.cancelled() or repr(value.exception() or value.result()))
    if isinstance(value, StoredRequest):
        return value.status, value.holder
    if isinstance(value, dict):
        return value.get("call"), value.get("status")
    return value if isinstance(value, str | int | float | None) else repr(value) if isinstance(value, tuple) else ""


class Shared(dict):
    """What several coroutines read and write without waiting: whether a step comes before or after others matters."""

    world = None


def _touching(name):
    method = getattr(dict, name)

    def touched(self, *arguments):
        self.world.touch()
        return method(self, *arguments)

    return touched


for _name in ("get", "__getitem__", "__setitem__", "__delitem__", "__contains__", "pop", "__iter__"):
    setattr(Shared, _name, _touching(_name))


class Loop(asyncio.BaseEventLoop):
    """Handles wait here until they are run by hand; its time is that of the last timer."""

    moment = 0.0

    def time(self):
        return self.moment

    def _write_to_self(self):
        pass

    def call_exception_handler(self, context):
        pass  # what nobody waited for


# ---- what is called --------------------------------------------------------------------------------------------------


class Worker:
    """The steps of a worker's process, each of them one transaction; they go on until the process is gone."""

    running, public = True, {"cells": {}}

    def __init__(self, world):
        self.world, self.process, self.reply = world, None, None

    async def start(self):
        pass

    async def call(self, asked, _seconds):
        world, process = self.world, object()
        world.touch()
        self.process, self.reply = process, world.loop.create_future()
        with world.within(process):
            world.loop.create_task(self._run(asked, self.reply))
        try:
            outcome = await self.reply
        except asyncio.CancelledError:
            await world.later()
            self.kill()
            raise
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def kill(self):
        """End the process, wherever it is."""
        self.world.touch()
        if self.process is not None:
            self.world.dead.add(self.process)
            if not self.reply.done():
                self.reply.set_result(Died(slow=False))

    async def _run(self, asked, reply):
        try:
            outcome = await self._asked(asked)
        except AdytonError as problem:
            outcome = problem
        if not reply.done():
            reply.set_result(outcome)

    async def _asked(self, asked):
        ledger, who, id, holder, body = (
            self.world.ledger,
            *(asked[name] for name in ("analyst", "id", "holder", "body")),
        )
        limits = None if asked["limits"] is None else limits_of(*asked["limits"])
        if not await asyncio.to_thread(ledger.answers, who, id):
            stored, _ = await asyncio.to_thread(begin, ledger, who, id, body, limits, holder)
            if stored.status != "begun":
                return {"status": stored.status}
            await debited_by(self.world, ledger, who, id, body, holder, limits)
            self.world.debited(who, id, body)
        stored = await asyncio.to_thread(finish, ledger, who, id, body, holder)
        return {"status": stored.status, "result": stored.result}


@cache
def limits_of(*plain):
    return Limits(*(limit and Fraction(limit) for limit in plain))


def begin(ledger, who, id, body, limits, holder):
    return ledger.begin_request(who, id, body=body, limits=limits, holder=holder)


async def debited_by(world, *asked):
    await world.to_thread(debit, *asked)


def debit(ledger, who, id, body, holder, limits):
    with ledger.on_behalf(who, id, str, holder=holder, limits=limits):
        price = Fraction(json.loads(body)["epsilon"])
        ledger.settle(ledger.debit(price, lineage=["root"], operator="laplace"), "answered", "an answer")


def finish(ledger, who, id, body, holder):
    with ledger.on_behalf(who, id, holder=holder):
        return ledger.finish_request(who, id, "done", f"the result of {body}")


class Call(NamedTuple):
    """Something that somebody does, about the request of an analyst."""

    what: str
    who: str = "mara"


class World:
    """One schedule: a keeper, a ledger, and some calls under way."""

    def __init__(self, explorer, calls, limits, start):
        self.cached, self.ledger, self.limits, self.state = explorer.cached, explorer.ledger, limits, start
        self.local, self.touched, self.visited = explorer.local, explorer.touched, explorer.visited
        self.restarts = any(call.what == "restart" for call in calls)
        self.loop, self.tasks, self.dead, self.running, self.place = Loop(), [], set(), None, ()
        self.loop.set_task_factory(lambda loop, coroutine, **options: Task(coroutine, self, **options))
        self.debits, self.revoked, self.told = [], set(), []
        self.consents = {(call.who, ID, DIGEST) for call in calls if call.what == "consent"}
        self.keeper, self.generation, self.violation = None, 0, None
        self.restart()
        for call in calls:
            self.loop.create_task(self._called(call))

    # ---- the keeper --------------------------------------------------------------------------------------------------

    def restart(self):
        """End the keeper's process, and start another one; its worker may still be there."""
        self.dead.add(self.generation)
        self.generation += 1
        settings = {"name": "visits", "time_limit": 60, "results": "own", "anchor": None, "worker": {}}
        limits = {name: LIMITS[self.limits] for name in ("mara", "zoe") if LIMITS[self.limits] is not None}
        self.keeper = Keeper({**settings, "analysts": {"mara": {}, "zoe": {}}, "consent": limits})
        self.worker = Worker(self)
        self.keeper.ledger, self.keeper.operations = (
            self.ledger,
            Operations("visits", self.ledger, self.worker, time_limit=60, anchor=None, limits=self.keeper.limits_of),
        )
        operations = self.keeper.operations
        operations._holder = self.holder = f"keeper/{self.generation}"
        operations._tasks, operations._turns._waiting = Shared(), Shared()
        operations._tasks.world = operations._turns._waiting.world = self
        self.touch()

    def holder_ended(self, holder, _seconds):
        return holder != self.holder

    async def _called(self, call):
        """Make a call, and remember what was told."""
        if self.restarts:
            self.touch()  # it is a call to the keeper that is there now
        with self.within(self.generation):
            outcome = "lost"
            try:
                outcome = await self._answer(call)
            except NotFound as problem:
                outcome = "nothing" if str(problem) in (CANCELLED, GIVEN_UP) else "unknown"
            except BadInput as problem:
                outcome = "nothing" if "nothing was spent for it. Choose" in str(problem) else "refused to do"
            except UnderWay:
                outcome = "too late"
            except AdytonError as problem:
                outcome = type(problem).__name__
            self.told.append((call, outcome))
            self.check()

    async def _answer(self, call):
        what, who = call
        answer = self.keeper.answer
        hers, curators = ({"analyst": name, "role": role} for name, role in ((who, "analyst"), ("olga", "curator")))
        match what:
            case "ask" | "swap":
                body = SMALL if what == "ask" else DEAR
                reply = await answer({"call": "ask", **hers, "id": ID, "request": body, "wait": 600})
                if reply["status"] == "done" and reply["result"] != f"the result of {canonical(body)}":
                    self.violated("the result of another request")
                return "nothing" if reply["status"] == "refused" else reply["status"]
            case "cancel":
                await answer({"call": "cancel", **hers, "id": ID})
                return "nothing"
            case "consent" | "refuse":
                decision = {"analyst_of": who, "digest": DIGEST, "grant": what == "consent"}
                reply = await answer({"call": "consent", **curators, "id": ID, **decision})
                return "nothing" if reply["status"] == "refused" else reply["status"]
            case "revoke":
                await asyncio.to_thread(partial(self.ledger.set_analyst, who, part=0))
                self.revoked.add(who)
            case "kill":
                self.worker.kill()
            case "restart":
                self.restart()
        return "done"

    # ---- the specification -------------------------------------------------------------------------------------------

    def violated(self, words):
        self.violation = self.violation or Violated(words)

    def debited(self, who, id, body):
        self.debits.append((who, id, body))
        needs = LIMITS[self.limits] is not None
        if needs and (who, id, digest(body)) not in self.consents:
            self.violated(f"debited without consent: {body}")
        if who in self.revoked:
            self.violated(f"debited for {who}, whose part was revoked")
        if len(self.debits) > len({(analyst, one) for analyst, one, _ in self.debits}):
            self.violated(f"debited twice: {self.debits}")
        self.check()

    def check(self):
        paid = {who for who, _, _ in self.debits}
        lies = [call for call, outcome in self.told if outcome == "nothing" and call.who in paid]
        if lies:
            self.violated(f"{lies[0].what} was told that nothing was spent, and {self.debits} was")

    def _compare(self, before, after):
        """Compare the requests of two states of the ledger."""
        old, new = (self.cached.states[state][1] for state in (before, after))
        for key in old.keys() | new.keys():
            (status, body), (status_after, body_after) = old.get(key, (None, None)), new.get(key, (None, None))
            if status != status_after and status_after not in ARROWS.get(status, ()):
                self.violated(f"a request that was {status} is {status_after}")
            if status is not None and body != body_after:
                self.violated(f"the request {body} became {body_after}")

    # ---- its steps ---------------------------------------------------------------------------------------------------

    def current(self):
        return self.running

    @contextmanager
    def within(self, process):
        """What is made within the block belongs to this process."""
        task, before = self.running, self.running.process
        task.process = process
        try:
            yield
        finally:
            task.process = before

    def touch(self):
        """Say that the step under way touches what others touch, too."""
        self.shared = True
        if self.running is not None and self.place in self.local:
            raise Surprised(self.place)
        if self.running is not None:  # else a task has ended, which belongs to the step before
            self.touched.add(self.place)

    def end(self):
        for task in self.tasks:
            task._log_destroy_pending = False
            with suppress(BaseException):
                task.get_coro().close()
        self.loop.close()

    async def to_thread(self, call, /, *arguments, **options):
        step = Step(self, self.running, partial(call, *arguments, **options))
        self.loop.call_soon(step)
        return await step.future

    async def later(self):
        """A step of its own."""
        waited = self.loop.create_future()
        self.loop.call_soon(Woken(self.running, waited))
        await waited

    def transacted(self, call):
        before = self.state
        outcome, self.state, token = self.cached.transact(before, call)
        if self.state != before:
            self._compare(before, self.state)
        return outcome, token

    def choices(self):
        """The steps that could come next; what touches nothing that others touch goes on at once."""
        while True:
            ready = []
            while self.loop._ready:
                handle = self.loop._ready.popleft()
                task = self._task(handle)
                if handle._cancelled or (task is not None and task.process in self.dead):
                    continue
                if task is None:
                    handle._run()
                elif not isinstance(handle._callback, Step | Woken) and task.place() in self.local:
                    self._run(handle, task)
                else:
                    ready.append(handle)
            self.loop._ready.extend(ready)
            if ready or not self.loop._scheduled:
                return ready
            timer = heapq.heappop(self.loop._scheduled)
            self.loop.moment = timer.when()
            if not timer._cancelled:
                self.loop._ready.append(timer)

    @staticmethod
    def _task(handle):
        callback = handle._callback
        if isinstance(callback, Step | Woken):
            return callback.task
        owner = getattr(callback, "__self__", None)
        return owner if isinstance(owner, Task) else None

    def take(self, handle):
        self.loop._ready.remove(handle)
        self._run(handle, self._task(handle))
        if self.violation is not None:
            raise self.violation

    def _run(self, handle, task):
        self.running = task
        if not isinstance(handle._callback, Step):
            self.place = task.place()
            self.visited.add(self.place)
        self.shared = False
        handle._callback(*handle._args)
        self.running = None
        if self.shared:
            task.sees((len(self.keeper.operations._tasks), self.generation))

    def summary(self, ready):
        """What everything that follows depends on."""
        tasks = tuple((task.label, task.memory(), task.process in self.dead) for task in self.tasks if not task.done())
        waiting = tuple((self._task(handle).label, isinstance(handle._callback, Step)) for handle in ready)
        return hash((self.state, tuple(sorted(tasks)), tuple(sorted(waiting)), tuple(self.told), tuple(self.debits)))


class Found(NamedTuple):
    """What an exploration has seen."""

    schedules: int
    states: int
    seconds: float


class Explorer:
    """A ledger in memory, and what is known of the code: which continuations touch nothing that others touch."""

    def __init__(self):
        tables.now = lambda: "2027-01-01T00:00:00.000+00:00"
        self.ledger = Ledger.open(None, total=10, dataset="visits")
        for name in ("mara", "zoe"):
            self.ledger.set_analyst(name)
            self.ledger.begin_request(name, OTHER, body=canonical(SMALL), limits=Limits(above=Fraction(0)))
        for name in ("mara", "zoe"):
            with suppress(BadInput):  # a fault may have let it begin
                self.ledger.consent_request(name, OTHER, digest=DIGEST, grant=True, word="olga")
            self.ledger.take_request(name, OTHER, "keeper/0")
            self.ledger.give_up_request(name, OTHER, holder="keeper/0")
        self.cached = Cached(self.ledger)
        wait = partial(self.ledger.begin_request, "mara", ID, body=canonical(SMALL), limits=Limits(above=Fraction(0)))
        self.starts = {False: self.cached.first, True: self.cached.transact(self.cached.first, wait)[1]}
        self.touched, self.visited, self.local = set(), set(), frozenset()

    def learn(self, scenarios, walks=20):
        """Find out by random walks which continuations are local; :meth:`explore` fails if one turns out not to be."""
        chance = random.Random(0)
        for calls, limits, waiting in scenarios:
            for _ in range(walks):
                self._run(calls, limits, waiting, lambda world: self._walk(world, chance))
        self.local = frozenset(self.visited - self.touched)

    @staticmethod
    def _walk(world, chance):
        while ready := world.choices():
            world.take(chance.choice(ready))

    def explore(self, calls, *, limits="limited", waiting=False) -> Found:
        """Go through all schedules of some calls; *waiting*: mara's request is stored already, and waits."""
        while True:
            try:
                return self._explored(calls, limits, waiting)
            except Surprised as surprise:
                self.local -= {surprise.args[0]}

    def _explored(self, calls, limits, waiting):
        seen, left, schedules, begun = set(), [[]], 0, time.process_time()
        while left:
            path = left.pop()
            schedules += 1
            self._run(calls, limits, waiting, partial(self._one, path=path, seen=seen, left=left))
        return Found(schedules, len(seen), time.process_time() - begun)

    def _run(self, calls, limits, waiting, steps):
        before = asyncio.to_thread, operations_module.holder_ended, operations_module.this_holder
        operations_module.this_holder = str
        world = World(self, calls, limits, self.starts[waiting])
        asyncio.to_thread, operations_module.holder_ended = world.to_thread, world.holder_ended
        asyncio.events._set_running_loop(world.loop)
        try:
            steps(world)
        except Violated as problem:
            raise Violated(f"{problem}; calls: {[call.what for call in calls]}, {limits}") from None
        finally:
            asyncio.events._set_running_loop(None)
            asyncio.to_thread, operations_module.holder_ended, operations_module.this_holder = before
            world.end()

    @staticmethod
    def _one(world, path, seen, left):
        for choice in path:
            world.take(world.choices()[choice])
        while ready := world.choices():
            if len(ready) > 1:
                state = world.summary(ready)
                if state in seen:
                    return
                seen.add(state)
                left.extend([*path, other] for other in range(1, len(ready)))
            path = [*path, 0]
            world.take(ready[0])
