"""Groups of levels in predicates: ``state = 'west'`` stands for ``state in ('CA', 'OR', …)``."""

from __future__ import annotations

from adyton.kernel.tables.predicates import And, Compare, In, Not, Or, Predicate, Scalar
from adyton.schema import Categorical, Schema


def without_groups(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate with the levels of a group in place of its name.

    >>> schema = Schema({"state": Categorical(["CA", "OR", "NY"], groups={"west": ["CA", "OR"]})})
    >>> print(without_groups(Compare("state", "!=", "west"), schema))
    not "state" in ('CA', 'OR')
    """
    match predicate:
        case Compare(column, operator, value) if _levels(column, value, schema) != (value,):
            within = In(column, _levels(column, value, schema))
            return within if operator == "=" else Not(within)
        case In(column, values):
            levels = dict.fromkeys(level for value in values for level in _levels(column, value, schema))
            return In(column, tuple(levels))
        case Not(part):
            return Not(without_groups(part, schema))
        case And(parts):
            return And(tuple(without_groups(part, schema) for part in parts))
        case Or(parts):
            return Or(tuple(without_groups(part, schema) for part in parts))
    return predicate


def _levels(column: str, value: Scalar, schema: Schema) -> tuple[Scalar, ...]:
    """The levels that a value stands for: its own, or those of a group."""
    attribute = schema.attributes[column]
    if not isinstance(attribute, Categorical) or not isinstance(value, str) or value not in dict(attribute.groups):
        return (value,)
    return attribute.members(value)
