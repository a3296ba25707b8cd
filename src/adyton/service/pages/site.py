"""The process that makes pages, ``python -m adyton.service.pages.site``: the view of each path, and what holds for all.

It reads its settings as one line of JSON from standard input, writes ``{"ready": …}`` to standard output, and answers
what the HTTP process passes on through a Unix socket. It asks the service with the tokens of visitors, and can do
nothing that they could not do themselves.

What holds for all pages is here: who is signed in, that a form comes from one of our own pages, the headers that keep
scripts, frames and addresses of others out, and a page for every error.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import parse_qs, unquote

from adyton.errors import AdytonError, BadInput, BudgetExceeded, ServiceError, Waiting
from adyton.plans.registry import ALGORITHMS
from adyton.service import channel
from adyton.service.channel import Message
from adyton.service.limits import CallCount
from adyton.service.pages import ledger, people, signing_in, tables, words
from adyton.service.pages.asking import views as asking
from adyton.service.pages.new_table import views as new_table
from adyton.service.pages.results import comparing, saved, unfinished
from adyton.service.pages.results import views as results
from adyton.service.pages.signing_in import Links, Visitors, cookie_name
from adyton.service.pages.visits import Fields, NoSuchPage, Page, SignIn, View, Visit, path_to, redirect, static
from adyton.service.passing import HERE
from adyton.session.client import Forbidden, NotFound, Unauthorized

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Scripts and styles from our own files alone; drawings have styles in their attributes."""
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_PLACES = {"location", "adyton-next"}
"""Headers with a path of ours."""
_ELSEWHERE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>There is no such page – Adyton</title>
<h1>There is no such page</h1><p>Use the link that the terminal shows; press Enter there for a new one.</p></html>"""
_MOST_FIELDS = 20_000
_MOST, _MOST_EACH = 64, 16
"""How many pages are made at once, of all and for each person."""
_ROUTES: dict[tuple[str, str], View] = {
    name: view
    for chapter in (signing_in, tables, asking, results, unfinished, comparing, saved, ledger, people, new_table, words)
    for name, view in chapter.VIEWS.items()
}
"""Every view, by method and path."""
_STATUS = {BudgetExceeded: 409, Waiting: 202, NoSuchPage: 404, Forbidden: 403, NotFound: 404, ServiceError: 503}


class Site:
    """All pages, for everybody who visits them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.base = str(settings.get("base", ""))
        """What all paths begin with: on one machine it is another one for each run, and only its owner knows it.
        Browsers send cookies to every port of a machine, but not to other paths."""
        self.visitors = Visitors()
        key = settings.get("links")
        self.links = Links(key) if key else None
        self.mark = hashlib.sha256(key.encode()).hexdigest()[:8] if key else ""
        """What tells the cookies of this service from those of others on the machine."""
        self.results: dict[Any, Any] = {}
        """Results that were read before, for views that show them again."""

    def answer(self, message: Message) -> Message:
        """The reply to a call that the HTTP process passes on, as it passes it."""
        page = self._page(message)
        visitor = self.visitors.find(_cookie(message, self.mark))
        headers = {**_HEADERS, "content-type": page.kind, **page.headers}
        for name in _PLACES & headers.keys():
            headers[name] = f"{self.base}{headers[name]}"
        return {
            "status": page.status,
            "headers": [[name, value] for name, value in headers.items()],
            "body": base64.b64encode(page.body).decode("ascii"),
            "visitor": None if visitor is None else visitor.name,
        }

    def whose(self, message: Message) -> str:
        """Who asks, however many cookies or sessions they have; for those who have not signed in, from where."""
        visitor = self.visitors.find(_cookie(message, self.mark))
        return f"at {message.get('peer', '')}" if visitor is None else f"{visitor.role} {visitor.name}"

    def _page(self, message: Message) -> Page:
        visit = Visit(message["method"], message["path"], {}, {}, None, self, secure=bool(message.get("secure")))
        visit.host = str(message.get("host", ""))
        try:
            self._check_host(visit)
            if self.base:
                if not visit.path.startswith(f"{self.base}/"):
                    return Page(_ELSEWHERE.encode(), 404)
                visit.path = visit.path.removeprefix(self.base)
            visit.query = _fields(message.get("query", ""))
            visit.cookie = _cookie(message, self.mark)
            visit.visitor = self.visitors.find(visit.cookie)
            if visit.method == "POST":
                visit.form = _form(message)
                self._check_origin(visit, message)
            view, parts = _view(visit.method, visit.path)
            return view(visit, **parts)
        except SignIn:
            return redirect(path_to("enter", **_way_back(visit, message)))
        except Unauthorized:
            return signing_in.signed_out(visit)
        except AdytonError as problem:
            return self._problem(visit, problem)
        except Exception as defect:
            channel.report(defect)
            return self._problem(visit, channel.Refused({"kind": "Defect"}))

    def _check_host(self, visit: Visit) -> None:
        """Refuse calls to a service of one machine under a foreign name, which only a page of others would use."""
        if self.settings.get("workplace") is not None and not HERE.fullmatch(visit.host):
            raise BadInput("This service is for this machine alone. Use the address that adyton open prints.")

    def _check_origin(self, visit: Visit, message: Message) -> None:
        """Refuse forms that do not come from our own pages."""
        site = message.get("fetch_site") or "same-origin"
        key = visit.visitor.form_key if visit.visitor is not None else ""
        if site not in ("same-origin", "none") or (
            visit.visitor is not None and not hmac.compare_digest(visit.text("form_key").encode(), key.encode())
        ):
            raise BadInput(
                "This form is too old, or was sent from another page. Open the page again, and send it again."
            )

    def _problem(self, visit: Visit, problem: AdytonError) -> Page:
        said, status = channel.error_of(problem), _status(problem)
        return visit.page("problem.html.j2", status=status, title=_TITLES.get(status, "That did not work"), said=said)


def _way_back(visit: Visit, message: Message) -> dict[str, str]:
    """Where a visitor goes after signing in: to the page that was asked for; after a lost form, to the results."""
    if visit.method in ("GET", "HEAD"):
        query = str(message.get("query", ""))
        return {"to": f"{visit.path}?{query}" if query else visit.path}
    table = re.match(r"/tables/[^/]+", visit.path)
    return {"to": f"{table[0]}/results" if table else "/", "lost": ""}


_TITLES = {
    403: "You may not do this",
    404: "There is no such page",
    409: "More than is left",
    503: "The service does not answer",
}


def _status(problem: AdytonError) -> int:
    return next((status for kind, status in _STATUS.items() if isinstance(problem, kind)), 400)


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], View]]:
    """The pattern of each path, whose parts in braces hold anything but a slash."""
    return [
        (method, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))), view)
        for (method, path), view in _ROUTES.items()
    ]


def _view(method: str, path: str) -> tuple[View, dict[str, str]]:
    if path.startswith("/static/") and method in ("GET", "HEAD"):
        return (lambda _: static(path.removeprefix("/static/"))), {}
    for own, pattern, view in _patterns():
        match = pattern.fullmatch(path)
        if match and own == ("GET" if method == "HEAD" else method):
            return view, {name: unquote(part) for name, part in match.groupdict().items()}
    raise NoSuchPage("There is no such page. Begin with the tables.")


def _fields(text: str) -> Fields:
    try:
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadInput("This form cannot be read. Open the page again, and send it again.") from None


def _form(message: Message) -> Fields:
    kind = str(message.get("content_type", "")).partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadInput("This form cannot be read. Open the page again, and send it again.")
    return _fields(base64.b64decode(message.get("body", "")).decode("latin-1"))


def _cookie(message: Message, mark: str) -> str:
    """Our own cookie, whatever those of others look like."""
    name = cookie_name(secure=bool(message.get("secure")), mark=mark)
    pairs = (pair.strip().partition("=") for pair in str(message.get("cookie", "")).split(";"))
    return next((value for key, _, value in pairs if key == name), "")


# ---- the process -----------------------------------------------------------------------------------------------------


async def run(settings: dict[str, Any]) -> None:
    """Answer until the process is asked to end, or its parent is gone."""
    ALGORITHMS.own_only()  # nothing is imported because a form names it
    site, ended = Site(settings), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_MOST))  # most of them wait for the service
    calls = CallCount(_MOST, _MOST_EACH)

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
