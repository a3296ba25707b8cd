"""Slow work in a real browser: all pairs of 24 attributes, and the finest map of which ranges can be asked.

While it is under way, the screen follows from the schema, the request and the time that has passed. Before the first
debit it can be cancelled; after it, the result comes, whatever becomes of the tab. Nothing here pretends to be slow:
where a moment would pass too quickly, the worker is stopped for a while.
"""

import contextlib
import json
import os
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adyton.kernel.ledger import Ledger
from browser import find_chromium
from service.pages.driving import Person
from service.pages.opened import Opened, ended

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine"),
]
EPSILON = "0.2"
BUTTON = f"Release for ε = {EPSILON}"
WIDE = [f"q{number}" for number in range(24)]
SIDE = 2048
"""Bins of each axis of the map: one more, and an algorithm that is chosen by the service takes it no more."""
_PATIENCE = 500.0


@dataclass(frozen=True)
class Work:
    """Something that takes long, on a table whose rows are of one of two kinds."""

    name: str
    schema: str
    rows: Callable[[bool], dict]
    """The columns of the table; *other* rows are fewer, and all the same."""
    question: str
    words: str
    """How the question begins on the page of the request."""
    chosen: tuple[tuple[str, str], ...] = ()
    """What is chosen from the lists of the form."""


def wide_rows(other):
    draw = np.random.default_rng(7)
    return {name: np.full(300, 2) if other else draw.integers(0, 4, 3000) for name in WIDE}


def map_rows(other):
    draw = np.random.default_rng(7)
    return {name: np.full(300, 2.5) if other else draw.uniform(0, 1000, 3000) for name in ("east", "north")}


WORKS = (
    Work(
        "wide",
        "".join(f'[attributes.{name}]\ntype = "integer"\nmin = 0\nmax = 3\n' for name in WIDE),
        wide_rows,
        "All tables of two attributes",
        "2-way marginals of all attributes",
    ),
    Work(
        "map",
        "".join(
            f'[attributes.{name}]\ntype = "numeric"\nmin = 0\nmax = 1000\nbins = {SIDE}\n' for name in ("east", "north")
        ),
        map_rows,
        "How many from … to …",
        "Rows between any two values of east and north",
        (("Between two values of", "east"), ("and each value of", "north")),
    ),
)


class Table:
    """A table that ``adyton open`` has opened, and somebody at the browser who asks about it."""

    def __init__(self, work, opened, browser):
        self.work, self.opened, self.browser = work, opened, browser
        self.ledger = opened.folder / f"{work.name}.ledger"
        self.place = f"/tables/{work.name}.parquet"
        self.enter()

    def enter(self):
        """Sit down at the browser, and follow a link that the terminal prints."""
        self.person = Person(self.browser, self.opened.address)
        self.person.goes(self.opened.fresh_link()).sees("What is public about this table")
        assert self.person.path == self.place

    @property
    def report(self):
        return Ledger.read(self.ledger)

    @property
    def debits(self):
        """How many there are; quicker than a report, which checks every entry."""
        with contextlib.closing(sqlite3.connect(self.ledger, timeout=60)) as connection:
            return connection.execute("SELECT count(*) FROM entries").fetchone()[0]

    @property
    def workers(self):
        return [number for number, module in self.opened.processes().items() if module == "worker"]

    def fill_in(self):
        """The form, as somebody fills it in who has a question."""
        self.person.goes(f"{self.place}/ask").clicks(self.work.question).sees("What to expect")
        for label, name in self.work.chosen:
            self.person.chooses(label, name)
        self.person.types("Budget: ε", EPSILON).sees(BUTTON)
        return self.person

    def release(self):
        """Send the request."""
        self.person.sees(BUTTON).clicks(BUTTON)

    def under_way(self):
        """Wait for the page of the request; its path."""
        self.person.sees("Under way", "since it was sent", "Cancel the request")
        return self.person.path

    @property
    def seconds(self):
        """The seconds since the request was sent, as the screen says."""
        minutes, rest = re.search(r"(?:(\d+) min )?(\d+) s since it was sent", self.person.words).groups()
        return 60 * int(minutes or 0) + int(rest)


def working(numbers):
    """The seconds for which processes have computed."""
    parts = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split() for number in numbers]
    return sum(int(part) for own in parts for part in own[11:13]) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def stopped(table, when=lambda: True):
    """While the worker of a table is stopped, from a moment on; the block gets an event that says that it has come. It
    is not stopped while it writes to the ledger: whoever else wants to write would wait for it."""
    workers = table.workers
    come, over = threading.Event(), threading.Event()

    def watch():
        while not over.is_set() and not when():
            time.sleep(0.005)
        while not over.is_set():
            send(signal.SIGSTOP)
            if is_free(table.ledger):
                come.set()
                return
            send(signal.SIGCONT)
            time.sleep(0.002)

    def send(order):
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, order)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield come
    finally:
        over.set()
        watcher.join()
        send(signal.SIGCONT)


def is_free(ledger):
    """Whether nobody is writing to a ledger."""
    with contextlib.closing(sqlite3.connect(ledger, timeout=0.1, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
    return True


@contextlib.contextmanager
def table_of(work, browser, folder, *, other=False):
    pq.write_table(pa.table(work.rows(other)), folder / f"{work.name}.parquet")
    (folder / f"{work.name}.toml").write_text(work.schema)
    with Opened(folder, f"{work.name}.parquet", "--total", "2", "--yes") as opened:
        yield Table(work, opened, browser)
        browser.ask("Page.navigate", url="about:blank")  # a page that is loaded again would find nobody
    assert opened.complaints == ""


@pytest.fixture(scope="module", params=WORKS, ids=lambda work: work.name)
def table(request, browser, tmp_path_factory):
    with table_of(request.param, browser, tmp_path_factory.mktemp(request.param.name)) as own:
        yield own


# ---- cancelled before the debit --------------------------------------------------------------------------------------


def test_it_is_cancelled_before_the_debit_and_can_be_asked_again(table, record_property):
    before, workers = table.report, table.workers
    table.fill_in()
    worked, sent = working(workers), time.monotonic()
    quick = table.work.name == "wide"  # it prepares for a second or two; a map, for longer than somebody needs to click
    with stopped(table, lambda: quick and working(workers) > worked + 0.2) as come:
        table.release()
        place = table.under_way()
        assert not quick or come.wait(60)
        record_property("seconds until cancelled", round(time.monotonic() - sent, 1))
        record_property("seconds that the worker had worked by then", round(working(workers) - worked, 1))
        assert working(workers) > worked + 0.1
        assert table.report.spent == before.spent, "the debit came first"
        table.person.clicks("Cancel the request")
        table.person.sees("The request was cancelled before it had spent anything.", "Nothing was spent")
        record_property("seconds until the page says so", round(time.monotonic() - sent, 1))
        assert ended(workers)
    assert "Cancel the request" not in table.person.words
    assert table.person.path == place
    table.person.goes(place).sees("The request was cancelled before it had spent anything.")
    table.person.clicks("All results").sees("Results")
    assert place.rpartition("/")[2] not in table.person.evaluate("document.body.innerHTML")
    time.sleep(2)
    assert (table.report.spent, table.report.entries) == (before.spent, before.entries)
    table.person.goes(place).clicks("Ask again").sees(BUTTON)  # the form as it was filled in
    for label, name in table.work.chosen:
        chosen = f"[...document.querySelectorAll('label')].find((one) => one.innerText.trim() === {json.dumps(label)})"
        assert table.person.evaluate(f"{chosen}.control.value") == name
    table.release()
    table.person.sees("Files to save", seconds=_PATIENCE)
    again = table.person.path
    assert again != place
    record_property("seconds until the result of the second", round(time.monotonic() - sent, 1))
    entries = table.report.entries[len(before.entries) :]
    assert {entry.request for entry in entries} == {again.rpartition("/")[2]}
    assert table.report.spent == before.spent + Fraction(EPSILON)
    assert table.person.complaints == []
    assert table.person.elsewhere == []


# ---- what the screen says --------------------------------------------------------------------------------------------

RECORDER = """addEventListener("DOMContentLoaded", () => {
  const look = () => {
    if (document.querySelector("h1")?.innerText !== "Under way") return;
    const said = JSON.parse(sessionStorage.getItem("said") || "[]");
    const words = document.querySelector("main").innerText.replace(/\\s+/g, " ").trim();
    if (said.length && said.at(-1)[1] === words) return;
    sessionStorage.setItem("said", JSON.stringify([...said, [Date.now() / 1000, words]]));
  };
  look();
  new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
});"""
"""Writes down every text of the page of a request that is under way, however short it stays."""


def said_by(table, *, late):
    """All that the screen says from the click until the result is there, and when. A worker that is too quick stands
    still for some seconds, before the first debit or after it."""
    begun = table.browser.ask("Page.addScriptToEvaluateOnNewDocument", source=RECORDER)["identifier"]
    try:
        table.fill_in()
        sent, debits = time.time(), table.debits
        with contextlib.ExitStack() as stack:
            if table.work.name == "wide":
                stack.enter_context(stopped(table, lambda: not late or table.debits > debits))
            table.release()
            table.under_way()
            time.sleep(6)
        table.person.sees("Files to save", seconds=_PATIENCE)
        return sent, json.loads(table.person.evaluate("sessionStorage.getItem('said')"))
    finally:
        table.browser.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=begun)


def shown_seconds(words):
    minutes, rest = re.search(r"(?:(\d+) min )?(\d+) s since it was sent", words).groups()
    return 60 * int(minutes or 0) + int(rest)


def steps_of(said):
    """The texts without their times, each once where it stays."""
    plain = [re.sub(r"(\d+ min )?\d+ s since", "… since", words) for _, words in said]
    return [words for place, words in enumerate(plain) if place == 0 or words != plain[place - 1]]


def test_the_screen_says_what_follows_from_public_facts(table, browser, tmp_path, record_property):
    """Two tables of one schema with other rows, and another number of them: the same words in the same order."""
    table.enter()
    spent = table.report.spent
    sent, said = said_by(table, late=False)
    assert table.report.spent == spent + Fraction(EPSILON)
    with table_of(table.work, browser, tmp_path, other=True) as twin:
        sent_other, said_other = said_by(twin, late=True)
        assert twin.person.complaints == []
    assert steps_of(said) == steps_of(said_other)
    assert len(steps_of(said)) == 1, steps_of(said)  # as the work goes on, nothing but the time changes
    (words,) = steps_of(said)
    assert words.startswith(f"Under way {table.work.words}")
    assert "It is a large request: it may take minutes." in words
    assert "How far it is depends on rows, and is therefore not shown." in words
    for begun, texts in ((sent, said), (sent_other, said_other)):
        shown = [(moment - begun, shown_seconds(text)) for moment, text in texts]
        assert len({seconds for _, seconds in shown}) > 2
        assert shown == sorted(shown)
        assert all(seconds <= passed + 1 for passed, seconds in shown), shown
        record_property("seconds under way", round(shown[-1][0], 1))


# ---- whatever becomes of the tab -------------------------------------------------------------------------------------


def test_the_result_comes_whatever_becomes_of_the_tab(table, record_property):
    """Reloaded before and after the debit, cancelled too late, and closed: there is one result, and it is paid once."""
    with table.browser.tab():
        table.enter()
        before, person = table.report, table.person
        table.fill_in()
        sent = time.monotonic()
        with contextlib.ExitStack() as stack:
            if table.work.name == "wide":
                stack.enter_context(stopped(table))
            table.release()
            place = table.under_way()
            shown = table.seconds
            person.goes(place).sees("Under way", "since it was sent")
            assert table.seconds >= shown
            assert table.report.spent == before.spent, "the debit came first"
        with stopped(table, lambda: table.debits > len(before.entries)) as come:
            assert come.wait(120), "nothing is spent"
            record_property("seconds until the first debit", round(time.monotonic() - sent, 1))
            person.goes(place).sees("Under way", "since it was sent", "Cancel the request")
            assert table.seconds >= shown
            person.clicks("Cancel the request")
            person.sees("It could not be cancelled any more: it had begun to spend, and what it spends stays spent.")
            person.sees("Its result will be here, and in the list of results, also if you close this page.")
            assert not person.evaluate(
                "[...document.querySelectorAll('button')].some((one) => /Cancel/.test(one.innerText))"
            )
            complaints = person.complaints
    with table.browser.tab():
        person.goes(f"{table.place}/results").sees("under way")
        person.clicks(f'[href="{place}"]').sees("Files to save", seconds=_PATIENCE)
        record_property("seconds until the result", round(time.monotonic() - sent, 1))
        assert person.path == place
        person.goes(f"{place}?cancel=late").sees("could not be cancelled any more", "Files to save", seconds=_PATIENCE)
        person.goes(f"{table.place}/results").sees("done")
    report, id = table.report, place.rpartition("/")[2]
    assert report.spent == before.spent + Fraction(EPSILON)
    assert {entry.request for entry in report.entries[len(before.entries) :]} == {id}
    assert complaints + person.complaints == []
