"""Connections: the server that speaks HTTP, with limits in time and number that it does not have by itself.

It is uvicorn. Added are: a time within which the head of a request must arrive; readers who are too slow are cut off;
the most connections; errors in JSON where a request cannot be parsed; and an end that waits for work which has begun.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.service.observing import AuditLog, Metrics
from adyton.service.peers import Peers, peer_of, place_of

_MOST_HEAD = 2**15
_LONGEST_LINE = 2**24
_FULL_SECONDS = 1
"""How long a connection that is one too many stays before it ends."""
_STALL_SECONDS, _STALL_BYTES = 10, 2**14
"""A client must read so many bytes in so many seconds."""


@dataclass
class Listener:
    """Serves an application at an address."""

    app: Any
    address: str
    """``host:port``, or ``unix:path``."""
    audit: AuditLog
    metrics: Metrics
    work: Collection[asyncio.Task[None]]
    """What must end before the process does."""
    certificate: str | None = None
    certificate_key: str | None = None
    connections: int = 512
    connections_each: int = 64
    reserved: int = 128
    """How many connections are for those that have shown a valid token."""
    proxies: Peers = field(default_factory=Peers)
    """Peers who connect for others."""
    head_seconds: float = 10
    idle_seconds: int = 15
    shutdown_seconds: int = 30
    parent: int | None = None
    """The process without which this one ends."""
    inside: str | None = None
    """A Unix socket at which processes of the service ask, without TLS."""
    change: Callable[[str], None] | None = None
    """What is done with each further line of standard input."""

    def __post_init__(self) -> None:
        self.open: dict[_Protocol, None] = {}
        """The connections from outside, the oldest first."""
        self.ending = 0
        """How many others are being ended, because they were too many."""
        self.each = Counter[str]()
        """How many there are of each peer."""

    def admit(self, new: _Protocol) -> bool:
        """Whether there is a place for a new connection. Who waits without a valid token gives way: the oldest of the
        same peer, or of the one that has the most. So nobody keeps others out by connections that only begin, or by
        slow bodies."""
        if self.each[new.place] > self.connections_each and not self.proxies.has(new.peer):
            return self._make_room(new, [own for own in self.open if own.place == new.place])
        unknown = [own for own in self.open if own.person is None]
        if len(unknown) > max(1, self.connections - self.reserved):
            return self._make_room(new, unknown)
        return len(self.open) <= self.connections

    def _make_room(self, new: _Protocol, some: Iterable[_Protocol]) -> bool:
        waiting = [own for own in some if own is not new and own.person is None and not own.answering]
        if not waiting:
            return False
        oldest = max(waiting, key=lambda own: self.each[own.place])  # the first of several
        self.forget(oldest)
        oldest.give_way()
        return True

    def trust(self, connection: _Protocol, person: str) -> None:
        """Keep a connection through which somebody's valid token came. A person has as many of them as a peer, from
        however many addresses: of more, the oldest can give way again."""
        if connection.person != person and connection in self.open:
            connection.person = person
            own = [one for one in self.open if one.person == person]
            if len(own) > self.connections_each:
                next(one for one in own if one is not connection).person = None

    def forget(self, connection: _Protocol) -> None:
        """A connection that has ended."""
        if connection in self.open:
            del self.open[connection]
            self.each[connection.place] -= 1
            self.each += Counter()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then end what is under way."""
        listening = _bound(self.address)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        protocol = type("Protocol", (_Protocol,), {"listener": self})
        config = uvicorn.Config(
            self.app,
            http=protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=self.idle_seconds,
            timeout_graceful_shutdown=self.shutdown_seconds,
            h11_max_incomplete_event_size=_MOST_HEAD,
            ssl_certfile=self.certificate,
            ssl_keyfile=self.certificate_key,
            workers=1,
        )
        try:
            config.load()
        except (OSError, ValueError) as error:
            raise BadInput(f"the certificate or its key cannot be used ({error}).") from None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # the server raises the signal again when it has ended
        signal.signal(signal.SIGHUP, lambda *_: self.audit.reopen())
        _Server(config, self).run(sockets=[listening])
        if self.address.startswith("unix:"):
            Path(self.address.removeprefix("unix:")).unlink(missing_ok=True)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listener: Listener) -> None:
        super().__init__(config)
        self._listener = listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets is not None
        if self._listener.inside is not None:
            Path(self._listener.inside).unlink(missing_ok=True)
            mask = os.umask(0o177)
            try:
                self.servers.append(
                    await asyncio.get_running_loop().create_unix_server(self._connected, self._listener.inside)
                )
            finally:
                os.umask(mask)
        self._ready(sockets[0])
        if self._listener.change is not None:
            self._hearing = asyncio.create_task(self._hear(self._listener.change, sockets[0]))

    def _ready(self, listening: socket.socket) -> None:
        sys.stdout.write(json.dumps({"ready": _address_of(self._listener, listening)}) + "\n")
        sys.stdout.flush()

    async def _hear(self, change: Callable[[str], None], listening: socket.socket) -> None:
        """Take what the supervisor says later, line by line, and reply to each."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=_LONGEST_LINE)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            change(line.decode("utf-8"))
            self._ready(listening)

    def _connected(self) -> asyncio.Protocol:
        """A connection of another process of the service, to which no limits apply."""
        make: Any = self.config.http_protocol_class
        protocol: _Protocol = make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        protocol.inside = True
        return protocol

    async def on_tick(self, counter: int) -> bool:
        parent = self._listener.parent
        return await super().on_tick(counter) or (parent is not None and os.getppid() != parent)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        latest = loop.time() + self._listener.shutdown_seconds
        await super().shutdown(sockets)
        if self._listener.work:
            await asyncio.wait(list(self._listener.work), timeout=max(0, latest - loop.time()))


def _address_of(listener: Listener, listening: socket.socket) -> str:
    if listening.family == socket.AF_UNIX:
        return listener.address
    host, port = listening.getsockname()[:2]
    return f"{'https' if listener.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _bound(address: str) -> socket.socket:
    """A socket that listens at an address."""
    try:
        if address.startswith("unix:"):
            return _bound_file(Path(address.removeprefix("unix:")))
        host, _, port = address.rpartition(":")
        family, kind, protocol, _, place = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)  # without the protocol, replies wait for acknowledgements
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(
            f"cannot listen at {shorten(address)} ({why}). Give an address that is free: 127.0.0.1:8472, unix:FILE."
        ) from None
    return listening


def _bound_file(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if path.is_socket():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()  # left behind by a process that was killed
    listening.bind(str(path))
    path.chmod(0o666)  # who may connect says the folder; who may ask say tokens
    return listening


class _Protocol(H11Protocol):
    """A connection."""

    listener: ClassVar[Listener]
    inside = False
    person: str | None = None
    """Whose valid token came through it last, if one did and they do not have too many of such connections."""
    answering = False
    """Whether a call has arrived as a whole, and its reply has not left."""
    ending = False
    """Whether it is one too many."""
    peer: str | None = None
    place = ""
    _head: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": self}
        if self.inside:
            self._watch()
            return
        self.peer = peer_of(transport.get_extra_info("socket"))
        self.place = place_of(self.peer)
        self.listener.open[self] = None
        self.listener.each[self.place] += 1
        if self.listener.admit(self):
            self._watch()
        else:
            self.listener.forget(self)
            self.give_way()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head, self._stalled):
            if timer is not None:
                timer.cancel()
        self.listener.forget(self)
        self.listener.ending -= self.ending
        super().connection_lost(exc)

    def trust(self, person: str) -> None:
        """Somebody's valid token came through it."""
        self.listener.trust(self, person)

    def give_way(self) -> None:
        """End, because there are too many; not at once, so that whoever has many does not open others at once."""
        listener = self.listener
        listener.metrics.refused.labels("Connections").inc()
        if self._head is not None:
            self._head.cancel()
        if listener.ending >= listener.connections:
            self.transport.abort()
        else:
            listener.ending += 1
            self.ending = True
            self.transport.pause_reading()
            self._head = self.loop.call_later(_FULL_SECONDS, self._end)

    def _end(self) -> None:
        self._head = None
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
        elif not self.transport.is_closing():
            self._say(503, "Busy", "Too many connections are open. Try again later.", b"retry-after: 2\r\n")

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch()

    def _watch(self) -> None:
        """Limit the time in which the head of a request arrives; between requests the server has a limit of its own."""
        waiting = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if waiting and self._head is None:
            self._head = self.loop.call_later(self.listener.head_seconds, self._too_slow)
        elif not waiting and self._head is not None:
            self._head.cancel()
            self._head = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        self._head = None
        if self.cycle is None or self.cycle.response_complete:
            seconds = self.listener.head_seconds
            self._say(408, "TooSlow", f"The head of the request did not arrive within {seconds:g} seconds.")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; in the middle of a body, the call ends."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        self._say(400, "BadInput", "This is not an HTTP request.")

    def _say(self, status: int, kind: str, message: str, headers: bytes = b"") -> None:
        """Send an error and close."""
        reason = {400: b"Bad Request", 408: b"Request Timeout", 503: b"Service Unavailable"}[status]
        body = json.dumps({"error": {"kind": kind, "message": message}}).encode("ascii")
        head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n"
        self.transport.write(head % (status, reason, len(body)) + headers + b"\r\n" + body)
        self.transport.close()
        self.listener.audit.write(peer=self.peer, route="unknown", status=status, kind=kind)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._left = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(_STALL_SECONDS, self._check_reader)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _check_reader(self) -> None:
        """Cut off a client who reads almost nothing."""
        left = self.transport.get_write_buffer_size()
        if left > self._left - _STALL_BYTES:
            self.transport.abort()
            return
        self._left = left
        self._stalled = self.loop.call_later(_STALL_SECONDS, self._check_reader)
