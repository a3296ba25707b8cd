"""``adyton open``: what it says, what it refuses, and how it ends; with real processes."""

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from adyton.kernel.ledger import Ledger
from service.pages.opened import SCHEMA, VISITS, Opened, ended


@pytest.fixture
def table(tmp_path):
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path / "visits.csv"


@pytest.fixture
def refused(monkeypatch):
    """What is said when the command is refused, in the table's folder; nothing may be made there."""

    def said(folder, *given):
        monkeypatch.chdir(folder)
        before = sorted(os.listdir(folder))
        done = CliRunner().invoke(app, ["open", *given, "--no-browser"])
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output
        assert sorted(os.listdir(folder)) == before
        assert len(done.stderr.strip().splitlines()) == 1
        return done.stderr

    return said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["nothing.csv"], "no file 'nothing.csv'"),
        (["notes.md"], "not a kind of file"),
        (["visits.csv", "--total", "lots"], "total"),
        (["visits.csv", "--total", "20"], "--yes"),
        (["visits.csv", "--schema", "nothing.toml"], "nothing.toml"),
        ([".", "--total", "1"], "belongs to one table"),
        (["nothing.toml"], "no file 'nothing.toml'"),
        (["lonely.toml"], "adyton open DATA --schema lonely.toml"),
        (["broken.toml"], "TOML"),
        (["postgresql://ann:hunter2@db.example.org/clinic"], "names no table"),
        (["mysql://ann:hunter2@db/clinic#t"], "cannot be opened"),
        (["visits.csv", "--port", "70000"], "port"),
    ],
)
def test_bad_input_is_one_sentence(refused, table, given, words):
    (table.parent / "notes.md").write_text("no table")
    (table.parent / "lonely.toml").write_text(SCHEMA)
    (table.parent / "broken.toml").write_text("[[[")
    said = refused(table.parent, *given)
    assert words in said
    assert "hunter2" not in said


def test_a_table_with_everything_beside_it_is_open_at_once(table):
    """By the path of its schema; links work once, Enter prints a new one, and Ctrl-C leaves nothing running."""
    folder = table.parent
    (folder / "visits.toml").write_text(SCHEMA)
    Ledger.open(folder / "visits.ledger", total=2, dataset="my visits").close()
    Ledger.open(folder / "visits.ledger", total=2, dataset="visits", accept={"dataset"}).close()
    with Opened(folder, "visits.toml") as service:
        assert service.said.startswith("visits is open at http://127.0.0.1:")
        _, page = service.enter()
        assert page.path == "/tables/visits"
        assert "ε = 2 of 2 left" in page.words
        _, again = service.enter()
        assert again.status == 400
        assert "used before" in again.words
        _, forged = service.enter(service.link.replace("link=1", "link=2"))
        assert forged.status == 400
        _, fresh = service.enter(service.fresh_link())
        assert fresh.path == "/tables/visits"
        processes = service.processes()
        assert {"open", "web", "pages.site", "keeper", "worker"} == set(processes.values())
        private = [path for path in _folders(processes) if "adyton" in path]
        assert private
        assert not [path for path in private if stat.S_IMODE(os.stat(path).st_mode) & 0o077]
    assert service.process.returncode == 0
    assert service.complaints == ""
    assert ended(processes)
    assert not [path for path in private if Path(path).exists()]


def _folders(processes):
    """The folders of the sockets that these processes have as their place."""
    return {os.readlink(f"/proc/{number}/cwd") for number, module in processes.items() if module in ("web",)}


def test_a_killed_supervisor_leaves_no_process_behind(table):
    """With a total, a new ledger is made at once; without a schema, the browser begins there."""
    (table.parent / "visits.toml").write_text(SCHEMA)
    with Opened(table.parent, "visits.csv", "--total", "3") as service:
        assert Ledger.read(table.parent / "visits.ledger").total == 3
        processes = service.processes()
        assert len(processes) == 5
        os.kill(service.process.pid, signal.SIGKILL)
        assert ended(processes)


def test_a_table_that_does_not_fit_is_said_in_one_sentence(table):
    (table.parent / "visits.toml").write_text(SCHEMA.replace("age", "height"))
    words = [sys.executable, "-m", "adyton", "open", "visits.csv", "--total", "3", "--no-browser"]
    done = subprocess.run(words, cwd=table.parent, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of the schema's attributes" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(table.parent)) == ["visits.csv", "visits.toml"]


def test_a_schema_that_is_not_that_of_the_ledger_is_shown_and_brought_back(table):
    folder = table.parent
    (folder / "visits.toml").write_text(SCHEMA)
    with ad.Session(table, schema=folder / "visits.toml", epsilon=1, ledger=folder / "visits.ledger") as session:
        session.count("0.5")
    (folder / "visits.toml").write_text(SCHEMA.replace("119", "120"))
    with Opened(folder, "visits.csv") as service:
        visitor, page = service.enter()
        assert page.path == "/new/visits.csv"
        assert "age: max was 119, now 120" in page.words
        page = visitor.post("/new", step="open", file="visits.csv")
        assert "age: max was 119, now 120" in page.words
        page = visitor.post("/new/visits.csv", step="restore")
        assert "ε = 0.5 of 1 left" in page.words
    assert "The browser shows what differs" in service.complaints
    assert ad.Schema.from_toml(folder / "visits.toml") == ad.Schema.from_toml(SCHEMA)
    assert "120" in (folder / "visits.before-1.toml").read_text()


def test_a_second_ledger_on_the_command_line_asks_in_the_browser(table):
    folder = table.parent
    (folder / "visits.toml").write_text(SCHEMA)
    with ad.Session(table, schema=folder / "visits.toml", epsilon=1, ledger=folder / "visits.ledger") as session:
        session.count("1")
    with Opened(folder, "visits.csv", "--ledger", "second.ledger", "--total", "2") as service:
        _, page = service.enter()
        assert page.path == "/new/visits.csv"
        assert "ε = 1 of 1 was spent on this table in visits.ledger" in page.words
    assert not (folder / "second.ledger").exists()


def test_a_total_is_not_forgotten_where_the_schema_is_still_to_be_written(table):
    with Opened(table.parent, "visits.csv", "--total", "2.5") as opened:
        _, page = opened.enter()
        assert re.search(r'<input id="f-total"[^>]*value="2\.5"', page.html)
