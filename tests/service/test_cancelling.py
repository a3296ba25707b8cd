"""A request is cancelled until its first debit, also while a worker prepares it; then it is told that it is too late.

First the queue of one data set with a worker that waits where a test wants it to, then the process that speaks HTTP in
front of a keeper, and last the whole service with a worker that stands still.
"""

import asyncio
import contextlib
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from adyton.errors import BadInput
from adyton.kernel.ledger import Ledger, Limits
from adyton.service.channel import NotFound, UnderWay
from adyton.service.keeper import Keeper
from adyton.service.operations import CANCELLED, Operations
from adyton.service.timing import Line, Work
from service import serving
from service.test_timing import HandClock
from service.whole import Served

BODY = '{"epsilon":"0.1","task":"count"}'
TENTH = Fraction(1, 10)
ENDED = "elsewhere/1/1/0"
"""The holder of a process that has ended."""


class Worker:
    """Prepares until it is told to go on, debits, waits again, and stores a result; a debit is refused as it comes."""

    running = True

    def __init__(self, ledger):
        self.ledger, self.calls, self.killed, self.started = ledger, [], [], 0
        self.may_spend, self.may_end = asyncio.Event(), asyncio.Event()
        self.prepares, self.has_spent = asyncio.Event(), asyncio.Event()

    async def start(self):
        self.started += 1

    async def call(self, asked, _seconds):
        self.calls.append((asked["call"], asked["id"]))
        try:
            self.prepares.set()
            await self.may_spend.wait()
            await asyncio.to_thread(self._debit, asked)
            self.has_spent.set()
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.killed.append(asked["id"])
            raise
        stored = await asyncio.to_thread(self.ledger.finish_request, asked["analyst"], asked["id"], "done", "[]")
        return {"status": stored.status, "result": stored.result}

    def _debit(self, asked):
        who, id, holder = asked["analyst"], asked["id"], asked["holder"]
        self.ledger.begin_request(who, id, body=asked["body"], holder=holder)
        with self.ledger.on_behalf(who, id, holder=holder):
            self.ledger.settle(self.ledger.debit(TENTH, lineage=["root"], operator="laplace"), "answered")


def queue(path, test):
    """Run a test of the queue of one data set."""

    async def run():
        with Ledger.open(path, total=2, dataset="visits") as ledger:
            ledger.set_analyst("mara")
            ledger.set_analyst("zoe")
            worker = Worker(ledger)
            operations = Operations("visits", ledger, worker, time_limit=60, anchor=None, limits=lambda who: None)
            await asyncio.wait_for(test(operations, worker, ledger), 60)

    asyncio.run(run())


def test_a_request_is_cancelled_while_a_worker_prepares_it(tmp_path):
    """Nothing is spent, who waits is told, and it is the turn of the next; the same id is not used again."""

    async def test(operations, worker, ledger):
        hers = asyncio.create_task(operations.ask(("mara", "r"), BODY, 60))
        await worker.prepares.wait()
        next_ = asyncio.create_task(operations.ask(("zoe", "r"), BODY, 60))
        await operations.cancel(("mara", "r"))
        assert (worker.killed, ledger.request("mara", "r").status, ledger.spent) == (["r"], "withdrawn", 0)
        with pytest.raises(NotFound, match="was cancelled. Nothing was spent"):
            await hers
        assert worker.started == 1  # before the reply has come
        with pytest.raises(NotFound, match="was cancelled. Nothing was spent"):
            await operations.fetch("mara", ("mara", "r"), 0)
        await operations.cancel(("mara", "r"))  # again: it is so
        worker.may_spend.set()
        worker.may_end.set()
        assert (await next_)["status"] == "done"
        with pytest.raises(BadInput, match="r was cancelled, and nothing was spent for it. Choose a new id"):
            await operations.ask(("mara", "r"), BODY, 60)
        assert [entry.analyst for entry in ledger.entries()] == ["zoe"]
        assert worker.calls == [("ask", "r")] * 2

    queue(tmp_path / "ledger", test)


def test_after_the_first_debit_it_is_too_late(tmp_path):
    async def test(operations, worker, ledger):
        worker.may_spend.set()
        hers = asyncio.create_task(operations.ask(("mara", "r"), BODY, 60))
        await worker.has_spent.wait()
        for _ in range(2):
            with pytest.raises(UnderWay, match="has begun, or has ended: it cannot be cancelled"):
                await operations.cancel(("mara", "r"))
        worker.may_end.set()
        assert (await hers)["status"] == "done"
        with pytest.raises(UnderWay):
            await operations.cancel(("mara", "r"))
        assert (worker.killed, ledger.spent) == ([], TENTH)

    queue(tmp_path / "ledger", test)


def test_a_debit_that_comes_between_the_withdrawal_and_the_end_of_the_worker_is_refused(tmp_path):
    """A worker that does not hear of its end in time spends nothing, and who waits reads why."""

    async def test(operations, worker, ledger):
        hers = asyncio.create_task(operations.ask(("mara", "r"), BODY, 60))
        await worker.prepares.wait()
        withdraw = ledger.withdraw_request

        def slowly(*key, **given):
            done = withdraw(*key, **given)
            asyncio.run_coroutine_threadsafe(let_it_spend(), loop).result()
            return done

        async def let_it_spend():
            worker.may_spend.set()
            await asyncio.wait([hers])

        loop, ledger.withdraw_request = asyncio.get_running_loop(), slowly
        await operations.cancel(("mara", "r"))
        with pytest.raises(BadInput, match="was cancelled: nothing is spent"):
            await hers
        assert (ledger.spent, ledger.request("mara", "r").status) == (0, "withdrawn")

    queue(tmp_path / "ledger", test)


def test_a_granted_request_can_be_cancelled_while_it_waits_for_its_turn(tmp_path):
    async def test(operations, worker, ledger):
        first = asyncio.create_task(operations.ask(("zoe", "first"), BODY, 60))
        await worker.prepares.wait()
        asked, _ = ledger.begin_request("mara", "r", body=BODY, limits=Limits(above=Fraction(0)))
        row = ledger.consent_request("mara", "r", digest=asked.digest, grant=True, word="olga")
        assert (await operations.granted(row))["status"] == "under way"
        while ledger.request("mara", "r").holder is None:
            await asyncio.sleep(0.01)
        await operations.cancel(("mara", "r"))
        assert (worker.killed, ledger.request("mara", "r").status) == ([], "withdrawn")
        worker.may_spend.set()
        worker.may_end.set()
        assert (await first)["status"] == "done"
        assert [entry.request for entry in ledger.entries()] == ["first"]

    queue(tmp_path / "ledger", test)


def test_what_an_ended_process_has_withdrawn_stays_so(tmp_path):
    """It is in no list, and has no way around the curator."""

    async def test(operations, worker, ledger):
        settings = {"name": "visits", "time_limit": 60, "results": "own", "anchor": None, "worker": {}, "analysts": {}}
        keeper = Keeper({**settings, "consent": {"mara": {"above": "0.05", "total": None}}})
        keeper.ledger, keeper.operations = ledger, operations
        for request, holder in (("old", ENDED), ("new", f"elsewhere/1/1/{int(time.time())}")):
            assert ledger.withdraw_request("mara", request, body=BODY, holder=holder)
            asked = {"call": "ask", "analyst": "mara", "role": "analyst", "id": request, "request": json.loads(BODY)}
            with pytest.raises(BadInput, match="was cancelled"):
                await keeper.answer(asked)
        assert worker.calls == []
        assert await keeper.answer({"call": "list", "analyst": "mara", "role": "analyst"}) == []
        for name in ("", " ", None):
            with pytest.raises(BadInput, match="name of a person"):
                await keeper.answer({"call": "list", "analyst": name, "role": "analyst"})

    queue(tmp_path / "ledger", test)


# ---- in front of a keeper --------------------------------------------------------------------------------------------


def test_who_waits_is_told_at_once_and_what_stands_behind_begins_at_a_boundary(tmp_path):
    """Times are protected: when the next call begins is not chosen by whoever cancels, or by a table that opens."""
    timing = {"on": True, "count": 1.0, "small": 4.0, "large": 4.0}
    with serving.Keeper(tmp_path / "keeper.sock") as keeper, serving.Server(tmp_path, keeper, timing=timing) as server:
        place = "/v1/datasets/visits/requests"
        slow = {"task": {"task": "marginals", "way": 2}, "epsilon": 0.1, "seconds": 3.5}
        with ThreadPoolExecutor(5) as pool:
            begun = time.monotonic()
            first = pool.submit(server.ask, "POST", place, {"id": "first", "request": slow})
            while not keeper.runs:
                time.sleep(0.01)
            second = pool.submit(server.ask, "POST", place, {"id": "second", "request": serving.COUNT})
            time.sleep(0.2)
            assert server.ask("DELETE", f"{place}/first")[0] == 200
            status, _, body = first.result()
            assert (status, json.loads(body)["error"]["message"]) == (404, CANCELLED)
            assert time.monotonic() - begun < 3
            assert not keeper.runs["mara", "second"]
            assert second.result()[0] == 200
            assert time.monotonic() - begun >= 5  # four seconds of the first, one of its own


def test_the_same_id_again_while_the_cancelled_one_stands_in_its_line(tmp_path):
    timing = {"on": True, "count": 1.0, "small": 2.0, "large": 2.0}
    with serving.Keeper(tmp_path / "keeper.sock") as keeper, serving.Server(tmp_path, keeper, timing=timing) as server:
        place = "/v1/datasets/visits/requests"
        slow = {"id": "r", "request": {"task": {"task": "marginals"}, "epsilon": 0.1, "seconds": 1.5}}
        with ThreadPoolExecutor(5) as pool:
            first = pool.submit(server.ask, "POST", place, slow)
            while not keeper.runs:
                time.sleep(0.01)
            assert server.ask("DELETE", f"{place}/r")[0] == 200
            assert first.result()[0] == 404
            keeper.results.clear()
            again = pool.submit(server.ask, "POST", place, {"id": "r", "request": serving.COUNT})
            time.sleep(1.6)  # the first has left its line, and took nothing of the second with it
            assert server.ask("GET", f"{place}/r")[0] == 202 or again.done()
            assert again.result()[0] == 200


def test_a_line_is_free_again_when_a_cancelled_call_would_have_left():
    def second_begins(taken):
        async def run():
            clock, line, begun = HandClock(), Line(), []

            async def first():
                await clock.until(taken)

            async def second():
                begun.append(clock.now())

            work = Work(first, clock, arrival=0, duration=100, line=line)
            later = Work(second, clock, arrival=20, duration=100, line=line)
            waits = asyncio.ensure_future(work.reply(0))
            await clock.move(30)
            await work.cancel()
            with pytest.raises(NotFound, match="cancelled"):
                await waits
            await clock.move(10**3)
            return begun, (await later.reply(20))[0]

        return asyncio.run(run())

    assert second_begins(31) == second_begins(60) == second_begins(99) == ([100], 220)


# ---- the whole service -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("cancelling")) as service:
        yield service


@contextlib.contextmanager
def standing_still(served):
    """The worker, in whatever it does; none of it is asked of another one."""
    workers = served.processes("worker")
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield workers
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)


def test_a_worker_that_prepares_is_ended_and_another_answers_the_next(served):
    place, request = "/v1/datasets/people/requests", {"task": "count", "epsilon": "0.001"}
    with standing_still(served) as workers, ThreadPoolExecutor(2) as pool:
        hers = pool.submit(served.ask, "r-slow", request)
        while served.call("GET", f"{place}/r-slow", who="mara")[0] != 202:
            time.sleep(0.05)
        time.sleep(0.5)  # it is with the worker
        next_ = pool.submit(served.ask, "r-next", request, "zoe")
        time.sleep(0.3)
        assert served.call("DELETE", f"{place}/r-slow", who="ben")[0] == 404  # it is not his
        assert served.call("DELETE", f"{place}/r-slow", who="mara")[0] == 200
        status, _, body = hers.result()
        assert (status, json.loads(body)["error"]) == (404, {"kind": "NotFound", "message": CANCELLED})
        assert next_.result()[0] == 200
        assert not set(workers) & set(served.processes("worker"))
    ledger = served.folder / "people.ledger"
    assert [(entry.analyst, entry.request) for entry in Ledger.read(ledger).entries] == [("zoe", "r-next")]
    assert served.call("GET", f"{place}/r-slow", who="mara")[0] == 404
    rows = json.loads(served.call("GET", place, who="olga")[2])["requests"]
    assert [row["id"] for row in rows] == ["r-next"]
    audit = [json.loads(line) for line in (served.folder / "audit.log").read_text().splitlines()]
    said = [(line["who"], line["method"], line["status"]) for line in audit if line.get("request") == "r-slow"]
    assert said.count(("mara", "DELETE", 200)) == said.count(("mara", "POST", 404)) == 1
    status, _, body = served.ask("r-slow", request)
    assert (status, "Choose a new id" in json.loads(body)["error"]["message"]) == (400, True)
    assert Ledger.read(ledger).spent == Fraction(1, 1000)
    late = served.call("DELETE", f"{place}/r-next", who="zoe")
    assert (late[0], json.loads(late[2])["error"]["kind"]) == (409, "UnderWay")
