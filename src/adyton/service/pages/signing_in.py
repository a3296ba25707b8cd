"""Signing in and out. A cookie without meaning of its own stands for a token, which never goes to the browser."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping

from adyton.errors import AdytonError, BadInput
from adyton.service.pages.visits import Page, View, Visit, Visitor, path_to, redirect
from adyton.session.client import Address, Client

COOKIE = "adyton"
SECONDS = 12 * 3600
"""How long a visitor who does nothing stays signed in."""
_LINK_SECONDS = 600
_MOST, _MOST_EACH = 1000, 20
"""How many visitors are known at once, and how many times one person may be signed in."""


# ---- the pages -------------------------------------------------------------------------------------------------------


def sign_in(visit: Visit) -> Page:
    """The page with the field for a token; a link that was made for this signs in at once."""
    link = visit.text("link") if visit.method == "GET" else ""  # whatever looks ahead does not use it up
    if link:
        links, local = visit.site.links, visit.site.settings.get("local_token")
        if links is None or local is None or not links.use(link):
            raise BadInput("This link was used before, or is too old. Press Enter in the terminal for a new one.")
        return _entered(visit, local, _inside(visit.text("to", "/")))
    if visit.visitor is not None:
        return redirect("/")
    return visit.page(
        "enter.html.j2",
        to=_inside(visit.text("to", "/")),
        problem="",
        ended="ended" in visit.query,
        lost="lost" in visit.query,
    )


def signed_in(visit: Visit) -> Page:
    """Sign in with the token of the form."""
    to = _inside(visit.text("to", "/"))
    try:
        return _entered(visit, visit.text("token"), to)
    except AdytonError as problem:
        return visit.page("enter.html.j2", status=400, to=to, problem=str(problem), ended=False, lost=False)


def sign_out(visit: Visit) -> Page:
    """Forget the visitor."""
    return _left(visit, "/enter")


def signed_out(visit: Visit) -> Page:
    """The way back for a visitor whose token is not valid any more: sign in again, with the reason."""
    return _left(visit, path_to("enter", to=visit.path if visit.method == "GET" else "/", ended=""))


def _left(visit: Visit, location: str) -> Page:
    visit.site.visitors.leave(visit.cookie)
    name = cookie_name(secure=visit.secure, mark=visit.site.mark)
    ended = f"{name}=; Path={visit.site.base}/; Max-Age=0" + "; Secure" * visit.secure
    return Page(b"", 303, headers={"location": location, "set-cookie": ended})


def _entered(visit: Visit, token: str, to: str) -> Page:
    if not token:
        raise BadInput("Paste your token. The curator of the table makes it: adyton token.")
    client = Client(Address.of(f"unix:{visit.site.settings['api']}"), token, 5.0)
    me = client.call("GET", "/v1/me").plain()
    cookie = visit.site.visitors.enter(token, str(me["name"]), str(me["role"]))
    kind = f"Path={visit.site.base}/; HttpOnly; SameSite=Strict; Max-Age={SECONDS}" + "; Secure" * visit.secure
    return Page(
        b"",
        303,
        headers={
            "location": to,
            "set-cookie": f"{cookie_name(secure=visit.secure, mark=visit.site.mark)}={cookie}; {kind}",
        },
    )


def _inside(path: str) -> str:
    """A path of this site; anything else leads to the first page."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if ours else "/"


# ---- who has signed in -----------------------------------------------------------------------------------------------


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


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/enter"): sign_in,
    ("POST", "/enter"): signed_in,
    ("POST", "/leave"): sign_out,
}
