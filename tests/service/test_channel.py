"""Frames: what was written is read, by streams of both kinds, and other bytes are an error."""

import asyncio
import io
import json
import os
import socket
import stat
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel.mechanisms import VectorLaplace
from adyton.queries import Identity
from adyton.service import channel, worker
from adyton.service.channel import Malformed
from adyton.service.pages.results import content
from adyton.session.wire import encode
from adyton.tasks import Histogram, Mean
from adyton.tasks.request import Request

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
MESSAGES = st.dictionaries(st.text(), VALUES, max_size=4)


class Dribble(io.RawIOBase):
    """A raw stream that gives and takes one byte at a time."""

    def __init__(self, data=b""):
        self.data = bytearray(data)

    def read(self, size=-1):
        first = bytes(self.data[:1])
        del self.data[:1]
        return first

    def write(self, data):
        self.data += data[:1]
        return 1


def received(data):
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        messages = []
        while (message := await channel.receive(reader)) is not None:
            messages.append(message)
        return messages

    return asyncio.run(read())


@settings(max_examples=25)  # every byte of a message is a call
@given(MESSAGES)
def test_what_is_written_is_read(message):
    stream = Dribble()
    channel.write(stream, message)
    frame = bytes(stream.data)
    assert channel.read(stream) == message
    assert channel.read(stream) is None
    assert received(frame * 2) == [message] * 2


@given(st.binary(max_size=40))
def test_any_bytes_are_messages_or_malformed(data):
    for frame in (data, struct.pack(">I", len(data)) + data):
        try:
            blocking = channel.read(io.BytesIO(frame))
        except Malformed:
            with pytest.raises(Malformed):
                received(frame)
        else:
            assert blocking is None or isinstance(blocking, dict)


@pytest.mark.parametrize(
    "body",
    [b"[" * 10**6, b'{"a": ' * 10**5, b'{"n": ' + b"9" * 5000 + b"}", b'{"n": NaN}', b"\xff\xfe", b"[]", b"null", b""],
)
def test_a_body_that_is_no_object(body):
    with pytest.raises(Malformed):
        channel.unpack(body)


@pytest.fixture
def short_frames(monkeypatch):
    monkeypatch.setattr(channel, "LIMIT", 1 << 20)


@pytest.mark.usefixtures("short_frames")
def test_a_frame_too_long_is_refused_before_it_is_read():
    with pytest.raises(Malformed, match="announced"):
        channel.read(io.BytesIO(struct.pack(">I", channel.LIMIT + 1)))
    with pytest.raises(Malformed, match="at most"):
        channel.pack({"text": "a" * channel.LIMIT})
    with pytest.raises(Malformed, match="cannot be written"):
        channel.pack({"number": float("nan")})


@pytest.mark.usefixtures("short_frames")
def test_a_frame_of_the_largest_size():
    text = "a" * (channel.LIMIT - len('{"text": ""}'))
    assert channel.read(io.BytesIO(channel.pack({"text": text}))) == {"text": text}


def test_what_can_be_paid_for_fits_into_a_frame():
    """Floats at their longest, with what is between them; also as base64, from the pages."""
    longest = len(f"{-1 / 3e-105!r}, ") * worker.MOST_LINES
    assert longest < content._LARGEST < 0.75 * channel.LIMIT - 2**20


def test_what_does_not_fit_is_refused_before_anything_is_paid(tmp_path):
    side = "\n".join(f'[attributes.{name}]\ntype = "integer"\nmin = 0\nmax = 4095' for name in "ab")
    place = {"name": "t", "data": str(tmp_path / "t.csv"), "schema": str(tmp_path / "t.toml"), "accept": []}
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "t.toml").write_text(side)
    own = worker.Worker({**place, "table": None, "ledger": str(tmp_path / "t.ledger"), "total": "1"})
    for task in (Histogram("a", "b"), Mean("a", by=["b"])):
        asked = json.dumps(Request.of(task, 1).to_dict())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(worker, "MOST_GROUPS", 1 << 10)
            with pytest.raises(BadInput, match="lines, and a service returns at most"):
                own.ask(None, task.kind, "me", asked, None)
            with pytest.raises(BadInput, match="at most"):
                own.size("mara", asked)
    door = own.open(None)["door"]
    source = own.kernel.root.vectorize()
    own.doors[door].sources[1] = source
    asked = {"source": 1, "operator": encode(VectorLaplace(Identity(1 << 24))), "epsilon": "1"}
    with pytest.raises(BadInput, match="16,777,216"):
        own.measure(None, "m", "me", "{}", None, door, asked)
    assert own.ledger.budget.spent == 0


def test_blocking_sockets():
    here, there = socket.socketpair()
    with here, there, here.makefile("rwb") as first, there.makefile("rwb") as second:
        channel.write(first, {"call": "health"})
        assert channel.read(second) == {"call": "health"}


async def keeper(message):
    match message["call"]:
        case "echo":
            return message
        case "broke":
            raise BudgetExceeded("too much.", asked=Fraction(1, 2), left=Fraction(1, 3), total=Fraction(1))
        case "bad":
            raise BadInput("bad.")
        case "long":
            return "a" * channel.LIMIT
    return {"lost": [1 / 0]}


@pytest.mark.usefixtures("short_frames")
def test_calls_and_errors_of_a_server(tmp_path, capfd):
    path = tmp_path / "keeper"

    async def errors():
        async with await channel.serve(path, keeper):
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert await channel.call(path, {"call": "echo", "é": 1}) == {"call": "echo", "é": 1}
            found = {}
            for name in ("broke", "bad", "long", "defect"):
                with pytest.raises(channel.Refused) as refused:
                    await channel.call(path, {"call": name})
                found[name] = channel.error_of(refused.value)
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await reader.read() == b""
            writer.close()
        with pytest.raises(channel.Busy):
            await channel.call(path, {"call": "echo"})
        return found

    found = asyncio.run(errors())
    assert found["broke"] == {
        "kind": "BudgetExceeded",
        "message": "too much.",
        "asked": "1/2",
        "left": "1/3",
        "total": "1",
    }
    assert found["bad"] == {"kind": "BadInput", "message": "bad."}
    assert found["long"]["kind"] == "Malformed"
    assert found["defect"] == {"kind": "Defect", "message": channel.DEFECT}
    reported = capfd.readouterr().err
    assert "ZeroDivisionError" in reported
    assert "division by zero" not in reported


@pytest.mark.parametrize("reply", [b"", b"\0\0", channel.pack({"neither": 1}), channel.pack({"error": 5})])
def test_replies_that_are_none(tmp_path, reply):
    async def answer(reader, writer):
        await channel.receive(reader)
        writer.write(reply)
        writer.close()

    async def asked():
        async with await asyncio.start_unix_server(answer, tmp_path / "keeper"):
            await channel.call(tmp_path / "keeper", {"call": "ask"})

    with pytest.raises((channel.Busy, channel.Refused)) as error:
        asyncio.run(asked())
    assert json.dumps(channel.error_of(error.value))


def test_what_has_begun_is_completed_when_the_caller_hangs_up(tmp_path):
    async def watched():
        begun, completed = asyncio.Event(), asyncio.Event()

        async def slow(message):
            begun.set()
            await asyncio.sleep(0.05)
            completed.set()

        async with await channel.serve(tmp_path / "keeper", slow):
            call = asyncio.ensure_future(channel.call(tmp_path / "keeper", {"call": "ask"}))
            await begun.wait()
            call.cancel()
            async with asyncio.timeout(60):
                await completed.wait()

    asyncio.run(watched())


def test_a_connection_is_used_again_only_after_its_reply(tmp_path):
    path, idle = tmp_path / "keeper", []

    async def answer(message):
        await asyncio.sleep(message["seconds"])
        return message["seconds"]

    async def called(seconds):
        return await channel.call(path, {"call": "ask", "seconds": seconds}, idle)

    async def used():
        async with await channel.serve(path, answer):
            assert await called(0) == 0
            (first,) = idle
            assert await asyncio.gather(called(0.02), called(0.01)) == [0.02, 0.01]
            assert first in idle
            assert len(idle) == 2
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await called(5)
            assert len(idle) == 1, "the reply of a call that was given up would be taken for the next"
            assert await called(0.001) == 0.001
        idle[0][1].transport.abort()  # as when the keeper has ended
        await asyncio.sleep(0.01)
        async with await channel.serve(path, answer):
            assert await called(0) == 0
            assert len(idle) == 1

    asyncio.run(used())
