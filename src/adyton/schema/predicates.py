"""The language of ``where``: comparisons of attributes with literals, joined by and, or and not.

A text is parsed as SQL by sqlglot, and converted into a small tree of our own, in which only listed operations are
allowed; the tree is checked against the schema. :func:`parse_predicate` never raises anything but a
:class:`PredicateError`. Every predicate is total: on any row it is true, false or (where a value is missing) unknown,
and never an error; only rows where it is true are kept.

A literal date or time means the whole period that it names: with ``'2024-03'``, ``<=`` means up to the end of March,
``=`` means within it, and ``>`` means later.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from adyton.errors import PredicateError, SchemaError
from adyton.messages import listing, no_such, shorten, suggestion, without_comma
from adyton.schema import Boolean, Categorical, Identifier, Schema
from adyton.schema.times import Times

Scalar: TypeAlias = str | int | float | bool

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
LARGEST_INTEGER = 2**63 - 1
LONGEST, DEEPEST = 10_000, 20
_TOO_DEEP = f"the filter is nested more than {DEEPEST} levels deep. Simplify it."
_SQL = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
"""The operators by their names in sqlglot."""
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONDITIONS = "Conditions are joined with {0}: age >= 18 {0} sex = 'F'."
_JOINED = {
    **dict.fromkeys(("AMP", "DAMP"), _CONDITIONS.format("and")),
    **dict.fromkeys(("PIPE", "DPIPE"), _CONDITIONS.format("or")),
    "TILDE": "The opposite of a condition is written with not: not sex = 'F'.",
}
"""What to write in place of the operators of Python and pandas, by their tokens."""
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
HELP = (
    "A filter is made of = != < <= > >=, between, in, is null, and, or, not, parentheses, numbers, 'texts', true "
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
    "Column": "a name with a dot in it",
    "Dot": "a name with a dot in it",
    "In": "in without a list of values",
    "Literal": "a number or a text on its own",
    "Boolean": "true or false on its own",
}
"""The names in messages of the sqlglot nodes that are refused."""


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
        return f"{_quote(self.column)} in ({', '.join(map(_literal, self.values))})"


@dataclass(frozen=True)
class IsNull:
    """``column is null``: missing, or not a number."""

    column: str

    def __str__(self) -> str:
        return f"{_quote(self.column)} is null"


@dataclass(frozen=True)
class _Junction:
    """Parts that are joined by a keyword."""

    word: ClassVar[str]
    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" if isinstance(part, _Junction) else str(part) for part in self.parts)


class And(_Junction):
    """All parts hold."""

    word = "and"


class Or(_Junction):
    """At least one part holds."""

    word = "or"


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Predicate

    def __str__(self) -> str:
        return f"not ({self.part})" if isinstance(self.part, And | Or | Not) else f"not {self.part}"


Comparison: TypeAlias = Compare | Between | In | IsNull
Predicate: TypeAlias = Comparison | And | Or | Not


def _quote(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


# ---- checks ----------------------------------------------------------------------------------------------------------


def check_predicate(predicate: Predicate, schema: Schema) -> None:
    """Raise an error unless every column exists, every literal has the type of its attribute, and every range ends
    after it begins: a range without rows is a slip, and nobody wants to pay for it."""
    pending: list[tuple[Any, int, bool]] = [(predicate, 0, False)]
    together: list[tuple[Any, bool]] = []
    while pending:
        node, depth, negated = pending.pop()
        if depth > DEEPEST:
            raise PredicateError(_TOO_DEEP)
        if isinstance(node, And | Or) and node.parts:
            pending += [(part, depth + 1, negated) for part in node.parts]
            together += [(node, negated)] * isinstance(node, And)
        elif isinstance(node, Not):
            pending.append((node.part, depth + 1, not negated))
        elif isinstance(node, IsNull):
            if node.column not in schema.attributes:
                raise PredicateError(no_such("attribute", node.column, schema.names))
        elif isinstance(node, Compare) and node.operator in OPERATORS:
            _check_literals(node.column, [node.value], schema, "" if node.operator in ("=", "!=") else node.operator)
        elif isinstance(node, Between):
            _check_literals(node.column, [node.low, node.high], schema, "between")
            _check_ends(node.column, node.low, node.high, schema, negated=negated)
        elif isinstance(node, In) and node.values:
            _check_literals(node.column, node.values, schema, "")
        else:
            raise PredicateError(f"this is not a filter: {shorten(node)}.")
    for both, negated in together:
        _check_joined(both, schema, negated=negated)


def _check_joined(both: And, schema: Schema, *, negated: bool) -> None:
    """Raise an error if one part asks for more than another allows: ``age >= 60 and age <= 30``."""
    parts = [part for part in both.parts if isinstance(part, Compare)]
    for low in (part for part in parts if part.operator in (">", ">=")):
        for high in (part for part in parts if part.operator in ("<", "<=") and part.column == low.column):
            _check_ends(low.column, low.value, high.value, schema, negated=negated)


def _check_ends(column: str, low: Any, high: Any, schema: Schema, *, negated: bool) -> None:
    """Raise an error if a range ends before it begins; where it is *negated*, every row is outside it."""
    attribute, first, last = schema.attributes[column], low, high
    if isinstance(attribute, Times):
        first, last = attribute.literal(low, column).first, attribute.literal(high, column).last
    if first > last:
        so = f"every row with a value of {column} is outside it" if negated else "no row can be in it"
        raise PredicateError(
            f"the range of {column} from {shorten(low)} to {shorten(high)} ends before it begins, so {so}. "
            f"Write {shorten(high)} first, then {shorten(low)}."
        )


def _check_literals(column: str, values: Sequence[object], schema: Schema, ordering: str) -> None:
    """Raise an error unless an attribute can be compared with these literals; *ordering* is an operator that needs an
    order, or empty."""
    attribute = schema.attributes.get(column)
    if attribute is None:
        raise PredicateError(no_such("attribute", column, schema.names))
    if isinstance(attribute, Identifier):
        raise PredicateError(f"{column!r} names a person or thing: it can only be tested with is null or is not null.")
    if ordering and isinstance(attribute, Categorical | Boolean):
        what = "a list of named values" if isinstance(attribute, Categorical) else "true or false"
        ways = "it can be compared with = or !=, or with in"
        raise PredicateError(f"{column!r} is {what}: {ways}, not with {ordering}.")
    for value in values:
        if isinstance(attribute, Categorical):
            groups = dict(attribute.groups)
            is_level = type(value) is type(attribute.levels[0]) and value in attribute.levels
            if not is_level and value not in groups:
                raise PredicateError(
                    f"{column!r} has no level {shorten(value)}. Its levels are {listing(attribute.levels)}"
                    + (f", its groups {listing(groups)}." if groups else ".")
                    + suggestion(value, [*attribute.levels, *groups])
                )
        elif isinstance(attribute, Boolean):
            if not isinstance(value, bool):
                raise PredicateError(
                    f"{column!r} is true or false: compare it with = true or = false, given {shorten(value)}."
                )
        elif isinstance(attribute, Times):
            try:
                attribute.literal(value, f"what {column!r} is compared with")
            except SchemaError as error:
                raise PredicateError(str(error)) from None
        elif isinstance(value, bool) or not isinstance(value, int | float):
            how = without_comma(value) or "Compare it with a number, such as 20 or 2.5."
            raise PredicateError(f"{column!r} is a number, and cannot be compared with {shorten(value)}. {how}")
        elif not abs(value) <= LARGEST_INTEGER:
            raise PredicateError(
                f"{column!r} cannot be compared with a number as large as {shorten(value)}. Write one of at most "
                "18 digits."
            )


# ---- comparisons -----------------------------------------------------------------------------------------------------


def comparisons_in(predicate: Predicate) -> list[Comparison]:
    """The comparisons in a predicate, in the order in which they are written."""
    match predicate:
        case And(parts) | Or(parts):
            return [comparison for part in parts for comparison in comparisons_in(part)]
        case Not(part):
            return comparisons_in(part)
    return [predicate]


def attributes_of(predicate: Predicate) -> tuple[str, ...]:
    """The attributes that a predicate uses, each once, in the order in which it names them."""
    return tuple(dict.fromkeys(comparison.column for comparison in comparisons_in(predicate)))


def in_numbers(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate with the levels of a group in place of its name, and whole numbers in place of dates and times.

    >>> schema = Schema({"state": Categorical(["CA", "OR", "NY"], groups={"west": ["CA", "OR"]})})
    >>> print(in_numbers(Compare("state", "!=", "west"), schema))
    not "state" in ('CA', 'OR')
    """
    match predicate:
        case Not(part):
            return Not(in_numbers(part, schema))
        case And(parts) | Or(parts):
            return type(predicate)(tuple(in_numbers(part, schema) for part in parts))
        case IsNull():
            return predicate
    attribute = schema.attributes[predicate.column]
    if isinstance(attribute, Times):
        return _in_seconds(predicate, attribute)
    return _in_levels(predicate, attribute) if isinstance(attribute, Categorical) else predicate


def _in_levels(predicate: Compare | Between | In, attribute: Categorical) -> Predicate:
    groups, column = dict(attribute.groups), predicate.column
    match predicate:
        case Compare(_, operator, value) if value in groups:
            within = In(column, attribute.members(str(value)))
            return within if operator == "=" else Not(within)
        case In(_, values):
            members = (attribute.members(str(value)) if value in groups else (value,) for value in values)
            return In(column, tuple(dict.fromkeys(level for levels in members for level in levels)))
    return predicate


def _in_seconds(predicate: Compare | Between | In, attribute: Times) -> Predicate:
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


# ---- from a text -----------------------------------------------------------------------------------------------------


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
    if not isinstance(text, str):
        raise PredicateError(f"a filter is a text, given {shorten(text)}.")
    _check_length(text)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise PredicateError("the filter contains a NUL or half a surrogate pair. Write plain Unicode text.")
    statements = _statements(text)
    if statements is None:
        raise PredicateError(f"the filter cannot be read: {shorten(text)}. {HELP}")
    if not statements or statements == [None]:
        raise PredicateError("the filter is empty. Leave it out to keep all rows.")
    if len(statements) > 1:
        raise PredicateError("the filter contains a semicolon. Write one condition; join conditions with and.")
    predicate = _Converter(schema.names).predicate(statements[0], 0)
    check_predicate(predicate, schema)
    _check_length(str(predicate))  # so that the saved text can be read again
    return predicate


def _check_length(text: str) -> None:
    """Raise an error if a predicate is too long, as given or in its canonical form."""
    if len(text) > LONGEST:
        raise PredicateError(f"the filter has {len(text):,} characters; the limit is {LONGEST:,}. Write a shorter one.")


def _statements(text: str) -> list[Any] | None:
    """The statements that sqlglot parses from the text; None if it cannot."""
    import sqlglot

    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True
    try:
        _check_tokens(sqlglot.tokenize(text, read="duckdb"))
        return list(sqlglot.parse(text, read="duckdb"))
    except PredicateError:
        raise
    except Exception:  # whatever a parser may do with a hostile text, including RecursionError
        return None
    finally:
        logger.disabled = disabled


def _check_tokens(tokens: Sequence[Any]) -> None:
    """Raise an error if a text contains comments, or is nested too deeply to be parsed."""
    depth = nots = 0
    too_deep = False
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        nots = nots + 1 if kind in ("NOT", "DASH") else 0
        too_deep = too_deep or max(depth, nots) > DEEPEST
        if kind in _JOINED:
            raise PredicateError(f"the filter contains {token.text}. {_JOINED[kind]}")
        if token.comments:
            raise PredicateError("the filter contains a comment. Leave comments out.")
    if too_deep:
        raise PredicateError(_TOO_DEEP)


class _Converter:
    """Converts nodes of sqlglot into our own, and refuses those that are not listed."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    def predicate(self, node: Any, depth: int) -> Predicate:
        """A condition."""
        node = _unwrapped(node)
        if depth > DEEPEST:
            raise PredicateError(_TOO_DEEP)
        kind = _kind(node)
        if kind in ("And", "Or"):
            parts = tuple(self.predicate(part, depth + 1) for part in _operands(node, kind))
            return And(parts) if kind == "And" else Or(parts)
        if kind == "Not":
            return Not(self.predicate(_only(node, "this")[0], depth + 1))
        if kind in _SQL:
            return self.comparison(_SQL[kind], *_only(node, "this", "expression"))
        if kind == "Between":
            subject, low, high = _only(node, "this", "low", "high")
            return Between(self.column(subject), self.literal(low), self.literal(high))
        if kind == "In":
            subject, values = _only(node, "this", "expressions")
            return In(self.column(subject), tuple(map(self.literal, values)))
        if kind == "Is":
            subject, null = _only(node, "this", "expression")
            if _kind(null) != "Null":
                raise PredicateError(
                    "after is, only null and not null are allowed. For a boolean, write = true or = false."
                )
            return IsNull(self.column(subject))
        if kind == "Column":
            raise PredicateError(
                f"{self.column(node)!r} on its own is not a condition. Compare it with a number or a text."
            )
        raise _refused(node)

    def comparison(self, operator: str, left: Any, right: Any) -> Predicate:
        """A comparison of a column with a literal, in either order."""
        left, right = _unwrapped(left), _unwrapped(right)
        if _kind(left) == "Column" and _kind(right) == "Column":
            self.column(left), self.column(right)
            raise PredicateError(
                "two attributes cannot be compared with each other. Compare each with a number or a text."
            )
        if _kind(right) == "Column":
            return Compare(self.column(right), _MIRRORED[operator], self.literal(left))
        return Compare(self.column(left), operator, self.literal(right))

    def column(self, node: Any) -> str:
        """The name of an existing column."""
        node = _unwrapped(node)
        if _kind(node) != "Column":
            raise _refused(node)
        identifier = _only(node, "this")[0]
        name = identifier.args.get("this") if _kind(identifier) == "Identifier" else None
        if not isinstance(name, str) or not set(_given(identifier)) <= {"this", "quoted"}:
            raise _refused(node)
        if name not in self.columns:
            hint = "" if suggestion(name, self.columns) else " Texts are written in single quotes, 'like this'."
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
            raise PredicateError(
                f"a number or a text is needed in place of {self.column(node)!r}. Write a text 'like this'."
            )
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
        node = node.args.get("this")
    return node


def _operands(node: Any, kind: str) -> list[Any]:
    """The operands of ``a and b and c``, which is parsed as ``(a and b) and c``, from left to right."""
    operands = []
    while _kind(node) == kind:
        node, right = _only(node, "this", "expression")
        operands.append(right)
    return [node, *reversed(operands)]


def _given(node: Any) -> list[str]:
    """The names of the arguments of a node that are set."""
    return [name for name, value in node.args.items() if value is not None and value is not False and value != []]


def _only(node: Any, *names: str) -> list[Any]:
    """The named arguments of a node; exactly these must be set."""
    if sorted(_given(node)) != sorted(names):
        raise _refused(node)
    return [node.args[name] for name in names]


def _refused(node: Any) -> PredicateError:
    from sqlglot.expressions import Func

    kind = _kind(node)
    what = _NAMES.get(kind) or ("a function call" if isinstance(node, Func) else f"a form of {kind.lower()}")
    quote = ' A name that is a keyword of SQL is written in double quotes, like "order" = 3.' * (kind == "Command")
    return PredicateError(f"the filter contains {what}, which is not allowed. {HELP}{quote}")
