"""The ledger of a table, for its curators: every entry, who spent what, how it grew, and the privacy statement."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from adyton.errors import AdytonError, BadInput
from adyton.exact import display
from adyton.kernel.ledger import Entry, LedgerReport
from adyton.kernel.ledger.lines import Line, lines_of, moment, source_in, statement_lines
from adyton.kernel.ledger.plain import report_as_json, report_from_plain
from adyton.messages import harmless, printable
from adyton.report.page import Picture, sentence
from adyton.report.spending import drawing_of
from adyton.report.statement import Statement
from adyton.service.channel import Refused
from adyton.service.pages.requests import Place, listed, question_of
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import (
    NoSuchPage,
    Page,
    View,
    Visit,
    document,
    download,
    path_to,
    plain_ratio,
    readable,
    redirect,
    whole_number,
)

ROWS = 100
"""How many questions a page of the ledger has, and how many measurements are shown of each."""
CURATORS = ":curators"
"""In place of a name, what curators spent; no analyst has a colon in their name."""
_STATUS = {"answered": "answered", "failed": "failed", "debited": "charged; whether it was answered is not known"}
_CHANGES = {"analyst": "an analyst's part", "request": "consent to a request", "rows_per_unit": "rows of a unit"}
_MOST_CHANGES = 200
_ELSEWHERE = "asked by {}, in Python or a shell"
"""What is said of an entry without a request: whoever can open the ledger's file has measured it."""
_LOST = "asked through the service, which no longer lists it"
_COLUMNS = (
    "entry,time,table,analyst,request,question,rows and attributes,measurement,status,"
    "epsilon,epsilon_exact,spent_after,spent_after_exact"
)
_Questions = Mapping[tuple[str, str | None, str], Mapping[str, Any]]
"""What was asked, by table, analyst and id."""


def ledger(
    visit: Visit,
    table: str,
    *,
    status: int = 200,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> Page:
    """Who spent what on what, when; with what was *typed* to raise the total, and what is wrong with it."""
    session = visit.session(table)
    report = report_of(visit, table)
    whose = visit.text("analyst")
    asked = _by_question(lines_of(_chosen(report, whose)))
    pages = max(1, -(-len(asked) // ROWS))
    number = min(whole_number(visit.text("page", "1"), "A page of the ledger", 1, 10**9), pages)
    shown = asked[(number - 1) * ROWS : number * ROWS]
    questions = _questions(visit, {lines[0].first.dataset for lines in shown if lines[0].first.request})
    return visit.page(
        "ledger.html.j2",
        status=status,
        typed=typed or {"total": "", "consent": "", "large": ""},
        problems=problems or {},
        **frame(session, table),
        report=report,
        tables=[report.dataset, *(own.name for own in report.further)],
        left=report.balance.left(None),
        picture=Picture.of(drawing_of(report, datetime.now(UTC))),
        spenders=spenders(report),
        whose=whose,
        curators=CURATORS,
        lines=[_shown(lines, report, questions) for lines in shown],
        number=number,
        pages=pages,
        changes=_changes(report),
        hidden_changes=max(0, len(report.events) - _MOST_CHANGES),
        of={"analyst": whose} if whose else {},
    )


def raise_total(visit: Visit, table: str) -> Page:
    """Raise the total, where one person has the table; or say at its field what is missing."""
    typed = {name: visit.text(name) for name in ("total", "consent", "large")}
    given = {**typed, "large": bool(typed["large"]), "word": visit.text("word")}
    try:
        visit.local("raise_total", name=table, **given)
    except Refused as problem:
        where = "consent" if str(problem).startswith("Say who consents") else "total"
        where = "word" if problem.kind == "Unconfirmed" else where
        return ledger(visit, table, status=400, typed=typed, problems={where: sentence(plain_ratio(str(problem)))})
    visit.person.kept.get("sessions", {}).pop(table, None)  # its budget is another now
    return redirect(path_to("tables", table, "ledger"))


def statement(visit: Visit, table: str) -> Page:
    """The privacy statement, as a page of its own."""
    return document(_plain(_statement(visit, table).to_html()))


def saved(visit: Visit, table: str, name: str) -> Page:
    """The ledger or its statement as a file."""
    if name == "statement.html":
        return download(_plain(_statement(visit, table).to_html()).encode(), f"{table}-privacy.html", "text/html")
    if name == "statement.md":
        return download(_plain(_statement(visit, table).to_markdown()).encode(), f"{table}-privacy.md", "text/markdown")
    if name == "ledger.json":
        text = json.dumps(report_as_json(report_of(visit, table)), indent=2, ensure_ascii=False)
        return download(text.encode(), f"{table}-ledger.json", "application/json")
    if name == "ledger.csv":
        report, whose = report_of(visit, table), visit.text("analyst")
        entries = _chosen(report, whose)
        questions = _questions(visit, {entry.dataset for entry in entries if entry.request})
        own = f"-{whose.removeprefix(':')}" if whose else ""
        return download(as_csv(entries, questions).encode(), f"{table}-ledger{own}.csv", "text/csv")
    raise NoSuchPage("There is no such file of the ledger. It has ledger.csv, ledger.json and statement.html.")


def report_of(visit: Visit, table: str) -> LedgerReport:
    """The ledger as it is now; whoever is no curator is refused by the service."""
    return report_from_plain(visit.ask("GET", path_to("v1", "datasets", table, "ledger")))


def spenders(report: LedgerReport) -> list[dict[str, Any]]:
    """Who has spent how much, with the share of the total; the curators last."""
    curators = report.spent - sum((own.spent for own in report.analysts), Fraction(0))
    rows = [(own.name, own.name, own.spent) for own in report.analysts] + [(CURATORS, "curators", curators)]
    return [
        {
            "key": key,
            "name": name,
            "spent": readable(spent),
            "share": float(100 * spent / report.total),
            "percent": f"{float(100 * spent / report.total):.1f}",
        }
        for key, name, spent in sorted(rows, key=lambda row: -row[2])
        if spent or key != CURATORS
    ]


def as_csv(entries: Iterable[Entry], questions: _Questions) -> str:
    """Entries as CSV, whose texts no spreadsheet treats as formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS.split(","))
    for entry in entries:
        asked = questions.get((entry.dataset, entry.analyst, entry.request or ""))
        words = [
            entry.time,
            entry.dataset,
            entry.analyst or "",
            entry.request or "",
            "" if asked is None else str(question_of(asked["request"])),
            " > ".join(entry.lineage),
            entry.operator,
            entry.status,
        ]
        amounts = [of for amount in (entry.amount, entry.spent_after) for of in (float(amount), str(amount))]
        writer.writerow([entry.number, *(harmless(printable(word)) for word in words), *amounts])
    return text.getvalue()


def _statement(visit: Visit, table: str) -> Statement:
    report = report_of(visit, table)
    lines, today = statement_lines(report), datetime.now(UTC).date().isoformat()
    questions = _questions(visit, {entry.dataset for entry in report.entries if entry.request})
    groups = (_shown(own, report, questions) for own in _by_question(lines_of(report.entries)))
    asked = [(own["time"][:10], str(own["question"]), own["who"], own["amount"]) for own in groups if own["question"]]
    return Statement(report, lines, f"of {table}", today, asked)


def _plain(text: str) -> str:
    """The text without control characters, line by line."""
    return "\n".join(map(printable, text.split("\n")))


def _chosen(report: LedgerReport, whose: str) -> Sequence[Entry]:
    """The entries of one analyst, of the curators, or of all."""
    if not whose:
        return report.entries
    if whose != CURATORS and whose not in {own.name for own in report.analysts}:
        raise BadInput(f"{whose[:80]!r} is no analyst of this ledger. Choose one of the list.")
    name = None if whose == CURATORS else whose
    return [entry for entry in report.entries if entry.analyst == name]


def _questions(visit: Visit, tables: Iterable[str]) -> _Questions:
    """What was asked of these tables; of one that is not at this service, or does not answer, nothing is known."""
    found: dict[tuple[str, str | None, str], Mapping[str, Any]] = {}
    for name in tables:
        try:
            rows = listed(visit, name)
        except AdytonError:
            continue
        found |= {(name, row["analyst"], row["id"]): row for row in rows}
    return found


def _by_question(lines: Iterable[Line]) -> list[list[Line]]:
    """The lines of each question together, the latest question first; a line of no question stands alone."""
    together: dict[object, list[Line]] = {}
    for line in list(lines)[::-1]:
        entry = line.first
        key = (entry.dataset, entry.analyst, entry.request) if entry.request else entry.number
        together.setdefault(key, []).append(line)
    return [own[::-1] for own in together.values()]


def _shown(lines: Sequence[Line], report: LedgerReport, questions: _Questions) -> dict[str, Any]:
    first, entry, last = lines[0], lines[0].first, lines[-1].number.rpartition("–")[2]
    asked = questions.get((entry.dataset, entry.analyst, entry.request or ""))
    states = ["charged when the terms changed" if own.first.recount else _STATUS[own.first.status] for own in lines]
    return {
        "numbers": f"entry {last}" if str(entry.number) == last else f"entries {entry.number} to {last}",
        "time": first.time,
        "table": entry.dataset,
        "who": first.analyst or "curators",
        "curators": entry.analyst is None,
        "question": "" if asked is None else question_of(asked["request"]),
        "elsewhere": _LOST if entry.request else _ELSEWHERE.format(entry.analyst or "the owner"),
        "path": "" if asked is None else Place(entry.dataset, asked["id"], entry.analyst).path(),
        "measured": [(own.number, own.operator, source_in(own.lineage, report), own.amount) for own in lines[:ROWS]],
        "hidden": max(0, len(lines) - ROWS),
        "amount": display(sum((own.first.amount for own in lines), Fraction(0))),
        "spent_after": readable(lines[-1].first.spent_after),
        "state": ", ".join(dict.fromkeys(states)),
    }


def _changes(report: LedgerReport) -> list[dict[str, str]]:
    """When the ledger was changed, the latest first, and with whose consent."""
    return [
        {
            "time": moment(event.time),
            "what": _CHANGES.get(event.changed, event.changed),
            "table": event.dataset or "",
            "old": event.old,
            "new": event.new,
            "consent": event.consent or "",
        }
        for event in report.events[::-1][:_MOST_CHANGES]
    ]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/ledger"): ledger,
    ("POST", "/tables/{table}/ledger"): raise_total,
    ("GET", "/tables/{table}/ledger/statement"): statement,
    ("GET", "/tables/{table}/ledger/files/{name}"): saved,
}
