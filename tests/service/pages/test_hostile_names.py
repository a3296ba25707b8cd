"""A table whose file, columns and levels an attacker has named: on every page that can be reached they are texts, and
what is saved or copied from these pages does no harm and asks for the same."""

import csv
import html
import io
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser

import pytest

from adyton.kernel.ledger import Ledger
from browser import find_chromium
from service.pages.driving import Person
from service.pages.opened import Opened
from service.pages.test_results import drawn

FILE = "<qhack onload=q()>\"'{{ 7*7 }}&$(touch q)"
LEVELS = [
    "<qhack onload=q()>",
    '"><qhack qattr="',
    "'{{ 7*7 }}'",
    "</script></textarea></title><qhack>",
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "$(touch q)`touch q`",
    "a b",
]
KIND, NUMBER = '"><qhack qattr="kind', "=HYPERLINK({{ 7*7 }})</svg><qhack>"
SCHEMA = f"""
[attributes.{KIND!r}]
type = "categorical"
levels = {[level for level in LEVELS if "'" not in level]!r}
[attributes.{NUMBER!r}]
type = "integer"
min = 0
max = 9
"""
FORMS = [
    {"question": "each", "first": KIND},
    {"question": "each", "first": KIND, "second": NUMBER},
    {"question": "between", "first": NUMBER, "condition": KIND, "comparison": "=", "value": LEVELS[0]},
    {"question": "mean", "number": NUMBER, "by": KIND},
    {"question": "quantiles", "number": NUMBER, "at": "median", "by": KIND},
    {"question": "pairs"},
    {"question": "classifier", "label": KIND},
]


class Markup(HTMLParser):
    """What of a page is neither ours nor text."""

    def __init__(self):
        super().__init__()
        self.foreign = []

    def handle_starttag(self, tag, attrs):
        bad = [
            (name, value)
            for name, value in attrs
            if name.startswith(("q", "on")) or (name in ("href", "src", "action") and "script:" in (value or ""))
        ]
        if bad or tag.startswith("q"):
            self.foreign.append((tag, bad))


def schema_text():
    """The schema; levels with both kinds of quotes are written as TOML wants them."""
    levels = ", ".join('"' + level.replace("\\", "\\\\").replace('"', '\\"') + '"' for level in LEVELS)
    text = re.sub(r"levels = .*", lambda _: f"levels = [{levels}]", SCHEMA)
    assert set(tomllib.loads(text)["attributes"]) == {KIND, NUMBER}
    return text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """An open table with results of every kind; the paths of their pages."""
    folder = tmp_path_factory.mktemp("hostile")
    with (folder / f"{FILE}.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([KIND, NUMBER])
        lines.writerows([LEVELS[number % len(LEVELS)], number % 10] for number in range(800))
    (folder / f"{FILE}.toml").write_text(schema_text())
    with Opened(folder, f"{FILE}.csv", "--total", "5") as service:
        service.visitor, service.first = service.enter()
        table, service.results = service.visitor.get("/").html, []
        service.table = html.unescape(re.search(r'href="(/tables/[^"/]+)"', table)[1])
        for form in FORMS:
            ask = f"{service.table}/ask"
            id = service.visitor.get(f"{ask}?question={form['question']}").field("id")
            page = service.visitor.post(ask, follow=False, **form, id=id, epsilon="0.2", price="0.2")
            assert page.status == 303, (form, page.words[-1500:])
            service.results.append(page.headers["location"])
        for path in service.results:
            for _ in range(100):
                if "Files to save" in drawn(service.visitor, path).words:
                    break
        yield service
    assert "Traceback" not in service.complaints


def crawled(visitor):
    """Every page and file that links lead to."""
    known, left = {"/"}, ["/"]
    while left:
        page = visitor.get(path := left.pop())
        yield path, page
        if page.headers["content-type"].startswith("text/html"):
            links = [html.unescape(link) for link in re.findall(r'(?:href|src|data-refresh)="(/[^"#]*)"', page.html)]
            left += [link for link in dict.fromkeys(links) if link not in known]
            known |= set(left)


def test_no_name_becomes_markup_or_a_formula(hostile):
    pages = dict(crawled(hostile.visitor))
    kinds = [re.sub(r"/results/[^/?]+", "/results/ID", path.partition("?")[0]) for path in pages]
    kinds = {kind.replace(hostile.table, "TABLE") for kind in kinds}
    for place in ("", "/ask", "/results", "/results/ID", "/results/ID/report", "/compare", "/ledger"):
        assert f"TABLE{place}" in kinds, kinds
    for path, page in pages.items():
        assert page.status < 400, path
        kind = page.headers["content-type"]
        if kind.startswith("text/html"):
            parser = Markup()
            parser.feed(page.html)
            assert not parser.foreign, (path, parser.foreign)
            assert "'49'" not in page.words, path
            assert "(49)" not in page.words, path
        elif kind.startswith("text/csv"):
            cells = [cell for row in csv.reader(io.StringIO(page.html)) for cell in row]
            assert not [cell for cell in cells if cell[:1] in ("=", "@", "+", "\t")], path
    shown = drawn(hostile.visitor, hostile.results[0]).words
    for level in LEVELS:
        assert " ".join(level.split()) in shown


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_a_browser_shows_the_same(hostile, browser):
    host = hostile.link.partition("/enter")[0]
    for name, value in hostile.visitor.cookies.items():
        browser.ask("Network.setCookie", name=name, value=value, url=host)
    owner = Person(browser, host)
    compared = f"{hostile.table}/compare"
    for path in ("/", hostile.table, f"{hostile.table}/ask?question=each", *hostile.results, compared):
        owner.goes(path).sees("qhack")
        assert owner.evaluate("document.querySelectorAll('qhack, [qattr], [onload]').length") == 0
    assert owner.complaints == []
    assert owner.elsewhere == []


def test_lines_that_are_copied_ask_for_the_same(hostile):
    """In a real Python and a real shell, with a filter: the ledger has the same entries as for the page's request."""
    page, ledger = drawn(hostile.visitor, hostile.results[2]), hostile.folder / f"{FILE}.ledger"
    python, shell = (
        html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page.html, re.S)[-2:]
    )
    assert python.startswith("import adyton")
    assert shell.startswith("adyton release")
    environment = {**os.environ, "PYTHON": sys.executable}
    command = ["sh", "-c", f'adyton() {{ "$PYTHON" -m adyton "$@"; }}\n{shell}']
    paid = []
    for line in ([sys.executable, "-c", python], command):
        before = len(Ledger.read(ledger).entries)
        done = subprocess.run(line, cwd=hostile.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        paid.append([(entry.operator, entry.lineage, entry.amount) for entry in Ledger.read(ledger).entries[before:]])
    id = hostile.results[2].rpartition("/")[2]
    own = [entry for entry in Ledger.read(ledger).entries if entry.request == id]
    assert paid == [[(entry.operator, entry.lineage, entry.amount) for entry in own]] * 2
    assert not (hostile.folder / "q").exists()
