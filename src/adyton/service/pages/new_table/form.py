"""A schema as the fields of a form, and back: what is typed for each column becomes an attribute, or a problem at its
field. The checks are those of the schema itself; this file only knows which field a message belongs to.

The fields of a column are called ``c3-min``: its place in the table, and what they say.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import shorten, without_comma
from adyton.schema import Attribute, FileFormat, Schema
from adyton.schema.calendar import PARTS, span_of
from adyton.schema.draft import ColumnFacts, presets
from adyton.schema.files import PLAIN, attribute_to_dict, attributes_from_dict, read_toml

Typed = Mapping[str, Sequence[str]]
"""The fields as they were typed."""
KINDS = {
    "": "leave it out",
    "integer": "a whole number",
    "numeric": "a number, also with decimals",
    "categorical": "a category from a fixed list",
    "boolean": "yes or no",
    "date": "a date",
    "datetime": "a date and time",
    "duration": "a length of time",
    "identifier": "the name or number of a person or thing",
}
"""What a column can be, in words."""
LIKE = "like:"
"""Before the name of a preset, as the kind of a column."""
_NUMBERS, _TIMES, _LISTS = ("integer", "numeric", "duration"), ("date", "datetime"), ("categorical", "boolean")
_CELLED = (*_NUMBERS, *_TIMES, *_LISTS)
FIELDS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "min": ("min", _NUMBERS, "the smallest value"),
    "max": ("max", _NUMBERS, "the largest value"),
    "step": ("step", ("integer",), "the numbers to a cell"),
    "bins": ("bins", ("numeric", "duration"), "the number of bins"),
    "edges": ("edges", ("numeric", "duration"), "the bounds of the cells"),
    "measure": ("unit", ("duration",), "the unit of time"),
    "levels": ("levels", ("categorical",), "the levels"),
    "case": ("case", ("categorical",), "capitals"),
    "first": ("min", _TIMES, "the first day"),
    "last": ("max", _TIMES, "the last day"),
    "by": ("by", _TIMES, "the length of a cell"),
    "zone": ("zone", ("datetime",), "the time zone"),
    "format": ("format", _TIMES, "the format"),
    "nulls": ("nulls", _CELLED, "what missing values count as"),
    "outside": ("outside", (*_NUMBERS, *_TIMES), "what values out of range count as"),
    "others": ("outside", _LISTS, "what other values count as"),
    "missing": ("missing", _CELLED, "the words for missing"),
}
"""The fields of a column: the key of the schema, the kinds that have it, and what it is in a message."""
_USUAL = {"nulls": "drop", "outside": "drop", "case": "exact", "step": 1, "every": 1, "zone": "UTC"}
"""Values that are not written into a schema."""
_KEPT = {"nulls": "level", "outside": "other"}
"""What becomes of missing values and of others, unless somebody chooses: they are counted, and no row is left out."""
_FIRST = {"bins": "20", "zone": "UTC", "by": "month", "measure": "minutes", "rows_per_unit": "1"}
_FIRST |= _KEPT | {"others": _KEPT["outside"]}
"""What is filled in already."""
_ABOUT = (
    (re.compile(r"(.+ )?levels?\b|the level|several levels|the spelling|case\b"), "levels"),
    (re.compile(r"(min is|max − min)"), "max"),
    (re.compile(r"[\d,]+ bins|bins\b"), "bins"),
    (re.compile(r"edges?\b|an edge|give either edges"), "edges"),
    (re.compile(r"(a|the) format|format\b"), "format"),
    (re.compile(r"a word for missing|missing\b"), "missing"),
    (re.compile(r"(min|max|step|unit|by|zone|nulls|outside)\b"), ""),
)
"""Which key a message of the schema is about, from how it begins; empty: its first word."""
_FEWEST = 6
"""Letters that a name must share with a preset's to be like it, unless a whole word is shared."""


@dataclass
class Reading:
    """What the fields say: a schema if all is well, and otherwise the problem of each field."""

    attributes: dict[str, Attribute] = field(default_factory=dict)
    """The attributes that are complete, by name."""
    places: dict[str, int] = field(default_factory=dict)
    """The column of each attribute."""
    problems: dict[str, str] = field(default_factory=dict)
    schema: Schema | None = None

    @property
    def text(self) -> str:
        """The schema as TOML; what is there so far, where it is not complete."""
        with suppress(SchemaError):
            return (self.schema or Schema(self.attributes)).to_toml()
        return ""


def read_fields(columns: Sequence[ColumnFacts], typed: Typed, file: FileFormat = PLAIN) -> Reading:
    """The schema that the fields describe.

    >>> ages = {"c0-kind": ["integer"], "c0-min": ["0"], "c0-max": ["119"], "whose": ["row"]}
    >>> read_fields([ColumnFacts("age", "text", "text")], ages).schema
    Schema(age: Integer(min=0, max=119, nulls=level, outside=other))
    >>> read_fields([ColumnFacts("age", "text", "text")], ages | {"c0-max": ["-1"]}).problems
    {'c0-max': 'The smallest value (0) must not exceed the largest value (-1).'}
    """
    so_far = Reading()
    twice = Counter(column.name for column in columns)
    for place, column in enumerate(columns):
        if kind_of(typed, place) and twice[column.name] == 1:
            _add(so_far, place, column, typed)
    if not so_far.attributes and not so_far.problems:
        so_far.problems["columns"] = "Choose what at least one column is: what is left out cannot be asked about."
    keys = _keys(so_far, typed, columns)
    if not so_far.problems:
        try:
            so_far.schema = Schema(so_far.attributes, file=file, **keys)
        except SchemaError as error:
            so_far.problems[_field_of_schema(str(error), so_far)] = _sentence(str(error))
    return so_far


def kind_of(typed: Typed, place: int) -> str:
    """The chosen kind of a column."""
    return text_of(typed, f"c{place}-kind")


def text_of(typed: Typed, name: str, otherwise: str | None = None) -> str:
    """The value of a field; what is filled in already, if it was not typed."""
    values = typed.get(name)
    usual = _FIRST.get(name.partition("-")[2] or name, "") if otherwise is None else otherwise
    return values[0].strip() if values else usual


# ---- one column ------------------------------------------------------------------------------------------------------


def _add(so_far: Reading, place: int, column: ColumnFacts, typed: Typed) -> None:
    """Read the fields of a column."""
    kind, name = kind_of(typed, place), text_of(typed, f"c{place}-name") or column.name
    entry, problems = _entry(kind, place, column, typed)
    if name in so_far.attributes:
        problems[f"c{place}-name"] = f"Another column is called {shorten(name)} already. Choose another name."
    elif name != column.name and not name.isprintable():
        problems[f"c{place}-name"] = f"A name has no control characters, given {shorten(name)}. Type it again."
    if name != column.name or "*" in name:
        entry["column"] = column.name
    if not problems:
        try:
            attributes, _ = attributes_from_dict({"attributes": {name: entry}})
            own = Schema(attributes).attributes
            so_far.attributes |= own
            so_far.places |= dict.fromkeys(own, place)
        except SchemaError as error:
            said = str(error).removeprefix(f"attribute {shorten(name)}: ")
            own_field = _field(said, kind)
            problems[f"c{place}-{own_field}"] = _sentence(said, own_field)
    so_far.problems |= problems


def _entry(kind: str, place: int, column: ColumnFacts, typed: Typed) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry of a column in a schema file, and the problems of fields that cannot be read at all."""
    if kind.startswith(LIKE):
        found = ready_made().get(kind.removeprefix(LIKE))
        problem = (
            {} if found else {f"c{place}-kind": f"There is nothing ready-made called {shorten(kind)}. Choose one."}
        )
        return (dict(found[1]) if found else {}), problem
    if kind not in KINDS:
        return {}, {f"c{place}-kind": f"Choose what the column is, given {shorten(kind)}."}
    entry, problems = dict[str, Any](type=kind), dict[str, str]()
    for name, (key, kinds, what) in FIELDS.items():
        text = text_of(typed, f"c{place}-{name}")
        if kind not in kinds or not text:
            continue
        try:
            whole_lines = bool(text_of(typed, f"c{place}-lines"))
            value = _value(name, text, column, what, whole=kind == "integer", whole_lines=whole_lines)
        except ValueError as problem:
            said = str(problem)
            problems[f"c{place}-{name}"] = said[0].upper() + said[1:]
            continue
        if value != _USUAL.get(key):
            entry[key] = value
    if "edges" in entry:
        for key in ("min", "max", "bins"):
            entry.pop(key, None)
        problems = {name: said for name, said in problems.items() if name.endswith("-edges")}
    elif entry.get("by") in PARTS:
        entry = {key: value for key, value in entry.items() if (key, value) != ("outside", "other")}  # nothing is
    else:
        problems |= _not_typed(kind, place, entry, problems)
    return entry, problems


def _not_typed(kind: str, place: int, entry: Mapping[str, Any], problems: Mapping[str, str]) -> dict[str, str]:
    """What is missing from the entry of a column."""
    names = {name: what for name, (key, kinds, what) in FIELDS.items() if kind in kinds and key not in entry}
    return {
        f"c{place}-{name}": f"Type {what}{_HOW.get(name, '')}."
        for name, what in names.items()
        if FIELDS[name][0] in ("min", "max", "bins", "levels")
        and name != "edges"
        and f"c{place}-{name}" not in problems
    }


_HOW = {
    "min": ": as small as anybody could have, not the smallest in the table",
    "max": ": as large as anybody could have, not the largest in the table",
    "first": ", such as 2024-01-01, 2024-01 or 2024",
    "last": ", such as 2024-12-31, 2024-12 or 2024",
    "levels": ": all that there can be, one per line",
}


def _value(name: str, text: str, column: ColumnFacts, what: str, *, whole: bool, whole_lines: bool) -> Any:
    """The value of a field for a schema file."""
    if name in ("min", "max", "step", "bins"):
        return _number(text, what, whole=whole or name == "bins")
    if name == "edges":
        if how := without_comma(text):
            raise ValueError(f"{shorten(text)} can be read as one number or as two. {how} Two are written 0; 5.")
        parts = text.split(";") if ";" in text else re.split(r"[,\s]+", text)
        return [_number(part.strip(), what) for part in parts if part.strip()]
    if name == "levels":
        levels = levels_in(text, whole_lines=whole_lines)
        if not whole_lines and (doubt := _doubt(text, levels)):
            raise ValueError(doubt)
        whole = column.kind == "integer" and all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", level) for level in levels)
        return [int(level) for level in levels] if whole else levels
    if name == "missing":
        return [_word(word) for word in levels_in(text)]
    if name in ("first", "last"):
        span_of(text, what)  # both are checked, not only the first that is wrong
    return text


def _word(text: str) -> str | int | float:
    if not re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d{1,10})?", text, re.ASCII):
        return text
    return float(text) if "." in text else int(text)


_MARKED = re.compile(r"[+-]?[1-9]\d{0,2}(?P<mark>['’ \u00a0\u202f])\d{3}((?P=mark)\d{3})*(\.\d*)?")
"""A number with marks between its thousands that can mean nothing else."""
_DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})*\.\d{2}0", re.ASCII)
"""A number that ends in 0, with dots where thousands end."""


def _number(text: str, what: str, *, whole: bool = False) -> int | float:
    plain = text.replace("−", "-")
    if marked := _MARKED.fullmatch(plain):
        plain = plain.replace(marked["mark"], "")
    if _DOUBTFUL.fullmatch(plain):
        ways = plain.replace(".", "") + (f", or {float(plain):.10g}" if plain.count(".") == 1 else "")
        raise ValueError(f"{what} can be read in two ways, given {shorten(text)}. Write {ways}.")
    if re.fullmatch(r"[+-]?\d{1,30}", plain, re.ASCII):
        return int(plain)
    if whole:
        thousands = re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", plain, re.ASCII)
        how = f" Write {plain.replace(',', '')} without a comma." if thousands else ""
        raise ValueError(f"{what} must be a whole number such as 0 or 120, given {shorten(text)}.{how}")
    if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", plain, re.ASCII | re.IGNORECASE):
        number = float(plain)
        if math.isfinite(number):
            return number
    how = f" {without_comma(plain)}".rstrip()
    raise ValueError(f"{what} must be a number such as 0, 120 or 2.5, given {shorten(text)}.{how}")


def levels_in(text: str, *, whole_lines: bool = False) -> list[str]:
    """The levels in a text: one per line, or in a single line separated by tabs, semicolons or commas.

    With *whole_lines*, a line is a level, whatever is in it.

    >>> levels_in("F; M"), levels_in("F,\\nM"), levels_in("Doe, Jane", whole_lines=True)
    (['F', 'M'], ['F', 'M'], ['Doe, Jane'])
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if whole_lines:
        return lines
    if len(lines) == 1:
        unquoted = re.sub(r'"[^"]*"', "", lines[0])
        between = next((mark for mark in "\t;" if mark in unquoted), ",")
        with suppress(csv.Error):
            reader = csv.reader(lines, delimiter=between, skipinitialspace=True)
            return [part.strip() for part in next(reader) if part.strip()]
    return [level for line in lines if (level := line.rstrip(",; "))]


def _doubt(text: str, levels: Sequence[str]) -> str:
    """Why these may not be the levels that somebody meant with a text, if so."""
    tick = "or tick below that each line is one level"
    if len(levels) == 1:
        return f"{shorten(levels[0])} is the only level. Write all that there can be, one per line; {tick}."
    joined = next((level for level in levels if re.search("[\t;,]", level)), "")
    if not joined or len(text.splitlines()) == 1:
        return ""
    return f"{shorten(joined)} would be one level. Write each level on a line of its own; {tick}."


def _field(said: str, kind: str) -> str:
    """The field that a message about an attribute of a kind belongs to."""
    key = next((key or found[0] for pattern, key in _ABOUT if (found := pattern.match(said))), "")
    key = "by" if "repeats" in said else key
    if said.startswith("the name of an attribute"):
        return "name"
    return next((name for name, (own, kinds, _) in FIELDS.items() if own == key and kind in kinds), "kind")


# ---- the table as a whole --------------------------------------------------------------------------------------------


def _keys(so_far: Reading, typed: Typed, columns: Sequence[ColumnFacts]) -> dict[str, Any]:
    """Whom the schema protects."""
    whose, keys = text_of(typed, "whose"), dict[str, Any]()
    if whose not in ("row", "column", "several"):
        so_far.problems["whose"] = "Choose how many rows one person can have. If you do not know, ask the data owner."
    if whose not in ("column", "several"):
        return keys
    if whose == "column":
        unit = text_of(typed, "unit")
        if not (unit.isascii() and unit.isdecimal() and len(unit) < 10 and int(unit) < len(columns)):
            so_far.problems["unit"] = "Choose the column that says whose row it is."
        else:
            keys["unit"] = columns[int(unit)].name
    most = text_of(typed, "rows_per_unit")
    if re.fullmatch(r"\d{1,9}", most, re.ASCII) and int(most) >= 1:
        keys["rows_per_unit"] = int(most)
    else:
        so_far.problems["rows_per_unit"] = f"The most rows is a whole number of at least 1, given {shorten(most)}."
    return keys


def _field_of_schema(said: str, so_far: Reading) -> str:
    """The field that a message about the whole schema belongs to."""
    if said.startswith("attributes"):
        names = [name for name in so_far.attributes if repr(name) in said]
        return f"c{so_far.places[names[-1]]}-name" if names else "columns"
    return "unit" if said.startswith("unit") else "columns"


_SWAPPED = re.compile(r"min is (.+) and max is (.+): min must (not exceed|be below) max\.")


def _sentence(said: str, name: str = "") -> str:
    """A message in the words of the form."""
    key, kinds, what = FIELDS.get(name, ("", (), ""))
    if ends := _SWAPPED.match(said):
        low = next(own for own_key, own_kinds, own in FIELDS.values() if (own_key, own_kinds) == ("min", kinds))
        return f"{low[0].upper()}{low[1:]} ({ends[1]}) must {ends[3]} {what} ({ends[2]})."
    if key and said.startswith(f"{key} must"):
        return what[0].upper() + what[1:] + said.removeprefix(key)
    return said[0].upper() + said[1:]


# ---- what is ready-made ----------------------------------------------------------------------------------------------


@cache
def ready_made() -> dict[str, tuple[str, dict[str, Any]]]:
    """For each preset what it is, in words, and its entry in a schema file."""
    made = {}
    for name, text in presets().items():
        ((_, entry),) = [*read_toml(text)["attributes"].items()][:1]
        plain = {key: value for key, value in entry.items() if key != "column"}
        made[name] = (text.splitlines()[0].removeprefix("# "), _KEPT | plain if plain["type"] in _CELLED else plain)
    return made


def suits(preset: str, column: ColumnFacts) -> bool:
    """Whether a preset can be read from a column of this type."""
    kind = ready_made()[preset][1]["type"]
    if column.kind in ("integer", "numeric"):
        return kind in ("integer", "numeric")
    return column.kind in ("text", "categorical") or column.kind == kind


def is_like(preset: str, column: ColumnFacts) -> bool:
    """Whether the name of a column sounds like a preset.

    >>> is_like("ages", ColumnFacts("Age", "text", "text")), is_like("ages", ColumnFacts("wage", "text", "text"))
    (True, False)
    """
    words = {word.rstrip("s") for word in re.split(r"[^a-z0-9]+", column.name.lower()) if word}
    own = {word.rstrip("s") for word in preset.split("-")}
    return bool(words & own) or any(len(word) >= _FEWEST and word in name for word in own for name in words)


# ---- back to fields --------------------------------------------------------------------------------------------------


def fields_from(schema: Schema, columns: Sequence[ColumnFacts]) -> dict[str, list[str]] | None:
    """The fields that describe a schema; None where it says more than the form can show."""
    names = [column.name for column in columns]
    if schema.level_files or any(schema.column_of(name) not in names for name in schema.names):
        return None
    if schema.unit is not None and schema.unit not in names:
        return None
    typed: dict[str, list[str]] = {}
    for name, attribute in schema.attributes.items():
        place = names.index(schema.column_of(name))
        if f"c{place}-kind" in typed:
            return None
        typed |= {f"c{place}-{key}": [value] for key, value in _fields(attribute)}
        typed |= {} if name == names[place] else {f"c{place}-name": [name]}
    several = "row" if schema.rows_per_unit == 1 else "several"
    typed["whose"] = [several if schema.unit is None else "column"]
    typed["rows_per_unit"] = [str(schema.rows_per_unit)]
    typed |= {} if schema.unit is None else {"unit": [str(names.index(schema.unit))]}
    again = read_fields(columns, typed, schema.file).schema
    plain = schema.to_dict() | {"report": None}
    same = again is not None and _sorted(again.to_dict() | {"report": None}) == _sorted(plain)
    return typed if same and "report" not in schema.to_dict() else None


def _sorted(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"attributes": dict(sorted(content["attributes"].items()))}


def _fields(attribute: Attribute) -> Iterator[tuple[str, str]]:
    """The fields of an attribute, with their values."""
    entry = attribute_to_dict(attribute)
    entry.pop("column", None)
    if attribute.kind in _CELLED:  # what a schema need not say, the form does
        entry = dict.fromkeys(_KEPT, "drop") | entry
    for name in ready_made():
        if _plain_preset(name) == entry:
            yield "kind", f"{LIKE}{name}"
            return
    kind = attribute.kind
    yield "kind", kind
    for name, (key, kinds, _) in FIELDS.items():
        if kind in kinds and key in entry:
            value = entry[key]
            separator = ", " if name == "edges" else "\n"
            text = separator.join(map(str, value)) if isinstance(value, list) else str(value)
            yield name, text
            if name == "levels" and (levels_in(text) != [*map(str, value)] or _doubt(text, levels_in(text))):
                yield "lines", "yes"


@cache
def _plain_preset(name: str) -> dict[str, Any]:
    """The entry of a preset, as that of an attribute is written."""
    attributes, _ = attributes_from_dict({"attributes": {"column": ready_made()[name][1]}})
    return dict.fromkeys(_KEPT, "drop") | attribute_to_dict(Schema(attributes).attributes["column"])
