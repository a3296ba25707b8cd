"""Where the rows of :mod:`adyton_lab.bench.vectorize` are, and how an expert would count them there.

Rows are made up inside each engine. Ages and salaries go a little beyond what the schema declares.
"""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.kernel.sealed import quietly
from adyton_lab.bench.servers import family_seconds, parent_of

if TYPE_CHECKING:
    from adyton.kernel.counting import PrivateTable
    from adyton.schema import Schema

Ways = dict[str, Callable[[], int]]
"""By name what counts rows; the sum of its counts comes back."""
BINS, LEVELS = 1000, 10_000
_WIDTH = 100.0
_MADE = (
    "select cast(floor({random} * 130) - 5 as integer) as age, {random} * 120000 - 10000 as salary, "
    f"'level number ' || cast(cast(floor({{random}} * {LEVELS}) as integer) as {{text}}) as town from {{series}}"
)
_CELLS = (
    f"select age * {BINS} + least(cast(floor(salary / {{width}}) as integer), {BINS - 1}) as cell, count(*) as rows "
    "from {table} where age between 0 and 99 and salary between 0 and 100000 group by 1"
)
_TEXTS = "select town, count(*) as rows from {table} group by town"


class Place(ABC):
    """An engine that has the rows."""

    name: str

    @abstractmethod
    def opened(self, question: str, schema: Schema) -> PrivateTable:
        """The rows as Adyton opens them."""

    @abstractmethod
    def ways(self, question: str) -> Ways:
        """What an expert would write."""

    def server_seconds(self) -> float:
        """Processor time of the server until now."""
        return 0.0

    def processor_seconds(self, work: Callable[[], object]) -> float:
        """What something takes of the processor, here and in the server."""
        before = time.process_time() + self.server_seconds()
        work()
        return time.process_time() + self.server_seconds() - before


def bare(question: str, table: str, width: str = str(_WIDTH)) -> str:
    """The bare aggregation."""
    return (_CELLS if question == "numbers" else _TEXTS).format(table=table, width=width)


@contextmanager
def place_at(engine: str | None, rows: int) -> Iterator[Place]:
    """Files, a PostgreSQL at an address, or a Spark that is started here."""
    if engine is None:
        opening = _files(rows)
    elif engine.startswith(("postgresql://", "postgres://")):
        opening = _postgres(engine, rows)
    elif engine == "spark":
        opening = _spark(rows)
    else:
        raise BadInput("--engine takes the address of a PostgreSQL on this machine (postgresql://…), or `spark`.")
    with opening as place:
        yield place


# ---- Parquet --------------------------------------------------------------------------------------------------------


class Files(Place):
    """A Parquet file, read by DuckDB, by Polars, and by Arrow in batches that NumPy counts."""

    name = "Parquet"

    def __init__(self, path: str) -> None:
        import duckdb

        self._path = path
        self._connection = duckdb.connect()
        self._connection.execute("set enable_progress_bar = false")

    def opened(self, question: str, schema: Schema) -> PrivateTable:
        """The file."""
        from adyton.kernel.counting import open_table

        return open_table(self._path, schema)

    def ways(self, question: str) -> Ways:
        """DuckDB's group-by on one key, Polars's, and NumPy's ``bincount``, which has none for texts."""
        query = bare(question, f"read_parquet('{self._path}')")
        found: Ways = {
            "duckdb": lambda: int(self._connection.sql(query).fetchnumpy()["rows"].sum()),
            "polars": lambda: _by_polars(self._path, question),
        }
        return found | ({"numpy": lambda: _by_numpy(self._path)} if question == "numbers" else {})


def _by_polars(path: str, question: str) -> int:
    import polars

    rows = polars.scan_parquet(path)
    if question == "numbers":
        age, salary = polars.col("age"), polars.col("salary")
        place = polars.min_horizontal((salary / _WIDTH).floor().cast(polars.Int32), polars.lit(BINS - 1))
        rows = rows.filter(age.is_between(0, 99) & salary.is_between(0, 100_000)).select(town=age * BINS + place)
    return int(rows.group_by("town").len().collect(engine="streaming")["len"].sum())


def _by_numpy(path: str) -> int:
    import numpy as np
    from pyarrow import parquet

    counts = np.zeros(100 * BINS, dtype=np.int64)
    for batch in parquet.ParquetFile(path).iter_batches(1 << 16, columns=["age", "salary"]):
        age, salary = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        kept = (age >= 0) & (age <= 99) & (salary >= 0) & (salary <= 100_000)
        places = np.minimum((salary[kept] / _WIDTH).astype(np.int32), BINS - 1)
        counts += np.bincount(age[kept] * BINS + places, minlength=counts.size)
    return int(counts.sum())


@contextmanager
def _files(rows: int) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Files(_written(Path(folder), rows))


def _written(folder: Path, rows: int) -> str:
    """A Parquet file of made-up rows."""
    import duckdb

    path = (folder / "made.parquet").as_posix()
    made = _MADE.format(random="random()", text="varchar", series=f"range({rows})")
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"copy ({made}) to '{path}' (format parquet)")
    return path


# ---- servers --------------------------------------------------------------------------------------------------------


class Server(Place):
    """A server on this machine."""

    def __init__(
        self, name: str, process: int, data: Any, ask: Callable[[str], int], query: Callable[[str], str]
    ) -> None:
        self.name, self._process, self._data, self._ask, self._query = name, process, data, ask, query

    def opened(self, question: str, schema: Schema) -> PrivateTable:
        """The server's table."""
        from adyton.kernel.counting import open_table

        return open_table(self._data, schema)

    def ways(self, question: str) -> Ways:
        """The bare aggregation."""
        return {"bare": lambda: self._ask(self._query(question))}

    def server_seconds(self) -> float:
        """Of all its processes."""
        return family_seconds(self._process)


@contextmanager
def _postgres(address: str, rows: int) -> Iterator[Place]:
    """A table of its own, which is dropped at the end."""
    from adyton.kernel.engines.postgres import Postgres

    name = "adyton_made_up"
    made = _MADE.format(random="random()", text="text", series=f"generate_series(1, {rows})")
    server = Postgres.at(address)  # while somebody has it, it is connected
    with server.connection() as connection:
        if quietly(lambda: connection.execute(f"create unlogged table {name} as {made}")) is None:
            raise BadInput(f"the table {name} cannot be made. Give a user who may, and drop the table if it is there.")
        try:
            connection.execute(f"vacuum analyze {name}")

            def ask(query: str) -> int:
                return sum(row[1] for row in connection.execute(query).fetchall())

            process = parent_of(connection.info.backend_pid)
            yield Server("PostgreSQL", process, f"{address}#{name}", ask, lambda question: bare(question, name))
        finally:
            connection.execute(f"drop table {name}")


@contextmanager
def _spark(rows: int) -> Iterator[Place]:
    """A local session with all cores, over a Parquet file."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadInput("Spark needs its client: pip install 'adyton[spark]'.") from None

    with tempfile.TemporaryDirectory() as folder:
        path = _written(Path(folder), rows)
        settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.local.dir": folder}
        builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "2g")
        for setting, value in {**settings, "spark.ui.showConsoleProgress": "false"}.items():
            builder = builder.config(setting, value)
        session = quietly(builder.getOrCreate)
        if session is None:
            raise BadInput("Spark does not start. Install Java 17, and let JAVA_HOME name its folder.")
        try:
            session.sparkContext.setLogLevel("OFF")
            machine: Any = session.sparkContext._jvm
            process = int(machine.java.lang.ProcessHandle.current().pid())

            def ask(query: str) -> int:
                return int(session.sql(query).toArrow().column("rows").to_numpy().sum())

            table = f"parquet.`{path}`"
            yield Server(
                "Spark", process, session.read.parquet(path), ask, lambda question: bare(question, table, "100.0D")
            )
        finally:
            session.stop()
