"""Requests that end between a debit and their result: interrupts, failures, closed outputs. Nothing paid is lost."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction as F

import pytest
from paid_requests import FIXED, KINDS, SCHEMA, rows, written
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.errors import KernelFailure, Unfinished
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import NoisyCount
from adyton.plans.published.groups import Dawa
from adyton.result.pending import Measurements
from adyton.result.receipt import Receipt


@pytest.fixture(scope="module")
def frame():
    return rows()


@pytest.fixture
def session(frame):
    with ad.Session(frame, schema=SCHEMA, epsilon=100) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(frame):
    """For requests that begin anew whatever came before."""
    with ad.Session(frame, schema=SCHEMA, epsilon=1000) as opened:
        yield opened


def ends(monkeypatch, after, cause):
    """Something ends requests once so many measurements were answered, before anybody sees the last of them."""
    honest, answered = Kernel.measure, []

    def measure(self, *given):
        answer = honest(self, *given)
        if self._recorders.replay is None:
            answered.append(answer)
            if len(answered) == after:
                raise cause
        return answer

    monkeypatch.setattr(Kernel, "measure", measure)
    return answered


def measurements_of(monkeypatch, session, kind):
    """How many measurements a request takes."""
    with monkeypatch.context() as patched:
        answered = ends(patched, None, None)
        KINDS[kind](session)
    return len(answered)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_loses_no_answer(monkeypatch, shared, kind):
    every = measurements_of(monkeypatch, shared, kind)
    for after in {1, every}:
        before = shared.spent
        with monkeypatch.context() as patched:
            ends(patched, after, KeyboardInterrupt())
            with suppress(KeyboardInterrupt):
                KINDS[kind](shared)
        if shared.measurements is None:
            assert after > 1  # noise led to fewer measurements
            continue
        spent = shared.spent
        bare, result = shared.measurements, shared.last
        assert len(bare.answers) == after
        assert bare.epsilon == spent - before > 0
        assert json.loads(json.dumps(bare.to_dict()))["measurements"]
        assert shared.spent == spent
        if isinstance(result, Measurements):
            assert after < every or not FIXED[kind]  # noise may lead to one measurement more
        else:
            unfinished = getattr(result, "unfinished", None)
            assert unfinished is None or after < every or not FIXED[kind]
        assert shared.last is result


@pytest.mark.parametrize("kind", ["dawa", "cdf", "pairs", "forest"])
def test_a_replay_finds_the_same_result(monkeypatch, shared, kind):
    """A request that is interrupted after its result was made: the replay makes it again."""
    made = []
    with monkeypatch.context() as patched:
        patched.setattr(type(shared), "keep", lambda self, paid: made.append(paid))
        result = KINDS[kind](shared)
    again = made[0].finish()
    assert made[1] is result is not again
    assert again.to_dict() | {"receipt": None} == result.to_dict() | {"receipt": None}


def test_a_replay_is_not_compared_with_itself(monkeypatch, frame):
    """A result says if it has far fewer rows than an earlier one: of the first request there is none."""
    made = []
    with ad.Session(frame, schema=SCHEMA, epsilon=1) as session:
        monkeypatch.setattr(type(session), "keep", lambda self, paid: made.append(paid))
        result = KINDS["dawa"](session)
        assert result.earlier is made[0].finish().earlier is None


@pytest.mark.parametrize("kind", ["auto", "rows per unit", "summary", "pairs", "fit", "forest"])
def test_a_replay_needs_no_budget(monkeypatch, frame, kind):
    """All of the budget is spent when the text runs again: what it asks of the budget meanwhile is no reason to end."""
    with ad.Session(frame, schema=SCHEMA, epsilon=1) as session:
        with monkeypatch.context() as patched:
            patched.setattr(Receipt, "paid", interrupted)
            with pytest.raises(KeyboardInterrupt):
                KINDS[kind](session)
        assert session.spent > F(99, 100)
        assert not isinstance(session.last, Measurements)
        assert session.last.epsilon == session.spent


def interrupted(*given):
    """The last thing that a request does, when all was measured and computed."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("cause", [KernelFailure(), OSError(), MemoryError()])
def test_a_failure_between_two_debits_says_what_was_charged(monkeypatch, shared, cause):
    for kind in ("dawa", "privbayes", "forest"):
        before = shared.spent
        with monkeypatch.context() as patched:
            ends(patched, 1, cause)
            with pytest.raises(Unfinished, match=r"ended early .* was charged and stays spent. Measured before: "):
                KINDS[kind](shared)
        assert isinstance(shared.last, Measurements)
        assert shared.last.epsilon == shared.spent - before > 0


def test_a_plan_cannot_spend_more_than_its_request_was_given(monkeypatch, session):
    honest = Dawa.run_and_keep
    monkeypatch.setattr(Dawa, "run_and_keep", lambda self, x, workload, epsilon: honest(self, x, workload, 2 * epsilon))
    with pytest.raises(Unfinished, match=r"request was given ε = 1 in all, of which 0\.5 is spent"):
        KINDS["dawa"](session)
    assert session.spent == session.last.epsilon == F(1, 2)


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
    assert session.last.epsilon == session.ledger.entries()[-1].amount
    assert [entry.status for entry in session.ledger.entries()] == ["failed", "answered"]


def test_an_estimator_finishes_what_was_interrupted(monkeypatch, frame):
    made = ad.learning.PrivateNaiveBayes(schema=SCHEMA, label="dep", epsilon=3)
    with monkeypatch.context() as patched:
        answered = ends(patched, None, None)
        made.fit(table=frame)
    with monkeypatch.context() as patched:
        ends(patched, len(answered), KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            made.fit(table=frame)
    first = made.model_
    assert made.finish().model_ is not first
    with pytest.raises(ad.errors.BadInput, match="no interrupted fit"):
        made.finish()


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return written(tmp_path_factory.mktemp("table"))


def command(table, *words):
    return [sys.executable, "-m", "adyton", "release", table / "t.csv", "--schema", table / "s.toml", *words]


def run(given, **streams):
    return subprocess.run(list(map(str, given)), text=True, stderr=subprocess.PIPE, check=False, timeout=300, **streams)


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
@pytest.mark.parametrize(
    "what",
    [
        ["--histogram", "sex", "--algorithm", "identity"],
        ["--mean", "cost"],
        pytest.param(["--count"], marks=pytest.mark.full),  # one that nobody reads is below
    ],
)
def test_an_output_that_takes_nothing_does_not_lose_the_answer(table, what):
    with open("/dev/full", "w") as full:
        done = run(command(table, *what, "--epsilon", "1", "--quiet"), stdout=full)
    assert done.returncode == 1
    assert "could not be printed (No space left on device)" in done.stderr
    saved = json.loads(done.stderr[: done.stderr.rindex("}") + 1])
    assert saved["epsilon"]["exact"] == "1"


def test_nobody_reads_a_count(table):
    reader, writer = os.pipe()
    os.close(reader)
    done = run(command(table, "--count", "--epsilon", "1", "--json"), stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert json.loads(done.stderr[: done.stderr.rindex("}") + 1])["count"] > 0


def test_interrupts_of_the_command_line(monkeypatch, table, tmp_path):
    """The result is finished and saved; where it cannot be, what was measured is."""
    _, _, _, *given = command(table, "--ranges", "age", "--epsilon", "1", "--algorithm", "dawa", "--out")
    for after, file in ((3, "release.json"), (1, "measurements.json")):  # misfits, intervals, counts
        out = tmp_path / f"after-{after}"
        with monkeypatch.context() as patched:
            ends(patched, after, KeyboardInterrupt())
            done = CliRunner().invoke(app, [*map(str, given), str(out)])
        assert done.exit_code == 130
        assert "was charged" in done.stderr
        assert (out / file).is_file()
