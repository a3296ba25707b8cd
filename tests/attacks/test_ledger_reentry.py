"""A signal handler runs in the thread that it interrupts, where no lock keeps it out: it must not spend in between."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import adyton as ad
from adyton.errors import AdytonError, BadInput, LedgerError
from adyton.interrupts import Terminated, deferred, termination_interrupts
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger import ledger as ledger_module
from adyton.kernel.sealed import alone, under_way
from adyton.result.pending import Pending
from adyton.result.receipt import Receipt

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of Unix")

TABLE = pd.DataFrame({"age": [34] * 100})
SCHEMA = ad.Schema({"age": ad.Integer(0, 119)})
TENTH = Fraction(1, 10)


def debit(ledger: Ledger, amount: Fraction = TENTH) -> int:
    return ledger.debit(amount, lineage=["root"], operator="laplace")


@pytest.fixture(params=["file", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path):
    with Ledger.open(tmp_path / "a" if request.param == "file" else None, total=1, dataset="visits") as opened:
        yield opened


@pytest.fixture
def in_the_middle(monkeypatch: pytest.MonkeyPatch):
    """Run something in a signal handler, once, in the middle of the next debit; what it raises is kept."""

    def arrange(work: Callable[[], object]) -> list[object]:
        outcomes: list[object] = []

        def handler(*_: object) -> None:
            try:
                outcomes.append(work())
            except AdytonError as refused:
                outcomes.append(refused)

        genuine = ledger_module.read_balance

        def read_and_interrupt(connection: sqlite3.Connection):
            account = genuine(connection)
            monkeypatch.setattr(ledger_module, "read_balance", genuine)
            signal.raise_signal(signal.SIGUSR1)
            return account

        monkeypatch.setattr(ledger_module, "read_balance", read_and_interrupt)
        signal.signal(signal.SIGUSR1, handler)
        return outcomes

    before = signal.getsignal(signal.SIGUSR1)
    yield arrange
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    "work",
    [
        lambda ledger: debit(ledger),
        lambda ledger: ledger.settle(1, "failed"),
        lambda ledger: ledger.spent,
        lambda ledger: ledger.report(),
    ],
)
def test_a_ledger_refuses_to_be_entered_again(ledger: Ledger, in_the_middle, work):
    debit(ledger)
    outcomes = in_the_middle(lambda: work(ledger))
    assert debit(ledger) == 2
    (refused,) = outcomes
    assert isinstance(refused, LedgerError)
    assert "in this thread" in str(refused)
    report = ledger.report()
    assert [entry.amount for entry in report.entries] == [TENTH, TENTH]
    assert [entry.status for entry in report.entries] == ["debited", "debited"]
    assert debit(ledger) == 3


def test_a_second_opening_of_the_same_file_is_refused_at_once(tmp_path: Path, in_the_middle):
    with (
        Ledger.open(tmp_path / "a", total=1, dataset="visits") as first,
        Ledger.open(tmp_path / "a", total=1, dataset="visits") as two,
    ):
        outcomes, start = in_the_middle(lambda: debit(two)), time.monotonic()
        debit(first)
        assert time.monotonic() - start < 15  # else it waits for itself until it gives up
        assert isinstance(outcomes[0], LedgerError)
        assert debit(two) == 2


def test_another_ledger_can_be_used_meanwhile(ledger: Ledger, tmp_path: Path, in_the_middle):
    with Ledger.open(tmp_path / "b", total=1, dataset="wages") as other:
        outcomes = in_the_middle(lambda: debit(other))
        debit(ledger)
        assert outcomes == [1]
        assert (ledger.spent, other.spent) == (TENTH, TENTH)


def test_an_interruption_in_the_middle_leaves_the_ledger_usable(ledger: Ledger, in_the_middle):
    def interrupt() -> None:
        raise KeyboardInterrupt

    in_the_middle(interrupt)
    with pytest.raises(KeyboardInterrupt):
        debit(ledger)
    assert ledger.spent == 0
    assert debit(ledger) == 1


def test_two_sessions_never_hand_out_more_than_the_total(tmp_path: Path, in_the_middle):
    with Ledger.open(tmp_path / "a", total="0.1", dataset="visits") as ledger:
        first, second = (ad.Session(TABLE, schema=SCHEMA, ledger=ledger) for _ in range(2))
        outcomes = in_the_middle(lambda: second.count("0.06"))
        first.count("0.06")
        assert isinstance(outcomes[0], BadInput | LedgerError)
        assert [entry.status for entry in ledger.entries()] == ["answered"]
        second.count("0.04")
        assert ledger.remaining == 0


def test_a_timer_that_spends_never_overspends(tmp_path: Path):
    with Ledger.open(tmp_path / "a", total="0.05", dataset="visits") as ledger:
        first, second = (ad.Session(TABLE, schema=SCHEMA, ledger=ledger) for _ in range(2))
        paid = [Fraction(0)]

        def count(session: ad.Session, amount: Fraction) -> None:
            try:
                session.count(amount)
            except AdytonError:
                return
            paid[0] += amount

        before = signal.signal(signal.SIGALRM, lambda *_: count(second, Fraction(1, 1000)))
        signal.setitimer(signal.ITIMER_REAL, 0.0013, 0.0017)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            count(first, Fraction(1, 10**6))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        assert paid[0] <= ledger.spent <= Fraction(1, 20)
        assert ledger.report().spent == ledger.spent


def test_a_handler_that_asks_in_a_replay_is_refused():
    """It would be given the answers of the request that it interrupted, and pay nothing; nor may that one pay again."""
    spent: list[Fraction] = []
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1) as session:
        kernel = session._kernel
        with kernel.recording() as recorder:
            value = kernel.root.count(TENTH).value

        def ask(*_: object) -> None:
            with pytest.raises(BadInput, match="in this thread"):
                session.count(TENTH)
            spent.append(session.spent)

        def work(_: object) -> int:
            signal.raise_signal(signal.SIGUSR1)
            return kernel.root.count(TENTH).value

        before = signal.signal(signal.SIGUSR1, ask)
        assert Pending(kernel, work, recorder).finish() == value
        signal.signal(signal.SIGUSR1, before)
        assert [session.spent] == spent == [TENTH]


def test_a_handler_that_asks_within_a_request_is_refused(monkeypatch: pytest.MonkeyPatch):
    """After its debit, the request goes on as if nothing had come; the handler has paid nothing."""
    refused: list[str] = []
    with ad.Session(TABLE, schema=SCHEMA, epsilon=1) as session:
        paid = Receipt.paid

        def ask(*_: object) -> None:
            with pytest.raises(BadInput, match="in this thread") as caught:
                session.count(TENTH)
            refused.append(str(caught.value))
            assert session.measurements is not None  # those of the request under way are kept

        def interrupted(*given: Any) -> Receipt:
            signal.raise_signal(signal.SIGUSR1)
            return paid(*given)

        before = signal.signal(signal.SIGUSR1, ask)
        monkeypatch.setattr(Receipt, "paid", interrupted)
        assert session.count(TENTH).epsilon == session.spent == TENTH
        signal.signal(signal.SIGUSR1, before)
        assert len(refused) == 1


def test_a_write_says_what_it_believes(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    debit(ledger)
    with ledger._file.transaction(write=False) as connection:
        stale = ledger_module.read_balance(connection)
    debit(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "read_balance", lambda connection: stale)
        with pytest.raises(LedgerError, match="Nothing was spent"):
            debit(ledger)
    assert (ledger.spent, len(ledger.report().entries)) == (2 * TENTH, 2)


def test_nothing_is_written_outside_a_transaction(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    genuine = ledger_module.read_balance

    def read_and_roll_back(connection: sqlite3.Connection):
        account = genuine(connection)
        connection.execute("ROLLBACK")
        return account

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "read_balance", read_and_roll_back)
        with pytest.raises(LedgerError, match="Nothing was spent"):
            debit(ledger)
    assert (ledger.spent, ledger.entries()) == (0, [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_handler_that_forks_does_not_disturb_the_transaction(tmp_path: Path, in_the_middle):
    with Ledger.open(tmp_path / "a", total=1, dataset="visits") as ledger:

        def fork() -> int:
            child = os.fork()
            if child == 0:
                os._exit(0)
            return os.waitpid(child, 0)[1]

        outcomes = in_the_middle(fork)
        assert debit(ledger) == 1
        assert outcomes == [0]
        assert debit(ledger) == 2
        assert ledger.report().spent == 2 * TENTH


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_handler_never_ends_its_parents_transaction(tmp_path: Path, in_the_middle):
    with Ledger.open(tmp_path / "a", total=1, dataset="visits") as ledger:
        reader, writer = os.pipe()
        children = []

        def fork() -> int:
            child = os.fork()
            children.append(child)
            return child or len(os.read(reader, 1))  # the child goes on once its parent has spent more

        outcomes = in_the_middle(fork)
        try:
            number = debit(ledger)
        except LedgerError:
            number = 0
        if children == [0]:
            os._exit(number)
        assert debit(ledger) == 2
        os.write(writer, b"x")
        assert os.waitpid(children[0], 0)[1] == 0
        assert (number, outcomes) == (1, children)
        assert ledger.report().spent == 2 * TENTH


def test_an_interruption_leaves_no_operator_under_way():
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    with alone():
                        pass
            except KeyboardInterrupt as interruption:
                kept = interruption
            assert not under_way(), kept
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_every_deferred_signal_is_raised():
    came = []
    others = (signal.SIGTERM, signal.SIGHUP)
    before = {kind: signal.signal(kind, lambda number, frame: came.append(number)) for kind in others}

    def work() -> None:
        with deferred():
            for number in (signal.SIGINT, *others, signal.SIGTERM):
                signal.raise_signal(number)
            assert not came

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert came == list(others)


@pytest.mark.parametrize("request_to_end", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_an_interrupt(request_to_end: str):
    with pytest.raises(Terminated), termination_interrupts():
        signal.raise_signal(getattr(signal, request_to_end))
    assert signal.getsignal(getattr(signal, request_to_end)) is signal.SIG_DFL
