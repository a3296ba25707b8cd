"""The privacy statement of a ledger: what it says, what it never says, and what is refused."""

import json
import re
import shutil
import sqlite3
from fractions import Fraction
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton import odds
from adyton.cli.main import app
from adyton.kernel.ledger import Ledger
from browser import Browser, find_chromium

FIXTURES = Path(__file__).parent.parent / "fixtures" / "0.1.0" / "ledgers"
SCHEMA = """
unit = "patient"
rows_per_unit = 3
[attributes.ward]
type = "categorical"
levels = ["north", "south"]
[attributes.age]
type = "integer"
min = 0
max = 99
"""
SECRETS = ("Zanzibar-77", "Quetzal-42")
"""Values of rows: a name of a patient, and a ward that is no level."""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def page(path, *more):
    done = run("ledger", path, "--statement", *more)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def words(text):
    """Without marks and line ends, so that the three forms can be compared."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>|\\|\*\*", "", text, flags=re.DOTALL)).split())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A ledger with several releases, a failure, a change of terms and a raised total."""
    folder = tmp_path_factory.mktemp("somewhere-private")
    rows = [(SECRETS[0], "north", 31), (SECRETS[0], "south", 31), ("b", "south", 52), ("c", SECRETS[1], 7)]
    pd.DataFrame(rows, columns=["patient", "ward", "age"]).to_csv(folder / "stays.csv", index=False)
    (folder / "stays.toml").write_text(SCHEMA)
    given = {"schema": folder / "stays.toml", "ledger": folder / "stays.ledger"}
    with ad.Session(folder / "stays.csv", epsilon=1, **given) as session:
        session.release(ad.Histogram("ward"), epsilon="0.25", algorithm="identity")
        session.count("0.125", where="age >= 18")
    wider = SCHEMA.replace("99", "119")
    with ad.Session(
        folder / "stays.csv",
        schema=ad.Schema.from_toml(wider),
        ledger=folder / "stays.ledger",
        accept={"schema"},
    ) as session:
        session.count_units("0.0625")
        session.ledger.settle(
            session.ledger.debit(Fraction(1, 32), lineage=["stays.csv"], operator="noisy count"), "failed"
        )
        session.ledger.raise_total(2, consent="A. Okafor, head of records")
    return folder


def test_it_says_who_is_protected_what_was_spent_and_on_what(place):
    text = page(place / "stays.ledger")
    assert text.startswith("# Privacy statement: stays.csv\n")
    said = words(text)
    spent = Ledger.read(place / "stays.ledger").spent
    assert spent == Fraction(15, 32)
    for expected in (
        "One patient with all of its rows. The column patient says whose row each is; at most 3 rows of each patient",
        "one has all rows of the other and those of one more patient",
        "pure ε-differential privacy with ε = 2 (δ = 0)",
        odds.in_words(Fraction(2), "patient"),
        "ε = 0.46875 is spent",
        odds.in_words(spent, "patient"),
        "ε = 1.53125 is left",
        "4 measurements, on ",
        "1 of them (ε = 0.03125) failed and gave no answer; they stay charged",
        "| digest of the schema | ",
        "| total | 1 | 2 | A. Okafor, head of records |",
        "Somebody with two values in the column patient counts as two",
        "The total was changed 1 time, 1 of them with a recorded consent",
        "Not known to the ledger: who can read the table",
    ):
        assert expected in said
    ((_, date, source, measurement, status, amount), *rest) = re.findall(
        r"^\| (\d+) \| (\d{4}-\d\d-\d\d) \| (.*?) \| (.*?) \| (\w+) \| ([\d.]+) \|$", text, re.MULTILINE
    )
    assert (source, status, amount) == ("select(ward) > vectorize", "answered", "0.25")
    assert measurement.startswith("noisy histogram of 2 cells")
    assert date == Ledger.read(place / "stays.ledger").entries[0].time[:10]
    assert [line[-1] for line in rest] == ["0.125", "0.0625", "0.03125"]
    assert '"age" >= 18' in rest[0][2]
    assert re.search(r"^\| \d{4}-\d\d-\d\d \| schema \| \w{12} \| \w{12} \| not recorded \|$", text, re.MULTILINE)


def test_all_forms_say_the_same(place, tmp_path):
    printed = page(place / "stays.ledger")
    assert page(place / "stays.ledger", "--out", tmp_path / "s.md") == ""
    assert (tmp_path / "s.md").read_text(encoding="utf-8") == printed
    plain = json.loads(page(place / "stays.ledger", "--json", "--out", tmp_path / "s.HTML"))
    html = (tmp_path / "s.HTML").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "@media print" in html
    for form in (words(printed), words(html)):
        for text in (plain["protected"], plain["neighbours"], *plain["meaning"], *plain["not_protected"]):
            assert text in form
        for check in plain["checklist"]:
            assert (
                f"{check['question']} {'' if check['known'] else 'Not known to the ledger: '}{check['answer']}" in form
            )
        for entry in plain["entries"]:
            assert entry["measurement"] in form
    assert plain["total"]["exact"] == "2"
    assert [entry["amount"]["exact"] for entry in plain["entries"]] == ["1/4", "1/8", "1/16", "1/32"]
    assert [change["changed"] for change in plain["changes"]] == ["schema", "total"]
    assert plain["unit"] == "patient"


@pytest.mark.parametrize("form", ["print", "json", "html"])
def test_nothing_of_rows_of_the_machine_or_of_times_is_in_it(place, tmp_path, form):
    more = {"print": [], "json": ["--json"], "html": ["--out", tmp_path / "s.html"]}[form]
    text = page(place / "stays.ledger", *more)
    text += (tmp_path / "s.html").read_text(encoding="utf-8") if form == "html" else ""
    assert "stays.ledger" in text
    report = Ledger.read(place / "stays.ledger")
    moments = {moment.time[11:19] for moment in (*report.entries, *report.events)}
    for never in (*SECRETS, str(place), place.name, str(tmp_path), *moments, str(report.entries[0].process)):
        assert never not in text


def test_an_empty_ledger_promises_no_unit(tmp_path):
    Ledger.open(tmp_path / "new.ledger", total="0.5", dataset="visits").close()
    said = words(page(tmp_path / "new.ledger"))
    assert "Nothing was spent or published yet." in said
    assert "What is the unit of privacy? Not known to the ledger: nothing was spent yet." in said
    assert "No change of the total, the data set or the terms is recorded." in said
    assert "So far." not in said
    assert json.loads(page(tmp_path / "new.ledger", "--json"))["unit"] is None


def test_a_limit_that_nothing_enforces_is_called_a_declaration(tmp_path):
    frame = pd.DataFrame({"age": [3, 4]})
    schema = ad.Schema({"age": ad.Integer(0, 9)}, rows_per_unit=5)
    given = {"schema": schema, "epsilon": 1, "ledger": tmp_path / "ages.ledger", "dataset": "ages"}
    with ad.Session(frame, unit="caller", **given) as session:
        session.count("0.5")
    said = words(page(tmp_path / "ages.ledger"))
    assert "One caller, with at most 5 rows. The curator declared that nobody has more" in said
    assert "Somebody with more than 5 rows is protected less: k rows by k/5, rounded up, times ε." in said


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ledger")), ids=lambda path: path.stem)
def test_ledgers_of_earlier_versions_have_one(path, tmp_path):
    copy = shutil.copy(path, tmp_path / path.name)
    said, report = words(page(copy)), Ledger.read(copy)
    assert all(note in said for note in report.notes)
    for event in report.events:
        assert f"| {event.time[:10]} | {event.changed} | {event.old} | {event.new} |" in said
    if report.terms is None and report.entries:
        assert "An early version of Adyton wrote the entries and did not record the unit." in said


def test_what_an_early_version_did_not_count_is_part_of_the_promise(tmp_path):
    copy = shutil.copy(FIXTURES / "enforced.ledger", tmp_path / "enforced.ledger")
    said = words(page(copy))
    assert "up to 4.5 is spent, not 0.75" in said  # a note of the ledger
    assert "ε = 4.5 is spent, 3.75 of it not counted by an early version" in said
    assert "with ε = 13.75, 3.75 of it not counted by an early version" in said


def test_names_cannot_change_the_page(tmp_path):
    name = "a|b <b>*c*\nd\x1b[2J"
    with Ledger.open(tmp_path / "odd.ledger", total=1, dataset=name) as ledger:
        ledger.debit(Fraction(1, 4), lineage=[name, "where(x | y)"], operator="<script>")
    text = page(tmp_path / "odd.ledger")
    assert text.startswith("# Privacy statement: a\\|b \\<b>\\*c\\* d\\x1b\\[2J\n")
    (line,) = [line for line in text.splitlines() if "script" in line]
    assert line.count(" | ") == 5
    assert "\x1b" not in text
    page(tmp_path / "odd.ledger", "--out", tmp_path / "odd.html")
    html = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html


def test_a_long_ledger_has_a_page_of_bounded_length(tmp_path):
    with Ledger.open(tmp_path / "long.ledger", total=1, dataset="long") as ledger:
        for _ in range(203):
            ledger.debit(Fraction(1, 1000), lineage=["long"], operator="noisy count")
    text = page(tmp_path / "long.ledger")
    assert text.count("| noisy count |") == 200
    assert "3 more lines are not shown." in text
    assert len(json.loads(page(tmp_path / "long.ledger", "--json"))["entries"]) == 203


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stays.ledger", "--out", "s.html"], "Add --statement"),
        (["stays.ledger", "--overwrite"], "--overwrite belongs to --out"),
        (["stays.ledger", "--statement", "--out", "s.pdf"], "FILE.html or FILE.md"),
        (["stays.ledger", "--statement", "--out", "nowhere/s.md"], "cannot be written"),
        (["stays.ledger", "--statement", "--out", "there.md"], "exists already"),
        (["raise", "stays.ledger", "--total", "3", "--consent", "x", "--statement"], "change the ledger first"),
        (["nowhere.ledger", "--statement"], "nowhere.ledger does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused(place, tmp_path, monkeypatch, arguments, message):
    shutil.copy(place / "stays.ledger", tmp_path / "stays.ledger")
    (tmp_path / "there.md").write_text("mine")
    monkeypatch.chdir(tmp_path)
    done = run("ledger", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert Ledger.read("stays.ledger").total == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stays.ledger", "there.md"]
    assert (tmp_path / "there.md").read_text() == "mine"


def test_a_file_is_overwritten_on_request_and_the_ledger_never(place, tmp_path):
    copy = shutil.copy(place / "stays.ledger", tmp_path / "stays.md")
    (tmp_path / "old.md").write_text("mine")
    page(place / "stays.ledger", "--out", tmp_path / "old.md", "--overwrite")
    assert (tmp_path / "old.md").read_text(encoding="utf-8").startswith("# Privacy statement")
    refused = run("ledger", copy, "--statement", "--out", copy, "--overwrite")
    assert refused.exit_code == 2
    assert Ledger.read(copy).total == 2


def test_a_damaged_or_held_ledger_gets_the_messages_of_every_ledger(place, tmp_path, monkeypatch):
    copy = Path(shutil.copy(place / "stays.ledger", tmp_path / "stays.ledger"))
    monkeypatch.setattr("adyton.kernel.ledger.store.BUSY_SECONDS", 0.01)
    holder = sqlite3.connect(copy)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("UPDATE ledger SET total = total")
    held = run("ledger", copy, "--statement", "--out", tmp_path / "s.md")
    holder.close()
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE entries SET amount = '1/3' WHERE number = 1")
    damaged = run("ledger", copy, "--statement", "--out", tmp_path / "s.md")
    (tmp_path / "no.ledger").write_text("no ledger")
    other = run("ledger", tmp_path / "no.ledger", "--statement", "--out", tmp_path / "s.md")
    for done, message in ((held, "is held by another process"), (damaged, "is damaged"), (other, "is not a ledger")):
        assert (done.exit_code, done.stdout) == (1, "")
        assert message in done.stderr
    assert not (tmp_path / "s.md").exists()


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_a_browser_shows_it_without_complaint(place, tmp_path):
    page(place / "stays.ledger", "--out", tmp_path / "s.html")
    with Browser() as browser:
        for width in (1280, 390):
            seen = browser.open(tmp_path / "s.html", width)
            assert (seen.complaints, seen.requests, seen.overflows) == ([], [], False), width
