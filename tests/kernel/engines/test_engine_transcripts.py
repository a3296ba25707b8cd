"""Whole programs on servers, replayed without a person: nobody loses more than what is charged."""

import pytest

from adyton.kernel.counting.opening import table_at
from adyton_lab.audit.people import NAMES, arrow_of, named
from adyton_lab.audit.whole_programs import SHORT, audit_cases, table_cases

PEOPLE = ("heavy", "")


@pytest.fixture
def stores(request):
    """Tables in PostgreSQL, in Spark and behind Spark Connect; each has a name of its own in the server."""

    def in_postgres(path, rows):
        connection, address = request.getfixturevalue("postgres")
        name = "_".join(("people", *path.parts[-3:-1]))
        types = ("text", "bigint", "text", "boolean", "double precision", "text", "bigint")
        columns = ", ".join(f"{column} {kind}" for column, kind in zip(NAMES, types, strict=True))
        connection.execute(f"drop table if exists {name}")
        connection.execute(f"create table {name} ({columns})")
        with connection.cursor() as cursor:
            cursor.executemany(f"insert into {name} values ({', '.join(['%s'] * len(NAMES))})", named(rows))
        return table_at(address, name)

    def in_spark(fixture):
        def store(path, rows):
            from pyarrow import parquet

            path.mkdir()
            parquet.write_table(arrow_of(named(rows)), path / "people.parquet")
            found = request.getfixturevalue(fixture)
            session = found[0] if fixture == "spark" else found
            return session.read.parquet(str(path / "people.parquet"))

        return store

    return {"postgres": in_postgres, "spark": in_spark("spark"), "connect": in_spark("remote")}


@pytest.mark.full
@pytest.mark.parametrize("kind", [*SHORT, "learners on tables"])
@pytest.mark.parametrize("engine", ["postgres", "spark", "connect"])
def test_nobody_loses_more_than_the_charge(stores, engine, kind):
    removed = PEOPLE if kind in SHORT else PEOPLE[:1]
    found = audit_cases(kind, table_cases(kind, {engine: removed}, stores=stores))
    assert found.passed, found.detail
    assert found.figures["loss/ε"] <= 1
