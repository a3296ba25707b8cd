"""How the text files of a table are written: delimiter, header, encoding, compression and line ends.

What is left out is found without looking at a row: by the header line and by the file's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing, shorten, suggestion
from adyton.schema.reading import check_keys, writable

COMPRESSIONS = ("none", "gzip", "zstd", "bz2", "zip")
LINE_ENDS = ("lf", "cr")
ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "latin-1",
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(f"cp125{page}" for page in range(9)), "cp437", "cp850", "cp852", "cp858", "cp866", "koi8-r", "koi8-u",
    "mac-roman",
    "cp932", "shift_jis", "gbk", "gb18030", "big5", "cp949", "euc-kr", "euc-jp",
)  # fmt: skip
"""Those in which no byte of a letter is a line end, and no line changes how the next is read."""
_ALIASES = {"utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso-8859-1": "latin-1", "windows-1252": "cp1252"}


@dataclass(frozen=True)
class FileFormat:
    """How a CSV file is written.

    *delimiter* is one sign; if it is left out, the one that the header has most of. Without a *header*, *columns* names
    the columns in their order. *compression* is told by the file's name if it is left out, and *line_end* by the
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
        """What a schema file says, without what is left out."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in plain.items()
            if value != getattr(PLAIN, name)
        }

    @classmethod
    def from_dict(cls, content: object) -> FileFormat:
        """From the table ``[file]`` of a schema file."""
        if not isinstance(content, Mapping):
            raise SchemaError(f"file must be a table like [file], given {shorten(content)}.")
        check_keys(content, [field.name for field in fields(cls)], "[file]")
        return cls(**content)


def _check_delimiter(given: object) -> None:
    one = isinstance(given, str) and len(given) == 1 and given.isascii()
    if one and (given == "\t" or (str(given).isprintable() and not str(given).isalnum() and str(given) not in ' "')):
        return
    raise SchemaError(
        f"delimiter must be one sign such as ',', ';', '|' or a tab (\"\\t\"), given {shorten(given)}. Letters, "
        "digits, blanks and quotes cannot be one."
    )


def _checked_encoding(given: object) -> str:
    if isinstance(given, str):
        known = {_plain(name): name for name in ENCODINGS} | {_plain(name): known for name, known in _ALIASES.items()}
        if _plain(given) in known:
            return known[_plain(given)]
    raise SchemaError(
        f"the encoding {shorten(given)} is not among those that can be read: {listing(ENCODINGS, 60)}."
        + suggestion(given, ENCODINGS)
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace("windows", "cp")


PLAIN = FileFormat()
