"""A table on which something was spent: its schema stays, its total rises with consent, another ledger needs a tick."""

import uuid

import pytest

from adyton.kernel.ledger import Ledger
from service.pages.opened import SCHEMA, VISITS, Opened

FORM = {"c0-kind": "integer", "c0-min": "0", "c0-max": "119", "whose": "row", "rows_per_unit": "1", "total": "1"}
USED_UP = "The budget is used up. Results, comparisons and synthetic rows stay free."


@pytest.fixture(scope="module")
def spent(tmp_path_factory):
    """A table that was opened by the form, and on which the whole total was spent."""
    folder = tmp_path_factory.mktemp("spent")
    (folder / "visits.csv").write_text(VISITS)
    with Opened(folder, "visits.csv") as service:
        service.visitor, _ = service.enter()
        page = service.visitor.post("/new/visits.csv", step="open", **FORM)
        assert "Every single person is protected" in page.words
        released(service.visitor, "1")
        yield service


def released(visitor, epsilon):
    asked = {"question": "all", "epsilon": epsilon, "price": epsilon, "id": uuid.uuid4().hex, "do": "release"}
    page = visitor.post("/tables/visits.csv/ask", **asked)
    assert page.path.startswith("/tables/visits.csv/results/")


def files(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix in (".csv", ".toml")}


def test_with_nothing_left_one_sentence_says_so_and_nothing_invites_to_release(spent):
    for path in ("", "/ask", "/ask?question=all", "/results", "/compare", "/ledger"):
        page = spent.visitor.get(f"/tables/visits.csv{path}")
        assert page.words.count(USED_UP) == 1, path
        assert 'id="release"' not in page.html
        assert "is left. Ask" not in page.words
    assert "Rehearse, free" in spent.visitor.get("/tables/visits.csv/ask?question=all").words
    assert "Ask a question" not in spent.visitor.get("/tables/visits.csv").words


def test_its_schema_is_shown_and_not_changed(spent):
    page = spent.visitor.get("/new/visits.csv")
    assert "ε = 1 of 1 was spent on this table with visits.ledger, so its schema can no longer be changed" in page.words
    assert 'name="c0-kind"' not in page.html
    before, served = files(spent.folder), spent.processes()
    page = spent.visitor.post("/new/visits.csv", step="open", replace="yes", **FORM | {"c0-max": "120", "total": ""})
    assert page.status == 409
    assert "Nothing was changed, and nothing was opened" in page.words
    assert (files(spent.folder), spent.processes()) == (before, served)
    assert 'value="120"' not in spent.visitor.get("/new/visits.csv").html


def test_another_ledger_needs_the_owner_and_says_what_was_spent(spent):
    other = FORM | {"ledger": "second.ledger", "total": "3"}
    before, served = files(spent.folder), spent.processes()
    page = spent.visitor.post("/new/visits.csv", step="open", **other)
    assert page.status == 400
    assert "ε = 1 of 1 was spent on this table in visits.ledger" in page.words
    assert "protected by ε = 4 together" in page.words
    assert (files(spent.folder), spent.processes()) == (before, served)
    assert not (spent.folder / "second.ledger").exists()


def test_the_total_rises_with_consent_and_the_open_table_has_it(spent):
    for typed, words in [
        ({"total": "2", "consent": " "}, "Say who consents"),
        ({"total": "0.5", "consent": "Ann"}, "can only be raised: it is 1 now, given 0.5. Write a number above 1."),
        ({"total": "1", "consent": "Ann"}, "can only be raised"),
        ({"total": "2,5", "consent": "Ann"}, "Write 2.5 with a dot"),
        ({"total": "2", "consent": "Ann" * 200}, "at most 500 characters, given 600"),
        ({"total": "20", "consent": "Ann"}, "protects hardly anybody"),
        ({"total": "much", "consent": "Ann"}, "finite number"),
        ({"total": "2", "consent": "Ann"}, "the word that the terminal shows"),
        ({"total": "2", "consent": "Ann", "word": "0" * 10}, "the word that the terminal shows"),
    ]:
        page = spent.visitor.post("/tables/visits.csv/ledger", **typed)
        assert page.status == 400
        assert words in page.words
    assert Ledger.read(spent.folder / "visits.ledger").total == 1
    page = spent.visitor.post(
        "/tables/visits.csv/ledger", total="2", consent="Ann Lee, second edition", word=spent.word
    )
    assert "ε = 1 of 2 left" in page.words
    (event,) = Ledger.read(spent.folder / "visits.ledger").events
    assert (event.old, event.new, event.consent) == ("1", "2", "Ann Lee, second edition")
    released(spent.visitor, "0.5")
    assert (
        "Privacy unit. One person, with at most 1 row" in spent.visitor.get("/tables/visits.csv/ledger/statement").words
    )


def test_another_ledger_with_a_tick_records_that_it_adds(spent):
    page = spent.visitor.post("/new/visits.csv", step="open", another="yes", **FORM | {"ledger": "second.ledger"})
    assert (page.status, "the word that the terminal shows" in page.words) == (400, True)
    assert not (spent.folder / "second.ledger").exists()
    allowed = {"another": "yes", "word": spent.word, "ledger": "second.ledger"}
    page = spent.visitor.post("/new/visits.csv", step="open", **FORM | allowed)
    assert "ε = 1 of 1 left" in page.words
    (event,) = Ledger.read(spent.folder / "second.ledger").events
    assert event.changed == "other ledgers"
    assert "ε = 1.5 of 2 in visits.ledger" in event.new
    back = spent.visitor.post("/new/visits.csv", step="open", **FORM | {"ledger": "visits.ledger", "total": ""})
    assert "ε = 0.5 of 2 left" in back.words


def test_a_draft_says_that_it_is_not_saved_and_is_discarded(tmp_path):
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "visits.toml").write_text(SCHEMA)
    with Opened(tmp_path, "visits.csv") as service:
        visitor, page = service.enter()
        assert "not saved" not in page.words
        refused = visitor.post("/new/visits.csv", step="open", replace="yes", **FORM | {"c0-max": "9", "total": "x"})
        assert 'id="f-replace">' in refused.html  # the tick is not kept
        page = visitor.get("/new/visits.csv")
        assert "not saved: visits.toml says something else" in page.words
        assert 'value="9"' in page.html
        page = visitor.post("/new/visits.csv", step="discard")
        assert "not saved" not in page.words
        assert 'value="9"' not in page.html
