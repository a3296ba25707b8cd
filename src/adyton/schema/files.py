"""Schema files: reading and writing TOML, with a message for everything that can be wrong in it.

The tables ``[file]`` and ``[report]`` say how text files are written, and what reports say in addition to the numbers.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.attributes import Attribute, Boolean, Categorical, Identifier
from adyton.schema.look_up_files import LevelsFile, public_text
from adyton.schema.numbers import Duration, Integer, Latitude, Longitude, Numeric, Point
from adyton.schema.reading import EVERY_KEY, LookUp, check_keys, writable
from adyton.schema.times import Date, Datetime

COMPRESSIONS = ("none", "gzip", "zstd", "bz2", "zip")
LINE_ENDS = ("lf", "cr")
ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "latin-1",
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(f"cp125{page}" for page in range(9)), "cp437", "cp850", "cp852", "cp858", "cp866", "koi8-r", "koi8-u",
    "mac-roman",
    "cp932", "shift_jis", "gbk", "gb18030", "big5", "cp949", "euc-kr", "euc-jp",
)  # fmt: skip
"""Encodings in which no byte of a letter is a line end, and no line changes how the next is read."""
_ALIASES = {"utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso-8859-1": "latin-1", "windows-1252": "cp1252"}


@dataclass(frozen=True)
class FileFormat:
    """How a CSV file is written.

    *delimiter* is one character, by default the most frequent candidate in the header. Without a *header*, *columns*
    names the columns in their order. By default, *compression* follows from the file's name and *line_end* from the
    header; ``"lf"`` is also for files with ``\\r\\n``.

    >>> FileFormat(delimiter=";", encoding="latin1")
    FileFormat(delimiter=';', header=True, columns=None, encoding='latin-1', compression=None, line_end=None)
    """

    delimiter: str | None = None
    header: bool = True
    columns: Sequence[str] | None = None
    encoding: str = "utf-8"
    compression: str | None = None
    line_end: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            _check_delimiter(self.delimiter)
        if not isinstance(self.header, bool):
            raise SchemaError(f"header must be true or false, given {shorten(self.header)}.")
        object.__setattr__(self, "columns", self._checked_columns())
        object.__setattr__(self, "encoding", _checked_encoding(self.encoding))
        for name, allowed in (("compression", COMPRESSIONS), ("line_end", LINE_ENDS)):
            given = getattr(self, name)
            if given is not None and not (isinstance(given, str) and given in allowed):
                raise SchemaError(f"{name} must be one of {listing(allowed)}, given {shorten(given)}.")

    def _checked_columns(self) -> tuple[str, ...] | None:
        if self.columns is None:
            if not self.header:
                raise SchemaError(
                    "a file without a header needs the names of its columns, because its first line is a row. Write "
                    'columns = ["age", "sex"] with a name for every column, in their order.'
                )
            return None
        if self.header:
            raise SchemaError(
                "columns names the columns of a file without a header. Write header = false, or leave it out."
            )
        if isinstance(self.columns, str) or not hasattr(self.columns, "__iter__"):
            raise SchemaError(f'columns must be a list of names, given {shorten(self.columns)}. Write ["age", "sex"].')
        names = tuple(self.columns)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise SchemaError(f"columns must be a list of names, given {shorten(list(names))}.")
        for name in names:
            writable(name, "the name of a column")
        return names

    def to_dict(self) -> dict[str, Any]:
        """The table ``[file]`` of a schema file, without defaults."""
        return _unusual(self)

    @classmethod
    def from_dict(cls, content: object) -> FileFormat:
        """From the table ``[file]`` of a schema file."""
        return _from_table(cls, content, "file")


def _check_delimiter(given: object) -> None:
    single = isinstance(given, str) and len(given) == 1 and given.isascii()
    if single and (given == "\t" or (str(given).isprintable() and not str(given).isalnum() and str(given) not in ' "')):
        return
    raise SchemaError(
        f"delimiter must be one character such as ',', ';', '|' or a tab (\"\\t\"), given {shorten(given)}. Letters, "
        "digits, blanks and quotes cannot be delimiters."
    )


def _checked_encoding(given: object) -> str:
    if isinstance(given, str):
        known = {_folded(name): name for name in ENCODINGS} | {_folded(name): known for name, known in _ALIASES.items()}
        if _folded(given) in known:
            return known[_folded(given)]
    raise SchemaError(
        f"the encoding {shorten(given)} is not among those that can be read: {listing(ENCODINGS, 60)}."
        + suggestion(given, ENCODINGS)
    )


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace("windows", "cp")


PLAIN = FileFormat()


_CLASSES = (Categorical, Boolean, Integer, Numeric, Date, Datetime, Duration, Point, Longitude, Latitude, Identifier)
_TYPES: dict[str, type[Attribute] | type[Point]] = {attribute.kind: attribute for attribute in _CLASSES}
_WHOLE = ("rows_per_unit", "rows", "unit", "no_unit", "multiline", "keep_texts", "file", "report")
"""The keys about the table as a whole."""
_POLICIES = ("nulls", "outside")
_PYTHON = ("reading", "spellings")
"""Arguments of attributes in Python that are not keys of a schema file, and add nothing to those keys."""
_REQUIRED: dict[str, tuple[str, ...]] = {
    "categorical": ("levels",),
    "integer": ("min", "max"),
    "point": ("box", "grid"),
}
_DEFAULTS = {"nulls": "drop", "outside": "drop", "step": 1, "every": 1, "groups": ()}
SHARED = (*_POLICIES, "zone", "format", *(key for key in EVERY_KEY if key not in ("column", "first", "lookup")))
"""The keys that [defaults] may set for all attributes that have them."""


def keys_of(kind: str) -> tuple[str, ...]:
    """The keys of a type of attribute: the arguments of its class. Keys about reading values come last.

    >>> keys_of("duration")
    ('min', 'max', 'bins', 'edges', 'unit', 'nulls', 'outside', 'column', 'missing')
    """
    names = [key.name for key in fields(_TYPES[kind]) if key.name not in _PYTHON]
    return tuple(sorted(names, key=lambda name: (name in _POLICIES) + 2 * (name in EVERY_KEY)))


def read_toml(source: str | Path) -> dict[str, Any]:
    """The content of a TOML file, or of a TOML text of several lines."""
    if isinstance(source, str) and "\n" in source:
        text, origin = source, "the schema"
    elif isinstance(source, str | Path):
        origin = f"the schema file {str(source)!r}"
        text = public_text(source, origin, "Give the path of a TOML file")
    else:
        raise SchemaError(f"a schema is read from a path or a TOML text, given {shorten(source)}.")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SchemaError(f"{origin} is not valid TOML: {error}.") from None


def attributes_from_dict(
    content: Mapping[str, Any], folder: str = ""
) -> tuple[dict[str, Attribute | Point], dict[str, Any]]:
    """The attributes in the content of a schema file in that folder, and its keys about the whole table."""
    if not isinstance(content, Mapping):
        raise SchemaError(f"the content of a schema must be a mapping, given {shorten(content)}.")
    check_keys(content, (*_WHOLE, "types", "defaults", "attributes"), "the schema")
    tables, types, defaults = (_tables(content, name) for name in ("attributes", "types", "defaults"))
    check_keys(defaults, SHARED, "[defaults]")
    for name, table in types.items():
        where = f"[types.{toml_key(name)}]"
        if name in _TYPES:
            raise SchemaError(f"{where} has the name of an existing type. Choose another name.")
        check_keys(table, ("type", *keys_of(_kind(table, where, _TYPES))), where)
    attributes = {}
    for name, table in tables.items():
        where = f"attribute {shorten(name)}"
        kind = _kind(table, where, {**_TYPES, **types})
        shared = types.get(kind, {"type": kind})
        own = {**shared, **table, "type": shared["type"]}
        attributes[name] = _attribute(where, own.pop("type"), own, defaults, folder)
    return attributes, {key: content[key] for key in _WHOLE if key in content}


def _tables(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a schema file."""
    table, shown = content.get(name, {}), {"types": "[types.likert]", "defaults": "[defaults]"}
    if not isinstance(table, Mapping):
        what = shown.get(name, "[attributes.age]")
        raise SchemaError(f"{name} must be tables like {what}, given {shorten(table)}.")
    return table


def _kind(table: object, where: str, known: Mapping[str, object]) -> str:
    """The type that a table names; an error if it is not known."""
    if not isinstance(table, Mapping):
        raise SchemaError(f"{where} must be a table like [attributes.age], given {shorten(table)}.")
    kind = table.get("type")
    if kind is None:
        raise SchemaError(f"{where} has no type. Write type = one of {listing(known)}.")
    if not isinstance(kind, str) or kind not in known:
        raise SchemaError(
            f"{where} has the unknown type {shorten(kind)}. There are {listing(known)}.{suggestion(kind, known)}"
        )
    return kind


def _attribute(
    where: str, kind: str, table: dict[str, Any], defaults: Mapping[str, Any], folder: str
) -> Attribute | Point:
    """One attribute of a known type; *defaults* hold for keys that it leaves out."""
    allowed = keys_of(kind)
    check_keys(table, ("type", *allowed), where)
    missing = [key for key in _REQUIRED.get(kind, ()) if key not in table and f"{key}_file" not in table]
    if missing:
        raise SchemaError(
            f"{where} has no {' and no '.join(missing)}: {kind} needs {' and '.join(_REQUIRED[kind])}. "
            "In a draft, uncomment these lines and fill them in from public knowledge."
        )
    taken = {key: value for key, value in defaults.items() if key in allowed and key not in table}
    own = {**table, **taken}
    try:
        for key, file in (("lookup", LookUp), ("levels_file", LevelsFile)):
            if key in own:
                own[key] = file.of(own[key], folder)
        return _TYPES[kind](**own)
    except SchemaError as error:
        said = next((key for key in taken if str(error).startswith(key)), None)
        hint = "" if said is None else f" (This is set in [defaults]; the attribute can set its own {said} = ….)"
        raise SchemaError(f"{where}: {error}{hint}") from None


def attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    """The entry of an attribute in a schema file, without defaults; for a file of levels, the levels themselves."""
    entries: dict[str, Any] = {"type": attribute.kind}
    hidden = {"min", "max", "bins"} if getattr(attribute, "edges", None) is not None else {"edges"}
    for key in keys_of(attribute.kind):
        value = getattr(attribute, key)
        if key not in (*hidden, *EVERY_KEY, "levels_file") and value != _DEFAULTS.get(key):
            entries[key] = _plain(value)
    if isinstance(attribute, Categorical):
        if attribute.spellings:
            entries["levels"] = {str(level): list(own) for level, own in _spelled(attribute)}
        if attribute.groups:
            entries["groups"] = {name: list(own) for name, own in dict(attribute.groups).items()}
    return entries | attribute.reading.to_dict()


def _spelled(attribute: Categorical) -> Iterator[tuple[object, Sequence[str]]]:
    return zip(attribute.levels, attribute.spellings, strict=True)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def write_toml(content: Mapping[str, Any]) -> str:
    """The TOML text of a content that :func:`attributes_from_dict` reads."""
    tables = [key for key in ("file", "report") if key in content]
    lines = [f"{key} = {toml_value(content[key])}" for key in _WHOLE if key in content and key not in tables]
    for table in tables:
        lines += ["", f"[{table}]", *(f"{key} = {toml_value(value)}" for key, value in content[table].items())]
    for name, entries in content["attributes"].items():
        lines += ["", f"[attributes.{toml_key(name)}]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern, in which a * matches any characters, or none.

    >>> matches("q*", "q12"), matches("q*", "age")
    (True, False)
    """
    first, *parts = pattern.split("*")
    if not parts:
        return name == pattern
    last = parts.pop()
    place, end = len(first), len(name) - len(last)
    if place > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in parts:  # the first place of each leaves the most for the others
        place = name.find(part, place, end) + len(part)
        if place < len(part):
            return False
    return True


def toml_key(name: str) -> str:
    """A name as a TOML key, quoted where necessary."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml_value(name)


def toml_value(value: object) -> str:
    """A value in TOML notation."""
    if isinstance(value, list):
        return f"[{', '.join(toml_value(entry) for entry in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_key(key)} = {toml_value(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


_LONGEST_WORDS, _MOST_NOTES = 2000, 50
_NOTES = 'Write notes = ["Visits of day patients are not counted."].'


@dataclass(frozen=True)
class ReportWords:
    """The table ``[report]`` of a schema file. It does not change what is counted, or what that costs.

    >>> ReportWords(title="Visits in 2024", office="City Hospital", notes="Day patients are not counted.").notes
    ('Day patients are not counted.',)
    """

    title: str = ""
    """The heading of every report."""
    office: str = ""
    """Who publishes it."""
    contact: str = ""
    """Whom to ask: an address, a telephone number, a page."""
    notes: str | Sequence[str] = ()
    """What readers should know, in paragraphs."""

    def __post_init__(self) -> None:
        for name in ("title", "office", "contact"):
            _check_words(getattr(self, name), name)
        given: Any = self.notes
        if isinstance(given, Mapping | bytes) or not hasattr(given, "__iter__"):
            raise SchemaError(f"notes must be a text or a list of texts, given {shorten(given)}. {_NOTES}")
        notes = (given,) if isinstance(given, str) else tuple(given)
        if len(notes) > _MOST_NOTES:
            raise SchemaError(f"a report has at most {_MOST_NOTES} notes, given {len(notes)}. Join some of them.")
        for note in notes:
            _check_words(note, "a note")
        object.__setattr__(self, "notes", tuple(note for note in notes if note.strip()))

    def to_dict(self) -> dict[str, Any]:
        """The table ``[report]`` of a schema file, without defaults."""
        return _unusual(self)

    @classmethod
    def of(cls, given: object) -> ReportWords:
        """From the table ``[report]`` of a schema file."""
        return given if isinstance(given, cls) else _from_table(cls, given, "report")


def _check_words(text: object, name: str) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST_WORDS:
        raise SchemaError(
            f"{name} of a report must be a text of at most {_LONGEST_WORDS:,} characters, given {shorten(text)}."
        )
    writable(text, f"{name} of a report")


NO_WORDS = ReportWords()

_Table = TypeVar("_Table", FileFormat, ReportWords)


def _from_table(cls: type[_Table], given: object, name: str) -> _Table:
    """The file format or the words of a report, from a table of a schema file."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"{name} must be a table like [{name}], given {shorten(given)}.")
    check_keys(given, [key.name for key in fields(cls)], f"[{name}]")
    return cls(**given)


def _unusual(table: FileFormat | ReportWords) -> dict[str, Any]:
    """The values of such a table that differ from the defaults."""
    plain = {key.name: getattr(table, key.name) for key in fields(table) if getattr(table, key.name) != key.default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
