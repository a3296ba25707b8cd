"""What the service has for an id: how far the request is, or its result.

At every visit the service decides who may see what. What is remembered here, beside the text of a result, is
only what follows from it: its parts, which are read like a file that nobody trusts, and what its page shows.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from adyton.errors import AdytonError, BadInput, ServiceError, Unfinished
from adyton.programs.base import result_in
from adyton.result.pending import FORMAT as MEASUREMENTS
from adyton.result.result import Result
from adyton.schema.plain_values import as_text, part_of
from adyton.service.pages.requests import Place, asked_for, remember, remembered, row_of
from adyton.service.pages.visits import NoSuchPage, Visit
from adyton.session.client import Reply, Unreached
from adyton.session.remote import verified

State: TypeAlias = Literal[
    "done", "measured", "unread", "reading", "under way", "waiting", "refused", "ended", "cancelled", "gone"
]
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HEAD = 200
"""In how many characters a text says what it holds."""
_MOST_RESULTS, _MOST_CHARACTERS = 64, 1 << 27
AT_ONCE, PATIENCE = 0.5, 100.0
"""For how many seconds a page waits for what is computed for it, before it is shown without; and a file."""
_MOST_JOBS = 32
"""How many things are remembered that were computed from a result."""
_MOST_UNDER_WAY = 8
"""How many of them may be under way."""
_AT_ONCE = threading.Semaphore(4)
"""How many things are computed at once."""


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
                raise NotReady("Several queries of this result are being computed. Ask this one again in a minute.")
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
class Receipt:
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
    signed: Receipt | None = None


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
    remember(visit, place, request)
    return Outcome("waiting" if status == "waiting" else "under way", request)


def _problem(visit: Visit, place: Place, problem: AdytonError) -> Outcome:
    """A request that the service has no result of: it was refused, it ended early, or it is not there any more."""
    row = row_of(visit, place)
    if row is not None:
        if row["status"] == "refused":
            return Outcome("refused", row["request"], str(problem))
        if isinstance(problem, Unfinished):
            return Outcome("ended", row["request"], str(problem))
        raise problem
    if (cancelled := remembered(visit, place, "cancelled")) is not None:
        return Outcome("cancelled", cancelled.request)
    why = visit.person.kept.get("refused", {}).get((place.table, place.id)) if place.owner is None else None
    old = remembered(visit, place)
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
        saved = cache_of(visit).read(text, patience)
    except NotReady:
        return Outcome("reading", asked_for(visit, place), "", text, None, signed)
    except AdytonError as problem:
        return Outcome("unread", asked_for(visit, place), str(problem), text, None, signed)
    return Outcome("done", asked_for(visit, place), "", text, saved, signed)


def _signed(visit: Visit, place: Place, reply: Reply) -> Receipt:
    header = reply.headers.get("adyton-receipt", "")
    try:
        if not header:
            raise BadInput("the service sent none.")
        key = as_text(part_of(visit.ask("GET", "/v1/key"), "key"), "the service's key")
        fields = verified(key, header, reply.text.encode("utf-8"))
        if (fields.get("request"), fields.get("dataset")) != (place.id, place.table):
            raise BadInput("it is that of another request.")
    except AdytonError as problem:
        return Receipt(header, doubt=str(problem))
    return Receipt(header, fields)


def cache_of(visit: Visit) -> ResultCache:
    """The results that were read before, by anybody."""
    cache: ResultCache = visit.site.results.setdefault("cache", ResultCache())
    return cache


class ResultCache:
    """Results that were read before, by their digest: as many as there is room for, those that were used last."""

    def __init__(self, results: int = _MOST_RESULTS) -> None:
        self._most = results
        self._known: OrderedDict[bytes, tuple[int, Job]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, text: str, patience: float = PATIENCE) -> Saved:
        """The result in a text; an error if it holds none, or was changed, or if reading it takes longer."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if digest not in self._known:
                self._known[digest] = (len(text), Job(lambda: Saved(text, result_in(text, "this result"))))
            self._known.move_to_end(digest)
            while len(self._known) > 1 and (len(self._known) > self._most or self._size() > _MOST_CHARACTERS):
                self._known.popitem(last=False)
            job = self._known[digest][1]
        saved: Saved = job.value(patience)
        return saved

    def _size(self) -> int:
        return sum(length + job.size for length, job in self._known.values())
