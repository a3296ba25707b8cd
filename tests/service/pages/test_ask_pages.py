"""Asking in the browser: every question gives the right request, every wrong value its sentence at its field, and
nothing is paid for twice."""

import json
import re
import threading
import time
from fractions import Fraction
from html import unescape
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

import adyton as ad
from adyton.errors import BudgetExceeded
from adyton.kernel.ledger import Ledger
from adyton.programs.counts import CountsOutlook
from adyton.schema import Schema
from adyton.service.pages.asking import outlooks
from adyton.service.pages.asking import views as asking
from adyton.service.pages.asking.drafts import read_draft
from adyton.service.pages.asking.fields import Form, Inputs
from adyton.service.pages.asking.filters import FIELDS, with_conditions
from adyton.service.pages.asking.questions import QUESTIONS, fields_of
from adyton.session.rehearsal import facts_of
from adyton.session.session import Session
from adyton.tasks.request import Request

SCHEMA = Schema(
    {
        "age": ad.Integer(0, 99),
        "sex": ad.Categorical(["F", "M"]),
        "ward": ad.Categorical(["eye", "ear"]),
        "cost": ad.Numeric(0, 1000, bins=100),
        "home": ad.Point(box=(-74.3, 40.5, -73.7, 40.9), grid=8),
        "day": ad.Date("2024-01-01", "2024-12-31"),
        "ill": ad.Boolean(),
    },
    unit="person",
    rows=2000,
)


class Desk(Session):
    """A session without a table: what a form asks of it follows from the schema."""

    def __init__(self, schema=SCHEMA, left="10"):
        self.schema = schema
        root = SimpleNamespace(schema=schema, facts=facts_of(schema), from_text=True, stability=1)
        self.kernel = SimpleNamespace(root=root, known_budget=SimpleNamespace(remaining=Fraction(left)))
        self.consent_above = self.consent_total = None

    unit = "person"
    _root = property(lambda self: self.kernel.root)
    remaining = property(lambda self: self.kernel.known_budget.remaining)

    def _check_where(self, where):
        pass


def draft(desk=None, **fields):
    """A form with one value or several in each field."""
    usual = {"epsilon": "0.5"} | fields
    return read_draft(
        Form({name: own if isinstance(own, list) else [own] for name, own in usual.items()}), desk or Desk()
    )


ASKED = [
    ({"question": "each", "first": "age"}, ad.Histogram("age")),
    ({"question": "each", "first": "age", "second": "sex", "third": "ward"}, ad.Histogram("age", "sex", "ward")),
    ({"question": "each", "first": "home"}, ad.Histogram("home")),
    ({"question": "between", "first": "age"}, ad.Ranges("age")),
    ({"question": "between", "first": "age", "second": "sex"}, ad.Ranges("age", "sex")),
    ({"question": "up-to", "first": "cost"}, ad.Cdf("cost")),
    ({"question": "all"}, ad.Count()),
    ({"question": "people"}, ad.Units()),
    ({"question": "rows-of-people", "most": "12"}, ad.RowsPerUnit(12)),
    ({"question": "summary", "number": "cost", "by": "sex"}, ad.Summary("cost", by="sex")),
    ({"question": "mean", "number": "cost", "rows": "1,000"}, ad.Mean("cost", rows=1000)),
    ({"question": "sum", "number": "age", "by": "sex", "by2": "ward"}, ad.Sum("age", by=["sex", "ward"])),
    ({"question": "quantiles", "number": "cost", "at": "median"}, ad.Quantiles("cost", "median")),
    ({"question": "quantiles", "number": "cost", "at": "0.1, 0.9"}, ad.Quantiles("cost", [0.1, 0.9])),
    ({"question": "deviation", "number": "age"}, ad.Variance("age")),
    ({"question": "pairs"}, ad.Marginals(way=2, cells=10)),  # many small counts would be noise alone
    ({"question": "pairs", "cells": ""}, ad.Marginals(way=2)),
    (
        {"question": "pairs", "attributes": ["age", "sex"], "cells": "10"},
        ad.Marginals(way=2, attrs=["age", "sex"], cells=10),
    ),
    ({"question": "classifier", "label": "ill"}, ad.Classifier("ill")),
    (
        {"question": "classifier", "label": "ill", "attributes": ["age", "sex"], "method": "naive-bayes"},
        ad.Classifier("ill", ["age", "sex"], method="naive-bayes", cells="auto"),
    ),
    (
        {"question": "classifier", "label": "ill", "method": "majority", "metric": "auc"},
        ad.Classifier("ill", method="majority", metric="auc"),
    ),
    (
        {"question": "classifier", "label": "ill", "metric": "balanced accuracy", "cells": "as declared"},
        ad.Classifier("ill", metric="balanced accuracy", cells=None),
    ),
    ({"question": "classifier", "label": "ill", "cells": "8"}, ad.Classifier("ill", cells=8)),
]


@pytest.mark.parametrize(("fields", "task"), ASKED, ids=lambda own: str(own)[:60])
def test_each_question_gives_its_task_and_the_task_its_fields(fields, task):
    found = draft(**fields)
    assert found.problems == {}
    assert found.request == Request.of(task, "0.5")
    again = read_draft(Form(fields_of(found.request, SCHEMA)), Desk())
    assert again.question.key == fields["question"]
    assert again.request == found.request


def test_what_rows_are_to_predict_is_an_option_of_the_algorithm():
    found = draft(question="pairs", label="ill", algorithm="select-pairs")
    assert found.problems == {}
    assert found.request.options == {"label": "ill"}
    assert read_draft(Form(fields_of(found.request, SCHEMA)), Desk()).request == found.request
    assert (
        "all-pairs has no option" in draft(question="pairs", label="ill", algorithm="all-pairs").problems["algorithm"]
    )


def test_every_question_is_tried_and_asks_nothing_that_nobody_chose():
    """A form begins with "choose …" wherever an attribute is needed; with one chosen in each, it is right."""
    assert {fields["question"] for fields, _ in ASKED} == set(QUESTIONS)
    for key, question in QUESTIONS.items():
        inputs = question.inputs(Inputs(Form({}), SCHEMA))
        usual = {own.name: own.usual for own in inputs if own.usual}
        needed = [own for own in inputs if own.kind == "select" and own.options[0][1] == "choose …"]
        assert all(own.options[0][0] == "" and own.chosen == ("",) for own in inputs if own.kind == "select")
        first = draft(question=key, **usual)
        assert first.unfinished == [own.name for own in needed]
        assert (first.request is None) == bool(needed)
        chosen = {own.name: own.options[1][0] for own in needed}
        assert draft(question=key, **usual, **chosen).request is not None


def test_a_form_in_which_nothing_is_chosen_has_no_price(visit):
    mara = visit("mara")
    page = mara.get("/tables/people/ask?question=each")
    assert '<option value="" selected>choose …</option>' in page.html
    assert "Choose an attribute" in page.words
    assert 'name="price"' not in page.html
    assert "aria-invalid" not in page.html
    sent = mara.post("/tables/people/ask", id=re.search(r'name="id" value="(\w+)"', page.html)[1], question="each",
                     epsilon="0.1", price="0.1")  # fmt: skip
    assert sent.status == 400
    assert 'id="p-first">Choose an attribute' in sent.html


def test_a_question_that_the_schema_does_not_allow_says_why():
    plain = Schema({"sex": ad.Categorical(["F", "M"])})
    missing = {key: question.missing(plain) for key, question in QUESTIONS.items()}
    assert {key for key, why in missing.items() if not why} == {"each", "all"}
    assert all(why.endswith(".") for why in missing.values() if why)


@pytest.mark.parametrize(
    ("field", "fields", "said"),
    [
        ("epsilon", {"epsilon": ""}, "Give a budget"),
        ("epsilon", {"epsilon": "0,5"}, "Write 0.5 with a dot"),
        ("epsilon", {"epsilon": "-1"}, "greater than 0"),
        ("epsilon", {"epsilon": "1e-99"}, "too many digits"),
        ("epsilon", {"epsilon": "11"}, "Ask for at most 10"),
        ("first", {"first": ""}, "Choose an attribute"),
        ("first", {"first": "agee"}, "Did you mean 'age'?"),
        ("second", {"second": "age"}, "You have chosen age already"),
        ("first", {"question": "between", "first": "sex"}, "no order"),
        ("where", {"where": "age >"}, "cannot be read"),
        ("where", {"where": "sum(age) > 3"}, "function"),
        ("condition-0", {"condition": ["sex"], "comparison": ["="], "value": ["Q"]}, "no level 'Q'"),
        ("condition-0", {"condition": ["age"], "comparison": [">="], "value": ["old"]}, "a number"),
        ("condition-0", {"condition": ["age"], "comparison": [">="], "value": [""]}, "Give a value"),
        ("condition-0", {"condition": [""], "comparison": ["="], "value": ["4"]}, "Choose the attribute"),
        ("algorithm", {"algorithm": "magic"}, "no algorithm 'magic'"),
        ("algorithm", {"algorithm": "quadtree"}, "2 dimensions"),
        ("misfits", {"misfits": "2"}, "less than 1"),
        ("misfits", {"misfits": "many"}, "finite number"),
        ("most", {"question": "rows-of-people", "most": "0"}, "from 1 to 100,000"),
        ("most", {"question": "rows-of-people", "most": ""}, "such as 20"),
        ("number", {"question": "sum", "number": "sex"}, "no sum"),
        ("by", {"question": "sum", "number": "age", "by": "age"}, "You have chosen"),
        ("by2", {"question": "sum", "number": "age", "by": "sex", "by2": "sex"}, "You have chosen"),
        ("rows", {"question": "mean", "number": "age", "rows": "few"}, "a whole number"),
        ("rows", {"question": "mean", "number": "age", "rows": "0,5"}, "given '0,5'"),
        ("at", {"question": "quantiles", "number": "age", "at": "0,1"}, "Write 0.1 with a dot, or 0, 1 with a blank"),
        ("at", {"question": "quantiles", "number": "age", "at": "0.5, 3"}, "from 0 to 1"),
        ("attributes", {"question": "pairs", "attributes": ["age"]}, "at least two"),
        ("cells", {"question": "pairs", "cells": "-2"}, "a whole number"),
        ("label", {"question": "classifier", "label": ""}, "what to predict"),
        ("label", {"question": "classifier", "label": "age"}, "age"),
        ("attributes", {"question": "classifier", "label": "ill", "attributes": ["ill"]}, "Leave it out"),
        ("method", {"question": "classifier", "label": "ill", "method": "os.system"}, "no method"),
        ("metric", {"question": "classifier", "label": "ill", "metric": "luck"}, "no metric"),
        ("cells", {"question": "classifier", "label": "ill", "cells": "few"}, "auto, a number"),
        ("cells", {"question": "classifier", "label": "ill", "cells": "1"}, "a number from 2"),
        ("cells", {"question": "classifier", "label": "ill", "cells": "8", "method": "majority"}, "cells"),
        ("label", {"question": "pairs", "attributes": ["age", "sex"], "label": "ill"}, "Tick it"),
        ("", {"question": "nothing"}, "no question"),
        ("", {"question": "given", "given": "{"}, "cannot be read"),
        ("", {"question": "given", "given": '{"task": {"task": "count"}, "known": "/etc/passwd"}'}, "not as the name"),
    ],
)
def test_a_wrong_value_has_its_sentence_at_its_field(field, fields, said):
    found = draft(**({"question": "each", "first": "age"} | fields))
    assert list(found.problems) == [field]
    assert said in found.problems[field]


def test_the_filter_joins_conditions_and_text():
    rows = {
        "condition": ["age", "sex", "day", ""],
        "comparison": [">=", "=", "there", "="],
        "value": ["65", " F ", "", ""],
    }
    found = draft(question="all", where="cost < 10 or ill", **rows)
    assert found.problems.keys() == {"where"}  # a condition is a comparison
    found = draft(question="all", where="cost < 10 or ill = true", **rows)
    assert found.request.where == "(cost < 10 or ill = true) and age >= 65 and sex = 'F' and not day is null"
    assert [line.name for line in found.conditions] == ["age", "sex", "day", ""]


@pytest.mark.parametrize(
    ("row", "where"),
    [
        (("age", "between", "30, 59"), "age between 30 and 59"),
        (("age", "between", "30-59"), "age between 30 and 59"),
        (("ward", "in", "eye, Ear"), "ward in ('eye', 'ear')"),
        (("ill", "=", "yes"), "ill = true"),
        (("day", "between", "2024-02 to 2024-03"), "day between '2024-02' and '2024-03'"),
        (("age", "missing", ""), "age is null"),
    ],
    ids=lambda own: str(own)[:30],
)
def test_a_condition_is_the_same_row_when_it_is_asked_again(row, where):
    found = draft(question="all", **dict(zip(FIELDS, row, strict=True)))
    assert found.request.where == where
    again = with_conditions(fields_of(found.request, SCHEMA), SCHEMA)
    assert again["where"] == [""]
    assert read_draft(Form(again), Desk()).request == found.request
    assert again["condition"] == [row[0]]


def test_a_formula_that_no_rows_mean_stays_a_formula():
    fields = fields_of(draft(question="all", where="age > 3 or ill = true").request, SCHEMA)
    assert with_conditions(fields, SCHEMA) == fields


def test_a_median_keeps_its_name():
    assert fields_of(draft(question="quantiles", number="cost", at="median").request, SCHEMA)["at"] == ["median"]
    assert fields_of(draft(question="quantiles", number="cost", at="0.1").request, SCHEMA)["at"] == ["0.1"]


def test_a_range_that_ends_before_it_begins_is_refused_and_one_beyond_the_bounds_noted():
    def aged(value):
        return draft(question="all", condition="age", comparison="between", value=value)

    assert "ends before it begins" in aged("59 to 30").problems["condition-0"]
    assert "no value from 150 to 200 is expected" in aged("150 to 200").problems["condition-0"]
    assert aged("30 to 200").notes == ["in the schema, age goes from 0 to 99: from 30 to 200 goes beyond that."]
    assert aged("30 to 99").notes == []
    assert aged("30,99").notes == []  # no number of years has decimals
    formula = draft(question="all", where="age between 150 and 200")  # to count such rows on purpose
    assert formula.request is not None
    assert formula.notes


@pytest.mark.parametrize(
    ("name", "comparison", "value", "said"),
    [
        ("age", "=", "200", "no value of 200 is expected"),
        ("age", ">=", "200", "in the schema, age goes from 0 to 99: no value of at least 200 is expected"),
        ("age", ">", "99", "no value above 99 is expected"),
        ("age", "<=", "-1", "no value of at most -1 is expected"),
        ("age", "<", "0", "no value below 0 is expected"),
        ("age", "in", "200, 300", "no value of 200, 300 is expected"),
        ("day", ">", "2024-12-31", "no value above 2024-12-31 is expected"),
        ("cost", "between", "0,5", "Write 0.5 with a dot. Two numbers are written 0 to 5"),
        ("cost", "in", "0,5", "Two numbers are written 0; 5"),
        ("cost", "=", "0,5", "Write 0.5 with a dot"),
    ],
)
def test_a_condition_beyond_the_bounds_is_refused_and_its_formula_noted(name, comparison, value, said):
    found = draft(question="all", condition=name, comparison=comparison, value=value)
    assert said in found.problems["condition-0"]
    if "expected" in said:
        literal = f"'{value}'" if name == "day" else f"({value})" if comparison == "in" else value
        found = draft(question="all", where=f"{name} {comparison} {literal}")
        assert found.request is not None
        assert said in found.notes[0]


def test_a_condition_that_reaches_beyond_the_bounds_is_noted():
    def noted(comparison, value):
        found = draft(question="all", condition="age", comparison=comparison, value=value)
        assert found.request is not None
        return found.notes

    assert noted(">=", "-5") == ["in the schema, age goes from 0 to 99: at least -5 goes beyond that."]
    assert noted("<=", "200") == ["in the schema, age goes from 0 to 99: at most 200 goes beyond that."]
    assert noted("!=", "200") == ["in the schema, age goes from 0 to 99: every value is other than 200."]
    assert noted("in", "20, 200") == ["in the schema, age goes from 0 to 99: 20, 200 goes beyond that."]
    assert noted(">=", "0") == noted("<=", "99") == noted("=", "99") == noted(">", "98") == noted("!=", "5") == []


def test_names_that_have_no_bounds_are_compared_as_they_are():
    found = draft(question="all", condition=["sex", "ill"], comparison=["!=", "="], value=["F", "yes"])
    assert found.request is not None
    assert found.notes == []


def test_names_and_levels_that_are_hostile_are_only_texts():
    name, level = 'a\r\n"b"\u202e,<script>alert(1)</script>', "' or true -- =cmd|' {{7*7}}"
    desk = Desk(Schema({name: ad.Categorical([level, "x"]), "n": ad.Integer(0, 9)}))
    found = draft(
        desk, question="each", first=name.replace("\r\n", "\n"), condition=[name], comparison=["="], value=[level]
    )
    assert found.request.task == ad.Histogram(name)
    assert level.replace("'", "''") in found.request.where


# ---- the pages ------------------------------------------------------------------------------------------------------

ASK = "/tables/people/ask"


def fields_in(page):
    """The hidden fields of a form, as a browser sends them."""
    return {"id": page.field("id"), "question": page.field("question")}


def problem_at(page, field):
    found = re.search(rf'id="p-{field}">([^<]*)<', page.html)
    return found and unescape(found[1])


def spent(served):
    return Ledger.read(served.folder / "people.ledger").spent


def test_the_questions_are_offered_with_reasons_for_those_that_are_not(visit):
    page = visit().get(ASK)
    assert page.status == 200
    assert "How many rows of each" in page.words
    assert "Not for this table. The schema does not say which column names the person" in page.words
    assert "question=people" not in page.html


def test_what_to_expect_has_the_numbers_of_a_preview(served, visit):
    mara, session = visit(), served.connect()
    for fields, task in (
        ({"question": "each", "first": "age"}, ad.Histogram("age")),
        ({"question": "between", "first": "age", "second": "sex"}, ad.Ranges("age", "sex")),
        ({"question": "all"}, ad.Count()),
        ({"question": "quantiles", "number": "age", "at": "median"}, ad.Quantiles("age", "median")),
    ):
        page = mara.get(f"{ASK}/outlook?{urlencode(fields | {'epsilon': '0.4'})}")
        preview = session.preview(task, "0.4")
        assert "<html" not in page.html
        assert preview.outcome
        assert preview.outcome in page.words
        assert all(" ".join(note.split()) in page.words for note in preview.notes)
        for name, error, *_ in preview.lines()[1:]:
            assert f">{name}</th><td>{error}</td>" in page.html
        assert "Release for ε = 0.4" in page.words
        assert page.html.count("<svg") == 1


def test_the_epsilon_for_an_error_is_that_of_the_session(served, visit):
    mara = visit()
    form = fields_in(mara.get(f"{ASK}?question=each"))
    page = mara.post(ASK, **form, do="fit", first="age", epsilon="9", error="±20")
    expected = served.connect().epsilon_for(ad.Histogram("age"), "±20")
    assert page.field("epsilon") == str(expected)
    assert expected.sentence in page.words
    for error, of, field in (("", "", "error"), ("5%", "", "of"), ("5%", "x", "of"), ("soon", "", "error")):
        page = mara.post(ASK, **form, do="fit", first="age", epsilon="9", error=error, of=of)
        assert page.status == 400
        assert problem_at(page, field)
        assert page.field("epsilon") == "9"


def test_a_form_with_a_mistake_keeps_everything_and_spends_nothing(served, visit):
    mara, before = visit(), spent(served)
    hostile = "<script>alert('{{7*7}}')</script>=1+1"
    form = fields_in(mara.get(f"{ASK}?question=each"))
    page = mara.post(ASK, **form, first=hostile, where=hostile, epsilon=hostile, price=hostile, algorithm=hostile)
    assert page.status == 400
    assert all(problem_at(page, field) for field in ("first", "where", "epsilon"))
    assert unescape(page.field("epsilon")) == unescape(page.field("where")) == hostile
    assert "<script>alert" not in page.html
    assert "49" not in problem_at(page, "epsilon")
    live = mara.get(f"{ASK}/outlook?{urlencode({**form, 'first': hostile, 'epsilon': hostile})}")
    assert "<script>" not in live.html
    assert 'data-of="f-epsilon"' in live.html
    mara.form_key = ""
    assert mara.post(ASK, **form, first="age", epsilon="0.1", price="0.1").status == 400
    assert spent(served) == before


def test_a_rehearsal_costs_nothing_and_leads_back(served, visit):
    mara, before = visit(), spent(served)
    form = fields_in(mara.get(f"{ASK}?question=each"))
    page = mara.post("/tables/people/rehearse", **form, first="age", where="sex = 'F'", epsilon="0.3")
    assert page.status == 200
    assert "made up" in page.words
    assert page.field("id") == form["id"]  # so that a release from here is never paid for twice
    assert '<button name="price" value="0.3">Release for ε = 0.3' in page.html
    back = mara.get(unescape(re.search(r'href="(/tables/people/ask\?[^"]*)"', page.html)[1]))
    assert back.field("epsilon") == "0.3"
    assert unescape(back.field("where")) == "sex = 'F'"
    assert '<option value="age" selected>' in back.html
    assert spent(served) == before
    assert mara.post("/tables/people/rehearse", **form, first="age", epsilon="none").status == 400


def test_the_same_form_pays_once_and_another_price_is_not_sent(served, visit):
    mara, before = visit(), spent(served)
    form = fields_in(mara.get(f"{ASK}?question=all"))
    page = mara.post(ASK, **form, epsilon="0.2", price="0.1")
    assert page.status == 400
    assert "now asks for ε = 0.2" in page.words
    assert page.field("id") != form["id"]
    places, asked = [], {**form, "epsilon": "0.2", "price": "0.2"}
    clicks = [threading.Thread(target=lambda: places.append(mara.post(ASK, follow=False, **asked))) for _ in range(3)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    places.append(mara.post(ASK, follow=False, **asked))
    assert {(page.status, page.headers["location"]) for page in places} == {
        (303, f"/tables/people/results/{form['id']}")
    }
    assert served.connect().fetch(form["id"]).epsilon == Fraction(1, 5)
    assert spent(served) == before + Fraction(1, 5)
    other = mara.post(ASK, **form, epsilon="0.3", price="0.3")
    assert other.status == 409
    assert "sent before, with another request" in other.words
    assert f"results/{form['id']}" in other.html
    assert other.field("id") not in (form["id"], None)
    assert mara.post(ASK, question="all", id="", epsilon="0.3", price="0.3").status == 400
    assert spent(served) == before + Fraction(1, 5)


def test_two_visitors_who_want_the_rest_of_the_budget(served, visit):
    one, other = visit("zoe"), visit("zoe")
    left = served.connect("zoe").remaining
    forms = [(person, fields_in(person.get(f"{ASK}?question=each"))) for person in (one, other)]
    most, pages = str(left * 2 / 3), []

    def send(person, form):
        page = person.post(ASK, follow=False, **form, first="sex", epsilon=most, price=most, sure=most)
        pages.append((page.status, page, person))

    both = [threading.Thread(target=send, args=pair) for pair in forms]
    for sending in both:
        sending.start()
    for sending in both:
        sending.join()
    said = [problem_at(page, "epsilon") for status, page, _ in pages if status in (400, 409)]
    places = [(person, page.headers["location"]) for status, page, person in pages if status == 303]
    assert len(said) + len(places) == 2
    ended = {place: outcome(person, place) for person, place in places}
    said += [words for words in ended.values() if "was not carried out" in words]  # what took longer is said there
    (words,) = said
    assert "is left" in words
    assert "Ask for at most" in words
    (done,) = (place for place, words in ended.items() if "was not carried out" not in words)
    served.connect("zoe").fetch(done.rpartition("/")[2])
    assert served.connect("zoe").remaining == left / 3


def outcome(visitor, place):
    """What the page of a request says in the end."""
    for _ in range(1200):
        words = visitor.get(place).words
        if "Files to save" in words or "was not carried out" in words:
            return words
        time.sleep(0.1)
    raise AssertionError(words)


def test_what_the_service_refuses_later_is_kept_for_the_page_of_the_result(monkeypatch):
    late, kept = threading.Event(), {}

    class Slow:
        def call(self, *sent):
            late.wait(60)
            raise BudgetExceeded("Too late.", asked=Fraction(1), left=Fraction(0), total=Fraction(1))

    visit = SimpleNamespace(person=SimpleNamespace(kept=kept), client=Slow())
    monkeypatch.setattr(asking, "_SECONDS_TO_SEE", 0.01)
    assert asking._sent(visit, "people", "a", Request.of(ad.Count(), 1)) is None
    assert ("people", "a") not in kept.get("refused", {})
    late.set()
    end = time.monotonic() + 60
    while ("people", "a") not in kept.get("refused", {}) and time.monotonic() < end:
        time.sleep(0.01)
    assert str(kept["refused"]["people", "a"]) == "Too late."


def test_nothing_expensive_is_computed_twice(monkeypatch):
    counted, half_width = [], CountsOutlook.half_width

    def counting(self, epsilon):
        counted.append(epsilon)
        return half_width(self, epsilon)

    monkeypatch.setattr(CountsOutlook, "half_width", counting)
    asked = Request.of(ad.Cdf("day"), "0.33")
    first = outlooks.expected(Desk(), asked)
    assert len(counted) == len(set(counted)) > 1
    seen = len(counted)
    again = outlooks.expected(Desk(left="5"), asked)
    assert (again.picture, again.preview.remaining) == (first.picture, 5)
    assert len(counted) == seen
    outlooks.expected(Desk(), Request.of(ad.Cdf("day"), "0.34"))
    assert len(counted) == len(set(counted)) > seen


def test_large_budgets_need_a_tick_and_consent_is_said_before(served, visit):
    ben, before = visit("ben"), spent(served)
    page = ben.get(f"{ASK}?question=all&epsilon=3.5")
    assert "Above ε = 1 your requests wait for the curator" in page.words
    assert "Ask for consent: ε = 3.5" in page.words
    form = {**fields_in(page), "epsilon": "3.5", "price": "3.5"}
    unticked = ben.post(ASK, **form)
    assert unticked.status == 400
    assert problem_at(unticked, "sure")
    sent = ben.post(ASK, follow=False, **form, sure="3.5")
    assert sent.status == 303
    waiting = served.call("GET", f"/v1/datasets/people/requests/{form['id']}", who="ben")
    assert (waiting[0], json.loads(waiting[2])["status"]) == (202, "waiting")
    assert served.call("DELETE", f"/v1/datasets/people/requests/{form['id']}", who="ben")[0] == 200
    assert spent(served) == before
    assert "curator's consent" not in visit("mara").get(f"{ASK}?question=all&epsilon=3").words


def test_any_request_can_be_asked_again(visit):
    mara = visit()
    for task in (
        ad.QueryList([{"age": (20, None)}]),
        ad.Histogram("age", "sex", "ward"),
        ad.Classifier("sex", ["age"]),
    ):
        asked = Request.of(task, "1/3", where="age > 3").to_dict()
        page = mara.get(f"{ASK}?{urlencode({'request': json.dumps(asked)})}")
        assert page.status == 200
        assert page.field("epsilon") == "1/3"
        assert "Release for ε = 1/3" in page.words
    for text in ("{", "[]", '{"task": {"task": "tuning"}}', json.dumps(asked | {"known": "/etc/passwd"})):
        page = mara.get(f"{ASK}?{urlencode({'request': text})}")
        assert page.status == 400
        assert "Choose a question from the list" in page.words


def test_what_a_visitor_may_not_see_is_not_there(served, visit):
    stranger = visit("pat")
    for path in (ASK, f"{ASK}?question=all", f"{ASK}/outlook?question=all&epsilon=1"):
        page = stranger.get(path)
        assert page.status >= 400
        assert "age" not in page.words.split()
    assert stranger.post("/tables/people/rehearse", question="all", epsilon="1").status >= 400


def test_what_becomes_of_rows_that_do_not_match_is_what_the_schema_says():
    """A blank value of an attribute with nulls = "level" is counted."""
    schema = ad.Schema(
        {
            "race": ad.Categorical(["a", "b"], nulls="level"),
            "sex": ad.Categorical(["F", "M"], nulls="level", outside="other"),
            "age": ad.Integer(0, 99),
            "stay": ad.Integer(0, 30, nulls="level", outside="clamp"),
        }
    )

    def said(*names, where=None):
        return outlooks._misfits_in_words(schema, Request.of(ad.Histogram(*names), 1, where=where))

    assert said("race") == "Rows with an undeclared race are left out."
    assert said("sex") == "Rows with an undeclared sex count as other values."
    assert said("age") == "Rows with a blank, unreadable or out-of-range age are left out."
    assert said("race", "age") == (
        "Rows with a blank, unreadable or out-of-range age, or an undeclared race are left out."
    )
    assert said("stay") == (
        "Rows with an unreadable stay count as missing. Rows with an out-of-range stay count in the nearest cell."
    )
    assert said("race", where="age >= 18").startswith("Rows with a blank or unreadable age, or an undeclared race")
