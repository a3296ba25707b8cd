"""Signals at random moments, in the library and at the command line: nothing that was answered is lost.

420 in all: 14 kinds of request × 20 in the library, 7 commands × 4 signals × 5 at the command line.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from paid_requests import KINDS, SCHEMA, rows, written

import adyton as ad
from adyton.choice.checked_file import FOLDERS
from adyton.errors import AdytonError
from adyton.interrupts import termination_interrupts
from adyton.result.pending import Measurements

pytestmark = pytest.mark.full
IN_LIBRARY, AT_COMMAND_LINE = 20, 5
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
COMMANDS = {
    "count": ["release", "--count"],
    "change-points": ["release", "--histogram", "age,d", "--algorithm", "change-points"],
    "ranges": ["release", "--ranges", "age"],
    "summary": ["release", "--summary", "cost", "--by", "dep"],
    "pairs": ["release", "--marginals", "2"],
    "fit": ["fit", "--label", "dep"],
    "rows per unit": ["release", "--rows-per-unit", "10"],
}


def answered_entries(ledger, before=0):
    return {entry.number for entry in ledger.entries[before:] if entry.status == "answered"}


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_library(kind):
    moments = random.Random(kind)
    with ad.Session(rows(), schema=SCHEMA, epsilon=1000) as session:
        KINDS[kind](session)
        began = time.perf_counter()
        KINDS[kind](session)
        usual = time.perf_counter() - began
        for turn in range(IN_LIBRARY):
            before, spent = len(session.ledger.report().entries), session.spent
            which, problem = SIGNALS[turn % 3], None
            signal.signal(signal.SIGALRM, lambda *_, which=which: signal.raise_signal(which))
            with termination_interrupts():
                try:
                    signal.setitimer(signal.ITIMER_REAL, max(1e-4, moments.random() * usual * 1.1))
                    KINDS[kind](session)
                except (KeyboardInterrupt, AdytonError) as came:
                    problem = came
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            answered = answered_entries(session.ledger.report(), before)
            if problem is None:
                continue
            assert isinstance(problem, KeyboardInterrupt), problem
            bare = session.measurements
            if bare is not None:
                assert {recorded.debit.number for recorded in bare.answers} >= answered
                assert bare.epsilon == session.spent - spent
            else:
                assert session.last is not None or not answered
            result = session.last
            if isinstance(result, Measurements):
                assert {recorded.debit.number for recorded in result.answers} >= answered


def started(given):
    return subprocess.Popen(
        [sys.executable, "-m", "adyton", *map(str, given)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("kind", COMMANDS)
def test_at_the_command_line(tmp_path, kind):
    table = written(tmp_path)
    moments = random.Random(kind)
    command, *asked = COMMANDS[kind]
    given = [command, table / "t.csv", "--schema", table / "s.toml", *asked, "--epsilon", "1"]
    began = time.perf_counter()
    folder = [] if kind == "count" else ["--out", tmp_path / "usual"]
    started([*given, *folder]).communicate()
    usual = time.perf_counter() - began
    for turn in range(4 * AT_COMMAND_LINE):
        which = [*SIGNALS, signal.SIGKILL][turn % 4]
        ledger, out = tmp_path / f"{turn}.ledger", tmp_path / f"out{turn}"
        folder = [] if kind == "count" else ["--out", out]
        process = started([*given, *folder, "--ledger", ledger, "--total", "2", "--dataset", "t"])
        with suppress(subprocess.TimeoutExpired):
            process.wait(usual * (0.3 + 0.8 * moments.random()))
        process.send_signal(which)
        printed, said = process.communicate(timeout=300)
        if not ledger.exists():
            continue
        report = ad.Ledger.read(ledger)
        answered = answered_entries(report)
        assert report.spent <= report.total
        if which == signal.SIGKILL:
            started([*given, *folder, "--ledger", ledger, "--dataset", "t"]).communicate(timeout=300)
            assert not [name for name in os.listdir(tmp_path) if name.startswith(f".out{turn}.")]
            continue
        there = printed.strip() if kind == "count" else out.exists()
        if report.spent and process.returncode:
            assert "charged" in said or there, said
            assert "othing was spent" not in said
        if not answered:
            continue
        if kind == "count":
            assert printed.strip(), said
        elif (out / "measurements.json").exists():
            kept = json.loads((out / "measurements.json").read_text())["measurements"]
            assert {answer["entry"] for answer in kept} >= answered
        else:
            (file,) = [out / name for name in FOLDERS if (out / name).exists()]
            assert {entry["number"] for entry in json.loads(file.read_text())["record"]["entries"]} >= answered
