"""Results: what was asked before, and one result with its numbers, pictures, files and further questions.

While a request is under way its page says what was asked and since when, which is public, and nothing else.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from adyton.errors import AdytonError
from adyton.exact import display
from adyton.result.result import Result
from adyton.service.pages.fetched import (
    AT_ONCE,
    PATIENCE,
    Job,
    Outcome,
    Place,
    Saved,
    cancel,
    lines,
    outcome,
    seconds_since,
)
from adyton.service.pages.lines import lines_for
from adyton.service.pages.questions import COUNTED, Form, answered, form_of
from adyton.service.pages.showing import (
    RECEIPT,
    File,
    file_of,
    first_look,
    linked,
    made_of,
    most_rows,
    report_of,
    request_in_words,
    request_of,
    rows_file,
)
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import (
    NoSuchPage,
    Page,
    View,
    Visit,
    download,
    path_to,
    redirect,
    whole_number,
)
from adyton.service.timing import class_of
from adyton.session.client import Unreached
from adyton.session.remote import RemoteSession

_REHEARSALS = 8
_LINES = 100
"""How many requests a page lists."""
_MEASUREMENTS = "measurements.json"
STATES = {
    "done": "done",
    "begun": "under way",
    "under way": "under way",
    "waiting": "waits for consent",
    "refused": "refused",
    "ended": "ended early",
}
"""What people read instead of the words of the ledger."""
_CLASSES = {
    "count": "It is a single count: the quickest kind of request.",
    "small": "It is a small request, of few cells: usually a matter of seconds.",
    "large": "It is a large request: it may take minutes.",
}


# ---- what was asked before -------------------------------------------------------------------------------------------


def listed(visit: Visit, table: str) -> Page:
    """What was asked before, newest first."""
    session, every = visit.session(table), lines(visit, table)
    last = max(0, (len(every) - 1) // _LINES)
    number = min(last, whole_number(visit.text("page", "0"), "The page", 0, 10**6))
    part = every[number * _LINES : (number + 1) * _LINES]
    several = visit.person.is_curator or any(line["analyst"] != visit.person.name for line in every)
    return visit.page(
        "results.html.j2",
        **frame(session, table),
        rows=[_row(visit, table, line) for line in part],
        count=len(every),
        several=several,
        newer=path_to("tables", table, "results", page=str(number - 1)) if number else "",
        older=path_to("tables", table, "results", page=str(number + 1)) if number < last else "",
        comparable=sum(line["status"] == "done" for line in part) > 1,
    )


def _row(visit: Visit, table: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the list; one that cannot be read says so."""
    words, request = request_in_words(line.get("request"))
    place = Place(table, str(line.get("id")), owner_of(visit, line))
    made_at = str(line.get("made", ""))
    status = str(line.get("status"))
    return {
        "path": "" if place.owner == "" else path_of(place),  # only curators open those of curators
        "words": words,
        "epsilon": "" if request is None else display(request.epsilon),
        "where": (request.where or "") if request is not None else "",
        "status": STATES.get(status, status),
        "kind": status,
        "made": made_at[:16].replace("T", " ") if visit.person.is_curator else made_at[:10],
        "who": str(line.get("analyst") or "curators"),
        "key": key_of(place),
        "again": "" if request is None else again_path(table, line["request"]),
        "done": status == "done" and request is not None and place.owner != "",
    }


def owner_of(visit: Visit, line: Mapping[str, Any]) -> str | None:
    """Whose request a line of the list is, if it is not the visitor's own; empty for one of the curators."""
    own = None if visit.person.is_curator else visit.person.name
    return None if line.get("analyst") == own else str(line.get("analyst") or "")


def path_of(place: Place, *more: str, **query: str) -> str:
    """The path of a result, or of something below it."""
    return path_to("tables", place.table, "results", place.id, *more, **query, **place.of)


def key_of(place: Place) -> str:
    """A result as one text: its id and, if it is somebody else's, whose."""
    return place.id if place.owner is None else f"{place.id}:{place.owner}"


def again_path(table: str, request: Any) -> str:
    """Where the same can be asked again."""
    return path_to("tables", table, "ask", request=json.dumps(request, ensure_ascii=False))


# ---- one request, or its result --------------------------------------------------------------------------------------


def result(visit: Visit, table: str, id: str) -> Page:
    """A result; or how far its request is, or what became of it."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    if found.saved is None:
        return _without_result(visit, place, found)
    session = visit.session(table)
    return show(visit, session, table, found.saved.result, place=place, found=found)


def show(visit: Visit, session: RemoteSession | None, table: str, result: Result, **more: Any) -> Page:
    """The page of a result: the pictures, numbers and words of its report.

    It may be a released one (*place* and *found*: where it is, and what the service says of it), one in a file (*saved*
    and *path*: where it is, without a session), or else a rehearsed one (*request*: the plain values of what was
    rehearsed), which is kept for the visitor for a while.
    """
    place: Place | None = more.get("place")
    found: Outcome | None = more.get("found")
    saved: Saved | None = found.saved if found is not None else more.get("saved")
    path = str(more.get("path") or (path_of(place) if place is not None else ""))
    request = more.get("request") or (found.request if found is not None else None)
    if saved is None:
        saved, path = _keep_rehearsal(visit, table, result, request)
    values = _values(visit, saved, path)
    if table:
        plain, asked = _request_of(result, request)
        values["again"] = again_path(table, plain) if plain else ""
        if asked is not None and result.receipt.private:
            values["where_else"] = lines_for(visit, table, asked)
    if place is not None and found is not None:
        described = visit.ask("GET", f"/v1/datasets/{quote(table, safe='')}")
        values |= {
            "signed": found.signed,
            "compare": path_to("tables", table, "compare", a=key_of(place)),
            "who": _who_sees(visit, place, everybody=described.get("results") == "all"),
        }
        values["files"].append(File(RECEIPT, "The receipt that the service signed for exactly these bytes"))
    about = frame(session, table) if session is not None else {}
    template = "result.html.j2" if session is not None else "saved_result.html.j2"
    wrong = values["rows_problem"] or (values["form"] is not None and values["form"].wrong)
    return visit.page(template, status=400 if wrong else 200, **about, **values)


def _values(visit: Visit, saved: Saved, path: str) -> dict[str, Any]:
    """What the page of any result is made of."""
    base, _, query = path.partition("?")
    result, made = saved.result, made_of(saved)
    drawn = made.ready(AT_ONCE)
    shown = made.value(0).shown if drawn else first_look(result)

    def below(*parts: str, **fields: str) -> str:
        said = "&".join(filter(None, [query, urlencode(fields)]))
        return "/".join([base, *(quote(part, safe="") for part in parts)]) + (f"?{said}" if said else "")

    form = form_of(visit, result) if drawn and not shown.problem else None
    if form is not None and form.asked:
        question = _question(visit, saved, form)
        drawn = question.ready(AT_ONCE)
        if drawn:
            form.answer, form.problems = question.value(0)
    most = most_rows(result)
    return {
        "result": result,
        "shown": shown,
        "sections": [(own, linked(own.html, below("report"))) for own in shown.sections],
        "base": base,
        "analyst": visit.text("analyst"),
        "files": list(shown.files),
        "below": below,
        "form": form,
        "drawing": "" if drawn else f"{base}/drawn?{urlencode(list(_fields(visit)))}",
        "counted": COUNTED,
        "most_rows": most,
        "rows": visit.text("rows", f"{min(most, 1000)}"),
        "rows_problem": _rows_problem(visit, most),
        "again": "",
        "where_else": (),
        "signed": None,
        "compare": "",
        "who": "",
    }


def _fields(visit: Visit) -> Iterator[tuple[str, str]]:
    """The fields of a query, one by one."""
    return ((name, value) for name, values in visit.query.items() for value in values)


def _question(visit: Visit, saved: Saved, form: Form) -> Job:
    """The answer to a further question, computed once."""
    asked = tuple(sorted(_fields(visit)))
    return saved.job(("question", asked), lambda: answered(form, saved.result))


def drawn_at(visit: Visit, saved: Saved, path: str) -> Page:
    """What is loaded anew until the pictures of a result are drawn, and a question is answered; then, where to go."""
    ready, made = made_of(saved).ready(AT_ONCE), made_of(saved)
    form = form_of(visit, saved.result) if ready and not made.value(0).shown.problem else None
    if ready and (form is None or not form.asked or _question(visit, saved, form).ready(AT_ONCE)):
        base, fields = path.partition("?")[0], urlencode(list(_fields(visit)))
        fragment = "#answer" if form is not None and form.asked else ""
        return Page(b"", headers={"adyton-next": f"{base}?{fields}{fragment}" if fields else base})
    return visit.page("drawing.html.j2")


# ---- rehearsed results -----------------------------------------------------------------------------------------------


def _keep_rehearsal(visit: Visit, table: str, result: Result, request: Any) -> tuple[Saved, str]:
    """Keep a rehearsed result, so that its page can be loaded again; where it is."""
    known: dict[str, tuple[str, Saved, Any]] = visit.person.kept.setdefault("rehearsals", {})
    key, saved = secrets.token_urlsafe(12), Saved("", result)
    known[key] = table, saved, request
    while len(known) > _REHEARSALS:
        del known[next(iter(known))]
    return saved, path_to("tables", table, "rehearsals", key)


def _rehearsal(visit: Visit, table: str, key: str) -> tuple[Saved, Any]:
    named, saved, request = visit.person.kept.get("rehearsals", {}).get(key, ("", None, None))
    if saved is None or named != table:
        raise NoSuchPage("This rehearsal is not kept any more. Rehearse again: it costs nothing.")
    return saved, request


def rehearsed(visit: Visit, table: str, key: str) -> Page:
    """A result on made-up rows, once more."""
    saved, request = _rehearsal(visit, table, key)
    path = path_to("tables", table, "rehearsals", key)
    return show(visit, visit.session(table), table, saved.result, saved=saved, path=path, request=request)


def rehearsal_drawn(visit: Visit, table: str, key: str) -> Page:
    """The part of the page that is loaded anew until the pictures are drawn."""
    return drawn_at(visit, _rehearsal(visit, table, key)[0], path_to("tables", table, "rehearsals", key))


# ---- parts of the page -----------------------------------------------------------------------------------------------


def _rows_problem(visit: Visit, most: int) -> str:
    """What is wrong with the number of synthetic rows, if one was asked for."""
    if visit.text("q") != "rows" or not most:
        return ""
    try:
        whole_number(visit.text("rows"), "The number of rows", 1, most)
    except AdytonError as problem:
        return str(problem)
    return ""


def _request_of(result: Result, given: Any) -> tuple[Any, Any]:
    """The request behind a result, as plain values and as it is: the one that was sent, if it is known."""
    try:
        if given is not None:
            return given, request_in_words(given)[1]
        request = request_of(result)
        return request.to_dict(), request
    except AdytonError:  # a request with objects in it
        return None, None


def _who_sees(visit: Visit, place: Place, *, everybody: bool) -> str:
    """Who may open a result, in a sentence."""
    if everybody:
        return "The curators and all analysts of this table may open it here."
    if visit.person.is_curator and place.owner is None:
        return "Only the curators of this table may open it here."
    whose = "You" if place.owner is None else place.owner
    return f"{whose} and the curators of this table may open it here, and nobody else."


# ---- without a result ------------------------------------------------------------------------------------------------

_TITLES = {
    "under way": "Under way",
    "waiting": "Waits for the curator's consent",
    "refused": "Refused by the curator",
    "ended": "Ended early, without a result",
    "measured": "Ended early: what was measured",
    "unread": "A result that cannot be shown",
    "reading": "A result",
    "cancelled": "Cancelled",
    "gone": "Not carried out",
}


def _without_result(visit: Visit, place: Place, found: Outcome) -> Page:
    """The page of a request that has no result: why, and what can be done."""
    words, request = request_in_words(found.request)
    values = {
        **frame(visit.session(place.table), place.table),
        "title": _TITLES[found.state],
        "words": words if found.request is not None else "",
        "asked": request,
        "epsilon": "" if request is None else display(request.epsilon),
        "said": found.said,
        "again": again_path(place.table, found.request) if request is not None else "",
        "json_path": path_of(place, "files", _MEASUREMENTS if found.state == "measured" else "release.json"),
        "here": path_of(place),
        "progress": path_of(place, "progress", state=found.state),
        "cancel": path_of(place, "cancel") if place.owner is None else "",
        "late": visit.text("cancel") == "late",
        **_progress(visit, place, found),
    }
    return visit.page("request.html.j2", status=404 if found.state == "gone" else 200, **values)


def _progress(visit: Visit, place: Place, found: Outcome) -> dict[str, Any]:
    """What may be known of a request that is under way: since when, and its public class."""
    seconds = seconds_since(visit, place)
    cells = visit.person.kept.setdefault("cells", {})
    if place.table not in cells:
        described = visit.ask("GET", f"/v1/datasets/{quote(place.table, safe='')}")
        cells[place.table] = described.get("cells", {})
    kind = class_of("ask", found.request, cells[place.table])
    minutes, rest = divmod(int(seconds), 60)
    return {
        "since": f"{minutes} min {rest:02d} s" if minutes else f"{rest} s",
        "class_words": _CLASSES[kind] if found.request is not None else "",
        "state": found.state,
    }


def progress(visit: Visit, table: str, id: str) -> Page:
    """The part of the page that is loaded anew while a request is under way; at its end, where to go."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    if found.state != visit.text("state"):
        return Page(b"", headers={"adyton-next": path_of(place)})
    return visit.page("progress.html.j2", **_progress(visit, place, found))


def cancelled(visit: Visit, table: str, id: str) -> Page:
    """Cancel a request; where that is too late, its page says so."""
    place = Place(table, id)
    try:
        cancel(visit, place)
    except Unreached:
        raise
    except AdytonError:
        return redirect(path_of(place, cancel="late"))
    return redirect(path_of(place))


# ---- files -----------------------------------------------------------------------------------------------------------


def file(visit: Visit, table: str, id: str, name: str) -> Page:
    """A file of a result, to save."""
    found = outcome(visit, Place.asked(visit, table, id), PATIENCE)
    if found.signed is not None and name == RECEIPT:
        return download(found.signed.text.encode("ascii", "replace"), name, "text/plain; charset=utf-8")
    if found.saved is not None:
        return file_of(found.saved, name)
    if found.text and name in ("release.json", _MEASUREMENTS):
        return download(found.text.encode("utf-8"), name, "application/json")
    raise NoSuchPage("This request has no result to save. Its page says what became of it.")


def rows(visit: Visit, table: str, id: str) -> Page:
    """Synthetic rows, to save; a wrong number is shown at its field."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place, PATIENCE)
    if found.saved is None:
        raise NoSuchPage("This request has no result to save. Its page says what became of it.")
    made_rows = synthetic(visit, found.saved)
    return made_rows or show(visit, visit.session(table), table, found.saved.result, place=place, found=found)


def synthetic(visit: Visit, saved: Saved) -> Page | None:
    """The file of synthetic rows that a form asks for; None if its number is wrong."""
    most = most_rows(saved.result)
    if _rows_problem(visit, most):
        return None
    kind = "parquet" if visit.text("kind") == "parquet" else "csv"
    return rows_file(saved.result, whole_number(visit.text("rows"), "The number of rows", 1, max(1, most)), kind)


def drawn(visit: Visit, table: str, id: str) -> Page:
    """The part of the page that is loaded anew until the pictures are drawn."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    if found.saved is None:
        return Page(b"", headers={"adyton-next": path_of(place)})
    return drawn_at(visit, found.saved, path_of(place))


def report(visit: Visit, table: str, id: str) -> Page:
    """The report of a result, as a page of its own."""
    found = outcome(visit, Place.asked(visit, table, id), PATIENCE)
    if found.saved is None:
        raise NoSuchPage("This request has no report. Its page says what became of it.")
    return report_of(found.saved)


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/results"): listed,
    ("GET", "/tables/{table}/results/{id}"): result,
    ("GET", "/tables/{table}/results/{id}/progress"): progress,
    ("POST", "/tables/{table}/results/{id}/cancel"): cancelled,
    ("GET", "/tables/{table}/results/{id}/drawn"): drawn,
    ("GET", "/tables/{table}/results/{id}/files/{name}"): file,
    ("GET", "/tables/{table}/results/{id}/rows"): rows,
    ("GET", "/tables/{table}/results/{id}/report"): report,
    ("GET", "/tables/{table}/rehearsals/{key}"): rehearsed,
    ("GET", "/tables/{table}/rehearsals/{key}/drawn"): rehearsal_drawn,
}
