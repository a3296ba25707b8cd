"""Files that are not ledgers, not any more, or cannot be written: refused plainly, and left alone."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from ledger_spending import TWENTIETH, filled, spend

from adyton.errors import LedgerError
from adyton.kernel.ledger import Ledger, store


def rewrite(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def truncated(path: Path) -> None:
    data = filled(path, 40).read_bytes()
    path.write_bytes(data[: len(data) // 2])


def scrambled(path: Path) -> None:
    data = bytearray(filled(path, 40).read_bytes())
    data[4096:] = bytes(byte ^ 0x5A for byte in data[4096:])
    path.write_bytes(data)


def foreign(path: Path) -> None:
    rewrite(path, "CREATE TABLE ledger (dataset, total, spent)")


def statement(text: str):
    def damage(path: Path) -> None:
        rewrite(filled(path), text)

    return damage


BROKEN = {
    "garbage": (lambda path: path.write_bytes(b"garbage" * 1000), "is not a ledger"),
    "short garbage": (lambda path: path.write_bytes(b"x"), "is not a ledger"),
    "zeros": (lambda path: path.write_bytes(bytes(8192)), "not a ledger"),
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "truncated": (truncated, "is damaged"),
    "scrambled": (scrambled, "is damaged"),
    "another program's": (foreign, "another program wrote it"),
    "newer": (statement("PRAGMA user_version = 6"), "Upgrade Adyton"),
    "no version": (statement("PRAGMA user_version = 0"), "is damaged"),
    "no table": (statement("DROP TABLE entries"), "is damaged"),
    "no account": (statement("DELETE FROM ledger"), "is damaged"),
    "refunded": (statement("UPDATE ledger SET spent = '0/1'"), "sum of the debits"),
    "entry removed": (statement("DELETE FROM entries WHERE number = 2"), "entry 2 is missing"),
    "last entry removed": (statement("DELETE FROM entries WHERE number = 3"), "sum of the debits"),
    "amount changed": (statement("UPDATE entries SET amount = '0/1' WHERE number = 2"), "entry 2 does not add up"),
    "negative": (statement("UPDATE entries SET amount = '-1/20' WHERE number = 2"), "not a fraction"),
    "divided by zero": (statement("UPDATE ledger SET spent = '1/0'"), "not a fraction"),
    "not text": (statement("UPDATE ledger SET spent = x'00ff'"), "not a fraction"),
    "overspent": (statement("UPDATE ledger SET total = '1/20'"), "total is not the one that was set last"),
    "bad lineage": (statement("UPDATE entries SET lineage = '{'"), "lineage of entry 1"),
    "bad status": (statement("UPDATE entries SET status = 'refunded'"), "status of entry 1"),
    "trigger": (statement("CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END"), "has a trigger"),
    "view": (statement("CREATE VIEW v AS SELECT * FROM entries"), "or a view"),
    "directory": (lambda path: path.mkdir(), "is a directory"),
    "fifo": (os.mkfifo, "not a regular file"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("way", ["open", "read"])
def test_what_is_not_a_ledger_is_refused_and_left_alone(path: Path, case: str, way: str):
    make, sentence = BROKEN[case]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    terms = {"total": 1000, "dataset": "visits", "accept": {"total", "dataset"}} if way == "open" else {}
    with pytest.raises(LedgerError, match=sentence) as refused:
        getattr(Ledger, way)(path, **terms)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None or refused.value.__suppress_context__
    assert str(path) in str(refused.value)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert os.listdir(path.parent) == ["visits.ledger"]


def test_reading_never_creates_a_file(path: Path):
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.read(path)
    assert os.listdir(path.parent) == []


def test_a_missing_directory_is_named_as_the_cause(path: Path):
    with pytest.raises(LedgerError, match="directory does not exist"):
        Ledger.open(path.parent / "nowhere" / "visits.ledger", total=1, dataset="visits")
    path.write_bytes(b"a file")
    with pytest.raises(LedgerError):
        Ledger.open(path / "visits.ledger", total=1, dataset="visits")


def test_the_log_of_a_lost_ledger_is_not_mixed_into_a_new_one(path: Path):
    left_over = path.with_name("visits.ledger-wal")
    left_over.write_bytes(b"the last debits")
    with pytest.raises(LedgerError, match="left over"):
        Ledger.open(path, total=1, dataset="visits")
    assert os.listdir(path.parent) == ["visits.ledger-wal"]
    assert left_over.read_bytes() == b"the last debits"


def test_a_file_that_cannot_be_written_is_refused_at_opening(path: Path, monkeypatch: pytest.MonkeyPatch):
    filled(path)
    genuine = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda target, **options: genuine(target.replace("mode=rw", "mode=ro"), **options)
    )
    with pytest.raises(LedgerError, match="cannot be written") as refused:
        Ledger.open(path, total=1000, dataset="visits")
    assert refused.value.__suppress_context__
    assert len(Ledger.read(path).entries) == 3


def test_a_directory_that_cannot_be_written_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch):
    genuine = os.open

    def guarded(name, flags, *rest, **options):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", name)
        return genuine(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", guarded)
    with pytest.raises(LedgerError, match="cannot be created: permission denied"):
        Ledger.open(path, total=1, dataset="visits")
    assert os.listdir(path.parent) == []


def test_a_file_system_without_hard_links_will_do(path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_links(source, target):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    filled(path)
    assert os.listdir(path.parent) == ["visits.ledger"]
    assert len(Ledger.read(path).entries) == 3


def test_a_full_disk_spends_nothing(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, TWENTIETH)
        with ledger._file.transaction(write=False) as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="disk is full"):
            ledger.debit(TWENTIETH, lineage=["root" * 5000], operator="laplace")
        assert (ledger.spent, len(ledger.entries())) == (TWENTIETH, 1)
        connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        assert spend(ledger, TWENTIETH) == 2


def test_a_ledger_held_by_another_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    filled(path)
    with Ledger.open(path, total=1000, dataset="visits") as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by another process"):
            spend(ledger, 1)
        assert len(ledger.entries()) == 3
        other.execute("ROLLBACK")
        other.close()
        assert spend(ledger, 1) == 4


def test_an_open_ledger_that_was_replaced_is_not_used(path: Path):
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, TWENTIETH)
        path.rename(path.with_name("moved"))
        with pytest.raises(LedgerError, match="does not exist"):
            spend(ledger, TWENTIETH)
        filled(path.with_name("other")).rename(path)
        with pytest.raises(LedgerError, match="was replaced"):
            spend(ledger, TWENTIETH)
    assert len(Ledger.read(path.with_name("moved")).entries) == 1


FORGETTING = (
    "CREATE TRIGGER a AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number = new.number; END",
    "CREATE TRIGGER b AFTER UPDATE OF spent ON ledger BEGIN UPDATE ledger SET spent = old.spent; END",
)


def test_what_takes_debits_back_by_itself_is_refused_also_while_a_ledger_is_open(path: Path):
    """Two triggers undo each debit within its own transaction: entries, the account and the head stay as they were."""
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        spend(ledger, TWENTIETH)
        with sqlite3.connect(path) as other:
            for trigger in FORGETTING:
                other.execute(trigger)
        other.close()
        with pytest.raises(LedgerError, match="has a trigger"):
            spend(ledger, TWENTIETH)


def test_a_copy_of_the_file_alone_has_every_debit(path: Path):
    copied = path.with_name("copy")
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        for _ in range(5):
            spend(ledger, TWENTIETH)
        shutil.copy(path, copied)
        assert Ledger.read(copied) == dataclasses.replace(ledger.report(), path=str(copied))
