"""What passes between the processes of the service: messages in frames, and the client of a keeper's socket.

A frame is the length of its body in 4 bytes, big-endian, and the body: one JSON object in UTF-8, of at most
:data:`LIMIT` bytes. A call is ``{"call": name, …}``; its reply is ``{"ok": …}`` or ``{"error": {"kind": …,
"message": …}}``.
The same frames pass through asyncio streams (:func:`send`, :func:`receive`) and through blocking pipes and sockets
(:func:`write`, :func:`read`). A frame that is malformed raises :class:`Malformed`, whatever its bytes are; the stream
cannot be used afterwards, because nobody knows where the next frame begins.

A call to a keeper has a connection to itself until its reply has come, so that a long call delays no other, and a reply
cannot be taken for that of another call. Closing the connection does not end the call at the keeper: a result is stored
under its id.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

from adyton.errors import AdytonError, BudgetExceeded

LIMIT = 1 << 28
"""The most bytes that the body of a frame may have: more than the largest result that a worker lets anybody pay for."""

_LENGTH = struct.Struct(">I")
Message: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Message], Awaitable[object]]
"""What a server does with a call: it returns the value of ``ok``, or raises."""
Idle: TypeAlias = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
"""Connections to a server that no call has."""


class Malformed(AdytonError):
    """Bytes that are no frame, or a message that does not fit into one."""


class Forbidden(AdytonError):
    """Something that this person may not do."""


class NotFound(AdytonError):
    """A data set or request that does not exist, or that this person may not see."""


class Gone(AdytonError):
    """A door of a worker that has ended: what was derived must be derived again."""


class Busy(AdytonError):
    """A service that is starting, stopping or has too much under way. The same request may be sent again later."""


class UnderWay(AdytonError):
    """A request that something was spent for, or that has ended: it can no longer be cancelled."""


class Refused(AdytonError):
    """An error that the other side of a channel replied with."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        kind, message = error.get("kind"), error.get("message")
        self.kind = kind if isinstance(kind, str) else "Defect"
        self.details = {name: str(error[name]) for name in _FIGURES if name in error}
        super().__init__(message if isinstance(message, str) else DEFECT)


_FIGURES = ("asked", "left", "total")
"""What an error may say beside its kind and message: budgets, as exact fractions."""
DEFECT = "The service failed, by a defect of its own. Send the same request again: nothing is charged twice."


def pack(message: Mapping[str, Any]) -> bytes:
    """The frame of a message.

    >>> pack({"ok": 1})
    b'\\x00\\x00\\x00\\t{"ok": 1}'
    """
    try:
        body = json.dumps(message, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise Malformed(f"a message cannot be written as JSON ({type(error).__name__}).") from None
    if len(body) > LIMIT:
        raise Malformed(f"a message has {len(body)} bytes; at most {LIMIT} are allowed.")
    return _LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> Message:
    """The message in the body of a frame."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the body of a frame is not JSON ({type(error).__name__}).") from None
    if not isinstance(message, dict):
        raise Malformed("the body of a frame is not a JSON object.")
    return message


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _length(head: bytes) -> int:
    length: int = _LENGTH.unpack(head)[0]
    if length > LIMIT:
        raise Malformed(f"a frame of {length} bytes was announced; at most {LIMIT} are allowed.")
    return length


class Readable(Protocol):
    """A blocking binary stream, such as a pipe or the file of a socket, buffered or not."""

    def read(self, size: int, /) -> bytes | None:
        """At most *size* bytes; none at the end."""


class Writable(Protocol):
    """A blocking binary stream to write to."""

    def write(self, data: bytes | memoryview, /) -> int | None:
        """Write bytes, maybe not all of them; how many."""

    def flush(self) -> None:
        """Send what is still in a buffer."""


def read(stream: Readable) -> Message | None:
    """The next message of a blocking stream; None if the stream has ended between two frames."""
    head = _bytes(stream, _LENGTH.size)
    if not head:
        return None
    length = _length(_whole(head, _LENGTH.size))
    return unpack(_whole(_bytes(stream, length), length))


def _bytes(stream: Readable, count: int) -> bytes:
    """*count* bytes, or fewer if the stream ends."""
    parts, missing = [], count
    while missing and (part := stream.read(min(missing, 2**20))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _whole(part: bytes, count: int) -> bytes:
    if len(part) < count:
        raise Malformed(f"a stream ended {count - len(part)} bytes before the end of a frame.")
    return part


def write(stream: Writable, message: Mapping[str, Any]) -> None:
    """Write a message to a blocking stream."""
    left = memoryview(pack(message))
    while left:
        left = left[stream.write(left) or 0 :]
    stream.flush()


async def receive(reader: asyncio.StreamReader) -> Message | None:
    """The next message of a stream; None if the stream has ended between two frames."""
    try:
        length = _length(await reader.readexactly(_LENGTH.size))
        return unpack(await reader.readexactly(length))
    except asyncio.IncompleteReadError as end:
        if end.expected == _LENGTH.size and not end.partial:
            return None
        raise Malformed(f"a stream ended {(end.expected or 0) - len(end.partial)} bytes early.") from None


async def send(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Send a message, and wait while the other side is slow to read."""
    writer.write(pack(message))
    await writer.drain()


async def start(module: str) -> tuple[asyncio.subprocess.Process, asyncio.StreamWriter, asyncio.StreamReader]:
    """A new process that runs a module, and the streams to it and from it; what it says of errors is dropped."""
    pipe, command = asyncio.subprocess.PIPE, (sys.executable, "-m", module)
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    return process, process.stdin, process.stdout


async def call(path: str | Path, message: Mapping[str, Any], idle: Idle | None = None) -> Any:
    """Send one call to the socket at *path* and return what the reply says under ``ok``.

    An error of the other side is raised as :class:`Refused`; if nobody answers, :class:`Busy`. The caller limits the
    time, with ``asyncio.timeout``. A connection is taken from those that are *idle*, and is left there after the reply.
    """
    frame, reply = pack(message), None
    while idle:
        reader, writer = idle.pop()
        if not (reader.at_eof() or writer.is_closing()):
            break
        writer.close()
    else:
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=2**16)
        except OSError:
            raise Busy("The data set is starting, or cannot be reached. Try again later.") from None
    try:
        writer.write(frame)
        await writer.drain()
        reply = await receive(reader)
    except (OSError, Malformed):
        pass
    finally:
        if reply is None or idle is None:
            writer.close()
        else:
            idle.append((reader, writer))
    if reply is None:
        raise Busy("The data set was interrupted. Send the same request again, with its id: nothing is charged twice.")
    if "ok" in reply:
        return reply["ok"]
    error = reply.get("error")
    raise Refused(error if isinstance(error, dict) else {})


def error_of(error: BaseException) -> Message:
    """What a reply says of an error. Of an error that Adyton did not raise on purpose, only that there was one."""
    if isinstance(error, Refused):
        return {"kind": error.kind, "message": str(error), **error.details}
    if not isinstance(error, AdytonError):
        return {"kind": "Defect", "message": DEFECT}
    figures = {name: str(getattr(error, name)) for name in _FIGURES} if isinstance(error, BudgetExceeded) else {}
    return {"kind": type(error).__name__, "message": str(error), **figures}


async def serve(path: str | Path, answer: Answer) -> asyncio.Server:
    """Answer the calls that arrive at a Unix socket at *path*, which replaces an old one and is for this user alone.

    Calls of one connection are answered one after the other; a connection that sends no frame is closed. *answer* is
    not cancelled when the other side hangs up: what it has begun, it completes.
    """
    under_way: set[asyncio.Task[object]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, Malformed, asyncio.CancelledError):
            while (message := await receive(reader)) is not None:
                task = asyncio.ensure_future(answer(message))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                writer.write(await _reply(task))
                await writer.drain()
        writer.close()

    Path(path).unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(connected, path, backlog=256)
    finally:
        os.umask(mask)


async def _reply(task: asyncio.Task[object]) -> bytes:
    """The frame of the reply to a call."""
    try:
        return pack({"ok": await asyncio.shield(task)})
    except Exception as error:
        if not isinstance(error, AdytonError):
            report(error)
        return pack({"error": error_of(error)})


def report(error: Exception) -> None:
    """Say on standard error where an error that nobody expected was raised: the lines of code, no values."""
    where = "".join(traceback.format_tb(error.__traceback__))
    sys.stderr.write(f"adyton: {type(error).__name__} in a call\n{where}")
