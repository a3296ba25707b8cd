"""The codes of new rows: the cell of every attribute, row by row, for tables that are the caller's own to look at.

A model is asked about rows that somebody holds in the hand; they are not those of a kernel, and nothing here can reach
a kernel's rows. What is shared are the rules: the same expressions say which cell a value falls into.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.engines import Engine, Server
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.cells import CellCode, base_code, with_policies
from adyton.kernel.tables.columns import holds_booleans, is_missing, trimmed
from adyton.kernel.tables.opened_rows import opened_rows
from adyton.schema import Categorical, Schema
from adyton.schema.attributes import CelledAttribute, Level

ROWS_AT_A_TIME = 1 << 18


def row_codes(data: Any, schema: Schema) -> Iterator[Integers]:
    """The codes of a table's rows in their order, in batches: a column for each attribute, −1 where there is no cell.

    *data* is anything that a kernel opens. A value has no cell where the schema would leave its row out.
    """
    _, batches = rows_beside_codes(data, schema, keep=False)
    return (codes for codes, _ in batches)


def rows_beside_codes(
    data: Any, schema: Schema, *, keep: bool
) -> tuple[tuple[str, ...], Iterator[tuple[Integers, Any]]]:
    """The same and, if *keep*, the rows themselves as Arrow tables; first the names of all columns."""
    opened = opened_rows(data, schema, keep=keep)
    codes = {
        f"a{place}": _code(opened.rows[opened.columns[name]], attribute, opened.engine)
        for place, (name, attribute) in enumerate(schema.attributes.items())
    }
    kept = {f"k{place}": opened.rows[f"k{place}"] for place in range(len(opened.kept))}
    rows = opened.rows.select(**codes, **kept)
    return opened.kept, _batches(rows, len(codes), opened.kept, opened.engine)


def _batches(rows: Any, width: int, kept: tuple[str, ...], engine: Engine) -> Iterator[tuple[Integers, Any]]:
    import pyarrow

    batches, end = quietly(lambda: engine.batches(rows, ROWS_AT_A_TIME)), object()
    while batches is not None:
        batch: Any = quietly(lambda: next(batches, end))
        if batch is None:
            break
        if batch is end:
            return
        found = np.empty((batch.num_rows, width), dtype=np.int64)
        for place in range(width):
            found[:, place] = batch.column(place).to_numpy(zero_copy_only=False)
        yield found, pyarrow.Table.from_arrays(batch.columns[width:], names=list(kept)) if kept else None
    raise BadInput("the new rows cannot be read to their end. Check that the table is complete.")


def _code(column: Any, attribute: Any, engine: Engine) -> Any:
    """The code of a value, −1 for one without a cell."""
    import ibis

    assert isinstance(attribute, CelledAttribute)
    if isinstance(attribute, Categorical) and not holds_booleans(attribute) and not isinstance(engine, Server):
        cell = _numbered(trimmed(column, attribute), attribute.levels)
        base = CellCode(cell, attribute.size, (cell >= 0).fill_null(False))
    else:
        base = base_code(column, attribute, engine)
    code = with_policies(attribute, base, is_missing(column))
    number = code.code.cast("int32")
    kept = number if code.keep is None else ibis.ifelse(code.keep, number, -1)
    return kept.fill_null(-1)


def _numbered(column: Any, levels: Any) -> Any:
    """The number of the level that equals the value, −1 if there is none; by a hash table, in the order of rows."""
    kind = "float64" if column.type().is_floating() else "int64" if column.type().is_integer() else "string"
    return _finder(tuple(levels), kind)(column.cast(kind))


@cache
def _finder(levels: tuple[Level, ...], kind: str) -> Any:
    import ibis
    import pyarrow
    from pyarrow import compute

    wanted = pyarrow.array(list(levels)).cast(kind)

    def number(values: Any) -> Any:
        return compute.index_in(values, value_set=wanted).fill_null(-1)

    name = f"level_{hashlib.sha256(repr((kind, levels)).encode()).hexdigest()[:16]}"
    return ibis.udf.scalar.pyarrow(number, name=name, signature=((kind,), "int32"))
