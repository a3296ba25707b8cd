"""The time of a reply: the pure rule, the same on a clock that the test moves, and the real process."""

import asyncio
import json
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import COUNT, Keeper, Server

from adyton.service.channel import serve
from adyton.service.settings import Settings
from adyton.service.timing import SECOND, Durations, Line, Work, class_of, leaves_at
from adyton.service.web import application

TIMES = st.integers(0, 10**18)


@given(TIMES, TIMES, st.integers(1, 10**12))
def test_the_rule(arrival, finished, duration):
    leave = leaves_at(arrival, finished, duration)
    k = Fraction(leave - arrival, duration)
    assert k.denominator == 1
    assert k >= 1
    assert leave >= finished
    assert k == 1 or leave - duration < finished
    assert leaves_at(arrival, leave, duration) == leave


@given(TIMES, st.data())
def test_work_that_is_done_in_time_does_not_show(arrival, data):
    duration = data.draw(st.integers(1, 10**12))
    first, second = (data.draw(st.integers(arrival, arrival + duration)) for _ in range(2))
    assert leaves_at(arrival, first, duration) == leaves_at(arrival, second, duration) == arrival + duration


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"task": {"task": "count"}}, "count"),
        ({"task": {"task": "units"}, "where": "age > 3"}, "count"),
        ({"task": {"task": "histogram", "attributes": ["age"]}}, "small"),
        ({"task": {"task": "histogram", "attributes": ["age", "zip"]}}, "large"),
        ({"task": {"task": "mean", "attribute": "age", "by": ["sex"]}}, "small"),
        ({"task": {"task": "mean", "attribute": "age", "by": ["sex", "zip"]}}, "large"),
        ({"task": {"task": "histogram", "attributes": ["unknown"]}}, "large"),
        ({"task": {"task": "histogram", "attributes": [["age"]]}}, "large"),
        ({"task": {"task": "histogram", "attributes": "age"}}, "large"),
        ({"task": {"task": "classifier"}}, "large"),
        ({"task": {"task": ["count"]}}, "large"),
        ({"task": "count"}, "large"),
        ({}, "large"),
    ],
)
def test_classes_are_public(request_, expected):
    assert class_of("ask", request_, {"age": 100, "sex": 2, "zip": 1000}) == expected


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self):
        self.time, self.sleeping, self.number = 0, [], 0

    def now(self):
        return self.time

    async def until(self, moment):
        if moment > self.time:
            woken = asyncio.get_running_loop().create_future()
            self.number += 1
            self.sleeping.append((moment, self.number, woken))
            await woken

    async def move(self, moment):
        """Let everything happen until *moment*, each at its time."""
        await settled()
        while due := sorted(sleep for sleep in self.sleeping if sleep[0] <= moment and not sleep[2].cancelled()):
            self.sleeping.remove(due[0])
            self.time = max(self.time, due[0][0])
            due[0][2].set_result(None)
            await settled()
        self.time = moment


async def settled():
    for _ in range(12):
        await asyncio.sleep(0)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=5).map(sorted), st.data())
def test_calls_of_a_line_leave_at_times_that_no_work_moves(arrivals, data):
    """Whatever each call takes within its duration, all of them leave at the same times."""
    duration = 100

    def leaving(taken):
        async def run():
            clock, line, left = HandClock(), Line(), {}

            async def one(number, arrival, time_taken):
                await clock.until(arrival)

                async def call():
                    await clock.until(clock.now() + time_taken)

                work = Work(call, clock, arrival=arrival, duration=duration, line=line)
                left[number], _ = await work.reply(arrival)
                assert left[number] >= clock.now()

            tasks = [
                asyncio.ensure_future(one(number, arrival, time_taken))
                for number, (arrival, time_taken) in enumerate(zip(arrivals, taken, strict=True))
            ]
            await clock.move(10**4)
            assert all(task.done() for task in tasks)
            for task in tasks:
                task.result()
            return left

        return asyncio.run(run())

    times = st.lists(st.integers(0, duration), min_size=len(arrivals), max_size=len(arrivals))
    assert leaving(data.draw(times)) == leaving(data.draw(times))


def told(arrival, taken, wait, *, asked_again=()):
    """When the reply to a caller leaves who waits so long, whether it has the outcome, and what later callers get."""

    async def run():
        clock = HandClock()

        async def call():
            await clock.until(taken)

        work = Work(call, clock, arrival=arrival, duration=100)
        first = asyncio.ensure_future(work.reply(arrival, wait))
        others = []
        for moment in asked_again:
            await clock.move(moment)
            others.append(asyncio.ensure_future(work.reply(moment, 0)))
        await clock.move(10**4)
        return [task.result() for task in (first, *others)]

    return asyncio.run(run())


def test_a_caller_who_does_not_wait_for_the_end():
    assert told(0, 30, 0) == [(100, True)]
    assert told(0, 99, 0) == [(100, True)]
    assert told(0, 101, 0) == [(100, False)]
    assert told(0, 250, 120) == [(200, False)]
    assert told(0, 150, 120) == [(200, True)]


@settings(max_examples=50)
@given(st.integers(101, 199), st.integers(101, 199), st.lists(st.integers(0, 199), max_size=5).map(sorted))
def test_asking_again_and_again_says_no_more(first, second, moments):
    """Work of one duration or two: questions in between get the same replies at the same times."""
    assert told(0, first, 0, asked_again=moments) == told(0, second, 0, asked_again=moments)


def through_the_application(tmp_path, seconds, call="ask"):
    """When the reply of the whole application leaves, if the keeper takes so many seconds."""

    async def run():
        clock = HandClock()

        async def keeper(message):
            await clock.until(clock.now() + round(seconds * SECOND))
            if seconds == 0.3:
                return {"status": "done", "result": "{}", "dataset": "visits"}
            return {"status": "done", "result": "[" + "1, " * 1000 + "1]", "dataset": "visits"}

        plain = {
            "listen": "127.0.0.1:0",
            "datasets": {"visits": {"socket": str(tmp_path / "k"), "analysts": ["mara"], "cells": {"age": 9}}},
            "access": str(tmp_path / "access"),
            "audit": str(tmp_path / "audit"),
            "receipts": str(tmp_path / "key"),
            "timing": {"on": True, "count": 0.5, "small": 2.0, "large": 30.0},
        }
        gate = application(Settings.read(json.dumps(plain)), clock=clock)
        token = gate.doorkeeper.access.make("mara")
        bodies = {
            "ask": {"request": COUNT, "id": "a"},
            "histogram": {"request": {"task": {"task": "histogram", "attributes": ["age"]}}},
            "bad": {"request": 1},
        }
        body = bodies.get(call)
        scope = {
            "type": "http",
            "method": "POST" if body else "GET",
            "path": "/v1/datasets/visits" + ("/requests" if body else ""),
            "raw_path": b"",
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 1),
            "scheme": "http",
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": json.dumps(body).encode() if body else b"", "more_body": False}

        async def send(message):
            sent.append((clock.now(), message))

        async with await serve(tmp_path / "k", keeper):
            clock.time = 7 * SECOND
            asked = asyncio.ensure_future(gate(scope, receive, send))
            for step in range(1, 400):
                for _ in range(20):
                    await asyncio.sleep(0.0005)  # the socket of the keeper is real
                    if asked.done():
                        break
                if asked.done():
                    break
                await clock.move(7 * SECOND + step * SECOND // 10)
            await asked
        return (sent[0][0] - 7 * SECOND) / SECOND, sent[0][1]["status"]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("call", "first", "second", "expected"),
    [
        ("ask", 0.1, 0.3, (0.5, 200)),
        ("ask", 0.7, 0.9, (1.0, 200)),
        ("histogram", 0.1, 1.7, (2.0, 200)),
        ("describe", 0.1, 0.4, (0.5, 200)),
        ("bad", 0, 0, (0.5, 400)),
    ],
)
def test_the_time_of_a_reply_depends_on_arrival_and_class_alone(tmp_path, call, first, second, expected):
    assert through_the_application(tmp_path, first, call) == expected
    assert through_the_application(tmp_path, second, call) == expected


def test_replies_of_the_real_process(tmp_path):
    """On time, refused or late: not before a boundary; to those without a token, at once."""
    with Keeper(tmp_path / "k") as keeper, Server(tmp_path, keeper, timing={"count": 1.0}) as server:

        def seconds(*arguments, **options):
            started = time.monotonic()
            status = server.ask(*arguments, **options)[0]
            return status, time.monotonic() - started

        ask = "/v1/datasets/visits/requests"
        for body, status, least in (
            ({"id": "a", "request": COUNT}, 200, 1.0),
            ({"id": "a", "request": COUNT}, 200, 1.0),
            ({"request": 1}, 400, 1.0),
            ({"request": {**COUNT, "seconds": 1.1}}, 200, 2.0),
        ):
            found, taken = seconds("POST", ask, body)
            assert found == status
            assert taken >= least
        assert seconds("GET", "/v1/no")[1] >= 1.0
        assert min(seconds("GET", "/v1/me", who=None) for _ in range(5))[1] < 1.0
        status, _, body = server.ask("POST", ask, {"id": "b", "wait": 0, "request": {**COUNT, "seconds": 1.5}})
        assert (status, json.loads(body)["status"]) == (202, "under way")


def test_durations():
    assert Durations.of_seconds(on=True, count=0.5, small=2, large=30)["small"] == 2 * SECOND
    assert not Durations.of_seconds(on=False, count=0.5, small=2, large=30).on
