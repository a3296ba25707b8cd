"""A row that moves from one part of a split to another on a server, between two counts; see tests/attacks."""

import warnings

import ibis
import pytest

import adyton as ad
from adyton.errors import RowsChanged

SCHEMA = ad.Schema({"ward": ad.Integer(0, 3), "age": ad.Integer(0, 1)})
CLEAR = 60
"""Noise of scale 1/60 is 0 but twice in e^60 times."""


@pytest.fixture
def table(postgres):
    connection, address = postgres
    connection.execute("create table moving as select 0 as ward, 0 as age")
    yield connection, address
    connection.execute("drop table moving")


def attacked(data, move):
    """How often the only row was counted, and what that cost."""
    kernel = ad.Kernel(data, schema=SCHEMA, epsilon=1000)
    parts = kernel.root.split("ward")
    seen = float(parts[0].count(CLEAR).value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsChanged)
        move()
        seen += sum(float(part.count(CLEAR).value) for part in parts[1:3])
    return seen, kernel.spent


def test_parts_of_a_table_at_an_address_are_counted_in_one_snapshot(table) -> None:
    connection, address = table
    seen = attacked(f"{address}#moving", lambda: connection.execute("update moving set ward = 1"))
    assert seen == (1, CLEAR)


def test_parts_on_a_connection_of_others_are_charged_one_after_the_other(table) -> None:
    connection, address = table
    host, port = address.split("host=")[1].split("&port=")
    own = ibis.postgres.connect(host=host, port=int(port), user="adyton", database="postgres")
    seen = attacked(own.table("moving"), lambda: connection.execute("update moving set ward = 1"))
    assert seen == (2, 3 * CLEAR)
    assert own.con.info.transaction_status == 0  # left as it was
    own.disconnect()


def test_a_snapshot_that_was_lost_is_another_moment(table) -> None:
    connection, address = table

    def move() -> None:
        connection.execute("update moving set ward = 1")
        connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'adyton'")

    seen, spent = attacked(f"{address}#moving", move)
    assert seen == 2
    assert spent == 3 * CLEAR


def test_without_a_split_every_answer_is_of_its_own_moment(table) -> None:
    connection, address = table
    kernel = ad.Kernel(f"{address}#moving", schema=SCHEMA, epsilon=1000)
    before = kernel.root.select("ward").vectorize().measure(ad.workloads.Identity(4), CLEAR).answers
    connection.execute("update moving set ward = 1")
    after = kernel.root.select("ward").vectorize().measure(ad.workloads.Identity(4), CLEAR).answers
    assert (before.argmax(), after.argmax(), kernel.spent) == (0, 1, 2 * CLEAR)
    idle = "select state from pg_stat_activity where application_name = 'adyton'"
    assert {state for (state,) in connection.execute(idle).fetchall()} == {"idle"}


@pytest.mark.full
def test_parts_in_spark_are_charged_one_after_the_other(spark, tmp_path) -> None:
    session, _ = spark
    session.createDataFrame([(0, 0)], "ward int, age int").write.parquet(str(tmp_path / "rows"))

    def move() -> None:
        session.createDataFrame([(1, 0)], "ward int, age int").write.mode("overwrite").parquet(str(tmp_path / "new"))
        for old in (tmp_path / "rows").glob("*.parquet"):
            old.write_bytes(next((tmp_path / "new").glob("*.parquet")).read_bytes())
        for check in (tmp_path / "rows").glob(".*.crc"):
            check.unlink()

    seen, spent = attacked(session.read.parquet(str(tmp_path / "rows")), move)
    assert spent == 3 * CLEAR
    assert seen <= 2
