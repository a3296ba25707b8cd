"""One table of hard rows on every engine. Servers start once, when a test first asks for them."""

import pytest
from hard_rows import ROWS, insert_into_postgres, write_parquet, write_sqlite
from servers import running_postgres, running_spark, skip

from adyton.kernel.counting import open_table
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
    """Which of ``duckdb``, ``sqlite``, ``excel``, ``postgres``, ``spark`` and ``connect``."""
    return request.param


@pytest.fixture
def opened(engine, parquet, request, tmp_path):
    """Opens the hard rows on an engine."""
    if engine == "duckdb":
        data = parquet
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
    return lambda schema, **options: open_table(data, schema, **options)
