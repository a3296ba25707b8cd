"""Sheets of Excel workbooks (.xlsx, .xlsm): one row of a sheet, one row, and no cell raises an error.

A workbook is a zip archive of XML, and both are read as a stream by Python's own libraries. (Libraries for workbooks
hold the rectangle around all cells, so that one cell far away ends the process, or fail on a number that is no date.)

Claim.  What is in a row depends on the cells of that row alone, and on what they refer to: texts and formats.
Proof.  A cell is converted when it ends, by its own type, text and format. A row ends with the cells that it has; one
in which no cell holds a value is left out, so that the place of a row changes nothing.  ∎
"""

from __future__ import annotations

import os
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from xml.parsers import expat

from adyton.errors import SchemaError
from adyton.kernel.reading.csv_header import looks_like_data
from adyton.kernel.reading.plain_columns import own_text, text_of
from adyton.kernel.reading.readers import Column, Family, LocalReader, file_identity
from adyton.kernel.sealed import quietly
from adyton.messages import listing
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_CHUNK = 1 << 18
_ROWS_AT_A_TIME = 1 << 17
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s")
_COLUMN = re.compile("[A-Z]{1,3}")
_LAST_DAY = 2_958_465
"""The number of 31 December 9999."""
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
"""The formats of dates and times that every workbook has; that of hours beyond a day is 46."""
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^]]*\]')
_EXACT = 1 << 53


def sheets_of(path: str, wanted: str) -> list[str]:
    """The names of the sheets that are asked for: one by its name, several by a pattern, or the only one."""
    book = quietly(lambda: _Workbook(path))
    if book is None:
        raise SchemaError(
            f"{path!r} cannot be read as an Excel workbook. Check that it is complete and has no password; save older "
            "formats as .xlsx or CSV."
        )
    names = list(book.sheets)
    if wanted in names:
        return [wanted]
    found = [name for name in names if fnmatchcase(name, wanted)] if wanted else names
    if not found or (not wanted and len(names) != 1):
        asked = f"no sheet {wanted!r}" if wanted else "not exactly one sheet"
        raise SchemaError(
            f"{path!r} has {asked}. It has {listing(names) or 'none'}. Write {path + '#sheet'!r}, or {path + '#*'!r} "
            "for all of them as one table."
        )
    return found


class ExcelReader(LocalReader):
    """A sheet of a workbook. Each cell becomes the text that a CSV file would have: a number, a date, True, a text.

    The first row with a value names the columns, unless the schema does; columns without a name are not read. Errors
    such as #N/A are missing; of a formula, the stored value is read. Texts are held once they were counted.
    """

    is_text = True

    def __init__(self, path: str, sheet: str, file: FileFormat = PLAIN) -> None:
        self.files = [os.path.abspath(path)]
        self._sheet, self._header = sheet, file.header
        self._declared: tuple[tuple[str, bool], ...] = ()
        self._held: tuple[Any, tuple[tuple[str, bool], ...], list[dict[tuple[str, bool], Any]]] | None = None
        merged = quietly(lambda: _Workbook(path).is_merged(sheet))
        first = quietly(lambda: next(_Workbook(path).rows(sheet), {})) if file.columns is None else {}
        if merged is None or first is None:
            raise SchemaError(f"the sheet {sheet!r} of {path!r} cannot be read. Save the workbook again.")
        if merged:
            raise SchemaError(
                f"the sheet {sheet!r} of {path!r} has merged cells, which belong to no one row or column. Unmerge "
                "them, so that each row has its own values."
            )
        named = enumerate(file.columns or ()) if file.columns is not None else sorted(first.items())
        self._names = {place: name for place, value in named if (name := (text_of(value) or "").strip())}
        if not self._names:
            raise SchemaError(f"the sheet {sheet!r} of {path!r} is empty: its first row names the columns.")
        text = Family("string")
        self.columns = [Column(name, "text", text, from_text=True, inferred=True) for name in self._names.values()]
        self.doubtful = file.header and looks_like_data(list(self._names.values()))

    def declare(self, names: Sequence[str], unit: str | None) -> None:
        """All of these are read when the first is counted."""
        self._declared = _keys(names, unit)

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The columns as texts. The file is read again when it has changed."""
        moment, keys = file_identity(self.files[0]), _keys(names, unit)
        if self._held is None or self._held[0] != moment or not {*keys} <= {*self._held[1]}:
            wanted = tuple(dict.fromkeys([*self._declared, *keys]))
            self._held = moment, wanted, list(self._read(wanted))
        for batch in self._held[2]:
            yield [batch[key] for key in keys]

    def _read(self, keys: Sequence[tuple[str, bool]]) -> Iterator[dict[tuple[str, bool], Any]]:
        import pyarrow

        places = {name: place for place, name in reversed(self._names.items())}
        rows = _Workbook(self.files[0]).rows(self._sheet)
        if self._header:
            next(rows, None)
        columns: list[list[str | None]] = [[] for _ in keys]
        texts = [(places[name], _unit_text if unit else text_of) for name, unit in keys]

        def batch() -> dict[tuple[str, bool], Any]:
            found = {key: pyarrow.array(own, pyarrow.large_string()) for key, own in zip(keys, columns, strict=True)}
            for own in columns:
                own.clear()
            return found

        for row in rows:
            for own, (place, text) in zip(columns, texts, strict=True):
                own.append(text(row.get(place)) or None)
            if len(columns[0]) == _ROWS_AT_A_TIME:
                yield batch()
        yield batch()


def _keys(names: Sequence[str], unit: str | None) -> tuple[tuple[str, bool], ...]:
    """Columns by name, and whether they say whose row it is."""
    return (*((name, False) for name in names), *([] if unit is None else [(unit, True)]))


def _unit_text(value: object) -> str | None:
    """What names a unit: a text, or a whole number that a double holds exactly."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT
    return text_of(value) if whole else own_text(value)


class _Workbook:
    """The parts of a workbook: which sheets it has, and what their cells refer to."""

    def __init__(self, path: str) -> None:
        self._archive = zipfile.ZipFile(path)
        (book,) = (target for kind, target in self._related("").values() if kind == "officeDocument")
        related, named, since = self._related(book), [], []

        def workbook(name: str, given: Mapping[str, str]) -> None:
            if name == "sheet":
                named.append((given["name"], next(value for key, value in given.items() if key.endswith(":id"))))
            if name == "workbookPr":
                since.append(given.get("date1904") in ("1", "true"))

        self._parse(book, workbook)
        self.sheets = {name: related[key][1] for name, key in named if related[key][0] == "worksheet"}
        self._from_1904 = any(since)
        self._parts = dict(related.values())

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """The kind and the place of all parts that a part refers to."""
        folder, name = posixpath.split(part)
        found = {}

        def relation(name: str, given: Mapping[str, str]) -> None:
            if name == "Relationship":
                target = posixpath.normpath(posixpath.join("/", folder, given["Target"])).lstrip("/")
                found[given["Id"]] = given["Type"].rpartition("/")[2], target

        self._parse(posixpath.join(folder, "_rels", f"{name}.rels"), relation)
        return found

    def is_merged(self, sheet: str) -> bool:
        """Whether any cells of a sheet are merged."""
        before = b""
        with self._archive.open(self.sheets[sheet]) as file:
            while chunk := file.read(_CHUNK):
                if _MERGED.search(before + chunk):
                    return True
                before = chunk[-64:]
        return False

    def _parse(
        self,
        part: str,
        start: Callable[[str, Mapping[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        for _ in self._parsing(part, start, end, text):
            pass

    def _parsing(self, part: str, start: Any, end: Any = None, text: Any = None) -> Iterator[None]:
        """Parse a part, in pieces: what it calls is given names without what stands before a colon."""
        local: dict[str, str] = {}

        def plain(name: str) -> str:
            return local.get(name) or local.setdefault(name, name.rpartition(":")[2])

        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, given: start(plain(name), given)
        parser.EndElementHandler = None if end is None else lambda name: end(plain(name))
        parser.CharacterDataHandler = text
        with self._archive.open(part) as file:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk)
                yield
            parser.Parse(b"", True)
        yield

    def _texts(self) -> list[str]:
        """The texts that cells refer to by number."""
        found: list[str] = []
        pieces: list[str] = []
        inside = {"t": False, "rPh": False}  # how a text is pronounced is no part of it

        def start(name: str, given: Mapping[str, str]) -> None:
            if name in inside:
                inside[name] = True

        def end(name: str) -> None:
            if name in inside:
                inside[name] = False
            elif name == "si":
                found.append("".join(pieces))
                pieces.clear()

        def text(piece: str) -> None:
            if inside["t"] and not inside["rPh"]:
                pieces.append(piece)

        if "sharedStrings" in self._parts:
            self._parse(self._parts["sharedStrings"], start, end, text)
        return found

    def _formats(self) -> list[str]:
        """Of every format of cells what a number is in it: a number, a time, or hours beyond a day."""
        kinds = dict.fromkeys(map(str, _DATES), "time") | {"46": "length"}
        found: list[str] = []
        within = [""]

        def start(name: str, given: Mapping[str, str]) -> None:
            if name == "numFmt":
                code = _LITERAL.sub("", given.get("formatCode", "")).lower().partition(";")[0]
                kinds[given.get("numFmtId", "")] = (
                    "length" if "[" in code else "time" if {*code} & {*"dmyhs"} else "number"
                )
            elif name in ("cellXfs", "cellStyleXfs"):
                within[0] = name
            elif name == "xf" and within[0] == "cellXfs":
                found.append(kinds.get(given.get("numFmtId", ""), "number"))

        if "styles" in self._parts:
            self._parse(self._parts["styles"], start)
        return found

    def rows(self, sheet: str) -> Iterator[dict[int, object]]:
        """The values of each row that has any, by the place of their column."""
        texts, formats = self._texts(), self._formats()
        row: dict[int, object] = {}
        rows: list[dict[int, object]] = []
        pieces: list[str] = []
        cell: Mapping[str, str] = {}
        place, inside = -1, False

        def start(name: str, given: Mapping[str, str]) -> None:
            nonlocal row, cell, place, inside
            if name == "c":
                cell = given
                letters = _COLUMN.match(given.get("r", ""))
                place = place + 1 if letters is None else _place(letters[0])
                pieces.clear()
            elif name in ("v", "t"):
                inside = True
            elif name == "row":
                row, place = {}, -1

        def end(name: str) -> None:
            nonlocal inside
            if name in ("v", "t"):
                inside = False
            elif name == "c":
                value = self._value("".join(pieces), cell, texts, formats)
                if value not in (None, ""):
                    row[place] = value
            elif name == "row" and row:
                rows.append(row)

        def text(piece: str) -> None:
            if inside:
                pieces.append(piece)

        for _ in self._parsing(self.sheets[sheet], start, end, text):
            yield from rows
            rows.clear()

    def _value(self, raw: str, cell: Mapping[str, str], texts: Sequence[str], formats: Sequence[str]) -> object:
        """What a cell holds; None for an error and for what is no value."""
        kind = cell.get("t", "n")
        if kind in ("str", "inlineStr", "d"):
            return raw
        if kind == "b":
            return raw == "1"
        if kind == "s":
            return quietly(lambda: texts[int(raw)]) if raw.isdecimal() else None
        number = quietly(lambda: float(raw)) if kind == "n" and raw else None
        style = cell.get("s")
        form = quietly(lambda: formats[int(style)]) if style is not None and style.isdecimal() else None
        if number is None or form in (None, "number"):
            return number
        return quietly(lambda: self._time(number, str(form)))

    def _time(self, number: float, form: str) -> object:
        """A number of days as the time that it shows; None where it shows none."""
        past = timedelta(milliseconds=round(number * 86_400_000))
        if form == "length":
            return past
        if not 0 <= number < _LAST_DAY + 1:
            return None
        if number < 1:
            return (datetime.min + past).time()
        if self._from_1904:
            moment = datetime(1904, 1, 1) + past
        elif 60 <= number < 61:  # Excel has a 29 February 1900
            return None
        else:
            moment = datetime(1899, 12, 31 if number < 60 else 30) + past
        return moment.date() if number.is_integer() else moment


def _place(letters: str) -> int:
    """The place of a column by its letters: A is 0, AA is 26."""
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - 64
    return place - 1
