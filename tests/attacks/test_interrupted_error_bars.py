"""Ctrl-C or a request to end, after the debit: what was paid for is in the folder, or printed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli import delivery
from adyton.cli.main import app
from adyton.interrupts import Terminated, deferred
from adyton.plans.base import Plan

EXAMPLES = Path(__file__).parents[2] / "examples"
ASK = ["release", str(EXAMPLES / "visits.csv"), "--schema", str(EXAMPLES / "visits.toml"), "--histogram", "department",
       "--epsilon", "0.5", "--total", "1", "--algorithm", "identity", "--ledger", "a.ledger"]  # fmt: skip
MOMENTS = {
    "bounds": "adyton.result.noise_model.NoiseModel.interval",
    "expected error": "adyton.result.noise_model.NoiseModel.expected_error",
    "report": "adyton.report.page.render",
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("interrupt", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_the_folder_holds_what_was_paid_for(tmp_path, monkeypatch, moment, interrupt, code):
    def interrupted(*arguments, **options):
        raise interrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MOMENTS[moment], interrupted)
    done = CliRunner().invoke(app, [*ASK, "--out", "out"])
    assert done.exit_code == code
    assert "The release is in out; ε = 0.5 was charged" in done.stderr
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    release = ad.Release.load("out")
    assert abs(release.estimate.sum() - 5000) < 400  # six draws of scale 2
    assert pd.read_csv("out/estimate.csv")["count"].tolist() == release.estimate.tolist()
    assert [path.name for path in Path().iterdir() if not path.name.startswith("a.ledger")] == ["out"]
    assert {path.name for path in Path("out").iterdir()} == {"estimate.csv", "release.json"}


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_without_a_folder_the_counts_are_printed(tmp_path, monkeypatch, words):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MOMENTS["bounds"], interrupted)
    monkeypatch.setattr(MOMENTS["expected error"], interrupted)
    done = CliRunner().invoke(app, [*ASK, *words])
    assert done.exit_code == 130
    if words:
        assert len(json.loads(done.stdout)["estimate"]) == 6
    else:
        assert "cardiology" in done.stdout
        assert "interval" not in done.stdout


def test_a_folder_that_fails_after_paying_is_printed_instead(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adyton.result.result.write_sheets", full)
    done = CliRunner().invoke(app, [*ASK, "--out", "out"])
    assert done.exit_code == 1
    assert len(json.loads(done.stdout)["estimate"]) == 6
    assert "No space left on device" in done.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize("step", ["adyton.result.result.write_sheets", "adyton.result.folder.Path.rename"])
def test_an_interrupt_does_not_hide_that_the_folder_failed(tmp_path, monkeypatch, step):
    def full(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(step, full)
    done = CliRunner().invoke(app, [*ASK, "--out", "out"])
    assert done.exit_code == 130
    hidden = [path for path in Path().iterdir() if path.name.endswith(".partial")]
    if hidden:
        assert f"{hidden[0].name}; ε = 0.5" in done.stderr
        assert ad.Release.load(hidden[0]).epsilon == 0.5
    else:
        assert "The release is printed; ε = 0.5" in done.stderr
        assert len(json.loads(done.stdout)["estimate"]) == 6


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_interrupt_while_the_counts_are_printed(tmp_path, monkeypatch, words):
    """It waits until all of them are."""

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return lines(*arguments, **options)

    name = "print_json" if words else "_lines"
    lines = getattr(delivery, name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(delivery, name, interrupted)
    done = CliRunner().invoke(app, [*ASK, *words])
    assert (done.exit_code, "The release is printed" in done.stderr) == (130, True)
    assert "eye" in done.stdout
    assert not words or json.loads(done.stdout)


def test_a_folder_that_was_taken_meanwhile_leaves_the_hidden_one(tmp_path, monkeypatch):
    """Somebody else writes into the folder between the check and the end."""

    def taken(plan, x, workload, epsilon):
        Path("out").mkdir()
        Path("out/notes.txt").touch()
        return release(plan, x, workload, epsilon)

    release = Plan.carry_out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Plan, "carry_out", taken)
    done = CliRunner().invoke(app, [*ASK, "--out", "out"])
    assert done.exit_code == 1
    hidden = next(path for path in Path().iterdir() if path.name.endswith(".partial"))
    assert hidden.name in done.stderr
    assert ad.Release.load(hidden).epsilon == 0.5


def test_interrupts_wait_until_the_block_has_ended():
    reached = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with deferred():
            os.kill(os.getpid(), signal.SIGINT)
            with deferred():
                os.kill(os.getpid(), signal.SIGINT)
            reached.append("the end")
        reached.append("beyond")
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_real_request_to_end_while_the_error_is_estimated(tmp_path):
    """A process of its own, whose error bars take for ever; it says when it has come to them."""
    program = """
import sys, time
from adyton.cli.main import main
from adyton.result.noise_model import NoiseModel

def for_ever(*arguments, **options):
    print("now", file=sys.stderr, flush=True)
    time.sleep(600)

NoiseModel.interval = for_ever
main()
"""
    here = {**os.environ, "PYTHONPATH": str(Path(ad.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", program, *ASK, "--out", "out"], cwd=tmp_path, env=here, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    assert process.stderr.readline() == "now\n"
    process.terminate()
    _, message = process.communicate(timeout=300)
    assert process.returncode == 143, message
    assert ad.Release.load(tmp_path / "out").epsilon == ad.Ledger.read(tmp_path / "a.ledger").spent


@pytest.mark.parametrize("words", [[], ["--out", "out"]])
def test_an_interrupt_between_the_answer_and_its_name(tmp_path, monkeypatch, words):
    """Ctrl-C while the receipt is written, for which the ledger is read once more."""
    from adyton.result.receipt import Receipt

    paid = Receipt.paid

    def interrupted(*arguments):
        monkeypatch.setattr(Receipt, "paid", paid)
        os.kill(os.getpid(), signal.SIGINT)
        return paid(*arguments)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Receipt, "paid", interrupted)
    done = CliRunner().invoke(app, [*ASK, *words])
    assert done.exit_code == 130
    assert "ε = 0.5 was charged for it" in done.stderr
    if words:
        assert ad.Release.load("out").epsilon == 0.5
    else:
        assert "cardiology" in done.stdout
