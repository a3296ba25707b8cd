"""What a session is opened with: its schema, and what may be spent in all."""

from __future__ import annotations

import os
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.file import file_name
from adyton.schema import Schema
from adyton.whole import whole


def declared_schema(schema: Schema | str | os.PathLike[str], rows_per_unit: int | None) -> Schema:
    """The schema, from its file if need be, with the number of rows per unit that one of the two says."""
    schema = Schema.of(schema)
    if rows_per_unit is None:
        return schema
    rows = whole(rows_per_unit, "rows_per_unit", 1)
    if schema.rows_per_unit not in (1, rows):
        raise BadInput(
            f"the schema says rows_per_unit = {schema.rows_per_unit}, the session was given {rows}. Say it once."
        )
    return schema.with_attributes(schema.attributes, rows)


def total_budget(epsilon: Rational | None, ledger: Ledger | str | os.PathLike[str] | None) -> Fraction:
    """What may be spent in all: what was given, or what the ledger holds."""
    if epsilon is not None:
        return budget(epsilon, "epsilon")
    if isinstance(ledger, Ledger):
        return ledger.total
    if ledger is None or not os.path.exists(file_name(ledger)):
        raise BadInput(
            "say what may be spent in all, for example epsilon=1; only a ledger that exists knows it already."
        )
    return Ledger.read(ledger).total
