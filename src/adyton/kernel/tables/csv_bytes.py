"""The bytes of a text file, as lines of UTF-8 that end with a line feed: decompressed, transcoded, line ends exchanged.

Claim.  The bytes of a line depend on those of that line alone, whatever the lines around it hold.
Proof.  Carriage returns and line feeds change places one by one, in files whose lines end with a return. UTF-16 is made
of units of two bytes, and a unit that is half of nothing becomes U+FFFD by itself. In the other encodings no part of a
letter is a line feed; where a block holds a byte that is none of theirs, each of its lines is decoded by itself.  ∎
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
from collections.abc import Callable
from typing import IO, Any, cast

from adyton.schema import FileFormat

_CHUNK = 1 << 18
_EXCHANGED = bytes.maketrans(b"\r\n", b"\n\r")
_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2"}
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
    if compression == "zstd":
        import pyarrow

        return _converted(pyarrow.CompressedInputStream(open(path, "rb"), "zstd"), lambda chunk, final: chunk)
    return open(path, "rb")


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
