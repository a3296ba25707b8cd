"""Spark: rows stay in the cluster, reached through a classic session or through Connect.

Claim.  No value of a column makes Spark fail, whether its arithmetic is set to raise errors (ANSI) or not. A query
leaves nothing behind in a session: no name, no line in a log, and no setting.
Proof.  Texts are cut to a public length and compared by their bytes. Decimals become doubles, which every one has; sums
are decimals, long enough for any number of rows. Times are taken apart into whole numbers by functions that have one
for every time, without the session's time zone. Frames have names of our own as long as a query runs.  ∎

Sessions of Connect that we open ourselves are never let go. Spark's client closes a session when Python collects it,
and waits for a lock meanwhile. If that happens in the middle of a query of another session, the query has that lock
already, and waits for ever.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import LONGEST_NAME, identifier
from adyton.kernel.engines.server import Server, ServerReader, arrow
from adyton.kernel.engines.spark_plans import check_frame, folder_columns, is_remote
from adyton.kernel.engines.sql import Stored
from adyton.kernel.reading.readers import Column, Family
from adyton.kernel.reading.texts import LONGEST, WHITE
from adyton.kernel.sealed import quietly
from adyton.messages import shorten

_FAMILIES = {
    "integer": ("ByteType", "ShortType", "IntegerType", "LongType"),
    "floating": ("FloatType", "DoubleType"),
    "decimal": ("DecimalType",),
    "boolean": ("BooleanType",),
    "string": ("StringType", "CharType", "VarcharType"),
    "binary": ("BinaryType",),
    "date": ("DateType",),
    "timestamp": ("TimestampType", "TimestampNTZType"),
    "interval": ("DayTimeIntervalType",),
}
_BYTES = "UTF8_BINARY"
_WHITE = WHITE.encode().hex()
_FOLDERS = "of folders' names, which Spark guesses (store the frame with df.write.saveAsTable(…), and open that)"
_SECONDS = 15
"""As long is waited for a server that does not answer."""
_ROWS_AT_A_TIME = 1 << 17
_kept: list[Any] = []
_answering: dict[str, Any] = {}


class Spark(Server):
    """A session of Spark."""

    title = "Spark"
    keys_together = 1 << 14
    """More are slow: its fast table of counts has room for 2^16."""
    keys_at_once = 1 << 17

    def __init__(self, session: Any, frame: Any = None) -> None:
        """With a *frame*, which has a name while a query runs."""
        self._session, self._frame = session, frame
        self._remote = is_remote(session)
        self._by_rows = int(session.version.partition(".")[0]) < 4
        """Whether results come row by row, in which a text must be one."""
        self.name = f"adyton_{uuid.uuid4().hex}"
        """No other thing can have it."""
        self._group = f"adyton-{uuid.uuid4()}"

    def fetched(self, query: str, kinds: Sequence[str], *, many: bool = False) -> Iterator[Sequence[Any]]:
        """Through Arrow, under our mark."""
        if self._remote:
            self._session.addTag(self._group)
        else:
            self._session.sparkContext.setJobGroup(self._group, "adyton", interruptOnCancel=True)
        with _quiet(), _impatient(self._session), self._named():
            frame = self._session.sql(query.replace("${", "\\u0024{"))  # else Spark puts values of variables there
            if self._by_rows:
                rows = frame.collect()
                yield [arrow([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
                return
            table = frame.toArrow()
        for start in range(0, max(table.num_rows, 1), _ROWS_AT_A_TIME):
            part = table.slice(start, _ROWS_AT_A_TIME)
            yield [_plain(column, kind) for column, kind in zip(part.columns, kinds, strict=True)]

    def stop(self) -> None:
        """The jobs that carry our mark are cancelled, and no others."""
        if self._remote:
            self._session.interruptTag(self._group)
        else:
            self._session.sparkContext.cancelJobGroup(self._group)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """The frame has its name as long as a query runs.

        If it fails, a server may be gone: the name is dropped in the background, because a client waits for minutes.
        """
        if self._frame is None:
            yield
            return
        done = False

        def forget() -> None:
            quietly(lambda: self._session.catalog.dropTempView(self.name))

        try:
            if self._remote:
                check_frame(self._frame)  # Connect looks names up anew: a table may have become a view
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
    divided = "({} div {})".format  # its plain quotient is a double
    floor = "cast(floor({}) as bigint)".format
    double = "double({})".format
    is_nan = "isnan({})".format
    hidden = "sha2(cast({} as binary), 256)".format
    total = "cast(coalesce(sum(cast({} as decimal(20, 0))), 0) as string)".format  # others would overflow
    each = "explode(array({}))".format

    def column(self, column: Column) -> Stored:
        """Texts by their bytes, decimals as doubles, times as seconds."""
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
            return Stored(f"(bigint(unix_date(to_date({name}))) * 86400 + {clock})", "timestamp")
        if kind == "timestamp":
            return Stored(plain[kind], "universal")
        if kind in plain:
            return Stored(plain[kind], "floating" if kind == "decimal" else kind)
        text = _by_bytes(name, column)
        cut = f"(case when octet_length({text}) > {LONGEST} then left({text}, {LONGEST}) else {text} end)"
        return Stored(f"cast({cut} as binary)" if self._by_rows else cut, "string")

    def unit(self, column: Column) -> Stored:
        """A whole number, or a text of at most so many bytes."""
        name, kind = identifier(column.name, "`"), str(column.type)
        if kind == "integer":
            return Stored(f"bigint({name})", "integer")
        if kind == "decimal":  # all of a column have as many digits behind the point
            return Stored(f"string({name})", "string")
        short = f"octet_length({name}) <= {LONGEST_NAME}"
        text = f"trim(both decode(unhex('{_WHITE}'), 'UTF-8') from {_by_bytes(name, column)})"
        text = f"hex({name})" if kind == "binary" else text
        found = f"(case when {short} then nullif({text}, '') end)"
        return Stored(f"cast({found} as binary)" if self._by_rows else found, "string")

    def digest(self, columns: Sequence[Stored]) -> str:
        """By Spark's own function of any columns."""
        return f"xxhash64({', '.join(one.sql for one in columns)})"


def _by_bytes(name: str, column: Column) -> str:
    """A text in the collation of its bytes."""
    return f"collate({name}, '{_BYTES}')" if "collate" in column.engine_type.lower() else name


def _plain(column: Any, kind: str) -> Any:
    """A column of a result in the type that it is read in."""
    import pyarrow as pa

    target = arrow([], kind).type
    column = column.combine_chunks()
    if pa.types.is_temporal(target):
        return column.cast(pa.int32() if kind == "date" else pa.int64()).view(target)
    return column if kind == "string" else column.cast(target)


class SparkReader(ServerReader):
    """A frame of Spark, or what an expression shows of its tables."""

    ours = False

    def __init__(self, frame: Any, shown: str | None = None) -> None:
        """*shown* is a query that shows what the frame does, and was checked; else the frame is, and has a name."""
        if shown is None:
            check_frame(frame)
        schema = quietly(lambda: frame.schema)
        if schema is None:
            raise SchemaError("Spark cannot tell the columns of the frame. Check that its table still exists.")
        server = Spark(frame.sparkSession, frame if shown is None else None)
        self.server, self._shown = server, server.name if shown is None else f"({shown}) as shown"
        folders = quietly(lambda: folder_columns(frame)) if shown is None else set()
        unknown = {field.name for field in schema.fields} if folders is None else folders
        self.columns = [
            Column(field.name, _FOLDERS, Family("unknown"))
            if field.name in unknown
            else Column(field.name, field.dataType.simpleString(), _family(field.dataType))
            for field in schema.fields
        ]

    def source(self, names: Collection[str]) -> str:
        """The frame's name, or the query."""
        return self._shown


def _family(kind: Any) -> Family:
    name = type(kind).__name__
    return Family(next((family for family, names in _FAMILIES.items() if name in names), "unknown"))


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
    """A session at an address whose server answers, the last one if it still does; None if there is none."""
    last = _answering.pop(address, None)
    session = last if last is not None and _answers(last) else quietly(lambda: _answering_session(address))
    if session is not None:
        _answering[address] = session
    return session


def _answering_session(address: str) -> Any | None:
    """A new one. If its server does not answer it is closed at once: threads of its own would go on asking."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    _kept.append(session)
    if _answers(session):
        return session
    session.client.close()
    return None


def _answers(session: Any) -> bool:
    """Whether its server does, within some seconds; Spark itself would ask again for ten minutes."""
    from grpc import channel_ready_future

    def asked() -> str:
        ready = channel_ready_future(session.client._channel)
        try:
            ready.result(timeout=_SECONDS)
        finally:
            ready.cancel()
        return str(session.conf.get("spark.sql.session.timeZone"))  # the version would be remembered

    quietly(lambda: _be_impatient(session))
    return not session.client.is_closed and quietly(asked) is not None


@contextmanager
def _quiet() -> Iterator[None]:
    """Spark's client writes down what went wrong, which may quote a row."""
    logger = logging.getLogger("SQLQueryContextLogger")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def _be_impatient(session: Any) -> None:
    """A client of Connect asks a server that is gone again for half a minute; of itself, for ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=10_000)])


@contextmanager
def _impatient(session: Any) -> Iterator[None]:
    """For the time of a query."""
    before = quietly(lambda: list(session.client.get_retry_policies())) if is_remote(session) else None
    if before is not None:
        quietly(lambda: _be_impatient(session))
    try:
        yield
    finally:
        if before is not None:
            quietly(lambda: session.client.set_retry_policies(before))
