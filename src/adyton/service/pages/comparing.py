"""Two results side by side: what changed from one to the other, or one result out of both. Neither costs anything."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyarrow import csv

from adyton.errors import AdytonError, BadInput
from adyton.report.charts import MOST_BARS, Panel
from adyton.report.page import Picture, Table
from adyton.report.pictures import Drawing
from adyton.report.svg import figure, people
from adyton.result.comparing import Changing, change
from adyton.result.figures import Lines
from adyton.result.folder import for_spreadsheets
from adyton.result.released import Released, combine
from adyton.result.result import Result
from adyton.service.pages.fetched import Place, Saved, Shelf, lines, outcome
from adyton.service.pages.results import key_of, owner_of, path_of
from adyton.service.pages.showing import Shown, file_of, report_of, request_in_words, shown_of
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import NoSuchPage, Page, View, Visit, download, path_to, redirect

_MOST_LISTED, _MOST_LINES = 200, 200
_WAYS = ("change", "combine")


@dataclass(frozen=True)
class Side:
    """One of the two results."""

    key: str
    words: str
    path: str
    saved: Saved

    @property
    def result(self) -> Result:
        """The result."""
        return self.saved.result


def compare(visit: Visit, table: str) -> Page:
    """Two results: choose them, or see what changed between them, or both as one."""
    ticked = visit.texts("r")
    if ticked:
        chosen = dict(zip(("b", "a"), ticked, strict=False))  # the list has the newest first
        return redirect(path_to("tables", table, "compare", **chosen, **({"n": "1"} if len(ticked) > 2 else {})))
    session, way = visit.session(table), visit.text("way") or "change"
    keys, problem = {name: visit.text(name) for name in ("a", "b")}, ""
    values: dict[str, Any] = {"found": None, "shown": None, "picture": None, "lines": None, "sides": ()}
    if visit.text("n"):
        problem = "Two results are compared at a time. The first two that you ticked are chosen here."
    elif all(keys.values()):
        try:
            values |= _compared(visit, table, keys, way)
        except NoSuchPage:
            raise
        except AdytonError as why:
            problem = str(why)
    return visit.page(
        "compare.html.j2",
        **frame(session, table),
        **values,
        choices=_choices(visit, table, keys),
        keys=keys,
        way=way,
        problem=problem,
        file=lambda name: path_to("tables", table, "compare", "files", name, **keys, way=way),
        status=400 if problem else 200,
    )


def _compared(visit: Visit, table: str, keys: Mapping[str, str], way: str) -> dict[str, Any]:
    """What the page shows of two results."""
    if way not in _WAYS:
        raise BadInput("Choose what to do with the two results: compare them, or combine them.")
    one, other = sides = tuple(_side(visit, table, key) for key in keys.values())
    if way == "combine":
        return {"sides": sides, "shown": _combined(visit, one, other)[1]}
    found = _changed(one, other)
    return {"sides": sides, "found": found, "picture": _picture(found), "lines": _table(found)}


def _side(visit: Visit, table: str, key: str) -> Side:
    """A result by its key; an error if there is none yet."""
    id, _, owner = key.partition(":")
    place = Place(table, id, owner or None)
    found = outcome(visit, place)
    if found.saved is None:
        raise BadInput(f"{id} has no result that can be compared: it is {found.state}. Choose another one.")
    return Side(
        key,
        request_in_words(found.request)[0] if found.request else str(found.saved.result.task),
        path_of(place),
        found.saved,
    )


def _choices(visit: Visit, table: str, keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """The results that there are, each by its key and in words."""
    own = []
    for line in lines(visit, table):
        words, request = request_in_words(line["request"])
        if line["status"] != "done" or request is None:
            continue
        place = Place(table, str(line["id"]), owner_of(visit, line))
        where = f" where {request.where}" if request.where else ""
        whose = f", {place.owner}" if place.owner else ""
        own.append((key_of(place), f"{words}{where} ({str(line['made'])[:10]}, ε = {request.epsilon}{whose})"))
    missing = [(key, key) for key in keys.values() if key and key not in dict(own[:_MOST_LISTED])]
    return own[:_MOST_LISTED] + missing


# ---- what changed ----------------------------------------------------------------------------------------------------


def _changed(one: Side, other: Side) -> Lines:
    for side in (one, other):
        if not isinstance(side.result, Changing):
            raise BadInput(
                f"{side.words}: this is {side.result.holds}, which has no numbers whose change can be found."
            )
    return change(one.result, other.result)  # type: ignore[arg-type]  # checked above


def _picture(found: Lines) -> Picture | None:
    """The differences, each with its interval; None if there are too many, or some have no bounds."""
    values, lower, upper = (np.asarray(found[name], dtype=np.float64) for name in ("difference", "lower", "upper"))
    if not 1 <= values.size <= MOST_BARS or not np.isfinite([values, lower, upper]).all():
        return None
    panel = Panel(
        "bars",
        "After minus before",
        (),
        tuple(map(str, found["query"].tolist())),
        values,
        lower,
        upper,
        confidence=found.confidence,
        about=f"The thin lines are the {'approximate ' * (found.kind == 'approximate')}{100 * found.confidence:g}% "
        "interval of each difference. Where one reaches across zero, it is not known which of the two is larger.",
    )
    return Picture.of(Drawing.of(panel))


def _table(found: Lines) -> Table:
    """Each number before and after, the difference with its bounds, and the change in words."""
    rows = []
    for line in list(found)[:_MOST_LINES]:
        named = dict(zip(found.columns, line, strict=True))
        write = people if all(abs(named[name]) >= 1 for name in ("before", "after")) else figure
        numbers = [named[name] for name in ("before", "after", "difference", "lower", "upper")]
        texts = [write(float(value)) if math.isfinite(value) else "–" for value in numbers]
        rows.append((str(named["query"]), *texts, str(named["in_words"])))
    heads = ("", "before", "after", "difference", "from", "to", "change")
    more = f" {len(rows):,} of {len(found):,} lines; the CSV file has all of them." if len(rows) < len(found) else ""
    return Table.plain(heads, rows, f"From and to: the {100 * found.confidence:g}% interval of the difference.{more}")


# ---- both as one -----------------------------------------------------------------------------------------------------


def _combined(visit: Visit, one: Side, other: Side) -> tuple[Saved, Shown]:
    """One result out of both, with less noise, and what to show of it."""
    releases = []
    for side in (one, other):
        if not isinstance(side.result, Released):
            raise BadInput(
                f"{side.words}: this is {side.result.holds}. Only releases of counts and of tables are combined."
            )
        releases.append(side.result)
    shelf: Shelf = visit.site.results.setdefault("shelf", Shelf())
    both = combine(releases)
    saved = shelf.read(both.to_text(complete=False))
    return saved, shown_of(saved)


def file(visit: Visit, table: str, name: str) -> Page:
    """A file of the comparison, or of the combined result."""
    one, other = (_side(visit, table, visit.text(key)) for key in ("a", "b"))
    if visit.text("way") == "combine":
        saved, _ = _combined(visit, one, other)
        return report_of(saved) if name == "report" else file_of(saved, name)
    if name != "change.csv":
        raise NoSuchPage("A comparison has one file, change.csv.")
    out = io.BytesIO()
    csv.write_csv(for_spreadsheets(_changed(one, other).to_arrow()), out)
    return download(out.getvalue(), name, "text/csv; charset=utf-8")


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/compare"): compare,
    ("GET", "/tables/{table}/compare/files/{name}"): file,
}
