"""A request that was withdrawn spends nothing, whoever debits for it later; one that has spent cannot be withdrawn."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from fractions import Fraction

import pytest
from ledger_spending import TWENTIETH, spend

from adyton.errors import BadInput
from adyton.kernel.ledger import Ledger

BODY, OURS, THEIRS = '{"task": "count"}', "here/1/1/0", "there/2/2/0"


def opened(place: str) -> Ledger:
    ledger = Ledger.open(place, total=2, dataset="visits")
    ledger.set_analyst("mara")
    return ledger


def debit(ledger: Ledger, request: str, holder: str | None = OURS, body: str | None = BODY) -> int:
    with ledger.on_behalf("mara", request, body=body, holder=holder):
        return spend(ledger, TWENTIETH)


def withdraw(ledger: Ledger, request: str, holder: str = OURS) -> bool:
    return ledger.withdraw_request("mara", request, body=BODY, holder=holder)


def test_no_debit_follows_a_withdrawal(place: str):
    """Whether the request was stored before, waited for consent, or was granted; and whoever debits."""
    with opened(place) as ledger, Ledger.open(place, total=2, dataset="visits") as other:
        ledger.begin_request("mara", "waits", body=BODY, status="waiting")
        ledger.begin_request("mara", "taken", body=BODY)
        ledger.take_request("mara", "taken", OURS)
        for request in ("new", "waits", "taken"):
            assert withdraw(ledger, request)
            assert withdraw(ledger, request)  # again: it stays withdrawn
            for mine, holder, body in ((ledger, OURS, BODY), (other, THEIRS, BODY), (other, None, None)):
                with pytest.raises(BadInput, match=f"the request {request} was cancelled: nothing is spent for it"):
                    debit(mine, request, holder, body)
            for refused in (
                lambda id=request: other.take_request("mara", id, THEIRS),
                lambda id=request: other.consent_request("mara", id, grant=True, word="olga"),
                lambda id=request: other.finish_request("mara", id, "done", "a result"),
            ):
                with pytest.raises(BadInput, match="was cancelled"):
                    refused()
            stored = ledger.request("mara", request)
            assert (stored.status, stored.holder, stored.finished) == ("withdrawn", OURS, False)
        assert ledger.spent == 0
        assert ledger.entries() == []
        assert ledger.waiting() == 0


def test_no_withdrawal_follows_a_debit(place: str):
    with opened(place) as ledger:
        debit(ledger, "paid")
        assert not withdraw(ledger, "paid")
        assert ledger.request("mara", "paid").status == "begun"
        debit(ledger, "paid")  # it goes on
        ledger.finish_request("mara", "paid", "done", "a result")
        assert not withdraw(ledger, "paid")
        ledger.begin_request("mara", "refused", body=BODY, status="waiting")
        ledger.consent_request("mara", "refused", grant=False, word="olga")
        assert not withdraw(ledger, "refused")
        statuses = {stored.id: stored.status for stored in ledger.requests()}
        assert statuses == {"paid": "done", "refused": "refused"}
        assert ledger.spent == 2 * TWENTIETH


def test_only_its_own_holder_withdraws_and_forgets(place: str):
    with opened(place) as ledger:
        ledger.begin_request("mara", "granted", body=BODY)  # and nobody has taken it
        assert not withdraw(ledger, "granted")
        ledger.take_request("mara", "granted", THEIRS)
        assert not withdraw(ledger, "granted")
        assert withdraw(ledger, "granted", THEIRS)
        assert not ledger.cancel_request("mara", "granted", holder=OURS)
        assert ledger.request("mara", "granted").status == "withdrawn"
        assert ledger.cancel_request("mara", "granted", holder=THEIRS)
        assert ledger.request("mara", "granted") is None
        ledger.begin_request("mara", "other", body="another")
        with pytest.raises(BadInput, match="used for another request"):
            withdraw(ledger, "other")


def test_a_forgotten_request_begins_anew_and_others_are_untouched(place: str):
    with opened(place) as ledger:
        ledger.set_analyst("ben")
        assert withdraw(ledger, "r")
        with ledger.on_behalf("ben", "r", body=BODY, holder=OURS):  # an id is an analyst's own
            spend(ledger, TWENTIETH)
        with ledger.on_behalf(None, "r", body=BODY, holder=OURS):
            spend(ledger, TWENTIETH)
        assert ledger.cancel_request("mara", "r", holder=OURS)
        assert debit(ledger, "r") == 3
        assert not ledger.cancel_request("mara", "r", holder=OURS)
        assert ledger.spent == 3 * TWENTIETH


# ---- at the same moment ----------------------------------------------------------------------------------------------


def check_races(ledger: Ledger, outcomes: list[tuple[bool, bool]]) -> None:
    """Of each pair (whether it was withdrawn, whether it was debited) exactly one is true, as the ledger has it."""
    assert all(withdrawn != debited for withdrawn, debited in outcomes)
    for number, (withdrawn, debited) in enumerate(outcomes):
        assert ledger.request("mara", f"r{number}").status == ("withdrawn" if withdrawn else "begun")
        assert len(ledger.answers("mara", f"r{number}")) == debited
    assert ledger.spent == sum(debited for _, debited in outcomes) * TWENTIETH
    assert ledger.report().spent == ledger.spent


def test_of_two_threads_exactly_one_wins(place: str):
    with opened(place) as ledger, Ledger.open(place, total=2, dataset="visits") as other:
        outcomes = []
        for number in range(20):
            start, won = threading.Barrier(2), {}

            def debits(request: str, start: threading.Barrier = start, won: dict = won) -> None:
                start.wait()
                try:
                    won["debited"] = debit(other, request) > 0
                except BadInput:
                    won["debited"] = False

            thread = threading.Thread(target=debits, args=(f"r{number}",))
            thread.start()
            start.wait()
            won["withdrawn"] = withdraw(ledger, f"r{number}")
            thread.join()
            outcomes.append((won["withdrawn"], won["debited"]))
        check_races(ledger, outcomes)


DEBITS = """
import sys
from fractions import Fraction
from adyton.errors import BadInput
from adyton.kernel.ledger import Ledger

with Ledger.open(sys.argv[1], total=2, dataset="visits") as ledger:
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            with ledger.on_behalf("mara", line.strip(), body=sys.argv[2], holder=sys.argv[3]):
                ledger.debit(Fraction(1, 20), lineage=["root"], operator="laplace")
            print("debited", flush=True)
        except BadInput as problem:
            print(problem, flush=True)
"""


def test_of_two_processes_exactly_one_wins(place: str):
    with opened(place) as ledger:
        command = [sys.executable, "-c", DEBITS, place, BODY, OURS]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            outcomes = []
            for number in range(20):
                process.stdin.write(f"r{number}\n")
                process.stdin.flush()
                time.sleep(0.0005 * (number % 8))
                withdrawn = withdraw(ledger, f"r{number}")
                said = process.stdout.readline().strip()
                assert said in ("debited", f"the request r{number} was cancelled: nothing is spent for it.")
                outcomes.append((withdrawn, said == "debited"))
            process.stdin.close()
        check_races(ledger, outcomes)


def test_a_debit_of_a_mutant_would_be_seen(place: str, monkeypatch: pytest.MonkeyPatch):
    """The tests above can fail: without the law in the debit, a withdrawn request spends."""
    monkeypatch.setattr("adyton.kernel.ledger.ledger.insist_begun", lambda *_: None)
    with opened(place) as ledger:
        assert withdraw(ledger, "r")
        debit(ledger, "r")
        assert ledger.spent == Fraction(1, 20)
