"""The cells of whole rows: one number per row, from the cell codes of its attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adyton.kernel.engines import Engine
from adyton.kernel.tables.cell_codes import CellCode, base_code, with_policies
from adyton.kernel.tables.columns import holds_booleans, is_missing, trimmed
from adyton.schema import Categorical, Schema
from adyton.schema.attributes import CelledAttribute

_SAFE = 1 << 62
_FEW_RUNS = 8


def cell_table(
    table: Any, schema: Schema, columns: Mapping[str, str], *, engine: Engine, carry: Sequence[str] = ()
) -> Any:
    """The kept rows with a column ``cell``, the row-major number of the cell in the domain, and the columns to carry.

    *columns* names the column of every attribute.
    """
    import ibis

    table, levels = join_levels(table, schema, columns, engine)
    codes = []
    for name, attribute in schema.attributes.items():
        assert isinstance(attribute, CelledAttribute)
        column, cell = table[columns[name]], table[levels[name]] if name in levels else None
        if cell is not None and attribute.drops_all:
            codes.append(CellCode(cell, attribute.size, None))  # the join has dropped them
            continue
        base = base_code(column, attribute, engine, level=cell)
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
    table: Any, schema: Schema, columns: Mapping[str, str], engine: Engine, *, keep: bool = False
) -> tuple[Any, dict[str, str]]:
    """Join the number of the level for categorical attributes: for many levels a hash table is faster than any CASE.

    Levels are distinct, so that a row meets at most one of them: one row stays one row, or none; with *keep*, every row
    stays. Texts are compared by their bytes, because under a collation two levels can be equal.
    """
    found: dict[str, str] = {}
    for name, attribute in schema.attributes.items():
        if not isinstance(attribute, Categorical) or holds_booleans(attribute):
            continue
        if len(attribute.levels) <= engine.few_levels:
            continue
        key, cell = f"level_{len(found)}", f"cell_{len(found)}"
        column = trimmed(table[columns[name]], attribute)
        kind = "float64" if column.type().is_floating() else "int64" if column.type().is_integer() else "string"
        numbers = np.arange(len(attribute.levels), dtype=np.int32)
        lookup = engine.lookup({key: attribute.levels, cell: numbers}, {key: kind, cell: "int32"})
        how = "inner" if attribute.drops_all and not keep else "left"
        table = table.join(lookup, engine.same_bytes(column) == lookup[key], how=how)
        found[name] = cell
    return table, found


def among(cell: Any, cells: Sequence[int]) -> Any:
    """Whether a cell is one of some: by intervals if they are few, by a list if they are many."""
    import ibis

    runs: list[list[int]] = []
    for number in cells:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if len(runs) > _FEW_RUNS:
        return cell.isin(cells)
    condition = ibis.literal(False)
    for first, last in runs:
        condition = condition | cell.between(first, last)
    return condition
