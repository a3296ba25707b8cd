"""The process that makes pages: ``python -m adyton.service.pages.process``.

It reads its settings as one line of JSON from standard input, writes ``{"ready": …}`` to standard output, and answers
what the HTTP process passes on through a Unix socket. It asks the service with the tokens of visitors, and can do
nothing that they could not do themselves.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from adyton.plans.registry import ALGORITHMS
from adyton.service import channel
from adyton.service.limits import UnderWay
from adyton.service.pages.site import Site

_MOST, _MOST_EACH = 64, 16
"""How many pages are made at once, of all and for each person."""


async def run(settings: dict[str, Any]) -> None:
    """Answer until the process is asked to end, or its parent is gone."""
    ALGORITHMS.own_only()  # nothing is imported because a form names it
    site, ended = Site(settings), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_MOST))  # most of them wait for the service
    calls = UnderWay(_MOST, _MOST_EACH)

    async def answer(message: channel.Message) -> object:
        with calls.one_more(site.whose(message)):
            return await asyncio.to_thread(site.answer, message)

    server = await channel.serve(settings["socket"], answer)
    sys.stdout.write(json.dumps({"ready": True}) + "\n")
    sys.stdout.flush()
    while not ended.is_set() and os.getppid() == settings["parent"]:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 1)
    server.close()


def main() -> None:
    """Read the settings, and answer."""
    asyncio.run(run(json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    main()
