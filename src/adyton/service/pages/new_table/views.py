"""Opening a table: pick it, write its schema column by column, set the total.

Everything here is public: what a person types, and the names and types of the columns. The supervisor answers for the
files (:mod:`~adyton.service.workplace`); this process sees no row, and only the curator of this machine gets here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from adyton.errors import AdytonError, SchemaError
from adyton.report.page import sentence
from adyton.schema import FileFormat, Schema
from adyton.schema.calendar import PARTS, PERIODS
from adyton.schema.draft import ColumnFacts
from adyton.schema.files import ENCODINGS
from adyton.schema.misfits import accepts
from adyton.schema.numbers import UNITS
from adyton.service.channel import Refused
from adyton.service.pages.new_table.drafts import (
    DETAILS,
    Draft,
    field_of_opening,
    format_of,
    is_unsaved,
    labels_of,
    outlook,
    problem_of_file,
    problems_of_check,
    problems_of_text,
    problems_of_total,
    reading_of,
    words_of_second,
)
from adyton.service.pages.new_table.form import (
    KINDS,
    LIKE,
    fields_from,
    is_like,
    kind_of,
    ready_made,
    suits,
    text_of,
)
from adyton.service.pages.visits import Page, View, Visit, path_to, readable, redirect

WIDE = 25
"""With more columns than this, the needed ones are ticked first."""
_KEPT = "drafts"


_PERIODS = [
    *((name, name) for name in PERIODS),
    *((name, f"{name}, which repeats: without first and last") for name in PARTS),
]
"""How times are counted, in words."""


# ---- which table -----------------------------------------------------------------------------------------------------


def choose(visit: Visit, status: int = 200, problem: str = "") -> Page:
    """The tables that can be opened."""
    there = visit.local("tables")
    return visit.page("new.html.j2", status=status, **there, where=visit.text("where"), problem=sentence(problem))


def open_table(visit: Visit) -> Page:
    """Open a table that has everything already, or go on with one that is named by its path."""
    if visit.text("step") == "open":
        return _reopened(visit, visit.text("file"))
    try:
        return redirect(path_to("new", visit.local("elsewhere", path=visit.text("where"))["file"]))
    except AdytonError as problem:
        return choose(visit, 400, str(problem))


def _reopened(visit: Visit, file: str, *, restore: bool = False) -> Page:
    """Open a table as it is, or with the schema for which its ledger was made; where that is refused, its page says
    why."""
    try:
        return redirect(path_to("tables", visit.local("open", file=file, restore=restore)["name"]))
    except Refused as problem:
        about = visit.local("table", file=file)
        if _is_settled(about):
            said = "" if about["standing"]["problem"] else str(problem)
            return _settled(visit, about, said=said, status=409)
        if problem.kind == "OtherLedger":
            return redirect(path_to("new", file))
        raise


# ---- its schema ------------------------------------------------------------------------------------------------------


def edit(visit: Visit, file: str) -> Page:
    """The form for the schema of a table, as far as it is filled in; read-only, if something was spent on it."""
    about = visit.local("table", file=file)
    if _is_settled(about):
        _forget(visit, file)
        return _settled(visit, about)
    draft = _draft(visit, file)
    if not draft.typed or (not draft.posted and draft.begun != about["text"]):
        _begin(visit, about, draft)
    return _form(visit, about, draft, problem_of_file(draft), unsaved=draft.posted and is_unsaved(draft, about))


def submit(visit: Visit, file: str) -> Page:
    """Keep what was typed; then do what the button says."""
    about, step = visit.local("table", file=file), visit.text("step")
    if step == "discard":
        _forget(visit, file)
        return redirect(path_to("new", file))
    if step == "restore":
        return _reopened(visit, file, restore=True)
    if _is_settled(about) and visit.text("ledger") in ("", about["ledger"]):
        return _settled(visit, about, said="Nothing was changed, and nothing was opened.", status=409)
    draft = _draft(visit, file)
    _keep(visit, draft)
    if step == "text":
        own = reading_of(draft)
        draft.typed |= {"as": ["text"], "text": [draft.typed.get("text", [""])[0] if own is None else own.text]}
    elif step == "form":
        return _to_form(visit, about, draft)
    elif step in ("check", "open"):
        return _finish(visit, about, draft, opening=step == "open")
    return redirect(path_to("new", file))


def preview(visit: Visit, file: str) -> Page:
    """What the form says so far, and what could be asked: a part of the page."""
    draft = _draft(visit, file, again=False)
    draft.about = draft.about or visit.local("table", file=file)
    _keep(visit, draft)
    return visit.page("new_look.html.j2", **outlook(draft, draft.about))


def _is_settled(about: Mapping[str, Any]) -> bool:
    """Whether the schema of a table cannot be changed any more."""
    return bool(about["standing"]["spent"])


def _settled(visit: Visit, about: Mapping[str, Any], *, said: str = "", status: int = 200) -> Page:
    """The schema of a table on which something was spent, to read only."""
    standing = about["standing"]
    text = standing["own"] if standing["problem"] and standing["own"] else about["text"] or ""
    try:
        described = [(name, accepts(own)) for name, own in Schema.from_toml(f"{text}\n").attributes.items()]
    except SchemaError:
        described = []
    spent, total = (readable(Fraction(standing[name])) for name in ("spent", "total"))
    values = {"about": about, "said": said, "described": described, "spent": spent, "total": total}
    return visit.page("new_settled.html.j2", status=status, **values)


def _forget(visit: Visit, file: str) -> None:
    """Forget what was typed about a table."""
    visit.person.kept.get(_KEPT, {}).pop(file, None)


def _begin(visit: Visit, about: Mapping[str, Any], draft: Draft) -> None:
    """Fill in what the schema beside the table says, if there is one."""
    draft.typed, draft.begun, draft.posted = {"as": ["form"]}, about["text"], False
    if about["text"] is not None and not _show(visit, about, draft, about["text"]):
        draft.typed = {"as": ["text"], "text": [about["text"]]}
    if about["given"]:
        draft.typed["total"] = [about["given"]]


def _to_form(visit: Visit, about: Mapping[str, Any], draft: Draft) -> Page:
    """From the text back to the form, if the form can show all that the text says."""
    if problems := problems_of_text(draft):
        return _form(visit, about, draft, problems)
    kept: dict[str, list[str]] = {name: draft.typed[name] for name in ("total", "ledger") if name in draft.typed}
    if not _show(visit, about, draft, text_of(draft.typed, "text")):
        return _form(visit, about, draft, {"text": "The form cannot show all of this schema. Go on with the text."})
    draft.typed |= kept
    return redirect(path_to("new", about["file"]))


def _show(visit: Visit, about: Mapping[str, Any], draft: Draft, text: str) -> bool:
    """Fill in the form from the text of a schema; False, with nothing changed, if it says more than the form can."""
    try:
        schema = Schema.from_toml(f"{text}\n")
    except SchemaError:
        return False
    fields, before = _fields_of_file(schema.file), draft.typed
    if fields is None:
        return False
    draft.typed = {"as": ["form"], **fields}
    _read(visit, about["file"], draft, draft.typed)
    typed = fields_from(schema, draft.columns or [])
    draft.typed = before if typed is None else {**draft.typed, **typed}
    return typed is not None


def _finish(visit: Visit, about: Mapping[str, Any], draft: Draft, *, opening: bool) -> Page:
    """Check everything; then open the table."""
    own = reading_of(draft)
    problems = problems_of_text(draft) if own is None else dict(own.problems)
    problems |= problems_of_total(draft, about) if opening or text_of(draft.typed, "total") else {}
    problems = problem_of_file(draft) or problems
    text = f"{text_of(draft.typed, 'text')}\n" if own is None else own.text
    if not problems and (draft.fits != text or not opening):
        problems = problems_of_check(visit.local("check", file=about["file"], schema=text), own)
        draft.fits = "" if problems else text
    if not problems and not opening:
        fitting = "" if draft.is_text else ", with types that fit"
        good = f"The table has all columns that are described here{fitting}."
        return _form(visit, about, draft, good=f"{good} No values were read: levels and bounds were not checked.")
    if not problems:
        total, ledger = text_of(draft.typed, "total"), text_of(draft.typed, "ledger")
        ticks = {name: bool(visit.text(name)) for name in _TICKS}
        changed = text if is_unsaved(draft, about) else None  # the same schema in other words replaces nothing
        given = {"schema": changed, "total": total or None, "ledger": ledger or None, **ticks}
        try:
            name = visit.local("open", file=about["file"], word=visit.text("word"), **given)["name"]
        except Refused as problem:
            problems = {field_of_opening(problem): str(problem)}
        else:
            _forget(visit, about["file"])
            return redirect(path_to("tables", name))
    return _form(visit, about, draft, problems)


_AS_MOST = ("", "level", "other", "exact")
"""What most people leave in the fields that are folded away."""


def _form(
    visit: Visit,
    about: Mapping[str, Any],
    draft: Draft,
    problems: Mapping[str, str] | None = None,
    good: str = "",
    *,
    unsaved: bool = False,
) -> Page:
    columns, typed = draft.columns or [], draft.typed
    problems = {name: sentence(said) for name, said in (problems or {}).items()}
    draft.about = about
    twice = {column.name for column in columns if sum(other.name == column.name for other in columns) > 1}
    wide = len(columns) > WIDE
    ticked = {int(place) for place in typed.get("use", []) if place.isascii() and place.isdecimal()}
    shown = [
        {
            "place": place,
            "column": column,
            "twice": column.name in twice,
            "kinds": _kinds(column),
            "of_kind": kind_of(typed, place),
            "detailed": any(f"c{place}-{name}" in problems for name in ("name", *DETAILS))
            or any(text_of(typed, f"c{place}-{name}") not in _AS_MOST for name in DETAILS),
        }
        for place, column in enumerate(columns)
        if not wide or place in ticked or kind_of(typed, place)
    ]
    return visit.page(
        "new_schema.html.j2",
        status=400 if problems else 200,
        about=about,
        columns=columns,
        shown=shown,
        shown_places={own["place"] for own in shown},
        wide=wide,
        as_text=text_of(typed, "as") == "text",
        typed=lambda name, otherwise=None: text_of(typed, name, otherwise),
        problems=problems,
        labels=labels_of(columns, problems),
        good=good,
        unsaved=unsaved,
        second=words_of_second(about, text_of(typed, "total"), asked=bool({"another", "word"} & set(problems))),
        unit_options=[("", "choose a column"), *((str(place), own.name) for place, own in enumerate(columns))],
        is_text=draft.is_text,
        unread=draft.unread,
        doubtful=draft.columns is None and not draft.unread,
        encodings=[("", "UTF-8, the usual one"), *((name, name) for name in ENCODINGS if name != "utf-8")],
        periods=_PERIODS,
        measures=[(name, name) for name in UNITS],
        **outlook(draft, about),
    )


# ---- what is kept ----------------------------------------------------------------------------------------------------

_FORMAT = ("header", "names", "delimiter", "encoding")
_TICKS = ("replace", "another")
"""What somebody agrees to once, when the table is opened: it is not kept."""


def _fields_of_file(file: FileFormat) -> dict[str, list[str]] | None:
    """The fields that say how a file is written; None where there are none for it."""
    said, fields = file.to_dict(), dict[str, list[str]]()
    if said.pop("header", True) is False:
        fields |= {"header": ["none"], "names": ["\n".join(said.pop("columns"))]}
    for key in ("delimiter", "encoding"):
        if key in said:
            fields[key] = [{"\t": "tab"}.get(said[key], said[key])]
            del said[key]
    return None if said else fields


def _keep(visit: Visit, draft: Draft) -> None:
    """Keep the fields of the form."""
    mode = draft.typed.get("as", ["form"])
    left_out = ("form_key", "step", "word", *_TICKS)
    own = {name: list(values) for name, values in visit.form.items() if name not in left_out}
    if "text" in own:
        own["text"] = ["\n".join(own["text"][0].splitlines())]
    draft.typed, draft.posted = {**own, "as": mode}, True


def _draft(visit: Visit, file: str, *, again: bool = True) -> Draft:
    """The draft of a table, with its columns; they are read *again* if the form says that the file is written in
    another way."""
    drafts: dict[str, Draft] = visit.person.kept.setdefault(_KEPT, {})
    draft = drafts.setdefault(file, Draft())
    posted = {name: list(visit.form[name]) for name in _FORMAT if name in visit.form}
    if draft.read_as is None or again:
        _read(visit, file, draft, posted if visit.method == "POST" and posted else draft.typed)
    return draft


def _read(visit: Visit, file: str, draft: Draft, typed: Mapping[str, list[str]]) -> None:
    """Find out what is public about the columns, unless that is known."""
    written, shown = format_of(typed), text_of(typed, "header") == "shown"
    if draft.read_as == (written, shown):
        return
    try:
        found = visit.local("columns", file=file, written=written, header=shown)
    except Refused as problem:
        draft.columns, draft.unread = draft.columns or [], str(problem)
    else:
        columns, draft.unread = found["columns"], ""
        draft.columns = None if columns is None else [ColumnFacts(*column) for column in columns]
        draft.is_text = found["text"]
    draft.read_as = (written, shown)


def _kinds(column: ColumnFacts) -> list[tuple[str, list[tuple[str, str]]]]:
    """What a column can be, in groups."""
    made = [name for name in ready_made() if suits(name, column)]
    near = [(f"{LIKE}{name}", ready_made()[name][0]) for name in made if is_like(name, column)]
    rest = [(f"{LIKE}{name}", ready_made()[name][0]) for name in made if not is_like(name, column)]
    groups = [("", list(KINDS.items())), ("Ready-made, by its name", near), ("Ready-made", rest)]
    return [(title, options) for title, options in groups if options]


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/new"): choose,
    ("POST", "/new"): open_table,
    ("GET", "/new/{file}"): edit,
    ("POST", "/new/{file}"): submit,
    ("POST", "/new/{file}/look"): preview,
}
