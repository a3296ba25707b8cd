"""The codes of new rows: the cell of every attribute, row by row, for tables that are the caller's own to look at.

A model is asked about rows that somebody holds in the hand; they are not those of a kernel, and nothing here can reach
a kernel's rows. What is shared are the rules: the same expressions say which cell a value falls into.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.engines import Engine
from adyton.kernel.reading.cells import cells
from adyton.kernel.reading.values import ValueReader
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.cells import base_code, with_policies
from adyton.kernel.tables.columns import is_missing
from adyton.kernel.tables.opened_rows import check_columns, checked_reader, opened_rows
from adyton.schema import Schema
from adyton.schema.attributes import CelledAttribute

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
    reader = checked_reader(data, schema)
    if reader.local:
        return _local(reader, schema, keep=keep)
    opened = opened_rows(reader, schema, keep=keep)
    codes = {
        f"a{place}": _code(opened.rows[opened.columns[name]], attribute, opened.engine)
        for place, (name, attribute) in enumerate(schema.attributes.items())
    }
    kept = {f"k{place}": opened.rows[f"k{place}"] for place in range(len(opened.kept))}
    rows = opened.rows.select(**codes, **kept)
    return opened.kept, _batches(rows, len(codes), opened.kept, opened.engine)


def _local(reader: Any, schema: Schema, *, keep: bool) -> tuple[tuple[str, ...], Iterator[tuple[Integers, Any]]]:
    check_columns(reader, schema)
    names = tuple(column.name for column in reader.columns) if keep else ()
    readers = {name: ValueReader(attribute) for name, attribute in schema.attributes.items()}
    wanted = list(dict.fromkeys([*schema.columns, *names]))
    reader.declare(wanted, None)

    def batches() -> Iterator[tuple[Integers, Any]]:
        import pyarrow

        arrays_of, end = reader.batches(wanted), [object()]
        while (arrays := quietly(lambda: next(arrays_of, end))) is not end:
            by_name = dict(zip(wanted, arrays or (), strict=False))
            found = quietly(lambda by_name=by_name: coded(by_name)) if by_name else None  # type: ignore[misc]
            if found is None:
                raise BadInput("the new rows cannot be read to their end. Check that the table is complete.")
            kept = pyarrow.Table.from_arrays([by_name[name] for name in names], names=list(names)) if keep else None
            yield found, kept

    def coded(by_name: dict[str, Any]) -> Integers:
        columns = []
        for name, attribute in schema.attributes.items():
            assert isinstance(attribute, CelledAttribute)
            columns.append(cells(readers[name].read(by_name[schema.column_of(name)]), attribute))
        return np.stack(columns, axis=1)

    return names, batches()


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
    code = with_policies(attribute, base_code(column, attribute, engine), is_missing(column))
    number = code.code.cast("int32")
    kept = number if code.keep is None else ibis.ifelse(code.keep, number, -1)
    return kept.fill_null(-1)
