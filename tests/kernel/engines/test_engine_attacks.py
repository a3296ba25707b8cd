"""Attempts to make a count fail, differ or speak because of one row, a name, a setting or a lost server."""

import threading

import numpy as np
import pytest
from servers import as_somebody, host_and_port, postgres_binaries, running_postgres
from test_engine_sessions import SCHEMA, SECRET, failing
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import address_name
from adyton.kernel.ledger import Ledger

FULL = pytest.mark.full
YEAR = {"min": "2024-01-01", "max": "2024-12-31", "by": "quarter"}


def counts(data, **attributes):
    return open_table(data, ad.Schema(attributes)).vectorize().tolist()


def levels(*names):
    return ad.Categorical(list(names), outside="other")


@pytest.fixture(scope="module")
def server(postgres):
    """A connection, the address, and a small table with names and texts that are hard to quote."""
    connection, address = postgres
    long, longer = "d" * 62 + "1", "d" * 62 + "2"
    connection.execute(
        f'create table "odd"";.name" ("a""b" text, "{long}" date, "{longer}" date, number double precision, '
        "money money, object oid)"
    )
    for text in ("it's", "a\\b"):
        row = (text, "2024-01-01", "2024-09-09", 1.5, 2, 3)
        connection.execute('insert into "odd"";.name" values (%s, %s, %s, %s, %s::int, %s)', row)
    return connection, address, f'{address}#odd";.name'


def test_names_that_are_long_or_hard_to_quote(server):
    odd = server[2]
    long, longer = "d" * 62 + "1", "d" * 62 + "2"
    assert counts(odd, **{'a"b': levels("it's", "a\\b", "%s")}) == [1, 1, 0, 0]
    assert counts(odd, **{'a"b': levels("it's", "a\\b", *"cdefg")})[:2] == [1, 1]
    assert np.array(counts(odd, **{long: ad.Date(**YEAR), longer: ad.Date(**YEAR)})).tolist()[0] == [0, 0, 2, 0]
    assert counts(odd, **{"e" * 90: ad.Date(**YEAR, column=long)}) == [2, 0, 0, 0]
    assert counts(odd, money=ad.Numeric(0, 4, bins=2), object=ad.Integer(0, 3)) == [[0, 0, 0, 0], [0, 0, 0, 2]]
    with pytest.raises(SchemaError, match="there is no table"):
        counts(server[1] + "#" + "h" * 80, short=ad.Integer(0, 3))


def test_a_cast_that_fails_on_far_decimals_is_refused(server):
    import ibis

    host, port = host_and_port(server[1])
    backend = ibis.postgres.connect(host=host, port=int(port), user="adyton", database="postgres")
    table = backend.table("hard")
    with pytest.raises(SchemaError, match="a cast from decimal"):
        counts(table.select(x=table["decimal"].cast("float64")), x=ad.Numeric(0, 4, bins=2))
    assert sum(counts(table, decimal=ad.Numeric(0, 10, bins=2))) > 0
    backend.disconnect()


def test_settings_of_a_user_do_not_matter(server):
    connection, _, odd = server
    address, _, table = odd.partition("#")
    settings = [
        "standard_conforming_strings=off",
        "array_nulls=off",
        "extra_float_digits=-10",
        "client_encoding=sql_ascii",
    ]
    settings += ["search_path=public,pg_catalog"]
    connection.execute(
        "create function public.floor(double precision) returns double precision language sql as 'select 0.0'"
    )
    try:
        for setting in settings:
            own = f"{address}&options=-c%20{setting.replace('=', '%3D')}#public.{table}"
            assert counts(own, **{'a"b': levels("a\\b", "é")}) == [1, 0, 1], setting
            assert counts(own, number=ad.Numeric(0, 4, bins=4)) == [0, 2, 0, 0], setting
    finally:
        connection.execute("drop function public.floor(double precision)")


def test_rows_that_are_not_a_stored_tables(server):
    connection, address, _ = server
    connection.execute("create table parent (a integer); create table child () inherits (parent)")
    connection.execute("insert into child values (1)")
    assert counts(address + "#parent", a=ad.Integer(0, 3)) == [0, 1, 0, 0]
    if connection.execute("select 1 from pg_available_extensions where name = 'file_fdw'").fetchall():
        connection.execute("create extension file_fdw; create server files foreign data wrapper file_fdw")
        connection.execute("create foreign table far () inherits (child) server files options (filename '/dev/null')")
        with pytest.raises(SchemaError, match="foreign table"):
            counts(address + "#parent", a=ad.Integer(0, 3))


def test_a_table_that_became_a_view_or_has_other_types(server, tmp_path):
    connection, address, _ = server
    connection.execute("create table changing as select * from hard")
    with ad.Session(address, table="changing", schema=SCHEMA, epsilon=3, ledger=tmp_path / "ledger") as session:
        connection.execute("alter table changing rename to changed")
        connection.execute("create view changing as select c.* from changed c, generate_series(1, 1000)")
        failing(session, tmp_path / "ledger")
        connection.execute("drop view changing; alter table changed rename to changing")
        session.release(ad.Histogram("flag"), epsilon="0.25")
        connection.execute("alter table changing alter column flag type text")
        failing(session, tmp_path / "ledger")


def test_missing_rights_are_reported_before_the_debit(server, tmp_path):
    connection, address, _ = server
    connection.execute("create role reader login password 'ann:/@#?'; create table rights as select * from hard")
    own = address.replace("adyton@", "reader:ann%3A%2F%40%23%3F@")
    for grant in ("usage on schema public to reader", "select (short) on rights to reader"):
        connection.execute(f"grant {grant}")
        with pytest.raises(SchemaError, match="may read all of them"):
            ad.Session(own, table="rights", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()
    connection.execute("grant select (flag) on rights to reader")
    with ad.Session(own, table="rights", schema=SCHEMA, epsilon=1, ledger=tmp_path / "ledger") as session:
        connection.execute("revoke select (flag) on rights from reader")
        failing(session, tmp_path / "ledger")


def test_a_connection_that_is_lost_between_two_questions_costs_nothing(server):
    connection, address, _ = server
    with ad.Session(address, table="hard", schema=SCHEMA, epsilon=1) as session:
        connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'adyton'")
        assert session.release(ad.Histogram("flag"), epsilon="0.25").estimate.size == 3
        assert session.spent == 0.25


@FULL
def test_one_long_text_does_not_make_a_count_fail(server):
    connection, address, _ = server
    connection.execute("create table lengthy (text text); insert into lengthy values (repeat('1', 300000000)), ('1')")
    data = address + "#lengthy"
    assert counts(data, text=ad.Integer(0, 1, nulls="level", outside="other")) == [0, 1, 1, 0]  # beyond all numbers
    connection.execute("drop table lengthy")


@FULL
def test_a_server_that_ends_at_once_and_comes_back(tmp_path):
    """In the middle of a count; then the same command works again, on the same ledger."""
    import subprocess

    import psycopg

    with running_postgres() as (folder, port):
        address = f"postgresql://adyton@/postgres?host={folder}&port={port}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("create table visits as select true as flag, 1::smallint as short")
        (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
        ledger, out = tmp_path / "ledger", tmp_path / "out"
        words = ["release", address, "--table", "visits", "--schema", str(tmp_path / "s.toml"), "--histogram", "flag"]
        words += ["--epsilon", "0.25", "--ledger", str(ledger), "--total", "1", "--out", str(out), "--json"]
        control = [*as_somebody(), str(postgres_binaries() / "pg_ctl"), "-D", str(folder / "data"), "-w"]
        locked = psycopg.connect(address)
        with ad.Session(address, table="visits", schema=SCHEMA, epsilon=1, ledger=ledger) as session:
            locked.execute("lock table visits in access exclusive mode")
            stop = threading.Timer(
                4, lambda: subprocess.run([*control, "-m", "immediate", "stop"], cwd="/", check=True)
            )
            stop.start()
            failing(session, ledger)
            stop.join()
        locked.close()
        away = CliRunner().invoke(app, words)
        assert "cannot be reached" in away.output
        assert str(folder) not in away.output
        assert not out.exists()
        assert len(Ledger.read(ledger).entries) == 1
        options = f"-c unix_socket_directories={folder} -c port={port} -c listen_addresses=''"
        subprocess.run([*control, "-o", options, "-l", str(folder / "log again"), "start"], cwd="/", check=True)
        try:
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, done.output
            assert Ledger.read(ledger).spent == 0.5
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], cwd="/", check=True)


@pytest.mark.parametrize(
    "given",
    [
        "host=db.example.org user=ann password={} dbname=clinic",
        "dbname=clinic password='{} x'",
        "ann:{}@db.example.org/clinic",
        "postgresql:ann:{}@db/clinic",
        "postgres:/ann:{}@db/clinic.db#visits",
        "sc:/host/;token={}",
        "Server=db;Database=x;User Id=ann;Password={}",
        "jdbc:postgresql://db/x?password={}",
        "POSTGRESQL://ann:{}@127.0.0.1:1/x#t",
        "postgresql://ann:a#{}@127.0.0.1:1/x#t",
        "postgresql://ann:%zz{}@127.0.0.1:1/x#t",
        "postgresql://ann:{}@127.0.0.1:1,127.0.0.1:2/x?sslpassword={}#t",
    ],
)
def test_what_looks_like_an_address_is_not_repeated(given, tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    address = given.replace("{}", SECRET)
    for words in (["schema"], ["check", "--schema", str(tmp_path / "s.toml"), "--json"]):
        done = CliRunner().invoke(app, [words[0], address, *words[1:]])
        assert done.exit_code == 2
        assert SECRET not in done.output
    for data in (address, [address]):
        with pytest.raises(SchemaError) as caught:
            ad.Session(data, schema=SCHEMA, epsilon=1)
        assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"


def test_files_whose_names_look_like_addresses_are_files(tmp_path):
    path = tmp_path / "user=ann.csv"
    path.write_text("short,flag\n1,true\n")
    assert open_table(path, SCHEMA).count() == 1
    assert address_name("postgresql://ann:a#b@h/clinic#visits") == "clinic.visits"
