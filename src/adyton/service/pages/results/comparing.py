"""Two results side by side: what changed from one to the other, or one result out of both. Neither costs anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from adyton.errors import AdytonError, BadInput
from adyton.learning.classifier import Classifier
from adyton.report.charts import MOST_BARS, Panel
from adyton.report.page import Picture, Table, sentence
from adyton.report.pictures import Drawing
from adyton.report.svg import figure, people
from adyton.result.combining import combine
from adyton.result.comparing import Changing, Combinable, change
from adyton.result.figures import Lines
from adyton.result.result import Result
from adyton.service.pages.requests import Place, Question, Row, listed, question_of
from adyton.service.pages.results.content import KINDS, file_of, name_of, rendering_of, report_of, table_data
from adyton.service.pages.results.outcomes import AT_ONCE, PATIENCE, Job, Saved, cache_of, outcome
from adyton.service.pages.tables import frame
from adyton.service.pages.visits import NoSuchPage, Page, View, Visit, download, path_to, redirect
from adyton.tasks import Cdf, Histogram, Ranges, Task

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
    if (ticked or visit.text("ticked")) and len(ticked) not in (1, 2):  # back to the list, with what was ticked
        again = urlencode([("ticked", ""), *(("r", own) for own in ticked)])
        return redirect(f"{path_to('tables', table, 'results')}?{again}")
    if ticked:
        places = ("b", "a") if len(ticked) > 1 else ("a",)  # the list has the newest first
        return redirect(path_to("tables", table, "compare", **dict(zip(places, ticked, strict=False))))
    session, way = visit.session(table), visit.text("way") or "change"
    keys, problem = {name: visit.text(name) for name in ("a", "b")}, ""
    nothing = dict.fromkeys(("found", "shown", "picture", "lines"))
    values: dict[str, Any] = {"sides": (), "drawn": "", "same": False, **nothing}
    if all(keys.values()):
        try:
            values |= _compared(visit, table, keys, way)
        except NoSuchPage:
            raise
        except AdytonError as why:
            problem = sentence(str(why))
    choices, missing = _choices(visit, table, keys)
    fitting = [group for group in choices if any(key == keys["a"] for key, _ in group.results)]
    return visit.page(
        "compare.html.j2",
        **frame(session, table),
        **values,
        choices=choices,
        missing=missing,
        fitting=choices if all(keys.values()) or not keys["a"] else fitting,
        keys=_chosen(keys, fitting or choices),
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
    same = sides[0].result.where == sides[1].result.where
    both = all(isinstance(side.result, Combinable) for side in sides)
    instead = path_to("tables", table, "compare", **keys, way="combine") if same and both else ""
    shown = {"found": value, "picture": _picture(value), "lines": _table(value, same=same)}
    return {"sides": sides, "same": same, "instead": instead, **shown}


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


class Group(NamedTuple):
    """Results that can be compared with each other, each by its key and in words; the newest first."""

    title: str
    results: list[tuple[str, str]]


def _choices(visit: Visit, table: str, keys: Mapping[str, str]) -> tuple[list[Group], list[str]]:
    """The results that another one can be compared with, and those that are chosen; and why the others are missing."""
    groups: dict[object, Group] = {}
    left_out: list[str] = []
    rows = [(row, question_of(row["request"])) for row in listed(visit, table)[:_MOST_LISTED]]
    texts = [_in_words(visit, Place.of_row(visit, table, row), row, question) for row, question in rows]
    for (row, question), words in zip(rows, texts, strict=True):
        place = Place.of_row(visit, table, row)
        if row["status"] != "done" or question.request is None:
            left_out.append(f"{question}: it has no result that could be compared.")
        elif isinstance(question.request.task, Classifier):
            left_out.append(f"{question}: a classifier has no numbers to compare.")
        else:
            group = groups.setdefault(_fit(question.request.task), Group(question.words, []))
            several = texts.count(words) > 1
            group.results.append((place.key, _in_words(visit, place, row, question, exactly=several)))
    known = {key for group in groups.values() for key, _ in group.results}
    given = {key for key in keys.values() if key}
    shown = [group for group in groups.values() if len(group.results) > 1 or group.results[0][0] in given]
    alone = [group.results[0][1] for group in groups.values() if group not in shown]
    left_out = [f"{words}: no other result answers the same question." for words in alone] + left_out
    return shown + [Group("Others", [(key, key)]) for key in given - known], list(dict.fromkeys(left_out))


def _in_words(visit: Visit, place: Place, row: Row, question: Question, *, exactly: bool = False) -> str:
    """A result in a list: what, when, at what price, by whom; *exactly* tells it from others of the same minute."""
    digits = (19 if exactly else 16) if visit.person.is_curator else 10
    made = str(row["made"])[:digits].replace("T", " ")
    number = f", {place.id[:8]}" * (exactly and not visit.person.is_curator)
    return f"{question} ({made}, ε = {question.price}{f', {place.owner}' if place.owner else ''}{number})"


def _fit(task: Task) -> object:
    """What the tasks of two results have in common that can be compared."""
    return frozenset(task.attributes) if type(task) in (Histogram, Ranges, Cdf) else str(task)  # type: ignore[attr-defined]


def _chosen(keys: Mapping[str, str], groups: Sequence[Group]) -> dict[str, str]:
    """The two results that are chosen; where none was, the newest that fit, one after the other in time."""
    results = [key for key, _ in groups[0].results] if groups else []
    if all(keys.values()) or len(results) < 2:
        return dict(keys)
    if not keys["a"]:
        return {"a": results[1], "b": results[0]}
    return {"a": keys["a"], "b": next(key for key in results if key != keys["a"])}


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


def _table(found: Lines, *, same: bool) -> Table:
    """Each number before and after, the difference with its bounds, and the change in words."""
    rows = []
    for line in list(found)[:_MOST_LINES]:
        named = dict(zip(found.columns, line, strict=True))
        write = people if all(abs(named[name]) >= 1 for name in ("before", "after")) else figure
        numbers = [named[name] for name in ("before", "after", "difference", "lower", "upper")]
        texts = [write(float(value)) if math.isfinite(value) else "–" for value in numbers]
        rows.append((str(named["query"]), *texts, str(named["in_words"])))
    heads: tuple[str, ...] = ("", "before", "after", "difference", "from", "to", "change")
    if same:  # in the same rows nothing has changed
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    more = f" {len(rows):,} of {len(found):,} lines; the CSV file has all of them." if len(rows) < len(found) else ""
    return Table.plain(heads, rows, f"From and to: the {100 * found.confidence:g}% interval of the difference.{more}")


# ---- both as one -----------------------------------------------------------------------------------------------------


def _combined(visit: Visit, one: Side, other: Side) -> Saved:
    """One result out of both, with less noise."""
    releases = []
    for side in (one, other):
        if not isinstance(side.result, Combinable):
            raise BadInput(
                f"{side.words}: this is {side.result.holds}, which cannot be combined. Counts and tables can be."
            )
        releases.append(side.result)
    return cache_of(visit).read(combine(releases).to_text(complete=False))


def file(visit: Visit, table: str, name: str) -> Page:
    """A file of the comparison, or of the combined result."""
    way = visit.text("way")
    sides, job = _job(visit, table, {key: visit.text(key) for key in ("a", "b")}, way)
    value = job.value(PATIENCE)
    if way == "combine":
        return report_of(value) if name == "report" else file_of(value, name)
    if name != "change.csv":
        raise NoSuchPage("A comparison has one file, change.csv.")
    data = table_data(value.to_arrow(), "csv")
    return download(data, f"{name_of(sides[0].result)}_{name}", KINDS["csv"])


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/tables/{table}/compare"): compare,
    ("GET", "/tables/{table}/compare/drawn"): drawn,
    ("GET", "/tables/{table}/compare/files/{name}"): file,
}
