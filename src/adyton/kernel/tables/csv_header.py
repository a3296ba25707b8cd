"""The first line of a CSV file: it names the columns and is public, unless it is no header but a row."""

from __future__ import annotations

import csv
import gzip
import re
from typing import IO, cast

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly

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


def is_compressed(path: str) -> bool:
    """Whether a file is read through gzip."""
    return path.lower().endswith(".gz")


def open_bytes(path: str) -> IO[bytes]:
    """The file, for reading bytes, decompressed if need be."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if is_compressed(path) else open(path, "rb")


def read_header(path: str) -> tuple[list[str], str]:
    """The names of the columns and the delimiter, from the first line alone."""
    line = _first_line(path)
    tabs = path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    delimiter = max("\t,;|" if tabs else ",;\t|", key=line.count)
    names = quietly(lambda: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True)))
    if names is None:
        raise SchemaError(f"{path!r} {_NO_HEADER}")
    return [name.strip() for name in names], delimiter


def looks_like_data(names: list[str]) -> bool:
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


def _first_line(path: str) -> str:
    problem, raw = "", b""
    try:
        with open_bytes(path) as file:
            raw = file.readline(_LONGEST_HEADER).removesuffix(b"\n").removesuffix(b"\r")
    except PermissionError:
        problem = "cannot be read: permission denied. Ask for the right to read it."
    except (OSError, EOFError, ValueError):
        problem = "cannot be read. Check that the file is complete."
    text = _decoded(raw)
    if problem:
        pass
    elif text is None:
        problem = "is not UTF-8 text. Convert it first, for example with iconv -f latin1 -t utf-8."
    elif "\r" in text:
        problem = "ends its lines with carriage returns alone. Convert it first, for example with mac2unix."
    elif not text.strip() or raw.count(b'"') % 2 or len(raw) >= _LONGEST_HEADER - 1:
        problem = _NO_HEADER
    if problem or text is None:
        raise SchemaError(f"{path!r} {problem}")
    return text


def _decoded(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
