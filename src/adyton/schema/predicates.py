"""The language of ``where``: comparisons of attributes with literals, joined by and, or and not.

A text is parsed into a small tree of our own and checked against the schema; nothing else of SQL gets through. Every
predicate is total: on any row it is true, false or (where a value is missing) unknown, and never an error; only rows
where it is true are kept.

A date or a time that is written stands for all that it names: with ``'2024-03'``, ``<=`` means up to the end of March,
``=`` means within it, and ``>`` means later.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from adyton.errors import PredicateError, SchemaError
from adyton.messages import listing, no_such, shorten, suggestion
from adyton.schema import Attribute, Boolean, Categorical, Identifier, Schema
from adyton.schema.times import Times

Scalar: TypeAlias = str | int | float | bool

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_ORDERING = ("<", "<=", ">", ">=")
LARGEST_INTEGER = 2**63 - 1
DEEPEST = 20
TOO_DEEP = f"the predicate is nested more than {DEEPEST} deep. Write it flatter."


@dataclass(frozen=True)
class Compare:
    """``column operator value``, where the operator is one of ``= != < <= > >=``."""

    column: str
    operator: str
    value: Scalar

    def __str__(self) -> str:
        return f"{_quote(self.column)} {self.operator} {_literal(self.value)}"


@dataclass(frozen=True)
class Between:
    """``column between low and high``, both included."""

    column: str
    low: Scalar
    high: Scalar

    def __str__(self) -> str:
        return f"{_quote(self.column)} between {_literal(self.low)} and {_literal(self.high)}"


@dataclass(frozen=True)
class In:
    """``column in (value, …)``."""

    column: str
    values: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"{_quote(self.column)} in ({', '.join(_literal(value) for value in self.values)})"


@dataclass(frozen=True)
class IsNull:
    """``column is null``: missing, or not a number."""

    column: str

    def __str__(self) -> str:
        return f"{_quote(self.column)} is null"


@dataclass(frozen=True)
class _Joined:
    """Parts that are joined by a word."""

    word: ClassVar[str]
    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" if isinstance(part, _Joined) else str(part) for part in self.parts)


class And(_Joined):
    """All parts hold."""

    word = "and"


class Or(_Joined):
    """Some part holds."""

    word = "or"


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Predicate

    def __str__(self) -> str:
        return f"not ({self.part})" if isinstance(self.part, And | Or | Not) else f"not {self.part}"


Predicate: TypeAlias = Compare | Between | In | IsNull | And | Or | Not


def check_predicate(predicate: Predicate, schema: Schema) -> None:
    """An error unless every column exists and every literal has the type of its attribute."""
    pending: list[tuple[Any, int]] = [(predicate, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > DEEPEST:
            raise PredicateError(TOO_DEEP)
        if isinstance(node, And | Or) and node.parts:
            pending += [(part, depth + 1) for part in node.parts]
        elif isinstance(node, Not):
            pending.append((node.part, depth + 1))
        elif isinstance(node, IsNull):
            _attribute(node.column, schema)
        elif isinstance(node, Compare) and node.operator in OPERATORS:
            ordered = node.operator in _ORDERING
            _check_literals(node.column, [node.value], schema, node.operator if ordered else "")
        elif isinstance(node, Between):
            _check_literals(node.column, [node.low, node.high], schema, "between")
        elif isinstance(node, In) and node.values:
            _check_literals(node.column, node.values, schema, "")
        else:
            raise PredicateError(f"this is no predicate: {shorten(node)}.")


def attributes_of(predicate: Predicate) -> tuple[str, ...]:
    """The attributes that a predicate looks at, each once, in the order in which it names them."""
    match predicate:
        case And(parts) | Or(parts):
            return tuple(dict.fromkeys(name for part in parts for name in attributes_of(part)))
        case Not(part):
            return attributes_of(part)
        case _:
            return (predicate.column,)


def _attribute(column: str, schema: Schema) -> Attribute:
    attribute = schema.attributes.get(column)
    if attribute is None:
        raise PredicateError(no_such("attribute", column, schema.names))
    return attribute


def _check_literals(column: str, values: Sequence[object], schema: Schema, ordering: str) -> None:
    attribute = _attribute(column, schema)
    where = f"attribute {column!r} is {attribute.kind}"
    if isinstance(attribute, Identifier):
        raise PredicateError(f"{where}: it can only be tested with is null or is not null.")
    if ordering and isinstance(attribute, Categorical | Boolean):
        raise PredicateError(f"{where} and has no order for {ordering!r}. Use =, !=, in or not in.")
    for value in values:
        if isinstance(attribute, Categorical):
            groups = dict(attribute.groups)
            own = type(value) is type(attribute.levels[0]) and value in attribute.levels
            if not own and value not in groups:
                raise PredicateError(
                    f"{where} and has no level {shorten(value)}. Its levels are {listing(attribute.levels)}"
                    + (f", its groups {listing(groups)}." if groups else ".")
                    + suggestion(value, [*attribute.levels, *groups])
                )
        elif isinstance(attribute, Boolean):
            if not isinstance(value, bool):
                raise PredicateError(f"{where}: compare it with true or false, given {shorten(value)}.")
        elif isinstance(attribute, Times):
            _check_time(attribute, value, where)
        elif isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_INTEGER:
            raise PredicateError(f"{where}: compare it with a number up to 2^63, given {shorten(value)}.")


def _check_time(attribute: Times, value: object, where: str) -> None:
    """An error unless the literal is written as the attribute's times are."""
    problem = ""
    try:
        attribute.literal(value, "a literal")
    except SchemaError as error:
        problem = str(error)
    if problem:
        raise PredicateError(f"{where}: {problem}")


def _quote(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


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
