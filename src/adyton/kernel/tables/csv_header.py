"""The first line of a CSV file: it names the columns and is public, unless it is no header but a row."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.csv_bytes import open_lines, without_ending
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_LONGEST_HEADER = 1 << 20
_LONGEST_NAME = 100
_NO_HEADER = "does not begin with a header: the first line of a CSV file names the columns."
_VALUE = re.compile(
    r"""[-+(]?[$€£]?\s*[\d.,'\s]*\d[\d.,'\s]*(e[-+]?\d+)?\s*[%)]?  # a number, an amount, a code of digits
    | \d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([\sT].*)?                    # a date, with or without a time
    | \d{1,2}:\d{2}(:\d{2}.*)?                                     # a time
    | true | false | yes | na | n/a | null | none | nan            # what stands for a value
    | [^@\s]+@[^@\s]+\.[^@\s]+                                     # an address
    | [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}                    # a made-up name""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Header:
    """What is known of a file before its rows are read."""

    names: tuple[str, ...]
    delimiter: str
    line_end: str


def read_header(path: str, file: FileFormat = PLAIN) -> Header:
    """The names of the columns, the delimiter and the line end, from the first line alone.

    Of a file without a header nothing is read: its first line is a row.
    """
    tabs = without_ending(path).endswith((".tsv", ".tab"))
    if file.columns is not None:
        return Header(tuple(file.columns), file.delimiter or ("\t" if tabs else ","), file.line_end or "lf")
    line, line_end = _first_line(path, file)
    delimiter = file.delimiter or max("\t,;|" if tabs else ",;\t|", key=line.count)
    names = quietly(lambda: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True)))
    if names is None:
        raise SchemaError(f"{path!r} {_NO_HEADER}")
    return Header(tuple(name.strip() for name in names), delimiter, line_end)


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether the fields of a first line look like those of a row: a number, a date, an address, one thing twice.

    >>> looks_like_data(["age", "sex"]), looks_like_data(["34", "F"])
    (False, True)
    """
    filled = [name for name in names if name]
    return (
        not filled
        or len(set(filled)) < len(filled)
        or any(len(name) > _LONGEST_NAME or _VALUE.fullmatch(name) for name in filled)
    )


def _first_line(path: str, file: FileFormat) -> tuple[str, str]:
    """The first line, and which sign ends the lines: a return, if one does that ends the first without a line feed."""
    problem, raw, line_end = "", b"", file.line_end
    try:
        with open_lines(path, file, line_end) as opened:
            raw = opened.readline(_LONGEST_HEADER)
    except PermissionError:
        problem = "cannot be read: permission denied. Ask for the right to read it."
    except (OSError, EOFError, ValueError):
        problem = "cannot be read. Check that the file is complete, and compressed as its name or the schema says."
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if line_end is None:
        raw, sign, _ = raw.partition(b"\r")
        line_end = "cr" if sign else "lf"
    text = _decoded(raw, file.encoding)
    if problem:
        pass
    elif text is None:
        problem = (
            f"is not {file.encoding.upper()} text. Say which encoding it has under [file] in the schema, for example "
            'encoding = "latin-1", "cp1252" or "utf-16".'
        )
    elif not text.strip() or text.count('"') % 2 or len(raw) >= _LONGEST_HEADER - 1:
        problem = _NO_HEADER
    if problem or text is None:
        raise SchemaError(f"{path!r} {problem}")
    return text, line_end


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        text = raw.decode("utf-8-sig" if encoding.startswith("utf-") else encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
