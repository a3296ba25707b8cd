"""Sheets of Excel workbooks (.xlsx, .xlsm): one row of a sheet is one row, and no cell raises an error.

A workbook is a zip archive of XML, and both are read as a stream by Python's own libraries. (Libraries for workbooks
hold the rectangle around all cells, so that one distant cell ends the process, or fail on a number that is not a date.)

Claim.  A row depends only on its own cells and on the texts and formats that they refer to.
Proof.  A cell is converted when it ends, by its own type, text and format. A row consists of the cells that it has; a
row in which no cell holds a value is left out, so the position of a row does not matter.  ∎
"""

from __future__ import annotations

import os
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from adyton.errors import SchemaError
from adyton.kernel.reading.arrow import EXACT, name_of, text_of
from adyton.kernel.reading.csv_reader import looks_like_data
from adyton.kernel.reading.readers import Column, Reader, column_keys, file_identity
from adyton.kernel.sealed import quietly
from adyton.messages import listing
from adyton.schema import FileFormat
from adyton.schema.files import PLAIN

_CHUNK = 1 << 18
_ROWS_AT_A_TIME = 1 << 17
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s")
_COLUMN = re.compile("[A-Z]{1,3}")
_LAST_DAY = 2_958_465
"""The number of 31 December 9999."""
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
"""The built-in formats of dates and times; format 46 shows hours beyond a day."""
_LITERAL = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^][]*\]')


def sheets_of(path: str, wanted: str) -> list[str]:
    """The names of the requested sheets: one by its name, several by a pattern, or the only sheet."""
    book = quietly(lambda: _Workbook(path))
    if book is None:
        raise SchemaError(
            f"{path!r} cannot be read as an Excel workbook. Check that it is complete and has no password; save older "
            "formats as .xlsx or CSV."
        )
    names = list(book.sheets)
    if wanted in names:
        return [wanted]
    chosen = [name for name in names if fnmatchcase(name, wanted)] if wanted else names
    if not chosen or (not wanted and len(names) != 1):
        asked = f"no sheet {wanted!r}" if wanted else "more than one sheet, or none"
        raise SchemaError(
            f"{path!r} has {asked}. It has {listing(names) or 'none'}. Write {path + '#sheet'!r}, or {path + '#*'!r} "
            "for all of them as one table."
        )
    return chosen


class ExcelReader(Reader):
    """A sheet of a workbook. Each cell becomes the text that a CSV file would have: a number, a date, True, a text.

    The first row with a value names the columns, unless the schema does; columns without a name are not read. Errors
    such as #N/A are missing; formulas are read as their stored values. Texts stay in memory after the first count.
    """

    is_text = True

    def __init__(self, path: str, sheet: str, file: FileFormat = PLAIN) -> None:
        self.files = [os.path.abspath(path)]
        self._sheet, self._header = sheet, file.header
        self._held: tuple[Any, tuple[tuple[str, bool], ...], list[dict[tuple[str, bool], Any]]] | None = None
        merged = quietly(lambda: _Workbook(path).is_merged(sheet))
        first = quietly(lambda: next(_Workbook(path).rows(sheet), {})) if file.columns is None else {}
        if merged is None or first is None:
            raise SchemaError(f"the sheet {sheet!r} of {path!r} cannot be read. Save the workbook again.")
        if merged:
            raise SchemaError(
                f"the sheet {sheet!r} of {path!r} has merged cells, which do not belong to a single row or column. "
                "Unmerge them, so that each row has its own values."
            )
        named = enumerate(file.columns or ()) if file.columns is not None else sorted(first.items())
        self._names = {place: name for place, value in named if (name := (text_of(value) or "").strip())}
        if not self._names:
            raise SchemaError(f"the sheet {sheet!r} of {path!r} is empty: its first row names the columns.")
        self.columns = [Column(name, "text", "string", from_text=True, inferred=True) for name in self._names.values()]
        self.doubtful = file.header and looks_like_data(list(self._names.values()))

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The columns as texts. All declared columns are read at once, and again when the file has changed."""
        moment, keys = file_identity(self.files[0]), column_keys(names, unit)
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
            arrays = {key: pyarrow.array(own, pyarrow.large_string()) for key, own in zip(keys, columns, strict=True)}
            for own in columns:
                own.clear()
            return arrays

        for row in rows:
            for own, (place, text) in zip(columns, texts, strict=True):
                own.append(text(row.get(place)) or None)
            if len(columns[0]) == _ROWS_AT_A_TIME:
                yield batch()
        yield batch()


def _unit_text(value: object) -> str | None:
    """What names a unit: a text, or a whole number that a double holds exactly."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= EXACT
    return text_of(value) if whole else name_of(value)


class _Workbook:
    """The parts of a workbook: which sheets it has, and what their cells refer to."""

    def __init__(self, path: str) -> None:
        self._archive = zipfile.ZipFile(path)
        (book,) = (target for kind, target in self._related("").values() if kind == "officeDocument")
        related, self.sheets, self._from_1904 = self._related(book), {}, False
        for name, element in self._elements(book):
            if name == "sheet":
                kind, part = next(related[value] for key, value in element.items() if key.endswith("}id"))
                if kind == "worksheet":
                    self.sheets[element.get("name", "")] = part
            if name == "workbookPr":
                self._from_1904 = element.get("date1904") in ("1", "true")
        self._parts = dict(related.values())

    def _elements(self, part: str | None) -> Iterator[tuple[str, Any]]:
        """The elements of a part as they end, with their names; nothing if there is no such part."""
        if part is not None:
            with self._archive.open(part) as file:
                for _, element in ElementTree.iterparse(file):  # nosec B314 # opens no other file, and expat limits entities
                    yield _local(element.tag), element

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """The kind and the place of all parts that a part refers to."""
        folder, name = posixpath.split(part)
        related = {}
        for own, element in self._elements(posixpath.join(folder, "_rels", f"{name}.rels")):
            if own == "Relationship":
                target = posixpath.normpath(posixpath.join("/", folder, element.get("Target"))).lstrip("/")
                related[element.get("Id")] = element.get("Type").rpartition("/")[2], target
        return related

    def is_merged(self, sheet: str) -> bool:
        """Whether any cells of a sheet are merged. The sheet is read to its end: a damaged file is refused
        before anything is counted."""
        before, merged, parser = b"", False, expat.ParserCreate()
        with self._archive.open(self.sheets[sheet]) as file:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk)
                merged = merged or _MERGED.search(before + chunk) is not None
                before = chunk[-64:]
            parser.Parse(b"", True)
        return merged

    def _texts(self) -> list[str]:
        """The texts that cells refer to by number, without notes on pronunciation."""
        texts: list[str] = []
        for name, element in self._elements(self._parts.get("sharedStrings")):
            if name == "rPh":
                element.clear()
            if name == "si":
                texts.append("".join(part.text or "" for part in element.iter() if _local(part.tag) == "t"))
                element.clear()
        return texts

    def _formats(self) -> list[str]:
        """How each format of cells shows a number: as a number, a time, or a length of time."""
        kinds = dict.fromkeys(map(str, _DATES), "time") | {"46": "length"}
        formats: list[str] = []
        for name, element in self._elements(self._parts.get("styles")):
            if name == "numFmt":
                code = _LITERAL.sub("", element.get("formatCode", "")).lower().partition(";")[0]
                shown = "length" if "[" in code else "time" if {*code} & {*"dmyhs"} else "number"
                kinds[element.get("numFmtId", "")] = shown
            if name == "cellXfs":
                formats = [kinds.get(style.get("numFmtId", ""), "number") for style in element]
        return formats

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
            name = _local(name)
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
            name = _local(name)
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

        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
        with self._archive.open(self.sheets[sheet]) as file:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk)
                yield from rows
                rows.clear()
            parser.Parse(b"", True)

    def _value(self, raw: str, cell: Mapping[str, str], texts: Sequence[str], formats: Sequence[str]) -> object:
        """The value of a cell; None for an error and for anything that is not a value."""
        kind = cell.get("t", "n")
        if kind in ("str", "inlineStr", "d"):
            return raw
        if kind == "b":
            return raw == "1"
        if kind == "s":
            return texts[int(raw)] if raw.isdecimal() and len(raw) < 10 and int(raw) < len(texts) else None
        if kind != "n" or not raw:
            return None
        try:
            number = float(raw)
        except ValueError:
            return None
        style = cell.get("s", "")
        form = formats[int(style)] if style.isdecimal() and len(style) < 7 and int(style) < len(formats) else "number"
        return number if form == "number" else quietly(lambda: self._time(number, form))

    def _time(self, number: float, form: str) -> object:
        """A number of days as the date, time or length of time that it means; None if it means none."""
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


@lru_cache(256)
def _local(name: str) -> str:
    """The name of an element without its namespace."""
    return name.rpartition("}")[2]


@lru_cache(1 << 15)
def _place(letters: str) -> int:
    """The place of a column by its letters: A is 0, AA is 26."""
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - 64
    return place - 1
