"""The language of ``where``: comparisons of attributes with literals, joined by and, or and not.

A text is parsed into a small tree of our own and checked against the schema; nothing else of SQL gets through. Every
predicate is total: on any row it is true, false or (where a value is missing) unknown, and never an error; only rows
where it is true are kept.
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


def to_ibis(predicate: Predicate, value: Callable[[str], Any], missing: Callable[[str], Any]) -> Any:
    """The predicate as an Ibis expression, given the value of a column and whether it is missing."""
    match predicate:
        case Compare(column, operator, scalar):
            result = OPERATORS[operator](value(column), scalar)
        case Between(column, low, high):
            result = value(column).between(low, high)
        case In(column, values):
            result = value(column).isin(_one_type(values))
        case IsNull(column):
            result = missing(column)
        case Not(part):
            result = ~to_ibis(part, value, missing)
        case And(parts) | Or(parts):
            join = operators.and_ if isinstance(predicate, And) else operators.or_
            result = _balanced([to_ibis(part, value, missing) for part in parts], join)
    return result


def _one_type(values: Sequence[Scalar]) -> list[Scalar]:
    return [float(v) for v in values] if any(isinstance(v, float) for v in values) else list(values)


def _balanced(parts: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join by halves: a thousand parts make a tree ten deep, not a thousand deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(_balanced(parts[:middle], join), _balanced(parts[middle:], join))


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
