"""The list of requests, and the page of one result with its numbers, pictures, files and queries.

The pages of requests without a result are in ``unfinished.py``; what is shown of a result is in ``content.py``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from adyton.errors import AdytonError
from adyton.messages import shorten
from adyton.report.page import sentence
from adyton.result.folder import JSON
from adyton.result.result import Result
from adyton.service.pages.asking.scripts import lines_for
from adyton.service.pages.requests import (
    STATES,
    Place,
    Row,
    again_path,
    form_path,
    listed,
    made_at,
    question_of,
    typed,
)
from adyton.service.pages.results.content import (
    RECEIPT,
    file_of,
    file_to_save,
    linked,
    most_rows,
    preview,
    preview_of,
    rendering_of,
    report_of,
    rows_file,
)
from adyton.service.pages.results.outcomes import AT_ONCE, PATIENCE, Job, Outcome, Saved, outcome
from adyton.service.pages.results.queries import COUNTED, Form, answered, form_of
from adyton.service.pages.results.unfinished import MEASUREMENTS, came_late, without_result
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import Fields, NoSuchPage, Page, View, Visit, download, path_to, whole_number
from adyton.session.rehearsal import rows_for
from adyton.session.remote import RemoteSession
from adyton.tasks import NumbersTask
from adyton.tasks.request import AUTO, Request

_REHEARSALS = 8
"""How many rehearsed results are kept for a visitor."""
_PENDING = "pending"
"""The field that says that a page has not even pictures without intervals."""
_OF_A_BUTTON = ("form_key", "price", "do")
"""The fields of a form that its next button has, too."""
_LINES = 100
"""How many requests a page lists."""


# ---- what was asked before -------------------------------------------------------------------------------------------


def results(visit: Visit, table: str) -> Page:
    """What was asked before, newest first."""
    session, every = visit.session(table), listed(visit, table)
    last = max(0, (len(every) - 1) // _LINES)
    number = min(last, whole_number(visit.text("page", "0"), "The page", 0, 10**6))
    part = every[number * _LINES : (number + 1) * _LINES]
    several = visit.person.is_curator or any(row["analyst"] != visit.person.name for row in every)
    return visit.page(
        "results.html.j2",
        **frame(session, table),
        rows=[_row(visit, table, row) for row in part],
        count=len(every),
        several=several,
        newer=path_to("tables", table, "results", page=str(number - 1)) if number else "",
        older=path_to("tables", table, "results", page=str(number + 1)) if number < last else "",
        ticked=visit.texts("r"),
        tick="ticked" in visit.query,
        comparable=sum(row["status"] == "done" for row in part) > 1,
    )


def _row(visit: Visit, table: str, row: Row) -> dict[str, Any]:
    """A line of the list; one that cannot be read says so."""
    question, place = question_of(row.get("request")), Place.of_row(visit, table, row)
    status = str(row.get("status"))
    return {
        "path": "" if place.owner == "" else place.path(),  # only curators open those of curators
        "question": question,
        "status": STATES.get(status, status),
        "kind": status,
        "made": made_at(visit, row),
        "who": str(row.get("analyst") or "curators"),
        "key": place.key,
        "again": again_path(table, row["request"]) if question.request else "",
        "done": status == "done" and question.request is not None and place.owner != "",
    }


# ---- one request, or its result --------------------------------------------------------------------------------------


def result(visit: Visit, table: str, id: str) -> Page:
    """A result; or how far its request is, or what became of it."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    return without_result(visit, place, found) if found.saved is None else _released(visit, place, found, found.saved)


def _released(visit: Visit, place: Place, found: Outcome, saved: Saved) -> Page:
    """The page of a result that the service has."""
    session = visit.session(place.table)
    more = {
        "signed": found.signed,
        "compare": path_to("tables", place.table, "compare", a=place.key),
        "who": _who_sees(visit, place, everybody=session.about.get("results") == "all"),
        "late": came_late(visit),
    }
    return show(visit, saved, place.path(), frame(session, place.table), found.request, **more)


def show(
    visit: Visit, saved: Saved, path: str, about: Mapping[str, Any] | None = None, request: Any = None, **more: Any
) -> Page:
    """The page of a result at a path: the pictures, numbers and words of its report.

    *about* is the frame of its table, if that is at hand, *request* the plain values of what was asked, if they are
    known, and *more* what the page says of a result that the service has.
    """
    values = _values(visit, saved, path) | more
    if about is not None:
        plain, asked = _request_of(saved.result, request)
        if plain and not values["again"]:
            values["again"] = again_path(about["table"], plain)
        if asked is not None and saved.result.receipt.private:
            values["where_else"] = lines_for(visit, about["table"], asked)
    if values["signed"] is not None:
        values["files"].append(file_to_save(saved.result, RECEIPT))
    template = "saved_result.html.j2" if about is None else "result.html.j2"
    wrong = values["rows_problem"] or (values["form"] is not None and values["form"].wrong)
    return visit.page(template, status=400 if wrong else 200, **(about or {}), **values)


def _values(visit: Visit, saved: Saved, path: str) -> dict[str, Any]:
    """What the page of any result is made of."""
    base, _, query = path.partition("?")
    result, made = saved.result, rendering_of(saved)
    drawn = made.ready(AT_ONCE)
    pending = {_PENDING: "1"}
    if drawn:
        shown = made.value(0).content
    else:
        glance, shown = preview_of(saved), preview(result)
        if glance.ready(AT_ONCE) and not glance.failed:
            shown, pending = glance.value(0), {}

    def below(*parts: str) -> str:
        return "/".join([base, *(quote(part, safe="") for part in parts)]) + (f"?{query}" if query else "")

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
        "drawing": "" if drawn else f"{base}/drawn?{urlencode([*_fields(visit), *pending.items()])}",
        "counted": COUNTED,
        "most_rows": most,
        "rows": visit.text("rows", f"{min(most, 1000)}"),
        "rows_problem": _rows_problem(visit, most),
        "again": "",
        "where_else": (),
        "late": False,
        "signed": None,
        "compare": "",
        "who": "",
    }


def _fields(visit: Visit) -> Iterator[tuple[str, str]]:
    """The fields of a query, one by one."""
    return ((name, value) for name, values in visit.query.items() if name != _PENDING for value in values)


def _question(visit: Visit, saved: Saved, form: Form) -> Job:
    """The answer to a query, computed once."""
    asked = tuple(sorted(_fields(visit)))
    return saved.job(("question", asked), lambda: answered(form, saved.result))


def drawn_at(visit: Visit, saved: Saved, path: str) -> Page:
    """What is loaded again until the pictures of a result are drawn, and a question is answered; then, where to go."""
    made = rendering_of(saved)
    ready = made.ready(AT_ONCE)
    form = form_of(visit, saved.result) if ready and not made.value(0).content.problem else None
    glance = preview_of(saved) if visit.text(_PENDING) and not ready else None
    first = glance is not None and glance.ready(AT_ONCE) and not glance.failed and glance.value(0).sections
    if first or (ready and (form is None or not form.asked or _question(visit, saved, form).ready(AT_ONCE))):
        base, fields = path.partition("?")[0], urlencode(list(_fields(visit)))
        fragment = "#answer" if form is not None and form.asked else ""
        return Page(b"", headers={"adyton-next": f"{base}?{fields}{fragment}" if fields else base})
    return visit.page("drawing.html.j2")


# ---- rehearsed results -----------------------------------------------------------------------------------------------


class _Rehearsal(NamedTuple):
    table: str
    saved: Saved
    request: Any
    form: Fields
    """The form as it was sent."""


def show_rehearsal(
    visit: Visit, session: RemoteSession, table: str, result: Result, request: Any, form: Fields
) -> Page:
    """The page of a rehearsed result, which is kept for the visitor for a while, so that it can be loaded again."""
    known: dict[str, _Rehearsal] = visit.person.kept.setdefault("rehearsals", {})
    key, saved = secrets.token_urlsafe(12), Saved("", result)
    known[key] = _Rehearsal(table, saved, request, form)
    while len(known) > _REHEARSALS:
        del known[next(iter(known))]
    return rehearsed(visit, table, key, session)


def _rehearsal(visit: Visit, table: str, key: str) -> _Rehearsal:
    known: _Rehearsal | None = visit.person.kept.get("rehearsals", {}).get(key)
    if known is None or known.table != table:
        raise NoSuchPage("This rehearsal is not kept any more. Rehearse again: it costs nothing.")
    return known


def rehearsed(visit: Visit, table: str, key: str, session: RemoteSession | None = None) -> Page:
    """The page of a rehearsed result that is kept."""
    session = visit.session(table) if session is None else session
    known, path = _rehearsal(visit, table, key), path_to("tables", table, "rehearsals", key)
    more = {
        "exactness": _exactness(known.saved.result, session),
        "again": form_path(table, known.form),
        "sent": [(name, own) for name, values in known.form.items() if name not in _OF_A_BUTTON for own in values],
        "price": typed(known.saved.result.epsilon),
    }
    return show(visit, known.saved, path, frame(session, table), known.request, **more)


def rehearsal_drawn(visit: Visit, table: str, key: str) -> Page:
    """The part of the page that is loaded again until the pictures are drawn."""
    return drawn_at(visit, _rehearsal(visit, table, key).saved, path_to("tables", table, "rehearsals", key))


# ---- parts of the page -----------------------------------------------------------------------------------------------


def _rows_problem(visit: Visit, most: int) -> str:
    """What is wrong with the number of synthetic rows, if one was asked for."""
    if visit.text("q") != "rows" or not most:
        return ""
    try:
        whole_number(visit.text("rows"), "The number of rows", 1, most)
    except AdytonError as problem:
        return sentence(str(problem))
    kind = visit.text("kind", "csv")
    return "" if kind in ("csv", "parquet") else f"Rows are saved as CSV or Parquet, given {shorten(kind)}. Choose one."


def _request_of(result: Result, given: Any) -> tuple[Any, Any]:
    """The request behind a result, as plain values and as it is: the one that was sent, if it is known."""
    if given is not None:
        return given, question_of(given).request
    named = getattr(result, "choice", None) is None
    algorithm = result.algorithm if named else AUTO
    try:
        request = Request(result.task, result.epsilon, result.where, algorithm, dict(result.options))
        return request.to_dict(), request
    except AdytonError:  # a request with objects in it
        return None, None


def _exactness(result: Result, session: RemoteSession) -> str:
    """How exact a result on made-up rows is, compared with one on the table, in a sentence."""
    if not isinstance(result.task, NumbersTask):
        count = rows_for(Request(result.task, result.epsilon, result.where), session.schema)
        return f"There are about {count:,} of them; the noise is as large as that of a real result."
    if result.task.rows is not None:
        return f"Each group has {result.task.rows:,} rows here, as you said: with fewer rows, intervals are wider."
    count = rows_for(Request(result.task, result.epsilon, result.where), session.schema)
    return f"The made-up table has about {count:,} rows: with fewer rows, intervals are wider."


def _who_sees(visit: Visit, place: Place, *, everybody: bool) -> str:
    """Who may open a result, in a sentence."""
    if visit.person.is_curator and place.owner is None:
        return "Only the curators of this table may open it here."
    if everybody:
        return "The curators and all analysts of this table may open it here."
    whose = "You" if place.owner is None else place.owner
    return f"{whose} and the curators of this table may open it here, and nobody else."


# ---- files -----------------------------------------------------------------------------------------------------------


def file(visit: Visit, table: str, id: str, name: str) -> Page:
    """A file of a result, to save."""
    found = outcome(visit, Place.asked(visit, table, id), PATIENCE)
    if found.signed is not None and name == RECEIPT:
        named = name if found.saved is None else file_to_save(found.saved.result, name).saved_as
        return download(found.signed.text.encode("ascii", "replace"), named, "text/plain; charset=utf-8")
    if found.saved is not None:
        return file_of(found.saved, name)
    if found.text and name in (JSON, MEASUREMENTS):
        return download(found.text.encode("utf-8"), name, "application/json")
    raise NoSuchPage("This request has no result to save. Its page says what became of it.")


def rows(visit: Visit, table: str, id: str) -> Page:
    """Synthetic rows, to save; a wrong number is shown at its field."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place, PATIENCE)
    if found.saved is None:
        raise NoSuchPage("This request has no result to save. Its page says what became of it.")
    return synthetic(visit, found.saved) or _released(visit, place, found, found.saved)


def synthetic(visit: Visit, saved: Saved) -> Page | None:
    """The file of synthetic rows that a form asks for; None if its number is wrong."""
    most = most_rows(saved.result)
    if _rows_problem(visit, most):
        return None
    kind = "parquet" if visit.text("kind") == "parquet" else "csv"
    return rows_file(saved.result, whole_number(visit.text("rows"), "The number of rows", 1, max(1, most)), kind)


def drawn(visit: Visit, table: str, id: str) -> Page:
    """The part of the page that is loaded again until the pictures are drawn."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    if found.saved is None:
        return Page(b"", headers={"adyton-next": place.path()})
    return drawn_at(visit, found.saved, place.path())


def report(visit: Visit, table: str, id: str) -> Page:
    """The report of a result, as a page of its own."""
    found = outcome(visit, Place.asked(visit, table, id), PATIENCE)
    if found.saved is None:
        raise NoSuchPage("This request has no report. Its page says what became of it.")
    return report_of(found.saved)


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/results"): results,
    ("GET", "/tables/{table}/results/{id}"): result,
    ("GET", "/tables/{table}/results/{id}/drawn"): drawn,
    ("GET", "/tables/{table}/results/{id}/files/{name}"): file,
    ("GET", "/tables/{table}/results/{id}/rows"): rows,
    ("GET", "/tables/{table}/results/{id}/report"): report,
    ("GET", "/tables/{table}/rehearsals/{key}"): rehearsed,
    ("GET", "/tables/{table}/rehearsals/{key}/drawn"): rehearsal_drawn,
}
