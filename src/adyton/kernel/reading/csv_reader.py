"""CSV files: one line is one row, and nothing in a line raises an error.

The first line names the columns and is public, unless it is a row. The file is read in blocks of whole lines, which are
decompressed and turned into UTF-8 with line feeds; several threads cut blocks into fields. Everything is text: how a
text becomes a number is decided in :mod:`adyton.kernel.reading.texts`. Errors can still come from the file itself: a
disk that cannot be read, a damaged compressed file, a file that was deleted.

Claim.  The converted bytes of a line depend only on the stored bytes of that line, whatever the other lines hold.
Proof.  In files whose lines end with a carriage return, returns and line feeds are exchanged byte by byte. UTF-16 is
made of units of two bytes, and an unpaired surrogate becomes U+FFFD without affecting others. In the other encodings no
part of a letter is a line feed; where a block has an invalid byte, each of its lines is decoded separately.  ∎
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import os
import re
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places
from adyton.compiling import compiled
from adyton.errors import SchemaError
from adyton.kernel.reading.readers import Column, Reader
from adyton.kernel.sealed import quietly
from adyton.schema import FileFormat
from adyton.schema.files import PLAIN

Octets = npt.NDArray[np.uint8]

_NEWLINE = 10
_RETURN = 13
_BLANK = 32
_QUOTE = 34

LONGEST_LINE = 1 << 18
"""In bytes. All fields of a longer line are missing: no line may take noticeably longer to read than others."""
_BLOCK = 1 << 22
_WORTH_COMPILING = 1 << 17
_MOST_THREADS = 4


class CsvReader(Reader):
    """A CSV file. No line causes an error: whatever cannot be read is missing.

    Columns are taken from the header line, or from the schema; all values are read as text. A line end ends a row,
    whatever the line holds, unless *multiline* allows it inside quotes. Lines with too few fields are filled with
    missing values, surplus fields are ignored. In a line with an open quote, with more than blanks after a closing
    quote, or of more than 256 KiB, all fields are missing. Invalid bytes are replaced by U+FFFD. An empty field is
    missing, quoted or not.
    """

    is_text = True

    def __init__(self, path: str, *, multiline: bool = False, file: FileFormat = PLAIN) -> None:
        self.files = [os.path.abspath(path)]  # read later, when the working directory may have changed
        self.multiline, self.file = multiline, file
        self.compression = compression_of(path, file)
        if self.compression == "zip":
            zip_member(path)
        self.header = read_header(path, file)
        self.columns = [Column(name, "text", "string", from_text=True, inferred=True) for name in self.header.names]
        self.doubtful = file.header and looks_like_data(self.header.names)

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The columns as texts; a column that is named twice is cut out of the lines only once."""
        wanted = list(dict.fromkeys([*names, *([] if unit is None else [unit])]))
        order = [wanted.index(name) for name in (*names, *([] if unit is None else [unit]))]
        slots = np.full(len(self.header.names), -1)
        slots[[self.header.names.index(name) for name in wanted]] = range(len(wanted))
        with open_lines(self.files[0], self.file, self.header.line_end) as file:
            if self.file.header:
                file.readline()
            blocks = _blocks(file, partial(as_utf8, file=self.file))
            first = next(blocks, b"")
            swift, delimiter = len(first) > _WORTH_COMPILING, ord(self.header.delimiter)
            cut = partial(_cut, multiline=self.multiline, delimiter=delimiter, slots=slots, swift=swift)
            in_turn = _one_after_another if self.multiline else _side_by_side
            for columns in in_turn(chain([first], blocks), cut):
                yield [columns[place] for place in order]


def _blocks(file: IO[bytes], as_text: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """Whole lines, about *_BLOCK* bytes at a time; a line that is too long may lack its middle."""
    rest = b""
    enough = 2 * LONGEST_LINE + 8  # more bytes than a line may have, also in UTF-16 and with a byte order mark
    while block := file.read(_BLOCK):
        if len(rest) >= enough:  # the line is too long: only its end matters now
            end = block.find(b"\n")
            block = block[end:] if end >= 0 else b""
        block = rest + block
        end = block.rfind(b"\n") + 1
        if end:
            yield as_text(block[:end])
        rest = block[end : end + enough]
    if rest:
        yield as_text(rest + b"\n")


Cut = Callable[[bytes, bool], tuple[list[Any], int]]
"""The columns of a block's records, and how many bytes they took; the second argument says that the file ends."""


def _side_by_side(blocks: Iterator[bytes], cut: Cut) -> Iterator[list[Any]]:
    """The batches of all blocks in their order; a few threads cut a few blocks ahead."""
    threads = min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[tuple[list[Any], int]]] = deque()
        for block in blocks:
            waiting.append(pool.submit(cut, block, True))
            if len(waiting) > threads:
                yield waiting.popleft().result()[0]
        while waiting:
            yield waiting.popleft().result()[0]


def _one_after_another(blocks: Iterator[bytes], cut: Cut) -> Iterator[list[Any]]:
    """The batches of a file whose rows may span several lines, so that only reading them finds where they end."""
    rest = b""
    for block in blocks:
        text = rest + block
        columns, taken = cut(text, False)
        rest = text[taken:]
        yield columns
    if rest:
        yield cut(rest, True)[0]


def _cut(
    block: bytes, final: bool, *, multiline: bool, delimiter: int, slots: Places, swift: bool
) -> tuple[list[Any], int]:
    """The columns of a block's records, and how many of its bytes they took; *swift* compiles the loop first."""
    if not swift and b'"' not in block and b"\r" not in block:
        return _split(block, delimiter, slots), len(block)
    width, most = int(slots.max()) + 1, block.count(b"\n")
    data = np.empty((width, len(block)), np.uint8)
    ends = np.zeros((width, most + 1), np.int32)
    filled = np.zeros((width, most), np.uint8)
    if swift:
        raw = np.frombuffer(block, np.uint8)
        records, taken = cut_records(raw, final, multiline, LONGEST_LINE, delimiter, slots, data, ends, filled)
    else:  # Python reads single elements of bytes and views twice as fast as those of arrays
        arrays: list[Any] = [slots, data, ends, filled]
        views: Any = [memoryview(array) for array in arrays]
        records, taken = cut_records.function(block, final, multiline, LONGEST_LINE, delimiter, *views)
    return [
        _strings(data[slot, : ends[slot, records]], ends[slot, : records + 1], filled[slot, :records])
        for slot in range(width)
    ], taken


def _split(block: bytes, delimiter: int, slots: Places) -> list[Any]:
    """What :func:`cut_records` does, for a short block without quotes and returns.

    Claim.  As there: a line makes one record, and the record depends on the bytes of that line alone.
    Proof.  Without a quote, only a delimiter or a newline ends a field, and each line is split separately.  ∎
    """
    lines = [line for line in block.split(b"\n")[:-1] if line or len(slots) == 1]
    records = [line.split(bytes([delimiter])) if len(line) <= LONGEST_LINE else [] for line in lines]
    columns = []
    for place in np.argsort(slots)[-int(slots.max()) - 1 :]:  # in the order of the slots
        texts = [fields[place] if len(fields) > place else b"" for fields in records]
        ends = np.zeros(len(texts) + 1, np.int32)
        np.cumsum([len(text) for text in texts], out=ends[1:])
        columns.append(_strings(b"".join(texts), ends, ends[1:] > ends[:-1]))
    return columns


def _strings(texts: Any, ends: Any, filled: Any) -> Any:
    """An Arrow column of the texts between these ends; those that are not filled are missing."""
    import pyarrow

    known = pyarrow.py_buffer(np.packbits(filled, bitorder="little"))
    return pyarrow.StringArray.from_buffers(len(filled), pyarrow.py_buffer(ends), pyarrow.py_buffer(texts), known)


# Longer than 60 lines, because one function compiles sooner than several, and Python runs it faster without calls.
@compiled
def cut_records(  # noqa: PLR0912, PLR0915
    raw: bytes | Octets,
    final: bool,
    multiline: bool,
    longest: int,
    delimiter: int,
    slots: Places,
    data: Octets,
    ends: npt.NDArray[np.int32],
    filled: Octets,
) -> tuple[int, int]:
    """Read records from whole lines; return how many there were, and how many bytes of *raw* they took.

    A field is quoted if its first byte that is not a blank is a quote: it ends at the next quote that is not doubled,
    after which only blanks may follow. In other fields quotes are ordinary characters. ``slots[column]`` says where the
    fields of a column go, −1 for nowhere: their bytes to ``data[slot]``, the place after them to ``ends[slot, record +
    1]``; ``filled[slot, record]`` is 0 where a field is empty or absent. A line that breaks these rules, or is longer
    than *longest*, is a record of absent fields. Bytes that are not taken begin a record whose end is not in *raw*.

    Claim.  Without *multiline*, a line makes one record (none if it is empty and there are several columns), and the
    record depends on the bytes of that line alone.
    Proof.  Every loop over bytes ends at the first newline at the latest, and all variables used to read a record are
    set to their initial values where it begins.  ∎

    With *multiline*, a newline inside quotes is part of a field. A quote that is not closed within *longest* bytes
    makes its own line a record of absent fields, and the line after it begins the next record.
    """
    length, width, columns = len(raw), len(data), len(slots)
    start, record = 0, 0
    while start < length:
        for slot in range(width):
            ends[slot, record + 1] = ends[slot, record]
            filled[slot, record] = 0
        position, column, whole, unclosed = start, 0, True, False
        while True:  # one field
            slot = slots[column] if column < columns else -1
            end = ends[slot, record] if slot >= 0 else 0
            first = position
            while raw[position] == _BLANK:
                position += 1
            if raw[position] == _QUOTE:
                position += 1
                unclosed = True
                while position < length:
                    byte = raw[position]
                    if byte == _QUOTE:
                        position += 1
                        if raw[position] != _QUOTE:
                            unclosed = False
                            break
                    elif byte == _NEWLINE and (not multiline or position - start >= longest):
                        break
                    if slot >= 0:
                        data[slot, end] = byte
                        end += 1
                    position += 1
                if unclosed:
                    whole = False
                    break
                while raw[position] == _BLANK:
                    position += 1
                if raw[position] == _RETURN and raw[position + 1] == _NEWLINE:
                    position += 1
                if raw[position] != delimiter and raw[position] != _NEWLINE:
                    whole = False
                    break
            else:
                position = first
                while raw[position] != delimiter and raw[position] != _NEWLINE:
                    position += 1
                stop = position
                if raw[position] == _NEWLINE and stop > first and raw[stop - 1] == _RETURN:
                    stop -= 1
                if slot >= 0:
                    for place in range(first, stop):
                        data[slot, end] = raw[place]
                        end += 1
            if slot >= 0:
                filled[slot, record] = end > ends[slot, record]
                ends[slot, record + 1] = end
            if raw[position] == _NEWLINE:
                break
            position += 1
            column += 1
        if unclosed and multiline:
            if position == length and length - start <= longest and not final:
                return record, start
            position = start
        while raw[position] != _NEWLINE:
            position += 1
        stop = position
        if stop > start and raw[stop - 1] == _RETURN:
            stop -= 1
        if not whole or stop - start > longest:
            for slot in range(width):
                ends[slot, record + 1] = ends[slot, record]
                filled[slot, record] = 0
        if stop > start or columns == 1:
            record += 1
        start = position + 1
    return record, length


# ---- lines -----------------------------------------------------------------------------------------------------------

_CHUNK = 1 << 18
_EXCHANGED = bytes.maketrans(b"\r\n", b"\n\r")
_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".zip": "zip"}
_MARK = codecs.BOM_UTF8


def without_ending(path: str) -> str:
    """A file's name in lower case, without the ending that says how it is compressed."""
    name = path.lower()
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def compression_of(path: str, file: FileFormat) -> str:
    """How a file is compressed: as declared, or otherwise as its name says."""
    if file.compression is not None:
        return file.compression
    return next((kind for ending, kind in _ENDINGS.items() if path.lower().endswith(ending)), "none")


def open_lines(path: str, file: FileFormat, line_end: str | None = None) -> IO[bytes]:
    """The file for reading; UTF-16 is turned to UTF-8. *line_end* says which character ends a line."""
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
    files = [entry for entry in every or () if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")]
    locked = any(entry.flag_bits & 1 for entry in files)
    if every is None or len(files) != 1 or locked:
        has = "is not a zip archive" if every is None else "needs a password" if locked else f"holds {len(files)} files"
        raise SchemaError(f"{path!r} {has}. A table is one CSV file in an archive: unpack it, and open its files.")
    return files[0].filename


def _converted(file: Any, convert: Callable[[bytes, bool], bytes]) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Conversion(file, convert), _CHUNK))


class _Conversion(io.RawIOBase):
    """The bytes of a file, converted a piece at a time."""

    def __init__(self, file: Any, convert: Callable[[bytes, bool], bytes]) -> None:
        self._file, self._convert, self._rest, self._ended = file, convert, b"", False

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what is available, and return the number of bytes; 0 at the end."""
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
    """Whole lines as UTF-8; invalid bytes become U+FFFD, which is not a line end, quote or delimiter.

    In a file without a header, a byte order mark before any line is left out, because any line may be the first.
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


# ---- the first line --------------------------------------------------------------------------------------------------

_LONGEST_HEADER = 1 << 20
_LONGEST_NAME = 100
_NO_HEADER = "does not begin with a header: the first line of a CSV file names the columns."
_VALUE = re.compile(
    r"""[-+(]?[$€£]?\s*[\d.,'\s]*\d[\d.,'\s]*(e[-+]?\d+)?\s*[%)]?  # a number, an amount, a code of digits
    | \d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([\sT].*)?                    # a date, with or without a time
    | \d{1,2}:\d{2}(:\d{2}.*)?                                     # a time
    | true | false | yes | na | n/a | null | none | nan            # what stands for a value
    | [^@\s]+@[^@\s]+\.[^@\s]+                                     # an address
    | [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}                    # a UUID""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Header:
    """What is known about a file before its rows are read."""

    names: tuple[str, ...]
    delimiter: str
    line_end: str


def read_header(path: str, file: FileFormat = PLAIN) -> Header:
    """The names of the columns, the delimiter and the line end, from the first line alone.

    Nothing is read from a file without a header: its first line is a row.
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
    """Whether the fields of a first line look like those of a row: a number, a date, an address, a repeated value.

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
    """The first line, and what ends the lines: a return, if the first line has one before its line feed."""
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
        raw, returned, _ = raw.partition(b"\r")
        line_end = "cr" if returned else "lf"
    try:
        text = raw.decode("utf-8-sig" if file.encoding.startswith("utf-") else file.encoding)
    except UnicodeDecodeError:
        text = "\0"
    if problem:
        pass
    elif "\0" in text:
        problem = (
            f"is not {file.encoding.upper()} text. Say which encoding it has under [file] in the schema, for example "
            'encoding = "latin-1", "cp1252" or "utf-16".'
        )
    elif not text.strip() or text.count('"') % 2 or len(raw) >= _LONGEST_HEADER - 1:
        problem = _NO_HEADER
    if problem:
        raise SchemaError(f"{path!r} {problem}")
    return text, line_end
