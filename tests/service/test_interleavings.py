"""All orders of the steps of two and three calls about one request; and faults, each of which the search must find.

What must hold, and what is real, stands at the head of :mod:`interleavings`.
"""

import itertools
import sys

import pytest

from adyton.kernel.ledger import Limits, requests
from adyton.kernel.ledger import ledger as ledger_module
from adyton.kernel.ledger.analysts import Balance
from adyton.service.keeper import Keeper
from service import interleavings
from service.interleavings import CALLS, Call, Explorer, Violated

BEGINNINGS = [("limited", False), ("limited", True), ("free", False), ("in all", False)]
"""Whose calls they are, and whether a request of theirs waits already."""


def multisets(count):
    return itertools.combinations_with_replacement(CALLS, count)


def of_mara(names):
    return [Call(name) for name in names]


@pytest.fixture(scope="module")
def explorer():
    explorer = Explorer()
    explorer.learn([(of_mara(names), *start) for names in multisets(3) for start in BEGINNINGS], walks=1)
    return explorer


def report(capsys, what, found):
    schedules, seconds = sum(one.schedules for one in found), sum(one.seconds for one in found)
    with capsys.disabled():
        sys.stdout.write(f"\n{what}: {len(found)} sets of calls, {schedules:,} schedules in {seconds:.1f} s\n")


def test_every_pair_of_calls(explorer, capsys):
    found = [
        explorer.explore(of_mara(names), limits=limits, waiting=waiting)
        for names in multisets(2)
        for limits, waiting in BEGINNINGS
    ]
    report(capsys, "pairs", found)
    assert sum(one.schedules for one in found) > 1000


def test_every_three_calls(explorer, capsys):
    """Each once, where a request waits; in the long run every triple, from every beginning, and repeated calls."""
    calls = [call for call in CALLS if call != "swap"]
    found = [explorer.explore(of_mara(names), waiting=True) for names in itertools.combinations(calls, 3)]
    report(capsys, "triples", found)
    assert sum(one.schedules for one in found) > 1000


@pytest.mark.full
def test_every_triple_of_calls(explorer, capsys):
    found = [
        explorer.explore(of_mara(names), limits=limits, waiting=waiting)
        for names in multisets(3)
        for limits, waiting in BEGINNINGS
    ]
    report(capsys, "all triples", found)


@pytest.mark.full
def test_two_analysts_with_one_id(explorer, capsys):
    """Three calls, of which at least one is about the other analyst's request of the same id."""
    found = [
        explorer.explore([Call(one), Call(two), Call(other, "zoe")], waiting=True)
        for one, two in multisets(2)
        for other in ("ask", "swap", "cancel", "consent", "refuse", "revoke")
    ]
    report(capsys, "two analysts", found)


# ---- faults ----------------------------------------------------------------------------------------------------------


def permission_outside(patch):
    """What permits a debit is read in a transaction before that of the debit."""
    debit = interleavings.debit

    async def debited(world, ledger, who, id, body, holder, limits):
        def permitted(*_):
            with ledger.on_behalf(who, id, holder=holder, limits=limits):
                return ledger.request(who, id).status == "begun"

        if not await world.to_thread(permitted, body):
            raise interleavings.BadInput("not begun")
        with pytest.MonkeyPatch.context() as unchecked:
            unchecked.setattr(ledger_module, "insist_permitted", lambda *_: None)
            await world.to_thread(debit_of_anything, ledger, who, id, body, holder, limits)

    def debit_of_anything(*asked):
        with pytest.MonkeyPatch.context() as unchecked:
            unchecked.setattr(ledger_module, "insist_begun", lambda *asked: requests.read_request(*asked[:3]))
            debit(*asked)

    patch.setattr(interleavings, "debited_by", debited)


def absent_is_free(patch):
    """What is not stored may be debited: it is stored with its first debit."""

    def insist(connection, analyst, request, dataset, holder=None):
        stored = requests.read_request(connection, analyst, request)
        if stored is not None:
            return insist_begun(connection, analyst, request, dataset, holder)
        body = interleavings.canonical(interleavings.SMALL)
        return requests.write_request(connection, analyst, request, (1, dataset), body, "begun", holder)[0]

    insist_begun = requests.insist_begun
    patch.setattr(ledger_module, "insist_begun", insist)
    patch.setattr(ledger_module, "insist_permitted", lambda *_: None)
    patch.setattr(interleavings, "begin", lambda ledger, who, id, body, limits, holder: unstored(who, id, body))


def unstored(who, id, body):
    return requests.StoredRequest(who, id, "visits", body, "begun", ""), True


def digest_not_compared(patch):
    """A consent is to whatever has the id."""
    consent = ledger_module.Ledger.consent_request

    def of_any(self, analyst, request, *, digest, **given):
        return consent(self, analyst, request, digest=self.request(analyst, request).digest, **given)

    patch.setattr(ledger_module.Ledger, "consent_request", of_any)


def cancelled_is_absent(patch):
    """A cancelled request is forgotten."""

    def forgotten(connection, stored, holder, note=None):
        done = withdrawn(connection, stored, holder, note)
        if done:
            connection.execute("DELETE FROM requests WHERE analyst = ? AND id = ?", (stored.analyst, stored.id))
        return done

    withdrawn = requests.withdrawn
    patch.setattr(ledger_module, "withdrawn", forgotten)


def consent_to_another_id(patch):
    """A consent is to a body, whatever its id."""

    def consented(connection, stored, dataset):
        query = "SELECT 1 FROM events WHERE new LIKE ?"
        return connection.execute(query, (f"%: begun, SHA-256 {stored.digest}",)).fetchone() is not None

    patch.setattr(requests, "consented", consented)


def total_ignored(patch):
    """Only single requests are counted."""
    patch.setattr(Limits, "demand", lambda self, price, spent: self.above is not None and price > self.above)


def refused_is_consent(patch):
    """Any decision lets a request begin."""
    consent = ledger_module.Ledger.consent_request

    def granted(self, *key, grant, **given):
        return consent(self, *key, grant=True, **given)

    patch.setattr(ledger_module.Ledger, "consent_request", granted)


def revoked_may_spend(patch):
    """A part is not looked at when its analyst spends."""
    patch.setattr(Balance, "left", lambda self, analyst: self.total)


def restart_forgets(patch):
    """A keeper that is started again asks for no consent."""
    limits_of = Keeper.limits_of

    def limits(self, name):
        return None if self.operations._holder != "keeper/1" else limits_of(self, name)

    patch.setattr(Keeper, "limits_of", limits)


def asked_again_replaces(patch):
    """The same id with another body is another request in its place."""
    write_request = requests.write_request

    def replaced(connection, analyst, request, dataset, body, *more):
        connection.execute("UPDATE requests SET body = ? WHERE analyst = ? AND id = ?", (body, analyst, request))
        return write_request(connection, analyst, request, dataset, body, *more)

    patch.setattr(ledger_module, "write_request", replaced)


def charged_is_cancelled(patch):
    """What was debited can be withdrawn."""
    patch.setattr(requests, "charged", lambda *_: False)


def told_before_done(patch):
    """Who cancels is told so, whatever the ledger says."""
    patch.setattr(ledger_module.Ledger, "withdraw_request", lambda self, *key, body, holder: True)


def any_holder(patch):
    """A worker whose keeper has ended goes on spending beside the next one's."""
    patch.setattr(requests, "insist_held", lambda *_: None)


FAULTS = [
    (permission_outside, ("ask", "cancel"), "free"),
    (absent_is_free, ("ask",), "limited"),
    (digest_not_compared, ("swap", "consent"), "limited"),
    (cancelled_is_absent, ("ask", "cancel"), "free"),
    (consent_to_another_id, ("ask",), "limited"),
    (total_ignored, ("ask",), "in all"),
    (refused_is_consent, ("ask", "ask", "refuse"), "limited"),
    (revoked_may_spend, ("ask", "revoke"), "free"),
    (restart_forgets, ("ask", "restart"), "limited"),
    (asked_again_replaces, ("ask", "swap", "restart"), "free"),
    (charged_is_cancelled, ("ask", "cancel"), "free"),
    (told_before_done, ("ask", "cancel"), "free"),
    (any_holder, ("ask", "ask", "restart"), "free"),
]


@pytest.mark.parametrize(("fault", "names", "limits"), FAULTS, ids=[fault.__name__ for fault, *_ in FAULTS])
def test_a_fault_is_found(monkeypatch, fault, names, limits):
    monkeypatch.setattr(requests, "insist_unchanged", lambda *_: None)  # the chain of changes would notice some
    fault(monkeypatch)
    explorer = Explorer()
    with pytest.raises(Violated):
        explorer.explore(of_mara(names), limits=limits)


def test_without_a_fault_nothing_is_found(explorer):
    """Each of these sets of calls is explored without a violation where there is no fault."""
    for _, names, limits in FAULTS:
        assert explorer.explore(of_mara(names), limits=limits).schedules
