"""Spark: rows stay in the cluster, reached through a classic session or through Connect.

Claim.  No value of a column makes Spark fail, whether its arithmetic is set to raise errors (ANSI) or not. A query
leaves nothing behind in a session: no name, no line in a log, and no setting.
Proof.  Texts are cut to a public length and compared bytewise. Every decimal can be turned into a double; sums are
decimals, long enough for any number of rows. Times are split into whole numbers by functions that are defined for every
time, without the session's time zone. Frames have a name of our own only while a query runs.  ∎

A frame is opened only if it shows stored rows as they are, all of them or some. In a classic session the analysed plan
is walked, through views. Connect returns the plan as it was requested: there a frame must be a stored table, or files
that contain their types.

Claim.  Each row of a frame that :func:`check_frame` accepts is a stored row, or some of its columns, and no stored row
makes a query fail.
Proof.  Relations on the list keep rows as they are or leave some out, by comparisons of columns with literals of their
own type.  ∎

Connect sessions that we open ourselves are kept until the process ends. Spark's client closes a session when Python
collects it, and waits for a lock meanwhile. If that happens in the middle of a query of another session, the query
already holds that lock, and both wait for ever.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from adyton.errors import SchemaError
from adyton.kernel.engines import LONGEST_NAME, identifier
from adyton.kernel.engines.server import Server, ServerReader, arrow
from adyton.kernel.engines.sql import StoredColumn
from adyton.kernel.reading.readers import Column
from adyton.kernel.reading.texts import LONGEST, WHITE
from adyton.kernel.sealed import quietly
from adyton.messages import shorten

_FAMILIES = {
    **dict.fromkeys(("ByteType", "ShortType", "IntegerType", "LongType"), "integer"),
    **dict.fromkeys(("FloatType", "DoubleType"), "floating"),
    **dict.fromkeys(("StringType", "CharType", "VarcharType"), "string"),
    **dict.fromkeys(("TimestampType", "TimestampNTZType"), "timestamp"),
    "DecimalType": "decimal",
    "BooleanType": "boolean",
    "BinaryType": "binary",
    "DateType": "date",
    "DayTimeIntervalType": "interval",
}
_BYTES = "UTF8_BINARY"
_WHITE = WHITE.encode().hex()
_FOLDERS = "guessed by Spark from folder names (store the frame with df.write.saveAsTable(…), and open that)"
_SECONDS = 15
"""How long to wait for a server that does not answer."""
_ROWS_AT_A_TIME = 1 << 17
_kept: list[Any] = []
_answering: dict[str, Any] = {}


class Spark(Server):
    """A Spark session."""

    title = "Spark"
    keys_together = 1 << 14
    """More keys are slow: Spark's fast hash table has room for 2^16 groups."""
    keys_at_once = 1 << 17

    def __init__(self, session: Any, frame: Any = None) -> None:
        """With a *frame*, which has a name while a query runs."""
        self._session, self._frame = session, frame
        self._remote = is_remote(session)
        self._by_rows = int(session.version.partition(".")[0]) < 4
        """Whether results arrive as rows, where texts must be valid UTF-8."""
        self.name = f"adyton_{uuid.uuid4().hex}"
        """A unique name."""
        self._group = f"adyton-{uuid.uuid4()}"

    def fetched(self, query: str, kinds: Sequence[str], *, many: bool = False) -> Iterator[Sequence[Any]]:
        """Through Arrow, under a tag of our own."""
        if self._remote:
            self._session.addTag(self._group)
        else:
            self._session.sparkContext.setJobGroup(self._group, "adyton", interruptOnCancel=True)
        with _quiet(), _failing_fast(self._session), self._named():
            frame = self._session.sql(query.replace("${", "\\u0024{"))  # or Spark would insert variables
            if self._by_rows:
                rows = frame.collect()
                yield [arrow([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
                return
            table = frame.toArrow()
        for start in range(0, max(table.num_rows, 1), _ROWS_AT_A_TIME):
            part = table.slice(start, _ROWS_AT_A_TIME)
            yield [_plain(column, kind) for column, kind in zip(part.columns, kinds, strict=True)]

    def stop(self) -> None:
        """Cancel only the jobs with our tag."""
        if self._remote:
            self._session.interruptTag(self._group)
        else:
            self._session.sparkContext.cancelJobGroup(self._group)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Give the frame its name while a query runs.

        If the query fails, the server may be gone: the name is dropped in the background, as a client waits for
        minutes.
        """
        if self._frame is None:
            yield
            return
        done = False

        def forget() -> None:
            quietly(lambda: self._session.catalog.dropTempView(self.name))

        try:
            if self._remote:
                check_frame(self._frame)  # Connect looks names up again: a table may have become a view
            self._frame.createOrReplaceTempView(self.name)
            yield
            done = True
        finally:
            if done or not self._remote:
                forget()
            else:
                threading.Thread(target=forget, daemon=True).start()

    # ---- expressions ------------------------------------------------------------------------------------------------

    real = "double('{!r}')".format
    divided = "({} div {})".format  # with /, the quotient would be a double
    floor = "cast(floor({}) as bigint)".format
    double = "double({})".format
    is_nan = "isnan({})".format
    hidden = "sha2(cast({} as binary), 256)".format
    total = "cast(coalesce(sum(cast({} as decimal(20, 0))), 0) as string)".format  # a bigint would overflow
    unrolled = "explode(array({}))".format

    def column(self, column: Column) -> StoredColumn:
        """Texts in bytewise collation, decimals as doubles, times as seconds."""
        name, kind = identifier(column.name, "`"), str(column.type)
        parts = {"day": 86_400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
        length = " + ".join(f"double(date_part('{part}', {name})) * double('{size}')" for part, size in parts.items())
        clock = f"hour({name}) * 3600 + minute({name}) * 60 + int(floor(second({name})))"
        plain = {
            "integer": f"bigint({name})",
            "floating": f"double({name})",
            "decimal": f"double({name})",
            "boolean": name,
            "date": f"unix_date({name})",
            "timestamp": f"unix_seconds({name})",
            "interval": f"({length})",
        }
        if column.engine_type == "timestamp_ntz":
            return StoredColumn(f"(bigint(unix_date(to_date({name}))) * 86400 + {clock})", "timestamp")
        if kind == "timestamp":
            return StoredColumn(plain[kind], "universal")
        if kind in plain:
            return StoredColumn(plain[kind], "floating" if kind == "decimal" else kind)
        text = _by_bytes(name, column)
        cut = f"(case when octet_length({text}) > {LONGEST} then left({text}, {LONGEST}) else {text} end)"
        return StoredColumn(f"cast({cut} as binary)" if self._by_rows else cut, "string")

    def unit(self, column: Column) -> StoredColumn:
        """A whole number, or a text of limited length."""
        name, kind = identifier(column.name, "`"), str(column.type)
        if kind == "integer":
            return StoredColumn(f"bigint({name})", "integer")
        if kind == "decimal":  # all values of a column have the same number of decimals
            return StoredColumn(f"string({name})", "string")
        short = f"octet_length({name}) <= {LONGEST_NAME}"
        text = f"trim(both decode(unhex('{_WHITE}'), 'UTF-8') from {_by_bytes(name, column)})"
        text = f"hex({name})" if kind == "binary" else text
        name = f"(case when {short} then nullif({text}, '') end)"
        return StoredColumn(f"cast({name} as binary)" if self._by_rows else name, "string")

    def digest(self, columns: Sequence[StoredColumn]) -> str:
        """Spark's hash of several columns. That of a whole number would be another one than that of its digits."""
        unit, *others = columns
        return f"xxhash64({', '.join([f'string({unit.sql})', *(own.sql for own in others)])})"


def _by_bytes(name: str, column: Column) -> str:
    """A text in bytewise collation."""
    return f"collate({name}, '{_BYTES}')" if "collate" in column.engine_type.lower() else name


def _plain(column: Any, kind: str) -> Any:
    """A column of a result, in the type in which it is read."""
    import pyarrow as pa

    target = arrow([], kind).type
    column = column.combine_chunks()
    if pa.types.is_temporal(target):
        return column.cast(pa.int32() if kind == "date" else pa.int64()).view(target)
    return column if kind == "string" else column.cast(target)


class SparkReader(ServerReader):
    """A Spark frame, or an expression over tables of Spark."""

    ours = False

    def __init__(self, frame: Any, shown: str | None = None) -> None:
        """*shown* is a query that was already checked; without it the frame is checked, and gets a name."""
        if shown is None:
            check_frame(frame)
        schema = quietly(lambda: frame.schema)
        if schema is None:
            raise SchemaError("Spark cannot list the columns of the frame. Check that its table still exists.")
        stored = quietly(lambda: list(frame.inputFiles())) or []
        self.files = [unquote(urlsplit(path).path) for path in stored if path.startswith("file:")]
        server = Spark(frame.sparkSession, frame if shown is None else None)
        self.server, self._shown = server, server.name if shown is None else f"({shown}) as shown"
        folders = quietly(lambda: folder_columns(frame)) if shown is None else set()
        unknown = {field.name for field in schema.fields} if folders is None else folders
        self.columns = []
        for field in schema.fields:
            shown, family = field.dataType.simpleString(), _FAMILIES.get(type(field.dataType).__name__, "unknown")
            guessed = field.name in unknown
            self.columns.append(Column(field.name, *((_FOLDERS, "unknown") if guessed else (shown, family))))

    def source(self, names: Collection[str]) -> str:
        """The frame's name, or the query."""
        return self._shown


# ---- sessions -------------------------------------------------------------------------------------------------------


def spark_reader(url: str, table: str) -> SparkReader:
    """The reader of a table at an address of Connect."""
    try:
        import pyspark.sql.connect.session

        _ = pyspark.sql.connect.session
    except ImportError:
        raise SchemaError("Spark needs its client: pip install 'adyton[spark]'.") from None
    session = session_at(url)
    if session is None:
        raise SchemaError(
            "the Spark server cannot be reached, or does not let this user in. Check host, port and token in the "
            "address, or the token in SPARK_CONNECT_AUTHENTICATE_TOKEN."
        )
    frame = session.table(table)
    if quietly(lambda: frame.schema) is None:
        raise SchemaError(f"there is no table {shorten(table)} that this user may read. Check its name.")
    return SparkReader(frame)


def session_at(address: str) -> Any | None:
    """A session at an address whose server answers: the last session if it still works; None if there is none."""
    last = _answering.pop(address, None)
    session = last if last is not None and _answers(last) else quietly(lambda: _answering_session(address))
    if session is not None:
        _answering[address] = session
    return session


def _answering_session(address: str) -> Any | None:
    """A new session. If its server does not answer it is closed at once: its threads would keep trying."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    _kept.append(session)
    if _answers(session):
        return session
    session.client.close()
    return None


def _answers(session: Any) -> bool:
    """Whether a session's server answers within some seconds; Spark itself would retry for ten minutes."""
    from grpc import channel_ready_future

    def asked() -> str:
        ready = channel_ready_future(session.client._channel)
        try:
            ready.result(timeout=_SECONDS)
        finally:
            ready.cancel()
        return str(session.conf.get("spark.sql.session.timeZone"))  # the client would remember the version

    quietly(lambda: _fail_fast(session))
    return not session.client.is_closed and quietly(asked) is not None


@contextmanager
def _quiet() -> Iterator[None]:
    """Switch off the log of Spark's client, whose errors may quote a row."""
    logger = logging.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def _fail_fast(session: Any) -> None:
    """Make a Connect client retry for half a minute when its server is gone, instead of ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=10_000)])


@contextmanager
def _failing_fast(session: Any) -> Iterator[None]:
    """The same while a query runs."""
    before = quietly(lambda: list(session.client.get_retry_policies())) if is_remote(session) else None
    if before is not None:
        quietly(lambda: _fail_fast(session))
    try:
        yield
    finally:
        if before is not None:
            quietly(lambda: session.client.set_retry_policies(before))


# ---- plans of frames -------------------------------------------------------------------------------------------------

_FORMATS = ("Parquet", "ORC", "parquet", "orc", "delta", "iceberg")
_TABLES = ("ParquetTable", "OrcTable", "SparkTable", "DeltaTableV2")
"""The classes of tables of Spark's data source API, version 2: files, Iceberg and Delta."""
_TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
"""Hive's own text format, in which an unreadable value is null; other formats fail."""
_HIVE_FILES = (
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
_CONNECTOR = "files or a database that must be read by a Spark connector"
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
    """Raise an error unless a frame is a plain view of a stored table; *name* is the table's name, if it has one."""
    if quietly(lambda: frame.isStreaming):
        raise SchemaError(f"the frame is a stream, whose rows are never complete. {_ADVICE}")
    plan = getattr(frame, "_jdf", None)
    if plan is not None and not is_remote(frame):
        problem = quietly(lambda: _problem(frame._jdf.queryExecution().analyzed()))
    else:
        problem = quietly(lambda: _remote_problem(frame, name))
    if problem is None:
        raise SchemaError(f"the frame's plan cannot be read. {_ADVICE}")
    if problem:
        raise SchemaError(f"the frame holds {problem}, so that its effect on rows is unknown. {_ADVICE}")


def is_remote(thing: Any) -> bool:
    """Whether a session or a frame belongs to Connect."""
    return ".connect" in type(thing).__module__


def _problem(node: Any) -> str:
    """What is wrong with a node of a plan, or with one below it; an empty text if nothing is wrong."""
    kind = node.getClass().getSimpleName()
    if kind not in _ROW_BY_ROW:
        return _leaf_problem(node, kind)
    if kind == "Project" and not all(map(_is_column, _listed(node.projectList()))):
        return "computed columns"
    if kind == "Filter" and not _is_comparison(node.condition()):
        return "a condition that is more than comparisons with literals"
    return next((problem for problem in map(_problem, _listed(node.children())) if problem), "")


def _leaf_problem(node: Any, kind: str) -> str:
    """What is wrong with a leaf of a plan; only stored tables and files are accepted."""
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
        return "a pattern with braces, which may match a file twice"
    places = sorted(os.path.realpath(urlsplit(path).path).rstrip("/") + "/" for path in paths)
    return "a file twice" if any(after.startswith(place) for place, after in pairwise(places)) else ""


def folder_columns(frame: Any) -> set[str]:
    """The columns made from the names of folders: Spark infers their types from the names, and so from rows."""
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
    names = {name for child in _listed(node.children()) for name in _from_folders(child)}
    if node.getClass().getSimpleName() == "Project" and names:
        aliases = [column for column in _listed(node.projectList()) if column.getClass().getSimpleName() == "Alias"]
        used = {alias.name(): {part.name() for part in _listed(alias.references().toSeq())} for alias in aliases}
        names |= {alias for alias, parts in used.items() if names & parts}
    return names


def _is_column(expression: Any) -> bool:
    """Whether an expression is an unchanged column, perhaps under another name or cast to its own type."""
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
        types = [part.dataType().simpleString() for part in (expression.child(), expression)]
        wider = {*types} <= {*_WIDER} and _WIDER.index(types[0]) <= _WIDER.index(types[1])
        return wider and _is_comparison(expression.child())
    return kind in _COMPARISONS.split() and all(map(_is_comparison, _listed(expression.children())))


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
    entry = frame.sparkSession.catalog.getTable(table)
    if entry.isTemporary or entry.tableType not in ("MANAGED", "EXTERNAL"):
        return "a view"
    lines = frame.sparkSession.sql(f"describe table extended {table}").collect()
    facts = {line[0]: line[1] for line in lines}
    if facts.get("Provider") == "hive":
        return "" if facts.get("Serde Library") in (_TEXT, *_HIVE_FILES) else _CONNECTOR
    return "" if facts.get("Provider", "").lower() in _FORMATS else _CONNECTOR
