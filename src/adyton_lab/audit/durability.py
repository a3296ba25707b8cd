"""Is the ledger reliable? Exactness, refusal, many processes at once, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from adyton.errors import BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.queries import Identity
from adyton_lab.audit.pairs import Finding


def audit_exactness() -> Finding:
    """Twenty debits of 0.05 make exactly 1.0, and the twenty-first changes nothing."""
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder, "a"), total=1, dataset="audit") as ledger:
        for _ in range(20):
            ledger.debit(Fraction("0.05"), lineage=("audit",), operator="debit")
        try:
            ledger.debit(Fraction("0.05"), lineage=("audit",), operator="debit")
            refused = False
        except BudgetExceeded:
            refused = True
        passed = refused and ledger.spent == 1 and len(ledger.entries()) == 20
        return Finding("ledger", "exact to the last twentieth", passed, f"spent {ledger.spent}, refused: {refused}.")


def audit_concurrency(processes: int = 4, threads: int = 2, requests: int = 25) -> Finding:
    """Many processes and threads, each asking for more than its share, together get the total and no more."""
    total = Fraction(processes * threads * requests, 200)  # every request is 1/100: the total covers half of them
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shared.ledger")
        Ledger.open(path, total=total, dataset="audit").close()
        children = [_in_child(lambda: _hammer(path, total, threads, requests)) for _ in range(processes)]
        died = [os.waitpid(child, 0)[1] for child in children]
        report = Ledger.read(path)
        amounts = sum((entry.amount for entry in report.entries), Fraction(0))
        passed = not any(died) and report.spent == amounts == total
        return Finding(
            "ledger",
            "several processes at once",
            passed,
            f"{processes}×{threads} threads got {amounts} of {total}; the ledger says {report.spent}.",
            {"entries": len(report.entries)},
        )


def audit_crashes(kills: int, seed: int = 0, advance: Callable[[], None] = lambda: None) -> Finding:
    """Kill a process at random moments of a release loop: no answer lacks its debit, and the ledger stays usable."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "crash.ledger")
        total = Fraction(1000)
        with Ledger.open(None, total=total, dataset="audit") as rehearsal:
            _one_release(rehearsal, total)  # loads all that a release needs, so kills hit the release itself
        Ledger.open(path, total=total, dataset="audit").close()
        seen = settled = 0
        for number in range(kills):
            reading, writing = os.pipe()
            child = _in_child(partial(_release_loop, path, total, writing))
            os.close(writing)
            os.read(reading, 1)  # the loop has begun
            if number % 2:
                seen += len(os.read(reading, 1))  # and has answered once, however slow the machine is
            time.sleep(chance.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with os.fdopen(reading, "rb") as answers:
                seen += len(answers.read())
            report = Ledger.read(path)
            settled = sum(entry.status == "answered" for entry in report.entries)
            if len(report.entries) < seen or report.spent < Fraction(seen, 1000):
                detail = (
                    f"after kill {number + 1}, {seen} answers were seen but {len(report.entries)} debits are recorded."
                )
                return Finding("ledger", "sudden death", False, detail, {"kills": number + 1})
            advance()
        with Ledger.open(path, total=total, dataset="audit") as ledger:
            before = ledger.spent
            _one_release(ledger, total)
            passed = ledger.spent == before + Fraction(1, 1000)
        detail = f"{kills} kills: {len(report.entries)} debits for {seen} answers seen; the ledger remains usable."
        return Finding("ledger", "sudden death", passed and seen > 0, detail, {"kills": kills, "settled": settled})


def _in_child(work: Callable[[], None]) -> int:
    """Run *work* in a forked process that ends without unwinding its parent's stack."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return child


def _hammer(path: Path, total: Fraction, threads: int, requests: int) -> None:
    def ask(ledger: Ledger) -> None:
        for _ in range(requests):
            try:
                ledger.debit(Fraction(1, 100), lineage=("audit",), operator="debit")
            except BudgetExceeded:
                return

    with Ledger.open(path, total=total, dataset="audit") as ledger:
        askers = [threading.Thread(target=ask, args=(ledger,)) for _ in range(threads)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()


def _one_release(ledger: Ledger, total: Fraction) -> None:
    kernel = Kernel.on_vector([3, 1, 4], epsilon=total, ledger=ledger, dataset="audit")
    kernel.root.measure(Identity(3), Fraction(1, 1000))


def _release_loop(path: Path, total: Fraction, writing: int) -> None:
    with Ledger.open(path, total=total, dataset="audit") as ledger:
        os.write(writing, b"!")
        while True:
            _one_release(ledger, total)
            os.write(writing, b".")
