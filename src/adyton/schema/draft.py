"""Schema files that are written for a person: what is known is filled in, what is not is left as a comment.

A draft knows the columns of a table and their types; a dictionary (:mod:`adyton.schema.dictionaries`) often knows all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adyton.errors import SchemaError
from adyton.messages import listing
from adyton.schema.file_format import PLAIN, FileFormat
from adyton.schema.files import matches, toml_key, toml_value

_HEADER = """\
# A draft. What stands here is public: fill it in from what is known about the table in general (a code book, a form,
# common sense), never by looking at the rows. Delete the attributes that nobody will ask about.
# Once it is filled in, `adyton schema FILE.toml` says what each attribute accepts, and
# `adyton check DATA --schema FILE.toml` whether the table has it all; `adyton schema --like NAME` offers attributes
# that many tables have, and `adyton schema --from DICTIONARY` writes a schema from a code book.

"""
UNIT = """\
rows_per_unit = 1   # the most rows that one person has in this table
# unit = "person_id"   # the column that says whose row it is: of each, so many rows are kept
# [defaults]           # what holds for all attributes that do not say otherwise, such as:
# nulls = "level"      # missing values have a cell of their own; outside = "other": so do values that are none of these
"""

_FILE = """\
# [file]                          # how CSV files are written, where that is not as usual
# delimiter = ";"                 # the sign that the header has most of, if left out
# encoding = "latin-1"            # utf-8 if left out; also cp1252, utf-16, …
# header = false                  # the first line is a row; then columns = ["…", "…"] names all columns in their order
# compression = "gzip"            # none, gzip, zstd, bz2 or zip; by the file's name if left out
# line_end = "cr"                 # lines end with a carriage return alone; by the header if left out

# [report]                        # what every report says besides the numbers
# title = "…"                     # its heading; office, contact and notes = ["…"] are shown, too
"""

_TYPES = """\
# Types: integer (min, max), numeric (min, max, bins), categorical (levels), boolean, date (min, max, by), datetime
# (min, max, by, zone), duration (min, max, bins, unit), identifier (a name, without cells); and point, two columns that
# are a place: longitude = "lng", latitude = "lat", box = [west, south, east, north], grid = 20.
"""
_EVERY = """\
# Any attribute: column = "Pay (USD)" is the name of the column, where it is not the attribute's; missing = ["NA", -99]
# are words and numbers that mean that there is no value. [attributes."q*"] stands for every column that matches.
"""
_HINTS = {
    ("integer", "numeric", "text"): """\
# Numbers are read like 1250.5, -3 or 2e6; currency = "$", thousands = "," and decimal = "," say otherwise. step = 5
# makes cells of five whole numbers, edges = [0, 10, 100] cells of your own.
""",
    ("categorical", "text"): """\
# Levels are read as they are written: spaces around them do not matter, capitals do unless case = "ignore".
# Many of them are in a file, one in each line: levels_file = "zips.txt". To recode: levels = {"north" = ["BX", "MN"]}
# with groups = {"city" = ["north"]}; first = 2 counts only so many characters; a public table in which the text is
# looked up: lookup = {file = "zips.csv", key = "zip", value = "region"}. Names are no levels: type = "identifier".
""",
    ("date", "datetime", "text"): """\
# Dates are read like 2024-03-01, or as format = "%m/%d/%Y" says. by = "hour", "day", "week", "month", "quarter",
# "year", or without bounds "hour of day", "weekday", "month of year"; zone is the clock, such as "Europe/Berlin".
""",
}
"""What is worth knowing about the columns of some kinds."""

_FILL_IN: dict[str, dict[str, object]] = {
    "integer": {"min": 0, "max": 100},
    "numeric": {"min": 0, "max": 100},
    "categorical": {"levels": ["a", "b"]},
    "date": {"min": "2020-01-01", "max": "2029-12-31"},
    "datetime": {"min": "2020-01-01", "max": "2029-12-31"},
    "duration": {"min": 0, "max": 120},
    "text": {"type": "integer"},
}
"""What only a person knows, with an example."""
_CHOSEN: dict[str, dict[str, object]] = {
    "numeric": {"bins": 20},
    "date": {"by": "month"},
    "datetime": {"by": "day", "zone": "UTC"},
    "duration": {"bins": 24, "unit": "minutes"},
}
"""What can be chosen without knowing anything."""
_LEAST_ALIKE = 3


class ColumnFacts(NamedTuple):
    """What is public about a column: its name, its type in the words of its table, and the kind of attribute for it."""

    name: str
    type: str
    kind: str


def entry(name: str, kind: str, comment: str = "", known: Mapping[str, object] | None = None) -> str:
    """The lines of one attribute: what is *known*, what can be chosen, and what is to be filled in.

    >>> print(entry("age", "integer", "years", {"min": 0}))
    [attributes.age]   # years
    type = "integer"
    min = 0
    # max = 100   # fill in
    <BLANKLINE>
    """
    said = known or {}
    lines = [f"[attributes.{toml_key(name)}]" + (f"   # {_one_line(comment)}" if comment else "")]
    if kind == "unusable":
        lines.append('type = "identifier"   # this type has no cells; turn it into a number or a text to count it')
    elif kind != "text":
        lines.append(f'type = "{kind}"')
    blanks = _FILL_IN.get(kind, {})
    for key in dict.fromkeys([*blanks, *said]):
        filled = key in said
        lines.append(
            f"{key} = {toml_value(said[key])}" if filled else f"# {key} = {toml_value(blanks[key])}   # fill in"
        )
    lines += [f"{key} = {toml_value(value)}" for key, value in _CHOSEN.get(kind, {}).items() if key not in said]
    return "\n".join(lines) + "\n"


def complete(kind: str, known: Mapping[str, object]) -> bool:
    """Whether nothing is left to be filled in."""
    return not set(_FILL_IN.get(kind, ())) - set(known)


def _one_line(text: str) -> str:
    """A text that can stand in a comment."""
    return "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))


def draft(columns: Sequence[ColumnFacts], *, text: bool, file: FileFormat = PLAIN) -> str:
    """A schema for a table with these columns, in a *text* file or not; columns that are alike share a pattern."""
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"the table has several columns called {listing(twice)}. Rename all but one.")
    said = "".join(f"{key} = {toml_value(value)}\n" for key, value in file.to_dict().items())
    how = [f"[file]\n{said}" if said else _FILE] if text else []
    kinds = {column.kind for column in columns}
    return "\n".join([_HEADER + UNIT, *how, _hints(kinds), *(entry(*one) for one in _grouped(columns))])


def headless_draft(file: FileFormat = PLAIN) -> str:
    """A draft for a file without a header, of which nothing is read."""
    own = "".join(f"{key} = {toml_value(value)}\n" for key, value in file.to_dict().items() if key != "columns")
    if "header" not in own:
        own = f"header = false\n{own}"
    names = '# columns = ["age", "sex"]   # fill in: a name for every column, in their order'
    one = entry("age", "text", "one such table for every column that may be asked about")
    return "\n".join([_HEADER + UNIT, f"[file]\n{own}{names}\n", _hints({"text"}), one])


def _hints(kinds: set[str]) -> str:
    """What is worth knowing about columns of these kinds, once."""
    types = _TYPES if "text" in kinds else ""
    return types + _EVERY + "".join(hint for about, hint in _HINTS.items() if kinds & set(about))


def _grouped(columns: Sequence[ColumnFacts]) -> list[tuple[str, str, str]]:
    """For each entry its name, kind and comment: a pattern where columns of one type differ in their digits alone, and
    nothing else matches it."""
    patterns = [re.sub(r"\d+", "*", column.name) for column in columns]
    alike: dict[tuple[str, str, str], list[str]] = {}
    for pattern, (name, type_, kind) in zip(patterns, columns, strict=True):
        alike.setdefault((pattern, type_, kind), []).append(name)
    entries = {}
    for pattern, (name, type_, kind) in zip(patterns, columns, strict=True):
        group = alike[pattern, type_, kind]
        matching = [one.name for one in columns if matches(pattern, one.name)] if len(group) >= _LEAST_ALIKE else []
        if matching == group and pattern.strip("*") and "*" not in name:
            entries[pattern] = (pattern, kind, f"{group[0]} … {group[-1]}: {type_}")
        else:
            entries[name] = (name, kind, type_)
    return list(entries.values())
