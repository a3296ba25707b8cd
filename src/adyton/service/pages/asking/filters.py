"""The filter of a form: conditions, each in a row, and a formula; and the conditions that a formula consists of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from adyton.errors import BadInput
from adyton.exact import exact
from adyton.messages import shorten, without_comma
from adyton.schema import Boolean, Categorical, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.predicates import (
    LONGEST,
    And,
    Between,
    Compare,
    In,
    IsNull,
    Not,
    Predicate,
    Scalar,
    check_predicate,
    comparisons_in,
    parse_predicate,
)
from adyton.schema.times import Times
from adyton.service.pages.asking.fields import Form

COMPARISONS: Mapping[str, str] = {
    "=": "is",
    "!=": "is not",
    "in": "is one of",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is more than",
    "<": "is less than",
    "between": "is between",
    "missing": "is missing",
    "there": "is not missing",
}
"""The comparisons of a condition, in words."""
FIELDS = ("condition", "comparison", "value")
"""The fields of a row."""
_BETWEEN = (
    re.compile(r"\s(?:to|and)\s"),
    re.compile(r"–|…|\.\.+"),
    re.compile(r"(?<=\d)\s*-\s*(?=\d+\Z)"),
)
"""What is between both ends of "is between": 20 to 29, 20–29, 20-29; or one comma or semicolon."""
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"([A-Za-z_]\w*)\"""")
"""A text, or a plain name in quotes."""
_FEWEST, _MOST = 2, 50
"""How many conditions a form shows at least, and how many it takes."""


@dataclass
class Condition:
    """A row of the filter: an attribute, a comparison, a value."""

    name: str = ""
    comparison: str = "="
    value: str = ""


@dataclass
class Filter:
    """What is in the fields of the filter."""

    conditions: list[Condition]
    where: str | None = None
    """The predicate of the formula and the conditions together; None if there is neither."""
    problems: dict[str, str] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    """The conditions among the problems that lack a value: somebody may still be typing it."""
    notes: list[str] = field(default_factory=list)
    """What is odd about it, and allowed."""


def read_filter(form: Form, schema: Schema) -> Filter:
    """Read the conditions and the formula of a form."""
    text, parts, found = form.text("where"), [], Filter(_conditions(form, schema))
    if text:
        try:
            found.notes += [_beyond(own, schema) for own in comparisons_in(parse_predicate(text, schema))]
            parts.append(text)
        except BadInput as problem:
            found.problems["where"] = str(problem)
    for place, condition in enumerate(found.conditions):
        if condition.name or condition.value:
            try:
                predicate = _predicate(condition, schema)
                parts.append(_written(predicate, schema))
                found.notes += [_beyond(own, schema, refused=True) for own in comparisons_in(predicate)]
            except BadInput as problem:
                found.problems[f"condition-{place}"] = str(problem)
                found.unfinished += [f"condition-{place}"] * (not condition.value)
    found.notes = list(dict.fromkeys(filter(None, found.notes)))
    if len(parts) < 2 or found.problems:
        found.where = parts[0] if parts else None
        return found
    if text:
        parts[0] = f"({text})"
    found.where = " and ".join(parts)
    try:
        parse_predicate(found.where, schema)
    except BadInput as problem:
        found.problems["where"] = str(problem)
    return found


def with_conditions(fields: Mapping[str, list[str]], schema: Schema) -> dict[str, list[str]]:
    """The same fields, with the formula as conditions if it consists of such: as somebody has probably typed it."""
    text = next(iter(fields.get("where", ())), "")
    try:
        predicate = parse_predicate(text, schema) if text else None
    except BadInput:  # it was written for another schema; the form says what is wrong with it
        predicate = None
    parts = predicate.parts if isinstance(predicate, And) else () if predicate is None else (predicate,)
    rows = [_condition(part, schema) for part in parts]
    filled = [row for row in rows if row is not None]
    if not filled or len(filled) < len(rows) or len(filled) > _MOST:
        return dict(fields)
    columns = zip(*((row.name, row.comparison, row.value) for row in filled), strict=True)
    return {**fields, "where": [""], **dict(zip(FIELDS, map(list, columns), strict=True))}


def _written(predicate: Predicate, schema: Schema) -> str:
    """The checked predicate as a text, without quotes around names that need none."""
    check_predicate(predicate, schema)
    plain = _QUOTED.sub(lambda match: match[1] or match[0], str(predicate))
    try:
        return plain if parse_predicate(plain, schema) == predicate else str(predicate)
    except BadInput:
        return str(predicate)


def _conditions(form: Form, schema: Schema) -> list[Condition]:
    """All rows of the filter, and an empty one to go on with."""
    columns = [form.fields.get(name, [])[:_MOST] for name in FIELDS]
    columns[0] = [Form({"": [name]}).name("", schema.names) for name in columns[0]]
    rows = [
        Condition(name, comparison or "=", value) for name, comparison, value in zip_longest(*columns, fillvalue="")
    ]
    filled = [row for row in rows if row.name or row.value.strip()]
    return filled + [Condition()] * max(1, _FEWEST - len(filled))


def _predicate(condition: Condition, schema: Schema) -> Predicate:
    """The comparison that a row means."""
    name, value = condition.name, condition.value
    if not name:
        raise BadInput("Choose the attribute that this value is about, or leave both empty.")
    if condition.comparison not in COMPARISONS:
        raise BadInput(f"There is no comparison {shorten(condition.comparison)}. Choose one of the list.")
    if condition.comparison in ("missing", "there"):
        return IsNull(name) if condition.comparison == "missing" else Not(IsNull(name))
    attribute = schema.attributes.get(name)
    if not value.strip():
        raise BadInput(f"Give a value to compare {name} with.")
    if isinstance(attribute, Numeric) and condition.comparison in ("between", "in") and (how := without_comma(value)):
        several = "0 to 5" if condition.comparison == "between" else "0; 5"
        doubt = f"{shorten(value)} can be read as one number or as two."
        raise BadInput(f"{doubt} {how} Two numbers are written {several}.")
    if len(value) > LONGEST:
        raise BadInput(f"A value has at most {LONGEST:,} characters, given {len(value):,} for {name}.")
    if condition.comparison == "between":
        low, high = (end if attribute is None else _literal(end, attribute) for end in _both_ends(name, value.strip()))
        return Between(name, low, high)
    if condition.comparison == "in":
        values = [own for own in value.split(";" if ";" in value else ",") if own.strip()]
        return In(name, tuple(own if attribute is None else _literal(own.strip(), attribute) for own in values))
    return Compare(name, condition.comparison, value if attribute is None else _literal(value, attribute))


def _both_ends(name: str, text: str) -> tuple[str, str]:
    """The ends of "is between", of which neither is empty."""
    for between in _BETWEEN:
        if (found := between.search(text, 1)) and found.end() < len(text):
            return text[: found.start()].rstrip(), text[found.end() :].lstrip()
    match [part.strip() for part in re.split("[,;]", text)]:
        case [low, high] if low and high:
            return low, high
    raise BadInput(f"Give both ends for {name}, such as 20 to 29. Both belong to it.")


def _condition(predicate: Predicate, schema: Schema) -> Condition | None:
    """The row that means a comparison; None if none does."""
    match predicate:
        case IsNull(name):
            row = Condition(name, "missing")
        case Not(IsNull(name)):
            row = Condition(name, "there")
        case Compare(name, operator, value):
            row = Condition(name, operator, _typed(value))
        case Between(name, low, high):
            row = Condition(name, "between", f"{_typed(low)} to {_typed(high)}")
        case In(name, values):
            texts = list(map(_typed, values))
            row = Condition(name, "in", ("; " if any("," in text for text in texts) else ", ").join(texts))
        case _:
            return None
    try:
        return row if _predicate(row, schema) == predicate else None
    except BadInput:
        return None


def _typed(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _beyond(comparison: Predicate, schema: Schema, *, refused: bool = False) -> str:
    """A note on a comparison that goes beyond the bounds of its attribute. One wholly beyond them may be *refused*."""
    if not isinstance(comparison, Between | Compare | In):
        return ""
    name, attribute = comparison.column, schema.attributes[comparison.column]
    if isinstance(attribute, Integer | Numeric):
        least, most, ends = attribute.min, attribute.max, f"{attribute.min:,.10g} to {attribute.max:,.10g}"
    elif isinstance(attribute, Times) and not attribute.is_part:
        least, most, ends = *attribute.span, f"{attribute.min} to {attribute.max}"
    else:
        return ""
    match comparison:
        case Between(_, first, last):
            words, reach = f"from {first} to {last}", (_ends(first, attribute)[0], _ends(last, attribute)[1])
        case Compare(_, operator, value):
            words, reach = f"{_REACHES[operator]} {value}", _reach(operator, *_ends(value, attribute))
        case In(_, values):
            known = [_ends(value, attribute) for value in values]
            words = f"of {', '.join(map(str, values))}"
            reach = (min(low for low, _ in known), max(high for _, high in known))
    low, high = reach
    bounds = f"in the schema, {name} goes from {ends}"
    if low > most or high < least:
        if isinstance(comparison, Compare) and comparison.operator == "!=":
            return f"{bounds}: every value is other than {comparison.value}."
        said = f"{bounds}: no value {words} is expected."
        if refused:
            raise BadInput(f"{said} To count such rows on purpose, write this condition as a formula.")
        return said
    if (least > low > -math.inf) or (most < high < math.inf):
        return f"{bounds}: {words.removeprefix('of ')} goes beyond that."
    return ""


_REACHES = {"=": "of", "!=": "other than", "<": "below", "<=": "of at most", ">": "above", ">=": "of at least"}
"""The values that a comparison names, in words."""


def _ends(value: Any, attribute: Attribute) -> tuple[Any, Any]:
    """The first and the last value that a literal means: a day is all of its seconds."""
    span = attribute.literal(value, "") if isinstance(attribute, Times) else None
    return (value, value) if span is None else (span.first, span.last)


def _reach(operator: str, first: Any, last: Any) -> tuple[Any, Any]:
    """The least and the greatest value that a comparison names."""
    tiny = 1 if isinstance(first, int) else math.ulp(first)
    return {
        "<": (-math.inf, first - tiny),
        "<=": (-math.inf, last),
        ">": (last + tiny, math.inf),
        ">=": (first, math.inf),
    }.get(operator, (first, last))


def _literal(text: str, attribute: Attribute) -> Scalar:
    """A value as the attribute has it; a text that is none stays a text, and is refused with what is allowed."""
    text = text.strip() if not isinstance(attribute, Categorical) or text.strip() in _words(attribute) else text
    match attribute:
        case Categorical():
            words = _words(attribute)
            alike = [word for word in words if word.lower() == text.strip().lower()]
            return words.get(text, words[alike[0]] if len(alike) == 1 else text)
        case Boolean():
            return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
        case Times():
            return text
    try:
        number = exact(text, "a number")
    except BadInput:
        return text
    return int(number) if number.denominator == 1 else float(number)


def levels_of(attribute: Attribute) -> list[str]:
    """The values that can be typed, where there is a list of them."""
    match attribute:
        case Categorical():
            return list(_words(attribute))
        case Boolean():
            return ["true", "false"]
    return []


def _words(attribute: Categorical) -> Mapping[str, Scalar]:
    """The levels and groups, by their texts."""
    return {str(level): level for level in attribute.levels} | {name: name for name in dict(attribute.groups)}
