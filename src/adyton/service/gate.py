"""The gate before the routes: who calls, how much and how often; and when, and with which headers, a reply leaves.

Every call passes here, so what holds for every reply is written once: errors are JSON, no traceback leaves, an entry of
the audit log is written, and the reply to a call with a valid token leaves when :mod:`~adyton.service.timing` says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from starlette.routing import BaseRoute, Match

from adyton.errors import AdytonError
from adyton.service import channel
from adyton.service.access import Doorkeeper, Person, Unauthorized
from adyton.service.channel import Forbidden
from adyton.service.limits import CallCount, Rate, TooLarge, TooMany, TooSlow, check_json
from adyton.service.observing import AuditLog, Metrics
from adyton.service.passing import HERE, Pages
from adyton.service.peers import Peers, is_loopback, place_of
from adyton.service.timing import Clock, Durations, leaves_at

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

STATUSES = {
    "BadInput": 400,
    "SchemaError": 400,
    "PredicateError": 400,
    "Disconnected": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "TooSlow": 408,
    "BudgetExceeded": 409,
    "OverQuota": 409,
    "LedgerMismatch": 409,
    "UnderWay": 409,
    "Gone": 410,
    "TooLarge": 413,
    "TooMany": 429,
    "KernelFailure": 500,
    "Unfinished": 500,
    "LedgerError": 503,
    "Busy": 503,
}
"""The status of each kind of error; of any other, 500."""

_AGAIN_AFTER = 2
_PAUSE = 1
_REFUSED_SECONDS = 5
"""How long a body is waited for that nobody will read."""
_DISCARDED = 8
"""How many times the largest body is read and thrown away, so that the client reads the reply."""
_PIECE = 2**18
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_OVER_TLS = (b"strict-transport-security", b"max-age=31536000")


class Disconnected(AdytonError):
    """A client that hung up before its body had arrived."""


@dataclass
class Passage:
    """What the gate and the routes say to one another about a call."""

    arrival: int
    """When it had arrived with its whole body."""
    leave: int | None = None
    """When the reply leaves; None for the duration of the shortest class."""
    person: Person | None = None
    connection: Any = None
    """The connection that it came through, if it came through one."""
    at: str | None = None
    peer: str | None = None
    """Who is connected, and who is behind that, if it is a proxy."""
    dataset: str | None = None
    route: str = "unknown"
    request: str | None = None
    """The id of the request, checked."""
    token: str | None = None
    """The id of the token that the call is about, checked."""
    kind: str | None = None
    """The kind of the error."""


@dataclass
class Reply:
    """A whole reply, before it leaves."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    async def add(self, message: MutableMapping[str, Any]) -> None:
        """Take a message that an application sends."""
        if message["type"] == "http.response.start":
            self.status, self.headers, self.body = message["status"], list(message.get("headers", ())), b""
        else:
            self.body += message.get("body", b"")


def error_reply(error: BaseException, passage: Passage) -> Reply:
    """The reply for an error, as JSON."""
    said = channel.error_of(error)
    status = STATUSES.get(said["kind"], 500)
    if said["kind"] not in STATUSES:
        said = {"kind": "Defect", "message": channel.DEFECT}
    passage.kind = said["kind"]
    headers = [(b"content-type", b"application/json")]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, TooMany):
        headers.append((b"retry-after", str(error.after).encode("ascii")))
    elif status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", str(_AGAIN_AFTER).encode("ascii")))
    return Reply(status, headers, json.dumps({"error": said}).encode("ascii"))


@dataclass
class Gate:
    """An application around the routes."""

    app: App
    service: Any
    """What the routes share."""
    routes: Iterable[BaseRoute]
    doorkeeper: Doorkeeper
    rate: Rate
    calls: CallCount
    clock: Clock
    durations: Durations
    audit: AuditLog
    metrics: Metrics
    datasets: frozenset[str]
    most_body: int
    body_seconds: float
    proxies: Peers
    """Whose word is taken for who is calling."""
    metrics_for: frozenset[str]
    metrics_at: Peers
    """Who may read the metrics: names of tokens, and peers."""
    peers: CallCount
    """Calls under way of each peer, without a valid token."""
    refusals: Rate
    """Of each peer: calls without a valid token that are answered at once."""
    pages: Pages | None = None
    """Where calls go that are for pages."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        passage = Passage(self.clock.now())
        self._connect(scope, passage)
        self._place(scope, passage)
        with ExitStack() as held:
            held.enter_context(self.metrics.under_way.track_inprogress())
            reply = await self._reply(scope, receive, passage, held)
            if passage.person is not None and scope["path"].startswith("/v1"):
                leave = passage.leave
                if leave is None:
                    leave = leaves_at(passage.arrival, self.clock.now(), self.durations.count)
                await self.clock.until(leave)
            self._record(scope, passage, reply)
            await self._send(scope, reply, send)

    def _connect(self, scope: Scope, passage: Passage) -> None:
        """Find out who is at the other end."""
        connection = passage.connection = scope.get("state", {}).pop("connection", None)
        client = scope.get("client")
        if connection is None or not connection.inside:
            passage.at = connection.peer if connection else client[0] if client else None
            passage.peer = self.proxies.behind(passage.at, scope["headers"])
        scope.setdefault("state", {})["peer"] = place_of(passage.peer)

    def _place(self, scope: Scope, passage: Passage) -> None:
        """Find the route of a call, and the data set that it names, if there is one."""
        for route in self.routes:
            match, found = route.matches(scope)
            if match is not Match.NONE:
                passage.route = getattr(route, "path", passage.route)
                name = found.get("path_params", {}).get("name")
                passage.dataset = name if name in self.datasets else None
                return

    async def _reply(self, scope: Scope, receive: Receive, passage: Passage, held: ExitStack) -> Reply:
        refused: AdytonError | None = None
        closing = False
        try:
            try:
                await self._admit(scope, passage, held)
            except AdytonError as error:
                self.metrics.refused.labels(type(error).__name__).inc()
                refused, closing = error, await self._slowed(error, passage)
            try:
                body = await self._read(scope, receive, keep=refused is None)
            except AdytonError:
                closing = True
                raise
            finally:
                passage.arrival = self.clock.now()
            if refused is not None:
                raise refused
            if passage.connection is not None:
                passage.connection.answering = True
            if self.pages is not None and self.pages.takes(scope["path"]):
                passage.route = "pages"
                page = Reply(*await self.pages.reply(scope, body))
                if passage.connection is not None and (visitor := scope["state"].get("visitor")):
                    passage.connection.trust(visitor)
                return page
            if body:
                check_json(body)
            reply = Reply()
            scope.setdefault("state", {})["passage"] = passage
            await self.app(scope, _replayed(body), reply.add)
        except Exception as error:
            if not isinstance(error, AdytonError):
                channel.report(error)
            reply = error_reply(error, passage)
            if self.pages is not None and self.pages.takes(scope["path"]):
                reply = Reply(*self.pages.problem(reply.status, channel.error_of(error)["message"]))
        if closing:
            reply.headers.append((b"connection", b"close"))
        return reply

    async def _slowed(self, error: AdytonError, passage: Passage) -> bool:
        """Whether a peer has tried too many tokens: it waits then, and its connection ends."""
        if isinstance(error, Unauthorized):
            try:
                self.refusals.take(place_of(passage.peer))
            except TooMany:
                await asyncio.sleep(_PAUSE)
                return True
        return False

    async def _admit(self, scope: Scope, passage: Passage, held: ExitStack) -> None:
        """Say who is calling, where somebody must be; refuse who calls too often."""
        try:
            await self._recognize(scope, passage, held)
        finally:
            if passage.connection is not None and passage.person is not None:
                passage.connection.trust(passage.person.name)
            elif passage.connection is None or not passage.connection.inside:
                held.enter_context(self.peers.one_more(place_of(passage.peer)))

    async def _recognize(self, scope: Scope, passage: Passage, held: ExitStack) -> None:
        headers = dict(scope["headers"])
        token = headers.get(b"authorization", b"").decode("latin-1")
        if scope["path"] == "/metrics" and (token or not self._may_measure(scope, passage, headers)):
            passage.person = await self.doorkeeper.person(token)
            if passage.person.role != "metrics" or passage.person.name not in self.metrics_for:
                raise Forbidden("Metrics are for those whom the configuration names, with a token of the role metrics.")
        elif scope["path"].startswith("/v1"):
            person = await self.doorkeeper.person(token)
            passage.person = person
            self.rate.take(person.name)
            held.enter_context(self.calls.one_more(person.name))

    async def _read(self, scope: Scope, receive: Receive, *, keep: bool) -> bytes:
        """The body, of at most so many bytes, in at most so many seconds; what is too long is thrown away."""
        length = dict(scope["headers"]).get(b"content-length", b"0")
        too_large = TooLarge(f"The body has more than {self.most_body} bytes, which is the most.")
        if int(length) > _DISCARDED * self.most_body:
            raise too_large
        seconds = self.body_seconds if keep else min(self.body_seconds, _REFUSED_SECONDS)
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                while size <= _DISCARDED * self.most_body:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Disconnected("The connection ended before the body had arrived.")
                    part = message.get("body", b"")
                    size += len(part)
                    if keep and size <= self.most_body:
                        parts.append(part)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise TooSlow(f"The body did not arrive within {seconds:g} seconds.") from None
        if size > self.most_body:
            raise too_large
        return b"".join(parts)

    def _may_measure(self, scope: Scope, passage: Passage, headers: Mapping[bytes, bytes]) -> bool:
        """Whether the metrics are for a peer without a token. What an unknown proxy passes on is from anybody; and
        under a foreign name, a page of others may be asking this machine."""
        passed_on = any(name in headers for name in (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"))
        if (passed_on and not self.proxies.has(passage.at)) or not self.metrics_at.has(passage.peer):
            return False
        host = headers.get(b"host", b"localhost").decode("latin-1")
        return scope.get("client") is None or not is_loopback(passage.peer) or HERE.fullmatch(host) is not None

    def _record(self, scope: Scope, passage: Passage, reply: Reply) -> None:
        person = passage.person
        if passage.connection is not None:
            passage.connection.answering = False
        self.metrics.replies.labels(passage.route, passage.dataset or "", str(reply.status)).inc()
        if person is None and (reply.status == HTTPStatus.OK or passage.route == "pages"):
            return  # health, the description of the service, or a page: what it asks of the service is written down
        self.audit.write(
            who=person.name if person else None,
            role=person.role if person else None,
            peer=passage.peer,
            method=scope["method"] if scope["method"] in _METHODS else "other",
            route=passage.route,
            dataset=passage.dataset,
            request=passage.request,
            token=passage.token,
            status=reply.status,
            kind=passage.kind,
            milliseconds=(self.clock.now() - passage.arrival) // 10**6,
        )

    async def _send(self, scope: Scope, reply: Reply, send: Send) -> None:
        """Send a reply in pieces, so that a client who reads slowly is waited for."""
        said = {name for name, _ in reply.headers}
        headers = [*reply.headers, *(header for header in _HEADERS if header[0] not in said)]
        if scope.get("scheme") == "https":
            headers.append(_OVER_TLS)
        if all(name != b"content-length" for name, _ in headers):
            headers.append((b"content-length", str(len(reply.body)).encode("ascii")))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        for start in range(0, max(1, len(reply.body)), _PIECE):
            more = start + _PIECE < len(reply.body)
            await send({"type": "http.response.body", "body": reply.body[start : start + _PIECE], "more_body": more})


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")


def _replayed(body: bytes) -> Receive:
    """What an application receives whose body was read already."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> MutableMapping[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    return receive
