"""The ledger: the durable record of what was spent, on what, and how much is left.

A debit is on the disk before :meth:`Ledger.debit` returns, and the kernel reads the data only afterwards: a crash may
lose an answer, never a debit. Sums and comparisons are exact, so twenty debits of 0.05 fit in a total of 1. A change of
a ledger's total, data set or terms needs an explicit word, and is recorded as an event.
"""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, get_args

from adyton.errors import BadInput, LedgerError, LedgerMismatch
from adyton.exact import Rational, budget, display, rounded_down, rounded_up
from adyton.kernel.ledger.agreeing import accept_terms, reconcile, take_on
from adyton.kernel.ledger.analysts import (
    Analyst,
    Balance,
    checked_analyst,
    known_analyst,
    read_analysts,
    read_balance,
    stored_name,
    write_analyst,
)
from adyton.kernel.ledger.anchor import EVENT as ANCHOR_EVENT
from adyton.kernel.ledger.anchor import begin_anchor, go_on, insist_anchor, name_of, read_anchor, write_anchor
from adyton.kernel.ledger.changes import ANCHORED, TOTAL, adopted, begin, record, record_once
from adyton.kernel.ledger.file import ChangedError, LedgerFile, file_name
from adyton.kernel.ledger.records import (
    ANALYST,
    Account,
    Budgeted,
    Debiting,
    Entry,
    Settled,
    account_of,
    check_recent,
    checked_total,
    read_account,
    read_checked,
    read_entries,
    read_name,
    read_terms,
    refusal,
    write_debit,
    write_event,
)
from adyton.kernel.ledger.requests import (
    FAILED,
    Answered,
    Limits,
    StoredRequest,
    checked_id,
    count_waiting,
    insist_begun,
    insist_held,
    insist_permitted,
    needed,
    read_answers,
    read_request,
    read_requests,
    size_of,
    status_at_first,
    withdrawn,
    write_decision,
    write_request,
    write_status,
)
from adyton.kernel.ledger.store import Store
from adyton.kernel.ledger.tables import (
    Connection,
    Head,
    current_head,
    has_head,
    insert,
    last,
    now,
    to_text,
    write,
)
from adyton.kernel.ledger.terms import ADD, WORDS, Terms, accepted, checked_text, differences, given_terms
from adyton.kernel.ledger.words import (
    LedgerReport,
    other_account,
    refuse,
    refuse_below_spent,
    refuse_unknown,
)
from adyton.messages import shorten

LARGEST_BITS = 8192
"""The longest numerator or denominator of a debit. Debits are whole steps of a grid, so that sums stay below 300 bits;
ledgers of the first format had no grid, and may have longer sums."""
ADDRESSES = ("postgresql://", "postgres://")
"""How the address of a ledger on a server begins; anything else is the path of a file."""
OTHERS = "other ledgers"
"""The event of a ledger that adds to others of the same table."""
_ATTEMPTS = 100
_T = TypeVar("_T")


class _Whose(NamedTuple):
    """Who spends in a thread, for which request, and how its answers are written down."""

    analyst: str | None = None
    request: str | None = None
    encode: Callable[[Any], str] | None = None
    holder: str | None = None
    limits: Limits | None = None


class Ledger(Budgeted):
    """An open ledger; make one with :meth:`open`. Threads and processes may use the same ledger at once.

    >>> ledger = Ledger.open(None, total=1, dataset="visits")
    >>> ledger.debit(Fraction(1, 4), lineage=["root", "vectorize"], operator="laplace")
    1
    >>> ledger.settle(1, "answered")
    >>> ledger
    Ledger(in memory, dataset='visits', spent=0.25, total=1)
    """

    def __init__(self, file: Store, number: int) -> None:
        if not isinstance(file, Store):
            raise BadInput("open a ledger with Ledger.open(path, total=…, dataset=…); read one with Ledger.read(path).")
        self._file, self._number = file, number
        self._threads = threading.local()
        self._anchor: Path | None = None
        self._seen: Head | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] | None, *, total: Rational, dataset: str, accept: Collection[str] = ()
    ) -> Ledger:
        """Open the ledger at *path*, or create it; ``None`` keeps it in memory, for this process only.

        An existing ledger must have the same *total*, and have *dataset* among its data sets. The data owner may change
        that with an explicit word: ``accept={"total"}``; ``accept={"dataset"}``, where its only data set has another
        name now; ``accept={"add dataset"}``, where the same total is to cover a further table about the same people.
        The change is recorded in the ledger as an event. The simpler way to raise a total is :meth:`raise_total`.
        """
        asked = Account(checked_text(dataset, "dataset"), budget(total, "total"), Fraction(0))
        words = accepted(accept, ("total", "dataset", ADD))
        file = store_at(path)
        file.open(lambda connection: _write_account(connection, asked))
        try:
            with file.transaction(write=True) as connection:
                file.bring_up_to_date(connection)
                number = reconcile(connection, file.name, check_recent(connection), asked, words)
                head = current_head(connection)
        except BaseException:
            file.close()
            raise
        ledger = cls(file, number)
        ledger._seen = head
        return ledger

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LedgerReport:
        """Read the ledger at *path*, whether it is open elsewhere or not. Nothing is created or changed."""
        file = store_at(file_name(path))
        for _ in range(_ATTEMPTS):
            try:
                with file.look() as connection:
                    report = _report(connection, file.path)
            except ChangedError:
                continue
            return report
        raise LedgerError(f"{file.name} is being written continuously. Try again later.")

    @classmethod
    def check(cls, path: str | os.PathLike[str], *, total: Rational | None, dataset: str, terms: Terms) -> None:
        """Refuse what opening the ledger at *path* with these would refuse; no *total* is its own. Nothing is changed,
        and the messages name its file without the folder."""
        report, name = cls.read(path), short_name(os.fspath(path))
        asked = None if total is None else budget(total, "total")
        if asked not in (None, report.total, rounded_down(report.total)):
            old, new = display(report.total), display(asked)
            raise other_account(name, "total", old, new, raised=asked > report.total)
        known = {report.dataset: report.terms, **{own.name: own.terms for own in report.further}}
        if dataset not in known:
            raise other_account(name, "dataset", " and ".join(known), dataset, raised=False)
        kept = known[dataset]
        if kept is not None:
            adopted = given_terms(kept, terms)
            refuse(name, list(differences(kept, adopted)), kept, adopted)
        elif any(entry.amount for entry in report.entries if entry.dataset == dataset):
            refuse_unknown(name)

    @staticmethod
    def exists(path: str | os.PathLike[str]) -> bool:
        """Whether there is a ledger, or anything else, at *path*."""
        return store_at(file_name(path)).exists()

    @property
    def path(self) -> str | None:
        """The path of the ledger, as given; None for a ledger in memory."""
        return self._file.path

    @property
    def dataset(self) -> str:
        """The data set to which the ledger belongs."""
        return self.budget.dataset

    @property
    def budget(self) -> Account:
        """The current account: what all processes have spent of the total; on behalf of an analyst, theirs."""
        analyst = self._whose.analyst
        return self._read(lambda connection: self._account(connection, analyst))

    @property
    def terms(self) -> Terms | None:
        """Whom the budget protects: the terms of the first debit, or those accepted since; None before a debit."""
        return self._read(lambda connection: read_terms(connection, self._number))

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount*, durably, and return the number of the entry; a refused debit changes nothing.

        Zero is allowed: in a partition, a child that stays below its most-charged sibling costs nothing more. An amount
        between two steps of the grid of budgets is rounded up; a kernel's debits lie on the grid. *terms* other than
        the ledger's are refused. Within :meth:`on_behalf`, the analyst pays.
        """
        asked = _amount(amount)
        names = _lineage(lineage)
        operator = checked_text(operator, "operator")
        analyst, request, _, holder, limits = self._whose
        whose = Debiting(self._number, analyst, request)
        with self._file.transaction(write=True) as connection:
            self._insist_not_rolled_back(connection)
            balance = read_balance(connection)
            account = account_of(balance, read_name(connection, self._number), analyst)
            place = "the ledger in memory" if self.path is None else short_name(self.path)
            account.afford(asked, self.path, place=place)
            if request is not None:
                stored = insist_begun(connection, analyst, request, account.dataset, holder)
                insist_permitted(connection, stored, self._number, limits, account.spent, asked)
            made = take_on(connection, self._file.name, self._number, terms, used=balance.spent > 0)
            number = write_debit(connection, balance, asked, names, operator, whose, made)
            seen = current_head(connection)
        self._seen = seen
        return number

    def _insist_not_rolled_back(self, connection: Connection) -> None:
        """Refuse to spend from a ledger that lacks what this process has seen in it, or what its anchor has noted."""
        if self._anchor is not None:
            insist_anchor(connection, self._file.name, self._anchor)
        if self._seen is not None:
            insist_head(connection, self._file.name, self._seen)

    def agree(self, terms: Terms, accept: Collection[str] = ()) -> Terms:
        """Compare *terms* with the ledger's own, and return those in force. A change needs a word, and is recorded.

        A ledger without terms adopts them with its first debit.
        """
        words = accepted(accept, WORDS)
        kept = self.terms
        if kept is not None and not any(differences(kept, given_terms(kept, terms))):
            return given_terms(kept, terms)
        with self._file.transaction(write=True) as connection:
            return accept_terms(connection, self._file.name, self._number, terms, words)

    # ---- analysts ----------------------------------------------------------------------------------------------------

    @contextmanager
    def on_behalf(
        self,
        analyst: str | None,
        request: str | None = None,
        encode: Callable[[Any], str] | None = None,
        *,
        holder: str | None = None,
        limits: Limits | None = None,
    ) -> Iterator[None]:
        """Within the block, and in this thread, debits, the budget and refusals are those of an analyst.

        None is the curator. With *request*, the id of a request that has begun, every debit keeps it, and every answer
        that *encode* writes as text is stored with its debit before anybody sees it. A *holder* can spend and finish
        only what no other process has taken over. Where the *limits* demand a curator's consent, a debit without it is
        refused.
        """
        whose = _Whose(analyst, None if request is None else checked_id(request), encode, holder, limits)
        before = self._whose
        if analyst is not None:
            known_analyst({own.name: own for own in self.analysts()}, analyst, self._file.name)
        self._threads.whose = whose
        try:
            yield
        finally:
            self._threads.whose = before

    def analysts(self) -> tuple[Analyst, ...]:
        """Who has been given access to the total, what they may spend, and what they have spent."""
        return self._read(read_analysts)

    def balance(self) -> Balance:
        """The total, what was spent, and the analysts: it says what is left for whom."""
        return self._read(read_balance)

    def set_analyst(
        self,
        name: str,
        *,
        part: Rational | None = None,
        aside: bool = False,
        expires: date | str | None = None,
        consent: str | None = None,
    ) -> None:
        """Let somebody spend at most *part* of the total (None: whatever is left for all) until the day *expires*.

        With *aside*, nobody else can spend the part. All values are set anew, and the change is recorded as an event;
        if nothing changes, nothing is recorded. What was spent stays spent. More than is left for others cannot be set
        aside.
        """
        asked = checked_analyst(name, part, aside, expires)
        words = None if consent is None else checked_text(consent, "consent")
        with self._file.transaction(write=True) as connection:
            changed = write_analyst(connection, self._file.name, asked)
            if changed is not None:
                write_event(connection, ANALYST, *changed, words)

    # ---- requests ----------------------------------------------------------------------------------------------------

    def begin_request(
        self, analyst: str | None, request: str, *, body: str, limits: Limits | None = None, holder: str | None = None
    ) -> tuple[StoredRequest, bool]:
        """Store a request of an analyst (None: the curator) for this data set; returns what is stored under its id, and
        whether it is new. It waits where the *limits* demand a curator's consent; else it has begun, and its *holder*
        carries it out. The same id with another *body* is refused."""
        whose, text = checked_id(request), checked_text(body, "body")
        with self._file.transaction(write=True) as connection:
            who = known_analyst(read_balance(connection).analysts, analyst, self._file.name)
            about, spent = (self._number, read_name(connection, self._number)), who.spent if who else Fraction(0)
            asked = StoredRequest(analyst, whose, about[1], text, "waiting", "")
            status = status_at_first(connection, asked, self._number, limits, spent)
            return write_request(connection, analyst, whose, about, text, status, holder if status == "begun" else None)

    def take_request(self, analyst: str | None, request: str, holder: str) -> StoredRequest:
        """Take over a request that has begun: from now on, only this *holder* can spend for it, or finish it."""
        with self._file.transaction(write=True) as connection:
            stored = needed(connection, analyst, request)
            if stored.status == "begun":
                statement = "UPDATE requests SET holder = ? WHERE analyst = ? AND id = ? AND status = 'begun'"
                write(connection, statement, (holder, stored_name(analyst), request))
                record(connection, "request", stored_name(analyst), request)
            return needed(connection, analyst, request)

    def finish_request(
        self, analyst: str | None, request: str, status: Literal["done", "ended", "refused"], result: str | None = None
    ) -> StoredRequest:
        """Store what became of a request, and return what is stored: if it is finished already, that stays."""
        if status not in ("done", "ended", "refused"):
            raise BadInput(f'a request ends as "done", "ended" or "refused", given {status!r}.')
        with self._file.transaction(write=True) as connection:
            stored = needed(connection, analyst, request)
            if stored.finished:
                return stored
            insist_held(stored, self._whose.holder)
            return write_status(connection, stored, status, result)

    def consent_request(
        self, analyst: str | None, request: str, *, digest: str, grant: bool, word: str
    ) -> StoredRequest:
        """Let a waiting request begin, or refuse it; *word*, who decides and why, is recorded in an event. *digest* is
        that of the request that was read: another one is not decided on."""
        words = checked_text(word, "word")
        with self._file.transaction(write=True) as connection:
            stored, name = needed(connection, analyst, request), read_name(connection, self._number)
            if stored.dataset != name:
                raise BadInput(f"the request {request} is about {stored.dataset}, not about {name}.")
            if stored.digest != digest:
                raise BadInput(
                    f"the request {request} is another one than this decision is about: its SHA-256 is "
                    f"{stored.digest}, given {shorten(digest)}. Read it again, and decide on what you read."
                )
            if stored.status != "waiting":
                raise BadInput(f"the request {request} does not wait for consent: it is {stored.status}.")
            status: Literal["begun", "refused"] = "begun" if grant else "refused"
            write_decision(connection, stored, self._number, status, words)
            return write_status(connection, stored, status, None, None if grant else words)

    def withdraw_request(self, analyst: str | None, request: str, *, body: str, holder: str | None) -> bool:
        """Refuse all debits for a request from now on, whether it is stored or still being prepared, and return True;
        False if one was made, if it has ended, or if another process than *holder* carries it out."""
        with self._file.transaction(write=True) as connection:
            about = self._number, read_name(connection, self._number)
            stored, _ = write_request(connection, analyst, checked_id(request), about, body, "withdrawn", holder)
            return withdrawn(connection, stored, holder)

    def give_up_request(self, analyst: str | None, request: str, *, holder: str) -> StoredRequest | None:
        """Withdraw a request that its *holder* could not carry out, if nothing was spent for it; returns what is
        stored. One that waits stays."""
        with self._file.transaction(write=True) as connection:
            stored = read_request(connection, analyst, request)
            if stored is not None and stored.status == "begun":
                withdrawn(connection, stored, holder, FAILED)
            return read_request(connection, analyst, request)

    def request(self, analyst: str | None, request: str) -> StoredRequest | None:
        """The stored request with this id; None if there is none."""
        return self._read(lambda connection: read_request(connection, analyst, request))

    def requests(self) -> tuple[StoredRequest, ...]:
        """All requests, oldest first, without their results."""
        return self._read(read_requests)

    def stored_for(self, analyst: str | None) -> int:
        """How many characters are stored for an analyst: requests, results and answers."""
        return self._read(lambda connection: size_of(connection, analyst))

    def waiting(self) -> int:
        """How many requests about this data set wait for consent."""
        return self._read(lambda connection: count_waiting(connection, self._number))

    def answers(self, analyst: str | None, request: str) -> tuple[Answered, ...]:
        """The debits for a request and the stored answers to them, in order."""
        return self._read(lambda connection: read_answers(connection, analyst, request))

    # ---- the total, and what becomes of a debit ----------------------------------------------------------------------

    def raise_total(self, total: Rational, *, consent: str) -> None:
        """Raise the total, with the data owner's consent: a name or a text that the ledger records with the change."""
        words, allowed = checked_text(consent, "consent"), checked_total(total, "total")
        name = self._file.name
        with self._file.transaction(write=True) as connection:
            balance = read_balance(connection)
            refuse_below_spent(name, allowed, balance)
            if allowed <= balance.total:
                raise LedgerMismatch(
                    f"{name} has a total of {display(balance.total)}, and {display(allowed)} is not larger. Give a "
                    "larger total."
                )
            write(
                connection,
                "UPDATE ledger SET total = ? WHERE total = ? AND spent = ?",
                (to_text(allowed), to_text(balance.total), to_text(balance.spent)),
            )
            record(connection, TOTAL, 1)
            write_event(connection, TOTAL, display(balance.total), display(allowed), words)

    def add_to(self, others: str, *, consent: str) -> None:
        """Record that this ledger adds to *others* of the same table, with the data owner's consent."""
        words, others = checked_text(consent, "consent"), checked_text(others, "others")
        with self._file.transaction(write=True) as connection:
            write_event(connection, OTHERS, "none", others, words)

    def settle(self, entry: int, status: Settled, answer: Any = None) -> None:
        """Record the outcome of a debit. The amount stays spent either way.

        The *answer* is stored in the same transaction, if it belongs to a request and can be written as text.
        """
        if status not in get_args(Settled):
            raise BadInput(f'status must be "answered" or "failed", given {status!r}.')
        if isinstance(entry, bool) or not isinstance(entry, int):
            raise BadInput(f"entry must be the number that debit returned, given {entry!r}.")
        text = self._encoded(answer) if status == "answered" else None
        with self._file.transaction(write=True) as connection:
            row = None
            if 0 < entry < 2**63:  # what SQLite can hold
                row = connection.execute("SELECT status FROM entries WHERE number = ?", (entry,)).fetchone()
            if row is None:
                raise BadInput(f"{self._file.name} has no entry {entry}.")
            if row[0] != "debited":
                raise BadInput(f"entry {entry} of {self._file.name} was already settled as {row[0]!r}.")
            write(connection, "UPDATE entries SET status = ? WHERE number = ? AND status = 'debited'", (status, entry))
            if text is not None:
                insert(connection, "answers", {"entry": entry, "answer": text})
            record(connection, "debit", entry)

    def _encoded(self, answer: Any) -> str | None:
        """An answer as text. It is paid for: an answer that cannot be written still reaches the program."""
        _, request, encode, *_ = self._whose
        if request is None or encode is None:
            return None
        try:
            return encode(answer)
        except Exception:
            return None

    def entries(self) -> list[Entry]:
        """Every debit, oldest first."""
        return list(self._read(read_entries))

    def report(self) -> LedgerReport:
        """Everything in the ledger at one moment, checked for consistency."""
        return self._read(lambda connection: _report(connection, self._file.path))

    def head(self) -> Head:
        """How far the ledger has come. Kept elsewhere, it shows later whether a ledger was rolled back or replaced."""
        return self._read(current_head)

    def check_head(self, head: Head | str) -> None:
        """Check everything in the ledger, and that it has all that was there at an earlier :meth:`head`. A head of an
        early version, of two numbers and a digest, covers entries and events alone."""
        known = Head.parse(head) if isinstance(head, str) else head
        self._read(lambda connection: _check_head(connection, self._file.name, known))

    # ---- the anchor --------------------------------------------------------------------------------------------------

    def keep_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """From now on, refuse every debit unless the ledger has all that the *anchor*, a file elsewhere, has noted."""
        self._anchor = Path(anchor)

    def start_anchor(self, anchor: str | os.PathLike[str], *, first: bool = False) -> Head:
        """Check everything in the ledger, compare it with its *anchor*, and move that to the present; returns what was
        noted there. A new ledger writes its first anchor; an older one does so only if it is said to be the *first*.
        """
        path = Path(anchor)
        noted = read_anchor(path)
        self._read(lambda connection: read_checked(connection, answers=True))
        if noted is None:
            with self._file.transaction(write=True) as connection:
                begin_anchor(connection, self._file.name, path, first=first)
        with self._file.transaction(write=True) as connection:
            now = insist_anchor(connection, self._file.name, path)
            record_once(connection, ANCHORED, name_of(path))
            if noted is None and first:
                write_event(connection, ANCHOR_EVENT, "none", "the first of this ledger")
        self.move_anchor(path)
        return (noted or now).head

    def move_anchor(self, anchor: str | os.PathLike[str]) -> None:
        """Write the head of the ledger to its *anchor*, if the ledger has all that was noted there."""
        path = Path(anchor)
        with self._file.transaction(write=True) as connection:
            noted = insist_anchor(connection, self._file.name, path)
            if noted.head != current_head(connection):
                write_anchor(connection, path)

    def accept_anchor(self, anchor: str | os.PathLike[str], *, consent: str) -> list[str]:
        """Go on with a restored ledger, with the data owner's consent, though its *anchor* says otherwise; an event
        records every difference, which is returned. What the ledger has forgotten, as far as the anchor knows it, is
        debited again."""
        words, path = checked_text(consent, "consent"), Path(anchor)
        with self._file.transaction(write=True) as connection:
            read_checked(connection, answers=True)
            found = go_on(connection, self._file.name, self._number, path, words)
            head = current_head(connection)
        with self._file.transaction(write=True) as connection:
            insist_head(connection, self._file.name, head)
            write_anchor(connection, path)
        return found

    def close(self) -> None:
        """Close the file; the ledger can be opened again. A ledger in memory is lost."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ledger cannot be pickled or copied. Pass its path, and open it there with Ledger.open.")

    def __repr__(self) -> str:
        name = "in memory" if self.path is None else repr(short_name(self.path))
        if self._file.closed:
            return f"Ledger({name}, closed)"
        try:
            account = self.budget
        except LedgerError:
            return f"Ledger({name}, not readable)"
        spent, total = display(account.spent), display(account.total)
        return f"Ledger({name}, dataset={account.dataset!r}, spent={spent}, total={total})"

    def _repr_html_(self) -> str:
        try:
            return self.report()._repr_html_()
        except LedgerError:
            return f"<code>{html.escape(repr(self))}</code>"

    @property
    def analyst(self) -> str | None:
        """On whose behalf this thread spends; None is the curator."""
        return self._whose.analyst

    @property
    def _whose(self) -> _Whose:
        return getattr(self._threads, "whose", _Whose())

    def _account(self, connection: Connection, analyst: str | None) -> Account:
        return read_account(connection, self._number, analyst)

    def _read(self, what: Callable[[Connection], _T]) -> _T:
        with self._file.transaction(write=False) as connection:
            return what(connection)


def _amount(amount: object) -> Fraction:
    """A debit: exact, never a refund, and a whole number of steps of the grid of budgets."""
    if isinstance(amount, bool) or not isinstance(amount, int | Fraction):
        raise BadInput(f"a debit must be a Fraction or an int, given {type(amount).__name__}.")
    exactly = Fraction(amount)
    if max(exactly.numerator.bit_length(), exactly.denominator.bit_length()) > LARGEST_BITS:
        raise BadInput("a debit has too many digits. Write it with fewer.")
    if exactly < 0:
        raise BadInput(f"a debit must not be negative, given {display(exactly)}.")
    return rounded_up(exactly)


def _lineage(lineage: object) -> list[str]:
    """The names of the steps from the root to the source."""
    if isinstance(lineage, str) or not isinstance(lineage, Sequence):
        raise BadInput(f"lineage must be a sequence of names, given {type(lineage).__name__}.")
    return [checked_text(name, "a name in the lineage") for name in lineage]


def short_name(path: str) -> str:
    """The name of a ledger without its place: that of the file, or of the schema on a server.

    >>> short_name("/srv/visits.ledger"), short_name("postgresql://ann@/db?host=/run/pg&port=5433&schema=visits")
    ('visits.ledger', 'visits')
    """
    return path.rpartition("schema=")[2] if path.startswith(ADDRESSES) else os.path.basename(path)


def store_at(path: str | os.PathLike[str] | None) -> Store:
    """Where the ledger of this path or address is kept."""
    if isinstance(path, str) and path.startswith(ADDRESSES):
        from adyton.kernel.ledger.server import LedgerServer  # loaded only for its addresses

        return LedgerServer(path)
    return LedgerFile(None if path is None else file_name(path))


def _report(connection: Connection, path: str | None) -> LedgerReport:
    balance, entries, events, datasets = read_checked(connection)
    account = datasets[0].name, balance.total, balance.spent
    head = current_head(connection)
    analysts = tuple(balance.analysts.values())
    terms, further = datasets[0].terms, datasets[1:]
    return LedgerReport(*account, path, entries, events, terms, further, analysts, head, adopted(connection))


def _check_head(connection: Connection, name: str, head: Head) -> None:
    read_checked(connection, answers=True)
    insist_head(connection, name, head)


def insist_head(connection: Connection, name: str, head: Head) -> None:
    """Raise an error if the ledger does not have all that was there at an earlier head."""
    if not has_head(connection, head):
        entries, events = last(connection, "entries"), last(connection, "events")
        raise LedgerError(
            f"{name} was rolled back or replaced: it has {entries} entries and {events} events, and not the "
            f"{head.entries} and {head.events} that were noted earlier. Restore the ledger that has them."
        )


def _write_account(connection: Connection, asked: Account) -> None:
    row = {"id": 1, "total": to_text(asked.total), "spent": to_text(asked.spent), "created": now()}
    insert(connection, "ledger", row)
    insert(connection, "datasets", {"number": 1, "name": asked.dataset})
    begin(connection)


class Tally(Budgeted):
    """What a simulated kernel has spent. Public data need no durable record."""

    path = None
    """A simulation keeps no file."""
    analyst = None
    """A simulation is nobody's."""

    def __init__(self, total: Fraction, dataset: str) -> None:
        self.dataset = dataset
        self._account = Account(dataset, total, Fraction(0))
        self._debits = 0

    @property
    def budget(self) -> Account:
        """The current account."""
        return self._account

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount* and return the number of the debit; a refused debit changes nothing."""
        before, total = self._account.spent, self._account.total
        spent = before + amount if before else amount
        if spent > total:
            raise refusal(amount, self._account, None, place="this simulation")
        self._account = Account(self.dataset, total, spent)
        self._debits += 1
        return self._debits

    def settle(self, entry: int, status: Settled, answer: Any = None) -> None:
        """Do nothing: the outcome of a simulated debit is not recorded."""


def ledger_for(
    given: Ledger | Tally | str | os.PathLike[str] | None,
    total: Fraction,
    dataset: str | None,
    otherwise: str,
    accept: Collection[str] = (),
    *,
    private: bool,
) -> Ledger | Tally:
    """The ledger of a data set, which is named *otherwise* if no name is given.

    A ledger that is already open must have the same total and data set.
    """
    if isinstance(given, Tally) and private:
        raise BadInput("the tally of a simulation is not a ledger. Give the path of a ledger, or none.")
    if dataset is not None:
        checked_text(dataset, "dataset")
    if isinstance(given, Ledger | Tally):
        ledger = given
    else:
        ledger = Ledger.open(given, total=total, dataset=dataset or otherwise, accept=accept)
    held = ledger.total if isinstance(ledger, Tally) else rounded_down(ledger.total)
    for word, here, there in (("total", total, held), ("dataset", dataset, ledger.dataset)):
        if here not in (None, there):
            raise LedgerMismatch(
                f"the ledger is open for the {word} {_shown(there)}, but the kernel was asked for {_shown(here)}. Give "
                "both the same."
            )
    return ledger


def _shown(term: Fraction | str | None) -> str:
    return display(term) if isinstance(term, Fraction) else str(term)
