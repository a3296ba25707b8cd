"""What a session measures for a task: the counts of rows by their cells, or of units by their rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import TableSource, VectorSource
from adyton.release.receipt import Receipt
from adyton.schema import Schema
from adyton.session.misfits import MisfitCount
from adyton.tasks import Task


def vector_of(source: TableSource, task: Task, schema: Schema) -> VectorSource:
    """The counts that a task is about; the schema is that of its attributes."""
    if task.per_unit:
        (name,) = schema.names
        return source.units(name, most=schema.cells).vectorize()
    return source.select(list(schema.names)).coarsen(schema).vectorize()


def planned_misfits(
    root: TableSource, task: Task, schema: Schema, where: str | None, given: Rational | bool | None
) -> MisfitCount:
    """The count of rows that do not fit; none for units, all of whose rows are counted whatever they say."""
    if not task.per_unit:
        return MisfitCount.planned(root, schema.names, where, given)
    if given:
        raise BadInput("rows that do not fit are not looked at where units are counted. Leave misfits out.")
    if where is not None:
        root.where(where)
    return MisfitCount(root, (), (), Fraction(0))


def receipt_for(receipt: Receipt, task: Task) -> Receipt:
    """The receipt of a task: where units are counted, each counts once, not as often as it has rows."""
    return replace(receipt, rows_per_unit=1) if task.per_unit else receipt
