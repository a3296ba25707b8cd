"""The HTTP client of a service, from the standard library alone: addresses, errors, and repeated attempts.

Everything that is sent can be sent again: requests and measurements carry an id, and the service returns the stored
answer of an id that it has seen. So whatever is lost on the way is asked for again, and nothing is paid for twice.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast
from urllib.parse import urlsplit

from adyton import __version__, errors
from adyton.errors import AdytonError, BadInput, BudgetExceeded, KernelFailure, ServiceError
from adyton.exact import exact
from adyton.messages import shorten

PORT = 8472
PATIENCE = 120.0
"""For how many seconds something is tried again."""
_LONGEST_WAIT = 900.0
"""How long a reply may take, in seconds: longer than services let an operation run."""
_LONGEST_DIAL = 20.0
_LARGEST = 1 << 28
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 8.0
_LONGEST_MESSAGE = 2000
_AGAIN = (429, 502, 503, 504)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""When a silent connection is tested, so that a network that fell out is noticed within a minute."""
_FORMS = 'an address is "https://host:8472" or "unix:/path/to.sock"'


class Gone(AdytonError):
    """A door of a process that has ended: what was derived behind it must be derived again."""


class Unauthorized(ServiceError):
    """The service does not know the token, or not any more."""


class Forbidden(ServiceError):
    """Something that whoever has this token may not do, or a request that the curator refused."""


class NotFound(ServiceError):
    """A data set, request or token that does not exist, or that whoever asks may not see."""


class UnderWay(ServiceError):
    """A request that something was spent for, or that has ended: it cannot be cancelled any more."""


class Unreached(ServiceError):
    """Nobody answered, however often it was tried; what was sent may have arrived."""


@dataclass(frozen=True)
class Reply:
    """A reply of a service that is not an error."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    text: str

    def plain(self) -> Any:
        """The JSON in it."""
        return _parsed(self.text)


@dataclass(frozen=True)
class Address:
    """Where a service listens."""

    text: str
    host: str = ""
    port: int = PORT
    path: str = ""
    """The path of a Unix socket."""
    context: ssl.SSLContext | None = None

    @classmethod
    def of(cls, given: object, certificate: object = None) -> Address:
        """The address in a text; with *certificate*, the file of the authority that signs the service's."""
        if not isinstance(given, str):
            raise BadInput(f"{_FORMS}, given {shorten(given)}.")
        if given.startswith("unix:") and len(given) > 5:
            return cls(given, path=given[5:].removeprefix("//"))
        try:
            parts = urlsplit(given)
            scheme, host, port = parts.scheme, parts.hostname or "", parts.port or PORT
            rest = parts.path.strip("/") + parts.query + parts.fragment + (parts.username or "")
        except ValueError:
            scheme = host = rest = ""
            port = PORT
        if scheme not in ("https", "http") or not host or rest:
            raise BadInput(f"{_FORMS}, given {shorten(given)}.")
        if scheme == "http" and host not in _LOOPBACK:
            raise BadInput(f"http:// would send the token unprotected over the network. Write https://{host}:{port}.")
        shown = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        return cls(shown, host, port, context=_context(certificate) if scheme == "https" else None)

    def connection(self) -> http.client.HTTPConnection:
        """A connection, not yet opened."""
        if self.path:
            return _UnixConnection(self.path)
        if self.context is not None:
            return http.client.HTTPSConnection(self.host, self.port, timeout=_LONGEST_DIAL, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=_LONGEST_DIAL)

    def trouble(self, error: Exception) -> str:
        """Why nobody was reached, in a sentence."""
        match error:
            case ssl.SSLCertVerificationError():
                said = (
                    f"The certificate of {self.text} cannot be verified ({error.verify_message}). If an authority of "
                    "your own has signed it, name the authority's file with certificate=…."
                )
            case ssl.SSLError():
                said = f"{self.text} does not speak TLS as expected ({error.reason or 'unknown reason'})."
            case socket.gaierror():
                said = f"There is no host {self.host!r}. Check the address."
            case ConnectionRefusedError() | FileNotFoundError():
                said = f"Nobody listens at {self.text}. Check the address, or ask whether the service runs."
            case PermissionError():
                said = f"You may not open {self.text}. Ask its owner for access to the socket."
            case TimeoutError():
                said = f"{self.text} does not answer. Check the address and the network."
            case http.client.HTTPException():
                said = f"{self.text} broke off, or does not speak HTTP. Check the address."
            case _:
                said = f"{self.text} cannot be reached ({getattr(error, 'strerror', None) or type(error).__name__})."
        return said


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_LONGEST_DIAL)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """Sends calls to a service, from any thread, and raises its errors as they would be raised in this process."""

    def __init__(self, address: Address, token: str, patience: float = PATIENCE) -> None:
        if not token.isascii() or not token.isprintable() or not token or " " in token:
            raise BadInput("the token is not one that a service gives out. Copy it again, without blanks around it.")
        self.address, self.patience = address, patience
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json",
            "User-Agent": f"adyton/{__version__}",
        }
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._reached = False
        """Whether the service has answered before: then it may be starting again, and is worth waiting for."""

    def call(self, method: str, path: str, body: object = None) -> Reply:
        """The reply to a call, which is sent again where nobody answers, or the service says so."""
        sent = None if body is None else json.dumps(body, allow_nan=False).encode("ascii")
        end, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        while True:
            try:
                reply = self._sent(method, path, sent)
            except (OSError, http.client.HTTPException) as error:
                trouble = Unreached(self.address.trouble(error))
                known = isinstance(error, ssl.SSLCertVerificationError) or not self._reached
                if known and not isinstance(error, http.client.RemoteDisconnected | ConnectionResetError):
                    raise trouble from None
                wait = pause
            else:
                self._reached = True
                if reply.status < 400:
                    return reply
                problem = _error(reply, self.address.text)
                if reply.status not in _AGAIN:
                    raise problem
                trouble = Unreached(str(problem))
                wait = _seconds(reply.headers.get("retry-after")) or pause
            if time.monotonic() + wait > end:
                raise trouble
            time.sleep(wait * random.uniform(0.8, 1.2))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop().close()

    def _sent(self, method: str, path: str, body: bytes | None) -> Reply:
        """One attempt. A connection that was kept may have been closed by the service: then it is made anew."""
        connection, kept = self._connection()
        try:
            try:
                return self._exchanged(connection, method, path, body)
            except (http.client.RemoteDisconnected, ConnectionError):
                if not kept:
                    raise
                connection.close()
                connection = self.address.connection()
                return self._exchanged(connection, method, path, body)
        except BaseException:
            connection.close()  # a reply may still be on its way, which is not one to the next call
            raise

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        if self._process != os.getpid():  # after a fork the connections belong to the other process
            self._idle, self._process = [], os.getpid()
        try:
            return self._idle.pop(), True
        except IndexError:
            return self.address.connection(), False

    def _exchanged(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None) -> Reply:
        if connection.sock is None:
            connection.connect()
            _keep_alive(cast("socket.socket", connection.sock))
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ServiceError(f"{self.address.text} sends a reply of more than {_LARGEST:,} bytes.")
        if not answer.will_close:
            self._idle.append(connection)
        else:
            connection.close()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, headers, content.decode("utf-8", "replace"))


def _keep_alive(connected: socket.socket) -> None:
    connected.settimeout(_LONGEST_WAIT)
    if connected.family != getattr(socket, "AF_UNIX", None):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _ALIVE.items():
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _context(certificate: object) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if certificate is None else str(certificate))
    except (OSError, ssl.SSLError) as error:
        why = "it is not a certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInput(f"certificate {shorten(str(certificate))} cannot be read ({why}).") from None


def _seconds(text: str | None) -> float:
    """The seconds of a Retry-After header; 0 if there are none."""
    return min(float(text), 60.0) if text and text.isascii() and text.isdigit() else 0.0


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ServiceError("the service sent a reply that is not JSON. Check its address.") from None


def _error(reply: Reply, address: str) -> AdytonError:
    """The error in a reply: of the class that the same mistake has in this process."""
    try:
        plain = json.loads(reply.text)
        error = plain["error"]
        kind, message = error["kind"], _printable(error["message"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return ServiceError(
            f"{address} answers with status {reply.status}, and not like a service of Adyton. Check the address."
        )
    if kind == "BudgetExceeded":
        asked, left, total = (_fraction(error.get(name)) for name in ("asked", "left", "total"))
        return BudgetExceeded(message, asked=asked, left=left, total=total)
    if kind == "KernelFailure":
        return KernelFailure()
    if kind == "Gone" or reply.status == 410:
        return Gone(message)
    own = _OWN.get(kind) if isinstance(kind, str) else None
    known = getattr(errors, kind, None) if isinstance(kind, str) and own is None else own
    plainly = isinstance(known, type) and issubclass(known, AdytonError) and "__init__" not in vars(known)
    error_class: type[AdytonError] = known if plainly and known is not None else ServiceError
    return error_class(message)


_OWN = {kind.__name__: kind for kind in (Unauthorized, Forbidden, NotFound, UnderWay)}
"""Errors that only a service has."""


def _printable(text: object) -> str:
    """A sentence of the service, without characters that a terminal would obey."""
    if not isinstance(text, str):
        raise TypeError
    return "".join(sign if sign.isprintable() else " " for sign in text[:_LONGEST_MESSAGE])


def _fraction(text: object) -> Fraction:
    try:
        return exact(text, "a budget", computed=True)
    except BadInput:
        return Fraction(0)
