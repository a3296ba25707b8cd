"""How fast a table is turned into a vector, compared with the quickest queries that an expert would write.

All methods answer the same two questions about the same rows, in turn, in one process: how many rows lie in each of
100,000 cells of two numbers, and how many have each of 10,000 texts. The figure is the least processor time over
several rounds, including that of the engine's server. Rows are made up inside each engine; ages and salaries go a
little beyond the bounds that the schema declares.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adyton.errors import BadInput
from adyton.kernel.counting import open_table
from adyton.kernel.sealed import quietly
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton_lab.bench.common import Rows

ROWS = 10_000_000
_ROUNDS = 5
Ways = dict[str, Callable[[], int]]
"""Methods by name: each counts rows and returns the sum of its counts."""
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


_QUESTIONS = {
    "numbers": Schema({"age": Integer(0, 99), "salary": Numeric(0, 100_000, bins=BINS)}),
    "texts": Schema({"town": Categorical([f"level number {place}" for place in range(LEVELS)])}),
}


@dataclass(frozen=True)
class CountingTime:
    """The least processor time, in seconds, of one method of counting for one question."""

    engine: str
    question: str
    rows: int
    way: str
    processor_seconds: float
    times_the_fastest_other: float
    """The time divided by the least time of the other methods."""


def vectorize(rows: int = ROWS, engine: str | None = None) -> Rows:
    """Run all methods in turn; *engine* is the address of a PostgreSQL server, or ``spark`` to start Spark here."""
    return 7 if engine is None else 4, _counting_times(rows, engine)


def _counting_times(rows: int, engine: str | None) -> Iterator[CountingTime]:
    with place_at(engine, rows) as place:
        for question, schema in _QUESTIONS.items():
            table = open_table(place.data, schema)
            ways: Ways = {"adyton": lambda table=table: int(table.vectorize().sum())}  # type: ignore[misc]
            ways |= place.ways(question)
            _check_same(ways)
            least = dict.fromkeys(ways, float("inf"))
            for _ in range(_ROUNDS):
                for way, work in ways.items():
                    least[way] = min(least[way], place.processor_seconds(work))
            for way, seconds in least.items():
                fastest = min(other for name, other in least.items() if name != way)
                yield CountingTime(place.name, question, rows, way, seconds, seconds / fastest)


def _check_same(ways: Ways) -> None:
    """Check that all methods count the same rows; this also warms them up."""
    counts = {way: work() for way, work in ways.items()}
    if len(set(counts.values())) != 1:
        raise AssertionError(f"the methods do not count the same rows, so the comparison means nothing: {counts}")


@dataclass(frozen=True, eq=False)
class Place:
    """An engine that has the rows."""

    name: str
    data: Any
    """The rows as Adyton opens them."""
    ways: Callable[[str], Ways]
    """The methods that an expert would write for a question."""
    process: int | None = None
    """The process of the engine's server, if it has one."""

    def processor_seconds(self, work: Callable[[], object]) -> float:
        """The processor time of *work*, here and in all processes of the server."""
        before = self._used()
        work()
        return self._used() - before

    def _used(self) -> float:
        return time.process_time() + (0.0 if self.process is None else family_seconds(self.process))


@contextmanager
def place_at(engine: str | None, rows: int) -> Iterator[Place]:
    """Files, a PostgreSQL server at an address, or a Spark session that is started here."""
    if engine is None:
        opening = _files(rows)
    elif engine.startswith(("postgresql://", "postgres://")):
        opening = _postgres(engine, rows)
    elif engine == "spark":
        opening = _spark(rows)
    else:
        raise BadInput(
            "--engine takes the address of a PostgreSQL server on this machine (postgresql://…), or `spark`."
        )
    with opening as place:
        yield place


def _bare(question: str, table: str, width: str = str(_WIDTH)) -> str:
    """The bare aggregation in SQL."""
    return (_CELLS if question == "numbers" else _TEXTS).format(table=table, width=width)


@contextmanager
def _files(rows: int) -> Iterator[Place]:
    """A Parquet file, read by DuckDB, by Polars, and by Arrow in batches that NumPy counts (numbers only)."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = _written(Path(folder), rows)
        connection.execute("set enable_progress_bar = false")

        def ways(question: str) -> Ways:
            query = _bare(question, f"read_parquet('{path}')")
            ways: Ways = {
                "duckdb": lambda: int(connection.sql(query).fetchnumpy()["rows"].sum()),
                "polars": lambda: _by_polars(path, question),
            }
            return ways | ({"numpy": lambda: _by_numpy(path)} if question == "numbers" else {})

        yield Place("Parquet", path, ways)


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


def _written(folder: Path, rows: int) -> str:
    """A Parquet file of made-up rows."""
    import duckdb

    path = (folder / "made.parquet").as_posix()
    made = _MADE.format(random="random()", text="varchar", series=f"range({rows})")
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"copy ({made}) to '{path}' (format parquet)")
    return path


@contextmanager
def _postgres(address: str, rows: int) -> Iterator[Place]:
    """A new table, which is dropped at the end."""
    from adyton.kernel.engines.postgres import Postgres  # needs the extra postgres

    name = "adyton_made_up"
    made = _MADE.format(random="random()", text="text", series=f"generate_series(1, {rows})")
    server = Postgres.at(address)  # connected as long as it is referenced
    with server.connection() as connection:
        if quietly(lambda: connection.execute(f"create unlogged table {name} as {made}")) is None:
            raise BadInput(
                f"the table {name} cannot be created. Give a user who may create it, and drop it if it exists."
            )
        try:
            connection.execute(f"vacuum analyze {name}")

            def ask(query: str) -> int:
                return sum(row[1] for row in connection.execute(query).fetchall())

            yield Place(
                "PostgreSQL",
                f"{address}#{name}",
                lambda question: {"bare": lambda: ask(_bare(question, name))},
                parent_of(connection.info.backend_pid),
            )
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
            raise BadInput("Spark does not start. Install Java 17, and set JAVA_HOME to its folder.")
        try:
            session.sparkContext.setLogLevel("OFF")
            machine: Any = session.sparkContext._jvm
            process = int(machine.java.lang.ProcessHandle.current().pid())

            def ask(query: str) -> int:
                return int(session.sql(query).toArrow().column("rows").to_numpy().sum())

            table = f"parquet.`{path}`"
            yield Place(
                "Spark",
                session.read.parquet(path),
                lambda question: {"bare": lambda: ask(_bare(question, table, "100.0D"))},
                process,
            )
        finally:
            session.stop()


# ---- processor time of servers on this machine, as Linux reports it --------------------------------------------------


def parent_of(process: int) -> int:
    """The process that started another one.

    >>> parent_of(os.getpid()) == os.getppid()
    True
    """
    facts = _process_facts(process)
    if facts is None:
        raise BadInput("the processor time of a server can only be measured on Linux, and on its own machine.")
    return facts[0]


def family_seconds(process: int) -> float:
    """Processor time of a process and of all its descendants, including those that have ended.

    >>> family_seconds(os.getpid()) > 0
    True
    """
    numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    running = {number: facts for number in numbers if (facts := _process_facts(number)) is not None}
    if process not in running:
        raise BadInput("the server has ended.")
    family, more = {process}, {process}
    while more:
        more = {number for number, (parent, *_) in running.items() if parent in family} - family
        family |= more
    return sum(running[member][1] + running[member][2] for member in family) / os.sysconf("SC_CLK_TCK")


def _process_facts(process: int) -> tuple[int, int, int] | None:
    """The parent of a process, its own ticks, and those of its ended children; None if there is no such process."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    parts = text[text.rindex(")") + 2 :].split()
    return int(parts[1]), int(parts[11]) + int(parts[12]), int(parts[13]) + int(parts[14])
