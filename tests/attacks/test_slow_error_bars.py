"""Slow simulated runs, on a busy machine or of a slow algorithm, cost error bars and never an answer."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.result import noise_model

SCHEMA = '[attributes.age]\ntype = "integer"\nmin = 0\nmax = 15\n'


class SlowClock:
    """A clock on which every simulated run takes so many seconds; nobody has to wait for it."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.runs, simulate = 0.0, 0, noise_model.simulate

        def slow(plan, x, workload, epsilon, *, seed, trials):
            self.now += seconds * trials
            self.runs += trials
            return simulate(plan, x, workload, epsilon, seed=seed, trials=trials)

        monkeypatch.setattr(noise_model, "simulate", slow)
        monkeypatch.setattr(noise_model, "clock", lambda: (self.now, self.now))


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text("age\n" + "3\n9\n9\n" * 40)
    (tmp_path / "t.toml").write_text(SCHEMA)
    return tmp_path


def ask(folder, *words, algorithm="dawa"):
    return CliRunner().invoke(
        app, ["release", str(folder / "t.csv"), "--schema", str(folder / "t.toml"), "--histogram", "age", "--epsilon",
              "0.5", "--algorithm", algorithm, *words])  # fmt: skip


def a_release(algorithm):
    people = pd.DataFrame({"age": [3, 9, 9] * 40})
    session = ad.Session(people, schema=ad.Schema({"age": ad.Integer(0, 15)}), epsilon=1)
    return session.release(ad.Histogram("age"), "0.5", algorithm=algorithm)


@pytest.mark.parametrize(
    ("algorithm", "seconds", "confidence"),
    [("dawa", 0.3, 0.95), ("dawa", 4.0, 0.92), ("dawa", 30.0, None), ("hb", 0.1, 0.95), ("hb", 0.2, 0.9),
     ("hb", 5.0, None)],
)  # fmt: skip
def test_intervals_tell_what_the_runs_tell(monkeypatch, algorithm, seconds, confidence):
    clock = SlowClock(monkeypatch, seconds)
    interval = a_release(algorithm).interval()
    assert clock.now < 20 + 3 * seconds
    assert interval.bounded == (confidence is not None)
    assert "slow" in interval.note
    assert "slow" in str(interval)
    if interval.bounded:
        assert interval.confidence == pytest.approx(confidence, abs=0.01)
        assert f"{100 * interval.confidence:g}" in interval.meaning
        assert (interval.lower < interval.upper).all()
    else:
        assert np.isinf(interval.upper).all()


def test_a_frame_with_less_than_was_asked_for_warns(monkeypatch):
    SlowClock(monkeypatch, 4.0)
    with pytest.warns(UserWarning, match="enough for 92% and not for 95%"):
        frame = a_release("dawa").to_frame(confidence=0.95, integer=True)
    assert ((frame["lower"] <= frame["count"]) & (frame["count"] <= frame["upper"])).all()


def test_a_run_that_was_too_slow_a_moment_ago_is_not_tried_again(monkeypatch):
    clock = SlowClock(monkeypatch, 30.0)
    release = a_release("dawa")
    assert release.expected_error.runs == 2
    assert "2 runs only" in str(release.explain())
    assert not release.interval().bounded
    assert clock.runs == 2
    clock.now += 100  # later the machine may be less busy
    assert not release.interval().bounded
    assert clock.runs == 3


@pytest.mark.parametrize(("seconds", "said"), [(4.0, "92% interval"), (100.0, "No bounds")])
def test_a_slow_release_is_written_and_says_what_it_lacks(monkeypatch, table, seconds, said):
    SlowClock(monkeypatch, seconds)
    done = ask(table, "--out", str(table / "out"))
    assert done.exit_code == 0, done.output
    assert said in done.stdout + done.stderr
    assert "slow" in done.stderr
    release = ad.Release.load(table / "out")
    written = pd.read_csv(table / "out" / "estimate.csv")
    assert np.allclose(written["count"], release.estimate)
    assert "slow" in written["note"][0]
    assert ("lower" in written) == (seconds == 4.0)
    page = (table / "out" / "report.html").read_text(encoding="utf-8")
    assert "slow here" in page
    explained = CliRunner().invoke(app, ["explain", str(table / "out")]).stdout
    assert "runs only" in explained


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_without_a_folder_the_answer_is_printed(monkeypatch, table, words):
    SlowClock(monkeypatch, 100.0)
    done = ask(table, *words)
    assert done.exit_code == 0, done.output
    if words:
        assert len(json.loads(done.stdout)["estimate"]) == 16
    else:
        assert len([line for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]) == 16


@pytest.mark.parametrize("error", [MemoryError(), ValueError("odd"), ad.errors.BadInput("not for this one.")])
@pytest.mark.parametrize("words", [(), ("--json",), ("--out", "out")])
def test_error_bars_that_fail_take_nothing_with_them(monkeypatch, table, words, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.chdir(table)
    monkeypatch.setattr("adyton.result.noise_model.NoiseModel.interval", fail)
    monkeypatch.setattr("adyton.result.noise_model.NoiseModel.resampled_error", fail)
    done = ask(table, *words)
    assert done.exit_code == 0, done.output
    if words == ("--json",):
        assert json.loads(done.stdout)["expected_error"] is None
    else:
        assert "could not be" in done.stderr
        assert re.search(r"^ *15 ", done.stdout, re.MULTILINE)
    if "out" in words:
        assert ad.Release.load("out").algorithm == "dawa"
        assert len(pd.read_csv("out/estimate.csv")) == 16
        assert "unknown" in Path("out/report.html").read_text(encoding="utf-8")


def test_a_release_is_saved_from_python_whatever_its_report_does(monkeypatch, tmp_path):
    def fail(release):
        raise RuntimeError

    monkeypatch.setattr("adyton.report.page.render", fail)
    release = a_release("identity")
    with pytest.warns(UserWarning, match="The report could not be made"):
        release.save(tmp_path / "out")
    assert ad.Release.load(tmp_path / "out").to_dict() == release.to_dict()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["estimate.csv", "release.json"]


def test_a_ledger_that_cannot_be_read_after_paying_costs_no_answer(monkeypatch, tmp_path):
    people = pd.DataFrame({"age": [3, 9]})
    schema = ad.Schema({"age": ad.Integer(0, 15)})
    with ad.Session(people, schema=schema, epsilon=1, ledger=tmp_path / "a.ledger", dataset="people") as session:
        session.count("0.25")
        settle = ad.Ledger.settle

        def settle_and_break(self, *arguments):
            settle(self, *arguments)
            monkeypatch.setattr(ad.Ledger, "budget", property(broken))

        def broken(self):
            raise ad.errors.LedgerError("the disk is gone.")

        monkeypatch.setattr(ad.Ledger, "settle", settle_and_break)
        record = session.release(ad.Histogram("age"), "0.5", algorithm="identity").record
    assert [record[word]["exact"] for word in ("total", "spent", "remaining")] == ["1", "3/4", "1/4"]
    assert [(entry["number"], entry["epsilon"]["exact"]) for entry in record["entries"]] == [(2, "1/2")]
