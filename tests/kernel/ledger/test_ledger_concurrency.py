"""Many at once, forks and sudden deaths: a ledger never overspends and never forgets a debit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from adyton import drafts
from adyton.errors import BudgetExceeded, LedgerError
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.file import clear_drafts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

HAMMER = """
import sys, threading
from fractions import Fraction
from adyton.errors import BudgetExceeded
from adyton.kernel.ledger import Ledger

path, worker = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
taken = []
with Ledger.open(path, total=1, dataset="visits") as ledger:
    def run(thread):
        amount = Fraction(401 + 2 * worker + thread, 100000)
        while True:
            try:
                ledger.settle(ledger.debit(amount, lineage=[str(worker)], operator=str(thread)), "answered")
            except BudgetExceeded:
                return
            taken.append(amount)
    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print(len(taken), sum(taken, Fraction(0)))
"""


def start_together(script: str, path: Path, workers: int) -> list[str]:
    """Run *script* in so many new processes, let them begin at the same moment, and return what they print."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for worker in range(workers)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * workers
    return printed


def in_child(work: Callable[[], bool]) -> int:
    """Fork; the child exits with 0 if *work* returns True. Returns the child's process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return child


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_eight_processes_with_threads_spend_exactly_what_there_is(tmp_path: Path):
    path = tmp_path / "visits.ledger"
    claims = [line.split() for line in start_together(HAMMER, path, 8)]
    report = Ledger.read(path)
    assert sum(Fraction(claim[1]) for claim in claims) == report.spent == sum(entry.amount for entry in report.entries)
    assert sum(int(claim[0]) for claim in claims) == len(report.entries)
    assert 0 <= report.remaining < Fraction(401, 100000)
    assert {entry.status for entry in report.entries} == {"answered"}
    # of processes that end at the same moment, none may be the last, who tidies up
    Ledger.open(path, total=report.total, dataset=report.dataset).close()
    assert os.listdir(tmp_path) == ["visits.ledger"]


def test_a_draft_that_somebody_clears_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch):
    path, made = str(tmp_path / "visits.ledger"), []

    def begin_and_be_cleared(draft: Path) -> None:
        begin(draft)
        made.append(draft)
        if len(made) == 1:
            clear_drafts(path)  # as another process that opens the same ledger

    begin = drafts.begin
    monkeypatch.setattr(drafts, "begin", begin_and_be_cleared)
    Ledger.open(path, total=1, dataset="visits").close()
    assert len(made) == 2
    assert os.listdir(tmp_path) == ["visits.ledger"]


def test_a_draft_cannot_be_claimed_while_it_is_being_cleared(tmp_path: Path):
    draft = tmp_path / "draft"
    drafts.begin(draft)
    with drafts.abandoned(draft) as free, drafts.abandoned(draft) as free_for_another:
        assert (free, free_for_another) == (True, False)


CREATE = """
import sys
from fractions import Fraction
from adyton.kernel.ledger import Ledger

path, worker = sys.argv[1], sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for turn in range(25):
    with Ledger.open(f"{path}.{turn}", total=8, dataset="visits") as ledger:
        ledger.debit(Fraction(1), lineage=[worker], operator="laplace")
"""


def test_a_ledger_created_by_many_at_once_is_one_ledger(tmp_path: Path):
    path = tmp_path / "visits.ledger"
    start_together(CREATE, path, 4)
    for turn in range(25):
        report = Ledger.read(f"{path}.{turn}")
        assert sorted(entry.lineage for entry in report.entries) == [("0",), ("1",), ("2",), ("3",)]
        assert report.spent == 4
        Ledger.open(f"{path}.{turn}", total=8, dataset="visits").close()  # tidies up, where nobody was the last
    assert sorted(os.listdir(tmp_path)) == sorted(f"visits.ledger.{turn}" for turn in range(25))


@pytest.mark.parametrize("where", ["file", "memory"])
def test_threads_share_one_open_ledger(tmp_path: Path, where: str):
    taken: list[int] = []
    with Ledger.open(tmp_path / "visits.ledger" if where == "file" else None, total=1, dataset="visits") as ledger:

        def run() -> None:
            while True:
                try:
                    taken.append(ledger.debit(Fraction(1, 150), lineage=[], operator="laplace"))
                except BudgetExceeded:
                    return

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(taken) == list(range(1, 151))
        assert ledger.report().remaining == 0


def test_an_inherited_ledger_connects_again_in_the_child(tmp_path: Path):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, total=100, dataset="visits")
    ledger.debit(Fraction(1), lineage=[], operator="parent")

    def work() -> bool:
        inherited = ledger._file._connection
        for _ in range(40):
            ledger.debit(Fraction(1, 3), lineage=[], operator="child")
        return inherited is None

    children = [in_child(work) for _ in range(2)]
    for _ in range(20):
        ledger.debit(Fraction(1, 7), lineage=[], operator="parent")
    ledger.close()  # while the children are still at work
    assert [exit_code(child) for child in children] == [0, 0]
    report = Ledger.read(path)
    assert report.spent == 1 + Fraction(80, 3) + Fraction(20, 7)
    assert len({entry.process for entry in report.entries}) == 3


def test_a_thread_at_work_does_not_disturb_a_fork(tmp_path: Path):
    path = tmp_path / "visits.ledger"
    stop = threading.Event()
    with Ledger.open(path, total=10000, dataset="visits") as ledger:
        count = 0

        def run() -> None:
            nonlocal count
            while not stop.is_set():
                ledger.debit(Fraction(1), lineage=[], operator="thread")
                count += 1

        thread = threading.Thread(target=run)
        thread.start()
        codes = [
            exit_code(in_child(lambda: ledger.debit(Fraction(1, 2), lineage=[], operator="child") > 0))
            for _ in range(10)
        ]
        stop.set()
        thread.join()
        assert codes == [0] * 10
        assert ledger.report().spent == count + 5


def test_a_ledger_in_memory_is_refused_in_a_child():
    with Ledger.open(None, total=1, dataset="visits") as ledger:
        ledger.debit(Fraction(1, 2), lineage=[], operator="parent")

        def work() -> bool:
            try:
                ledger.debit(Fraction(1, 2), lineage=[], operator="child")
            except LedgerError as refused:
                return "forked" in str(refused) and "not readable" in repr(ledger)
            return False

        assert exit_code(in_child(work)) == 0
        assert ledger.spent == Fraction(1, 2)
        ledger.debit(Fraction(1, 2), lineage=[], operator="parent")


def test_a_killed_process_never_loses_a_confirmed_debit(tmp_path: Path):
    path, chance = tmp_path / "visits.ledger", random.Random(20260101)
    known: set[int] = set()
    for _ in range(30):
        reader, writer = os.pipe()

        def work(reader: int = reader, writer: int = writer) -> bool:
            os.close(reader)
            with Ledger.open(path, total=10**6, dataset="visits") as ledger:
                while True:
                    number = ledger.debit(Fraction(1, 3), lineage=["root"], operator="laplace")
                    os.write(writer, f"{number}\n".encode())

        child = in_child(work)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            first = pipe.readline()
            time.sleep(chance.uniform(0, 0.04))
            os.kill(child, signal.SIGKILL)
            rest = pipe.read()
        assert exit_code(child) == -signal.SIGKILL
        reported = {int(line) for line in (first + rest).split()}
        assert reported
        assert not reported & known
        known |= reported
        numbers = {entry.number for entry in Ledger.read(path).entries}
        assert known <= numbers
        assert len(numbers - known) <= 1
        known = numbers
    with Ledger.open(path, total=10**6, dataset="visits") as ledger:
        assert ledger.spent == Fraction(len(known), 3)
        assert ledger.debit(Fraction(1, 3), lineage=[], operator="laplace") == len(known) + 1
