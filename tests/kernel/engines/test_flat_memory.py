"""Memory of our own engine: flat in the rows of a stored table, and never a reason to fail."""

import duckdb
import pytest

import adyton as ad
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import reader_for

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


def test_counts_of_a_stored_table(stored):
    assert open_table(stored, NUMBERS).vectorize().sum() == ROWS
    assert open_table(stored, TEXTS).select("text").vectorize()[7] == ROWS
    assert open_table(stored, ad.Schema({"value": ad.Integer(0, 9)})).group_by("value", "rows", 5).count() == LEVELS


def test_pages_are_let_go(stored):
    """However large a stored table is, its pages stay within the limit of the connection."""
    reader = reader_for(stored)
    reader._connection.execute("set memory_limit = '24MB'")
    assert sum(len(arrays[0]) for arrays in reader.batches(["value"])) == ROWS
    held = "select sum(memory_usage_bytes) from duckdb_memory()"
    assert reader._connection.execute(held).fetchone()[0] <= 24 << 20


def test_a_connection_of_others_keeps_its_limit(stored):
    import ibis

    own = ibis.duckdb.connect(stored, read_only=True)
    own.con.execute("set memory_limit = '1GB'")
    table = open_table(own.table("made"), NUMBERS)
    assert table.vectorize().sum() == ROWS
    assert own.con.execute("select current_setting('memory_limit')").fetchone()[0] == "953.6 MiB"
