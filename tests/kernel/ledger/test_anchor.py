"""The anchor of a ledger: never made anew from an older copy, never moved back, and asked before every debit."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_spending import TWENTIETH, change, spend

from adyton.errors import BadInput, LedgerError, LedgerMismatch
from adyton.kernel.ledger import Ledger, Terms
from adyton.kernel.ledger.tables import chain_at, linked

TERMS = Terms(1, "s")


def opened(place: object, total: object = 1) -> Ledger:
    return Ledger.open(place, total=total, dataset="visits")


def copied(source: Path, target: Path) -> None:
    """As ``sqlite3 source ".backup target"`` does it, also onto a ledger that is open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    (tmp_path / "other disk").mkdir()
    return tmp_path / "other disk" / "visits.anchor"


@pytest.fixture
def restored(path: Path, anchor: Path) -> Path:
    """A ledger of which three of four debits, and a total, were forgotten."""
    with opened(path) as ledger:
        ledger.start_anchor(anchor)
        spend(ledger, TWENTIETH, terms=TERMS)
        copied(path, path.with_name("copy"))
        for _ in range(3):
            spend(ledger, TWENTIETH, terms=TERMS)
        ledger.raise_total(2, consent="olga")
        ledger.move_anchor(anchor)
    copied(path.with_name("copy"), path)
    return path


def test_a_new_ledger_writes_its_anchor_and_moves_it(place: str, anchor: Path):
    with opened(place) as ledger:
        ledger.start_anchor(anchor)
        ledger.keep_anchor(anchor)
        assert anchor.read_text().splitlines()[0] == str(ledger.head())
        spend(ledger, TWENTIETH)
        ledger.move_anchor(anchor)
        assert anchor.read_text().splitlines()[0] == str(ledger.head())
        assert json.loads(anchor.read_text().splitlines()[1])["spent"] == "1/20"
        anchor.unlink()  # its disk is gone
        for refused in (lambda: spend(ledger, TWENTIETH), lambda: ledger.move_anchor(anchor)):
            with pytest.raises(LedgerError, match="is missing. Mount its disk"):
                refused()
        assert ledger.spent == TWENTIETH
    with opened(place) as ledger:
        for first in (False, True):  # it had one: that it is the first is not believed
            with pytest.raises(LedgerError, match="is missing.*--accept --consent WHO"):
                ledger.start_anchor(anchor, first=first)
    assert not anchor.exists()


def test_a_ledger_that_was_used_needs_a_word_for_its_first_anchor(path: Path, anchor: Path):
    with opened(path) as ledger:
        spend(ledger, TWENTIETH)
        with pytest.raises(LedgerError, match="never had an anchor, write the first: adyton ledger anchor"):
            ledger.start_anchor(anchor)
        assert not anchor.exists()
        ledger.start_anchor(anchor, first=True)
        assert [event.changed for event in ledger.report().events] == ["anchor"]
        ledger.start_anchor(anchor, first=True)  # nothing more is said of one that is there
        assert len(ledger.report().events) == 1


def test_an_old_ledger_that_was_never_used_is_not_new(path: Path, anchor: Path):
    with opened(path) as ledger:
        change(str(path), "UPDATE ledger SET created = '2020-01-01T00:00:00.000+00:00'")
        with pytest.raises(LedgerError):
            ledger.start_anchor(anchor)
    assert not anchor.exists()


def test_a_ledger_that_was_rolled_back_is_refused_and_leaves_the_anchor(restored: Path, anchor: Path):
    noted = anchor.read_text()
    words = "3 of its 4 entries are missing; 1 of its 1 events are missing; .*; ε = 0.2 was spent then, and 0.05 is now"
    with opened(restored) as ledger:
        ledger.keep_anchor(anchor)
        for refused in (
            lambda: spend(ledger, TWENTIETH),
            lambda: ledger.start_anchor(anchor),
            lambda: ledger.start_anchor(anchor, first=True),
            lambda: ledger.move_anchor(anchor),
        ):
            with pytest.raises(LedgerError, match=words):
                refused()
        assert ledger.spent == TWENTIETH
        for _ in range(4):  # as far again, on another way
            ledger.settle(Ledger.debit(opened(restored), TWENTIETH, lineage=["r"], operator="x", terms=TERMS), "failed")
        with pytest.raises(LedgerError, match="its first 4 entries are others"):
            spend(ledger, TWENTIETH)
    assert anchor.read_text() == noted


def test_a_ledger_that_is_rolled_back_while_it_is_open_spends_nothing(path: Path):
    """Also without an anchor: a process remembers what it has seen."""
    with opened(path) as ledger:
        spend(ledger, TWENTIETH)
        copied(path, path.with_name("copy"))
        spend(ledger, TWENTIETH)
        copied(path.with_name("copy"), path)
        with pytest.raises(LedgerError, match="was rolled back or replaced"):
            spend(ledger, TWENTIETH)
        assert ledger.spent == TWENTIETH


def test_somebody_consents_to_go_on_and_what_was_lost_is_debited_again(restored: Path, anchor: Path):
    with opened(restored) as ledger:
        found = ledger.accept_anchor(anchor, consent="A. Okafor")
        assert found[-1] == "ε = 0.15 is debited again"
        assert any("ε = 2 was the total then, and 1 is now" in line for line in found)
        assert (ledger.spent, ledger.entries()[-1].terms) == (Fraction(1, 5), TERMS)
        (event,) = ledger.report().events
        assert (event.changed, event.consent) == ("anchor", "A. Okafor")
        assert all(line in event.new for line in found)
        ledger.keep_anchor(anchor)
        spend(ledger, TWENTIETH, terms=TERMS)
        ledger.move_anchor(anchor)
        with pytest.raises(BadInput, match="there is nothing to accept"):
            ledger.accept_anchor(anchor, consent="A. Okafor")
        with pytest.raises(BadInput, match="consent"):
            ledger.accept_anchor(anchor, consent="")


def test_what_was_spent_from_the_restored_ledger_is_no_part_of_what_was_lost(restored: Path, anchor: Path):
    """Nobody looked at the anchor: the same budget was spent twice, and is debited twice."""
    with opened(restored) as ledger:
        spend(ledger, 3 * TWENTIETH)
        assert ledger.spent == Fraction(1, 5)
        found = ledger.accept_anchor(anchor, consent="A. Okafor")
        assert found[-1] == "ε = 0.15 is debited again"
        assert ledger.spent == Fraction(7, 20)


def test_more_than_is_left_cannot_be_debited_again(restored: Path, anchor: Path):
    noted = anchor.read_text()
    with opened(restored) as ledger:
        ledger.set_analyst("mara", part="0.9", aside=True)
        with pytest.raises(LedgerMismatch, match="forgotten debits of ε = 0.15.*only 0.05"):
            ledger.accept_anchor(anchor, consent="A. Okafor")
        assert (ledger.spent, anchor.read_text()) == (TWENTIETH, noted)


def test_going_on_without_a_lost_anchor_needs_consent(path: Path, anchor: Path):
    with opened(path) as ledger:
        ledger.start_anchor(anchor)
        anchor.unlink()
        assert ledger.accept_anchor(anchor, consent="A. Okafor") == ["the anchor is missing"]
        ledger.keep_anchor(anchor)
        spend(ledger, TWENTIETH)


def test_the_anchor_of_an_early_version_is_compared_and_written_anew(path: Path, anchor: Path):
    with opened(path) as ledger:
        spend(ledger, TWENTIETH)
        digest = linked("", ledger._read(lambda own: [chain_at(own, "entries", 1), chain_at(own, "events", 0)]))
        anchor.write_text(f"1 0 {digest}\n")
        assert ledger.start_anchor(anchor).changes is None
        assert anchor.read_text().splitlines()[0] == str(ledger.head())
        anchor.write_text(f"1 0 {'0' * 64}\n")
        with pytest.raises(LedgerError, match="its entries and events are others; what was spent then is not known"):
            ledger.start_anchor(anchor)
        ledger.accept_anchor(anchor, consent="olga")


@pytest.mark.parametrize("text", ["", "1 2", "\0", "1 0 2 " + "a" * 64 + "\n{}", "x" * 10**5])
def test_what_is_not_an_anchor_is_not_overwritten(path: Path, anchor: Path, text: str):
    anchor.write_text(text)
    with opened(path) as ledger:
        ledger.keep_anchor(anchor)
        for refused in (lambda: ledger.start_anchor(anchor), lambda: spend(ledger, TWENTIETH)):
            with pytest.raises(LedgerError, match="is not the anchor of a ledger"):
                refused()
    assert anchor.read_text() == text


def test_two_processes_move_one_anchor_forward_only(path: Path, anchor: Path):
    with opened(path) as ledger, opened(path) as other:
        ledger.start_anchor(anchor)
        spend(other, TWENTIETH)
        other.move_anchor(anchor)
        ledger.move_anchor(anchor)
        assert anchor.read_text().split()[0] == "1"


def test_data_sets_with_one_ledger_have_anchors_of_their_own(path: Path, anchor: Path):
    with opened(path) as ledger, opened(path) as other:
        ledger.start_anchor(anchor)
        other.start_anchor(anchor.with_name("second"))
        ledger.move_anchor(anchor)
        anchor.unlink()
        with pytest.raises(LedgerError, match="is missing"):
            other.start_anchor(anchor)


def test_the_anchor_of_another_ledger_is_not_overwritten(path: Path, anchor: Path):
    with opened(path) as ledger:
        ledger.start_anchor(anchor)
    shutil.copy(anchor, anchor.with_name("kept"))
    with opened(path.with_name("second")) as second, pytest.raises(LedgerError, match="was rolled back or replaced"):
        second.start_anchor(anchor)
    assert anchor.read_bytes() == anchor.with_name("kept").read_bytes()
