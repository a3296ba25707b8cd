"""Synthetic rows as tables and files: marked as synthetic, and compared with the tables that they were made from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from adyton import __version__
from adyton.arrays import Reals
from adyton.drafts import replaced
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.result.folder import for_spreadsheets
from adyton.result.row_comparison import Comparison
from adyton.result.row_values import Codes, arrow_rows
from adyton.schema import Schema
from adyton.whole import whole

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = (".csv", ".parquet")
MOST_ROWS = 10**9
_NOTE = "Synthetic rows, sampled from differentially private tables. No row is anybody's."
_MARK = b"adyton.synthetic"


class RowSource(Protocol):
    """What rows can be made from: an estimate that knows tables."""

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """Rows as numbers of cells, a part at a time."""

    def tables(self) -> Mapping[tuple[str, ...], Reals]:
        """What the rows are compared with: the tables of all pairs of attributes, or of the only one."""


@dataclass(frozen=True)
class RowsMade:
    """What is said of synthetic rows."""

    rows: int
    distance: float | None
    """How far the pairs of the rows are from those of the release: the mean total variation; None without rows."""
    farthest: float | None
    """The largest of them."""
    farthest_table: tuple[str, ...] = ()
    """Which pair that is."""
    counted: str = ""
    """Which rows of the table they stand for, in a sentence, where that is not all of them."""

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "note": _note(self.counted),
            "made_by": f"adyton {__version__}",
            "rows": self.rows,
            "mean_distance_of_pairs": self.distance,
            "largest_distance_of_pairs": self.farthest,
            "farthest_pair": list(self.farthest_table),
        }


def _note(counted: str) -> str:
    return f"{_NOTE} {counted}".rstrip()


def check_rows(file: Path | None, rows: int, schema: Schema) -> None:
    """Refuse what cannot be made or written, before anything is spent."""
    if whole(rows, "rows", 0) > MOST_ROWS:
        raise BadInput(f"at most {MOST_ROWS:,} rows are made at once, given {shorten(rows)}.")
    empty = np.zeros((0, len(schema.names)), dtype=np.int32)
    arrow_rows(schema, empty, np.random.default_rng(0))
    if file is not None and file.suffix.lower() not in KINDS:
        raise BadInput(f"rows are written to a file that ends in .csv or .parquet, given {shorten(str(file))}.")
    if file is not None and (file.is_dir() or not (file.parent.is_dir() and os.access(file.parent, os.W_OK))):
        raise BadInput(f"{file} cannot be written. Name a file in a folder that exists.")


def sampled_table(
    source: RowSource, schema: Schema, rows: int, seed: int | None, counted: str
) -> tuple[pa.Table, RowsMade]:
    """All rows in memory, with what is said of them in the table's metadata."""
    import pyarrow as pa

    check_rows(None, rows, schema)
    compared = Comparison(source.tables(), schema.names)
    parts = list(_parts(source, schema, rows, seed, compared))
    made = _made(rows, compared, counted)
    empty = arrow_rows(schema, np.zeros((0, len(schema.names)), dtype=np.int32), np.random.default_rng(0))
    table = pa.concat_tables(parts) if parts else empty
    return table.replace_schema_metadata({_MARK: json.dumps(made.to_plain())}), made


def write_rows(source: RowSource, schema: Schema, file: Path, rows: int, seed: int | None, counted: str) -> RowsMade:
    """A part at a time; the file appears when all of them are in it."""
    check_rows(file, rows, schema)
    compared = Comparison(source.tables(), schema.names)
    empty = arrow_rows(schema, np.zeros((0, len(schema.names)), dtype=np.int32), np.random.default_rng(0))
    try:
        with replaced(file) as draft:
            with _writer(draft, file.suffix.lower(), empty, _note(counted)) as writer:
                for part in _parts(source, schema, rows, seed, compared):
                    writer.write_table(part.cast(empty.schema))
            made = _made(rows, compared, counted)
            with replaced(file.with_name(f"{file.name}.synthetic.json")) as note:
                note.write_text(json.dumps(made.to_plain(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written ({error.strerror or error}). Name another file.") from None
    return made


def _writer(draft: Path, kind: str, empty: pa.Table, note: str) -> Any:
    if kind == ".csv":
        from pyarrow import csv

        return _Harmless(csv.CSVWriter(draft, for_spreadsheets(empty).schema))
    from pyarrow import parquet

    marked = empty.schema.with_metadata({_MARK: json.dumps({"note": note})})
    return _Marked(parquet.ParquetWriter(draft, marked, compression="zstd"), marked)


class _Harmless:
    """A writer of CSV whose texts no spreadsheet takes for formulas."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write_table(self, part: Any) -> None:
        self._writer.write_table(for_spreadsheets(part))

    def __enter__(self) -> _Harmless:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


class _Marked:
    """A writer of Parquet whose file says that its rows are synthetic."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer, self._schema = writer, schema

    def write_table(self, part: Any) -> None:
        self._writer.write_table(part.replace_schema_metadata(self._schema.metadata))

    def __enter__(self) -> _Marked:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


def _parts(source: RowSource, schema: Schema, rows: int, seed: int | None, compared: Comparison) -> Iterator[pa.Table]:
    random = np.random.default_rng(seed)
    for codes in source.codes(rows, seed):
        compared.add(codes)
        yield arrow_rows(schema, codes, random)


def _made(rows: int, compared: Comparison, counted: str) -> RowsMade:
    distances = compared.distances() if rows else {}
    if not distances:
        return RowsMade(rows, None, None, counted=counted)
    farthest = max(distances, key=lambda group: distances[group])
    return RowsMade(rows, float(np.mean(list(distances.values()))), distances[farthest], farthest, counted)
