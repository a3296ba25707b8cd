"""What is public about the columns of a table: ``python -m adyton.service.columns``, a process for one question.

A person who writes a schema is shown the names and types of columns, and whether a schema fits them. Finding that out
opens the file of the table, so it is done in a process that reads one message, replies and ends; whoever asks never
holds the table. No row is read, and the process is closed to the outside like a worker.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from adyton.errors import BadInput, SchemaError
from adyton.kernel.checking import check_table, column_facts, schema_of_table
from adyton.schema import FileFormat, Schema
from adyton.schema.files import PLAIN, read_toml
from adyton.service import channel
from adyton.service.channel import Busy, Message
from adyton.service.sealing import seal

_SECONDS = 60


async def ask(call: str, **given: Any) -> Message:
    """The reply of a new process to one of :data:`CALLS`."""
    process, writer, reader = await channel.start("adyton.service.columns")
    reply = None
    try:
        async with asyncio.timeout(_SECONDS):
            await channel.send(writer, {"call": call, **given})
            reply = await channel.receive(reader)
    except (OSError, channel.Malformed, TimeoutError):
        pass
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    if reply is None:
        raise Busy("The columns of the table could not be found out in time. Try again.")
    if "ok" not in reply:
        raise channel.Refused(reply["error"])
    return dict(reply["ok"])


def columns(data: str, file: Mapping[str, Any], *, header: bool) -> Message:
    """The columns with their types; none where the first line of a CSV file looks like a row."""
    found, text = column_facts(data, header=header, file=FileFormat.from_dict(file) if file else PLAIN)
    if found is not None and not found:
        raise SchemaError("the table has no columns. Give a table with at least one.")
    return {"columns": found, "text": text}


def check(data: str, schema: str, folder: str) -> Message:
    """Whether a schema fits the columns; paths in it are relative to a folder."""
    return check_table(data, Schema.from_dict(read_toml(f"{schema}\n"), folder)).to_dict()


def whole(data: str, schema: str, folder: str) -> Message:
    """A schema with the table's columns in place of its patterns."""
    return schema_of_table(data, Schema.from_dict(read_toml(f"{schema}\n"), folder)).to_dict()


CALLS: Mapping[str, Callable[..., Message]] = {"columns": columns, "check": check, "whole": whole}


def reply(message: Message) -> Message:
    """The reply to a message, or its error in one sentence."""
    given = dict(message)
    try:
        call = CALLS.get(str(given.pop("call", "")))
        if call is None:
            raise BadInput("there is no such question about columns.")
        return {"ok": call(**given)}
    except Exception as problem:
        return {"error": channel.error_of(problem)}


def main() -> None:
    """Answer one message."""
    replies = seal()
    message = channel.read(sys.stdin.buffer)
    if message is not None:
        channel.write(replies, reply(message))


if __name__ == "__main__":
    main()
