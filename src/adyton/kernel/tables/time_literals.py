"""Dates and times that are written in a predicate, as the whole numbers by which their attributes count.

What is written stands for all that it names: with ``'2024-03'``, ``<=`` means up to the end of March, ``=`` means
within it, and ``>`` means later.
"""

from __future__ import annotations

from adyton.kernel.tables.predicates import And, Between, Compare, In, IsNull, Not, Or, Predicate
from adyton.schema import Schema
from adyton.schema.times import Times


def in_seconds(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate with whole numbers where dates and times are written."""
    if isinstance(predicate, And | Or):
        return type(predicate)(tuple(in_seconds(part, schema) for part in predicate.parts))
    if isinstance(predicate, Not):
        return Not(in_seconds(predicate.part, schema))
    attribute = schema.attributes[predicate.column]
    if isinstance(predicate, IsNull) or not isinstance(attribute, Times):
        return predicate
    return _counted(predicate, attribute)


def _counted(predicate: Compare | Between | In, attribute: Times) -> Predicate:
    column = predicate.column
    match predicate:
        case Between(_, low, high):
            return Between(column, attribute.literal(low, column).first, attribute.literal(high, column).last)
        case In(_, values):
            within = [Between(column, *attribute.literal(value, column)) for value in values]
            return Or(tuple(within)) if len(within) > 1 else within[0]
        case Compare(_, "=" | "!=" as operator, value):
            inside = Between(column, *attribute.literal(value, column))
            return inside if operator == "=" else Not(inside)
    first, last = attribute.literal(predicate.value, column)
    return Compare(column, predicate.operator, first if predicate.operator in ("<", ">=") else last)
