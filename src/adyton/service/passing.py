"""What the HTTP process passes on to the process that makes pages, and what comes back."""

from __future__ import annotations

import asyncio
import base64
import html
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from adyton.service import channel
from adyton.service.channel import Busy
from adyton.service.limits import CallCount

_OWN = ("/v1", "/health", "/metrics", "/openapi.json")
"""Where the paths begin that are not for pages."""
HERE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])?(:[0-9]+)?")
"""The names by which this machine calls itself; under any other, a page of others may be asking."""
_SECONDS = 120
_MOST, _MOST_EACH = 128, 64
"""How many pages are made at once, of all and for each peer."""
_HEADERS = {b"cookie": "cookie", b"content-type": "content_type", b"sec-fetch-site": "fetch_site", b"host": "host"}
"""The headers that a page may depend on."""

_PLAIN = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"retry-after", b"2"),
]
_LATER = """<!doctype html><html lang="en"><meta charset="utf-8"><title>One moment – Adyton</title>{}
<h1>One moment</h1><p>The pages are starting, or very busy. {}</p></html>"""
_PROBLEM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>That did not work – Adyton</title>
<h1>That did not work</h1><p>{}</p></html>"""
_RELOAD = '<meta http-equiv="refresh" content="3">'
_SOON = "This page loads again by itself."
_SEND_AGAIN = "Go back, and send the form again: the same form is never paid for twice."
"""What a browser shows while no page can be made."""


class Pages:
    """Passes calls of browsers on."""

    def __init__(self, socket: str) -> None:
        self._socket, self._calls = socket, CallCount(_MOST, _MOST_EACH)

    @staticmethod
    def problem(status: int, message: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """The page for what is refused before there is a page, such as a form that is too large."""
        return status, _PLAIN, _PROBLEM.format(html.escape(message)).encode()

    @staticmethod
    def takes(path: str) -> bool:
        """Whether a path is that of a page."""
        return not any(path == own or path.startswith(f"{own}/") for own in _OWN)

    async def reply(self, scope: Mapping[str, Any], body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """The status, headers and body of a page."""
        state = scope.get("state", {})
        peer = str(state.get("peer", ""))
        own = {_HEADERS[name]: value.decode("latin-1") for name, value in scope["headers"] if name in _HEADERS}
        message = {
            "method": scope["method"],
            "path": scope["raw_path"].decode("ascii", "replace"),
            "query": scope["query_string"].decode("latin-1"),
            "secure": scope.get("scheme") == "https",
            "body": base64.b64encode(body).decode("ascii"),
            "peer": peer,
            **own,
        }
        try:
            with self._calls.one_more(peer):
                async with asyncio.timeout(_SECONDS):
                    page: MutableMapping[str, Any] = await channel.call(self._socket, message)
        except (Busy, channel.Refused, TimeoutError):
            again = scope["method"] == "GET"
            return 503, _PLAIN, _LATER.format(_RELOAD if again else "", _SOON if again else _SEND_AGAIN).encode()
        state["visitor"] = page.get("visitor")
        headers = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in page["headers"]]
        return page["status"], headers, base64.b64decode(page["body"])
