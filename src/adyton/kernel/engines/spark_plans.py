"""What a frame of Spark is made of: it is opened only if it shows stored rows as they are, all of them or some.

In a classic session the analysed plan is walked, through views. Connect tells the plan as it was asked for: there a
frame must be a stored table, or files of a kind whose types are written in them.

Claim.  Each row of a frame that :func:`check_frame` accepts is a stored row, or some of its columns, and none makes
it fail.
Proof.  Relations on the list keep rows as they are or leave some out, by comparisons of columns with literals of their
own type.  ∎
"""

from __future__ import annotations

from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly

_STORED = ("HiveTableRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", "StreamingRelation")
_FORMATS = ("Parquet", "ORC", "parquet", "orc", "delta", "iceberg")
_ROW_BY_ROW = ("SubqueryAlias", "View", "Project", "Filter")
_COMPARISONS = (
    "And Or Not EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual IsNull IsNotNull In "
    "Literal AttributeReference"
)
_WIDER = ("tinyint", "smallint", "int", "bigint")
_NAMES = dict.fromkeys(("LogicalRDD", "LocalRelation", "Range"), "rows in memory")
_IN_CONNECT = ("Read", "DataSource")
_ADVICE = (
    "A frame of Spark may be a table, Parquet or ORC files, columns of them, or rows chosen by comparing columns with "
    "literals. Store anything else with df.write.saveAsTable(…), and open that."
)


def check_frame(frame: Any, name: str | None = None) -> None:
    """An error unless a frame is a plain view of a stored table; *name* is the table's, if it has one."""
    plan = getattr(frame, "_jdf", None)
    if plan is not None and not is_remote(frame):
        problem = quietly(lambda: _problem(frame._jdf.queryExecution().analyzed()))
    else:
        problem = quietly(lambda: _remote_problem(frame, name))
    if problem is None:
        raise SchemaError(f"the frame's plan cannot be told. {_ADVICE}")
    if problem:
        raise SchemaError(f"the frame holds {problem}, so that what it shows is not ours to judge. {_ADVICE}")


def is_remote(thing: Any) -> bool:
    """Whether a session or a frame is one of Connect."""
    return ".connect" in type(thing).__module__


def _problem(node: Any) -> str:
    """What is wrong with a node of a plan, or with one below it; an empty text if nothing is."""
    kind = node.getClass().getSimpleName()
    if kind == "LogicalRelation":
        format_of = quietly(lambda: node.relation().fileFormat().toString())
        return "" if format_of in _FORMATS else "files or a database that must be read by a connector of Spark's"
    if kind not in _ROW_BY_ROW:
        return "" if kind in _STORED else _NAMES.get(kind, f"the operation {kind}")
    if kind == "Project" and not all(_is_column(one) for one in _listed(node.projectList())):
        return "computed columns"
    if kind == "Filter" and not _is_comparison(node.condition()):
        return "a condition that is more than comparisons with literals"
    return next((problem for problem in map(_problem, _listed(node.children())) if problem), "")


def _is_column(expression: Any) -> bool:
    """Whether it is a column as it is, perhaps under another name or in the type that it has."""
    kind = expression.getClass().getSimpleName()
    if kind == "AttributeReference":
        return True
    same = kind == "Alias"
    if kind in ("Cast", "UpCast"):
        same = expression.dataType().equals(expression.child().dataType())
    return bool(same and _is_column(expression.child()))


def _is_comparison(expression: Any) -> bool:
    kind = expression.getClass().getSimpleName()
    if kind == "Cast":
        types = [one.dataType().simpleString() for one in (expression.child(), expression)]
        wider = all(one in _WIDER for one in types) and _WIDER.index(types[0]) <= _WIDER.index(types[1])
        return wider and _is_comparison(expression.child())
    return kind in _COMPARISONS.split() and all(_is_comparison(one) for one in _listed(expression.children()))


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]


def _remote_problem(frame: Any, name: str | None) -> str:
    plan = frame._plan
    kind = type(plan).__name__
    if kind == "DataSource":
        return "" if getattr(plan, "_format", None) in _FORMATS else "files that are not Parquet or ORC"
    if kind not in _IN_CONNECT:
        return f"the operation {kind}"
    found = frame.sparkSession.catalog.getTable(name or plan.table_name)
    return "" if not found.isTemporary and found.tableType in ("MANAGED", "EXTERNAL") else "a view"
