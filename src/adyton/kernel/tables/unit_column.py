"""Which column says whose row it is: found by its name and type, before a row is read."""

from __future__ import annotations

from adyton.errors import SchemaError
from adyton.kernel.tables.readers import Reader
from adyton.messages import listing, shorten, suggestion
from adyton.schema import Schema

RAW_UNIT = "whose"


def unit_column(reader: Reader, schema: Schema, word: str | None) -> tuple[Schema, int | None]:
    """The schema with its unit, and the place of that column; None where there is no unit.

    The schema's own unit must be a column. A *word* that is given beside the schema is a column if there is one of that
    name, and else a word for people to read.
    """
    present = [column.name for column in reader.columns]
    if schema.unit is None:
        if not isinstance(word, str) or word not in present:
            return schema, None
        schema = schema.with_unit(word)
    elif word != schema.unit and word in present:
        raise SchemaError(f"the schema says unit = {schema.unit!r}, and {word!r} is another column. Say it once.")
    name = schema.unit
    assert name is not None
    times = present.count(name)
    if times != 1:
        known = "" if reader.doubtful else f" It has {listing(present)}.{suggestion(name, present)}"
        problem = f"{times} columns" if times else "no column"
        raise SchemaError(
            f"the schema says unit = {shorten(name)}, and the table has {problem} of that name.{known} Name the one "
            "column that says whose row it is."
        )
    column = reader.columns[present.index(name)]
    kind = column.type
    plain = kind.is_string() or kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_boolean()
    single = kind.is_uuid() or kind.is_temporal() or kind.is_null() or kind.is_binary()
    if not (plain or kind.is_uuid() or (column.inferred and single)):
        raise SchemaError(
            f"the unit {name!r} has the type {column.engine_type}, which cannot tell units apart. It takes texts or "
            "whole numbers; convert the column."
        )
    return schema, present.index(name)
