"""Tables of people in several formats; some people have far more rows than others.

Some names differ only in case or by a leading zero; some rows have no name. Some values are missing or lie outside the
bounds of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adyton.schema import Boolean, Categorical, Integer, Numeric, Schema
from adyton.schema.declaration import DROP, ONE

LIMIT = 4
SIZES = {"heavy": 70, "Heavy": 14, "07": 5, "7": 19, "e": 9, "f": 1, "": 11}
"""How many rows each person has; the last entry is rows without a person."""
ATTRIBUTES = {
    "age": Integer(0, 6, nulls="level"),
    "sex": Categorical(["F", "M"]),
    "smoker": Boolean(),
    "balance": Numeric(-90, 10, bins=5, outside="clamp"),
    "dep": Categorical(["a", "b", "c"]),
    "visits": Integer(0, 15, outside="clamp"),
}
NAMES = ("person", *ATTRIBUTES)
Row = tuple[Any, ...]
Store = Callable[[Path, Sequence[Row]], Any]
"""Writes rows to a path, in a format that a session can read."""


def schema_of(source: str, *, unit: bool = True) -> Schema:
    """The schema of a table of people. Without a *unit*, ε protects single rows."""
    if not unit:
        return Schema(ATTRIBUTES)
    return Schema(ATTRIBUTES, LIMIT, unit="person", no_unit=DROP if source == "parquet" else ONE)


def people(seed: int = 0) -> list[Row]:
    """The rows of all people, in random order."""
    random = np.random.default_rng(19 + seed)
    rows: list[Row] = []
    for person, size in SIZES.items():
        for _ in range(size):
            sex, smoker = "FMx"[random.choice(3, p=[0.5, 0.45, 0.05])], bool(random.integers(2))
            balance, dep = float(random.integers(-200, 30)) / 2, "abc"[random.integers(3)]
            rows.append((person, int(random.integers(-1, 8)), sex, smoker, balance, dep, int(random.integers(-2, 18))))
    rows[-2:] = [("", None, "F", None, 1e300, "a", 3), ("", 2, None, True, None, None, None)]
    return [rows[place] for place in random.permutation(len(rows))]


def _csv(path: Path, rows: Sequence[Row]) -> Any:
    """Two files, with every person's rows spread over both."""
    path.mkdir()
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    for part in range(2):
        text = "\n".join([",".join(NAMES), *lines[part::2], ""])
        (path / f"{part}.csv").write_text(text, encoding="utf-8")
    return path


def named(rows: Sequence[Row]) -> list[Row]:
    """The rows with None for a missing person, and names that cannot be read as numbers."""
    return [(f"p{row[0]}" if row[0] else None, *row[1:]) for row in rows]


def arrow_of(rows: Sequence[Row]) -> Any:
    """An Arrow table."""
    import pyarrow

    types = (pyarrow.string(), pyarrow.int64(), pyarrow.string(), pyarrow.bool_(), pyarrow.float64())
    columns = zip(NAMES, zip(*rows, strict=True), (*types, pyarrow.string(), pyarrow.int64()), strict=True)
    return pyarrow.table({name: pyarrow.array(values, kind) for name, values, kind in columns})


def _parquet(path: Path, rows: Sequence[Row]) -> Any:
    """Three files, with every person's rows spread over all."""
    from pyarrow import parquet

    path.mkdir()
    for part in range(3):
        parquet.write_table(arrow_of(rows).take(np.arange(part, len(rows), 3)), path / f"{part}.parquet")
    return path


def _duckdb(path: Path, rows: Sequence[Row]) -> Any:
    """A table in a DuckDB file."""
    import duckdb

    path.mkdir()
    given = arrow_of(rows)
    with duckdb.connect(str(path / "people.duckdb")) as connection:
        connection.register("given", given)
        connection.execute("create table people as select * from given")
    return path / "people.duckdb"


def _pandas(_: Path, rows: Sequence[Row]) -> Any:
    """A frame whose columns have the types that pandas finds in their values."""
    import pandas

    return pandas.DataFrame.from_records(named(rows), columns=list(NAMES))


def _polars(_: Path, rows: Sequence[Row]) -> Any:
    import polars

    return polars.from_arrow(arrow_of(named(rows)))


STORES: dict[str, Store] = {
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "arrow": lambda _, rows: arrow_of(named(rows)),
    "pandas": _pandas,
    "polars": _polars,
}
"""The formats of tables that need no server."""
