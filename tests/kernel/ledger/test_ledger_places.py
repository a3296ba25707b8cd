"""What holds for a ledger in a file and on a server: analysts, requests, data sets and the head."""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pandas as pd
import pytest
from ledger_spending import TWENTIETH, change, spend

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, LedgerError, LedgerMismatch
from adyton.exact import STEPS
from adyton.kernel.ledger import Head, Ledger, Limits, Terms
from adyton.kernel.ledger.tables import chain_at, linked
from adyton.session.wire import decode_result, encode_result
from earlier_ledgers import AS_FOURTH
from kernel.engines.servers import postgres_binaries

TENTH = Fraction(1, 10)
ALL = Limits(above=Fraction(0))
"""Every request waits for consent."""


def opened(place: str, total: object = 2, dataset: str = "visits", **options: object) -> Ledger:
    return Ledger.open(place, total=total, dataset=dataset, **options)


def refused(ledger: Ledger, amount: Fraction, message: str | None = None) -> BudgetExceeded:
    """The refusal of a debit, which changes nothing."""
    before = ledger.report()
    with pytest.raises(BudgetExceeded, match=message) as error:
        spend(ledger, amount)
    assert ledger.report() == before
    return error.value


def test_sums_are_exact_and_a_second_opening_sees_them(place: str):
    with opened(place, 1) as ledger, opened(place, 1) as other:
        assert [spend(ledger, TWENTIETH) for _ in range(19)] == list(range(1, 20))
        spend(other, TWENTIETH - Fraction(1, STEPS))
        refused(ledger, Fraction(2, STEPS))
        assert spend(other, Fraction(1, STEPS)) == 21
        assert (ledger.spent, ledger.remaining) == (1, 0)
        ledger.settle(3, "failed")
        with pytest.raises(BadInput, match="already settled"):
            other.settle(3, "answered")
        assert Ledger.read(place) == ledger.report()
    with pytest.raises(LedgerError, match="was closed"):
        spend(ledger, TWENTIETH)
    with opened(place, 1) as ledger:
        assert (ledger.spent, len(ledger.entries())) == (1, 21)


def test_another_total_or_data_set_needs_a_word(place: str):
    with opened(place, 1) as ledger:
        spend(ledger, TENTH)
    before = Ledger.read(place)
    for wrong in ({"total": 3}, {"dataset": "wages"}, {"total": "0.05", "accept": {"total"}}):
        with pytest.raises(LedgerMismatch):
            opened(place, **{"total": 1, **wrong})
        assert Ledger.read(place) == before
    with opened(place, 3, "wages", accept={"total", "dataset"}) as ledger:
        ledger.raise_total(4, consent="the owner")
        assert [event.changed for event in ledger.report().events] == ["total", "dataset", "total"]
        assert ledger.entries()[0].dataset == "wages"


def test_nothing_is_made_by_looking(place: str):
    assert not Ledger.exists(place)
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.read(place)
    assert not Ledger.exists(place)
    opened(place).close()
    assert Ledger.exists(place)


# ---- analysts --------------------------------------------------------------------------------------------------------


def test_a_part_bounds_one_analyst_and_binds_nobody_else(place: str):
    with opened(place, 1) as ledger:
        ledger.set_analyst("mara", part=TENTH)
        with ledger.on_behalf("mara"):
            spend(ledger, TWENTIETH)
            assert (ledger.budget.total, ledger.budget.spent, ledger.remaining) == (TENTH, TWENTIETH, TWENTIETH)
            error = refused(ledger, TENTH, "0.05 is left for mara. Ask for at most 0.05, or ask the curator")
            assert (error.left, error.total) == (TWENTIETH, TENTH)
            assert "ledger raise" not in str(error)
        assert ledger.analyst is None
        spend(ledger, 1 - TWENTIETH - Fraction(1, 100))
        with ledger.on_behalf("mara"):
            refused(ledger, TWENTIETH, "0.01 is left for mara")
        assert [entry.analyst for entry in ledger.entries()] == ["mara", None]
        (mara,) = ledger.analysts()
        assert mara.spent == TWENTIETH


def test_nobody_spends_what_is_set_aside_for_another(place: str):
    with opened(place) as ledger:
        ledger.set_analyst("mara", part=1, aside=True)
        ledger.set_analyst("ben")
        spend(ledger, Fraction(1, 2))
        with ledger.on_behalf("ben"):
            refused(ledger, Fraction(3, 5), "0.5 is left for ben")
            spend(ledger, Fraction(1, 2))
        assert (ledger.remaining, ledger.spent) == (0, 1)
        refused(ledger, Fraction(1, STEPS))
        with ledger.on_behalf("mara"):
            spend(ledger, 1)
            refused(ledger, Fraction(1, STEPS))
        assert ledger.spent == 2


def test_no_more_is_set_aside_than_is_left(place: str):
    with opened(place) as ledger:
        spend(ledger, Fraction(1, 2))
        ledger.set_analyst("mara", part=1, aside=True)
        with ledger.on_behalf("mara"):
            spend(ledger, Fraction(3, 4))
        before = ledger.report()
        for wrong in ({"name": "ben", "part": "0.6"}, {"name": "mara", "part": "1.6"}, {"name": "mara", "part": "0.7"}):
            with pytest.raises(LedgerMismatch, match=r"at most (0|1)\.5|at least as much"):
                ledger.set_analyst(**wrong, aside=True)
        with pytest.raises(LedgerMismatch, match="set aside for analysts"):
            opened(place, "1.4", accept={"total"})
        assert ledger.report() == before
        ledger.set_analyst("ben", part="0.5", aside=True)
        assert ledger.remaining == 0
        ledger.set_analyst("ben", part="0.5", aside=True)
        ledger.set_analyst("ben", part=0, consent="olga")
        assert ledger.remaining == Fraction(1, 2)
        events = [(event.old, event.new, event.consent) for event in ledger.report().events]
        assert events[1:] == [
            ("ben: not an analyst", "ben: a part of 0.5, set aside", None),
            ("ben: a part of 0.5, set aside", "ben: a part of 0", "olga"),
        ]


def test_who_is_unknown_or_late_spends_nothing(place: str):
    today = datetime.now(UTC).date()
    with opened(place) as ledger:
        with pytest.raises(BadInput, match="no analyst 'mara'"), ledger.on_behalf("mara"):
            pass
        ledger.set_analyst("mara", expires=today - timedelta(days=1))
        ledger.set_analyst("ben", expires=(today + timedelta(days=1)).isoformat())
        with ledger.on_behalf("mara"):
            assert ledger.remaining == 0
            for amount in (TENTH, 0):
                refused(ledger, Fraction(amount), "the budget of mara expired")
        with ledger.on_behalf("ben"):
            spend(ledger, TENTH)


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": "a:b"}, {"part": -1}, {"part": "x"}, {"aside": True}, {"aside": 1}, {"expires": "soon"}],
)
def test_what_an_analyst_cannot_have(path, wrong):
    with opened(path) as ledger:
        with pytest.raises(BadInput):
            ledger.set_analyst(**{"name": "mara", **wrong})
        assert ledger.analysts() == ()


@pytest.mark.parametrize("seed", range(4))
def test_random_debits_and_parts_agree_with_sums_of_fractions(place: str, seed: int):
    chance, names = random.Random(seed), [None, "a", "b", "c"]
    total, parts, aside = Fraction(3), {}, set()
    spent = dict.fromkeys(names, Fraction(0))
    with opened(place, total) as ledger:
        for turn in range(40):
            who, amount = chance.choice(names), Fraction(chance.randrange(60), 100)
            if turn < 3 or (who and chance.random() < 0.2):
                who = who or "a"
                part = None if chance.random() < 0.3 else Fraction(chance.randrange(200), 100)
                alone = part is not None and chance.random() < 0.5
                others = (aside - {who}) | ({who} if alone else set())
                promised = sum(max(Fraction(0), {**parts, who: part}[name] - spent[name]) for name in others)
                fits = sum(spent.values()) + promised <= total and not (alone and part < spent[who])
                if fits:
                    ledger.set_analyst(who, part=part, aside=alone)
                    parts[who], aside = part, others
                else:
                    with pytest.raises(LedgerMismatch):
                        ledger.set_analyst(who, part=part, aside=alone)
                continue
            if who is not None and who not in parts:
                continue
            rest = max(Fraction(0), parts[who] - spent[who]) if parts.get(who) is not None else total
            common = total - sum(spent.values()) - sum(max(Fraction(0), parts[name] - spent[name]) for name in aside)
            left = rest if who in aside else min(rest, common)
            with ledger.on_behalf(who):
                assert ledger.remaining == left
                if amount <= left:
                    spend(ledger, amount)
                    spent[who] += amount
                else:
                    with pytest.raises(BudgetExceeded):
                        spend(ledger, amount)
        assert ledger.report().spent == sum(spent.values()) <= total
        assert {own.name: own.spent for own in ledger.analysts()} == {name: spent[name] for name in parts}


# ---- requests --------------------------------------------------------------------------------------------------------


def test_a_request_is_stored_once_and_answered_once(place: str):
    with opened(place) as ledger, opened(place) as other:
        ledger.set_analyst("mara")
        first, new = ledger.begin_request("mara", "r-1", body='{"task": "count"}')
        assert (new, first.status, first.dataset) == (True, "begun", "visits")
        assert other.begin_request("mara", "r-1", body='{"task": "count"}') == (first, False)
        with pytest.raises(BadInput, match="another request"):
            other.begin_request("mara", "r-1", body='{"task": "mean"}')
        assert other.begin_request(None, "r-1", body="the curator's")[1]
        done = ledger.finish_request("mara", "r-1", "done", "the result")
        assert other.finish_request("mara", "r-1", "ended", "another") == done == other.request("mara", "r-1")
        assert (done.result, done.finished) == ("the result", True)
        assert other.request("mara", "r-2") is None
        listed = [(stored.analyst, stored.id, stored.status, stored.result) for stored in ledger.requests()]
        assert sorted(listed, key=str) == [("mara", "r-1", "done", None), (None, "r-1", "begun", None)]
        for wrong in ("", "a b", "x" * 65, "é", None):
            with pytest.raises(BadInput, match="id of a request"):
                ledger.begin_request("mara", wrong, body="{}")
        with pytest.raises(BadInput, match="no analyst"):
            ledger.begin_request("ben", "r-1", body="{}")


EMPTY = hashlib.sha256(b"{}").hexdigest()


def test_consent_comes_before_any_debit(place: str):
    with opened(place) as ledger:
        ledger.set_analyst("mara")
        for name in ("yes", "no"):
            ledger.begin_request("mara", name, body="{}", limits=ALL)
            with ledger.on_behalf("mara", name), pytest.raises(BadInput, match="is waiting, not begun"):
                spend(ledger, TENTH)
        assert ledger.consent_request("mara", "yes", digest=EMPTY, grant=True, word="olga").status == "begun"
        refused = ledger.consent_request("mara", "no", digest=EMPTY, grant=False, word="olga: too dear")
        assert refused.note == "olga: too dear"
        with pytest.raises(BadInput, match="does not wait"):
            ledger.consent_request("mara", "no", digest=EMPTY, grant=True, word="olga")
        for name, fine in (("yes", True), ("no", False), ("none", False)):
            with ledger.on_behalf("mara", name):
                if fine:
                    spend(ledger, TENTH)
                else:
                    with pytest.raises(BadInput, match="not begun|no request"):
                        spend(ledger, TENTH)
        assert [(event.changed, event.consent) for event in ledger.report().events[1:]] == [
            ("request", "olga"),
            ("request", "olga: too dear"),
        ]
        with pytest.raises(BadInput, match="not refused"):
            ledger.finish_request("mara", "yes", "refused")


def test_answers_are_stored_with_their_debits(place: str):
    with opened(place) as ledger:
        ledger.set_analyst("mara")
        ledger.begin_request("mara", "r", body="{}")
        ledger.begin_request(None, "r", body="{}")
        with ledger.on_behalf("mara", "r", lambda answer: f"<{answer}>"):
            ledger.settle(spend(ledger, TENTH), "answered", "ε = 1")
            ledger.settle(spend(ledger, TENTH), "failed", "never")
            spend(ledger, TENTH)
        with ledger.on_behalf(None, "r", lambda answer: answer / 0):
            ledger.settle(spend(ledger, TENTH), "answered", 7)
        with ledger.on_behalf("mara"):
            ledger.settle(spend(ledger, TENTH), "answered", "without a request")
        answers = ledger.answers("mara", "r")
        assert [(entry.number, entry.status, text) for entry, text in answers] == [
            (1, "answered", "<ε = 1>"),
            (2, "failed", None),
            (3, "debited", None),
        ]
        assert [(entry.number, entry.status, text) for entry, text in ledger.answers(None, "r")] == [
            (4, "answered", None)
        ]
        assert ledger.answers("mara", "other") == ()


def test_a_session_on_behalf_of_an_analyst(place: str):
    rows, schema = pd.DataFrame({"age": [34, 51, 77]}), ad.Schema({"age": ad.Integer(0, 119)})
    with (
        opened(place) as ledger,
        ad.Session(rows, schema=schema, epsilon=2, ledger=ledger, dataset="visits") as session,
    ):
        ledger.set_analyst("mara", part=TENTH)
        ledger.begin_request("mara", "r", body="{}")
        with ledger.on_behalf("mara", "r", encode_result):
            released = session.count(TWENTIETH)
            assert (released.receipt.total, released.receipt.spent) == (TENTH, TWENTIETH)
            with pytest.raises(BudgetExceeded, match="is left for mara"):
                session.count(TENTH)
        ((_, text),) = ledger.answers("mara", "r")
        assert decode_result(text).answers.tolist() == [released.value]
        assert session.remaining == 2 - TWENTIETH


# ---- data sets -------------------------------------------------------------------------------------------------------


def test_several_data_sets_share_one_total_and_keep_their_own_terms(place: str):
    visits, labs = Terms(1, "schema of visits", "patient"), Terms(3, "schema of labs", "patient", "who")
    with opened(place, 1) as one:
        one.debit(Fraction(1, 2), lineage=["visits"], operator="laplace", terms=visits)
        with pytest.raises(LedgerMismatch, match="add dataset"):
            opened(place, 1, "labs")
        with opened(place, 1, "labs", accept={"add dataset"}) as two:
            assert two.terms is None
            two.debit(TENTH, lineage=["labs"], operator="laplace", terms=labs)
            assert (two.terms, one.terms, one.spent, two.dataset) == (labs, visits, Fraction(3, 5), "labs")
            refused(two, Fraction(1, 2))
            wider = Terms(2, "schema of labs", "patient")
            two.agree(wider, accept={"unit", "rows_per_unit", "schema"})
            # an answer for units of another column counts for each of two rows twice; visits are as before
            assert two.spent == Fraction(1, 2) + 4 * TENTH
            assert one.terms == visits
    report = Ledger.read(place)
    assert [entry.dataset for entry in report.entries] == ["visits", "labs", "labs"]
    assert [(further.name, further.terms) for further in report.further] == [("labs", wider)]
    assert [(event.changed, event.dataset) for event in report.events] == [
        ("data sets", None),
        ("unit", "labs"),
        ("rows_per_unit", "labs"),
    ]
    with opened(place, 1, "labs") as again:
        assert again.remaining == TENTH
    with pytest.raises(LedgerMismatch):
        opened(place, 1, "wages", accept={"dataset"})


# ---- the head --------------------------------------------------------------------------------------------------------


def test_a_head_shows_a_ledger_that_was_rolled_back(path):
    with opened(path) as ledger:
        spend(ledger, TENTH)
        ledger.set_analyst("mara")
        heads = [ledger.head()]
        shutil.copy(path, path.with_name("old"))
        spend(ledger, TENTH)
        heads.append(ledger.head())
        ledger.set_analyst("mara", part=1)
        heads.append(ledger.head())
        for head in heads:
            ledger.check_head(head)
            ledger.check_head(f"{head}\n")
            assert Head.parse(str(head)) == head
    for number, head in enumerate(heads):
        with opened(path.with_name("old")) as old:
            if number:
                with pytest.raises(LedgerError, match="was rolled back or replaced"):
                    old.check_head(head)
            else:
                old.check_head(head)
    with opened(path.with_name("old")) as forked:  # as far again, on another way
        spend(forked, TENTH)
        with pytest.raises(LedgerError, match="was rolled back or replaced"):
            forked.check_head(heads[1])


def beside(tool: str) -> str:
    """A tool of the server that runs, beside its own programs."""
    return str((postgres_binaries() / "initdb").resolve().with_name(tool))


def test_a_restored_copy_goes_on_and_an_old_one_is_found(place: str, ledger_server, tmp_path):
    with opened(place) as ledger:
        spend(ledger, TENTH)
        early = ledger.head()
        if "://" in place:
            folder, port = ledger_server
            schema = place.rpartition("=")[2]
            tool = [beside("pg_dump"), "-h", str(folder), "-p", str(port), "-U", "adyton"]
            dump = subprocess.run([*tool, f"--schema={schema}", "postgres"], check=True, capture_output=True).stdout
        else:
            with closing(sqlite3.connect(place)) as own, closing(sqlite3.connect(tmp_path / "copy")) as copy:
                own.backup(copy)
        spend(ledger, TENTH)
        late = ledger.head()
    if "://" in place:
        change(place, f"DROP SCHEMA {schema} CASCADE")
        tool = [beside("psql"), "-h", str(folder), "-p", str(port), "-U", "adyton", "postgres"]
        subprocess.run([*tool, "-v", "ON_ERROR_STOP=1"], input=dump, check=True, capture_output=True)
    else:
        shutil.copy(tmp_path / "copy", place)
    with opened(place) as restored:
        restored.check_head(early)
        with pytest.raises(LedgerError, match="was rolled back"):
            restored.check_head(late)
        assert spend(restored, TENTH) == 2


def test_a_new_ledger_has_another_head(place: str, tmp_path):
    with opened(place) as ledger, opened(tmp_path / "other") as other:
        head = ledger.head()
        assert head[:2] == (0, 0)
        with pytest.raises(LedgerError, match="replaced"):
            other.check_head(head)
        for wrong in ("", "1 2", "1 2 x", None, "-1 0 " + "a" * 64):
            with pytest.raises((BadInput, LedgerError, TypeError)):
                Head.parse(wrong)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE entries SET operator = 'another' WHERE number = 1", "entry 1 is not as it was written"),
        ("UPDATE entries SET analyst = NULL WHERE number = 2", "debits of an analyst"),
        ("UPDATE entries SET status = 'failed' WHERE number = 2", "the debit 2 is not as it was written"),
        ("UPDATE entries SET status = 'answered' WHERE number = 1", "the debit 1 is not as it was written"),
        ("UPDATE entries SET judged = '{}' WHERE number = 1", "the terms of entry 1|the debit 1 is not as it"),
        ("UPDATE events SET consent = 'everybody' WHERE number = 1", "event 1 is not as it was written"),
        ("UPDATE analysts SET part = '2/1' WHERE name = 'mara'", "what an analyst may spend"),
        ("UPDATE analysts SET spent = '0/1' WHERE name = 'mara'", "debits of an analyst"),
        ("DELETE FROM entries WHERE number = 1", "entry 1 is missing"),
        ("UPDATE ledger SET spent = '0/1'", "sum of the debits"),
        ("UPDATE ledger SET total = '9/1'", "the total is not the one that was set last"),
        ("DELETE FROM ledger", "account is missing"),
        ("DELETE FROM datasets", "is damaged"),
        ("UPDATE datasets SET name = 'wages'", "the data set 1 is not as it was written"),
        ("UPDATE terms SET value = '1' WHERE part = 'rows_per_unit'", "the terms 1:rows_per_unit is not as it was"),
        ("DELETE FROM terms WHERE part = 'declared'", "the terms 1:declared is missing"),
        ("UPDATE requests SET status = 'begun' WHERE id = 'waits'", "the request mara:waits is not as it was written"),
        ("UPDATE requests SET body = 'another' WHERE id = 'waits'", "the request mara:waits is not as it was written"),
        ("DELETE FROM requests WHERE id = 'waits'", "the request mara:waits is missing"),
        ("INSERT INTO answers VALUES (3, '[]')", "an answer without a debit"),
        ("UPDATE changes SET value = '9/1' WHERE what = 'total'", "change 2 is not as it was written"),
        ("DELETE FROM changes WHERE number > 4", "is missing|not as it was written"),
    ],
)
def test_what_was_changed_behind_its_back_is_found(place: str, statement: str, sentence: str):
    with opened(place) as ledger:
        ledger.set_analyst("mara", part=1)
        spend(ledger, TENTH, terms=Terms(2, "s", declared="{}"))
        ledger.begin_request("mara", "waits", body="{}", limits=ALL)
        ledger.begin_request("mara", "done", body="{}")
        with ledger.on_behalf("mara", "done", str):
            ledger.settle(spend(ledger, TENTH, terms=Terms(2, "s", declared="{}")), "answered", [1])
        ledger.finish_request("mara", "done", "done", "a result")
        head = ledger.head()
        ledger.check_head(head)
        change(place, statement)
        with pytest.raises(LedgerError, match=sentence):
            ledger.check_head(head)
        with pytest.raises(LedgerError, match=sentence):
            Ledger.read(place)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE answers SET answer = '[9]'", "the debit 1 is not as it was written"),
        ("DELETE FROM answers", "the debit 1 is not as it was written"),
        ("UPDATE requests SET result = 'forged'", "the request :r is not as it was written"),
    ],
)
def test_stored_answers_are_compared_when_they_are_used_and_by_a_head(place: str, statement: str, sentence: str):
    """A report reads none of them: they may be long."""
    with opened(place) as ledger:
        ledger.begin_request(None, "r", body="{}")
        with ledger.on_behalf(None, "r", str):
            ledger.settle(spend(ledger, TENTH), "answered", [1])
        ledger.finish_request(None, "r", "done", "a result")
        head = ledger.head()
        change(place, statement)
        with pytest.raises(LedgerError, match=sentence):
            ledger.check_head(head)
        with pytest.raises(LedgerError, match=sentence):
            ledger.answers(None, "r") if "answers" in statement else ledger.request(None, "r")


def test_a_consent_that_was_written_into_the_ledger_by_others_is_none(place: str):
    with opened(place) as ledger:
        ledger.set_analyst("mara")
        stored, _ = ledger.begin_request("mara", "waits", body="{}", limits=ALL)
        said = ("waiting", "begun")
        old, new = (f"waits of mara: {status}, SHA-256 {stored.digest}" for status in said)
        forged = "INSERT INTO events SELECT 2, time, 'request', '{}', '{}', process, 'olga', 1, chain FROM events"
        change(place, forged.format(old, new))
        with pytest.raises(LedgerError, match="event 2 is not as it was written"):
            ledger.begin_request("mara", "waits", body="{}", limits=ALL)


def test_a_ledger_of_the_fourth_format_goes_on_and_says_what_its_chain_does_not_cover(place: str):
    with opened(place) as ledger:
        spend(ledger, TENTH)
        ledger.set_analyst("mara")
        ledger.begin_request("mara", "waits", body="{}", limits=ALL)
        old = linked("", ledger._read(lambda own: [chain_at(own, table, 1) for table in ("entries", "events")]))
    mark = "UPDATE adyton_ledger SET format = 4" if "://" in place else "PRAGMA user_version = 4"
    change(place, *AS_FOURTH, mark)
    read = Ledger.read(place)
    assert "An early version kept this ledger until entry 1 and event 1." in read.notes[0]
    assert Ledger.read(place).head == read.head
    with opened(place) as ledger:
        assert (ledger.head(), ledger.report().notes) == (read.head, read.notes)
        ledger.check_head(f"1 1 {old}")  # as an early version has noted it
        ledger.check_head(read.head)
        spend(ledger, TENTH)
        change(place, "UPDATE requests SET status = 'begun'")
        with pytest.raises(LedgerError, match="the request mara:waits is not as it was written"):
            ledger.check_head(f"1 1 {old}")
