"""The lines of a text file, and the first of them: it names the columns and is public, unless it is a row.

Lines are UTF-8 that ends with a line feed: decompressed, transcoded, line ends exchanged.

Claim.  The bytes of a line depend on those of that line alone, whatever the lines around it hold.
Proof.  Carriage returns and line feeds change places one by one, in files whose lines end with a return. UTF-16 is made
of units of two bytes, and a unit that is half of nothing becomes U+FFFD by itself. In the other encodings no part of a
letter is a line feed; where a block holds a byte that is none of theirs, each of its lines is decoded by itself.  ∎
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_CHUNK = 1 << 18
_EXCHANGED = bytes.maketrans(b"\r\n", b"\n\r")
_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".zip": "zip"}
_MARK = codecs.BOM_UTF8


def without_ending(path: str) -> str:
    """A file's name in small letters, without the ending that says how it is compressed."""
    name = path.lower()
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def compression_of(path: str, file: FileFormat) -> str:
    """How a file is compressed: as declared, else as its name says."""
    if file.compression is not None:
        return file.compression
    return next((kind for ending, kind in _ENDINGS.items() if path.lower().endswith(ending)), "none")


def open_lines(path: str, file: FileFormat, line_end: str | None = None) -> IO[bytes]:
    """The file for reading; UTF-16 is turned to UTF-8. *line_end* says which sign ends a line."""
    opened = _opened(path, compression_of(path, file))
    if file.encoding.startswith("utf-16"):
        decoder = codecs.getincrementaldecoder(file.encoding)("replace")
        opened = _converted(opened, lambda chunk, final: decoder.decode(chunk, final).encode("utf-8", "replace"))
    if line_end == "cr":
        opened = _converted(opened, lambda chunk, final: chunk.translate(_EXCHANGED))
    return opened


def _opened(path: str, compression: str) -> IO[bytes]:
    if compression == "gzip":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if compression == "bz2":
        return cast("IO[bytes]", bz2.open(path, "rb"))
    if compression == "zip":
        with zipfile.ZipFile(path) as archive:
            return archive.open(zip_member(path))
    if compression == "zstd":
        import pyarrow

        return _converted(pyarrow.CompressedInputStream(open(path, "rb"), "zstd"), lambda chunk, final: chunk)
    return open(path, "rb")


def zip_member(path: str) -> str:
    """The one file of an archive; an error if it has none, or several."""
    every = quietly(lambda: zipfile.ZipFile(path).infolist())
    files = [one for one in every or () if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    locked = any(one.flag_bits & 1 for one in files)
    if every is None or len(files) != 1 or locked:
        has = "is no zip archive" if every is None else "needs a password" if locked else f"holds {len(files)} files"
        raise SchemaError(f"{path!r} {has}. A table is one CSV file in an archive: unpack it, and open its files.")
    return files[0].filename


def _converted(file: Any, convert: Callable[[bytes, bool], bytes]) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Converted(file, convert), _CHUNK))


class _Converted(io.RawIOBase):
    """What a file holds, converted a piece at a time."""

    def __init__(self, file: Any, convert: Callable[[bytes, bool], bytes]) -> None:
        self._file, self._convert, self._rest, self._ended = file, convert, b"", False

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something; 0 at the end."""
        while not self._rest and not self._ended:
            chunk = self._file.read(_CHUNK)
            self._ended = not chunk
            self._rest = self._convert(chunk, self._ended)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._file.close()
        super().close()


def as_utf8(block: bytes, file: FileFormat) -> bytes:
    """Whole lines as UTF-8; bytes that are no text become U+FFFD, which is no line end, quote or delimiter.

    In a file without a header, a byte order mark before a line is left out: before any, because each may be the first.
    """
    encoding = "utf-8" if file.encoding.startswith("utf-16") else file.encoding
    try:
        text = block.decode(encoding)
        block = block if encoding == "utf-8" else text.encode("utf-8", "replace")
    except UnicodeDecodeError:
        lines = (line.decode(encoding, "replace").encode("utf-8", "replace") for line in block.split(b"\n"))
        block = b"\n".join(lines)
    if not file.header and _MARK in block:
        block = block.removeprefix(_MARK).replace(b"\n" + _MARK, b"\n")
    return block


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
