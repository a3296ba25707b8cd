"""Requests that end between a debit and their result: interrupts, failures, closed outputs. Nothing paid is lost."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton.errors import AdytonError, KernelFailure, Unfinished
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import NoisyCount
from adyton.release.pending import Measurements

SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 63),
        "sex": ad.Categorical(["F", "M"]),
        "dep": ad.Categorical(list("abc")),
        "cost": ad.Numeric(0, 100, bins=16),
        "d": ad.Integer(0, 3),
    },
    unit="id",
    rows_per_unit=3,
)
KINDS = {
    "count": lambda s: s.count(1),
    "units": lambda s: s.count_units(1, where="age > 3"),
    "identity": lambda s: s.release(ad.Histogram("age"), 1, algorithm="identity", misfits=True),
    "dawa": lambda s: s.release(ad.Ranges("age"), 1, algorithm="dawa"),
    "mwem": lambda s: s.release(ad.Ranges("age"), 1, algorithm="mwem"),
    "auto": lambda s: s.release(ad.Ranges("age"), 1),
    "rows per unit": lambda s: s.release(ad.RowsPerUnit(10), 1),
    "mean": lambda s: s.release(ad.Mean("cost", by="dep"), 1, misfits=True),
    "cdf": lambda s: s.release(ad.Quantiles("age", by="sex"), 1, algorithm="cdf"),
    "summary": lambda s: s.release(ad.Summary("cost", by="dep"), 1),
    "pairs": lambda s: s.release(ad.Marginals(way=2), 1, algorithm="select-pairs", pairs=2),
    "privbayes": lambda s: s.release(ad.Marginals(way=2), 1, algorithm="privbayes"),
    "fit": lambda s: s.fit(ad.Classifier("dep"), 1),
    "forest": lambda s: s.fit(ad.Classifier("dep", method="random-forest"), 1),
}
FIXED = {kind: kind not in ("auto", "pairs", "privbayes", "fit", "forest") for kind in KINDS}
"""Whether the number of measurements is the same whatever the noise."""


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(1)
    rows = 600
    return pd.DataFrame(
        {
            "id": random.integers(0, 200, rows),
            "age": random.integers(0, 64, rows),
            "sex": random.choice(["F", "M"], rows),
            "dep": random.choice(list("abc"), rows),
            "cost": random.random(rows) * 100,
            "d": random.integers(0, 4, rows),
        }
    )


@pytest.fixture
def session(frame):
    with ad.Session(frame, schema=SCHEMA, epsilon=100) as opened:
        yield opened


def ends(monkeypatch, after, cause):
    """Something ends requests once so many measurements were answered, before anybody sees the last of them."""
    honest, answered = Kernel.measure, []

    def measure(self, *given):
        found = honest(self, *given)
        if self._recorders.replay is None:
            answered.append(found)
            if len(answered) == after:
                raise cause
        return found

    monkeypatch.setattr(Kernel, "measure", measure)
    return answered


def measurements_of(monkeypatch, session, kind):
    """How many measurements a request takes."""
    with monkeypatch.context() as patched:
        answered = ends(patched, None, None)
        KINDS[kind](session)
    return len(answered)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_loses_no_answer(monkeypatch, session, kind):
    every = measurements_of(monkeypatch, session, kind)
    for after in {1, every}:
        before = session.spent
        with monkeypatch.context() as patched:
            ends(patched, after, KeyboardInterrupt())
            try:
                KINDS[kind](session)
            except KeyboardInterrupt as interrupt:
                assert "was charged and stays spent" in interrupt.__notes__[0]
            else:
                assert after > 1  # noise led to fewer measurements
                continue
        spent = session.spent
        bare, result = session.measurements, session.last
        assert len(bare.answers) == after
        assert bare.epsilon == spent - before > 0
        assert json.loads(json.dumps(bare.to_dict()))["measurements"]
        assert session.spent == spent
        if isinstance(result, Measurements):
            assert after < every or not FIXED[kind]  # noise may lead to one measurement more
        else:
            unfinished = getattr(result, "unfinished", None)
            assert unfinished is None or after < every or not FIXED[kind]
            assert result.epsilon * getattr(SCHEMA, "rows_per_unit") >= spent - before
        assert session.last is result or session.last is session.last


@pytest.mark.parametrize("kind", ["dawa", "cdf", "pairs", "forest"])
def test_a_replay_finds_the_same_result(monkeypatch, session, kind):
    """A request that is interrupted after its result was made: the replay makes it again."""
    made = []
    with monkeypatch.context() as patched:
        patched.setattr(type(session), "_keep", lambda self, paid: made.append(paid))
        result = KINDS[kind](session)
    again = made[0].finish()
    assert made[1] is result is not again
    assert again.to_dict() | {"receipt": None} == result.to_dict() | {"receipt": None}


@pytest.mark.parametrize("cause", [KernelFailure(), OSError(), MemoryError()])
def test_a_failure_between_two_debits_says_what_was_charged(monkeypatch, session, cause):
    for kind in ("dawa", "fit"):
        before = session.spent
        with monkeypatch.context() as patched:
            ends(patched, 1, cause)
            with pytest.raises(Unfinished, match=r"ended early .* was charged and stays spent. Measured before: ") as told:
                KINDS[kind](session)
        assert "othing was spent" not in str(told.value)
        assert isinstance(session.last, Measurements)
        assert session.last.epsilon == session.spent - before > 0


def test_a_failure_before_any_debit_leaves_nothing(session):
    session.count(1)
    with pytest.raises(ad.errors.BadInput):
        session.release(ad.Histogram("nobody"), 1)
    assert session.last is None


def test_an_interrupt_that_an_engine_swallows_is_an_interrupt(monkeypatch, session):
    def swallow(*_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("query was cancelled") from None

    monkeypatch.setattr(NoisyCount, "draw", swallow)
    with pytest.raises(KeyboardInterrupt):
        session.count(1)
    monkeypatch.undo()
    honest = NoisyCount.draw

    def ignore(*given):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return honest(*given)

    monkeypatch.setattr(NoisyCount, "draw", ignore)
    with pytest.raises(KeyboardInterrupt):
        session.count(1)
    assert session.last.epsilon == session.ledger.entries()[-1].amount / 3
    assert [entry.status for entry in session.ledger.entries()] == ["failed", "answered"]


def test_an_estimator_finishes_what_was_interrupted(monkeypatch, frame):
    made = ad.learning.PrivateNaiveBayes(schema=SCHEMA, label="dep", epsilon=3)
    with monkeypatch.context() as patched:
        every = len(answered := ends(patched, None, None)) or (made.fit(table=frame), len(answered))[1]
        answered.clear()
    with monkeypatch.context() as patched:
        ends(patched, every, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt, match=""):
            made.fit(table=frame)
    first = made.model_
    assert made.finish().model_ is not first
    with pytest.raises(ad.errors.BadInput, match="no interrupted fit"):
        made.finish()


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "s.toml").write_text(SCHEMA.to_toml())
    return folder


def command(table, *words):
    return [sys.executable, "-m", "adyton", "release", table / "t.csv", "--schema", table / "s.toml", *words]


def run(given, **streams):
    return subprocess.run(list(map(str, given)), text=True, stderr=subprocess.PIPE, check=False, timeout=120, **streams)


def test_a_closed_output_is_refused_before_anything_is_spent(table, tmp_path):
    ledger = tmp_path / "l.ledger"
    asked = command(table, "--count", "--epsilon", "1", "--ledger", ledger, "--total", "5")
    done = run(asked, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
    assert not ledger.exists()
    histogram = command(table, "--histogram", "sex", "--epsilon", "1", "--algorithm", "identity")
    done = run([*histogram, "--out", tmp_path / "out"], preexec_fn=lambda: os.close(1))
    assert done.returncode == 0, done.stderr
    assert ad.Release.load(tmp_path / "out").epsilon == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
@pytest.mark.parametrize("what", [["--count"], ["--histogram", "sex", "--algorithm", "identity"], ["--mean", "cost"]])
def test_an_output_that_takes_nothing_does_not_lose_the_answer(table, what):
    with open("/dev/full", "w") as full:
        done = run(command(table, *what, "--epsilon", "1", "--quiet"), stdout=full)
    assert done.returncode == 1
    assert "could not be printed (No space left on device)" in done.stderr
    found = json.loads(done.stderr[: done.stderr.rindex("}") + 1])
    assert found["epsilon"] == "1" or found["epsilon"] == 1


def test_nobody_reads_a_count(table):
    reader, writer = os.pipe()
    os.close(reader)
    done = run(command(table, "--count", "--epsilon", "1", "--json"), stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert json.loads(done.stderr[: done.stderr.rindex("}") + 1])["count"] > 0


def test_interrupts_of_the_command_line(monkeypatch, table, tmp_path, capsys):
    """The result is finished and saved; where it cannot be, what was measured is."""
    from typer.testing import CliRunner

    from adyton.cli.main import app

    for after, file in ((2, "release.json"), (1, "measurements.json")):
        out = tmp_path / file
        with monkeypatch.context() as patched:
            ends(patched, after, KeyboardInterrupt())
            done = CliRunner().invoke(
                app, [*map(str, command(table, "--ranges", "age", "--epsilon", "1", "--algorithm", "dawa")[3:]), "--out", str(out), "--option", "nonnegative=true"]
            )
        assert done.exit_code == 130
        assert "was charged" in done.stderr
        assert (out / file).is_file()
