"""What a frame of Spark is made of: it is opened only if it shows stored rows as they are, all of them or some.

In a classic session the analysed plan is walked, through views. Connect tells the plan as it was asked for: there a
frame must be a stored table, or files of a kind whose types are written in them.

Claim.  Each row of a frame that :func:`check_frame` accepts is a stored row, or some of its columns, and none makes
it fail.
Proof.  Relations on the list keep rows as they are or leave some out, by comparisons of columns with literals of their
own type.  ∎
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly

_FORMATS = ("Parquet", "ORC", "parquet", "orc", "delta", "iceberg")
_TABLES = ("ParquetTable", "OrcTable", "SparkTable", "DeltaTableV2")
"""The classes of tables of the second kind of sources: those of files, Iceberg's and Delta's."""
_TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
"""Hive's own way to write rows, in which a value that cannot be read is null; others fail."""
_HIVE_FILES = (
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
_CONNECTOR = "files or a database that must be read by a connector of Spark's"
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
    if quietly(lambda: frame.isStreaming):
        raise SchemaError(f"the frame is a stream, whose rows are never all there. {_ADVICE}")
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
    if kind not in _ROW_BY_ROW:
        return _leaf_problem(node, kind)
    if kind == "Project" and not all(_is_column(one) for one in _listed(node.projectList())):
        return "computed columns"
    if kind == "Filter" and not _is_comparison(node.condition()):
        return "a condition that is more than comparisons with literals"
    return next((problem for problem in map(_problem, _listed(node.children())) if problem), "")


def _leaf_problem(node: Any, kind: str) -> str:
    """What is wrong with something that is not made of others, if it is stored; and with every other operation."""
    if kind == "LogicalRelation":
        return _files_problem(node.relation())
    if kind in ("DataSourceV2Relation", "DataSourceV2ScanRelation"):
        table = node.table() if kind == "DataSourceV2Relation" else node.relation().table()
        return "" if table.getClass().getSimpleName() in _TABLES else _CONNECTOR
    if kind == "HiveTableRelation":
        return "" if node.tableMeta().storage().serde().get() == _TEXT else _CONNECTOR
    return _NAMES.get(kind, f"the operation {kind}")


def _files_problem(relation: Any) -> str:
    if quietly(lambda: relation.fileFormat().toString()) not in _FORMATS:
        return _CONNECTOR
    return _twice([path.toString() for path in _listed(relation.location().rootPaths())])


def _twice(paths: Sequence[str]) -> str:
    """What is wrong with the places of files: a file in two of them would count twice."""
    if any("{" in path for path in paths):
        return "a pattern with braces, which may stand for a file twice"
    places = sorted(os.path.realpath(urlsplit(path).path).rstrip("/") + "/" for path in paths)
    return "a file twice" if any(after.startswith(place) for place, after in pairwise(places)) else ""


def folder_columns(frame: Any) -> set[str]:
    """The columns that are made from the names of folders: the rows decide which type Spark takes them for."""
    if is_remote(frame):
        if type(frame._plan).__name__ != "DataSource":
            return set()
        folders = {part for path in frame.inputFiles() for part in path.split("/")[:-1] if "=" in part}
        return {unquote(part.partition("=")[0]) for part in folders} & set(frame.columns)
    return _from_folders(frame._jdf.queryExecution().analyzed())


def _from_folders(node: Any) -> set[str]:
    if node.getClass().getSimpleName() == "LogicalRelation":
        schema = None if node.catalogTable().isDefined() else node.relation().partitionSchema()
        return set() if schema is None else set(schema.fieldNames())
    found = {name for child in _listed(node.children()) for name in _from_folders(child)}
    if node.getClass().getSimpleName() == "Project" and found:
        aliased = [one for one in _listed(node.projectList()) if one.getClass().getSimpleName() == "Alias"]
        found |= {one.name() for one in aliased if found & {name.name() for name in _listed(one.references().toSeq())}}
    return found


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
        stored = getattr(plan, "_format", None) in _FORMATS
        return _twice(plan._paths or []) if stored else "files that are not Parquet or ORC"
    if kind not in _IN_CONNECT:
        return f"the operation {kind}"
    table = name or plan.table_name
    found = frame.sparkSession.catalog.getTable(table)
    if found.isTemporary or found.tableType not in ("MANAGED", "EXTERNAL"):
        return "a view"
    lines = frame.sparkSession.sql(f"describe table extended {table}").collect()
    told = {line[0]: line[1] for line in lines}
    if told.get("Provider") == "hive":
        return "" if told.get("Serde Library") in (_TEXT, *_HIVE_FILES) else _CONNECTOR
    return "" if told.get("Provider", "").lower() in _FORMATS else _CONNECTOR
