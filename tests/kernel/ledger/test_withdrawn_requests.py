"""A request that was withdrawn spends nothing, whoever debits for it later; one that has spent cannot be withdrawn.

And what needs a curator's consent is debited with it alone: for exactly the request that was read."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from fractions import Fraction

import pytest
from ledger_spending import TWENTIETH, spend

from adyton.errors import BadInput
from adyton.kernel.ledger import Ledger, Limits

ALL = Limits(above=Fraction(0))
BODY, OURS, THEIRS = '{"task": "count", "epsilon": "0.1"}', "here/1/1/0", "there/2/2/0"
DIGEST = hashlib.sha256(BODY.encode()).hexdigest()


def opened(place: str) -> Ledger:
    ledger = Ledger.open(place, total=2, dataset="visits")
    ledger.set_analyst("mara")
    return ledger


def debit(ledger: Ledger, request: str, holder: str | None = OURS, body: str | None = BODY) -> int:
    if body is not None:
        ledger.begin_request("mara", request, body=body, holder=holder)
    with ledger.on_behalf("mara", request, holder=holder):
        return spend(ledger, TWENTIETH)


def withdraw(ledger: Ledger, request: str, holder: str = OURS) -> bool:
    return ledger.withdraw_request("mara", request, body=BODY, holder=holder)


def test_no_debit_follows_a_withdrawal(place: str):
    """Whether the request was stored before, waited for consent, or was granted; and whoever debits."""
    with opened(place) as ledger, Ledger.open(place, total=2, dataset="visits") as other:
        ledger.begin_request("mara", "waits", body=BODY, limits=ALL)
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
                lambda id=request: other.consent_request("mara", id, digest=DIGEST, grant=True, word="olga"),
                lambda id=request: other.finish_request("mara", id, "done", "a result"),
            ):
                with pytest.raises(BadInput, match="was cancelled"):
                    refused()
            stored = ledger.request("mara", request)
            assert (stored.status, stored.finished) == ("withdrawn", False)
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
        ledger.begin_request("mara", "refused", body=BODY, limits=ALL)
        ledger.consent_request("mara", "refused", digest=DIGEST, grant=False, word="olga")
        assert not withdraw(ledger, "refused")
        statuses = {stored.id: stored.status for stored in ledger.requests()}
        assert statuses == {"paid": "done", "refused": "refused"}
        assert ledger.spent == 2 * TWENTIETH


def test_only_its_own_holder_withdraws(place: str):
    with opened(place) as ledger:
        ledger.begin_request("mara", "granted", body=BODY)  # and nobody has taken it
        assert not withdraw(ledger, "granted")
        ledger.take_request("mara", "granted", THEIRS)
        assert not withdraw(ledger, "granted")
        assert ledger.give_up_request("mara", "granted", holder=OURS).status == "begun"
        assert withdraw(ledger, "granted", THEIRS)
        ledger.begin_request("mara", "other", body="another")
        with pytest.raises(BadInput, match="used for another request"):
            withdraw(ledger, "other")


def test_an_id_is_used_once_and_others_are_untouched(place: str):
    """What is withdrawn stays so, with another holder, another body, and asked again; an id is an analyst's own."""
    with opened(place) as ledger:
        ledger.set_analyst("ben")
        assert withdraw(ledger, "r")
        for who in ("ben", None):
            ledger.begin_request(who, "r", body=BODY, holder=OURS)
            with ledger.on_behalf(who, "r", holder=OURS):
                spend(ledger, TWENTIETH)
        assert ledger.begin_request("mara", "r", body=BODY, holder=OURS)[0].status == "withdrawn"
        with pytest.raises(BadInput, match="used for another request"):
            ledger.begin_request("mara", "r", body="another")
        ledger.begin_request("mara", "failed", body=BODY, holder=OURS)
        assert ledger.give_up_request("mara", "failed", holder=OURS).status == "withdrawn"
        with pytest.raises(BadInput, match="failed could not be carried out: nothing is spent for it"):
            debit(ledger, "failed")
        with pytest.raises(BadInput, match="there is no request absent"):
            debit(ledger, "absent", body=None)
        assert len(ledger.requests()) == 4
        assert ledger.spent == 2 * TWENTIETH


# ---- consent ---------------------------------------------------------------------------------------------------------


def permitted(ledger: Ledger, request: str, limits: Limits, body: str = BODY, amount: Fraction = TWENTIETH) -> bool:
    """Whether a request begins and is debited under these limits."""
    if ledger.begin_request("mara", request, body=body, limits=limits)[0].status != "begun":
        return False
    with ledger.on_behalf("mara", request, limits=limits):
        return spend(ledger, amount) > 0


def test_a_debit_needs_the_consent_to_exactly_this_request(place: str):
    """Also where it had begun before the limits were set, and whatever other request was consented to."""
    with opened(place) as ledger:
        ledger.begin_request("mara", "early", body=BODY)
        ledger.begin_request("mara", "waits", body=BODY, limits=ALL)
        with pytest.raises(BadInput, match=f"its SHA-256 is {DIGEST}, given 'abc'. Read it again"):
            ledger.consent_request("mara", "waits", digest="abc", grant=True, word="olga")
        assert ledger.request("mara", "waits").status == "waiting"
        ledger.consent_request("mara", "waits", digest=DIGEST, grant=True, word="olga")
        with pytest.raises(BadInput, match="the request early needs a curator's consent"):
            permitted(ledger, "early", ALL)
        assert permitted(ledger, "waits", ALL)
        assert not permitted(ledger, "later", ALL)
        event = ledger.report().events[-1]
        assert (event.new, event.consent) == (f"waits of mara: begun, SHA-256 {DIGEST}", "olga")
        assert ledger.spent == TWENTIETH


def test_limits_of_one_request_and_of_all(place: str):
    """What has begun and may still spend is reserved, so that two requests at once do not pass together."""
    limits = Limits(above=Fraction(1, 10), total=Fraction(1, 4))
    with opened(place) as ledger:
        assert not permitted(ledger, "dear", limits, '{"epsilon": 0.11}')
        assert not permitted(ledger, "unknown", limits, "{}")
        assert permitted(ledger, "first", limits)
        assert ledger.begin_request("mara", "second", body=BODY, limits=limits)[0].status == "begun"
        assert not permitted(ledger, "third", limits)  # 0.05 spent, 0.05 and 0.1 reserved
        with ledger.on_behalf("mara", "first", limits=limits):
            with pytest.raises(BadInput, match=r"the request first names ε = 0.1, and asks for 0.11"):
                spend(ledger, Fraction(6, 100))
            spend(ledger, TWENTIETH)
        assert permitted(ledger, "second", limits, amount=Fraction(1, 10))
        assert permitted(ledger, "last", limits, '{"epsilon": 0.05}')
        assert not permitted(ledger, "more", limits, '{"epsilon": 0.001}')
        assert ledger.spent == limits.total


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_nobody_is_the_curator_by_an_empty_name(place: str, name: str):
    with opened(place) as ledger:
        ledger.begin_request(None, "r", body=BODY)
        for call in (
            lambda: ledger.begin_request(name, "new", body=BODY),
            lambda: ledger.request(name, "r"),
            lambda: ledger.answers(name, "r"),
            lambda: ledger.stored_for(name),
            lambda: ledger.take_request(name, "r", OURS),
            lambda: ledger.finish_request(name, "r", "done", "{}"),
            lambda: ledger.consent_request(name, "r", digest=DIGEST, grant=True, word="olga"),
            lambda: ledger.withdraw_request(name, "r", body=BODY, holder=OURS),
            lambda: ledger.give_up_request(name, "r", holder=OURS),
            lambda: ledger.on_behalf(name).__enter__(),
            lambda: ledger.set_analyst(name),
            lambda: ledger.set_analyst(f"{name} mara"),
            lambda: ledger.raise_total(3, consent=name),
        ):
            with pytest.raises(BadInput):
                call()
        assert ledger.request(None, "r").status == "begun"


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
            ledger.begin_request("mara", line.strip(), body=sys.argv[2], holder=sys.argv[3])
            with ledger.on_behalf("mara", line.strip(), holder=sys.argv[3]):
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
