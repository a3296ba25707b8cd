"""The contents of a ledger: the account, its entries and events, and how they are read, checked and written."""

from __future__ import annotations

import json
import os
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from adyton.errors import BadInput, BudgetExceeded
from adyton.exact import Rational, budget, display, positive
from adyton.kernel.ledger.analysts import Analyst, Balance, read_balance
from adyton.kernel.ledger.changes import check_changes, record
from adyton.kernel.ledger.tables import (
    Connection,
    DamagedError,
    append,
    check_chain,
    last,
    now,
    to_fraction,
    to_text,
    write,
)
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms

Settled: TypeAlias = Literal["answered", "failed"]
Status: TypeAlias = Literal["debited", "answered", "failed"]

RECOUNT: Literal["recount"] = "recount"
"""In place of an entry's terms: it is not an answer, but the additional cost of earlier answers for larger units."""
ANALYST = "analyst"
"""The word for a change of what an analyst may spend, in events."""
RECENT = 1000
"""How many of the last entries are checked whenever a ledger is opened. A report checks all of them."""
_LONGEST_TEXT = 1 << 24
LARGEST_TOTAL = 1000


@dataclass(frozen=True)
class Account:
    """What somebody may spend of a data set: all of it, or for an analyst their part."""

    dataset: str
    total: Fraction
    spent: Fraction
    left: Fraction | None = field(default=None, kw_only=True)
    """What may still be spent, where that is less than the rest of the total: other parts are set aside."""
    analyst: Analyst | None = field(default=None, kw_only=True)
    """Whose account it is, if it is that of an analyst."""

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        if self.left is not None:
            return self.left
        return self.total - self.spent if self.spent else self.total

    def afford(self, amount: Fraction, path: str | None, *, stability: int = 1, place: str | None = None) -> None:
        """Refuse a request that would debit more than is left; *path* is the ledger's."""
        who = self.analyst
        if who is not None and who.expired:
            words = f"the budget of {who.name} expired on {who.expires}. Ask the curator of the data for another."
            raise BudgetExceeded(words, asked=amount, left=Fraction(0), total=self.total)
        if amount > self.remaining:
            raise refusal(amount, self, path, stability=stability, place=place)


def refusal(
    asked: Fraction, account: Account, path: str | None, *, place: str | None = None, stability: int = 1
) -> BudgetExceeded:
    """The error for a request that would debit more than is left, at a source of this stability.

    *path* is the ledger's, if it has a file. *place*, if known, names the ledger in the message.
    """
    left, total, who = account.remaining, account.total, account.analyst
    dearer, here = (f", up to {stability} times what it asks for at this source", " here") * (stability > 1) or ("", "")
    costs = f"costs ε = {display(asked)}{dearer}, but {display(left)} of {display(total)} is left"
    if place is not None:
        costs = f"asks for ε = {display(asked)}, but {display(left)} of {display(total)} is left in {place}"
    way = "open the data with a larger total, with the data owner's consent"
    if who is not None:
        costs = f"costs ε = {display(asked)}{dearer}, but {display(left)} is left for {who.name}"
        way = "ask the curator of the data for more"
    elif path is not None:
        way = f"raise the total with the data owner's consent (adyton ledger raise {in_shell(path)} --total …)"
    advice = f"{way[0].upper()}{way[1:]}."
    if left:
        advice = f"Ask for at most {display(left / max(1, stability))}{here}, or {way}."
    return BudgetExceeded(f"this request {costs}. {advice}", asked=asked, left=left, total=total)


def in_shell(path: str) -> str:
    """The name of a ledger's file, or the address of a ledger, as one writes it after a command."""
    return shlex.quote(path if "://" in path else os.path.basename(path))


def checked_total(epsilon: Rational, name: str = "epsilon", *, simulated: bool = False) -> Fraction:
    """A total budget within the limit, or an error."""
    total = positive(epsilon, name, computed=True) if simulated else budget(epsilon, name)
    if total > LARGEST_TOTAL:
        raise BadInput(
            f"a total of ε = {display(total)} protects nothing; at most {LARGEST_TOTAL} is allowed. "
            "Useful budgets are about 0.01 to 10."
        )
    return total


class Budgeted(ABC):
    """The base of everything that has a budget and reports it."""

    __slots__ = ()

    @property
    @abstractmethod
    def budget(self) -> Account:
        """The current account, including what other processes have spent."""

    @property
    def total(self) -> Fraction:
        """The most that may ever be spent."""
        return self.budget.total

    @property
    def spent(self) -> Fraction:
        """The sum of all debits so far, by all users of the ledger."""
        return self.budget.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.budget.remaining


@dataclass(frozen=True)
class Entry:
    """One debit: its amount, the operator and the source, and its outcome."""

    number: int
    time: str
    amount: Fraction
    spent_after: Fraction
    lineage: tuple[str, ...]
    operator: str
    status: Status
    process: int
    terms: Terms | None = None
    """Whom the debit protects; None if that is not known, and for entries that are not answers."""
    recount: bool = False
    """Whether it is not an answer, but the additional cost of earlier answers for larger units than before."""
    dataset: str = ""
    analyst: str | None = None
    """Who spent it; None is the curator."""
    request: str | None = None
    """The id of the request for which it was spent, if it came through a service."""


@dataclass(frozen=True)
class Event:
    """A change of the ledger's own terms, such as its total or its data set, which an explicit word allowed."""

    number: int
    time: str
    changed: str
    old: str
    new: str
    process: int
    consent: str | None = None
    """The data owner's consent, as given; None if no consent was asked for."""
    dataset: str | None = None
    """The data set whose terms changed; None for changes of the whole ledger."""


class DataSet(NamedTuple):
    """One of the data sets of a ledger, and whom its numbers protect."""

    number: int
    name: str
    terms: Terms | None


class Contents(NamedTuple):
    """Everything in a ledger at one moment."""

    balance: Balance
    entries: tuple[Entry, ...]
    events: tuple[Event, ...]
    datasets: tuple[DataSet, ...]


def read_account(connection: Connection, dataset: int = 1, analyst: str | None = None) -> Account:
    """The current account of an analyst, or of the curator, for the data set with this number."""
    return account_of(read_balance(connection), read_name(connection, dataset), analyst)


def read_name(connection: Connection, dataset: int) -> str:
    """The name of the data set with this number."""
    row = connection.execute("SELECT name FROM datasets WHERE number = ?", (dataset,)).fetchone()
    if row is None or not isinstance(row[0], str):
        raise DamagedError("the account is missing")
    return row[0]


def account_of(balance: Balance, dataset: str, analyst: str | None) -> Account:
    """The account of an analyst, or of the curator, in a balance."""
    who = None if analyst is None else balance.analysts[analyst]
    left = balance.left(who)
    if who is not None:
        total = balance.total if who.part is None else who.part
        return Account(dataset, total, who.spent, left=left, analyst=who)
    aside = left != balance.total - balance.spent
    return Account(dataset, balance.total, balance.spent, left=left if aside else None)


def read_names(connection: Connection) -> dict[int, str]:
    """The names of the data sets by their numbers."""
    return dict(connection.execute("SELECT number, name FROM datasets ORDER BY number").fetchall())


def read_terms(connection: Connection, dataset: int = 1) -> Terms | None:
    """The terms of a data set; None if it has none yet."""
    parts = dict(connection.execute("SELECT part, value FROM terms WHERE dataset = ?", (dataset,)).fetchall())
    if not parts:
        return None
    unit, schema = parts.get("unit") or None, parts.get("schema")
    of_second_format = None if unit is None else NOT_RECORDED
    column = parts["column"] or None if "column" in parts else of_second_format
    plain = {"unit": unit, "rows_per_unit": number_of_rows(parts.get("rows_per_unit")), "schema": schema}
    try:
        files, declared = str(parts.get("files", "")), str(parts.get("declared", ""))
        return replace(Terms.from_plain({**plain, "column": column}), files=files, declared=declared)
    except ValueError:
        raise DamagedError("its terms are incomplete") from None


def number_of_rows(text: object) -> int:
    """A number of rows, from the text in the terms and events of a ledger."""
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        raise DamagedError("its terms are incomplete")
    return int(text)


_ENTRY = "number, time, amount, spent_after, lineage, operator, status, process, coalesce(judged, terms), dataset"


def read_entries(connection: Connection, where: str = "number > ?", value: object = 0) -> tuple[Entry, ...]:
    """Every debit that satisfies a condition, oldest first."""
    names = read_names(connection)
    query = f"SELECT {_ENTRY}, analyst, request FROM entries WHERE {where} ORDER BY number"
    return tuple(entry_of(row, names) for row in connection.execute(query, (value,)).fetchall())


def read_events(connection: Connection) -> tuple[Event, ...]:
    """Every change of terms, oldest first."""
    names = read_names(connection)
    columns = "number, time, changed, old, new, process, consent, dataset"
    rows = connection.execute(f"SELECT {columns} FROM events ORDER BY number").fetchall()
    return tuple(event_of(row, names) for row in rows)


def event_of(row: Sequence[Any], names: dict[int, str]) -> Event:
    """An event from its row."""
    texts = isinstance(row[5], int) and all(isinstance(text, str) for text in row[1:5])
    if not texts or not isinstance(row[6], str | None) or not (row[7] is None or row[7] in names):
        raise DamagedError(f"event {row[0]} has a value of the wrong type")
    number, time, changed, old, new, process, consent, dataset = row
    return Event(number, time, changed, old, new, process, consent, names.get(dataset))


def counted_for(terms: Terms, entries: Sequence[Entry]) -> Fraction:
    """The cost of all answers so far for one unit of these terms, each by the terms under which it was made."""
    unknown = Terms(1, "", None, NOT_RECORDED)
    answers = (entry for entry in entries if not entry.recount)
    return sum(((entry.terms or unknown).times(terms) * entry.amount for entry in answers), Fraction(0))


def check(balance: Balance, entries: Sequence[Entry], before: Fraction = Fraction(0), after: int = 0) -> None:
    """Recompute the amount spent from the debits; the running sums and the account must agree with it.

    These may be only the entries with a number larger than *after*; *before* was spent until then.
    """
    spent = before
    for expected, entry in enumerate(entries, start=after + 1):
        spent += entry.amount
        if entry.number != expected:
            raise DamagedError(f"entry {expected} is missing")
        if entry.spent_after != spent:
            raise DamagedError(f"entry {expected} does not add up")
    if balance.spent != spent:
        raise DamagedError("the sum of the debits differs from the amount spent in the account")
    if balance.committed > balance.total:
        raise DamagedError("more was spent than the total")


def check_recent(connection: Connection) -> Balance:
    """Check the last entries, and that none is missing: what a debit relies on, however long the ledger is."""
    balance, number = read_balance(connection), last(connection, "entries")
    (count,) = connection.execute("SELECT count(*) FROM entries").fetchone()
    after = max(0, number - RECENT) if count == number else 0
    row = connection.execute("SELECT spent_after FROM entries WHERE number = ?", (after,)).fetchone()
    before = to_fraction(row[0]) if after and row else Fraction(0)
    check(balance, read_entries(connection, value=after), before, after)
    check_chain(connection, "entries", after)
    read_events(connection)
    check_chain(connection, "events")
    check_chain(connection, "changes", max(0, last(connection, "changes") - RECENT))
    for own in read_names(connection):
        read_terms(connection, own)
    return balance


def check_analysts(balance: Balance, entries: Iterable[Entry], events: Iterable[Event]) -> None:
    """What each analyst has spent must agree with the entries, and what they may spend with the events."""
    spent = dict.fromkeys(balance.analysts, Fraction(0))
    for entry in entries:
        if entry.analyst is not None:
            spent[entry.analyst] = spent.get(entry.analyst, Fraction(0)) + entry.amount
    if spent != {name: own.spent for name, own in balance.analysts.items()}:
        raise DamagedError("the debits of an analyst differ from what they have spent")
    allowed = {event.new.partition(":")[0]: event.new for event in events if event.changed == ANALYST}
    if allowed != {name.partition(":")[0]: str(own) for name, own in balance.analysts.items()}:
        raise DamagedError("what an analyst may spend differs from its events")


def entry_of(row: Sequence[Any], names: dict[int, str]) -> Entry:
    """An entry from its row."""
    number, time, amount, spent_after, lineage, operator, status, process, terms, dataset, analyst, request = row
    steps = _from_json(lineage)
    if steps is None:
        raise DamagedError(f"the lineage of entry {number} cannot be read")
    if not isinstance(steps, tuple) or not all(isinstance(name, str) for name in steps):
        raise DamagedError(f"the lineage of entry {number} is not a list of names")
    texts = all(isinstance(text, str) for text in (time, operator))
    texts = texts and all(isinstance(text, str | None) for text in (analyst, request))
    if not texts or not isinstance(process, int) or dataset not in names:
        raise DamagedError(f"entry {number} has a value of the wrong type")
    if status not in get_args(Status):
        raise DamagedError(f"the status of entry {number} is unknown")
    recount = terms == RECOUNT
    made = None if terms is None or recount else _from_json(terms)
    if not isinstance(made, Terms | None) or (made is None and terms is not None and not recount):
        raise DamagedError(f"the terms of entry {number} cannot be read")
    sums = to_fraction(amount), to_fraction(spent_after)
    kept = number, time, *sums, steps, operator, status, process, made, recount
    return Entry(*kept, dataset=names[dataset], analyst=analyst, request=request)


@lru_cache(maxsize=1024)
def _from_json(text: object) -> Terms | tuple[Any, ...] | None:
    """A list as a tuple, and an object as terms; None for any other text, which is damage. Many entries have the same
    lineage and the same terms."""
    try:
        plain = json.loads(text) if isinstance(text, str) and len(text) <= _LONGEST_TEXT else None
        return tuple(plain) if isinstance(plain, list) else Terms.from_plain(plain)
    except (ValueError, RecursionError, MemoryError):
        return None


def read_checked(connection: Connection, *, answers: bool = False) -> Contents:
    """Everything in the ledger, checked; with *answers*, stored answers and results as well. Call it inside a
    transaction, so that the parts are consistent."""
    balance, entries = read_balance(connection), read_entries(connection)
    check(balance, entries)
    events = read_events(connection)
    check_analysts(balance, entries, events)
    for table in ("entries", "events"):
        check_chain(connection, table)
    check_changes(connection, [(event.changed, event.new) for event in events], answers=answers)
    names = read_names(connection)
    datasets = tuple(DataSet(number, name, read_terms(connection, number)) for number, name in names.items())
    return Contents(balance, entries, events, datasets)


class Debiting(NamedTuple):
    """Whose debit it is: of which data set, by which analyst, for which request."""

    dataset: int
    analyst: str | None = None
    request: str | None = None


def write_debit(
    connection: Connection,
    balance: Balance,
    amount: Fraction,
    lineage: Sequence[str],
    operator: str,
    whose: Debiting,
    terms: Terms | Literal["recount"] | None = None,
) -> int:
    """Add an entry, if the account is still as it was read; returns its number."""
    spent = balance.spent + amount
    row: dict[str, object] = {"time": now(), "amount": to_text(amount), "spent_after": to_text(spent)}
    row |= {"lineage": json.dumps(lineage), "operator": operator, "process": os.getpid()}
    row |= {"terms": json.dumps(terms.to_plain()) if isinstance(terms, Terms) else terms, **whose._asdict()}
    number = append(connection, "entries", row, {"status": "debited" if terms != RECOUNT else "answered"})
    if terms == RECOUNT:
        record(connection, "debit", number)
    write(
        connection,
        "UPDATE ledger SET spent = ? WHERE spent = ? AND total = ?",
        (to_text(spent), to_text(balance.spent), to_text(balance.total)),
    )
    if whose.analyst is not None:
        before = balance.analysts[whose.analyst].spent
        write(
            connection,
            "UPDATE analysts SET spent = ? WHERE name = ? AND spent = ?",
            (to_text(before + amount), whose.analyst, to_text(before)),
        )
    return number


def write_event(
    connection: Connection, changed: str, old: str, new: str, consent: str | None = None, dataset: int | None = None
) -> None:
    """Record a change of the ledger's own terms."""
    row: dict[str, object] = {"time": now(), "changed": changed, "old": old, "new": new, "process": os.getpid()}
    append(connection, "events", {**row, "consent": consent, "dataset": dataset})


def write_terms(connection: Connection, terms: Terms, dataset: int) -> None:
    """Adopt these terms for a data set."""
    for part, value in {**terms.to_plain(), "files": terms.files, "declared": terms.declared}.items():
        write(
            connection,
            "INSERT INTO terms (dataset, part, value) VALUES (?, ?, ?)"
            " ON CONFLICT (dataset, part) DO UPDATE SET value = excluded.value",
            (dataset, part, "" if value is None else str(value)),
        )
        record(connection, "terms", dataset, part)


def judge(connection: Connection, entry: int, terms: Terms) -> None:
    """Record whom an earlier debit protects, where that became known only now."""
    write(connection, "UPDATE entries SET judged = ? WHERE number = ?", (json.dumps(terms.to_plain()), entry))
    record(connection, "debit", entry)
