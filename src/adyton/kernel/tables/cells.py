"""The cells of whole rows: one number per row, from the cell codes of its attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adyton.kernel.tables.arrow_columns import arrow_column, arrow_memtable
from adyton.kernel.tables.cell_codes import CellCode, base_code, with_policies
from adyton.kernel.tables.columns import engine_function, holds_booleans, is_missing, trimmed
from adyton.schema import Categorical, Schema
from adyton.schema.attributes import CelledAttribute

_SAFE = 1 << 62


def cell_table(
    table: Any, schema: Schema, columns: Mapping[str, str], *, tries: bool, carry: Sequence[str] = ()
) -> Any:
    """The kept rows with a column ``cell``, the row-major number of the cell in the domain, and the columns to carry.

    *columns* names the column of every attribute; *tries* says that the engine has conversions that never fail.
    """
    import ibis

    table, levels = join_levels(table, schema, columns) if tries else (table, {})
    codes = []
    for name, attribute in schema.attributes.items():
        assert isinstance(attribute, CelledAttribute)
        column, cell = table[columns[name]], table[levels[name]] if name in levels else None
        if cell is not None and attribute.outside == "drop" and attribute.nulls == "drop":
            codes.append(CellCode(cell, attribute.size, None))  # the join has dropped them
            continue
        base = base_code(column, attribute, tries) if cell is None else CellCode(cell, attribute.size, cell.notnull())
        codes.append(with_policies(attribute, base, is_missing(column)))
    shape = schema.shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    fits = sum(code.magnitude * stride for code, stride in zip(codes, strides, strict=True)) < _SAFE
    total = None
    for code, stride, size in zip(codes, strides, shape, strict=True):
        term = code.code if fits else ibis.greatest(ibis.least(code.code, size - 1), 0)
        term = term.cast("int64") * stride if stride > 1 else term.cast("int64")
        total = term if total is None else total + term
    for code in codes:
        if code.keep is not None:
            table = table.filter(code.keep)
    return table.select(*carry, cell=total)


def join_levels(
    table: Any, schema: Schema, columns: Mapping[str, str], *, keep: bool = False
) -> tuple[Any, dict[str, str]]:
    """Join the number of the level for every categorical attribute: the join's hash table is faster than any CASE.

    Levels are distinct, so that a row meets at most one of them: one row stays one row, or none; with *keep*, every row
    stays. Texts are compared by their bytes, because under a collation two levels can be equal.
    """
    import pyarrow

    found: dict[str, str] = {}
    for name, attribute in schema.attributes.items():
        if not isinstance(attribute, Categorical) or holds_booleans(attribute):
            continue
        key, cell = f"level_{len(found)}", f"cell_{len(found)}"
        column = trimmed(table[columns[name]], attribute)
        kind = "float64" if column.type().is_floating() else "int64" if column.type().is_integer() else "binary"
        levels = arrow_column(attribute.levels, kind)
        numbers = arrow_column(np.arange(len(levels), dtype=np.int32))
        lookup = arrow_memtable(pyarrow.table({key: levels, cell: numbers}))
        drops = attribute.outside == "drop" and attribute.nulls == "drop" and not keep
        table = table.join(lookup, same_bytes(column, True) == lookup[key], how="inner" if drops else "left")
        found[name] = cell
    return table, found


def same_bytes(column: Any, ours: bool) -> Any:
    """A text as its bytes, where the engine is DuckDB: under a collation, texts that differ can be equal."""
    return engine_function("encode", str, bytes)(column) if ours and column.type().is_string() else column
