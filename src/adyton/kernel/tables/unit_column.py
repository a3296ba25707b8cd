"""Which column says whose row it is: found by its name and type, before a row is read."""

from __future__ import annotations

from adyton.errors import SchemaError
from adyton.kernel.tables.readers import Column, Reader
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
    if not (kind.is_string() or kind.is_integer() or kind.is_decimal() or kind.is_uuid() or kind.is_binary()):
        rounded = ", because it rounds long numbers" if kind.is_floating() else ""
        raise SchemaError(
            f"the unit {name!r} has the type {column.engine_type}, which cannot tell units apart{rounded}. A unit is a "
            f"text, a whole number, a decimal, a UUID or bytes: {_advice(column)}"
        )
    return schema, present.index(name)


def _advice(column: Column) -> str:
    """What to do about a column of another type."""
    if column.inferred and column.type.is_floating():
        return (
            "read the table again with this column as text or, in pandas, as Int64, which has missing values, too. "
            "(What was rounded cannot be converted back.)"
        )
    return "convert the column where it is stored, and open that."
