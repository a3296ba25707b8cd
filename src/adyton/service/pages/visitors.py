"""Who has signed in: a cookie without meaning of its own stands for a token, which never goes to the browser."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

COOKIE = "adyton"
SECONDS = 12 * 3600
"""How long a visitor who does nothing stays signed in."""
_LINK_SECONDS = 600
_MOST, _MOST_EACH = 1000, 20
"""How many visitors are known at once, and how many times one person may be signed in."""


@dataclass
class Visitor:
    """Somebody who has signed in."""

    token: str
    name: str
    role: str
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """What each form carries, so that other sites cannot send one in the visitor's name."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What views keep for this visitor, such as drafts."""
    seen: float = 0.0

    @property
    def is_curator(self) -> bool:
        """Whether the visitor decides about data sets."""
        return self.role == "curator"


class Visitors:
    """Everybody who has signed in, by the hash of their cookie."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: dict[bytes, Visitor] = {}
        self._clock, self._lock = clock, threading.Lock()

    def enter(self, token: str, name: str, role: str) -> str:
        """The cookie of a new visitor."""
        now, cookie = self._clock(), secrets.token_urlsafe(32)
        with self._lock:
            known = {key: old for key, old in self._known.items() if now - old.seen < SECONDS}
            own = [key for key, old in known.items() if (old.name, old.role) == (name, role)]
            crowd = own if len(own) >= _MOST_EACH else list(known) if len(known) >= _MOST else []
            if crowd:
                del known[min(crowd, key=lambda key: known[key].seen)]
            self._known = {**known, _hashed(cookie): Visitor(token, name, role, seen=now)}
        return cookie

    def find(self, cookie: str) -> Visitor | None:
        """Whose cookie this is, if anybody's."""
        visitor = self._known.get(_hashed(cookie)) if cookie else None
        now = self._clock()
        if visitor is None or now - visitor.seen >= SECONDS:
            return None
        visitor.seen = now
        return visitor

    def leave(self, cookie: str) -> None:
        """Forget a visitor."""
        with self._lock:
            self._known.pop(_hashed(cookie), None)


class Links:
    """Links that sign somebody in, once and for ten minutes: for the person at whose terminal they are printed. Those
    that were made before are refused: whether they were used is not known, if the process has been started again."""

    def __init__(self, key: str, clock: Callable[[], float] = time.time) -> None:
        self._key, self._clock = bytes.fromhex(key), clock
        self._first = int(clock())
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def make(self) -> str:
        """The secret part of a new link."""
        said = f"{int(self._clock()) + _LINK_SECONDS}-{secrets.token_hex(16)}"
        return f"{said}-{self._signed(said)}"

    def use(self, link: str) -> bool:
        """Whether this is a link that was not used before; from now on it was."""
        said, _, signature = link.rpartition("-")
        until, now = said.partition("-")[0], self._clock()
        if not hmac.compare_digest(signature.encode(), self._signed(said).encode()):
            return False
        if not max(now, self._first + _LINK_SECONDS) <= float(until):
            return False
        with self._lock:
            self._used = {old: end for old, end in self._used.items() if end >= now}
            if said in self._used:
                return False
            self._used[said] = float(until)
        return True

    def _signed(self, said: str) -> str:
        return hmac.new(self._key, said.encode(), hashlib.sha256).hexdigest()


def cookie_name(*, secure: bool, mark: str = "") -> str:
    """The name of the cookie; over TLS one that no other site of the domain can set.

    A *mark* tells the services of one person apart: browsers send the cookies of a machine to all of its ports.
    """
    name = f"{COOKIE}-{mark}" if mark else COOKIE
    return f"__Host-{name}" if secure else name


def _hashed(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
