"""Every field of every form gets wrong values, in a real browser: one sentence says what was given, what is allowed and
what to do; what was typed elsewhere stays; nothing is spent."""

import json
import re
import shutil
import time
import uuid
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest

import adyton as ad
from adyton.kernel.ledger import Ledger
from adyton.service.pages.asking.questions import QUESTIONS
from adyton.service.pages.new_table.form import FIELDS
from browser import find_chromium
from service.pages.driving import Person
from service.pages.opened import Opened
from service.pages.visiting import forms_of
from service.pages.wrong_values import EVERYWHERE, TABLE, Sent, Typed

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine"),
]
WARDS = ["eye", "ear", "heart", "hand", "foot", "skin", "lung", "bone", "brain", "child", "birth", "cancer", "x", "y"]
SCHEMA = f"""
unit = "who"
rows_per_unit = 3
[attributes.age]
type = "integer"
min = 0
max = 119
[attributes.cost]
type = "numeric"
min = 0
max = 1000
bins = 20
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
[attributes.ward]
type = "categorical"
levels = {json.dumps(WARDS)}
[attributes.day]
type = "date"
min = "2024-01-01"
max = "2024-12-31"
by = "month"
[attributes.ill]
type = "boolean"
[attributes.who]
type = "identifier"
"""
COLUMNS = "age,amount,sex,day,moment,long,ill,note"
BEGUN = {
    "c0-kind": "integer", "c0-min": "0", "c0-max": "119",
    "c1-kind": "numeric", "c1-min": "0", "c1-max": "1000", "c1-bins": "20",
    "c2-kind": "categorical", "c2-levels": "F, M",
    "c3-kind": "date", "c3-first": "2024", "c3-last": "2025", "c3-by": "month",
    "c4-kind": "datetime", "c4-first": "2024", "c4-last": "2025", "c4-by": "month", "c4-zone": "UTC",
    "c5-kind": "duration", "c5-min": "0", "c5-max": "90", "c5-measure": "minutes", "c5-bins": "20",
    "c6-kind": "boolean", "whose": "row", "total": "1",
}  # fmt: skip
"""A form of a schema without a mistake."""
ONE_SENDING = ("id", "form_key", "price", "sure", "do")
"""Fields that a page makes anew."""
HERE = "/tables/clinic.csv"
RESULTS = ("counts", "groups", "rows")
"""Pages of results, whose forms depend on what was asked."""


def written(folder, rows=600):
    """The tables of a folder: one that is described, one that is not, and a wide one."""
    draw = np.random.default_rng(5)
    lines = [
        f"{draw.integers(0, 120)},{draw.integers(0, 1000)},{'FM'[row % 2]},{WARDS[row % 14]},2024-0{row % 9 + 1}-03,"
        f"{'true' if row % 3 else 'false'},{row // 2}"
        for row in range(rows)
    ]
    (folder / "clinic.csv").write_text("\n".join(["age,cost,sex,ward,day,ill,who", *lines]) + "\n")
    (folder / "clinic.toml").write_text(SCHEMA)
    (folder / "wrong.csv").write_text(f"{COLUMNS}\n34,1,F,2024-03-01,2024-03-01 10:00,3,true,x\n")
    for name in ("clinic.csv", "clinic.toml"):
        shutil.copy(folder / name, folder / name.replace("clinic", "third"))
    ad.Session(folder / "third.csv", schema=folder / "third.toml", ledger=folder / "third.ledger", epsilon=1)
    (folder / "wide.csv").write_text(",".join(f"q{number}" for number in range(400)) + "\n")


class Site:
    """The pages of ``adyton open`` and of a service, each with a visitor and a ledger."""

    def __init__(self, browser, opened, served, address, visit_as):
        self.browser, self.opened, self.served = browser, opened, served
        self.own, _ = opened.enter()
        self.olga, self.address = visit_as("olga"), address
        self.local = opened.address
        form = next(form for form in forms_of(self.own.get("/new/clinic.csv")) if "total" in form.names)
        page = self.post(self.own, form.action, [*form.with_value("total", "40"), ("large", "yes"), ("step", "open")])
        assert page.path == HERE, page.words
        counts, numbers, pairs, again = (self.released(**fields) for fields in (
            {"question": "each", "first": "age", "second": "ward", "third": "sex", "algorithm": "identity"},
            {"question": "mean", "number": "age", "by": "sex"},
            {"question": "pairs", "attributes": ["sex", "ill"]},
            {"question": "mean", "number": "age", "by": "sex"},
        ))  # fmt: skip
        ask, given = f"{HERE}/ask?epsilon=0.1&question=", {"task": {"task": "count"}, "options": {"rounds": 4}}
        self.waiting = uuid.uuid4().hex
        sent = {"task": {"task": "count"}, "epsilon": "1.2", "where": "age >= 65"}
        assert served.ask(self.waiting, sent, "ben")[0] == 202
        count = {"task": {"task": "count"}, "epsilon": "0.01"}
        assert served.ask(uuid.uuid4().hex, count, "mara")[0] == 200
        self.pages = {
            **{f"ask-{key}": f"{ask}{key}" for key in QUESTIONS},
            "ask-given": f"{HERE}/ask?{urlencode({'request': json.dumps({**given, 'epsilon': '0.1'})})}",
            "counts": f"{HERE}/results/{counts}",
            "groups": f"{HERE}/results/{numbers}",
            "rows": f"{HERE}/results/{pairs}",
            "results": f"{HERE}/results",
            "compare": f"{HERE}/compare?a={numbers}&b={again}",
            "ledger": f"{HERE}/ledger",
            "new": "/new",
            "schema": "/new/wrong.csv",
            "schema-text": "/new/wrong.csv",
            "wide": "/new/wide.csv",
            "enter": "/enter",
            "people": "/tables/people/people",
            "ledger-served": "/tables/people/ledger",
        }
        self.ledgers = opened.folder / "clinic.ledger", served.folder / "people.ledger"

    def is_served(self, page):
        return page in ("enter", "people", "ledger-served")

    def released(self, **fields):
        """The id of a result."""
        asked = {"epsilon": "0.5", "price": "0.5", "id": uuid.uuid4().hex, "do": "release"} | fields
        page = self.own.post(f"{HERE}/ask", **asked)
        assert page.path == f"{HERE}/results/{asked['id']}", page.words
        end = time.monotonic() + 120
        while self.own.get(f"{page.path}/report").status != 200:
            assert time.monotonic() < end, self.own.get(page.path).words
            time.sleep(0.1)
        assert "data-refresh" not in self.own.get(page.path).html
        return asked["id"]

    def page_of(self, page, name):
        """The page on which a row of the table is tried."""
        if page != "ask":
            return page
        return "ask-mean" if name in ("number", "by", "by2", "rows") else "ask-each"

    def spent(self):
        """All that a mistake must not change."""
        reports = [Ledger.read(path) for path in self.ledgers]
        files = sorted(path.name for path in self.opened.folder.iterdir() if path.suffix in (".toml", ".ledger"))
        return [(own.total, own.spent, len(own.entries), len(own.events)) for own in reports], files

    # ---- without a browser ------------------------------------------------------------------------------------------

    def seen(self, page, more=()):
        """A page, with other values in its form, as somebody sees it who has made no mistake."""
        visitor, path = self.olga if self.is_served(page) else self.own, self.pages[page]
        if page.startswith("schema"):
            self.begin(more, text=page == "schema-text")
        else:
            path = with_query(path, more)
        if page == "enter":
            from service.pages.visiting import Visiting

            visitor = Visiting(self.served.socket)
        return visitor, visitor.get(path)

    def begin(self, more=(), *, text=False):
        """The form of the schema as it is without a mistake."""
        path = self.pages["schema"]
        self.own.get(path)
        self.own.post(path, step="discard")
        self.own.post(path, step="update", **BEGUN | dict(more))
        if text:
            self.own.post(path, step="text", **BEGUN | dict(more))

    def post(self, visitor, path, fields, method="POST"):
        """Send a form."""
        if method == "GET":
            return visitor.get(f"{path}?{urlencode(fields)}")
        plain = {}
        for name, value in fields:
            plain.setdefault(name, []).append(value)
        return visitor.post(path, **plain)

    # ---- in the browser ---------------------------------------------------------------------------------------------

    def person(self, page):
        """Somebody at the browser, signed in where the page is."""
        self.browser.ask("Network.clearBrowserCookies")
        place = self.address if self.is_served(page) else self.local
        if page != "enter":
            visitor = self.olga if self.is_served(page) else self.own
            for name, value in visitor.cookies.items():
                self.browser.ask("Network.setCookie", name=name, value=value, url=place)
        return Person(self.browser, place)


def with_query(path, more):
    """A path with other values in its query."""
    place, _, query = path.partition("?")
    fields = parse_qs(query) | dict(more)
    return f"{place}?{urlencode(fields, doseq=True)}" if fields else place


@pytest.fixture(scope="module")
def site(browser, served, address, visit_as, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    written(folder)
    with Opened(folder) as opened:
        yield Site(browser, opened, served, address, visit_as)
    shutil.rmtree(folder)


TYPED = {key: [own for own in rows if isinstance(own, Typed)] for key, rows in TABLE.items()}
SENT = {key: [own for own in rows if isinstance(own, Sent)] for key, rows in TABLE.items()}


def named(keys):
    return [pytest.param(*key, id="-".join(key)) for key, rows in keys.items() if rows]


# ---- the table is complete -------------------------------------------------------------------------------------------


def test_every_field_of_every_form_has_its_wrong_values(site):
    missing = []
    for page in site.pages:
        _, seen = site.seen(page)
        assert seen.status == 200, (page, seen.words[:300])
        forms = forms_of(seen)
        assert forms, f"{page} has no form: {seen.words[:300]}"
        for given in {name for form in forms for name in form.names}:
            family = "ask" if page.startswith("ask-") else "schema" if page == "schema-text" else page
            name = re.sub(r"^([ab])\d+", r"\1", given) if page in RESULTS else given
            own = name if family not in ("schema", "wide") else name.partition("-")[2] or name
            alike = {page, family, *(RESULTS if page in RESULTS else ()), *(["schema"] if family == "wide" else ())}
            known = {key[1].partition("-")[2] or key[1] if key[0] == "schema" else re.sub(r"^([ab])\d+", r"\1", key[1])
                     for key in TABLE if key[0] in alike}  # fmt: skip
            if own not in known | set(EVERYWHERE):
                missing.append((page, given))
    assert missing == []
    kinds = {"c0": "integer", "c1": "numeric", "c2": "categorical", "c3": "date", "c4": "datetime", "c5": "duration"}
    tried = {tuple(name.split("-")) for page, name in TABLE if page == "schema" and "-" in name}
    needed = {
        (column, name)
        for column, kind in kinds.items()
        for name, (_, of, _) in FIELDS.items()
        if kind in of and name not in ("nulls", "outside", "others", "missing")  # the same for all kinds
    }
    assert needed <= tried, needed - tried


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_field_that_all_forms_have(site, name):
    before, faults = site.spent(), []
    for page in site.pages:
        visitor, seen = site.seen(page)
        for form in forms_of(seen):
            if name not in form.names:
                continue
            for case in EVERYWHERE[name]:
                key = visitor.form_key
                visitor.form_key = case.value  # a visitor sends it by itself
                fields = form.with_value(name, None)
                got = site.post(visitor, form.action, fields, form.method)
                visitor.form_key = key
                if case.said not in got.words or got.status != 400:
                    faults.append((page, form.action, case.value, got.status, got.words[:200]))
    assert not faults, "\n".join(map(str, faults))
    assert site.spent() == before


# ---- what a page does not offer is sent ------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "name"), named(SENT))
def test_what_a_form_does_not_offer(site, page, name):
    before, faults, page_name = site.spent(), [], page
    page = site.page_of(page, name)
    for case in SENT[page_name, name]:
        visitor, seen = site.seen(page, case.path)
        form = next(form for form in forms_of(seen) if name in form.names)
        fields = form.with_value(name, case.value)
        if page.startswith("schema") and "step" not in case.more and name != "step":
            fields.append(("step", "open"))
        for other, value in case.more.items():
            fields = [(own, old) for own, old in fields if own != other] + [(other, value)]
        got = site.post(visitor, form.action, fields, form.method)
        faults += [(name, str(case.value)[:60], fault) for fault in wrong_with(got, case)]
        if site.spent() != before:
            faults.append((name, case.value, "something was spent or written", site.spent()))
            before = site.spent()
    assert not faults, "\n".join(map(str, faults))


def wrong_with(got, case):
    """What is wrong with the reply to a wrong value."""
    if case.leads and not case.said:
        return
    if not got.headers["content-type"].startswith("text/html"):
        yield f"no page: {got.headers['content-type']} {got.body[:200]}"
        return
    if got.status not in ((200,) if case.leads else (400, 404)):
        yield f"status {got.status}: {got.words[:300]}"
    if case.said not in got.words:
        yield f"not said: {case.said!r} in {' | '.join(problems_in(got.html)) or got.words[-600:]}"


def problems_in(html):
    return re.findall(r'class="problem"[^>]*>(.*?)</p>', html, re.DOTALL)


# ---- everything else is typed ----------------------------------------------------------------------------------------

SAID = """(() => {
  const shown = (part) => part.getClientRects().length > 0;
  const said = (selector) => [...new Set([...document.querySelectorAll(selector)].filter(shown)
    .map((part) => part.innerText.replace(/\\s+/g, " ").trim()).filter(Boolean))];
  const marked = said(".problem");
  return JSON.stringify(marked.length ? marked : said(".notice.bad, [role=alert]"));
})()"""
FORM = """(() => {
  const field = document.querySelector(`[name="${NAME}"]`), form = field && field.form;
  return JSON.stringify(form ? [...new FormData(form)].filter(([, value]) => typeof value === "string") : []);
})()"""
FILLED = """(() => {
  for (const [name, value] of Object.entries(VALUES)) {
    const field = document.querySelector(`[name="${name}"]`);
    if (value === true) field.checked = true; else field.value = value;
  }
})()"""


def fields_of_form(person, name):
    return json.loads(person.evaluate(FORM.replace("${NAME}", name)))


@pytest.mark.parametrize(("page", "name"), named(TYPED))
def test_what_is_typed(site, page, name):
    before, faults, key = site.spent(), [], (page, name)
    page = site.page_of(page, name)
    for case in TYPED[key]:
        faults += [(name, case.value[:60], fault) for fault in typed_wrong(site, page, name, case)]
        if site.spent() != before:
            faults.append((name, case.value[:60], "something was spent or written"))
            before = site.spent()
    assert not faults, "\n".join(map(str, faults))


def typed_wrong(site, page, name, case):
    """Type a wrong value, send the form, and find what is wrong with what the page says."""
    person, path, filled = site.person(page), site.pages[page], {}
    if page.startswith("schema"):
        site.begin(case.path, text=page == "schema-text")
    elif page in ("ledger", "new"):
        filled = dict(case.path)
    else:
        path = with_query(path, case.path)
    person.goes(path)
    person._until(lambda: person.evaluate("!document.querySelector('[data-refresh]')"), "the page is not drawn")
    person.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    person.evaluate(FILLED.replace("VALUES", json.dumps(filled)))
    earlier = fields_of_form(person, name)
    person.types(f'[name="{name}"]', case.value)
    held = person.evaluate(f"document.querySelector('[name=\"{name}\"]').value")
    person.evaluate("window.before = true")
    if case.press:
        buttons = f"[...document.querySelector('[name=\"{name}\"]').form.querySelectorAll('button')]"
        person.evaluate(f"{buttons}.find((one) => one.innerText.trim() === {json.dumps(case.press)}).click()")
    else:
        person.presses("Enter")
    person._until(lambda: person.evaluate("!window.before && document.readyState === 'complete'"), "nothing is sent")
    said = json.loads(person.evaluate(SAID))
    yield from faults_of(said, case)
    if person.evaluate("document.contentType") != "text/html" or person.evaluate("!document.querySelector('main')"):
        yield "no page of the site"
    yield from person.complaints
    yield from person.elsewhere
    if page == "enter":
        return  # what was typed is a secret
    now = fields_of_form(person, name)
    others, still = ([pair for pair in own if pair[0] not in (name, *ONE_SENDING)] for own in (earlier, now))
    if others != still:
        yield f"changed elsewhere: {[pair for pair in others + still if pair not in others or pair not in still]}"
    kept = person.evaluate(f"document.querySelector('[name=\"{name}\"]')?.value")
    if (kept or "").strip() != held.strip():
        yield f"lost here: {kept!r}"


def faults_of(said, case):
    """What is wrong with what is said of a mistake."""
    if len(said) != 1:
        yield f"{len(said)} sentences: {said}"
        return
    (words,) = said
    if case.said not in words:
        yield f"not said: {case.said!r} in {words!r}"
    if (words[0].islower() and words[0] != "ε") or words[-1] not in ".?":
        yield f"no sentence: {words!r}"
    if case.given and 0 < len(case.value) <= 40 and case.value.isprintable() and case.value not in words:
        yield f"not repeated: {words!r}"
    if any(word in words for word in ("predicate", "literal", "/tmp/pytest", "Traceback", "Exception")):
        yield f"not in plain words: {words!r}"
