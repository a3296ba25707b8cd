"""What the service has for an id: how far the request is, or its result.

The service decides anew, at every visit, who may see what. What is remembered here, beside the text of a result, is
only what follows from it: its parts, which are read like a file that nobody trusts, and what its page shows.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from adyton.errors import AdytonError, BadInput, ServiceError, Unfinished
from adyton.programs.base import result_in
from adyton.result.pending import FORMAT as MEASUREMENTS
from adyton.result.result import Result
from adyton.schema.plain_values import as_text, part_of
from adyton.service.pages.visits import NoSuchPage, Visit, path_to
from adyton.session.client import Reply, Unreached
from adyton.session.remote import verified

State: TypeAlias = Literal[
    "done", "measured", "unread", "reading", "under way", "waiting", "refused", "ended", "cancelled", "gone"
]
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HEAD = 200
"""In how many characters a text says what it holds."""
_MOST_RESULTS, _MOST_CHARACTERS = 64, 1 << 27
_MOST_SENT = 200
AT_ONCE, PATIENCE = 0.5, 100.0
"""For how many seconds a page waits for what is computed for it, before it is shown without; and a file."""
_MOST_JOBS = 32
"""How many things are remembered that were computed from a result."""
_MOST_UNDER_WAY = 8
"""How many of them may be under way."""
_AT_ONCE = threading.Semaphore(4)
"""How many things are computed at once."""


@dataclass(frozen=True)
class Place:
    """Where a result is: its table, its id and, if it is somebody else's, whose."""

    table: str
    id: str
    owner: str | None = None

    @classmethod
    def asked(cls, visit: Visit, table: str, id: str) -> Place:
        """The place that a path and the field ``analyst`` name."""
        owner = visit.text("analyst") or None
        own = owner == visit.person.name and not visit.person.is_curator
        return cls(table, id, None if own else owner)

    @classmethod
    def of_key(cls, table: str, key: str) -> Place:
        """The place that a :attr:`key` names."""
        id, _, owner = key.partition(":")
        return cls(table, id, owner or None)

    @property
    def key(self) -> str:
        """The result as one text: its id and, if it is somebody else's, whose."""
        return self.id if self.owner is None else f"{self.id}:{self.owner}"

    def path(self, *more: str, **query: str) -> str:
        """The path of its page, or of something below it."""
        return path_to("tables", self.table, "results", self.id, *more, **query, **self.of)

    @property
    def of(self) -> dict[str, str]:
        """The part of a query that says whose it is."""
        return {} if self.owner is None else {"analyst": self.owner}

    @property
    def call(self) -> str:
        """Its path at the service."""
        path = f"/v1/datasets/{quote(self.table, safe='')}/requests/{quote(self.id, safe='')}"
        return f"{path}?{urlencode(self.of)}" if self.of else path


class Job:
    """Something that is computed once, in a thread of its own, for all who wait for it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: Exception | None = None
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            with _AT_ONCE:
                self._value = work()
        except Exception as error:
            self._error = error
        self._done.set()

    def ready(self, seconds: float) -> bool:
        """Whether it is done after so many seconds at most."""
        return self._done.wait(seconds)

    def value(self, seconds: float) -> Any:
        """What was computed; :class:`NotReady` if that takes longer."""
        if not self.ready(seconds):
            raise NotReady("This takes more than a minute or two to compute. It goes on: load this page again later.")
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self._error is not None

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        if isinstance(self._value, Saved):
            return self._value.size
        return len(self._value) if isinstance(self._value, bytes | str) else 0


class NotReady(ServiceError):
    """Something that is still being computed from what was published."""


@dataclass
class Saved:
    """The text of a result with what was read from it, and what was computed from it for its pages."""

    text: str
    result: Result
    jobs: dict[Any, Job] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def data(self) -> bytes:
        """The bytes, as they came."""
        return self.text.encode("utf-8")

    def job(self, name: Any, work: Callable[[], Any]) -> Job:
        """What is computed under a name; begun if it was not asked for before."""
        with self._lock:
            if name not in self.jobs and sum(not job.ready(0) for job in self.jobs.values()) >= _MOST_UNDER_WAY:
                raise NotReady("Several questions to this result are being computed. Ask this one again in a minute.")
            job = self.jobs.pop(name, None) or Job(work)
            while len(self.jobs) >= _MOST_JOBS:
                del self.jobs[next(iter(self.jobs))]
            self.jobs[name] = job  # the last one is the one that was asked for last
            return job

    @property
    def size(self) -> int:
        """About how many bytes were computed from it."""
        return sum(job.size for job in list(self.jobs.values()))


@dataclass(frozen=True)
class Signed:
    """The receipt of a result: the fields that the service signed, or why they are not believed."""

    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    doubt: str = ""


@dataclass(frozen=True)
class Outcome:
    """What the service has for an id."""

    state: State
    request: Any = None
    """What was asked, as plain values; None where that is not known here."""
    said: str = ""
    """A sentence of the service."""
    text: str = ""
    """The JSON that was paid for."""
    saved: Saved | None = None
    signed: Signed | None = None


def outcome(visit: Visit, place: Place, patience: float = AT_ONCE) -> Outcome:
    """What the service has for an id; :class:`NoSuchPage` if there is nothing that this visitor may see. A large result
    takes a while to read; after so many seconds it is still being read."""
    if not _ID.fullmatch(place.id):
        raise NoSuchPage("There is no request of this id. The list of results has those that there are.")
    try:
        reply = visit.client.call("GET", place.call)
    except Unreached:
        raise
    except AdytonError as problem:
        return _problem(visit, place, problem)
    status = reply.headers.get("adyton-status", "")
    if status in ("done", "ended"):
        return _arrived(visit, place, reply, patience)
    request = asked_for(visit, place)
    sent(visit, place, request)
    return Outcome("waiting" if status == "waiting" else "under way", request)


def _problem(visit: Visit, place: Place, problem: AdytonError) -> Outcome:
    """A request that the service has no result of: it was refused, it ended early, or it is not there any more."""
    line = line_of(visit, place)
    if line is not None:
        if line["status"] == "refused":
            return Outcome("refused", line["request"], str(problem))
        if isinstance(problem, Unfinished):
            return Outcome("ended", line["request"], str(problem))
        raise problem
    if (cancelled := _known(visit, "cancelled").get(place)) is not None:
        return Outcome("cancelled", cancelled.request)
    why = visit.person.kept.get("refused", {}).get((place.table, place.id)) if place.owner is None else None
    old = _known(visit, "sent").get(place)
    if old is not None or why is not None:
        return Outcome("gone", None if old is None else old.request, "" if why is None else str(why))
    raise NoSuchPage(str(problem))


def _arrived(visit: Visit, place: Place, reply: Reply, patience: float) -> Outcome:
    """A reply with what was paid for: a result, or measurements."""
    text = reply.text
    signed = _signed(visit, place, reply)
    if f'"{MEASUREMENTS}"' in text[:_HEAD]:
        ended = as_text(part_of(reply.plain(), "ended"), "ended")
        return Outcome("measured", asked_for(visit, place), ended, text, None, signed)
    try:
        saved = shelf_of(visit).read(text, patience)
    except NotReady:
        return Outcome("reading", asked_for(visit, place), "", text, None, signed)
    except AdytonError as problem:
        return Outcome("unread", asked_for(visit, place), str(problem), text, None, signed)
    return Outcome("done", asked_for(visit, place), "", text, saved, signed)


def _signed(visit: Visit, place: Place, reply: Reply) -> Signed:
    header = reply.headers.get("adyton-receipt", "")
    try:
        if not header:
            raise BadInput("the service sent none.")
        key = as_text(part_of(visit.ask("GET", "/v1/key"), "key"), "the service's key")
        fields = verified(key, header, reply.text.encode("utf-8"))
        if (fields.get("request"), fields.get("dataset")) != (place.id, place.table):
            raise BadInput("it is that of another request.")
    except AdytonError as problem:
        return Signed(header, doubt=str(problem))
    return Signed(header, fields)


def shelf_of(visit: Visit) -> Shelf:
    """The results that were read before, by anybody."""
    shelf: Shelf = visit.site.results.setdefault("shelf", Shelf())
    return shelf


class Shelf:
    """Results that were read before, by their digest: as many as there is room for, those that were used last."""

    def __init__(self, results: int = _MOST_RESULTS, characters: int = _MOST_CHARACTERS) -> None:
        self._most, self._characters = results, characters
        self._known: OrderedDict[bytes, tuple[int, Job]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, text: str, patience: float = PATIENCE) -> Saved:
        """The result in a text; an error if it holds none, or was changed, or if reading it takes longer."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if digest not in self._known:
                self._known[digest] = (len(text), Job(lambda: Saved(text, result_in(text, "this result"))))
            self._known.move_to_end(digest)
            while len(self._known) > 1 and (len(self._known) > self._most or self._size() > self._characters):
                self._known.popitem(last=False)
            job = self._known[digest][1]
        saved: Saved = job.value(patience)
        return saved

    def _size(self) -> int:
        return sum(length + job.size for length, job in self._known.values())


# ---- what was asked --------------------------------------------------------------------------------------------------


class _Sent(NamedTuple):
    """A request that a visitor's pages know of, and since when."""

    since: float
    request: Any


def lines(visit: Visit, table: str) -> list[dict[str, Any]]:
    """What the service lists: the requests that this visitor may see, newest first."""
    listed: list[dict[str, Any]] = visit.ask("GET", f"/v1/datasets/{quote(table, safe='')}/requests")["requests"]
    return listed[::-1]


def owner_of(visit: Visit, line: Mapping[str, Any]) -> str | None:
    """Whose request a line of the list is, if it is not the visitor's own; empty for one of the curators."""
    own = None if visit.person.is_curator else visit.person.name
    return None if line.get("analyst") == own else str(line.get("analyst") or "")


def line_of(visit: Visit, place: Place) -> dict[str, Any] | None:
    """The line of the list that is about a request, if there is one."""
    owner = place.owner or (None if visit.person.is_curator else visit.person.name)
    return next(
        (line for line in lines(visit, place.table) if (line["analyst"], line["id"]) == (owner, place.id)), None
    )


def asked_for(visit: Visit, place: Place) -> Any:
    """What was asked, as plain values; None if that is not known."""
    known = _known(visit, "sent").get(place)
    if known is not None and known.request is not None:
        return known.request
    line = line_of(visit, place)
    return None if line is None else line["request"]


def sent(visit: Visit, place: Place, request: Any) -> None:
    """Remember for the visitor what was asked, and since when it has been under way."""
    known = _known(visit, "sent")
    old = known.get(place)
    known[place] = _Sent(time.monotonic(), request) if old is None else _Sent(old.since, old.request or request)
    while len(known) > _MOST_SENT:
        del known[next(iter(known))]


def seconds_since(visit: Visit, place: Place) -> float:
    """For how long a request has been under way, as far as the visitor's own pages know."""
    known = _known(visit, "sent").get(place)
    return 0.0 if known is None else time.monotonic() - known.since


def cancel(visit: Visit, place: Place) -> None:
    """Cancel a request of the visitor's own from which nothing was charged yet; an error if that is too late."""
    request = asked_for(visit, place)
    visit.ask("DELETE", place.call)
    _known(visit, "cancelled")[place] = _Sent(time.monotonic(), request)


def _known(visit: Visit, name: str) -> dict[Place, _Sent]:
    known: dict[Place, _Sent] = visit.person.kept.setdefault(name, {})
    return known
