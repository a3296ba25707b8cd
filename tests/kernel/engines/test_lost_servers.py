"""Servers that vanish, tables that change and Ctrl-C, in the middle of a count; and what is refused at opening."""

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from test_engine_sessions import SCHEMA, SECRET, failing

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.ledger import Ledger
from adyton.kernel.sealed import interruptible

FULL = pytest.mark.full


def command(address, table, folder):
    """The command in a process of its own, its ledger, and the folder that it writes into."""
    (folder / "s.toml").write_text(SCHEMA.to_toml())
    ledger, out = folder / "ledger", folder / "out"
    words = ["release", address, "--table", table, "--schema", str(folder / "s.toml"), "--histogram", "flag"]
    words += ["--epsilon", "0.25", "--ledger", str(ledger), "--total", "1", "--out", str(out), "--json"]
    started = subprocess.Popen([sys.executable, "-m", "adyton", *words], stdout=-1, stderr=-1, text=True)
    return started, ledger, out


def wait_until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def statuses(ledger):
    return [entry.status for entry in Ledger.read(ledger).entries] if ledger.exists() else []


def counting(connection):
    """The queries of Adyton that run."""
    query = "select pid from pg_stat_activity where application_name = 'adyton' and state = 'active'"
    return connection.execute(query).fetchall()


def test_a_call_is_stopped_again_until_it_ends():
    """The first request fails, the second comes too early."""
    asked, ended = [], threading.Event()

    def stop():
        asked.append(True)
        if len(asked) == 1:
            raise OSError(SECRET)
        ended.set()

    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(ended.wait, stop)
    assert len(asked) == 2


@FULL
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_count_ends_on_the_server_too(postgres, tmp_path, sign):
    connection, address = postgres
    connection.execute("drop table if exists many; create table many as select h.* from hard h")
    connection.execute("insert into many select h.* from hard h, generate_series(1, 100000)")
    started, ledger, out = command(address, "many", tmp_path)
    wait_until(lambda: statuses(ledger) and counting(connection))
    started.send_signal(sign)
    told = started.communicate(timeout=60)
    assert started.returncode == 128 + sign, told
    assert "interrupted" in told[1]
    wait_until(lambda: not counting(connection))
    assert statuses(ledger) == ["failed"]
    assert not out.exists()
    connection.execute("truncate many")
    again, _, _ = command(address, "many", tmp_path)
    assert again.wait(120) == 0
    assert statuses(ledger) == ["failed", "answered"]


@FULL
@pytest.mark.parametrize(
    "change", ["drop table {}", "alter table {} alter column flag type text", "alter table {} drop column flag"]
)
def test_a_table_that_changes_while_a_count_waits_for_it(postgres, tmp_path, change):
    connection, address = postgres
    connection.execute("drop table if exists passing; create table passing as select * from hard")
    with ad.Session(address, table="passing", schema=SCHEMA, epsilon=3, ledger=tmp_path / "ledger") as session:
        connection.execute("begin; lock table passing in access exclusive mode")
        connection.execute(change.format("passing"))
        waiting = threading.Timer(2, lambda: connection.execute("commit"))
        waiting.start()
        failing(session, tmp_path / "ledger")
        waiting.join()
        assert statuses(tmp_path / "ledger") == ["failed"]


@FULL
def test_ports_where_something_else_listens(tmp_path):
    """One that speaks another language, and one that says nothing: nobody waits for ever, nothing is spent."""
    pytest.importorskip("psycopg")
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    web.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        places = [f"127.0.0.1:{port}" for port in (web.server_port, silent.getsockname()[1])] + ["no-such-host.invalid"]
        for place in places:
            for address in (f"postgresql://ann:{SECRET}@{place}/x", f"sc://{place}/;token={SECRET}"):
                start = time.monotonic()
                with pytest.raises(SchemaError) as caught:
                    ad.Session(address, table="t", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger")
                assert "cannot be reached" in str(caught.value)
                assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"
                assert time.monotonic() - start < 60
    web.shutdown()
    assert not (tmp_path / "ledger").exists()


HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
sys.argv = ["adyton", *{words}]
from adyton.cli.main import main
main()
"""


@FULL
@pytest.mark.parametrize(
    ("address", "names", "extra"),
    [
        ("postgresql://ann@127.0.0.1:1/x", ("psycopg",), "adyton[postgres]"),
        ("sc://127.0.0.1:1", ("pyspark",), "adyton[spark]"),
        ("sc://127.0.0.1:1", ("grpc", "google"), "adyton[spark]"),
    ],
)
def test_an_extra_that_is_missing_is_named(address, names, extra, tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    words = ["release", address, "--table", "t", "--schema", str(tmp_path / "s.toml"), "--histogram", "flag"]
    words += ["--epsilon", "0.25", "--ledger", str(tmp_path / "ledger"), "--total", "1", "--json"]
    given = HIDDEN.format(names=names, words=words)
    done = subprocess.run([sys.executable, "-c", given], capture_output=True, check=False, text=True, timeout=120)
    assert f"pip install '{extra}'" in done.stdout + done.stderr, done
    assert done.returncode == 2
    assert not (tmp_path / "ledger").exists()


KINDS = {
    "number": ad.Numeric(0, 1, bins=2),
    "whole": ad.Integer(0, 3),
    "level": ad.Categorical(["a", "b"], outside="other"),
    "truth": ad.Boolean(),
    "day": ad.Date("2024-01-01", "2024-12-31", by="quarter"),
    "time": ad.Datetime("2024-01-01", "2024-12-31", by="quarter"),
    "length": ad.Duration(0, 2, bins=2, unit="hours"),
}


@FULL
def test_types_that_no_attribute_can_have_in_postgres(postgres):
    connection, address = postgres
    wrong = {
        "json": "json",
        "jsonb": "jsonb",
        "bytes": "bytea",
        "list": "integer[]",
        "place": "point",
        "bits": "bit(3)",
    }
    wrong |= {"clock": "time", "net": "inet", "range": "int4range", "search": "tsvector", "markup": "xml"}
    connection.execute("drop type if exists pair cascade; create type pair as (a integer, b text)")
    wrong |= {"pair": "pair"}
    columns = ", ".join(f"{name} {kind}" for name, kind in wrong.items())
    connection.execute(f"drop table if exists wrong; create table wrong ({columns})")
    for column in wrong:
        for kind, attribute in KINDS.items():
            with pytest.raises(SchemaError) as caught:
                open_table(f"{address}#wrong", ad.Schema({column: attribute}))
            assert repr(column) in str(caught.value), (column, kind)
            assert "has the type" in str(caught.value), (column, kind)
            assert "DataType" not in str(caught.value), (column, kind)


def test_kinds_of_tables_in_postgres(postgres):
    connection, address = postgres
    connection.execute(
        'create table one as select 1::smallint as short, true as flag; create schema if not exists "A b";'
        "create materialized view kept as select * from one; create unlogged table light as select * from one;"
        "create table parts (like one) partition by range (short);"
        "create table part1 partition of parts for values from (0) to (5); insert into parts select * from one;"
        'create table "A b"."C.d E" as select * from one; create table bare ()'
    )
    for name in ("one", "kept", "light", "parts", "part1", "A b.C.d E"):
        assert open_table(f"{address}#{name}", SCHEMA).count() == 1, name
    for name, words in {"bare": "and has any", "ONE": "no table 'ONE'.*'one'"}.items():
        with pytest.raises(SchemaError, match=words):
            open_table(f"{address}#{name}", SCHEMA)


def all_counts(table):
    """Every kind of count of a table with a number and a level."""
    counts = [table.vectorize(), *table.tables([["whole"], ["level"]]), *table.power_sums("whole", (), 2)]
    counts += [*table.power_sums("whole", ("level",), 2), table.select(["level"]).vectorize()]
    return [one.tolist() for one in counts]


def test_no_rows_are_counted_like_others(postgres, tmp_path):
    """That there are none is private: a count must not fail for it."""
    connection, address = postgres
    connection.execute("drop table if exists nobody; create table nobody (whole integer, level text)")
    schema = ad.Schema({"whole": KINDS["whole"], "level": KINDS["level"]})
    (tmp_path / "nobody.csv").write_text("whole,level\n")
    assert all_counts(open_table(f"{address}#nobody", schema)) == all_counts(
        open_table(tmp_path / "nobody.csv", schema)
    )


@FULL
@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_types_and_no_rows_in_spark(kind, spark, remote, tmp_path):
    session = spark[0] if kind == "spark" else remote
    wrong = {"bytes": "binary", "list": "array<int>", "pair": "struct<a: int>", "named": "map<string, int>"}
    columns = ", ".join(f"cast(null as {type}) as {name}" for name, type in wrong.items())
    session.sql(f"select {columns}").write.parquet(str(tmp_path / "wrong"))
    frame = session.read.parquet(str(tmp_path / "wrong"))
    for column in frame.columns:
        for attribute in KINDS.values():
            with pytest.raises(SchemaError, match=f"'{column}' has the type"):
                open_table(frame, ad.Schema({column: attribute}))
    session.sql("select 1 as whole, 'a' as level where false").write.parquet(str(tmp_path / "nobody"))
    schema = ad.Schema({"whole": KINDS["whole"], "level": KINDS["level"]})
    (tmp_path / "nobody.csv").write_text("whole,level\n")
    found = all_counts(open_table(session.read.parquet(str(tmp_path / "nobody")), schema))
    assert found == all_counts(open_table(tmp_path / "nobody.csv", schema))
