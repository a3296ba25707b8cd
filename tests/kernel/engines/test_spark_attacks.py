"""Attempts to make a count of Spark fail, differ or hang because of one row, a name, a setting or a lost server."""

import os
import time
import warnings

import pytest
from test_engine_attacks import counts, levels
from test_engine_sessions import SCHEMA, SECRET

import adyton as ad
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.counting import open_table

FULL = pytest.mark.full


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    import pyarrow
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("files")
    home = os.environ.get("HOME", "/")
    texts = ["${env:HOME}", home, "a\\b", "it's", "a\0b", "x"]
    odd = {"a.b": texts, "c`d": ["y"] * 6, "list": [[1]] * 6}
    parquet.write_table(pyarrow.table(odd), folder / "odd.parquet")
    parquet.write_table(pyarrow.table({"twice": [1], "Twice": [2]}), folder / "twice.parquet")
    for name in ("1", "2.5"):
        (folder / f"parts-{name}" / f"part={name}").mkdir(parents=True)
        parquet.write_table(pyarrow.table({"a": [1]}), folder / f"parts-{name}" / f"part={name}" / "rows.parquet")
    (folder / "rows.csv").write_text("1\nabc\n")
    return folder


@FULL
@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_texts_and_names_mean_themselves_in_spark(kind, spark, remote, files):
    session = spark[0] if kind == "spark" else remote
    frame = session.read.parquet(str(files / "odd.parquet"))
    expected = [1, 1, 1, 3]
    assert counts(frame, **{"a.b": levels("${env:HOME}", "a\\b", "it's")}) == expected
    assert counts(frame, **{"a.b": levels("${env:HOME}", "a\\b", "it's", *"klm")}) == [1, 1, 1, 0, 0, 0, 3]
    assert counts(frame, **{"c`d": levels("y")}) == [6, 0]
    session.conf.set("spark.sql.caseSensitive", "true")
    twice = session.read.parquet(str(files / "twice.parquet"))
    assert counts(twice, twice=ad.Integer(0, 3)) == [0, 1, 0, 0]
    session.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(SchemaError, match=r"differ only in capital letters|cannot list the columns"):
        counts(twice, twice=ad.Integer(0, 3))
    with pytest.raises(SchemaError, match="has the type array"):
        counts(frame, list=ad.Integer(0, 3))
    setting = "spark.sql.parser.escapedStringLiterals"
    with warnings.catch_warnings(action="ignore"):
        session.conf.set(setting, "true")
        try:
            assert counts(frame, **{"a.b": levels("a\\b", "it's")}) == [1, 1, 4]
        finally:
            session.conf.set(setting, "false")


@FULL
@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_frames_in_which_a_row_decides_or_counts_twice_are_refused(kind, spark, remote, files):
    session = spark[0] if kind == "spark" else remote
    session.sql("drop table if exists rows_of_csv")
    session.sql(f"create table rows_of_csv (a int) using csv options (path '{files / 'rows.csv'}', mode 'FAILFAST')")
    whole = str(files / "parts-1" / "part=1" / "rows.parquet")
    refused = {
        "connector": session.table("rows_of_csv"),
        "a stream": session.readStream.schema("a int").parquet(str(files / "parts-1")),
        "a file twice": session.read.parquet(whole, whole),
        "file twice": session.read.parquet(
            str(files / "parts-1" / "part=1"), f"file:{files}/parts-1/../parts-1/part=1"
        ),
    }
    for words, frame in refused.items():
        with pytest.raises(SchemaError, match=words):
            counts(frame, a=ad.Integer(0, 3))
    for name in ("1", "2.5"):
        frame = session.read.parquet(str(files / f"parts-{name}"))
        assert counts(frame, a=ad.Integer(0, 3)) == [0, 1, 0, 0]
        with pytest.raises(SchemaError, match="from folder names"):
            counts(frame, part=levels("1", "2.5"))


@FULL
def test_a_connect_server_that_does_not_answer_is_not_waited_for(tmp_path):
    pytest.importorskip("pyspark")
    start = time.monotonic()
    with pytest.raises(SchemaError) as caught:
        ad.Session(f"sc://127.0.0.1:1/;token={SECRET}", table="t", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger")
    assert "cannot be reached" in str(caught.value)
    assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"
    assert time.monotonic() - start < 60
    assert not (tmp_path / "ledger").exists()


@FULL
def test_a_table_that_becomes_a_view_is_not_counted_through_connect(remote):
    remote.sql("create table stored using parquet as select 1 as a")
    opened = open_table(remote.table("stored"), ad.Schema({"a": ad.Integer(0, 3)}))
    assert opened.vectorize().tolist() == [0, 1, 0, 0]
    remote.sql("create temporary view stored as select 1 as a from range(1000)")
    try:
        with pytest.raises(KernelFailure):
            opened.vectorize()
    finally:
        remote.sql("drop view stored")
        remote.sql("drop table stored")
