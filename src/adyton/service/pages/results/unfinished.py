"""A request that has no result, or none yet: what became of it, and what can be done.

While it is under way its page says what was asked and since when, which is public, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from adyton.result.folder import JSON
from adyton.service.pages.requests import Place, again_path, asked_for, question_of, remember, remembered
from adyton.service.pages.results.outcomes import Outcome, outcome
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import Page, View, Visit, path_to, redirect
from adyton.service.timing import class_of
from adyton.session.client import NotFound, UnderWay

MEASUREMENTS = "measurements.json"
"""The file of what was measured for a request that ended early."""
_CLASSES = {
    "count": "It is a single count: the quickest kind of request.",
    "small": "It is a small request, of few cells: usually a matter of seconds.",
    "large": "It is a large request: it may take minutes.",
}
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


def without_result(visit: Visit, place: Place, found: Outcome) -> Page:
    """The page of a request that has no result: why, and what can be done."""
    question = None if found.request is None else question_of(found.request)
    values = {
        **frame(visit.session(place.table), place.table),
        "title": _TITLES[found.state],
        "question": question,
        "said": found.said,
        "again": again_path(place.table, found.request) if question and question.request else "",
        "json_path": place.path("files", MEASUREMENTS if found.state == "measured" else JSON),
        "progress": place.path("progress", state=found.state),
        "cancel": place.path("cancel") if place.owner is None else "",
        "late": came_late(visit),
        **_progress(visit, place, found),
    }
    return visit.page("request.html.j2", status=404 if found.state == "gone" else 200, **values)


def came_late(visit: Visit) -> bool:
    """Whether the visitor has just tried to cancel a request after its first debit."""
    return visit.text("cancel") == "late"


def _progress(visit: Visit, place: Place, found: Outcome) -> dict[str, Any]:
    """What may be known of a request that is under way: since when, and its public class."""
    known = remembered(visit, place)
    seconds = 0.0 if known is None else time.monotonic() - known.since
    cells = visit.person.kept.setdefault("cells", {})
    if place.table not in cells:
        described = visit.ask("GET", path_to("v1", "datasets", place.table))
        cells[place.table] = described.get("cells", {})
    kind = class_of("ask", found.request, cells[place.table])
    minutes, rest = divmod(int(seconds), 60)
    return {
        "since": f"{minutes} min {rest:02d} s" if minutes else f"{rest} s",
        "class_words": _CLASSES[kind] if found.request is not None else "",
        "state": found.state,
    }


def progress(visit: Visit, table: str, id: str) -> Page:
    """The part of the page that is loaded again while a request is under way; at its end, where to go."""
    place = Place.asked(visit, table, id)
    found = outcome(visit, place)
    if found.state != visit.text("state"):
        return Page(b"", headers={"adyton-next": place.path()})
    return visit.page("progress.html.j2", **_progress(visit, place, found))


def cancelled(visit: Visit, table: str, id: str) -> Page:
    """Cancel a request that nothing was spent for; where that is too late, its page says so."""
    place = Place(table, id)
    try:
        request = asked_for(visit, place)
        visit.ask("DELETE", place.call)
    except UnderWay:
        return redirect(place.path(cancel="late"))
    except NotFound:  # it ended meanwhile, and its page says how
        return redirect(place.path())
    remember(visit, place, request, "cancelled")
    return redirect(place.path())


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/results/{id}/progress"): progress,
    ("POST", "/tables/{table}/results/{id}/cancel"): cancelled,
}
