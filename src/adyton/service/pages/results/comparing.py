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
from adyton.service.pages.requests import Place, listed, question_of
from adyton.service.pages.results.content import file_of, rendering_of, report_of
from adyton.service.pages.results.outcomes import (
    AT_ONCE,
    PATIENCE,
    Job,
    Saved,
    cache_of,
    outcome,
)
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
    values: dict[str, Any] = {"found": None, "shown": None, "picture": None, "lines": None, "sides": (), "drawn": ""}
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
    """What the page shows of two results; nothing yet, while that is being computed."""
    sides, job = _job(visit, table, keys, way)
    if not _ready(job, way):
        return {"sides": sides, "drawn": path_to("tables", table, "compare", "drawn", **keys, way=way)}
    value = job.value(0)
    if way == "combine":
        return {"sides": sides, "shown": rendering_of(value).value(0).content}
    return {"sides": sides, "found": value, "picture": _picture(value), "lines": _table(value)}


def _job(visit: Visit, table: str, keys: Mapping[str, str], way: str) -> tuple[tuple[Side, Side], Job]:
    """What is computed from two results: what changed, or a result out of both."""
    if way not in _WAYS:
        raise BadInput("Choose what to do with the two results: compare them, or combine them.")
    one, other = (_side(visit, table, key) for key in keys.values())
    work = {"change": lambda: _changed(one, other), "combine": lambda: _combined(visit, one, other)}[way]
    return (one, other), one.saved.job((way, hash(other.saved.text)), work)


def _ready(job: Job, way: str) -> bool:
    """Whether everything is computed that the page shows."""
    return job.ready(AT_ONCE) and (job.failed or way != "combine" or rendering_of(job.value(0)).ready(AT_ONCE))


def drawn(visit: Visit, table: str) -> Page:
    """The part of the page that is loaded again until it is known what it shows; then, where to go."""
    keys, way = {name: visit.text(name) for name in ("a", "b")}, visit.text("way")
    if _ready(_job(visit, table, keys, way)[1], way):
        return Page(b"", headers={"adyton-next": path_to("tables", table, "compare", **keys, way=way)})
    return visit.page("drawing.html.j2")


def _side(visit: Visit, table: str, key: str) -> Side:
    """A result by its key; an error if there is none yet."""
    place = Place.of_key(table, key)
    found = outcome(visit, place, PATIENCE)
    if found.saved is None:
        raise BadInput(f"{place.id} has no result that can be compared: it is {found.state}. Choose another one.")
    return Side(
        key,
        question_of(found.request).words if found.request else str(found.saved.result.task),
        place.path(),
        found.saved,
    )


def _choices(visit: Visit, table: str, keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """The results that there are, each by its key and in words."""
    own = []
    for row in listed(visit, table):
        question, place = question_of(row["request"]), Place.of_row(visit, table, row)
        if row["status"] != "done" or question.request is None:
            continue
        whose = f", {place.owner}" if place.owner else ""
        about = f"{str(row['made'])[:10]}, ε = {question.price}{whose}, {place.id[:8]}"
        own.append((place.key, f"{question} ({about})"))
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


def _combined(visit: Visit, one: Side, other: Side) -> Saved:
    """One result out of both, with less noise."""
    releases = []
    for side in (one, other):
        if not isinstance(side.result, Released):
            raise BadInput(
                f"{side.words}: this is {side.result.holds}. Only releases of counts and of tables are combined."
            )
        releases.append(side.result)
    return cache_of(visit).read(combine(releases).to_text(complete=False))


def file(visit: Visit, table: str, name: str) -> Page:
    """A file of the comparison, or of the combined result."""
    way = visit.text("way")
    value = _job(visit, table, {key: visit.text(key) for key in ("a", "b")}, way)[1].value(PATIENCE)
    if way == "combine":
        return report_of(value) if name == "report" else file_of(value, name)
    if name != "change.csv":
        raise NoSuchPage("A comparison has one file, change.csv.")
    out = io.BytesIO()
    csv.write_csv(for_spreadsheets(value.to_arrow()), out)
    return download(out.getvalue(), name, "text/csv; charset=utf-8")


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/compare"): compare,
    ("GET", "/tables/{table}/compare/drawn"): drawn,
    ("GET", "/tables/{table}/compare/files/{name}"): file,
}
