"""CSV files, read so that nothing in them can raise an error."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.tables.readers import Column, Reader, connect, sql_path, sql_text, take, view

_LONGEST_HEADER = 1 << 20
_LONGEST_LINE = 1 << 23


class CsvReader(Reader):
    """A CSV file in which nothing can be wrong: whatever cannot be read is missing.

    Columns are taken from the header line; all values are read as text. Lines with too few fields are filled with
    missing values, surplus fields are ignored, lines longer than 8 MB are left out, and so are lines that are not UTF-8
    in a column that is asked about. An empty field is missing, quoted or not.
    """

    is_text = True

    def __init__(self, path: str) -> None:
        import ibis

        self.path = path
        self.compressed = path.lower().endswith(".gz")
        header = self._header_line()
        tabs = path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        candidates = "\t,;|" if tabs else ",;\t|"
        self.delimiter = max(candidates, key=header.count)
        names = next(csv.reader(header.splitlines(keepends=True), delimiter=self.delimiter), [])
        text = ibis.dtype("string")
        self.columns = [Column(name.strip(), "text", text, from_text=True) for name in names]

    def _header_line(self) -> str:
        problem, raw = "", b""
        try:
            with gzip.open(self.path, "rb") if self.compressed else open(self.path, "rb") as file:
                raw = file.readline(_LONGEST_HEADER).split(b"\r")[0]
        except PermissionError:
            problem = "cannot be read: permission denied. Ask for the right to read it."
        except (OSError, EOFError, ValueError):
            problem = "cannot be read. Check that the file is complete."
        text = _decoded(raw)
        if not problem and text is None:
            problem = "is not UTF-8 text. Convert it first, for example with iconv -f latin1 -t utf-8."
        elif not problem and (not (text or "").strip() or raw.count(b'"') % 2 or len(raw) >= _LONGEST_HEADER - 1):
            problem = "does not begin with a header: the first line of a CSV file names the columns."
        if problem or text is None:
            raise SchemaError(f"{self.path!r} {problem}")
        return text

    def read(self, wanted: Sequence[int]) -> Any:
        """A view over DuckDB's reader in its most forgiving mode; one thread, for quoted line ends to be understood."""
        columns = ", ".join(f"'f{index}': 'VARCHAR'" for index in range(len(self.columns)))
        query = (
            f"select * from read_csv({sql_path(self.path)}, auto_detect=false, header=true, columns={{{columns}}}, "
            f"delim={sql_text(self.delimiter)}, quote='\"', escape='\"', ignore_errors=true, strict_mode=false, "
            f"null_padding=true, parallel=false, max_line_size={_LONGEST_LINE}, "
            f"compression='{'gzip' if self.compressed else 'none'}')"
        )
        table = view(connect(), query, f"{self.path!r} cannot be read as CSV.")
        return take(table, [f"f{index}" for index in wanted])


def _decoded(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
