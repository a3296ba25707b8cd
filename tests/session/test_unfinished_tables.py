"""Programs of several measurements that end between two of them: what was paid for is not lost."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import KernelFailure, Unfinished, UnfinishedRelease
from adyton.kernel.sources import TablesSource
from adyton.marginals.program import TablesProgram

NAMES = tuple("abcde")
SCHEMA = ad.Schema({name: ad.Integer(0, 2) for name in NAMES})
PAIRS = ad.Marginals(way=2)


@pytest.fixture(scope="module")
def frame():
    first = np.arange(600) % 3
    return pd.DataFrame({name: (first + (np.arange(600) % 7 == number)) % 3 for number, name in enumerate(NAMES)})


@pytest.fixture
def session(frame, tmp_path):
    with ad.Session(frame, schema=SCHEMA, epsilon=2, ledger=tmp_path / "l.ledger", dataset="rows") as opened:
        yield opened


def spends_the_rest(monkeypatch, frame, path):
    """Somebody else with the same ledger, who comes between the first measurement of tables and the next."""
    honest = TablesSource.measure

    def measure(*given):
        noisy = honest(*given)
        with ad.Session(frame, schema=SCHEMA, ledger=path, dataset="rows") as other:
            other.count(other.remaining)
        return noisy

    monkeypatch.setattr(TablesSource, "measure", measure)


def test_what_was_measured_before_the_budget_ran_out_is_released(monkeypatch, session, frame, tmp_path):
    spends_the_rest(monkeypatch, frame, tmp_path / "l.ledger")
    with pytest.warns(UnfinishedRelease, match=r"ended early \(.*asks for.*ε = 0\.\d+ was charged"):
        release = session.release(PAIRS, epsilon=1, algorithm="select-pairs", misfits=True)
    assert session.last is release
    assert [one.group for one in release.measured] == [(name,) for name in NAMES]
    assert release.epsilon == sum(entry.amount for entry in release.receipt.entries)
    assert release.misfits is not None
    assert release.table("a", "b").how == "independent"
    release.save(tmp_path / "out")
    again = ad.TablesRelease.load(tmp_path / "out")
    assert np.array_equal(again.unbiased("c").counts, release.unbiased("c").counts)
    assert "WARNING: the request ended early" in str(again.explain())
    assert session.spent == 2


@pytest.mark.parametrize("cause", [KernelFailure(), MemoryError(), KeyboardInterrupt()])
def test_whatever_ends_a_program_leaves_what_was_measured(monkeypatch, session, cause):
    def fail(*_):
        raise cause

    monkeypatch.setattr(TablesSource, "choose_pairs", fail)
    if isinstance(cause, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            session.release(PAIRS, epsilon=1, algorithm="select-pairs", pairs=2)
    else:
        with pytest.warns(UnfinishedRelease, match="inside the kernel" if isinstance(cause, KernelFailure) else "Mem"):
            session.release(PAIRS, epsilon=1, algorithm="select-pairs", pairs=2)
    monkeypatch.undo()
    assert {one.group for one in session.last.measured} >= {(name,) for name in NAMES}
    assert session.last.epsilon == session.spent < 1


def test_where_no_tables_are_there_yet_the_error_says_what_is(monkeypatch, session):
    def fail(*_):
        raise KernelFailure

    monkeypatch.setattr(TablesSource, "choose_parents", fail)
    with pytest.raises(Unfinished, match=r"ended early.*Measured before: .*noisy count.*: [\d,.]+ ± "):
        session.release(PAIRS, epsilon=1, algorithm="privbayes", misfits=True)
    assert len(session.last.answers) == 2
    assert session.spent == Fraction(1, 50) + Fraction(49, 50) / 20


def test_the_command_line_prints_or_writes_it_and_fails(monkeypatch, frame, tmp_path):
    def fail(*_):
        raise KernelFailure

    file = tmp_path / "t.csv"
    frame.to_csv(file, index=False)
    monkeypatch.setattr(TablesSource, "choose_pairs", fail)
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    given = ["release", str(file), "--schema", str(tmp_path / "s.toml"), "--epsilon", "1", "--marginals", "2"]
    given += ["--algorithm", "select-pairs", "--option", "pairs=2"]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out"), "--quiet"])
    assert done.exit_code == 1
    assert "ended early" in done.stderr
    assert "The release is in" in " ".join(done.stderr.split())
    assert len(ad.TablesRelease.load(tmp_path / "out").measured) >= len(NAMES)
    monkeypatch.setattr(TablesProgram, "estimate", fail)  # nothing can be made of it: it is printed
    done = CliRunner().invoke(app, [*given, "--quiet"])
    assert done.exit_code == 1
    assert len(json.loads(done.stdout)["measured"]) >= len(NAMES)
