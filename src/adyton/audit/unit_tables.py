"""Tables of people in several forms, some of whom have far more rows than others.

What tells people apart is spelled in several ways, and some names differ by a capital or by a digit that a number would
not have. In a frame of pandas people have numbers, and the rows without a person hold values that give whole columns
another type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adyton.audit.unit_programs import ATTRIBUTES

SIZES = {"heavy": 530, "Heavy": 14, "07": 5, "7": 19, "e": 9, "f": 1, "": 61}
"""How many rows each person has; the last are rows without a person."""
SPELLINGS = {"heavy": ("heavy", " heavy", "heavy  "), "": ("", "  ")}
NAMES = ("person", *ATTRIBUTES)
Row = tuple[str, int | None, str | None, bool | None, float | None]
_EVERYBODY = tuple(SIZES)


def people() -> list[Row]:
    """The rows of everybody, in no order."""
    random = np.random.default_rng(19)
    rows: list[Row] = []
    for person, size in SIZES.items():
        for _ in range(size):
            sex, smoker = "FM"[random.integers(2)], bool(random.integers(2))
            rows.append((person, int(random.integers(5)), sex, smoker, float(random.integers(-20, 100)) / 2))
    rows[-2:] = [("", None, "F", None, 1e300), ("", 2, None, True, None)]
    return [rows[place] for place in random.permutation(len(rows))]


def whose(row: Row, kind: str) -> str:
    """The person of a row. In a frame, where any column may have become one of texts, 07 is the number 7."""
    return "7" if kind == "frame" and row[0] == "07" else row[0]


def stored(path: Path, kind: str, rows: Sequence[Row]) -> Any:
    """The rows in one of :data:`KINDS`; *path* is where a file or a folder may be made."""
    return KINDS[kind](path, rows)


def _spelled(rows: Sequence[Row]) -> list[Row]:
    """With the names of people in all their spellings."""
    written: list[Row] = []
    for place, (person, age, sex, smoker, pay) in enumerate(rows):
        ways = SPELLINGS.get(person, (person,))
        written.append((ways[place % len(ways)], age, sex, smoker, pay))
    return written


def _csv(path: Path, rows: Sequence[Row]) -> Any:
    """Two files among which everybody's rows are dealt out."""
    path.mkdir()
    lines = [",".join("" if one is None else str(one) for one in row) for row in _spelled(rows)]
    for part in range(2):
        text = "\n".join([",".join(NAMES), *lines[part::2], ""])
        (path / f"{part}.csv").write_text(text, encoding="utf-8")
    return path


def _arrow(_: Path, rows: Sequence[Row]) -> Any:
    import pyarrow

    columns = dict(zip(NAMES, map(list, zip(*_spelled(rows), strict=True)), strict=True))
    columns["person"] = [person if person.strip() else None for person in columns["person"]]
    return pyarrow.table(columns)


def _parquet(path: Path, rows: Sequence[Row]) -> Any:
    """Three files among which everybody's rows are dealt out."""
    from pyarrow import parquet

    path.mkdir()
    for part in range(3):
        parquet.write_table(_arrow(path, rows).take(np.arange(part, len(rows), 3)), path / f"{part}.parquet")
    return path


def _duckdb(path: Path, rows: Sequence[Row]) -> Any:
    """A table of a database."""
    import duckdb

    file = path.with_suffix(".duckdb")
    people = _arrow(path, rows)
    with duckdb.connect(str(file)) as connection:
        connection.register("given", people)
        connection.execute("create table people as select * from given")
    return file


def _pandas(_: Path, rows: Sequence[Row]) -> Any:
    """A frame whose columns have the types that pandas finds in their values."""
    import pandas

    numbered = [(_EVERYBODY.index(row[0]) if row[0] else None, *row[1:]) for row in rows]
    return pandas.DataFrame.from_records(numbered, columns=list(NAMES))


KINDS: dict[str, Callable[[Path, Sequence[Row]], Any]] = {
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "frame": _arrow,
    "pandas": _pandas,
}
