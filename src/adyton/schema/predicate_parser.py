"""From the text of a ``where`` to our own tree: SQL is parsed by sqlglot, and a strict list says what may come through.

No text at all makes :func:`parse_predicate` raise anything but a :class:`PredicateError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from adyton.errors import PredicateError
from adyton.messages import no_such, shorten, suggestion
from adyton.schema import Schema
from adyton.schema.predicates import (
    DEEPEST,
    LARGEST_INTEGER,
    TOO_DEEP,
    And,
    Between,
    Compare,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    Scalar,
    check_predicate,
)

_OPERATORS = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
HELP = (
    "A predicate is made of = != < <= > >=, between, in, is null, and, or, not, parentheses, numbers, 'texts', true "
    'and false; a name with a blank is written in double quotes, "visit year".'
)
_NAMES = {
    "Anonymous": "a function call",
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg"), "arithmetic"),
    **dict.fromkeys(("Cast", "TryCast"), "a cast"),
    **dict.fromkeys(("Subquery", "Select", "Exists"), "a subquery"),
    "Like": "like",
    "ILike": "ilike",
    "Case": "case",
    "Star": "*",
    "Alias": "two expressions in a row",
    "Column": "a name with a point in it",
    "In": "an in without a list of literals",
    "Literal": "a literal on its own",
    "Boolean": "true or false on its own",
}


class Converter:
    """Turns nodes of sqlglot into ours, refusing what is not on the list."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    def predicate(self, node: Any, depth: int) -> Predicate:
        """A condition."""
        node = _unwrapped(node)
        if depth > DEEPEST:
            raise PredicateError(TOO_DEEP)
        kind = _kind(node)
        if kind in ("And", "Or"):
            parts = tuple(self.predicate(part, depth + 1) for part in _chain(node, kind))
            return And(parts) if kind == "And" else Or(parts)
        if kind == "Not":
            return Not(self.predicate(_only(node, "this")[0], depth + 1))
        if kind in _OPERATORS:
            return self.comparison(_OPERATORS[kind], *_only(node, "this", "expression"))
        if kind == "Between":
            subject, low, high = _only(node, "this", "low", "high")
            return Between(self.column(subject), self.literal(low), self.literal(high))
        if kind == "In":
            subject, values = _only(node, "this", "expressions")
            return In(self.column(subject), tuple(self.literal(value) for value in values))
        if kind == "Is":
            subject, null = _only(node, "this", "expression")
            if _kind(null) != "Null":
                raise PredicateError(
                    "after is, only null and not null are allowed. For a boolean, write = true or = false."
                )
            return IsNull(self.column(subject))
        if kind == "Column":
            raise PredicateError(f"{self.column(node)!r} on its own is no condition. Compare it with something.")
        raise _refused(node)

    def comparison(self, operator: str, left: Any, right: Any) -> Predicate:
        """Column and literal, on either side."""
        left, right = _unwrapped(left), _unwrapped(right)
        if _kind(left) == "Column" and _kind(right) == "Column":
            self.column(left), self.column(right)
            raise PredicateError("two attributes cannot be compared with each other. Compare each with a literal.")
        if _kind(right) == "Column":
            return Compare(self.column(right), _MIRRORED[operator], self.literal(left))
        return Compare(self.column(left), operator, self.literal(right))

    def column(self, node: Any) -> str:
        """The name of a column that exists."""
        node = _unwrapped(node)
        if _kind(node) != "Column":
            raise _refused(node)
        identifier = _only(node, "this")[0]
        name = identifier.args.get("this") if _kind(identifier) == "Identifier" else None
        if not isinstance(name, str) or not set(_given(identifier)) <= {"this", "quoted"}:
            raise _refused(node)
        if name not in self.columns:
            hint = "" if suggestion(name, self.columns) else " Texts are written in single quotes, 'so'."
            raise PredicateError(no_such("attribute", name, self.columns) + hint)
        return name

    def literal(self, node: Any) -> Scalar:
        """A number, a text or a boolean."""
        node = _unwrapped(node)
        kind = _kind(node)
        if kind == "Neg":
            number = self.literal(_only(node, "this")[0])
            if isinstance(number, bool | str) or number < 0:
                raise _refused(node)
            return -number
        if kind == "Boolean":
            return bool(node.args.get("this"))
        if kind == "Null":
            raise PredicateError("nothing equals null. Write is null or is not null.")
        if kind == "Column":
            raise PredicateError(f"a literal must stand where {self.column(node)!r} stands. Texts are written 'so'.")
        if kind != "Literal" or not set(_given(node)) <= {"this", "is_string"}:
            raise _refused(node)
        return str(node.args["this"]) if node.args["is_string"] else _number(str(node.args["this"]))


def _number(text: str) -> int | float:
    if _NUMBER.match(text) and len(text) <= 400:
        if text.isdigit() and len(text) <= 19 and int(text) <= LARGEST_INTEGER:
            return int(text)
        number = float(text)
        if math.isfinite(number):
            return number
    raise PredicateError(f"{shorten(text)} is not a number that can be used here. Write a finite decimal number.")


def _kind(node: Any) -> str:
    return type(node).__name__


def _unwrapped(node: Any) -> Any:
    while _kind(node) == "Paren":
        node = _only(node, "this")[0]
    return node


def _chain(node: Any, kind: str) -> list[Any]:
    """The operands of ``a and b and c``, which is parsed as ``(a and b) and c``, from left to right."""
    operands = []
    while _kind(node) == kind:
        node, right = _only(node, "this", "expression")
        operands.append(right)
    return [node, *reversed(operands)]


def _given(node: Any) -> list[str]:
    """The arguments of a node that are set."""
    return [name for name, value in node.args.items() if value is not None and value is not False and value != []]


def _only(node: Any, *names: str) -> list[Any]:
    """The named arguments of a node, all of which must be set, and no others."""
    if sorted(_given(node)) != sorted(names):
        raise _refused(node)
    return [node.args[name] for name in names]


def _refused(node: Any) -> PredicateError:
    from sqlglot.expressions import Func

    kind = _kind(node)
    what = _NAMES.get(kind) or ("a function call" if isinstance(node, Func) else f"a form of {kind.lower()}")
    quote = ' A name that means something in SQL stands in double quotes, like "order" = 3.' * (kind == "Command")
    return PredicateError(f"the predicate holds {what}, which is not allowed. {HELP}{quote}")


LONGEST = 10_000


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Read a predicate over the attributes of *schema*.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> print(parse_predicate("age between 20 and 29 and not sex = 'F'", schema))
    "age" between 20 and 29 and not "sex" = 'F'
    >>> parse_predicate("agee > 3", schema)
    Traceback (most recent call last):
    adyton.errors.PredicateError: there is no attribute 'agee'. There are 'age', 'sex'. Did you mean 'age'?
    """
    predicate = _parse(text, schema.names)
    check_predicate(predicate, schema)
    _check_length(str(predicate))  # so that what is written down can be read again
    return predicate


def _parse(text: str, columns: Sequence[str]) -> Predicate:
    """The tree of a text; *columns* are the names that bare or quoted identifiers may have."""
    if not isinstance(text, str):
        raise PredicateError(f"a predicate is a text, given {shorten(text)}.")
    _check_length(text)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise PredicateError("the predicate holds a NUL or half a surrogate pair. Write plain Unicode text.")
    statements = _statements(text)
    if statements is None:
        raise PredicateError(f"the predicate cannot be parsed: {shorten(text)}. {HELP}")
    if not statements or statements == [None]:
        raise PredicateError("the predicate is empty. Leave it out to keep all rows.")
    if len(statements) > 1:
        raise PredicateError("the predicate holds a semicolon. Write one condition; join conditions with and.")
    return Converter(columns).predicate(statements[0], 0)


def _check_length(text: str) -> None:
    """An error if a predicate is too long, as given or in its canonical form."""
    if len(text) > LONGEST:
        raise PredicateError(
            f"the predicate has {len(text):,} characters; the limit is {LONGEST:,}. Write a shorter one."
        )


def _statements(text: str) -> list[Any] | None:
    """What sqlglot makes of the text; None if it cannot, or if the text holds comments or is nested too deeply."""
    import logging

    import sqlglot

    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True
    problem = None
    statements: list[Any] | None = None
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
        problem = _token_problem(tokens)
        if problem is None:
            statements = list(sqlglot.parse(text, read="duckdb"))
    except Exception:  # whatever a parser may do with a hostile text, including RecursionError
        statements = None
    finally:
        logger.disabled = disabled
    if problem is not None:
        raise PredicateError(problem)
    return statements


def _token_problem(tokens: Sequence[Any]) -> str | None:
    depth = deepest = nots = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        nots = nots + 1 if kind in ("NOT", "DASH") else 0
        deepest = max(deepest, depth, nots)
        if token.comments:
            return "the predicate holds a comment. Leave comments out."
    if deepest > DEEPEST:
        return TOO_DEEP
    return None
