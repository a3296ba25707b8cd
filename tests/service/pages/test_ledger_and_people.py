"""The pages of a table's owner: the ledger, people, consent and tokens; and the budget that analysts see."""

import csv
import io
import json
import re
import threading
from fractions import Fraction
from types import SimpleNamespace
from uuid import uuid4

import pytest

from adyton.exact import display
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.plain import report_to_plain
from adyton.messages import harmless
from adyton.service.access import Access
from adyton.service.pages import ledger as ledger_pages
from adyton.service.pages.requests import question_of
from adyton.service.pages.visits import Visit, Visitor, readable
from service.pages.visiting import Visiting

LEDGER, PEOPLE = "/tables/people/ledger", "/tables/people/people"
COUNT = {"task": {"task": "count"}, "epsilon": 0.01}
HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}"


DIGESTS = {}
"""What each request that waits is read by."""


def waiting(served, where="age >= 65", epsilon="1.1"):
    """The id of a new request of ben that waits."""
    id = uuid4().hex
    status, _, body = served.ask(id, {"task": {"task": "count"}, "epsilon": epsilon, "where": where}, "ben")
    assert (status, json.loads(body)["status"]) == (202, "waiting")
    DIGESTS[id] = served.digest(id)
    return id


def status_of(served, id):
    rows = json.loads(served.call("GET", "/v1/datasets/people/requests")[2])["requests"]
    return next(row["status"] for row in rows if row["id"] == id)


def waits(served):
    """How many requests wait for consent."""
    return json.loads(served.call("GET", "/v1/datasets/people")[2])["waiting"]


def ledger_of(served):
    return json.loads(served.call("GET", "/v1/datasets/people/ledger")[2])


def decided(visitor, id, decision, **more):
    given = {"id": id, "analyst": "ben", "digest": DIGESTS[id], "decision": decision}
    return visitor.post(f"{PEOPLE}/consent", **given, **more)


# ---- whole days ------------------------------------------------------------------------------------------------------


def test_an_owners_day(served, visit):
    """ben asks above his limit; olga grants it with a word; he sees the result; she revokes his token."""
    token = Access(served.folder / "access.sqlite").make("ben")
    ben, olga = Visiting(served.socket), visit("olga")
    ben.sign_in(token)
    assert "A request above ε = 1 waits until a curator agrees" in ben.get("/tables/people").words
    id = waiting(served, "ward = 'eye' and age >= 18")
    mine = ben.get("/tables/people").words
    count = waits(served)
    assert f"{count} of your requests wait" in mine
    assert "Number of rows where ward = 'eye' and age >= 18" in mine

    assert f'aria-label="{count} wait' in olga.get("/tables/people").html
    page = olga.get(PEOPLE)
    account = json.loads(served.call("GET", "/v1/datasets/people", who="ben")[2])["budget"]
    left = Fraction(account["remaining"])
    assert "Number of rows where ward = 'eye' and age >= 18" in page.words
    assert (
        f"It spends ε = 1.1 . ben has {readable(left)} left, and {readable(left - Fraction('1.1'))} after it"
        in page.words
    )
    assert "Spend ε = 1.1 for ben" in page.words

    forgotten = decided(olga, id, "grant", word="agreed on 12 March")
    assert forgotten.status == 400
    assert "Tick this to grant the request" in forgotten.words
    assert 'value="agreed on 12 March"' in forgotten.html
    assert status_of(served, id) == "waiting"

    said = decided(olga, id, "grant", word=f"agreed {HOSTILE}", sure="yes").words
    assert "Granted: “Number of rows where ward = 'eye' and age >= 18” of ben. The result is there" in said
    olga.get(PEOPLE)
    for decision in ("grant", "refuse"):  # the same form again, from a second click or an older tab
        assert "was decided before, and is" in decided(olga, id, decision, sure="yes").words
    after = olga.get(PEOPLE)
    assert "olga: agreed <script>alert(1)</script>{{ 7 * 7 }}" in after.words
    assert "<script>alert" not in after.html
    assert waits(served) == count - 1
    assert "ε = 1.1, " in ben.get("/tables/people").words
    assert '<span class="state done">' in ben.get("/tables/people").html
    assert f'href="/tables/people/results/{id}?analyst=ben"' in olga.get(f"{LEDGER}?analyst=ben").html

    identifier = token.split("_")[1]
    told = olga.post(f"{PEOPLE}/tokens", token=identifier).words
    assert f"The token {identifier} of ben is revoked" in told
    out = ben.get("/tables/people", follow=False)
    assert (out.status, out.headers["location"]) == (303, "/enter?to=%2Ftables%2Fpeople&ended=")
    assert "Max-Age=0" in out.headers["set-cookie"]
    ended = ben.get("/tables/people")
    assert "Sign in" in ended.words
    back = ben.get(out.headers["location"])
    assert "You were signed out, because your token is no longer valid" in back.words
    assert "Tables" in ben.sign_in(served.tokens["ben"]).words  # his other token is as it was


def test_a_form_of_somebody_whose_token_ended_leads_to_sign_in(served):
    access = Access(served.folder / "access.sqlite")
    token = access.make("olga", "curator")
    olga = Visiting(served.socket)
    olga.sign_in(token)
    access.revoke_token(token.split("_")[1])
    out = olga.post(f"{PEOPLE}/tokens", follow=False, token="0123456789abcdef")
    assert (out.status, out.headers["location"]) == (303, "/enter?to=%2F&ended=")


def test_a_curator_revokes_the_own_token_only_after_being_told(served):
    token = Access(served.folder / "access.sqlite").make("olga", "curator")
    olga = Visiting(served.socket)
    olga.sign_in(token)
    assert "you use it now" in olga.get(PEOPLE).words
    told = olga.post(f"{PEOPLE}/tokens", token=token.split("_")[1])
    assert told.status == 400
    assert "you are signed out, and need another to come back" in told.words
    assert olga.get(PEOPLE).status == 200
    assert "Sign in" in olga.post(f"{PEOPLE}/tokens", token=token.split("_")[1], sure="yes").words


# ---- consent ---------------------------------------------------------------------------------------------------------


def test_a_refusal_reaches_the_analyst_with_its_word(served, visit):
    id, olga = waiting(served), visit("olga")
    olga.get(PEOPLE)
    spent = ledger_of(served)["spent"]
    assert (
        "Refused: “Number of rows where age >= 65” of ben. Nothing was spent."
        in decided(olga, id, "refuse", word="=too dear").words
    )
    assert (status_of(served, id), ledger_of(served)["spent"]) == ("refused", spent)
    status, _, body = served.call("GET", f"/v1/datasets/people/requests/{id}", who="ben")
    assert (status, "olga: =too dear" in json.loads(body)["error"]["message"]) == (403, True)
    assert "was decided before, and is refused" in decided(olga, id, "grant", sure="yes").words
    assert "refused" in visit("ben").get("/tables/people").words


def test_two_curators_at_once_decide_once(served, visit):
    id, curators, said = waiting(served), [visit("olga"), visit("olga")], []
    for curator in curators:
        curator.get(PEOPLE)

    def refuse(curator):
        said.append(decided(curator, id, "refuse", word="no").words)

    both = [threading.Thread(target=refuse, args=(curator,)) for curator in curators]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    events = [event for event in ledger_of(served)["events"] if id in event["new"]]
    assert len(events) == 1
    assert all("Refused: “" in words or "was decided before" in words for words in said), said
    assert sum("Refused: “" in words for words in said) >= 1


def test_wrong_values_of_a_decision(served, visit):
    id, olga = waiting(served), visit("olga")
    olga.get(PEOPLE)
    long = decided(olga, id, "refuse", word="x" * 501)
    assert (long.status, "at most 500 characters, given 501" in long.words) == (400, True)
    assert 'aria-invalid="true"' in long.html
    assert olga.post(f"{PEOPLE}/consent", id=id, analyst="ben", decision="maybe").status == 400
    for who, what in (("ben", "nothing"), ("mara", id), ("", ""), (HOSTILE, HOSTILE)):
        gone = olga.post(f"{PEOPLE}/consent", id=what, analyst=who, decision="refuse")
        assert "not there any more" in gone.words
        assert "<script>alert" not in gone.html
    for other in ("0" * 64, ""):  # the form of another request
        form = {"id": id, "analyst": "ben", "digest": other, "decision": "grant", "sure": "yes"}
        assert (
            "another one than the one that you read. Nothing was changed"
            in olga.post(f"{PEOPLE}/consent", **form).words
        )
    olga.form_key = "guessed"
    assert decided(olga, id, "refuse").status == 400
    assert status_of(served, id) == "waiting"
    olga.get(PEOPLE)
    decided(olga, id, "refuse")


def test_what_cannot_be_paid_is_not_granted(served, visit):
    """A request that waited until less was left than it costs: it can only be refused."""
    left = Fraction(json.loads(served.call("GET", "/v1/datasets/people", who="ben")[2])["budget"]["remaining"])
    dear = waiting(served, "age >= 66", str(left))
    assert served.ask(uuid4().hex, COUNT, "ben")[0] == 200
    olga = visit("olga")
    page = olga.get(PEOPLE)
    assert "This is more than ben has left" in page.words
    assert 'value="grant"' not in page.html
    said = decided(olga, dear, "grant", sure="yes").words  # whoever sends it anyway
    assert "could not be carried out, and is not there any more" in said
    assert "Nothing was spent" in said


# ---- who sees what ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [LEDGER, f"{LEDGER}/statement", f"{LEDGER}/files/ledger.csv", f"{LEDGER}/files/statement.md", PEOPLE]
)
def test_analysts_see_nothing_of_it(visit, path):
    page = visit("mara").get(path)
    assert (page.status, "Only a curator may do this" in page.words) == (403, True)
    assert "olga" not in page.html


def test_analysts_decide_and_revoke_nothing(served, visit):
    id, ben = waiting(served), visit("ben")
    ben.get("/tables/people")
    assert decided(ben, id, "grant", sure="yes").status == 403
    assert ben.post(f"{PEOPLE}/tokens", token=served.tokens["olga"].split("_")[1], sure="yes").status == 403
    assert status_of(served, id) == "waiting"
    served.call("DELETE", f"/v1/datasets/people/requests/{id}", who="ben")
    assert "Ledger" not in ben.get("/tables/people").words


def test_tables_that_are_not_there(visit):
    olga = visit("olga")
    assert olga.get("/tables/none/ledger").status == 404
    assert olga.get("/tables/none/people").status == 404
    assert olga.get(f"{LEDGER}/files/other").status == 404


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_every_number_is_that_of_the_service(served, visit):
    assert served.ask(uuid4().hex, {**COUNT, "epsilon": "1/7"}, "mara")[0] == 200
    assert served.ask(uuid4().hex, {**COUNT, "epsilon": "0.03"}, "olga")[0] == 200
    olga, plain = visit("olga"), ledger_of(served)
    page = olga.get(LEDGER).words
    for name in ("total", "spent"):
        assert f"ε = {readable(Fraction(plain[name]))}" in page
    for entry in plain["entries"][-5:]:
        assert f"{entry['time'][:19].replace('T', ' ')}" in page
        assert (
            f"{display(Fraction(entry['amount']))} {readable(Fraction(entry['spent_after']))} {entry['status']}" in page
        )
    for own in plain["analysts"]:
        if Fraction(own["spent"]):
            assert f"{own['name']} {readable(Fraction(own['spent']))}" in page
    rows = list(csv.DictReader(io.StringIO(olga.get(f"{LEDGER}/files/ledger.csv").html)))
    assert [(row["epsilon_exact"], float(row["epsilon"])) for row in rows] == [
        (entry["amount"], float(Fraction(entry["amount"]))) for entry in plain["entries"]
    ]
    assert [row["analyst"] for row in rows] == [entry["analyst"] or "" for entry in plain["entries"]]
    saved = json.loads(olga.get(f"{LEDGER}/files/ledger.json").body)
    assert saved["spent"]["exact"] == plain["spent"]
    assert [entry["amount"]["exact"] for entry in saved["entries"]] == [entry["amount"] for entry in plain["entries"]]
    people = json.loads(served.call("GET", "/v1/datasets/people/analysts")[2])
    shown = olga.get(PEOPLE).words
    for own in people:
        spent, left = readable(Fraction(own["spent"])), readable(Fraction(own["left"]))
        assert f"{spent} {left} {own['expires'] or 'no end'}" in shown
    described = json.loads(served.call("GET", "/v1/datasets/people", who="mara")[2])
    mine = visit("mara").get("/tables/people").words
    left = readable(Fraction(described["budget"]["remaining"]))
    of_all = Fraction(plain["total"]) - Fraction(plain["spent"])
    assert f"Left ε = {left}" in mine
    assert f"ε = {left} of 10 left" in mine
    mixed = olga.get("/tables/people").words
    assert re.search(r"ε = (\S+) of 100 left for you .* Left for you ε = \1 ", mixed)
    aside = Fraction(saved["aside"]["exact"])
    assert aside > 0
    assert f"Left ε = {readable(of_all)} {readable(aside)} of it set aside for analysts, " in page
    assert f"ε = {display(of_all)} ({display(aside)} of it set aside)" in olga.get(f"{LEDGER}/statement").words
    assert "set aside for you" in mine
    assert described["grant"] == {
        "part": "10",
        "aside": True,
        "expires": None,
        "consent_above": None,
        "consent_total": None,
    }
    assert "waiting" not in described


def test_the_statement_is_a_page_of_its_own(served, visit):
    olga = visit("olga")
    page = olga.get(f"{LEDGER}/statement")
    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("sandbox")
    assert "Privacy statement: people" in page.words
    assert "the guarantee: it holds even if all of them put their answers together" in page.words
    assert f"ε = {display(Fraction(ledger_of(served)['spent']))}" in page.words
    served.ask(uuid4().hex, {**COUNT, "where": "age <= 18"}, "zoe")
    said = olga.get(f"{LEDGER}/statement").words
    assert "Number of rows where age <= 18 zoe 0.01" in said
    assert re.search(r"These have asked: [^.]*zoe[^.]*\. Who received the answers is not known", said)
    for name, kind in (("statement.html", "text/html"), ("statement.md", "text/markdown")):
        file = olga.get(f"{LEDGER}/files/{name}")
        assert (file.status, file.headers["content-type"]) == (200, kind)
        assert "attachment" in file.headers["content-disposition"]


def test_entries_of_one_analyst(served, visit):
    olga = visit("olga")
    served.ask(uuid4().hex, {**COUNT, "where": "age <= 17"}, "zoe")
    rows = list(csv.DictReader(io.StringIO(olga.get(f"{LEDGER}/files/ledger.csv?analyst=zoe").html)))
    assert {row["analyst"] for row in rows} == {"zoe"}
    assert rows[-1]["question"] == "Number of rows where age <= 17"
    assert "Number of rows where age <= 17" not in olga.get(f"{LEDGER}?analyst=%3Acurators").words
    assert olga.get(f"{LEDGER}?analyst=nobody").status == 400
    for number in ("0", "x", "-1", "9" * 400):
        assert olga.get(f"{LEDGER}?page={number}").status == 400
    assert olga.get(f"{LEDGER}?page=999999").status == 200


# ---- hostile and large ledgers, without a service --------------------------------------------------------------------


class Alone(Visit):
    """A visit to a service that has this ledger."""

    def __init__(self, ledger, **query):
        query = {name: [value] for name, value in query.items()}
        site = SimpleNamespace(settings={}, base="")
        super().__init__("GET", LEDGER, query, {}, Visitor("token", "olga", "curator"), site)
        self.ledger = ledger

    def session(self, table):
        kernel = SimpleNamespace(known_budget=self.ledger.budget)
        return SimpleNamespace(kernel=kernel, unit="row", about={"waiting": 0})

    def ask(self, method, path, body=None):
        if path.endswith("/ledger"):
            return report_to_plain(self.ledger.report())
        rows = [
            {"analyst": row.analyst, "id": row.id, "request": json.loads(row.body), "status": row.status}
            for row in self.ledger.requests()
        ]
        return {"requests": rows}


@pytest.fixture
def hostile():
    """A ledger whose names, words and questions are payloads."""
    names = ["=cmd|'/C calc'!A0", HOSTILE[:25], "@SUM(1+1)*cmd"]
    with Ledger.open(None, total=3, dataset=HOSTILE) as ledger:
        for name in names:
            ledger.set_analyst(name, part=1, consent=HOSTILE)
            body = json.dumps({"task": {"task": "count"}, "epsilon": "0.1", "where": f"ward = '{HOSTILE}'"})
            ledger.begin_request(name, "one", body=body)
            with ledger.on_behalf(name, "one"):
                ledger.settle(ledger.debit(Fraction(1, 10), lineage=[HOSTILE, "+1\x1b[2J"], operator=HOSTILE), "failed")
        yield ledger, names


def test_payloads_are_text(hostile):
    ledger, names = hostile
    for whose in ("", *names):
        html = ledger_pages.ledger(Alone(ledger, analyst=whose), HOSTILE).body.decode()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}" in html
        assert "\x1b" not in html
    for name in ("statement.html", "statement.md", "ledger.csv", "ledger.json"):
        page = ledger_pages.saved(Alone(ledger), HOSTILE, name)
        assert "\x1b" not in page.body.decode()
        assert "<" not in page.headers["content-disposition"].split(";")[1]
    assert "<script>alert" not in ledger_pages.saved(Alone(ledger), HOSTILE, "statement.html").body.decode()
    assert "<script>alert" not in ledger_pages.statement(Alone(ledger), HOSTILE).body.decode()


def test_no_spreadsheet_runs_an_entry(hostile):
    ledger, names = hostile
    rows = list(csv.DictReader(io.StringIO(ledger_pages.saved(Alone(ledger), HOSTILE, "ledger.csv").body.decode())))
    assert [row["analyst"] for row in rows] == [harmless(name) for name in names]
    assert rows[0]["analyst"].startswith("'=")
    for row in rows:
        assert not any(text[:1] in "=+-@\t" for text in row.values() if text)


def test_a_long_ledger_has_pages_and_none_is_long():
    with Ledger.open(None, total=3, dataset="visits") as ledger:
        for _ in range(250):
            ledger.debit(Fraction(1, 100), lineage=["visits"], operator="noisy count")
        seen = []
        for number in (1, 2, 3):
            html = ledger_pages.ledger(Alone(ledger, page=str(number)), "visits").body.decode()
            seen.append(html.count("noisy count"))
            assert f"page {number} of 3" in html
            assert ("Earlier" in html, "Later" in html) == (number < 3, number > 1)
    assert seen == [100, 100, 50]


def test_a_question_is_one_line_with_its_measurements_folded():
    with Ledger.open(None, total=3, dataset="visits") as ledger:
        ledger.begin_request(None, "one", body=json.dumps({"task": {"task": "count"}, "epsilon": "0.3"}))
        for share in (Fraction(1, 10), Fraction(1, 5)):
            with ledger.on_behalf(None, "one"):
                ledger.settle(ledger.debit(share, lineage=["visits"], operator=f"noisy part {share}"), "answered")
            ledger.debit(Fraction(1, 100), lineage=["visits"], operator="in a notebook")
        html = ledger_pages.ledger(Alone(ledger), "visits").body.decode()
    rows = [row.partition("</tr>")[0] for row in html.split('id="entries"')[1].split("<tr>")[2:]][:3]
    assert ["Number of rows" in row for row in rows] == [False, True, False]
    assert ["asked by the owner, in Python or a shell" in row for row in rows] == [True, False, True]
    assert "<summary>entries 1 to 3</summary>" in rows[1]
    assert rows[1].count("noisy part") == 2
    assert '<td class="n" data-label="ε">0.3</td>' in rows[1]
    assert "for everybody else" not in html  # nobody else may spend
    assert "curators" not in html.split('id="entries"')[1].replace("only curators", "")


def test_words_lead_back_to_the_table(visit):
    olga = visit("olga")
    assert 'href="/words?table=people"' in olga.get("/tables/people").html
    assert 'href="/tables/people">people</a>' in olga.get("/words?table=people").html
    assert "<script>alert" not in Visiting.get(olga, f"/words?table={HOSTILE.replace(' ', '')}").html


def test_tables_with_one_ledger_say_so(tmp_path):
    with Ledger.open(tmp_path / "both", total=2, dataset="visits") as ledger:
        ledger.debit(Fraction(1), lineage=["visits"], operator="x")
    with Ledger.open(tmp_path / "both", total=2, dataset="stays", accept={"add dataset"}) as ledger:
        ledger.debit(Fraction(1, 2), lineage=["stays"], operator="x")
        html = ledger_pages.ledger(Alone(ledger), "stays").body.decode()
    assert "visits, stays share this ledger: one total holds for all of them together" in html


@pytest.mark.parametrize("plain", [None, 3, "x", {}, {"task": "no such"}, {"task": {"task": "count"}, "epsilon": -1}])
def test_a_request_that_cannot_be_read_is_shown_all_the_same(plain):
    assert "cannot put into words" in str(question_of(plain))


def test_one_that_measures_itself_says_so():
    assert "program that runs at the analyst" in str(question_of({"measure": {"door": "x"}}))
