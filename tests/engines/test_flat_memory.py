"""Memory of our own engine: flat in the rows of a stored table, and never a reason to fail."""

import duckdb
import numpy as np
import pytest

import adyton as ad
from adyton.kernel.engines import duckdb as ours
from adyton.kernel.tables import open_table

ROWS, LEVELS = 2_000_000, 20_000
NUMBERS = ad.Schema({"value": ad.Integer(0, LEVELS - 1)})
TEXTS = ad.Schema({"text": ad.Categorical([f"level {k}" for k in range(LEVELS)]), "value": ad.Integer(0, 9)})


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Random numbers, which cannot be stored in less than 4 MB."""
    path = tmp_path_factory.mktemp("stored") / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"create table made as select cast(hash(i) % {LEVELS} as integer) as value, 'level 7' as text "
            f"from range({ROWS}) made(i)"
        )
    return path


def pages(table):
    """The memory that DuckDB has for pages of stored tables."""
    connection = table._engine.backend.con
    return connection.execute("select memory_usage_bytes from duckdb_memory() where tag = 'BASE_TABLE'").fetchone()[0]


@pytest.mark.parametrize("little", [True, False])
def test_pages_are_let_go(stored, monkeypatch, little):
    if little:
        monkeypatch.setattr(ours, "PER_THREAD", 1 << 19)
    table = open_table(stored, NUMBERS)
    before = table._engine.backend.con.execute("select current_setting('memory_limit')").fetchone()
    assert table.vectorize().sum() == ROWS
    threads = int(table._engine.backend.con.execute("select current_setting('threads')").fetchone()[0])
    assert (pages(table) <= (threads + 1) * (1 << 19)) == little
    assert table._engine.backend.con.execute("select current_setting('memory_limit')").fetchone() == before


def test_what_needs_more_gets_it(stored, monkeypatch):
    plain = open_table(stored, TEXTS).vectorize()
    tries = []
    in_passing = ours.Memory.in_passing
    monkeypatch.setattr(ours, "PER_THREAD", 1 << 12)
    monkeypatch.setattr(ours.Memory, "in_passing", lambda *given: tries.append(in_passing(*given)) or tries[-1])
    assert np.array_equal(open_table(stored, TEXTS).vectorize(), plain)
    assert tries == [None]


def test_units_and_groups_are_not_limited(stored, monkeypatch):
    monkeypatch.setattr(ours.Memory, "in_passing", lambda *_: pytest.fail("limited"))
    table = open_table(stored, ad.Schema({"value": ad.Integer(0, 9)}))
    assert table.group_by("value", "rows", 5).count() == LEVELS


def test_a_connection_of_others_keeps_its_limit(stored):
    import ibis

    own = ibis.duckdb.connect(stored, read_only=True)
    own.con.execute("set memory_limit = '1GB'")
    table = open_table(own.table("made"), NUMBERS)
    assert table.vectorize().sum() == ROWS
    assert own.con.execute("select current_setting('memory_limit')").fetchone()[0] == "953.6 MiB"
    assert pages(table) > 1 << 20
