"""Frames of Spark, of a classic session or of Connect, counted where they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines.own import take
from adyton.kernel.engines.spark import Spark, identifier, read_as
from adyton.kernel.engines.spark_plans import check_frame, folder_columns
from adyton.kernel.engines.spark_traces import name_for
from adyton.kernel.reading.readers import Column, EngineReader
from adyton.kernel.sealed import quietly

_FOLDERS = "of folders' names, which Spark guesses (store the frame with df.write.saveAsTable(…), and open that)"


def is_spark_frame(data: Any) -> bool:
    """Whether it is a frame of Spark, told without importing Spark."""
    return type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pyspark.sql.")


class SparkReader(EngineReader):
    """A frame of Spark. It has a name while a query runs; nothing is set or written otherwise."""

    engine = Spark
    ours = False

    def __init__(self, frame: Any) -> None:
        check_frame(frame)
        self._schema: Any = quietly(lambda: frame.schema)
        if self._schema is None:
            raise SchemaError("Spark cannot tell the columns of the frame. Check that its table still exists.")
        folders = quietly(lambda: folder_columns(frame))
        named = {field.name: (field.dataType.simpleString(), read_as(field.dataType)) for field in self._schema.fields}
        exact = {name: (kind, kind) for name, (kind, _) in named.items() if kind.startswith("decimal(")}  # as units are
        kinds = named | exact
        kinds |= dict.fromkeys(kinds if folders is None else folders, (_FOLDERS, None))
        self.columns = [
            Column(field.name, kinds[field.name][0], _ibis_type(kinds[field.name][1])) for field in self._schema.fields
        ]
        backend = backend_of(frame.sparkSession)
        self._own, self._name = Spark(backend), name_for(frame, backend)

    def read(self, wanted: Sequence[int], exact: Collection[str] = (), *, unit: bool = False) -> Any:
        """A projection, in plain types."""
        names = [self.columns[index].name for index in wanted]
        once = dict.fromkeys(names)
        query = f"select {', '.join(map(identifier, once))} from {self._name}"
        schema = type(self._schema)([field for field in self._schema.fields if field.name in once])
        return take(self._own.plain_query(query, schema, exact), names)


def _ibis_type(name: str | None) -> Any:
    from ibis.expr import datatypes

    return datatypes.unknown if name is None else datatypes.dtype(name)


def backend_of(session: Any) -> Any:
    """Ibis's way to a session of Spark, which changes none of its settings."""
    import ibis
    from ibis.backends.pyspark import Backend

    _ = ibis.pyspark  # makes its options known
    backend = Backend()
    backend._session, backend._mode = session, "batch"
    return backend
