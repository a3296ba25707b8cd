"""Whole releases from PostgreSQL and Spark, and what can go wrong: clear words, no secrets in them, no debit lost."""

import json
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hard_rows import ROWS
from servers import host_and_port
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import AdytonError, BadInput, KernelFailure, SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import address_name, table_at
from adyton.kernel.ledger import Ledger

SCHEMA = ad.Schema({"short": ad.Integer(-1, 11, outside="clamp"), "flag": ad.Boolean(nulls="level")})
SECRET = "hunter2-in-the-address"


def test_a_release_is_that_of_a_file(postgres, parquet):
    """With so much budget that the noise is gone, the numbers are those inside."""
    released = []
    for data, options in ((postgres[1], {"table": "hard"}), (str(parquet), {})):
        with (
            warnings.catch_warnings(action="ignore"),
            ad.Session(data, schema=SCHEMA, epsilon=1000, **options) as session,
        ):
            released.append(session.release(ad.Histogram("short", "flag"), epsilon=900, algorithm="identity").estimate)
    assert np.array_equal(np.rint(released[0]), np.rint(released[1]))
    assert np.rint(released[0]).sum() == sum(value is not None for value in ROWS["short"])


def test_the_command_names_the_table_and_no_credentials(postgres, tmp_path):
    address = postgres[1].replace("adyton@", f"adyton:{SECRET}@")
    schema, ledger, out = tmp_path / "s.toml", tmp_path / "l.ledger", tmp_path / "out"
    schema.write_text(SCHEMA.to_toml())
    words = ["release", address, "--table", "hard", "--schema", str(schema), "--epsilon", "0.5", "--histogram", "flag"]
    done = CliRunner().invoke(app, [*words, "--ledger", str(ledger), "--total", "1", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert Ledger.read(ledger).dataset == "postgres.hard"
    files = [path.read_bytes() for path in (ledger, *out.rglob("*")) if path.is_file()]
    assert not any(SECRET.encode() in content for content in [*files, done.output.encode()])
    drafted = CliRunner().invoke(app, ["schema", address, "--table", "hard"]).output
    assert "[attributes.instant]" in drafted
    assert SECRET not in drafted


@pytest.mark.parametrize(
    ("address", "table", "words"),
    [
        ("postgresql://nobody:{}@/postgres?host={host}&port={port}", "hard", "does not let this user in"),
        ("postgresql://adyton:{}@/elsewhere?host={host}&port={port}", "hard", "does not let this user in"),
        ("postgresql://adyton:{}@127.0.0.1:1/x", "hard", "cannot be reached"),
        ("postgresql://adyton:{}@/postgres?host={host}&port={port}", "nothing", "there is no table 'nothing'"),
        ("postgresql://adyton:{}@/postgres?host={host}&port={port}", None, "names no table"),
        ("postgresql://adyton:{}@/postgres?host={host}&port={port}", "seen", "is a view"),
        ("postgresql://adyton:{}@/postgres?host={host}&port={port}", "odd", "has the type bytea"),
        ("mysql://adyton:{}@host/x", "hard", "cannot be opened"),
        ("://{}", None, "cannot be opened"),
    ],
)
def test_what_cannot_be_opened_is_said_without_secrets(postgres, address, table, words, tmp_path):
    connection, own = postgres
    connection.execute("create or replace view seen as select * from hard")
    connection.execute("create table if not exists odd (short bytea, flag boolean)")
    host, port = host_and_port(own)
    given = address.replace("{}", SECRET).replace("{host}", host).replace("{port}", port)
    with pytest.raises(SchemaError) as caught:
        ad.Session(given, table=table, schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger")
    assert words in str(caught.value)
    told = caught.value
    while told is not None:
        assert SECRET not in f"{told} {told!r} {told.args}"
        told = told.__context__ or told.__cause__
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize(
    ("asked", "sent", "words"),
    [(False, False, "cannot be reached"), (False, True, "was reached, but"), (True, True, "none was given")],
)
def test_how_far_a_connection_came_is_reported(monkeypatch, asked, sent, words):
    """Whether a password was asked for and sent; nothing of what the server says."""
    psycopg = pytest.importorskip("psycopg")

    class Refused(psycopg.OperationalError):
        pgconn = SimpleNamespace(needs_password=asked, used_password=sent)

    def refuse(**_):
        raise Refused(SECRET)

    monkeypatch.setattr("psycopg.connect", refuse)
    with pytest.raises(SchemaError, match=words) as caught:
        ad.Session(f"postgresql://u:{SECRET}@h/x", table="visits", schema=SCHEMA, epsilon=1)
    assert SECRET not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"


def test_names_of_addresses():
    assert address_name("postgresql://u:p@h:1,h2:2/clinic?password=x#public.visits") == "clinic.public.visits"
    assert address_name("sc://host:15002/;token=secret;user_id=me#visits") == "visits"
    assert address_name("postgresql://u:p@h") == "table"
    with pytest.raises(BadInput, match="Name it only once"):
        table_at("postgresql://h/x#visits", "others")
    with pytest.raises(BadInput, match="address or file"):
        table_at(object(), "visits")


@pytest.mark.parametrize(
    "address", ["sc://{}:1x", "sc://127.0.0.1:1/;token={}", "sc://127.0.0.1:1/;user_id={};x-{}={}", "sc://{}@[::1]:1/"]
)
def test_an_address_of_spark_is_not_repeated(address, tmp_path, capfd, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setattr("adyton.kernel.engines.spark._SECONDS", 0.2)
    before = set(threading.enumerate())
    with pytest.raises(SchemaError) as caught:
        ad.Session(address.replace("{}", SECRET), table="hard", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger")
    assert "cannot be reached" in str(caught.value)
    assert SECRET not in "".join([str(caught.value), repr(caught.value.__context__), *capfd.readouterr()])
    assert not (tmp_path / "ledger").exists()
    for thread in set(threading.enumerate()) - before:  # a fork would not survive a thread that goes on asking
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.full
def test_a_session_at_an_address_is_opened_once_and_never_collected(spark):
    """When Python collects a session, a query of another one can wait for ever."""
    from adyton.kernel.engines.spark import _kept, session_at

    first = session_at(spark[1])
    assert first is session_at(spark[1])
    assert first in _kept
    first.client.close()
    assert session_at(spark[1]) not in (None, first)
    assert first in _kept


@pytest.mark.full
def test_whose_address_of_spark_it_is_stays_unknown(spark, parquet, tmp_path, capfd):
    """Neither the user nor the host comes into a ledger, a report, a release, a drawn plan, a message or a log."""
    session, address = spark
    session.sql(f"create table if not exists told using parquet as select * from parquet.`{parquet}`")
    given = f"{address.replace('localhost', '127.0.0.1')}/;user_id={SECRET}"
    schema, ledger, out = tmp_path / "s.toml", tmp_path / "l.ledger", tmp_path / "out"
    schema.write_text(SCHEMA.to_toml())
    words = ["release", given, "--table", "told", "--schema", str(schema), "--epsilon", "0.5", "--histogram", "flag"]
    words += ["--ledger", str(ledger), "--total", "1"]
    done = CliRunner().invoke(app, [*words, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert Ledger.read(ledger).dataset == "told"
    with ad.Session(given, table="told", schema=SCHEMA, ledger=ledger) as opened:
        shown = [repr(opened), str(opened.preview(ad.Histogram("flag"), "0.1")), repr(opened.release)]
        session.sql("drop table told")
        with pytest.raises(KernelFailure) as caught:
            opened.release(ad.Histogram("flag"), epsilon="0.1")
    told = [str(caught.value), repr(caught.value.__context__), *shown, *capfd.readouterr(), done.output]
    told += [CliRunner().invoke(app, words).output]  # there is no such table any more
    told += [path.read_bytes().decode("latin-1") for path in (ledger, *out.rglob("*")) if path.is_file()]
    assert not any(word in text for text in told for word in (SECRET, "127.0.0.1", "sc://"))


@pytest.mark.full
def test_nothing_is_left_in_a_session_of_spark(spark, remote, parquet):
    for session in (spark[0], remote):
        before = [table.name for table in session.catalog.listTables()]
        table = open_table(session.read.parquet(str(parquet)), SCHEMA)
        assert table.count() == len(ROWS["short"])
        assert [table.name for table in session.catalog.listTables()] == before


def failing(session, ledger):
    """A release that fails inside: the same words whatever happened, and the debit stays."""
    spent = session.spent
    with pytest.raises(KernelFailure) as caught:
        session.release(ad.Histogram("flag"), epsilon="0.25")
    assert str(caught.value) == str(KernelFailure())
    assert caught.value.__context__ is None
    assert session.spent > spent
    report = Ledger.read(ledger)
    assert report.spent == session.spent
    assert report.entries[-1].status != "answered"


def test_a_lost_connection_and_a_dropped_table(postgres, tmp_path):
    connection, address = postgres
    connection.execute("drop table if exists brief; create table brief as select * from hard")
    with ad.Session(address, table="brief", schema=SCHEMA, epsilon=3, ledger=tmp_path / "ledger") as session:
        connection.execute("begin; lock table brief in access exclusive mode")
        ended = threading.Thread(target=end_waiting_backends, args=(address,))
        ended.start()
        failing(session, tmp_path / "ledger")
        ended.join()
        connection.execute("rollback")
        assert session.release(ad.Histogram("flag"), epsilon="0.25").estimate.size == 3  # it has connected anew
        connection.execute("drop table brief")
        failing(session, tmp_path / "ledger")


def end_waiting_backends(address):
    """End the connection that waits for a lock, in the middle of its count."""
    import psycopg

    waiting = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'"
    with psycopg.connect(address, autocommit=True) as other:
        end = time.monotonic() + 60
        while not other.execute(waiting).fetchall() and time.monotonic() < end:
            time.sleep(0.05)


def test_an_ibis_table_and_the_transaction_that_is_open(postgres):
    import ibis

    host, port = host_and_port(postgres[1])
    own = ibis.postgres.connect(host=host, port=int(port), user="adyton", database="postgres", autocommit=False)
    own.con.execute("create table mine (a integer)")
    table = own.table("hard")
    counted = open_table(table.filter(table["short"] >= 0), ad.Schema({"flag": ad.Boolean(nulls="level")})).count()
    assert counted == sum(value is not None and value >= 0 for value in ROWS["short"])
    assert own.con.execute("select count(*) from mine").fetchone() == (0,)  # still in the caller's transaction
    own.con.rollback()
    own.con.close()
    with pytest.raises(SchemaError, match="a cast from float64"):
        open_table(table.select(short=table["double"].cast("int16"), flag=table["flag"]), SCHEMA)


def test_values_that_only_postgres_has(postgres):
    connection, address = postgres
    connection.execute(
        "create table own (n numeric, d date, t timestamp, z timestamptz, c char(4), i interval);"
        "insert into own values ('NaN', 'infinity', '-infinity', 'infinity', 'a', '1 day 01:00'),"
        "(1e400, '0044-03-15 BC', '294276-12-31', '4713-01-01 BC', 'b', '-1 month'),"
        "('-Infinity', '5874897-12-31', null, null, null, null),"
        "(1e-400, '2024-05-05', '2024-05-05', '2024-05-05 00:00+00', 'a', '100000 years'),"
        "(5, null, null, null, 'zz', '0')"
    )
    keep = {"nulls": "level", "outside": "clamp"}
    schema = ad.Schema(
        {
            "n": ad.Numeric(0, 10, bins=2, **keep),
            "d": ad.Date("2024-01-01", "2024-12-31", by="quarter", nulls="level", outside="other"),
            "t": ad.Datetime("2024-01-01", "2024-12-31", by="quarter", nulls="level", outside="other"),
            "z": ad.Datetime(
                "2024-01-01", "2024-12-31", by="quarter", nulls="level", outside="other", zone="Asia/Tokyo"
            ),
            "c": ad.Categorical(["a", "b"], nulls="level", outside="other"),
            "i": ad.Duration(0, 48, bins=2, unit="hours", **keep),
        }
    )
    found = [one.tolist() for one in open_table(address + "#own", schema).tables([[name] for name in schema.names])]
    assert found[0] == [2, 2, 1]  # -∞ and nearly 0; 5 and 1e400; not a number
    assert found[1:4] == [[0, 1, 0, 0, 0, 4]] * 3  # outside the years 1 to 9999 there is no time
    assert found[4:] == [[2, 1, 1, 1], [2, 2, 1]]


@pytest.mark.full
def test_frames_of_spark_are_stored_rows(spark, parquet):
    session = spark[0]
    files = session.read.parquet(str(parquet))
    files.createOrReplaceTempView("seen")
    frames = (session.table("seen"), files.select("short", "flag"), files.filter("short >= 0"))
    count, chosen = len(ROWS["short"]), sum(value is not None and value >= 0 for value in ROWS["short"])
    assert [open_table(frame, SCHEMA).count() for frame in frames] == [count, count, chosen]
    refused = {
        "rows in memory": session.range(3).toDF("short").withColumnRenamed("id", "short"),
        "computed columns": files.selectExpr("short + 1 as short", "flag"),
        "Limit": files.limit(3),
        "Join": files.alias("a").crossJoin(files.select("flag").alias("b")).select("a.short", "a.flag"),
        "more than comparisons": files.filter("rand() < 0.5"),
    }
    for words, frame in refused.items():
        with pytest.raises(SchemaError) as caught:
            open_table(frame, SCHEMA)
        assert words in str(caught.value), words


@pytest.mark.full
def test_a_spark_session_by_its_address(spark, parquet, tmp_path):
    session, address = spark
    session.sql(f"create table if not exists visits using parquet as select * from parquet.`{parquet}`")
    with ad.Session(address, table="visits", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger") as opened:
        assert opened.release(ad.Histogram("flag"), epsilon="0.5").estimate.size == 3
        assert Ledger.read(tmp_path / "ledger").dataset == "visits"
        session.sql("drop table visits")
        failing(opened, tmp_path / "ledger")
    with pytest.raises(SchemaError, match="there is no table 'visits'"):
        ad.Session(address, table="visits", schema=SCHEMA, epsilon=1)


@pytest.mark.full
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_counts_alike_with_and_without_errors(spark, parquet, ansi):
    session = spark[0]
    session.conf.set("spark.sql.ansi.enabled", ansi)
    names = {
        "long": ad.Integer(0, 10, outside="clamp"),
        "number": ad.Numeric(0, 10, bins=3, outside="other", nulls="level"),
    }
    try:
        found = open_table(session.read.parquet(str(parquet)), ad.Schema(names)).vectorize()
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert np.array_equal(found, open_table(parquet, ad.Schema(names)).vectorize())


def test_errors_have_no_secrets_in_json(tmp_path):
    words = ["check", f"postgresql://u:{SECRET}@127.0.0.1:1/x#t", "--json", "--schema", str(tmp_path / "s.toml")]
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    done = CliRunner().invoke(app, words)
    assert SECRET not in done.output
    assert isinstance(done.exception, SystemExit | AdytonError)
    assert json.loads(done.output.partition("\n}")[0] + "\n}")["ok"] is False
