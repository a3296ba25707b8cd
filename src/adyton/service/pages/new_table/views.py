"""Opening a table: pick it, write its schema column by column, set the total.

Everything here is public: what a person types, and the names and types of the columns. The supervisor answers for the
files (:mod:`~adyton.service.workplace`); this process sees no row, and only the curator of this machine gets here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.errors import AdytonError, BadInput, SchemaError
from adyton.exact import budget, display
from adyton.messages import shorten
from adyton.schema import Attribute, FileFormat, Integer, Numeric, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.calendar import PARTS, PERIODS
from adyton.schema.draft import ColumnFacts
from adyton.schema.files import ENCODINGS, PLAIN
from adyton.schema.misfits import accepts
from adyton.schema.numbers import UNITS, Duration
from adyton.schema.times import Times
from adyton.service.channel import Refused
from adyton.service.pages.new_table.form import (
    FIELDS,
    KINDS,
    LIKE,
    Reading,
    fields_from,
    is_like,
    kind_of,
    levels_in,
    read_fields,
    ready_made,
    suits,
    text_of,
)
from adyton.service.pages.visits import Page, View, Visit, path_to, redirect

WIDE = 25
"""With more columns than this, the needed ones are ticked first."""
_MOST_CELLS = 1_000_000
"""Attributes of time with more cells are described in short: their cells are not laid out."""
_SHOWN = 12
"""So many levels are shown below their field."""
_KEPT = "drafts"


@dataclass
class Draft:
    """What somebody has typed about a table so far."""

    typed: dict[str, list[str]] = field(default_factory=dict)
    columns: list[ColumnFacts] | None = None
    """The columns; None where the first line of the file looks like a row."""
    is_text: bool = False
    """Whether the table is a text file, whose format may have to be described."""
    read_as: tuple[Any, ...] | None = None
    """The format with which the columns were read."""
    unread: str = ""
    """Why the columns cannot be read, if so."""
    fits: str = ""
    """The text of a schema that fits the table's columns."""


_PERIODS = [
    *((name, name) for name in PERIODS),
    *((name, f"{name}, which repeats: without first and last") for name in PARTS),
]
"""How times are counted, in words."""


# ---- which table -----------------------------------------------------------------------------------------------------


def choose(visit: Visit) -> Page:
    """The tables that can be opened."""
    return _choices(visit)


def open_table(visit: Visit) -> Page:
    """Open a table that has everything already, or go on with one that is named by its path."""
    if visit.text("step") == "open":
        return redirect(path_to("tables", visit.local("open", file=visit.text("file"))["name"]))
    try:
        return redirect(path_to("new", visit.local("elsewhere", path=visit.text("where"))["file"]))
    except AdytonError as problem:
        return _choices(visit, 400, str(problem))


def _choices(visit: Visit, status: int = 200, problem: str = "") -> Page:
    there = visit.local("tables")
    return visit.page("new.html.j2", status=status, **there, where=visit.text("where"), problem=problem)


# ---- its schema ------------------------------------------------------------------------------------------------------


def edit(visit: Visit, file: str) -> Page:
    """The form for the schema of a table, as far as it is filled in."""
    about, draft = _about(visit, file), _draft(visit, file)
    if not draft.typed:
        _begin(visit, about, draft)
    return _form(visit, about, draft, _problem_of_file(draft))


def submit(visit: Visit, file: str) -> Page:
    """Keep what was typed; then do what the button says."""
    about, draft = _about(visit, file), _draft(visit, file)
    _keep(visit, draft)
    step = visit.text("step")
    if step == "text":
        own = _reading(draft)
        draft.typed |= {"as": ["text"], "text": [draft.typed.get("text", [""])[0] if own is None else own.text]}
    elif step == "form":
        return _to_form(visit, about, draft)
    elif step in ("check", "open"):
        return _finish(visit, about, draft, opening=step == "open")
    return redirect(path_to("new", file))


def preview(visit: Visit, file: str) -> Page:
    """What the form says so far, and what could be asked: a part of the page."""
    about = _about(visit, file)
    draft = _draft(visit, file, again=False)
    _keep(visit, draft)
    return visit.page("new_look.html.j2", **_outlook(draft, about))


def _begin(visit: Visit, about: Mapping[str, Any], draft: Draft) -> None:
    """Fill in what the schema beside the table says, if there is one."""
    draft.typed = {"as": ["form"]}
    if about["text"] is not None and not _show(visit, about, draft, about["text"]):
        draft.typed = {"as": ["text"], "text": [about["text"]]}


def _to_form(visit: Visit, about: Mapping[str, Any], draft: Draft) -> Page:
    """From the text back to the form, if the form can show all that the text says."""
    if problems := _problems_of_text(draft):
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
    own = _reading(draft)
    problems = _problems_of_text(draft) if own is None else dict(own.problems)
    problems |= _problems_of_total(draft, about) if opening or text_of(draft.typed, "total") else {}
    problems |= _problem_of_file(draft)
    text = f"{text_of(draft.typed, 'text')}\n" if own is None else own.text
    if not problems and (draft.fits != text or not opening):
        problems = _problems_of_check(visit.local("check", file=about["file"], schema=text), own)
        draft.fits = "" if problems else text
    if not problems and not opening:
        fitting = "" if draft.is_text else ", with types that fit"
        good = f"The table has all columns that are described here{fitting}."
        return _form(visit, about, draft, good=f"{good} No values were read: levels and bounds were not checked.")
    if not problems:
        total, ledger = text_of(draft.typed, "total"), text_of(draft.typed, "ledger")
        replaced = bool(text_of(draft.typed, "replace"))
        given = {"schema": text, "total": total or None, "ledger": ledger or None, "replace": replaced}
        try:
            name = visit.local("open", file=about["file"], **given)["name"]
        except Refused as problem:
            problems = {_field_of_opening(problem): str(problem)}
        else:
            visit.person.kept[_KEPT].pop(about["file"], None)
            return redirect(path_to("tables", name))
    return _form(visit, about, draft, problems)


def _form(
    visit: Visit, about: Mapping[str, Any], draft: Draft, problems: Mapping[str, str] | None = None, good: str = ""
) -> Page:
    columns, typed, problems = draft.columns or [], draft.typed, problems or {}
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
            "detailed": any(f"c{place}-{name}" in problems for name in ("name", *_DETAILS)),
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
        labels=_labels(columns, problems),
        good=good,
        asks_large=_is_very_large(text_of(typed, "total")),
        unit_options=[("", "choose a column"), *((str(place), own.name) for place, own in enumerate(columns))],
        is_text=draft.is_text,
        unread=draft.unread,
        doubtful=draft.columns is None and not draft.unread,
        encodings=[("", "UTF-8, the usual one"), *((name, name) for name in ENCODINGS if name != "utf-8")],
        periods=_PERIODS,
        measures=[(name, name) for name in UNITS],
        **_outlook(draft, about),
    )


# ---- what it says so far ---------------------------------------------------------------------------------------------


def _outlook(draft: Draft, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the form says so far, and what could be asked."""
    own, schema, said = _reading(draft), None, ""
    attributes: Mapping[str, Attribute] = {}
    if own is not None:
        schema, attributes = own.schema, own.attributes
    else:
        try:
            schema = Schema.from_toml(f"{text_of(draft.typed, 'text')}\n")
            attributes = schema.attributes
        except SchemaError as problem:
            said = str(problem)
    facts = {column.name: column for column in draft.columns or ()}
    celled = {name: own for name, own in attributes.items() if isinstance(own, CelledAttribute)}
    places = [place for place, _ in enumerate(draft.columns or ()) if kind_of(draft.typed, place)]
    problems = dict(own.problems) if own is not None and places else {}
    problems |= _problems_of_total(draft, about) if text_of(draft.typed, "total") else {}
    pending = _labels(draft.columns or [], problems)
    return {
        "described": [
            (name, _accepts(attribute, facts.get(attribute.column or name))) for name, attribute in attributes.items()
        ],
        "cells": math.prod(attribute.size for attribute in celled.values()) if celled else 0,
        "questions": _questions(celled, schema),
        "wrong": [label for label in pending if text_of(draft.typed, label[0].removeprefix("f-"), "")],
        "missing": [label for label in pending if not text_of(draft.typed, label[0].removeprefix("f-"), "")],
        "levels": {place: _levels(draft.typed, place) for place in places},
        "said": said,
        "toml": own.text if own is not None else "",
        "chance": _chance(text_of(draft.typed, "total")),
    }


def _levels(typed: Mapping[str, Sequence[str]], place: int) -> str:
    """How many levels were typed for a column, and which."""
    levels = levels_in(text_of(typed, f"c{place}-levels"), whole_lines=bool(text_of(typed, f"c{place}-lines")))
    shown = [level if len(level) <= 40 else f"{level[:39]}…" for level in levels[:_SHOWN]]
    shown += [f"{len(levels) - _SHOWN} more"] if len(levels) > _SHOWN else []
    return f"{len(levels):,} {'level' if len(levels) == 1 else 'levels'}: {' · '.join(shown)}" if levels else ""


def _accepts(attribute: Attribute, column: ColumnFacts | None) -> str:
    if isinstance(attribute, Times) and attribute.base_size > _MOST_CELLS:
        return f"a date or time between {attribute.min} and {attribute.max}, in very many cells: choose longer ones"
    return accepts(attribute, written=column is None or column.kind in ("text", "categorical"))


def _questions(celled: Mapping[str, CelledAttribute], schema: Schema | None) -> list[str]:
    """What can be asked about these attributes."""
    if not celled:
        return []
    names = list(celled)
    ordered = [name for name, own in celled.items() if own.ordered]
    numbers = [name for name, own in celled.items() if isinstance(own, Integer | Numeric | Duration)]
    questions = [
        f"How many rows there are, and how many fulfil a condition on {_some(names, 'or')}",
        f"How many rows there are for each value of {_some(names, 'or')}",
    ]
    if len(names) > 1:
        questions.append(f"Tables of two or more of {_some(names)}, and rows made up from them")
    if ordered:
        questions.append(f"Ranges and cumulative counts of {_some(ordered, 'or')}")
    if numbers:
        questions.append(f"Sums, means, medians and other quantiles of {_some(numbers, 'or')}")
    if schema is not None and schema.unit is not None:
        questions.append(f"How many different {schema.unit} there are, and how many rows each has")
    return questions


def _some(names: Sequence[str], word: str = "and") -> str:
    """The first of these names."""
    shown = [shorten(name).strip("'") for name in names[:5]]
    if len(names) > 5:
        return f"{', '.join(shown)} and {len(names) - 5} more"
    return f" {word} ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _is_very_large(total: str) -> bool:
    try:
        return budget(total, "total") > odds.VERY_LARGE
    except BadInput:
        return False


def _chance(total: str) -> str:
    """What a total means for one person."""
    try:
        amount = budget(total or "1", "total")
    except BadInput:
        return ""
    return odds.remark(amount, "A total", "person") or f"A total of ε = {display(amount)}: {odds.in_words(amount)}"


# ---- problems, and the fields that they belong to --------------------------------------------------------------------


def _problems_of_text(draft: Draft) -> dict[str, str]:
    try:
        Schema.from_toml(f"{text_of(draft.typed, 'text')}\n")
    except SchemaError as problem:
        return {"text": str(problem)}
    return {}


def _problem_of_file(draft: Draft) -> dict[str, str]:
    """Why the columns cannot be read, at the field that says how the file is written."""
    if not draft.unread or text_of(draft.typed, "as") == "text":
        return {}
    words = {"delimiter": ("delimiter",), "encoding": ("encoding", " text. Say which"), "names": ("columns", "header")}
    name = next((name for name, own in words.items() if any(word in draft.unread for word in own)), "columns")
    return {name if draft.is_text else "columns": draft.unread}


def _problems_of_total(draft: Draft, about: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the total, or what somebody must agree to."""
    total, ledger = text_of(draft.typed, "total"), text_of(draft.typed, "ledger") or about["ledger"]
    if not total:
        known = about["has_ledger"] or ledger != about["ledger"]  # of others the supervisor knows
        return {} if known else {"total": "Say what may be spent on this table in all; 1 is a good start."}
    try:
        amount = budget(total, "The total")
    except BadInput as problem:
        return {"total": str(problem)}
    if amount > Fraction(odds.VERY_LARGE) and not text_of(draft.typed, "large"):
        return {"total": f"{odds.remark(amount, 'A total')} Type less, or tick below that this is intended."}
    return {}


def _problems_of_check(checked: Mapping[str, Any], own: Reading | None) -> dict[str, str]:
    """What does not fit the table, at the column."""
    if checked["ok"]:
        return {}
    if own is None:
        every = [*checked["problems"], *(said for one in checked["attributes"] for said in one["problems"])]
        return {"text": every[0]}
    problems = {
        f"c{own.places[one['attribute']]}-kind": one["problems"][0]
        for one in checked["attributes"]
        if one["problems"] and one["attribute"] in own.places
    }
    if checked["problems"]:
        said = checked["problems"][0]
        problems["unit" if own.schema is not None and own.schema.unit and "unit" in said else "columns"] = said
    return problems


def _field_of_opening(problem: Refused) -> str:
    """The field that a refusal to open a table belongs to."""
    said = str(problem)
    if problem.kind == "SchemaExists":
        return "replace"
    if problem.kind == "LedgerMismatch" and "total" in said:
        return "total"
    if problem.kind in ("LedgerMismatch", "LedgerError") or "ledger" in said:
        return "total" if said.startswith("total") else "ledger"
    return "total" if said.startswith("total") else "opening"


_DETAILS = ("step", "edges", "case", "format", "nulls", "outside", "others", "missing")
"""The fields of a column that most people leave as they are."""
_WHOLE = {
    "columns": "Columns",
    "whose": "Who is protected",
    "unit": "Whose row it is",
    "rows_per_unit": "The most rows",
    "names": "The names of the columns",
    "delimiter": "Delimiter",
    "encoding": "Encoding",
    "total": "Total budget",
    "ledger": "Ledger",
    "replace": "The schema that exists",
    "text": "Schema",
    "opening": "The table",
}


def _labels(columns: Sequence[ColumnFacts], problems: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Each problem with its field: the field's id, its name in words, and what is wrong."""
    labels = []
    for name, said in problems.items():
        place, _, own = name.partition("-")
        if own:
            what = FIELDS[own][2] if own in FIELDS else {"kind": "what it is", "name": "its name"}.get(own, own)
            labels.append((f"f-{name}", f"{columns[int(place[1:])].name}, {what}", said))
        else:
            labels.append((f"f-{name}", _WHOLE.get(name, name), said))
    return labels


# ---- what is kept ----------------------------------------------------------------------------------------------------

_FORMAT = ("header", "names", "delimiter", "encoding")


def _reading(draft: Draft) -> Reading | None:
    """What the fields say; None where the schema is edited as text."""
    if text_of(draft.typed, "as") == "text":
        return None
    try:
        file = FileFormat(**_format(draft.typed)) if draft.is_text else PLAIN
    except SchemaError:
        file = PLAIN  # the field has its problem
    return read_fields(draft.columns or [], draft.typed, file)


def _format(typed: Mapping[str, list[str]]) -> dict[str, Any]:
    """How the file is written, as the form says."""
    delimiter = {"tab": "\t"}.get(text_of(typed, "delimiter"), text_of(typed, "delimiter"))
    plain = {"delimiter": delimiter, "encoding": text_of(typed, "encoding")}
    written: dict[str, Any] = {key: value for key, value in plain.items() if value}
    if text_of(typed, "header") == "none" and (names := levels_in(text_of(typed, "names"))):
        written |= {"header": False, "columns": names}
    return written


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
    own = {name: list(values) for name, values in visit.form.items() if name not in ("form_key", "step")}
    if "text" in own:
        own["text"] = ["\n".join(own["text"][0].splitlines())]
    draft.typed = {**own, "as": mode}


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
    written, shown = _format(typed), text_of(typed, "header") == "shown"
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


def _about(visit: Visit, file: str) -> dict[str, Any]:
    about: dict[str, Any] = visit.local("table", file=file)
    return about


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/new"): choose,
    ("POST", "/new"): open_table,
    ("GET", "/new/{file}"): edit,
    ("POST", "/new/{file}"): submit,
    ("POST", "/new/{file}/look"): preview,
}
