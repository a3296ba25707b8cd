"""A draft of a table: what somebody has typed about it, what that says so far, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.errors import BadInput, SchemaError
from adyton.exact import budget, display
from adyton.messages import shorten
from adyton.schema import Attribute, FileFormat, Integer, Numeric, Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.draft import ColumnFacts
from adyton.schema.files import PLAIN
from adyton.schema.misfits import accepts
from adyton.schema.numbers import Duration
from adyton.schema.times import Times
from adyton.service.channel import Refused
from adyton.service.pages.new_table.form import FIELDS, Reading, kind_of, levels_in, read_fields, text_of
from adyton.service.pages.visits import plain_ratio

_MOST_CELLS = 1_000_000
"""Attributes of time with more cells are described in short: their cells are not laid out."""
_SHOWN = 12
"""So many levels are shown below their field."""


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
    begun: str | None = None
    """The text of the schema beside the table with which it began."""
    posted: bool = False
    """Whether somebody has typed something since."""
    about: Mapping[str, Any] | None = None
    """What is known of the table, when it was last shown."""


def reading_of(draft: Draft) -> Reading | None:
    """What the fields say; None where the schema is edited as text."""
    if text_of(draft.typed, "as") == "text":
        return None
    try:
        file = FileFormat(**format_of(draft.typed)) if draft.is_text else PLAIN
    except SchemaError:
        file = PLAIN  # the field has its problem
    return read_fields(draft.columns or [], draft.typed, file)


def format_of(typed: Mapping[str, list[str]]) -> dict[str, Any]:
    """How the file is written, as the form says."""
    delimiter = {"tab": "\t"}.get(text_of(typed, "delimiter"), text_of(typed, "delimiter"))
    plain = {"delimiter": delimiter, "encoding": text_of(typed, "encoding")}
    written: dict[str, Any] = {key: value for key, value in plain.items() if value}
    if text_of(typed, "header") == "none" and (names := levels_in(text_of(typed, "names"))):
        written |= {"header": False, "columns": names}
    return written


# ---- what it says so far ---------------------------------------------------------------------------------------------


def outlook(draft: Draft, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the form says so far, and what could be asked."""
    own, schema, said = reading_of(draft), None, ""
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
    problems |= problems_of_total(draft, about) if places or text_of(draft.typed, "total") else {}
    pending = labels_of(draft.columns or [], problems)
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
        "chance": _chance(text_of(draft.typed, "total") or about["standing"]["total"]),
    }


def is_unsaved(draft: Draft, about: Mapping[str, Any]) -> bool:
    """Whether a draft says something else than the schema beside the table."""
    own, text = reading_of(draft), about["text"]
    if text is None:
        return True
    if own is None:
        return bool(text_of(draft.typed, "text").split() != text.split())
    try:
        return own.schema is None or own.schema != Schema.from_toml(f"{text}\n")
    except SchemaError:
        return True


def words_of_second(about: Mapping[str, Any], total: str, *, asked: bool) -> str:
    """What the data owner agrees to where something was spent on the table with other ledgers; *asked* where the ledger
    that was typed turned out to be another one."""
    here = {"ledger": about["ledger"], **about["standing"]}
    others = about["others"] or ([here] if asked and here["spent"] else [])
    if not others:
        return "A second ledger adds to what was spent before. The owner of the data agrees." if asked else ""
    spent = [f"ε = {_amount(own['spent'])} of {_amount(own['total'])}" for own in others]
    named = [f"{amount} was spent on this table in {own['ledger']}" for amount, own in zip(spent, others, strict=True)]
    try:
        together = sum((Fraction(own["total"]) for own in others), budget(total, "total"))
        all_of_it = f"by ε = {display(together)} together"
    except BadInput:
        all_of_it = "by the sum of all totals only"
    return (
        f"{', '.join(named)}. A second ledger adds to that: people in the table are then protected {all_of_it}, and "
        "nobody who reads one ledger sees the other. The owner of the data agrees."
    )


def _amount(text: str) -> str:
    return display(Fraction(text))


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


def _chance(total: str) -> str:
    """What a total means for one person."""
    try:
        amount = budget(total or "1", "total")
    except BadInput:
        return ""
    return odds.remark(amount, "A total", "person") or f"A total of ε = {display(amount)}: {odds.in_words(amount)}"


# ---- problems, and the fields that they belong to --------------------------------------------------------------------


def problems_of_text(draft: Draft) -> dict[str, str]:
    """What is wrong with a schema that is edited as text."""
    try:
        Schema.from_toml(f"{text_of(draft.typed, 'text')}\n")
    except SchemaError as problem:
        return {"text": str(problem)}
    return {}


def problem_of_file(draft: Draft) -> dict[str, str]:
    """Why the columns cannot be read, at the field that says how the file is written."""
    if text_of(draft.typed, "as") == "text":
        return {}
    if draft.is_text and text_of(draft.typed, "header") == "none":
        names = levels_in(text_of(draft.typed, "names"))
        if not names:
            return {"names": "Type the names of all columns, in their order, or say that the first line has them."}
        if twice := next((name for name in names if names.count(name) > 1), ""):
            return {"names": f"Two columns are called {shorten(twice)}. Give each a name of its own."}
    if not draft.unread:
        return {}
    words = {"delimiter": ("delimiter",), "encoding": ("encoding", " text. Say which"), "names": ("columns", "header")}
    name = next((name for name, own in words.items() if any(word in draft.unread for word in own)), "columns")
    return {name if draft.is_text else "columns": draft.unread}


def problems_of_total(draft: Draft, about: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the total, or what somebody must agree to."""
    total, ledger = text_of(draft.typed, "total"), text_of(draft.typed, "ledger") or about["ledger"]
    if not total:
        known = about["has_ledger"] or ledger != about["ledger"]  # of others the supervisor knows
        return {} if known else {"total": "Say what may be spent on this table in all; 1 is a good start."}
    try:
        amount = budget(total, "The total")
    except BadInput as problem:
        return {"total": plain_ratio(str(problem))}
    if amount > Fraction(odds.VERY_LARGE) and not text_of(draft.typed, "large"):
        return {"total": f"{odds.remark(amount, 'A total')} Type less, or tick that this is intended."}
    return {}


def problems_of_check(checked: Mapping[str, Any], own: Reading | None) -> dict[str, str]:
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


def field_of_opening(problem: Refused) -> str:
    """The field that a refusal to open a table belongs to."""
    said = str(problem)
    if problem.kind == "Unconfirmed":
        return "word"
    if problem.kind in ("SchemaExists", "OtherLedger"):
        return "replace" if problem.kind == "SchemaExists" else "another"
    if problem.kind == "LedgerMismatch" and "total" in said:
        return "total"
    if problem.kind in ("LedgerMismatch", "LedgerError") or "ledger" in said:
        return "total" if said.startswith("total") else "ledger"
    return "total" if said.startswith("total") else "opening"


_BOTH = {
    "The smallest value": "the smallest and the largest value",
    "The first day": "the first and the last day",
}
"""What a message is about that names both ends: either may be the wrong one."""
DETAILS = ("step", "edges", "case", "format", "nulls", "outside", "others", "missing")
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
    "another": "Another ledger",
    "word": "The word of the terminal",
    "text": "Schema",
    "opening": "The table",
}


def labels_of(columns: Sequence[ColumnFacts], problems: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Each problem with its field: the field's id, its name in words, and what is wrong."""
    labels = []
    for name, said in problems.items():
        place, _, own = name.partition("-")
        if own:
            what = FIELDS[own][2] if own in FIELDS else {"kind": "what it is", "name": "its name"}.get(own, own)
            what = _BOTH.get(said.partition(" (")[0], what)
            labels.append((f"f-{name}", f"{columns[int(place[1:])].name}, {what}", said))
        else:
            labels.append((f"f-{name}", _WHOLE.get(name, name), said))
    return labels
