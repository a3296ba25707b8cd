"""The schema: the attributes of a table, in the order of the axes, how many rows a person may have, which column says
whose row it is, and what every report says in addition to the numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from adyton.errors import SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.schema.attributes import Attribute, Identifier
from adyton.schema.files import (
    NO_WORDS,
    PLAIN,
    FileFormat,
    ReportWords,
    attribute_to_dict,
    attributes_from_dict,
    matches,
    read_toml,
    write_toml,
)
from adyton.schema.numbers import Integer, Point, axes_of
from adyton.schema.reading import whole_number, writable
from adyton.whole import SAFE

DROP, ONE = "drop", "one"
NO_UNIT = (DROP, ONE)
"""Rows without a unit are left out, or all of them form one unit with the same limit. They cannot each be a unit: a
person could then have any number of blank rows."""
_LONGEST_NAME = 1000


class Schema:
    """What is public about a table: its *attributes* by name, in the order of the axes, and *rows_per_unit*, the most
    rows that one privacy unit (a person) contributes.

    *unit* is the column that says whose row it is: each value is one privacy unit, and at most *rows_per_unit* of its
    rows are kept. Without a unit, *rows_per_unit* is an assumption that nothing enforces. *no_unit* says what happens
    to rows without a unit: ``drop``, or ``one``: all of them are one unit. *rows* is a public guess of the number of
    rows. *multiline* allows line ends inside the quotes of a CSV file, and *file* says how text files are written. With
    *keep_texts*, columns whose texts would leave their server to be read are refused. *report* is what every report
    says in addition to the numbers; schemas that differ only in it are equal.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> schema.shape, schema.cells
    ((120, 2), 240)
    """

    __slots__ = ("attributes", "file", "keep_texts", "multiline", "no_unit", "report", "rows", "rows_per_unit", "unit")
    """No instance has an attribute that could hide a method: the kernel asks the same schema several times."""

    attributes: Mapping[str, Attribute]
    rows_per_unit: int
    unit: str | None
    no_unit: str
    rows: int | None
    multiline: bool
    keep_texts: bool
    file: FileFormat
    report: ReportWords

    def __init__(
        self,
        attributes: Mapping[str, Attribute | Point],
        rows_per_unit: int = 1,
        *,
        multiline: bool = False,
        file: FileFormat = PLAIN,
        unit: str | None = None,
        no_unit: str = DROP,
        report: ReportWords | Mapping[str, Any] = NO_WORDS,
        rows: int | None = None,
        keep_texts: bool = False,
    ) -> None:
        declared = declared_attributes(attributes)
        check_unit(unit, no_unit)
        check_case(list(dict.fromkeys([*declared, *([] if unit is None else [unit])])))
        most = whole_number(rows_per_unit, "rows_per_unit")
        if most < 1:
            raise SchemaError(f"rows_per_unit must be at least 1, given {most}: it is the most rows of one person.")
        if rows is not None and not 1 <= whole_number(rows, "rows") <= SAFE:
            raise SchemaError(f"rows must be from 1 to 2^62, given {shorten(rows)}: roughly the number of rows.")
        for name, truth in (("multiline", multiline), ("keep_texts", keep_texts)):
            if not isinstance(truth, bool):
                raise SchemaError(f"{name} must be true or false, given {shorten(truth)}.")
        if not isinstance(file, FileFormat):
            raise SchemaError(f"file must be a FileFormat, given {shorten(file)}.")
        words = report if isinstance(report, ReportWords) else ReportWords.of(report)
        public = MappingProxyType(declared)
        about = rows if rows is None else int(rows)
        values = (public, file, keep_texts, multiline, no_unit, words, about, most, unit)
        for name, value in zip(Schema.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(self.attributes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the attributes are read from, each once."""
        return tuple(dict.fromkeys(self.column_of(name) for name in self.attributes))

    def column_of(self, name: str) -> str:
        """The column that an attribute is read from: the one of its own name, unless it names another."""
        return self.attributes[name].column or name

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names with a ``*`` of attributes that name no column: each means all columns of a table that match.

        >>> from adyton.schema import Integer
        >>> Schema({"age": Integer(0, 119), "q*": Integer(1, 5)}).patterns
        ('q*',)
        """
        return tuple(name for name, own in self.attributes.items() if "*" in name and own.column is None)

    def for_columns(self, present: Sequence[str], unit: str | None = None) -> Schema:
        """The schema for a table with these columns, which are public: a pattern is replaced by the columns that match
        it, in the order of the table, except the unit and those that another attribute reads.

        >>> from adyton.schema import Integer
        >>> Schema({"q*": Integer(1, 5), "q2": Integer(0, 9)}).for_columns(["q1", "q2", "q3"]).names
        ('q1', 'q3', 'q2')
        """
        patterns = [name for name in self.patterns if name not in present]
        if not patterns:
            return self
        matching: dict[str, list[str]] = {pattern: [] for pattern in patterns}
        taken = {*self.attributes, *self.columns, self.unit, unit}
        for column in dict.fromkeys(present):
            own = [pattern for pattern in patterns if column not in taken and matches(pattern, column)]
            if len(own) > 1:
                raise SchemaError(
                    f"the column {shorten(column)} matches the patterns {listing(own)}. Give it an entry of its own, "
                    "or write patterns of which only one matches."
                )
            for pattern in own:
                matching[pattern].append(column)
        for pattern, columns in matching.items():
            if not columns:
                named = any(column in present for column in self.columns)  # otherwise the header may be a row
                has = f" It has {listing(present)}." if named else ""
                raise SchemaError(
                    f"the pattern {shorten(pattern)} matches no column of the table, apart from those with an entry of "
                    f"their own.{has} Correct the pattern, or leave it out."
                )
        entries = self.attributes.items()
        return self.with_attributes({name: own for entry, own in entries for name in matching.get(entry, [entry])})

    @property
    def level_files(self) -> dict[str, str]:
        """The digests of the files from which levels were read, by the names of the files."""
        files = (getattr(own, "levels_file", None) for own in self.attributes.values())
        return {file.name: file.digest for file in files if file is not None}

    def check_files(self, table: Iterable[str]) -> None:
        """Raise an error if levels or a look-up are read from a file of the *table*, under whatever name: what is in
        them counts as public, and would publish its values."""
        own = {mark for path in table for mark in _marks(path)}
        for name, attribute in self.attributes.items():
            files = {"levels_file": getattr(attribute, "levels_file", None), "lookup": attribute.reading.looked_up}
            for key, file in files.items():
                if file is not None and _marks(os.path.join(file.folder, file.file)) & own:
                    raise SchemaError(
                        f"attribute {name!r}: the {key} {file.file!r} is the table itself, or a part of it. What is in "
                        "such a file is public and will be published: write what everybody may know into another file."
                    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each axis."""
        for name, attribute in self.attributes.items():
            if isinstance(attribute, Identifier):
                raise SchemaError(
                    f"attribute {name!r} is an identifier and has no cells. Select the other attributes first, or "
                    f"group by {name!r} and count."
                )
        return tuple(attribute.size for attribute in self.attributes.values())

    @property
    def cells(self) -> int:
        """The number of cells of the whole domain."""
        return math.prod(self.shape)

    def select(self, names: str | Sequence[str]) -> Schema:
        """The schema of some of the attributes, in the order given."""
        chosen = self.check_names(names)
        return self.with_attributes({name: self.attributes[name] for name in chosen})

    def grouped(self, keys: str | Sequence[str], count_name: str, max_count: int) -> Schema:
        """The schema of a group-by: the keys, and a count from 1 to *max_count*, to which larger counts are clamped."""
        chosen = self.check_names(keys)
        return self._counted({name: self.attributes[name] for name in chosen}, count_name, max_count)

    def per_unit(self, count_name: str, max_count: int) -> Schema:
        """The schema of one row per unit: the unit, and a count of its rows, clamped to 1 … *max_count*."""
        if self.unit is None:
            raise SchemaError(
                'the schema names no unit, so units cannot be counted. Write unit = "…", the column that says '
                "whose row it is."
            )
        return self._counted({self.unit: Identifier()}, count_name, max_count, rows_per_unit=1)

    def _counted(
        self, keys: Mapping[str, Attribute], count_name: str, max_count: int, rows_per_unit: int | None = None
    ) -> Schema:
        check_name(count_name)
        if count_name in keys:
            raise SchemaError(f"the count cannot be called {count_name!r}: that is a key. Choose another name.")
        most = whole_number(max_count, "max_count")
        if most < 1:
            raise SchemaError(f"max_count must be at least 1, given {most}.")
        return self.with_attributes({**keys, count_name: Integer(1, most, outside="clamp")}, rows_per_unit)

    def with_attributes(self, attributes: Mapping[str, Attribute], rows_per_unit: int | None = None) -> Schema:
        """The same schema with other attributes: everything else that is declared about the table stays."""
        most = self.rows_per_unit if rows_per_unit is None else rows_per_unit
        return self._with(attributes=attributes, rows_per_unit=most)

    def with_unit(self, unit: str) -> Schema:
        """The same schema with a column that says whose row it is."""
        return self._with(unit=unit, no_unit=DROP)

    def _with(self, **changed: Any) -> Schema:
        return Schema(**{name: getattr(self, name) for name in Schema.__slots__} | changed)

    def check_names(self, names: str | Sequence[str]) -> tuple[str, ...]:
        """The names as a tuple, with both axes of a point; an error if one is unknown or repeated, or for no names."""
        if isinstance(names, bytes) or not isinstance(names, str | Iterable):
            raise SchemaError(f"attributes are chosen by their names, given {shorten(names)}.")
        given = (names,) if isinstance(names, str) else tuple(names)
        chosen = tuple(
            axis for name in given for axis in (axes_of(name, self.attributes) if isinstance(name, str) else (name,))
        )
        for name in chosen:
            if not isinstance(name, str) or name not in self.attributes:
                hint, column = "", name if isinstance(name, str) else ""
                if reads := [own for own in self.attributes if self.column_of(own) == column]:
                    hint = f" The column {shorten(name)} is read by {listing(reads)}."
                if patterns := [own for own in self.patterns if matches(own, column)]:
                    hint = f" For the columns that match {listing(patterns)}, a table must be opened."
                raise SchemaError(no_such("attribute", name, self.attributes) + hint)
        if not chosen:
            raise SchemaError(f"no attributes given. Choose from {listing(self.attributes)}.")
        if len(set(chosen)) < len(chosen):
            raise SchemaError(f"an attribute is given twice in {listing(chosen)}. Name each once.")
        return chosen

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], folder: str = "") -> Schema:
        """Build from the content of a schema file; paths of public files are relative to *folder*."""
        attributes, keys = attributes_from_dict(content, folder)
        if "file" in keys:
            keys["file"] = FileFormat.from_dict(keys["file"])
        return cls(attributes, **keys)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """Read a schema file; a text of several lines is taken as the file's content.

        >>> Schema.from_toml('''
        ... [attributes.smoker]
        ... type = "boolean"
        ... ''')
        Schema(smoker: Boolean())
        """
        return cls.from_dict(read_toml(source), "" if "\n" in str(source) else os.path.dirname(source))

    @classmethod
    def of(cls, given: object) -> Schema:
        """The given schema, or the schema in the file at a given path; an error for anything else."""
        if isinstance(given, Schema):
            return given
        if isinstance(given, str | os.PathLike):
            return cls.from_toml(os.fsdecode(given))
        hint = " Write Schema({…}) around it." if isinstance(given, Mapping) else ""
        raise SchemaError(
            f'schema is an ad.Schema, such as ad.Schema({{"age": ad.Integer(0, 119)}}), or the path of a schema file, '
            f"given {shorten(given)}.{hint}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The content of a schema file; :meth:`from_dict` reads it back."""
        plain = {"rows": None, "unit": None, "no_unit": DROP, "multiline": False, "keep_texts": False}
        content: dict[str, Any] = {"rows_per_unit": self.rows_per_unit}
        content |= {key: getattr(self, key) for key, usual in plain.items() if getattr(self, key) != usual}
        content |= {} if self.file == PLAIN else {"file": self.file.to_dict()}
        content |= {} if self.report == NO_WORDS else {"report": self.report.to_dict()}
        return {**content, "attributes": {name: attribute_to_dict(own) for name, own in self.attributes.items()}}

    def to_toml(self) -> str:
        """The text of a schema file; :meth:`from_toml` reads it back. Equal schemas have the same text, except for the
        words of the report."""
        return write_toml(self.to_dict())

    def __repr__(self) -> str:
        parts = [f"{name}: {described(attribute)}" for name, attribute in self.attributes.items()]
        rows = f"; rows_per_unit={self.rows_per_unit}" if self.rows_per_unit != 1 else ""
        unit = "" if self.unit is None else f"; unit={shorten(self.unit)}"
        no_unit = "" if self.no_unit == DROP else f"; no_unit={self.no_unit}"
        flags = "".join(f"; {name}" for name in ("multiline", "keep_texts") if getattr(self, name))
        file = "".join(f"; {key}={shorten(value)}" for key, value in self.file.to_dict().items())
        return f"Schema({', '.join(parts)}{rows}{unit}{no_unit}{flags}{file})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        own = (self.rows_per_unit, self.multiline, self.keep_texts, self.file, self.unit, self.no_unit)
        return (tuple(self.attributes.items()), *own)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Schema cannot be changed. Build a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Schema cannot be changed. Build a new one.")

    def __reduce__(self) -> tuple[object, ...]:
        folders = (own.reading.looked_up.folder for own in self.attributes.values() if own.reading.looked_up)
        return Schema.from_dict, (self.to_dict(), next(folders, ""))


def declared_attributes(attributes: Mapping[str, Attribute | Point]) -> dict[str, Attribute]:
    """The attributes, with two for every point; an error unless all are valid."""
    if not isinstance(attributes, Mapping):
        raise SchemaError(f"attributes must map names to attributes, given {shorten(attributes)}.")
    if not attributes:
        raise SchemaError("a schema needs at least one attribute. Declare the columns that queries may use.")
    for name, attribute in attributes.items():
        check_name(name)
        if not isinstance(attribute, Attribute | Point):
            raise SchemaError(
                f"attribute {name!r} must be a Categorical, Boolean, Integer, Numeric, Date, Datetime, Duration, Point "
                f"or Identifier, given {'a list' if isinstance(attribute, list) else shorten(attribute)}."
            )
        if isinstance(attribute, Point) and "*" in name:
            raise SchemaError(f"the point {name!r} has a * in its name, but a pattern can only match single columns.")
    declared: dict[str, Attribute] = {}
    for name, attribute in attributes.items():
        axes = attribute.axes(name) if isinstance(attribute, Point) else {name: attribute}
        twice = [axis for axis in axes if axis in declared or (axis != name and axis in attributes)]
        if twice:
            raise SchemaError(f"the point {name!r} declares {listing(axes)}, but {twice[0]!r} is declared, too.")
        declared |= axes
    return declared


def check_name(name: object) -> None:
    """Raise an error unless this can be the name of an attribute."""
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
        raise SchemaError(
            f"the name of an attribute must be a text of 1 to {_LONGEST_NAME} characters, given {shorten(name)}."
        )
    writable(name, "the name of an attribute")


def check_case(names: Sequence[str]) -> None:
    """Raise an error if engines could mistake one name for another."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise SchemaError(
                f"attributes {other!r} and {name!r} differ only in case, which engines do not distinguish. Rename one."
            )


def described(attribute: Attribute) -> str:
    """An attribute as a person would write it, with long lists shortened."""
    entries = {key: value for key, value in attribute_to_dict(attribute).items() if key != "type"}
    shown = (f"{key}={value if isinstance(value, str) else shorten(value)}" for key, value in entries.items())
    return f"{type(attribute).__name__}({', '.join(shown)})"


def check_unit(unit: object, no_unit: object) -> None:
    """Raise an error unless a schema can say this about the unit.

    >>> check_unit("person_id", "one")
    """
    if unit is not None and (not isinstance(unit, str) or not unit.strip()):
        raise SchemaError(
            f'unit must be the name of the column that says whose row it is, like "person_id", given {shorten(unit)}.'
        )
    if isinstance(unit, str):
        writable(unit, "unit")
    if no_unit not in NO_UNIT:
        raise SchemaError(
            f"no_unit must be one of {listing(NO_UNIT)}, given {shorten(no_unit)}: rows without a unit are left out, "
            "or all of them are one unit."
        )
    if unit is None and no_unit != DROP:
        raise SchemaError(
            f'no_unit = "{no_unit}" needs a unit. Write unit = "…", the column that says whose row it is.'
        )


def _marks(path: str) -> set[object]:
    """What two names of one file have in common: its path without links, and its number on its device."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return set()
    return {os.path.realpath(path), (facts.st_dev, facts.st_ino)}
