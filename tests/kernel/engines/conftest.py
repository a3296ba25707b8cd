"""One table of hard rows on every engine. Servers start once, when a test first asks for them."""

import csv

import duckdb
import pandas
import polars
import pyarrow.parquet as pq
import pytest
from hard_rows import ROWS, insert_into_postgres, write_parquet, write_sqlite
from servers import running_postgres, running_spark, skip

from adyton.kernel.counting import open_table
from adyton.kernel.reading.arrow import text_of
from adyton.schema import Schema
from workbooks import write_workbook


@pytest.fixture(scope="session")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("hard") / "hard.parquet"
    write_parquet(path, ROWS)
    return path


@pytest.fixture(scope="session")
def postgres():
    """A connection of psycopg, and the address of the server."""
    try:
        import psycopg
    except ImportError:
        skip("psycopg", "pip install 'adyton[postgres]'")
    with running_postgres() as (folder, port):
        address = f"postgresql://adyton@/postgres?host={folder}&port={port}"
        with psycopg.connect(address, autocommit=True) as connection:
            insert_into_postgres(connection, "hard", ROWS)
            yield connection, address


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A classic session, and the address of its Connect server."""
    with running_spark(tmp_path_factory.mktemp("spark")) as (session, port):
        yield session, f"sc://localhost:{port}"


@pytest.fixture(scope="session")
def remote(spark):
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(spark[1]).create()
    yield session
    session.stop()


@pytest.fixture
def engine(request):
    """Which of the sources that :func:`opened` knows; ``duckdb`` is a Parquet file, ``stored`` a DuckDB file."""
    return request.param


@pytest.fixture
def opened(engine, parquet, request, tmp_path):
    """Opens the hard rows on an engine."""
    if engine == "duckdb":
        data = parquet
    elif engine in ("arrow", "pandas", "polars", "stored", "csv"):
        data = local(engine, pq.read_table(parquet), tmp_path)
    elif engine == "sqlite":
        data = write_sqlite(tmp_path / "hard.sqlite", ROWS)
    elif engine == "excel":
        rows = [list(ROWS), *zip(*ROWS.values(), strict=True)]
        data = write_workbook(tmp_path / "hard.xlsx", {"hard": rows})
    elif engine == "postgres":
        data = f"{request.getfixturevalue('postgres')[1]}#hard"
    elif engine == "spark":
        data = request.getfixturevalue("spark")[0].read.parquet(str(parquet))
    else:
        data = request.getfixturevalue("remote").read.parquet(str(parquet))

    def opening(schema, **options):
        lines = Schema(schema.attributes, schema.rows_per_unit, multiline=True) if engine == "csv" else schema
        return open_table(data, lines, **options)

    return opening


def local(source, given, folder):
    """The hard rows in a frame or a file."""
    if source == "pandas":
        return given.to_pandas(types_mapper=pandas.ArrowDtype)
    if source == "polars":
        return polars.from_arrow(given)
    if source == "stored":
        with duckdb.connect(str(folder / "hard.duckdb")) as connection:
            connection.execute("create table hard as select * from given")
        return f"{folder / 'hard.duckdb'}#hard"
    if source == "csv":
        with (folder / "hard.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(ROWS)
            writer.writerows([text_of(value) for value in row] for row in zip(*ROWS.values(), strict=True))
        return folder / "hard.csv"
    return given
