"""Requests of analysts, and the answers to their measurements: so that nothing is asked twice, and no paid answer lost.

A request has an id, which whoever asks has chosen, and a body, which says what is asked. It is stored before anything
is spent for it, once, whoever stores it; the same id again is the same request, and with another body it is refused.
Debits are possible only while the request is ``begun``, and each keeps the request's id. One that nothing was spent for
can be withdrawn, also while it is being prepared: a debit that comes after that is refused. The answer to a debit is
stored in the transaction that settles it, before the program sees it. So a request whose process has ended is completed
from its stored answers, at no cost, and two that complete it get one result: that of the first.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

from adyton.errors import BadInput
from adyton.kernel.ledger.changes import insist_unchanged, record
from adyton.kernel.ledger.records import Entry, read_entries
from adyton.kernel.ledger.tables import Connection, DamagedError, insert, now, write
from adyton.messages import shorten

RequestStatus: TypeAlias = Literal["waiting", "refused", "withdrawn", "begun", "done", "ended"]
"""Waiting for consent; refused, and nothing was spent; withdrawn by whoever asked, so that nothing is spent; begun;
done; ended: charged, without a complete result."""
FINISHED: tuple[RequestStatus, ...] = ("refused", "done", "ended")
_ID = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)
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
    insist_unchanged(connection, "request", analyst or "", request)
    row = connection.execute(
        f"SELECT {_COLUMNS.format(result='r.result')} {_FROM} WHERE r.analyst = ? AND r.id = ?",
        (analyst or "", request),
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
        row = {"analyst": analyst or "", "id": request, "dataset": number, "body": body, "status": status}
        made = now()
        insert(connection, "requests", {**row, "made": made, "holder": holder})
        record(connection, "request", analyst or "", request)
        return StoredRequest(analyst, request, name, body, status, made, holder), True
    if (stored.body, stored.dataset) != (body, name):
        raise BadInput(f"the id {request} was used for another request. Choose a new id.")
    return stored, False


def needed(connection: Connection, analyst: str | None, request: str) -> StoredRequest:
    """The stored request, or an error."""
    stored = read_request(connection, analyst, request)
    if stored is None:
        raise BadInput(f"there is no request {request}. Check its id.")
    if stored.status == "withdrawn":
        raise BadInput(f"the request {request} was cancelled: nothing is spent for it.")
    return stored


def insist_begun(
    connection: Connection, analyst: str | None, request: str, dataset: str, holder: str | None = None
) -> None:
    """Refuse a debit for a request that is not under way, that another process has taken over, or that is about another
    data set."""
    stored = needed(connection, analyst, request)
    if stored.status != "begun":
        raise BadInput(f"the request {request} is {stored.status}, not begun: nothing is spent for it.")
    if stored.dataset != dataset:
        raise BadInput(f"the request {request} is about {stored.dataset}: nothing is spent for it on {dataset}.")
    insist_held(stored, holder)


def insist_held(stored: StoredRequest, holder: str | None) -> None:
    """Refuse to act for a request that another process has taken over."""
    if holder is not None and stored.holder != holder:
        raise BadInput(f"another process has taken over the request {stored.id}: nothing is spent for it here.")


def can_be_cancelled(connection: Connection, stored: StoredRequest, holder: str | None) -> bool:
    """Whether nothing was spent for a request that is not finished; one that another process carries out stays."""
    elsewhere = stored.status in ("begun", "withdrawn") and stored.holder != holder
    return not (stored.finished or elsewhere or charged(connection, stored))


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
        (status, result, note, stored.analyst or "", stored.id, stored.status),
    )
    record(connection, "request", stored.analyst or "", stored.id)
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
    return [entry for entry in read_entries(connection, "request = ?", request) if entry.analyst == analyst]
