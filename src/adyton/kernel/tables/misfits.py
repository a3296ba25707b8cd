"""Which rows do not fit the schema, and why: an expression that no value can make fail, as for the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.tables.cell_codes import base_code
from adyton.kernel.tables.cells import join_levels
from adyton.kernel.tables.columns import is_missing
from adyton.schema import Schema
from adyton.schema.attributes import CelledAttribute
from adyton.schema.misfits import Misfit, Reason


def misfit_table(
    table: Any,
    schema: Schema,
    columns: Mapping[str, str],
    texts: Mapping[str, str],
    misfits: Sequence[Misfit],
    *,
    engine: Engine,
) -> Any:
    """All rows with a column ``cell``: 0 for a row that fits, k for one whose first misfit is number k.

    *columns* names the column of every attribute, *texts* the text that it was read from, where there is one. Every
    row is there once.
    """
    import ibis

    concerned = schema.select(tuple(dict.fromkeys(misfit.attribute for misfit in misfits)))
    table, levels = join_levels(table, concerned, columns, engine, keep=True)

    def holds(name: str, reason: Reason) -> Any:
        attribute, column = concerned.attributes[name], table[columns[name]]
        assert isinstance(attribute, CelledAttribute)
        if reason == "missing":
            return is_missing(column)
        if reason in ("unreadable", "no time"):
            if name not in texts:
                return ibis.literal(False)
            unread = ~column.isnan().fill_null(False) if column.type().is_floating() else ibis.literal(True)
            return column.isnull() & unread & (table[texts[name]].strip() != "")  # an engine may take both for null
        inside: Any = table[levels[name]].notnull() if name in levels else base_code(column, attribute, engine).keep
        return ~is_missing(column) & ~inside

    cases = [(holds(misfit.attribute, misfit.reason), number) for number, misfit in enumerate(misfits, start=1)]
    return table.select(cell=ibis.cases(*cases, else_=0).cast("int64"))
