"""Schema files for a person to complete: what is known is filled in, the rest is left as a comment.

A draft is made from the columns of a table and their types. A dictionary often says all that a schema needs: it is a
code book such as statistics offices use, in CSV, with a line for each variable or for each code of a variable, or a
Frictionless table schema. Presets are attributes that many tables have, to be pasted into a schema.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from adyton.errors import BadInput, SchemaError
from adyton.messages import listing, no_such, shorten, suggestion
from adyton.schema.declaration import Schema, check_case
from adyton.schema.files import PLAIN, FileFormat, keys_of, matches, toml_key, toml_value
from adyton.schema.look_up_files import csv_rows, public_text

_HEADER = """\
# A draft. Everything in it is public: fill it in from what is known about the table in general (a code book, a form,
# common sense), never by looking at the rows. Delete the attributes that are not needed.
# Once it is filled in, `adyton schema FILE.toml` says what each attribute accepts, and
# `adyton check DATA --schema FILE.toml` whether the table has all columns; `adyton schema --like NAME` offers
# attributes that many tables have, and `adyton schema --from DICTIONARY` writes a schema from a code book.

"""
UNIT = """\
rows_per_unit = 1   # the most rows that one person has in this table
# unit = "person_id"   # the column that says whose row it is: at most rows_per_unit rows of each person are kept
# [defaults]           # keys for all attributes that do not set them, such as:
# nulls = "level"      # missing values have a cell of their own; outside = "other": undeclared values have one, too
"""

_FILE = """\
# [file]                          # how CSV files are written, if they differ from the usual
# delimiter = ";"                 # if left out, the most frequent candidate in the header
# encoding = "latin-1"            # utf-8 if left out; also cp1252, utf-16, …
# header = false                  # the first line is a row; then columns = ["…", "…"] names all columns in their order
# compression = "gzip"            # none, gzip, zstd, bz2 or zip; from the file's name if left out
# line_end = "cr"                 # lines end with a carriage return only; from the header if left out

# [report]                        # what every report says in addition to the numbers
# title = "…"                     # its heading; office, contact and notes = ["…"] are shown, too
"""

_TYPES = """\
# Types: integer (min, max), numeric (min, max, bins), categorical (levels), boolean, date (min, max, by), datetime
# (min, max, by, zone), duration (min, max, bins, unit), identifier (a name, without cells); and point, a place given by
# two columns: longitude = "lng", latitude = "lat", box = [west, south, east, north], grid = 20.
"""
_EVERY = """\
# Any attribute: column = "Pay (USD)" is the column's name, if it differs from the attribute's; missing = ["NA", -99]
# are words and numbers that mean that the value is missing. [attributes."q*"] declares every column that matches.
"""
_HINTS = {
    ("integer", "numeric", "text"): """\
# Numbers are read like 1250.5, -3 or 2e6; currency = "$", thousands = "," and decimal = "," change that. step = 5
# makes cells of five whole numbers, edges = [0, 10, 100] cells with your own bounds.
""",
    ("categorical", "text"): """\
# Levels are read as they are written: spaces around them do not matter, capitals do unless case = "ignore".
# Many levels can be in a file, one per line: levels_file = "zips.txt". To recode: levels = {"north" = ["BX", "MN"]}
# with groups = {"city" = ["north"]}; first = 2 uses only the first two characters; to look texts up in a public table:
# lookup = {file = "zips.csv", key = "zip", value = "region"}. Names of people are not levels: type = "identifier".
""",
    ("date", "datetime", "text"): """\
# Dates are read like 2024-03-01, or as format = "%m/%d/%Y" says. by = "hour", "day", "week", "month", "quarter",
# "year", or without bounds "hour of day", "weekday", "month of year"; zone is the time zone, such as "Europe/Berlin".
""",
}
"""Hints about columns of some kinds."""

_FILL_IN: dict[str, dict[str, object]] = {
    "integer": {"min": 0, "max": 100},
    "numeric": {"min": 0, "max": 100},
    "categorical": {"levels": ["a", "b"]},
    "date": {"min": "2020-01-01", "max": "2029-12-31"},
    "datetime": {"min": "2020-01-01", "max": "2029-12-31"},
    "duration": {"min": 0, "max": 120},
    "text": {"type": "integer"},
}
"""Keys that only a person can fill in, with an example."""
_CHOSEN: dict[str, dict[str, object]] = {
    "numeric": {"bins": 20},
    "date": {"by": "month"},
    "datetime": {"by": "day", "zone": "UTC"},
    "duration": {"bins": 24, "unit": "minutes"},
}
"""Keys that can be chosen without knowing the column."""
_LEAST_ALIKE = 3


class ColumnFacts(NamedTuple):
    """What is public about a column: its name, its type as its table calls it, and the kind of attribute for it."""

    name: str
    type: str
    kind: str


def entry(name: str, kind: str, comment: str = "", known: Mapping[str, object] | None = None) -> str:
    """The lines of one attribute: the *known* keys, keys with a default choice, and keys to be filled in.

    >>> print(entry("age", "integer", "years", {"min": 0}))
    [attributes.age]   # years
    type = "integer"
    min = 0
    # max = 100   # fill in
    <BLANKLINE>
    """
    said = known or {}
    printable = "".join(character if character.isprintable() else " " for character in " ".join(comment.split()))
    lines = [f"[attributes.{toml_key(name)}]" + (f"   # {printable}" if comment else "")]
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


def draft(columns: Sequence[ColumnFacts], *, text: bool, file: FileFormat = PLAIN) -> str:
    """A schema for a table with these columns, in a *text* file or not; similar columns share a pattern."""
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"the table has several columns called {listing(twice)}. Rename all but one.")
    said = "".join(f"{key} = {toml_value(value)}\n" for key, value in file.to_dict().items())
    how = [f"[file]\n{said}" if said else _FILE] if text else []
    kinds = {column.kind for column in columns}
    return "\n".join([_HEADER + UNIT, *how, _hints(kinds), *(entry(*own) for own in _grouped(columns))])


def headless_draft(file: FileFormat = PLAIN) -> str:
    """A draft for a file without a header, from which nothing is read."""
    own = "".join(f"{key} = {toml_value(value)}\n" for key, value in file.to_dict().items() if key != "columns")
    if "header" not in own:
        own = f"header = false\n{own}"
    names = '# columns = ["age", "sex"]   # fill in: a name for every column, in their order'
    example = entry("age", "text", "one such table for every column that queries may use")
    return "\n".join([_HEADER + UNIT, f"[file]\n{own}{names}\n", _hints({"text"}), example])


def _hints(kinds: set[str]) -> str:
    """The hints about columns of these kinds, each once."""
    types = _TYPES if "text" in kinds else ""
    return types + _EVERY + "".join(hint for about, hint in _HINTS.items() if kinds & set(about))


def _grouped(columns: Sequence[ColumnFacts]) -> list[tuple[str, str, str]]:
    """The name, kind and comment of each entry: a pattern where columns of one type differ only in their digits, and no
    other column matches it."""
    patterns = [re.sub(r"\d+", "*", column.name) for column in columns]
    alike: dict[tuple[str, str, str], list[str]] = {}
    for pattern, (name, type_, kind) in zip(patterns, columns, strict=True):
        alike.setdefault((pattern, type_, kind), []).append(name)
    entries = {}
    for pattern, (name, type_, kind) in zip(patterns, columns, strict=True):
        group = alike[pattern, type_, kind]
        alone = group == [column.name for column in columns if matches(pattern, column.name)]
        if alone and len(group) >= _LEAST_ALIKE and pattern.strip("*") and "*" not in name:
            entries[pattern] = (pattern, kind, f"{group[0]} … {group[-1]}: {type_}")
        else:
            entries[name] = (name, kind, type_)
    return list(entries.values())


_HEADS = {
    "name": ("variable", "variable name", "column", "column name", "field", "field name", "name", "var", "varname"),
    "type": ("type", "data type", "datatype", "variable type", "field type", "storage type"),
    "label": ("label", "variable label", "field label", "description", "title", "question", "definition"),
    "min": ("min", "minimum", "min value", "minimum value", "lower", "lower bound", "low", "from", "valid min"),
    "max": ("max", "maximum", "max value", "maximum value", "upper", "upper bound", "high", "to", "valid max"),
    "codes": (
        *("codes", "code", "values", "value", "levels", "level", "categories", "category", "choices", "range"),
        *("allowed values", "valid values", "enum", "value labels", "choices calculations or slider labels"),
    ),
    "meaning": ("value label", "code label", "category label", "level label", "meaning", "value labels", "labels"),
    "missing": ("missing", "missing values", "missing value", "missing codes", "na"),
    "format": ("format", "date format"),
    **{key: (key,) for key in ("bins", "step", "by", "zone", "decimal", "thousands", "currency")},
}
_SAID = ("min", "max", "format", "bins", "step", "by", "zone", "decimal", "thousands", "currency")
"""Keys that are copied as they are. (``_HEADS`` has the titles of a code book's columns, the likeliest first.)"""
_KINDS = {
    "integer": "integer int uint long short smallint bigint tinyint byte whole wholenumber year count",
    "numeric": "numeric number num float double doubleprecision decimal real continuous percent percentage money",
    "categorical": "categorical category factor string text str char character varchar charactervarying nominal "
    "ordinal enum enumeration coded code choice radio dropdown",
    "boolean": "boolean bool logical flag yesno truefalse binary",
    "date": "date day",
    "datetime": "datetime timestamp",
    "duration": "duration interval timedelta",
    "identifier": "identifier id key uuid guid",
    "unusable": "object array list geojson geopoint time yearmonth",
    "text": "any",
}
_KIND_OF_WORD = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_NUMBER = r"-?\d{1,30}(?:\.\d{1,30})?"
_RANGE = re.compile(rf"\[?\s*({_NUMBER})\s*(?:-|–|—|to|\.{{2,3}}|…|:)\s*({_NUMBER})\s*\]?")
_ADVICE = "Give a code book (CSV), or a Frictionless table schema or data package (JSON)"
_MADE = """\
# Made from {}, which must be public. Fill in the lines with "fill in"; bins, by and zone are choices.

"""


@dataclass
class Variable:
    """What a dictionary says about one variable."""

    name: str
    where: str
    kind: str | None = None
    label: str = ""
    said: dict[str, Any] = field(default_factory=dict)
    """Keys of its attribute, as written in the dictionary."""
    codes: list[tuple[Any, str]] = field(default_factory=list)
    """Its codes, each with its meaning, or an empty text."""

    def entry(self) -> str:
        """The lines of its attribute, which is checked if nothing is left to be filled in."""
        kind, known = self._read()
        lines = entry(self.name, kind, self.label, known)
        if not set(_FILL_IN.get(kind, ())) - set(known):
            try:
                Schema.from_toml(lines)
            except SchemaError as error:
                raise SchemaError(f"{self.where}: {error}") from None
        return lines

    def _read(self) -> tuple[str, dict[str, object]]:
        """The kind of attribute, and the values of its keys that the dictionary gives."""
        known, kind, bounds = dict(self.said), self.kind, []
        if kind in ("integer", "numeric", None):
            bounds = [self._number(key, whole=kind == "integer") for key in ("min", "max") if key in known]
            known |= dict(zip([key for key in ("min", "max") if key in known], bounds, strict=True))
        if len(bounds) == 2:
            low, high = bounds
            if low > high:
                raise SchemaError(f"{self.where}: {self.name!r} has the bounds {low} and {high}. Swap them?")
            codes = [_plain(code) for code, _ in self.codes]
            within = [code for code in codes if isinstance(code, int | float) and low <= code <= high]
            if codes and len(within) <= high - low:  # otherwise every number has a meaning: they are levels
                known["missing"] = [*known.get("missing", ()), *(code for code in codes if code not in within)]
                self.codes.clear()
        if self.codes:
            kind, known["levels"] = "categorical", self._levels()
        elif kind is None and bounds:
            kind = "integer" if all(type(bound) is int for bound in bounds) else "numeric"
        if "%" not in str(known.get("format", "")):
            known.pop("format", None)
        allowed = () if kind in (None, "unusable", "text") else keys_of(kind)
        return kind or "text", {key: value for key, value in known.items() if key in allowed and value != []}

    def _number(self, key: str, *, whole: bool) -> int | float:
        number = _plain(self.said[key])
        if not isinstance(number, int | float) or (whole and number != int(number)):
            words = "a whole number" if whole else "a number"
            raise SchemaError(f"{self.where}: {key} of {self.name!r} must be {words}, given {shorten(self.said[key])}.")
        return int(number) if whole else number

    def _levels(self) -> object:
        """The levels: the codes themselves, or their meanings with the codes as spellings."""
        codes, meanings = [code for code, _ in self.codes], [meaning for _, meaning in self.codes if meaning]
        twice = [text for several in (codes, meanings) for text in several if several.count(text) > 1]
        if twice:
            raise SchemaError(
                f"{self.where}: {self.name!r} has {shorten(twice[0])} twice among its codes. Write it once."
            )
        if meanings:
            return {meaning or str(code): [str(code)] for code, meaning in self.codes}
        plain = [_plain(code) for code in codes]
        whole = self.kind in ("integer", "numeric") and all(type(code) is int for code in plain)
        return plain if whole else [str(code) for code in codes]


def schema_from(path: str, *, table: str | None = None, file: FileFormat = PLAIN) -> str:
    """The text of a schema made from a dictionary: a code book, or a Frictionless table schema or data package (JSON).

    *table* names one of several tables of a package; *file* says how the code book is written.
    """
    name, said, defaults = os.path.basename(path), "", ""
    if path.lower().endswith(".json"):
        own, missing, variables = _frictionless(path, table)
        said = "".join(f"{key} = {toml_value(value)}\n" for key, value in own.to_dict().items())
        defaults = f"\n[defaults]\nmissing = {toml_value(missing)}\n" if missing else ""
    else:
        variables = _code_book(path, file)
    names = [variable.name for variable in variables]
    if not names:
        raise SchemaError(f"{name} names no variable. Name one in each line.")
    check_case(names)
    head = _MADE.format(name) + UNIT + (f"\n[file]\n{said}" if said else "") + defaults
    return "\n".join([head, *(variable.entry() for variable in variables)])


# ---- code books ------------------------------------------------------------------------------------------------------


def _code_book(path: str, file: FileFormat) -> list[Variable]:
    """The variables of a code book, each at the place where it is first named."""
    lines: dict[str, list[tuple[str, dict[str, str]]]] = {}
    name = ""
    for line, cells in _cells(path, file):
        where = f"{os.path.basename(path)}, row {line}"
        name = cells.get("name", name)
        if not name:
            raise SchemaError(f"{where} names no variable. Write its name.")
        lines.setdefault(name, []).append((where, cells))
        if len(lines[name]) > 1 and not all("codes" in cells for _, cells in lines[name]):
            raise SchemaError(f"{where} names {name!r} a second time. Write one line for each variable.")
    return [_of_lines(name, own) for name, own in lines.items()]


def _of_lines(name: str, lines: Sequence[tuple[str, dict[str, str]]]) -> Variable:
    """A variable of one line, or of one line for each of its codes, in which case labels are those of the codes."""
    where, first = lines[0]
    variable = Variable(name, where, _kind(first.get("type", ""), name, where))
    several = len(lines) > 1
    variable.label = "" if several and "meaning" not in first else first.get("label", "")
    for _, cells in lines:
        codes = _codes(cells.get("codes", ""))
        meaning = cells.get("meaning") or (cells.get("label", "") if several else "")
        if isinstance(codes, dict):
            variable.said |= codes
        else:
            variable.codes += [(code, own or (meaning if len(codes) == 1 else "")) for code, own in codes]
    variable.said |= {key: _plain(cell) for key, cell in first.items() if key in _SAID}
    if "missing" in first:
        variable.said["missing"] = [
            _plain(word) for part in re.split("[;|,]", first["missing"]) if (word := part.strip())
        ]
    return variable


def _cells(path: str, file: FileFormat) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each row, as in a spreadsheet, and its nonempty cells by their role."""
    name = os.path.basename(path)
    text = public_text(path, name, f"{_ADVICE}, and say with --encoding how it is written", file.encoding)
    rows = csv_rows(text, name, file.delimiter)
    places = _places(next(rows, []), name)
    for line, row in enumerate(rows, 2):
        cells = {role: row[place].strip() for role, place in places.items() if place < len(row)}
        if any(cells.values()):
            yield line, {role: cell for role, cell in cells.items() if cell}


def _places(header: Sequence[str], name: str) -> dict[str, int]:
    """The place of each role among the columns of a code book."""
    plain = [re.sub(r"[^a-z]+", " ", title.lower()).strip() for title in header]
    places: dict[str, int] = {}
    for role, titles in _HEADS.items():
        known = [plain.index(title) for title in titles if title in plain]
        free = [place for place in known if place not in places.values()]
        if free:
            places[role] = free[0]
    if not header:
        raise SchemaError(f"{name} is empty. Give a code book with a header.")
    if "name" not in places:
        raise SchemaError(
            f"{name} has no column for the names of the variables. Call one of its columns 'variable' in the first "
            f"line, which has {listing(header)}."
        )
    return places


def _kind(text: str, name: str, where: str) -> str | None:
    """The kind of attribute for a type; None if no type is given."""
    if not text:
        return None
    word = re.sub(r"[^a-z]+", "", re.sub(r"[(\[<].*", "", text.lower()))
    if word not in _KIND_OF_WORD:
        raise SchemaError(
            f"{where}: {name!r} has the unknown type {shorten(text)}. Write one of {listing(list(_KINDS)[:-2])}."
            + suggestion(word, list(_KINDS)[:-2])
        )
    return _KIND_OF_WORD[word]


def _codes(text: str) -> list[tuple[Any, str]] | dict[str, str]:
    """The codes in a cell such as ``1=Yes; 2=No`` or ``F, M``, each with its meaning; or the bounds of a range.

    >>> _codes("1=Yes; 2=No, never"), _codes("F, M"), _codes("0-120")
    ([('1', 'Yes'), ('2', 'No, never')], [('F', ''), ('M', '')], {'min': '0', 'max': '120'})
    >>> _codes("1, Yes | 2, No")
    [('1', 'Yes'), ('2', 'No')]
    """
    if bounds := _RANGE.fullmatch(text):
        return {"min": bounds[1], "max": bounds[2]}
    parts = re.split(r"[;|\n]", text)
    if len(parts) == 1:
        parts = re.split(r",(?=[^,=]+=)" if "=" in text else ",", text)
    between = re.compile(r"=|:\s|\s[-–]\s" + r"|,\s" * ("|" in text))
    pairs = [_pair(part.strip(), between) for part in parts]
    return [(code.strip(" \"'"), meaning.strip(" \"'")) for code, meaning in pairs if code.strip()]


def _pair(part: str, between: re.Pattern[str]) -> tuple[str, str]:
    """A code and its meaning, which is empty if there is none."""
    found = between.search(part, 1)
    return (
        (part[: found.start()].strip(), part[found.end() :].strip())
        if found and found.end() < len(part)
        else (part, "")
    )


def _plain(text: Any) -> Any:
    """The number that a text shows; any other value unchanged."""
    if isinstance(text, str) and re.fullmatch(_NUMBER, text):
        return int(text) if "." not in text else float(text)
    return text


# ---- Frictionless ----------------------------------------------------------------------------------------------------


def _frictionless(path: str, table: str | None) -> tuple[FileFormat, list[Any], list[Variable]]:
    """How the files of a table are written, the words for missing values, and the fields as variables."""
    content, name = _json(path), os.path.basename(path)
    resource: Mapping[str, Any] = {}
    if "resources" in content:
        tables = {str(own.get("name", place)): own for place, own in enumerate(_mappings(content["resources"], name))}
        if table is None and len(tables) != 1:
            raise SchemaError(f"{name} has the tables {listing(tables)}. Say which of them with --table NAME.")
        if table is not None and table not in tables:
            raise SchemaError(f"in {name}, {no_such('table', table, tables)}")
        resource = next(iter(tables.values())) if table is None else tables[table]
    schema = resource.get("schema", content)
    if isinstance(schema, str):
        schema = _json(os.path.join(os.path.dirname(path), schema))
    if not isinstance(schema, Mapping) or "fields" not in schema:
        raise SchemaError(f"{name} has no fields, as a Frictionless table schema has. Give one, or a code book in CSV.")
    keys = schema.get("primaryKey") or []
    keys = keys if isinstance(keys, str | list) else []
    variables: dict[str, Variable] = {}
    for place, field_ in enumerate(_mappings(schema["fields"], name), 1):
        where, own = f"{name}, field {place}", field_.get("name")
        if not isinstance(own, str) or not own:
            raise SchemaError(f"{where} has no name.")
        if own in variables:
            raise SchemaError(f"{where} is called {own!r}, like another field. Rename one of them.")
        variables[own] = _variable(field_, own, where, key=own in ([keys] if isinstance(keys, str) else keys))
    said, dialect = resource.get("encoding"), resource.get("dialect", {})
    written: dict[str, Any] = {} if said is None else {"encoding": said}
    if isinstance(dialect, Mapping):
        written |= {"delimiter": dialect["delimiter"]} if dialect.get("delimiter", ",") != "," else {}
        written |= {"header": False, "columns": list(variables)} if dialect.get("header") is False else {}
    return FileFormat(**written), _words(schema.get("missingValues")), list(variables.values())


def _variable(given: Mapping[str, Any], name: str, where: str, *, key: bool) -> Variable:
    """A field as a variable; a key of the table is an identifier."""
    limits = given.get("constraints", {})
    limits = limits if isinstance(limits, Mapping) else {}
    kind = _kind(str(given.get("type") or "any"), name, where)
    variable = Variable(
        name, where, "identifier" if key else kind, str(given.get("title") or given.get("description") or "")
    )
    if key:
        return variable
    said = {"min": limits.get("minimum"), "max": limits.get("maximum"), "missing": _words(given.get("missingValues"))}
    if kind in ("integer", "numeric"):
        said |= {"decimal": given.get("decimalChar"), "thousands": given.get("groupChar")}
    if kind in ("date", "datetime") and "%" in str(given.get("format", "")):
        said["format"] = str(given["format"]).removeprefix("fmt:")
    variable.said = {key: value for key, value in said.items() if value not in (None, [], "")}
    listed = given.get("categories") or limits.get("enum") or []
    for code in listed if isinstance(listed, list) else []:
        pair = (code.get("value"), str(code.get("label", ""))) if isinstance(code, Mapping) else (code, "")
        variable.codes.append(pair if isinstance(pair[0], str | int) else (str(pair[0]), pair[1]))
    if kind == "boolean" and ("trueValues" in given or "falseValues" in given):
        levels = {word: _words(given.get(f"{word}Values")) for word in ("true", "false")}
        variable.kind, variable.said = "categorical", {**variable.said, "levels": levels}
    return variable


def _words(given: object) -> list[Any]:
    """A list of words and numbers, such as those for missing, without the empty text."""
    words = given if isinstance(given, list) else []
    return [_plain(word) for word in words if isinstance(word, str | int) and word != ""]


def _mappings(given: object, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise SchemaError(f"{name} is not a Frictionless table schema: its fields and tables must be lists of objects.")
    return given


def _json(path: str) -> Mapping[str, Any]:
    name, content = os.path.basename(path), None
    text = public_text(path, name, _ADVICE)
    with suppress(ValueError, RecursionError):
        content = json.loads(text)
    if not isinstance(content, Mapping):
        raise SchemaError(f"{name} is not a JSON object. {_ADVICE}.")
    return content


# ---- presets ---------------------------------------------------------------------------------------------------------


@cache
def presets() -> dict[str, str]:
    """The text of every preset by its name: attributes that many tables have, written from public knowledge."""
    folder = files("adyton.schema").joinpath("presets")
    texts = {
        file.name.removesuffix(".toml"): file.read_text("utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }
    return dict(sorted(texts.items()))


def preset(name: str) -> str:
    """The text of one preset.

    >>> print(preset("adult-ages").splitlines()[0])
    # Ages of adults in years: 18 to 99, the older counted with 99.
    """
    if name not in presets():
        raise BadInput(no_such("preset", name, presets()))
    return presets()[name]


def listed() -> str:
    """A line for each preset: its name and its first line, a description."""
    return "".join(f"{name}: {text.splitlines()[0].removeprefix('# ')}\n" for name, text in presets().items())
