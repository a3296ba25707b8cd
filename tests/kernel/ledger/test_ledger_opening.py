"""Opening a ledger: what may be given, and the words that a change of terms needs."""

from __future__ import annotations

import os
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_spending import filled, spend

from adyton.errors import BadInput, BudgetExceeded, LedgerMismatch
from adyton.kernel.ledger import Ledger, Terms


def test_two_openings_of_one_file_see_each_other(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as one, Ledger.open(path, total=1, dataset="visits") as two:
        spend(one, Fraction(3, 5))
        assert (two.spent, two.remaining) == (Fraction(3, 5), Fraction(2, 5))
        with pytest.raises(BudgetExceeded):
            spend(two, Fraction(1, 2))


def test_a_commit_waits_for_the_disk(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger, ledger._file.transaction(write=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_only_one_file_remains_after_closing(path: Path):
    filled(path)
    assert os.listdir(path.parent) == ["visits.ledger"]


@pytest.mark.parametrize("total", [0, -1, "nan", True, None, float("inf"), "a"])
def test_the_total_is_a_positive_number(path: Path, total):
    with pytest.raises(BadInput, match="total"):
        Ledger.open(path, total=total, dataset="visits")
    assert not path.exists()


@pytest.mark.parametrize("dataset", ["", None, 3, "\ud800"])
def test_the_data_set_is_a_text(path: Path, dataset):
    with pytest.raises(BadInput, match="dataset"):
        Ledger.open(path, total=1, dataset=dataset)
    assert not path.exists()


@pytest.mark.parametrize("accept", ["total", {"everything"}, None, 3])
def test_accept_holds_known_words(path: Path, accept):
    with pytest.raises(BadInput, match="accept"):
        Ledger.open(path, total=1, dataset="visits", accept=accept)


@pytest.mark.parametrize("name", ["", ":memory:", "a\0b", 3])
def test_a_path_is_the_name_of_a_file(name):
    with pytest.raises(BadInput, match="path"):
        Ledger.open(name, total=1, dataset="visits")


@pytest.mark.parametrize("name", ["a b?mode=memory#x%20.ledger", "ε.ledger", "'quoted'.ledger"])
def test_strange_file_names_are_taken_literally(tmp_path: Path, name: str):
    filled(tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert len(Ledger.read(tmp_path / name).entries) == 3


@pytest.mark.parametrize(
    ("terms", "has", "asked"),
    [
        ({"total": 2000, "dataset": "visits"}, "1000", "2000"),
        ({"total": 1000, "dataset": "wages"}, "visits", "wages"),
    ],
)
def test_other_terms_need_a_word(path: Path, terms, has: str, asked: str):
    word = "total" if has == "1000" else "dataset"
    other = "dataset" if word == "total" else "total"
    before = Ledger.read(filled(path))
    for accept in ((), {other}):
        with pytest.raises(LedgerMismatch) as refused:
            Ledger.open(path, **terms, accept=accept)
        assert has in str(refused.value)
        assert asked in str(refused.value)
        assert ("ledger raise" if word == "total" else 'accept={"dataset"}') in str(refused.value)
        assert Ledger.read(path) == before
    with Ledger.open(path, **terms, accept={word}) as ledger:
        assert {"total": ledger.total, "dataset": ledger.dataset} == terms
        spend(ledger, 1)
    (event,) = Ledger.read(path).events
    assert (event.changed, event.old, event.new, event.process) == (word, has, asked, os.getpid())
    assert datetime.fromisoformat(event.time).utcoffset() is not None
    with Ledger.open(path, **terms) as again:
        assert len(again.report().events) == 1


def test_no_word_allows_a_total_below_what_is_spent(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, Fraction(1, 2))
    before = Ledger.read(path)
    with pytest.raises(LedgerMismatch, match=r"0\.5 is spent already"):
        Ledger.open(path, total="0.49", dataset="visits", accept={"total"})
    assert Ledger.read(path) == before
    with Ledger.open(path, total="0.5", dataset="visits", accept={"total"}) as ledger:
        assert ledger.remaining == 0


def test_half_of_two_changes_is_not_made(path: Path):
    before = Ledger.read(filled(path))
    with pytest.raises(LedgerMismatch):
        Ledger.open(path, total=2000, dataset="wages", accept={"total"})
    assert Ledger.read(path) == before


def test_a_total_that_no_kernel_opens_is_not_raised_to(tmp_path):
    with Ledger.open(tmp_path / "a", total=1, dataset="visits") as ledger:
        with pytest.raises(BadInput, match="at most 1000"):
            ledger.raise_total(1001, consent="the owner")
        ledger.raise_total(1000, consent="the owner")


def test_a_check_refuses_what_opening_refuses_and_writes_nothing(tmp_path):
    path, declared = tmp_path / "visits.ledger", {"attributes": {"age": {"max": 110}}}
    terms, other = Terms.of(declared, 1), Terms.of({"attributes": {"age": {"max": 120}}}, 1)
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        Ledger.check(path, total=None, dataset="visits", terms=other)  # nothing was spent yet
        ledger.debit(Fraction(1, 2), lineage=["root"], operator="laplace", terms=terms)
    before = path.read_bytes()
    Ledger.check(path, total=1, dataset="visits", terms=terms)
    for given, words in [
        ({"terms": other}, "age: max was 110, now 120"),
        ({"total": 2}, "for a total of 2"),
        ({"dataset": "calls"}, "the data set calls"),
    ]:
        with pytest.raises(LedgerMismatch, match=words) as refused:
            Ledger.check(path, **{"total": None, "dataset": "visits", "terms": terms} | given)
        assert "accept" not in refused.value.plain
        assert str(tmp_path) not in str(refused.value)
    assert path.read_bytes() == before
