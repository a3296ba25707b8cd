"""A report of a ledger as plain values: as a service sends it, and read back with every value checked; and as people
save it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar, get_args

from adyton.errors import BadInput
from adyton.exact import as_number, exact
from adyton.kernel.ledger.analysts import Analyst
from adyton.kernel.ledger.records import DataSet, Entry, Event, Status
from adyton.kernel.ledger.tables import Head
from adyton.kernel.ledger.terms import Terms
from adyton.kernel.ledger.words import LedgerReport
from adyton.messages import shorten
from adyton.schema.plain_values import as_plain, as_text, of_kind, part_of

_Part = TypeVar("_Part")
_NO_TERMS = "the terms of a ledger are a unit, its rows, a digest of the schema and a column."


def report_to_plain(report: LedgerReport) -> dict[str, Any]:
    """Everything in a report but the place of the ledger; :func:`report_from_plain` reads it back."""
    entries = [_entry_to_plain(entry) for entry in report.entries]  # thousands: fast
    return {**as_plain(asdict(replace(report, entries=()))), "entries": entries, "path": None}


def _entry_to_plain(entry: Entry) -> dict[str, Any]:
    terms = None if entry.terms is None else dict(vars(entry.terms))
    amounts = {"amount": str(entry.amount), "spent_after": str(entry.spent_after)}
    return {**vars(entry), **amounts, "lineage": list(entry.lineage), "terms": terms}


def report_from_plain(plain: object) -> LedgerReport:
    """The report that :func:`report_to_plain` wrote. Whatever is missing, or of another type, is an error.

    >>> from adyton.kernel.ledger import Ledger
    >>> with Ledger.open(None, total=1, dataset="visits") as ledger:
    ...     report = ledger.report()
    >>> report_from_plain(report_to_plain(report)) == report
    True
    """
    return LedgerReport(
        _text(plain, "dataset"),
        _amount(plain, "total"),
        _amount(plain, "spent"),
        left=_optional(plain, "left", lambda left: exact(left, "left", computed=True)),
        path=None,
        entries=_all(plain, "entries", _entry),
        events=_all(plain, "events", _event),
        terms=_optional(plain, "terms", _terms),
        further=_all(plain, "further", _further),
        analysts=_all(plain, "analysts", _analyst),
        head=_optional(plain, "head", _head),
        early=_optional(plain, "early", _early),
    )


def report_as_json(report: LedgerReport) -> dict[str, Any]:
    """A report as people save it: exact amounts and the nearest numbers."""
    return {
        "path": report.path,
        "dataset": report.dataset,
        "total": as_number(report.total),
        "spent": as_number(report.spent),
        "remaining": as_number(report.remaining),
        "terms": _terms_as_json(report.terms),
        "further": [{"dataset": further.name, "terms": _terms_as_json(further.terms)} for further in report.further],
        "aside": as_number(report.aside),
        "analysts": [analyst_as_json(own) for own in report.analysts],
        "head": str(report.head),
        "notes": list(report.notes),
        "entries": [
            {
                "number": entry.number,
                "time": entry.time,
                "amount": as_number(entry.amount),
                "spent_after": as_number(entry.spent_after),
                "lineage": list(entry.lineage),
                "operator": entry.operator,
                "status": entry.status,
                "process": entry.process,
                "terms": _terms_as_json(entry.terms),
                "dataset": entry.dataset,
                "analyst": entry.analyst,
                "request": entry.request,
            }
            for entry in report.entries
        ],
        "events": [
            {name: value for name, value in asdict(event).items() if name != "number"} for event in report.events
        ],
    }


def analyst_as_json(own: Analyst) -> dict[str, Any]:
    """An analyst as people save it."""
    return {
        "name": own.name,
        "part": None if own.part is None else as_number(own.part),
        "aside": own.aside,
        "spent": as_number(own.spent),
        "expires": own.expires,
    }


def _terms_as_json(terms: Terms | None) -> dict[str, Any] | None:
    """Terms as plain values; a column that was not recorded is None."""
    return None if terms is None else {**terms.to_plain(), "column": terms.column or None}


# ---- each value with its type ----------------------------------------------------------------------------------------


def _entry(plain: object) -> Entry:
    status = part_of(plain, "status")
    if status not in get_args(Status):
        raise BadInput(f"the status of an entry is unknown: {shorten(status)}.")
    return Entry(
        _whole(plain, "number"),
        _text(plain, "time"),
        _amount(plain, "amount"),
        _amount(plain, "spent_after"),
        tuple(as_text(step, "a step of a lineage") for step in of_kind(list, part_of(plain, "lineage"), "lineage")),
        _text(plain, "operator"),
        status,
        _whole(plain, "process"),
        _optional(plain, "terms", _terms),
        of_kind(bool, part_of(plain, "recount"), "recount"),
        _text(plain, "dataset"),
        _optional(plain, "analyst", _word),
        _optional(plain, "request", _word),
    )


def _event(plain: object) -> Event:
    return Event(
        _whole(plain, "number"),
        _text(plain, "time"),
        _text(plain, "changed"),
        _text(plain, "old"),
        _text(plain, "new"),
        _whole(plain, "process"),
        _optional(plain, "consent", _word),
        _optional(plain, "dataset", _word),
    )


def _analyst(plain: object) -> Analyst:
    return Analyst(
        _text(plain, "name"),
        _optional(plain, "part", lambda part: exact(part, "part", computed=True)),
        of_kind(bool, part_of(plain, "aside"), "aside"),
        _amount(plain, "spent"),
        _optional(plain, "expires", _word),
    )


def _further(plain: object) -> DataSet:
    number, name, terms = _parts(plain, 3)
    return DataSet(_as_whole(number, "number"), _word(name), None if terms is None else _terms(terms))


def _head(plain: object) -> Head:
    entries, events, changes, digest = _parts(plain, 4)
    chained = None if changes is None else _as_whole(changes, "changes")
    return Head(_as_whole(entries, "entries"), _as_whole(events, "events"), chained, _word(digest))


def _early(plain: object) -> tuple[int, int]:
    entries, events = _parts(plain, 2)
    return _as_whole(entries, "entries"), _as_whole(events, "events")


def _terms(plain: object) -> Terms:
    given = of_kind(dict, plain, "terms")
    if not all(isinstance(value, str | int | None) for value in given.values()):
        raise BadInput(_NO_TERMS)
    return _terms_of(tuple((name, type(value), value) for name, value in given.items()))


@lru_cache(maxsize=64)
def _terms_of(parts: tuple[tuple[str, type, Any], ...]) -> Terms:
    """Terms from their parts; many entries have the same. The types tell 1 from True."""
    given = {name: value for name, _, value in parts}
    files, declared = (as_text(given.pop(name, ""), name) for name in ("files", "declared"))
    try:
        return replace(Terms.from_plain(given), files=files, declared=declared)
    except (ValueError, TypeError):
        raise BadInput(_NO_TERMS) from None


def _parts(plain: object, count: int) -> list[Any]:
    parts = of_kind(list, plain, "a part of a report")
    if len(parts) != count:
        raise BadInput(f"a part of a report has {count} values, given {len(parts)}.")
    return parts


def _all(plain: object, key: str, read: Callable[[object], _Part]) -> tuple[_Part, ...]:
    return tuple(map(read, of_kind(list, part_of(plain, key), key)))


def _optional(plain: object, key: str, read: Callable[[Any], _Part]) -> _Part | None:
    value = part_of(plain, key)
    return None if value is None else read(value)


def _text(plain: object, key: str) -> str:
    return as_text(part_of(plain, key), key)


def _word(value: object) -> str:
    return as_text(value, "a text of a report")


def _whole(plain: object, key: str) -> int:
    return _as_whole(part_of(plain, key), key)


def _as_whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{name} must be a whole number, given {shorten(value)}.")
    return value


def _amount(plain: object, key: str) -> Fraction:
    amount = exact(part_of(plain, key), key, computed=True)
    if amount < 0:
        raise BadInput(f"{key} must be at least 0, given {shorten(amount)}.")
    return amount
