"""Attacks that once worked, or nearly: each must fail for good."""

import contextlib
import copy
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction as F

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import adyton as ad
from adyton.errors import BadInput, LedgerError
from adyton.kernel.budget import ROOT, Budget
from adyton.kernel.mechanisms import VectorLaplace
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.workloads import Explicit, Identity, Partition

ONE = Identity(1)
SHARP = 100


def halves(**options):
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=1, **options)
    return kernel, *kernel.root.split(Partition([0, 1]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_of_the_accounts(tmp_path):
    """A sibling of a split is free up to its sister's debt; every copy of the accounts would grant it again."""
    _, left, right = halves(ledger=tmp_path / "x.ledger")
    left.measure(ONE, 1)
    child = os.fork()
    if child == 0:
        try:
            right.measure(ONE, 1)
        except BadInput as refused:
            os._exit(0 if "another process" in str(refused) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    right.measure(ONE, 1)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_a_signal_handler_between_quote_and_commit(monkeypatch):
    """The handler runs in the same thread, so a lock that the thread already holds does not stop it."""
    kernel, left, right = halves()
    left.measure(ONE, 1)
    nested = []
    debit = kernel._debit

    def slow(*arguments):
        try:
            nested.append(right.measure(ONE, 1))
        except BadInput as refused:
            nested.append(str(refused))
        return debit(*arguments)

    monkeypatch.setattr(kernel, "_debit", slow)
    right.measure(ONE, 1)
    assert nested == ["an operator of a kernel is already under way in this thread. Wait until it has ended."]


def test_levels_that_a_collation_calls_equal(tmp_path):
    """Under NOCASE, 'a' equals 'A': a join by that equality puts one row into two cells and two disjoint parts."""
    path = tmp_path / "c.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("create table t(x varchar collate nocase)")
    connection.execute("insert into t values ('a'), ('A'), ('b'), (null)")
    connection.close()
    loose = ibis.duckdb.connect()
    loose.raw_sql("set default_collation='nocase'")
    loose.raw_sql("create table t as select * from (values ('a'), ('A'), ('b'), (null)) v(x)")
    schema = ad.Schema({"x": ad.Categorical(["a", "A"], outside="other", nulls="level")})
    for data in (path, loose.table("t")):
        kernel = ad.Kernel(data, schema=schema, epsilon=1000)
        assert kernel.root.vectorize().measure(Identity(4), SHARP).answers.tolist() == [1, 1, 1, 1]
        assert [part.count(SHARP).value for part in kernel.root.split("x")] == [1, 1, 1, 1]


def test_groups_under_a_collation():
    """'a' and 'A' are one group to a case-blind column, and which spelling stands for it is a race: group by bytes."""
    loose = ibis.duckdb.connect()
    loose.raw_sql("create table t(id bigint, x varchar collate nocase)")
    loose.raw_sql("insert into t select i % 1000, case when i % 3 = 0 then 'a' else 'A' end from range(30000) r(i)")
    schema = ad.Schema({"id": ad.Integer(0, 999), "x": ad.Categorical(["a", "A"], nulls="level")})
    kernel = ad.Kernel(loose.table("t"), schema=schema, epsilon=1000)
    groups = kernel.root.group_by("id", "x", count="n", max_count=100)
    assert groups.schema.names == ("id", "x", "n")
    assert groups.select("x").vectorize().measure(Identity(3), SHARP).answers.tolist() == [1000, 1000, 0]
    assert groups.select("n").vectorize().measure(Identity(100), SHARP).answers.sum() == 2000


def test_a_commit_that_is_interrupted_halfway():
    """Credit must never appear at a node before it has appeared above it, or it can be spent again and again."""
    budget = Budget()
    outer = budget.add_partition(budget.add_source(ROOT, 1))
    first, second = budget.add_source(outer, 1), budget.add_source(outer, 1)
    inner = budget.add_partition(first)
    left = budget.add_source(inner, 1)
    budget.commit(budget.quote(second, F(1)))
    quote = budget.quote(left, F(9, 10))
    for stop in range(len(quote.increases) + 1):
        order = []

        class Watched(list):
            """Nodes that raise once enough of them were touched."""

            def __getitem__(self, node, order=order, stop=stop):
                if len(order) == stop:
                    raise KeyboardInterrupt
                order.append(node)
                return list.__getitem__(self, node)

        trial = copy.deepcopy(budget)
        trial._nodes = Watched(trial._nodes)
        with contextlib.suppress(KeyboardInterrupt):
            trial.commit(quote)
        nodes = list(trial._nodes)
        spent = [node.spent for node in nodes]
        assert spent[inner] >= spent[left]
        assert spent[first] >= spent[inner]
        assert spent[outer] >= spent[first]


def test_a_ledger_that_is_mounted_by_itself(tmp_path, monkeypatch):
    path = tmp_path / "a"
    ad.Ledger.open(path, total=1, dataset="x").close()
    monkeypatch.setattr("adyton.kernel.ledger.file._is_mount_point", lambda found: found == str(path))
    with pytest.raises(LedgerError, match="Mount its directory"):
        ad.Ledger.open(path, total=1, dataset="x")


def test_a_transaction_left_open_by_an_interruption(tmp_path):
    with ad.Ledger.open(tmp_path / "a", total=1, dataset="x") as ledger:
        ledger._file._connected().execute("BEGIN IMMEDIATE")
        ledger.debit(F(1, 2), lineage=["x"], operator="o")
        assert ledger.spent == F(1, 2)


def test_two_interruptions_close_together(monkeypatch):
    """The second comes while the first is being dealt with; neither may carry the frames of the other along."""
    import adyton.kernel.kernel as module

    def twice(*_):
        try:
            raise KeyboardInterrupt("secret 42")
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(module, "run", twice)
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=1)
    with pytest.raises(KeyboardInterrupt) as caught:
        kernel.root.measure(Identity(2), 1)
    assert caught.value.__context__ is None
    assert kernel.spent == 1


def test_a_ledger_with_two_names(tmp_path):
    """Each name would get a write-ahead log of its own, and the budget twice."""
    first, second = tmp_path / "a", tmp_path / "b"
    ad.Ledger.open(first, total=1, dataset="x").close()
    os.link(first, second)
    for path in (first, second):
        with pytest.raises(LedgerError, match="second name"):
            ad.Ledger.open(path, total=1, dataset="x")
    second.unlink()
    ad.Ledger.open(first, total=1, dataset="x").close()


def test_bytes_that_are_no_text_in_parquet(tmp_path):
    answers = []
    for body in (b"ab", b"a\xff"):
        offsets = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
        column = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(body))
        pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
        schema = ad.Schema({"x": ad.Categorical(["a"], outside="other")})
        kernel = ad.Kernel(tmp_path / "t.parquet", schema=schema, epsilon=1000)
        answers.append(kernel.root.vectorize().measure(Identity(2), SHARP).answers.tolist())
        assert kernel.root.where("x = 'a'").count(SHARP).value == 1
        assert kernel.root.group_by("x", max_count=3).count(SHARP).value == 2
    assert answers == [[1, 1], [1, 1]]


def test_values_that_pandas_cannot_convert():
    odd = np.empty(3, object)
    odd[:] = [1, np.complex128(1 + 2j), 3 + 4j]
    columns = [
        (
            pd.Series(pd.array(["a", "\ud800", None], dtype="string[python]")),
            ad.Categorical(["a"], outside="other"),
            [1, 1],
        ),
        (pd.Series(odd, dtype=object), ad.Integer(1, 1, nulls="level"), [1, 2]),
    ]
    for series, attribute, expected in columns:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            kernel = ad.Kernel(pd.DataFrame({"x": series}), schema=ad.Schema({"x": attribute}), epsilon=1000)
            assert kernel.root.vectorize().measure(Identity(2), SHARP).answers.tolist() == expected


class Cheat(F):
    """A budget that shrinks when it is multiplied."""

    def __mul__(self, other):
        return F(1, 10**9)

    __rmul__ = __mul__


def test_a_budget_with_a_will_of_its_own():
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=1)
    kernel.root.measure(Identity(2), Cheat(1, 2))
    assert kernel.spent == F(1, 2)


def test_methods_hidden_behind_attributes():
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=1)
    queries = Explicit.from_rows([[10**6, 0], [0, 10**6]])
    object.__setattr__(queries, "sensitivity", lambda weights=None: 1)
    mechanism = VectorLaplace(Identity(2))
    object.__setattr__(mechanism, "cost", lambda epsilon: F(0))
    for ask in (
        lambda: kernel.root.measure(queries, "0.5"),
        lambda: kernel.root.map(queries),
        lambda: kernel.measure(kernel.root, mechanism, 1),
    ):
        with pytest.raises(BadInput, match="was changed after it was made"):
            ask()
    assert kernel.spent == 0


@pytest.mark.parametrize("name", ["select", "column_of", "cells"])
def test_methods_of_a_schema_cannot_be_hidden(name):
    """The kernel asks the same schema for the stability and for the counts: its answers must be the same."""
    schema = ad.Schema({"pay": ad.Integer(0, 1, outside="clamp")})
    with pytest.raises(TypeError, match="__dict__"):
        vars(schema)[name] = None
    with pytest.raises(AttributeError):
        object.__setattr__(schema, name, None)


def test_a_handle_that_changes_its_number():
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=1)

    class Shifty(VectorSource):
        """Not a handle that the kernel made."""

    root = kernel.root
    with pytest.raises(BadInput, match="needs a source of this kernel"):
        Shifty(kernel, root.facts).measure(Identity(2), 1)


def test_a_handle_whose_facts_somebody_made():
    """What a handle says of itself changes neither the charge nor what is measured: the kernel has facts of its own."""
    kernel = ad.Kernel.on_vector([1000, 7], epsilon=100, rows_per_unit=10)
    dear = kernel.root.map(Explicit.from_rows([[3, 0], [0, 3]]))
    forged = replace(dear.facts, shape=VectorShape((2,)), lineage=("nothing",), stability=0)
    answer = VectorSource(kernel, forged).measure(Identity(2), 1)
    assert answer.mapping is not None
    assert kernel.spent == 30
    assert VectorSource(kernel, forged).reduce(Partition([0, 0])).facts.stability == 30
    assert kernel.ledger.entries()[0].lineage == dear.lineage


def test_interrupting_a_release_says_what_was_charged(tmp_path):
    """Ctrl-C while the engine counts: exit code 130, one sentence, and the debit stays."""
    if not hasattr(os, "fork"):
        pytest.skip("needs POSIX signals")
    code = """
import os, signal, sys
from adyton.kernel.counting.table import PrivateTable
honest = PrivateTable.count
def count(self):
    os.kill(os.getpid(), signal.SIGINT)
    return honest(self)
PrivateTable.count = count
sys.argv = "adyton release t.csv --schema t.toml --count --epsilon 0.25 --ledger l --total 1".split()
from adyton.cli.main import main
main()
"""
    (tmp_path / "t.csv").write_text("x\n1\n")
    (tmp_path / "t.toml").write_text('[attributes.x]\ntype = "boolean"\n')
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "adyton: interrupted; ε = 0.25 was charged already and stays spent.\n"
    assert ad.Ledger.read(tmp_path / "l").spent == F(1, 4)
