"""An Ibis table is opened only if every row stays one row, by itself, the same in every run."""

from __future__ import annotations

import ibis
import pytest
from ibis.expr import operations

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.engines.databases import check_stored
from adyton.schema import Integer, Schema

G = Schema({"g": Integer(0, 9)})


@pytest.fixture(scope="module")
def connection():
    engine = ibis.duckdb.connect()
    engine.raw_sql(
        "create table t as select range as id, (range % 10)::int as g, range / 7.0::double as x, ' a' as s, "
        "date '2020-01-01' as d, true as b from range(50)"
    )
    engine.raw_sql("create view hidden as select (random() * 10)::int as g from t")
    engine.raw_sql("create table computed (id int, g int as ((random() * 10)::int))")
    return engine


@ibis.udf.scalar.python
def spy(x: int) -> int:
    return x


@ibis.udf.scalar.builtin(name="random")
def disguised() -> float: ...


IMPURE = {
    "random values": (lambda t: t.mutate(g=(ibis.random() * 10)), "ibis.random()"),
    "random rows": (lambda t: t.filter(ibis.random() < 0.5), "ibis.random()"),
    "random under a name": (lambda t: t.mutate(g=disguised()), "the function 'disguised"),
    "the clock": (lambda t: t.filter(ibis.now().year() > 2000), "ibis.now()"),
    "the day": (lambda t: t.mutate(g=ibis.today().day()), "ibis.today()"),
    "unique names": (lambda t: t.mutate(u=ibis.uuid()), "ibis.uuid()"),
    "a window": (lambda t: t.mutate(g=t.g.max().over(ibis.window())), "a window function"),
    "an aggregate beside rows": (lambda t: t.mutate(g=t.x - t.x.min()), "a window function"),
    "the number of a row": (lambda t: t.mutate(g=ibis.row_number()), "a window function"),
    "a Python function": (lambda t: t.mutate(g=spy(t.g)), "the function 'spy"),
    "a join": (lambda t: t.join(t.view(), "g").select("g"), "a join"),
    "a subquery": (lambda t: t.filter(t.g.isin(t.id)), "a subquery"),
    "an aggregation": (lambda t: t.group_by("g").agg(n=t.count()), "an aggregation"),
    "distinct rows": (lambda t: t.distinct(), "distinct()"),
    "first rows": (lambda t: t.limit(3), "limit()"),
    "a sample": (lambda t: t.sample(0.5), "sample()"),
    "rows twice": (lambda t: t.union(t), "a union"),
    "rows many times": (lambda t: t.mutate(g=ibis.array([t.g, t.g]).unnest()), "the operation Unnest"),
    "a cast that fails": (lambda t: t.mutate(g=t.s.cast("int64")), "a cast from string to int64"),
    "a cast that overflows": (lambda t: t.mutate(g=t.x.cast("int32")), "a cast from float64 to int32"),
    "integers that overflow": (lambda t: t.mutate(g=t.id * t.id), "multiply on int64, which can overflow"),
    "decimals that overflow": (lambda t: t.filter(t.id > 0.5), "greater on different types"),
    "a place beyond any text": (lambda t: t.mutate(g=t.s.substr(t.id, 1)), "differs from row to row"),
    "a root that fails": (lambda t: t.mutate(g=t.x.sqrt()), "the operation Sqrt"),
    "a text of SQL": (
        lambda t: operations.SQLQueryResult("select 1 as g", ibis.schema({"g": "int64"}), t.get_backend()).to_expr(),
        "SQL text",
    ),
    "a view": (lambda t: t.get_backend().table("hidden"), "'hidden' is a view"),
    "a view in capitals": (lambda t: t.get_backend().table("HIDDEN"), "is a view"),
    "a computed column": (lambda t: t.get_backend().table("computed"), "computed whenever they are read ('g')"),
}


@pytest.mark.parametrize("case", IMPURE)
def test_what_is_not_a_plain_view_is_refused_by_name(connection, case):
    build, words = IMPURE[case]
    with pytest.raises(SchemaError) as caught:
        open_table(build(connection.table("t")), G)
    assert words in str(caught.value)


PURE = {
    "a table": (lambda t: t, 50),
    "rows and columns": (lambda t: t.filter((t.g > 3) & t.s.notnull()).select("g", "x").drop("x"), 30),
    "other names": (lambda t: t.drop("g").rename(g="id"), 10),
    "order": (lambda t: t.order_by("g"), 50),
    "doubles": (lambda t: t.mutate(g=(t.g.cast("float64") + 1) / t.x * 0.0), 49),
    "cases": (lambda t: t.mutate(g=ibis.cases((t.b, 1), else_=0)), 50),
    "nulls": (lambda t: t.mutate(g=t.g.nullif(3).fill_null(4)).drop_null(["g"]), 50),
    "dates": (lambda t: t.mutate(g=t.d.month()), 50),
    "texts": (lambda t: t.filter(t.s.strip().upper().isin(["A"])).mutate(g=t.s.try_cast("int64")), 0),
    "parts of texts": (lambda t: t.filter(t.s.substr(1, 1) == "a"), 50),
    "bounds": (lambda t: t.mutate(g=t.id.clip(0, 9)), 50),
}


@pytest.mark.parametrize("case", PURE)
def test_plain_views_are_opened(connection, case):
    build, rows = PURE[case]
    assert open_table(build(connection.table("t")), G).vectorize().sum() == rows


def test_nothing_runs_and_nothing_is_spent(connection):
    ran = []

    @ibis.udf.scalar.python
    def tell(x: int) -> int:
        ran.append(x)
        return x

    table = connection.table("t")
    with pytest.raises(SchemaError):
        ad.Session(table.mutate(g=tell(table.g)), schema=G, epsilon=1)
    assert not ran


def test_a_view_of_a_database_file_is_refused(tmp_path):
    engine = ibis.duckdb.connect(tmp_path / "t.duckdb")
    engine.raw_sql("create table t as select 1 as g")
    engine.raw_sql("create view hidden as select (random() * 10)::int as g from t")
    engine.disconnect()
    assert open_table(f"{tmp_path / 't.duckdb'}#t", G).count() == 1
    with pytest.raises(SchemaError, match="'hidden' is a view"):
        open_table(f"{tmp_path / 't.duckdb'}#hidden", G)


def test_rows_in_memory_are_opened_as_the_frame_they_are_alone():
    frame = ibis.memtable({"x": [1, 2]})
    with pytest.raises(SchemaError, match="open the frame itself"):
        open_table(frame.filter(frame.x > 1), Schema({"x": Integer(0, 3)}))


def test_a_table_of_another_engine_is_refused():
    class Attached:
        """A DuckDB that has attached a database of SQLite."""

        def execute(self, query):
            self.rows = [("sqlite",)] if query.startswith("select type") else [(1,)] if "duckdb_tables" in query else []
            return self

        def fetchall(self):
            return self.rows

    with pytest.raises(SchemaError, match="another engine"):
        check_stored(Attached(), "visits", "lite", "main")
