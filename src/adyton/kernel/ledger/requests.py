"""Requests of analysts, and the answers to their measurements: so that nothing is asked twice, and no paid answer lost.

A request has an id, which whoever asks has chosen, and a body, which says what is asked. It is stored before anything
is spent for it, once, whoever stores it; the same id again is the same request, and with another body it is refused.
It is never removed, and its id never used again: that it waits, has begun, was refused or withdrawn are states, and a
request that is not stored permits nothing.

    waiting → begun, by a curator's consent to exactly this body        waiting → refused, withdrawn
    begun → done, ended; where nothing was spent for it also → withdrawn, refused

Debits are possible only while the request is ``begun``, and each keeps the request's id. Where an analyst's limits
demand a curator's consent, the transaction that begins a request and the one that debits for it look for it: an event
that names the analyst, the id and the digest of the body. The answer to a debit is stored in the transaction that
settles it, before the program sees it. So a request whose process has ended is completed from its stored answers, at no
cost, and two that complete it get one result: that of the first.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias, get_args

from adyton.errors import BadInput
from adyton.exact import display, exact, rounded_down
from adyton.kernel.ledger.analysts import stored_name
from adyton.kernel.ledger.changes import insist_unchanged, record
from adyton.kernel.ledger.records import Entry, read_entries, write_event
from adyton.kernel.ledger.tables import Connection, DamagedError, insert, insist_linked, now, write
from adyton.messages import shorten

RequestStatus: TypeAlias = Literal["waiting", "refused", "withdrawn", "begun", "done", "ended"]
"""Waiting for consent; refused, and nothing was spent; withdrawn, by whoever asked or because it could not be carried
out, so that nothing is spent; begun; done; ended: charged, without a complete result."""
FINISHED: tuple[RequestStatus, ...] = ("refused", "done", "ended")
_ID = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)
USED = "the id {id} was used for another request. Choose a new id."
FAILED = "could not be carried out"
"""The note of a withdrawn request that nobody has cancelled."""
DECISION = "request"
"""The word for a curator's decision on a request, in events."""
_COLUMNS = "r.analyst, r.id, d.name, r.body, r.status, r.made, r.holder, {result}, r.note"
_FROM = "FROM requests r JOIN datasets d ON d.number = r.dataset"


@dataclass(frozen=True)
class StoredRequest:
    """What somebody asked, and what became of it."""

    analyst: str | None
    """None is the curator."""
    id: str
    dataset: str
    body: str
    """What was asked, as text that is the same whenever the same is asked."""
    status: RequestStatus
    made: str
    """When it was stored."""
    holder: str | None = None
    """The process that carries it out, where several could: no other one can spend for it, or finish it."""
    result: str | None = None
    """What is returned; in a list of requests it is left out."""
    note: str | None = None
    """A remark for people, such as why it was refused."""

    @property
    def digest(self) -> str:
        """SHA-256 of the body."""
        return hashlib.sha256(self.body.encode()).hexdigest()

    @property
    def finished(self) -> bool:
        """Whether nothing changes any more."""
        return self.status in FINISHED


class Limits(NamedTuple):
    """Beyond what an analyst's requests need a curator's consent; None where nothing of the kind does."""

    above: Fraction | None = None
    """A single request with a larger ε does."""
    total: Fraction | None = None
    """All that the analyst spends of the ledger beyond this, in however many requests, does."""

    def demand(self, price: Fraction | None, spent: Fraction) -> bool:
        """Whether a request needs consent, after *spent*; where its price is not known, any limit demands it.

        >>> Limits(total=Fraction(1)).demand(Fraction(1, 2), Fraction(1, 2))
        False
        """
        if price is None:
            return (self.above, self.total) != (None, None)
        beyond = self.above is not None and price > self.above
        return beyond or (self.total is not None and spent + price > self.total)


class Answered(NamedTuple):
    """A debit for a request and its answer, as it was encoded; None if it has none."""

    entry: Entry
    answer: str | None


def checked_id(request: object) -> str:
    """The id of a request, or an error."""
    if not isinstance(request, str) or not _ID.fullmatch(request):
        raise BadInput(f"the id of a request has 1 to 64 of the characters A–Z a–z 0–9 _ -, given {shorten(request)}.")
    return request


def read_request(connection: Connection, analyst: str | None, request: str) -> StoredRequest | None:
    """The stored request with this id, if it is as it was written."""
    insist_unchanged(connection, "request", stored_name(analyst), request)
    row = connection.execute(
        f"SELECT {_COLUMNS.format(result='r.result')} {_FROM} WHERE r.analyst = ? AND r.id = ?",
        (stored_name(analyst), request),
    ).fetchone()
    return None if row is None else _stored(row)


def read_requests(connection: Connection) -> tuple[StoredRequest, ...]:
    """All requests in the order in which they were made, without their results."""
    rows = connection.execute(f"SELECT {_COLUMNS.format(result='NULL')} {_FROM}").fetchall()
    return tuple(sorted(map(_stored, rows), key=lambda request: (request.made, request.analyst or "", request.id)))


def count_waiting(connection: Connection, dataset: int) -> int:
    """How many requests about the data set with this number wait for consent."""
    query = "SELECT count(*) FROM requests WHERE status = 'waiting' AND dataset = ?"
    (count,) = connection.execute(query, (dataset,)).fetchone()
    return int(count)


def size_of(connection: Connection, analyst: str | None) -> int:
    """How many characters are stored for an analyst, with some for each request."""
    requests = "SELECT coalesce(sum(length(body) + coalesce(length(result), 0) + 512), 0) FROM requests"
    debits = "SELECT coalesce(sum(length(lineage) + length(operator)), 0) FROM entries"
    answers = "SELECT coalesce(sum(length(answer)), 0) FROM answers a JOIN entries e ON e.number = a.entry"
    return sum(
        int(connection.execute(f"{query} WHERE analyst = ?", (name,)).fetchone()[0])
        for query, name in ((requests, stored_name(analyst)), (debits, analyst), (answers, analyst))
    )


def _stored(row: tuple[str, ...]) -> StoredRequest:
    if row[4] not in get_args(RequestStatus) or not all(isinstance(text, str) for text in row[:6]):
        raise DamagedError("a request has a value of the wrong type")
    return StoredRequest(row[0] or None, *row[1:])  # type: ignore[arg-type]


def write_request(
    connection: Connection,
    analyst: str | None,
    request: str,
    dataset: tuple[int, str],
    body: str,
    status: RequestStatus,
    holder: str | None = None,
) -> tuple[StoredRequest, bool]:
    """Store a request about a data set, by number and name, if its id is new; returns what is stored, and whether it is
    new."""
    stored, (number, name) = read_request(connection, analyst, request), dataset
    if stored is None:
        row = {"analyst": stored_name(analyst), "id": request, "dataset": number, "body": body, "status": status}
        made = now()
        insert(connection, "requests", {**row, "made": made, "holder": holder})
        record(connection, "request", stored_name(analyst), request)
        return StoredRequest(analyst, request, name, body, status, made, holder), True
    if (stored.body, stored.dataset) != (body, name):
        raise BadInput(USED.format(id=request))
    return stored, False


def needed(connection: Connection, analyst: str | None, request: str) -> StoredRequest:
    """The stored request, or an error."""
    stored = read_request(connection, analyst, request)
    if stored is None:
        raise BadInput(f"there is no request {request}. Check its id.")
    if stored.status == "withdrawn":
        raise BadInput(f"the request {request} {past_of(stored)}: nothing is spent for it.")
    return stored


def past_of(stored: StoredRequest) -> str:
    """What became of a withdrawn request, in words."""
    return stored.note or "was cancelled"


def insist_begun(
    connection: Connection, analyst: str | None, request: str, dataset: str, holder: str | None = None
) -> StoredRequest:
    """The request of a debit, or an error if it is not under way, is about another data set, or was taken over by
    another process."""
    stored = needed(connection, analyst, request)
    if stored.status != "begun":
        raise BadInput(f"the request {request} is {stored.status}, not begun: nothing is spent for it.")
    if stored.dataset != dataset:
        raise BadInput(f"the request {request} is about {stored.dataset}: nothing is spent for it on {dataset}.")
    insist_held(stored, holder)
    return stored


# ---- consent ---------------------------------------------------------------------------------------------------------


def price_of(body: str) -> Fraction | None:
    """The ε that a request's body names, as it is written by hand or by ``Request.to_dict``; None if it names none.

    >>> price_of('{"epsilon": 0.1}'), price_of('{"epsilon": {"exact": "1/3"}}'), price_of("{}")
    (Fraction(1, 10), Fraction(1, 3), None)
    """
    try:
        given = json.loads(body)["epsilon"]
        return rounded_down(exact(given["exact"] if isinstance(given, dict) else given, "epsilon", computed=True))
    except (ValueError, TypeError, KeyError, BadInput, RecursionError):
        return None


def status_at_first(
    connection: Connection, stored: StoredRequest, dataset: int, limits: Limits | None, spent: Fraction
) -> Literal["begun", "waiting"]:
    """How a request starts, or goes on: waiting where the limits of its analyst, who has spent so much, demand a
    consent that is not there."""
    if limits is None or consented(connection, stored, dataset):
        return "begun"
    others = _reserved(connection, stored) if limits.total is not None else Fraction(0)
    return "waiting" if limits.demand(price_of(stored.body), spent + others) else "begun"


def insist_permitted(
    connection: Connection,
    stored: StoredRequest,
    dataset: int,
    limits: Limits | None,
    spent: Fraction,
    amount: Fraction,
) -> None:
    """Refuse a debit of *amount* that the analyst's limits, after *spent*, allow only with a consent that is not there.

    Once something was spent for a request, its price is reserved: what others spend does not stop it halfway.
    """
    if limits is None or consented(connection, stored, dataset):
        return
    entries, price = _entries(connection, stored.analyst, stored.id), price_of(stored.body)
    paid = sum((entry.amount for entry in entries), Fraction(0))
    if price is not None and paid + amount > price:
        raise BadInput(
            f"the request {stored.id} names ε = {display(price)}, and asks for {display(paid + amount)}: without a "
            "curator's consent nothing more is spent for it."
        )
    if price is None or (not entries and status_at_first(connection, stored, dataset, limits, spent) == "waiting"):
        raise BadInput(
            f"the request {stored.id} needs a curator's consent, which it does not have: nothing is spent for it. Ask "
            "again under a new id."
        )


def _reserved(connection: Connection, stored: StoredRequest) -> Fraction:
    """What the other requests of an analyst that have begun may still spend."""
    rows = connection.execute(
        "SELECT id, body FROM requests WHERE analyst = ? AND status = 'begun' AND id <> ?",
        (stored_name(stored.analyst), stored.id),
    ).fetchall()
    rest = Fraction(0)
    for id, body in rows:
        paid = sum((entry.amount for entry in _entries(connection, stored.analyst, id)), Fraction(0))
        rest += max(Fraction(0), (price_of(body) or Fraction(0)) - paid)
    return rest


def consented(connection: Connection, stored: StoredRequest, dataset: int) -> bool:
    """Whether an event says that a curator has consented to exactly this request."""
    query = f"SELECT number FROM events WHERE changed = '{DECISION}' AND new = ? AND dataset = ?"
    row = connection.execute(query, (_decision(stored, "begun"), dataset)).fetchone()
    if row is not None:
        insist_linked(connection, "events", int(row[0]))
    return row is not None


def write_decision(
    connection: Connection, stored: StoredRequest, dataset: int, status: Literal["begun", "refused"], word: str
) -> None:
    """Record what a curator has decided on a request, by the digest of what was asked."""
    write_event(connection, DECISION, _decision(stored, "waiting"), _decision(stored, status), word, dataset)


def _decision(stored: StoredRequest, status: RequestStatus) -> str:
    return f"{stored.id} of {stored.analyst or 'the curator'}: {status}, SHA-256 {stored.digest}"


# ---- what becomes of a request ---------------------------------------------------------------------------------------


def insist_held(stored: StoredRequest, holder: str | None) -> None:
    """Refuse to act for a request that another process has taken over."""
    if holder is not None and stored.holder != holder:
        raise BadInput(f"another process has taken over the request {stored.id}: nothing is spent for it here.")


def withdrawn(connection: Connection, stored: StoredRequest, holder: str | None, note: str | None = None) -> bool:
    """Refuse all debits for a request from now on; False if one was made, if it has ended, or if another process
    carries it out."""
    if stored.status == "withdrawn":
        return True
    elsewhere = stored.status == "begun" and stored.holder != holder
    if stored.finished or elsewhere or charged(connection, stored):
        return False
    write_status(connection, stored, "withdrawn", None, note)
    return True


def write_status(
    connection: Connection,
    stored: StoredRequest,
    status: RequestStatus,
    result: str | None = None,
    note: str | None = None,
) -> StoredRequest:
    """Change the status of a request that is not finished."""
    if status == "refused" and charged(connection, stored):
        raise BadInput(f"something was spent for the request {stored.id}: it can be done or ended, but not refused.")
    write(
        connection,
        "UPDATE requests SET status = ?, result = ?, note = ? WHERE analyst = ? AND id = ? AND status = ?",
        (status, result, note, stored_name(stored.analyst), stored.id, stored.status),
    )
    record(connection, "request", stored_name(stored.analyst), stored.id)
    return replace(stored, status=status, result=result, note=note)


def charged(connection: Connection, stored: StoredRequest) -> bool:
    """Whether there is a debit for a request."""
    return bool(_entries(connection, stored.analyst, stored.id))


def read_answers(connection: Connection, analyst: str | None, request: str) -> tuple[Answered, ...]:
    """The debits for a request and their answers, in order."""
    entries = _entries(connection, analyst, request)
    for entry in entries:
        insist_unchanged(connection, "debit", entry.number)
    answers = [
        connection.execute("SELECT answer FROM answers WHERE entry = ?", (entry.number,)).fetchone()
        for entry in entries
    ]
    return tuple(Answered(entry, row and row[0]) for entry, row in zip(entries, answers, strict=True))


def _entries(connection: Connection, analyst: str | None, request: str) -> list[Entry]:
    stored_name(analyst)  # a name, or an error
    return [entry for entry in read_entries(connection, "request = ?", request) if entry.analyst == analyst]
