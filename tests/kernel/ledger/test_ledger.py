"""The ledger alone: exact sums, refusals that change nothing, and what a reader sees."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_spending import TWENTIETH, filled, spend

from adyton.errors import BadInput, BudgetExceeded, LedgerError
from adyton.exact import STEPS
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger import file as ledger_file


@pytest.fixture(params=["file", "memory"])
def ledger(request: pytest.FixtureRequest, path: Path):
    with Ledger.open(path if request.param == "file" else None, total="1.0", dataset="visits") as opened:
        yield opened


# Spending


def test_twenty_debits_of_a_twentieth_fit_and_the_next_is_refused(ledger: Ledger):
    numbers = [spend(ledger, TWENTIETH) for _ in range(20)]
    assert numbers == list(range(1, 21))
    assert (ledger.spent, ledger.remaining, ledger.total) == (1, 0, 1)
    before = ledger.report()
    with pytest.raises(BudgetExceeded) as refused:
        spend(ledger, TWENTIETH)
    assert (refused.value.asked, refused.value.left, refused.value.total) == (TWENTIETH, 0, 1)
    way = "Open the data with a larger total, with" if ledger.path is None else "Raise the total with"
    assert f"{way} the data owner's consent" in str(refused.value)
    assert ledger.report() == before


def test_the_refusal_says_what_was_asked_what_is_left_and_what_to_do(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, Fraction(4, 5))
        with pytest.raises(BudgetExceeded) as refused:
            spend(ledger, Fraction(1, 2))
    assert str(refused.value) == (
        "this request asks for ε = 0.5, but 0.2 of 1 is left in visits.ledger. "
        "Ask for at most 0.2, or raise the total with the data owner's consent (adyton ledger raise visits.ledger "
        "--total …)."
    )


def test_the_smallest_excess_is_refused(ledger: Ledger):
    step = Fraction(1, STEPS)
    spend(ledger, 1 - step)
    with pytest.raises(BudgetExceeded):
        spend(ledger, 2 * step)
    spend(ledger, step)
    assert ledger.remaining == 0
    assert spend(ledger, 0) == 3


def test_an_entry_tells_the_whole_story(ledger: Ledger):
    start = datetime.now(UTC)
    number = ledger.debit(Fraction(1, 3), lineage=("root", "where age > 3"), operator="laplace")
    (entry,) = ledger.entries()
    assert (entry.number, entry.amount, entry.spent_after) == (number, Fraction(1, 3), Fraction(1, 3))
    assert (entry.lineage, entry.operator, entry.status) == (("root", "where age > 3"), "laplace", "debited")
    assert entry.process == os.getpid()
    moment = datetime.fromisoformat(entry.time)
    assert moment.utcoffset() is not None
    assert abs((moment - start).total_seconds()) < 60


@pytest.mark.parametrize("status", ["answered", "failed"])
def test_settling_keeps_the_debit(ledger: Ledger, status):
    first, second = spend(ledger, TWENTIETH), spend(ledger, TWENTIETH)
    ledger.settle(second, status)
    assert [entry.status for entry in ledger.entries()] == ["debited", status]
    assert ledger.spent == 2 * TWENTIETH
    with pytest.raises(BadInput, match="already settled"):
        ledger.settle(second, "failed")
    assert ledger.entries()[1].status == status
    ledger.settle(first, "failed")


@pytest.mark.parametrize("entry", [0, 2, -1, 2**70, True, "1", None, 1.0])
def test_settling_what_was_never_debited_is_refused(ledger: Ledger, entry):
    spend(ledger, TWENTIETH)
    before = ledger.report()
    with pytest.raises(BadInput):
        ledger.settle(entry, "answered")
    with pytest.raises(BadInput, match="status"):
        ledger.settle(1, "debited")
    assert ledger.report() == before


@pytest.mark.parametrize(
    "amount",
    [True, 0.5, float("nan"), float("inf"), "1/2", None, -1, Fraction(-1, 10**9), Fraction(1, 2**9000), 1j, [1]],
)
def test_a_debit_is_an_exact_number_and_never_a_refund(ledger: Ledger, amount):
    spend(ledger, TWENTIETH)
    before = ledger.report()
    with pytest.raises(BadInput):
        spend(ledger, amount)
    assert ledger.report() == before


@pytest.mark.parametrize("lineage", ["root", None, [1], ["a", ""], ["\ud800"], {"a"}])
def test_a_lineage_is_a_sequence_of_names(ledger: Ledger, lineage):
    with pytest.raises(BadInput):
        ledger.debit(TWENTIETH, lineage=lineage, operator="laplace")
    with pytest.raises(BadInput):
        ledger.debit(TWENTIETH, lineage=[], operator="\ud800")
    assert ledger.entries() == []


def test_what_lies_between_two_steps_is_rounded_up_so_that_sums_stay_short(ledger: Ledger):
    asked = [Fraction(1, 3**power + 2) for power in range(2000, 2010)] + [Fraction(1, 101), Fraction(1, 10007)]
    for amount in asked:
        spend(ledger, amount)
    debited = [entry.amount for entry in ledger.entries()]
    assert all(0 <= taken - amount < Fraction(1, STEPS) for taken, amount in zip(debited, asked, strict=True))
    assert ledger.spent.denominator.bit_length() <= STEPS.bit_length()


def test_an_interrupted_debit_is_undone(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    spend(ledger, TWENTIETH)

    def interrupt(connection, *_):
        connection.execute("UPDATE ledger SET spent = '1/1'")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("adyton.kernel.ledger.ledger.read_balance", interrupt)
        with pytest.raises(KeyboardInterrupt):
            spend(ledger, TWENTIETH)
    assert (ledger.spent, len(ledger.report().entries)) == (TWENTIETH, 1)


amounts = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=100), max_size=30)


def compare_with_oracle(ledger: Ledger, asked: list[Fraction], total: Fraction) -> list[Fraction]:
    taken: list[Fraction] = []
    for amount in asked:
        if sum(taken) + amount > total:
            with pytest.raises(BudgetExceeded):
                spend(ledger, amount)
        else:
            spend(ledger, amount)
            taken.append(amount)
    entries = ledger.entries()
    assert [entry.amount for entry in entries] == taken
    assert [entry.spent_after for entry in entries] == [sum(taken[: k + 1]) for k in range(len(taken))]
    assert (ledger.spent, ledger.remaining) == (sum(taken), total - sum(taken))
    return taken


@settings(deadline=None, max_examples=40)
@given(asked=amounts, total=st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100))
def test_random_debits_agree_with_a_list_of_fractions(asked: list[Fraction], total: Fraction):
    with Ledger.open(None, total=total, dataset="visits") as ledger:
        compare_with_oracle(ledger, asked, total)


@settings(deadline=None, max_examples=15)
@given(asked=amounts)
def test_what_was_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, asked: list[Fraction]):
    path = tmp_path_factory.mktemp("ledgers") / "visits.ledger"
    with Ledger.open(path, total=2, dataset="visits") as ledger:
        taken = compare_with_oracle(ledger, asked, Fraction(2))
    report = Ledger.read(path)
    assert [entry.amount for entry in report.entries] == taken
    with Ledger.open(path, total=2, dataset="visits") as ledger:
        assert ledger.spent == sum(taken)


# Reading


def test_reading_sees_an_open_ledger_and_changes_nothing(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, TWENTIETH)
        files = sorted(os.listdir(path.parent))
        report = Ledger.read(path)
        assert report == ledger.report()
        assert (report.path, report.dataset, report.total, report.remaining) == (
            str(path),
            "visits",
            1,
            Fraction(19, 20),
        )
        assert sorted(os.listdir(path.parent)) == files
        spend(ledger, TWENTIETH)
        assert len(Ledger.read(path).entries) == 2
    before = path.read_bytes()
    assert Ledger.read(path).spent == 2 * TWENTIETH
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["visits.ledger"]


def test_a_writer_that_comes_while_reading_makes_the_reader_start_again(path: Path, monkeypatch: pytest.MonkeyPatch):
    filled(path)
    genuine, calls = ledger_file._check_kind, []

    def check_and_disturb(connection, name):
        calls.append(name)
        if len(calls) == 1:
            with Ledger.open(path, total=1000, dataset="visits") as writer:
                spend(writer, 1)
        return genuine(connection, name)

    monkeypatch.setattr(ledger_file, "_check_kind", check_and_disturb)
    assert len(Ledger.read(path).entries) == 4
    assert len(calls) == 3


# The object


def test_a_closed_ledger_says_so(ledger: Ledger):
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        spend(ledger, TWENTIETH)
    assert "closed" in repr(ledger)
    assert "closed" in ledger._repr_html_()


def test_a_ledger_is_not_pickled_or_copied(ledger: Ledger):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Pass its path"):
            attempt(ledger)


def test_the_short_forms(path: Path):
    with Ledger.open(path, total=1, dataset="<visits>") as ledger:
        for _ in range(12):
            spend(ledger, TWENTIETH, operator="<script>")
        assert repr(ledger) == "Ledger('visits.ledger', dataset='<visits>', spent=0.6, total=1)"
        page = ledger._repr_html_()
        assert "0.4 of 1 left" in page
        assert "2 earlier entries not shown" in page
        assert page.count("&lt;script&gt;") == 10
        assert "<script>" not in page
        assert "<visits>" not in page
        path.rename(path.with_name("moved"))
        assert repr(ledger) == "Ledger('visits.ledger', not readable)"


def test_budgets_are_text_in_the_file(path: Path):
    with Ledger.open(path, total="0.1", dataset="visits") as ledger:
        ledger.debit(Fraction(1, 30), lineage=["root", "ε"], operator="laplace")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT total, spent FROM ledger").fetchall() == [("1/10", "1/30")]
    ((amount, lineage),) = connection.execute("SELECT amount, lineage FROM entries").fetchall()
    connection.close()
    assert (amount, json.loads(lineage)) == ("1/30", ["root", "ε"])
