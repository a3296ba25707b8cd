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
from adyton.kernel.counting.opening import check_columns, checked_reader
from adyton.kernel.reading.cells import cells
from adyton.kernel.reading.values import ValueReader
from adyton.kernel.sealed import quietly
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
