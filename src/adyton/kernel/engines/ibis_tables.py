"""Ibis tables: an expression is opened only if each stored row yields at most one row, which depends on it alone.

The expression is walked, and any operation that is not on the lists below is refused: joins, aggregates, windows,
samples, the clock, random numbers, functions and SQL texts, and whatever could fail on a row. Stored tables are the
leaves. DuckDB's views are refused, because their effect on rows is unknown; on other engines a name may belong to a
view (see known-limits.md).

Claim.  If :func:`check_expression` accepts an expression, each of its rows is a function of one stored row, the same
function in every run, and no stored row makes the engine fail.
Proof.  Relations on the list map rows one by one, or leave some out. Values on the list are total, deterministic
functions of fields of the same row and of literals.  ∎
"""

from __future__ import annotations

from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import databases, identifier, postgres
from adyton.kernel.engines.databases import DuckDbReader
from adyton.kernel.engines.postgres import Postgres, PostgresReader, quoted
from adyton.kernel.engines.spark import SparkReader, check_frame
from adyton.kernel.reading.readers import Reader
from adyton.kernel.sealed import quietly
from adyton.messages import shorten

_RELATIONS = "DatabaseTable Project Filter DropColumns DropNull Sort SortKey SelfReference Field Literal"
_VALUES = "Alias And Or Not Xor IsNull NotNull"
_OF_ONE_TYPE = (
    "Equals NotEquals Less LessEqual Greater GreaterEqual Between IdenticalTo NullIf Coalesce Greatest Least IfElse "
    "SimpleCase SearchedCase InValues Clip"
)
"""Total where nothing must be converted first: an engine converts a text that is compared with a number, and fails."""
_OURS = (
    "IsNan IsInf TryCast ExtractYear ExtractMonth ExtractDay ExtractQuarter ExtractDayOfYear ExtractWeekOfYear "
    "ExtractHour ExtractMinute ExtractSecond DayOfWeekIndex Date Lowercase Uppercase Strip LStrip RStrip StringLength "
    "StringConcat StringContains StartsWith EndsWith StringReplace Divide"
)
"""Total in DuckDB; other engines fail on some values."""
_REAL = ("Add", "Subtract", "Multiply", "Negate", "Abs")
"""Total on doubles in DuckDB; integers overflow."""
_FAR = 1 << 31
_NAMES = {
    "RandomScalar": "ibis.random()",
    "RandomUUID": "ibis.uuid()",
    "TimestampNow": "ibis.now()",
    "DateNow": "ibis.today()",
    "WindowFunction": "a window function, or an aggregate next to single rows",
    "InMemoryTable": "rows in memory (open the frame itself, and choose rows with where)",
    "JoinChain": "a join",
    "Aggregate": "an aggregation",
    "Distinct": "distinct()",
    "Limit": "limit()",
    "Sample": "sample()",
    "Union": "a union",
    "Intersection": "an intersection",
    "Difference": "a difference",
    "SQLQueryResult": "SQL text",
    "SQLStringView": "SQL text",
    "InSubquery": "a subquery",
    "ExistsSubquery": "a subquery",
    "ScalarSubquery": "a subquery",
}
_ALLOWED = (
    "An Ibis table may choose columns and rows of one stored table, compare, replace nulls, convert with try_cast, "
    "compute with float64 and take parts of dates and texts"
)


def ibis_reader(table: Any) -> Reader:
    """The reader of an Ibis table, by the query that Ibis compiles for its connection."""
    from ibis.expr import operations

    check_expression(table)
    (backend, *_), _ = table._find_backends()
    query = str(backend.compile(table))
    if backend.name == "duckdb":
        return DuckDbReader(backend.con, f"({query}) as shown", ours=False)
    if backend.name == "pyspark":
        return SparkReader(backend._session.sql(query), query)
    stored = [quoted(node.name, node.namespace.database) for node in table.op().find(operations.DatabaseTable)]
    fields = {field.name for field in table.op().find(operations.Field)}
    return PostgresReader(_postgres(backend), f"({query}) as shown", stored, fields)


def _postgres(backend: Any) -> Postgres:
    renew = backend.reconnect if getattr(backend, "_can_reconnect", True) else None
    return Postgres(lambda: backend.con, renew, ours=False)


def _check_stored(node: Any) -> None:
    """Raise an error unless a name belongs to a stored table."""
    backend, place = node.source, node.namespace
    if backend.name == "duckdb":
        databases.check_stored(backend.con, node.name, place.catalog, place.database)
    elif backend.name == "pyspark":
        named = ".".join(identifier(part, "`") for part in (place.catalog, place.database, node.name) if part)
        frame = quietly(lambda: backend._session.table(named))
        if frame is None or quietly(lambda: frame.schema) is None:
            raise SchemaError(f"the table {node.name!r} cannot be found. Check its name, and that you may read it.")
        check_frame(frame, named)
    else:
        postgres.check_stored(_postgres(backend), node.name, place.database)


def check_expression(table: Any) -> None:
    """Raise an error unless an Ibis table is a plain view, row by row, of one stored table on a known engine."""
    from ibis.expr import operations

    backends, has_unbound = table._find_backends()
    names = sorted({backend.name for backend in backends})
    if has_unbound:
        raise SchemaError("the Ibis table is not bound to any data. Give a table of a connection.")
    known = "DuckDB, PostgreSQL, Spark"
    if any(name not in ("duckdb", "postgres", "pyspark") for name in names) or len(backends) > 1:
        raise SchemaError(
            f"tables on {' and '.join(names)} cannot be opened, only those of one connection to {known}. "
            "Write the table to a Parquet file, or turn it into an Arrow table."
        )
    ours = names in ([], ["duckdb"])  # none: rows in memory, which are refused below
    for node in table.op().find(operations.Node):
        problem = _problem(node, ours)
        if problem:
            raise SchemaError(
                f"the Ibis table holds {problem}, so that a row might end up in several places or make the engine "
                f"fail. {_ALLOWED}; for anything else, store the result as a separate table and open that."
            )
    for node in table.op().find(operations.DatabaseTable):
        _check_stored(node)


def _problem(node: Any, ours: bool) -> str:
    """What is wrong with a single node; an empty text if nothing is wrong."""
    from ibis.expr import operations

    kind = type(node).__name__
    if isinstance(node, operations.ScalarUDF | operations.AggUDF):
        return f"the function {shorten(kind)}, whose code is unknown"
    if kind in _RELATIONS.split() or kind in _VALUES.split() or (ours and kind in _OURS.split()):
        total, problem = True, ""
    elif kind in _OF_ONE_TYPE.split():
        total = all(_is_alike(parts) for parts in _compared(node))
        problem = f"{kind.lower()} on different types (cast to one first)"
    elif kind in _REAL:
        total = ours and any(_is_real(part) for part in node.args)
        problem = f"{kind.lower()} on {node.dtype}, which can overflow (cast to float64 first)"
    elif kind == "Substring":
        total = ours and all(_is_near(part) for part in (node.start, node.length) if part is not None)
        problem = "a part of a text whose position differs from row to row (a huge position makes the engine fail)"
    elif kind == "Cast":
        total = _is_total(node.arg.dtype, node.to, ours)
        advice = " (try_cast cannot)" if ours else ""
        problem = f"a cast from {node.arg.dtype} to {node.to}, which can fail on a row{advice}"
    else:
        total, problem = False, _NAMES.get(kind, f"the operation {kind}")
    return "" if total and type(node) is getattr(operations, kind, None) else problem or f"the operation {kind}"


def _compared(node: Any) -> list[list[Any]]:
    """The operands of a node, in groups that the engine converts to one type."""
    match type(node).__name__:
        case "IfElse":
            return [[node.true_expr, node.false_null_expr]]
        case "SearchedCase":
            return [[*node.results, node.default]]
        case "SimpleCase":
            return [[node.base, *node.cases], [*node.results, node.default]]
        case "InValues":
            return [[node.value, *node.options]]
        case "Coalesce" | "Greatest" | "Least":
            return [list(node.arg)]
    return [[part for part in node.args if part is not None]]


def _is_alike(parts: list[Any]) -> bool:
    """Whether the engine converts none of the operands in a way that can fail."""
    kinds = [part.dtype for part in parts if not part.dtype.is_null()]
    if len(set(kinds)) <= 1:
        return True
    if not all(kind.is_integer() or kind.is_floating() for kind in kinds):
        families = {"string" if kind.is_string() else str(kind.copy(nullable=True)) for kind in kinds}
        return len(families) == 1
    return any(map(_is_real, parts)) or not any(kind.is_floating() for kind in kinds)


def _is_real(part: Any) -> bool:
    """Whether an operand makes the engine compute with doubles; the engine takes a literal for a decimal."""
    from ibis.expr import operations

    return bool(part.dtype.is_floating() and not isinstance(part, operations.Literal))


def _is_near(place: Any) -> bool:
    """Whether a place in a text is a literal within the engine's reach."""
    from ibis.expr import operations

    return isinstance(place, operations.Literal) and abs(place.value or 0) < _FAR


def _is_total(source: Any, target: Any, ours: bool) -> bool:
    """Whether every value of one type can be converted to the other."""
    if target.is_float64():
        decimal = ours and source.is_decimal()  # PostgreSQL's decimals reach further than doubles
        return bool(source.is_integer() or source.is_boolean() or source.is_floating() or decimal)
    if target.is_integer():
        wider = source.is_integer() and target.bounds.lower <= source.bounds.lower
        return bool(source.is_boolean() or (wider and source.bounds.upper <= target.bounds.upper))
    if target.is_string():
        return bool(ours and (source.is_numeric() or source.is_boolean() or source.is_temporal()))
    return bool(ours and target.is_date() and source.is_timestamp())
