"""The command line: the ledger on screen and as JSON, one sentence per error, and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import types
from fractions import Fraction
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import adyton
from adyton.cli import console
from adyton.cli.main import COMMANDS, app, every_command
from adyton.errors import AdytonError, BadInput, BudgetExceeded, KernelFailure, LedgerError, SchemaError
from adyton.kernel.ledger import Ledger

ADYTON = [sys.executable, "-c", "from adyton.cli.main import main; main()"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        ledger.settle(
            ledger.debit(Fraction(1, 4), lineage=["root", "where [b]age > 3"], operator="laplace"), "answered"
        )
        ledger.debit(Fraction(1, 3), lineage=["root"], operator="clear\x1b[2J")
    with Ledger.open(path, total=2, dataset="visits", accept={"total"}):
        pass
    return path


def run(*arguments: object, columns: int = 120):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})


def one_sentence(text: str) -> bool:
    return text.startswith("adyton: ") and text.endswith(".\n") and text.count("\n") == 1 and "Traceback" not in text


def test_what_was_free_in_parts_of_a_split_is_one_line(tmp_path: Path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, total=1, dataset="visits") as ledger:
        for number in range(4):
            for step in (f"split(4 groups)[{number}]", f"split(age = {number})"):
                amount = Fraction(1, 4) if number == 0 else Fraction(0)
                ledger.settle(ledger.debit(amount, lineage=["root", step], operator="laplace"), "answered")
        for number in range(4):
            ledger.settle(ledger.debit(Fraction(0), lineage=["root", f"split(age = {number})"], operator="x"), "failed")
        for number in range(3):
            entry = ledger.debit(Fraction(0), lineage=["root", f"split(9 groups)[{number}]", "y"], operator="z")
            ledger.settle(entry, "answered")
    lines = run("ledger", path, columns=160).stdout.splitlines()
    assert sum("laplace" in line for line in lines) == 8  # two splits took turns
    assert sum("failed" in line for line in lines) == 4
    (folded,) = [line for line in lines if "13–15" in line]
    assert "root > split(9 groups) " in folded
    assert "3 measurements in further parts, which share no row" in folded
    assert len(json.loads(run("ledger", path, "--json").stdout)["entries"]) == 15


def test_the_table_shows_every_entry_on_one_line(path: Path):
    result = run("ledger", path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:4] == ["data set  visits", "total     2", "spent     7/12", "remaining 17/12"]
    (first,) = [line for line in lines if "laplace" in line]
    assert first.split()[0] == "1"
    for word in ("0.25", "root > where [b]age > 3", "answered"):
        assert word in first
    (second,) = [line for line in lines if "debited" in line]
    assert second.split()[3:5] == ["1/3", "7/12"]
    assert r"clear\x1b[2J" in second
    assert "\x1b" not in result.stdout
    assert lines[-1].endswith("total changed from 1 to 2")


@pytest.mark.parametrize("columns", [30, 60, 80])
def test_a_narrow_terminal_gets_short_lines_with_everything_in_them(path: Path, columns: int):
    result = run("ledger", path, columns=columns)
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= columns
    text = " ".join(result.stdout.split())
    for word in ("1. 0.25", "root > where [b]age > 3", "laplace, answered", "2. 1/3", "debited"):
        assert word in text


def test_json_has_exact_numbers_and_floats(path: Path):
    result = run("ledger", path, "--json", columns=20)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["dataset"] == "visits"
    assert report["spent"] == {"exact": "7/12", "float": pytest.approx(7 / 12)}
    assert Fraction(report["total"]["exact"]) - Fraction(report["spent"]["exact"]) == Fraction(
        report["remaining"]["exact"]
    )
    first, second = report["entries"]
    assert first["lineage"] == ["root", "where [b]age > 3"]
    assert (first["number"], first["status"], first["amount"]["exact"]) == (1, "answered", "1/4")
    assert (second["operator"], second["process"]) == ("clear\x1b[2J", os.getpid())
    assert [(event["changed"], event["old"], event["new"]) for event in report["events"]] == [("total", "1", "2")]


def test_ctrl_c_at_the_question_who_consents(path: Path, monkeypatch):
    def interrupted(*arguments, **options):
        raise typer.Abort

    monkeypatch.setattr(
        "adyton.cli.ledger.sys", types.SimpleNamespace(stdin=types.SimpleNamespace(isatty=lambda: True))
    )
    monkeypatch.setattr(typer, "prompt", interrupted)
    result = run("ledger", "raise", path, "--total", "2.5")
    assert result.exit_code == 130
    assert result.stderr.endswith("adyton: interrupted.\n")
    assert Ledger.read(path).total == 2


def test_a_total_is_raised_with_consent(path: Path):
    result = run("ledger", "raise", path, "--total", "2.5", "--consent", "the hospital's board")
    assert result.exit_code == 0
    assert "total changed from 2 to 2.5; consent: the hospital's board" in result.stdout
    report = Ledger.read(path)
    assert (report.total, report.spent, len(report.events)) == (Fraction(5, 2), Fraction(7, 12), 2)
    assert report.events[-1].consent == "the hospital's board"
    events = json.loads(run("ledger", path, "--json").stdout)["events"]
    assert [event["consent"] for event in events] == [None, "the hospital's board"]


def test_an_anchor_is_written_and_a_restored_ledger_accepted(path: Path):
    anchor = path.with_name("visits.anchor")
    shutil.copy(path, path.with_name("copy"))
    with Ledger.open(path, total=2, dataset="visits") as ledger:
        ledger.debit(Fraction(1, 4), lineage=["root"], operator="laplace")
    assert run("ledger", "anchor", path, anchor).exit_code == 0
    with Ledger.open(path, total=2, dataset="visits") as ledger:
        ledger.check_head(anchor.read_text().splitlines()[0])
    shutil.copy(path.with_name("copy"), path)
    for words in ([], ["--accept"], ["--consent", "the board"], ["--accept", "--consent", " "]):
        assert run("ledger", "anchor", path, anchor, *words).exit_code != 0
    accepted = run("ledger", "anchor", path, anchor, "--accept", "--consent", "the board")
    assert accepted.exit_code == 0
    assert "Accepted: ε = 0.25 is debited again." in accepted.stderr
    assert "consent: the board" in accepted.stdout
    assert run("ledger", "anchor", path, anchor).exit_code == 0
    assert run("ledger", path, "--accept").exit_code == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--total", "3"], 2, "--consent"),
        (["--total", "3", "--consent", " "], 2, "--consent"),
        (["--consent", "the board"], 2, "--total"),
        (["--total", "2", "--consent", "the board"], 1, "is not larger"),
        (["--total", "0.5", "--consent", "the board"], 1, "7/12 is spent already"),
        (["--total", "nan", "--consent", "the board"], 2, "finite number"),
        (["--total", "2000", "--consent", "the board"], 2, "protects nothing"),
        (["more", "--total", "3", "--consent", "the board"], 2, "give one ledger"),
    ],
)
def test_what_does_not_raise_a_total_is_refused(path: Path, words: list[str], code: int, message: str):
    before = Ledger.read(path)
    result = run("ledger", "raise", path, *words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert one_sentence(result.stderr)
    assert Ledger.read(path) == before


def test_an_analyst_gives_up_what_is_left(path: Path):
    """What they have spent stays spent, and the rest of what was set aside is there for others."""
    with Ledger.open(path, total=2, dataset="visits") as ledger:
        ledger.set_analyst("mara", part=1, aside=True, expires="2099-01-31")
        with ledger.on_behalf("mara"):
            ledger.debit(Fraction(1, 4), lineage=["root"], operator="count")
        before = ledger.budget.remaining
        assert run("ledger", "analyst", path, "mara", "--release").exit_code == 0
        assert ledger.budget.remaining == before + Fraction(3, 4)
        (mara,) = ledger.analysts()
        assert (mara.part, mara.aside, mara.spent, mara.expires) == (0.25, False, 0.25, "2099-01-31")
        with ledger.on_behalf("mara"), pytest.raises(BudgetExceeded):
            ledger.debit(Fraction(1, 1024), lineage=["root"], operator="count")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analyst", "FILE", "nora", "--release"], "no analyst 'nora'"),
        (["analyst", "FILE", "mara", "--release", "--part", "1"], "Give it alone"),
        (["FILE", "--release"], "belong to an analyst"),
    ],
)
def test_what_gives_up_nothing_is_refused(path: Path, words: list[str], message: str):
    before = Ledger.read(path)
    done = run("ledger", *(path if word == "FILE" else word for word in words))
    assert done.exit_code == 2
    assert message in done.stderr
    assert Ledger.read(path) == before


def test_looking_at_a_ledger_raises_nothing(path: Path):
    result = run("ledger", path, "--total", "3")
    assert result.exit_code == 2
    assert "ledger raise" in result.stderr


def test_an_empty_ledger_says_so(tmp_path: Path):
    Ledger.open(tmp_path / "new", total=1, dataset="visits").close()
    assert "No entries yet." in run("ledger", tmp_path / "new").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ledger", "nowhere.ledger"], 2, "nowhere.ledger does not exist"),
        (["ledger"], 2, "FILE"),
        (["ledger", "x", "--frobnicate"], 2, "--frobnicate"),
        (["--frobnicate"], 2, "--frobnicate"),
        (["legder", "x"], 2, "There are"),
        (["ledger", "."], 1, "is a directory"),
        (["ledger", __file__], 1, "is not a ledger"),
    ],
)
def test_an_error_is_one_sentence_on_standard_error(arguments: list[str], code: int, words: str):
    result = run(*arguments)
    assert result.exit_code == code
    assert words in result.stderr
    assert one_sentence(result.stderr)
    assert result.stdout == ""


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch):
    """Put a command of the test's own in the table."""

    def install(command) -> None:
        module = types.ModuleType("sample_command")
        module.command = command
        monkeypatch.setitem(sys.modules, "sample_command", module)
        monkeypatch.setitem(COMMANDS, "sample", "sample_command:command")
        every_command.cache_clear()

    yield install
    monkeypatch.undo()
    every_command.cache_clear()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("epsilon must be\ngreater than 0."), 2),
        (SchemaError("no such attribute."), 2),
        (BudgetExceeded("too much.", asked=Fraction(2), left=Fraction(1), total=Fraction(1)), 1),
        (LedgerError("held."), 1),
        (KernelFailure(), 1),
        (AdytonError("failed."), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(sample, error: BaseException, code: int):
    def command() -> None:
        raise error

    sample(command)
    result = run("sample")
    assert result.exit_code == code
    assert one_sentence(result.stderr)
    assert (" ".join(str(error).split()) or "interrupted") in result.stderr


def test_a_defect_keeps_its_traceback(sample):
    def command() -> None:
        raise ZeroDivisionError

    sample(command)
    assert isinstance(run("sample").exception, ZeroDivisionError)


def test_a_command_in_the_table_is_in_the_help(sample):
    def command() -> None:
        """Do what the sample does."""

    sample(command)
    result = run("--help")
    assert result.exit_code == 0
    assert "Do what the sample does." in result.stdout
    assert run("sample").exit_code == 0
    assert "Do what the sample does." in run("sample", "--help").stdout
    assert run().stdout == result.stdout
    assert run("--version").stdout == f"adyton {adyton.__version__}\n"


def test_help_imports_nothing_heavy():
    heavy = {"numpy", "scipy", "numba", "ibis", "sqlglot", "cryptography", "sqlite3", "adyton.kernel"}
    script = (
        "import sys\nfrom adyton.cli.main import main\nsys.argv = ['adyton', '--help']\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ledger" in done.stdout
    loaded = set(done.stderr.split())
    assert not loaded & (heavy | {"adyton.cli.ledger"})


def test_the_program_itself(path: Path):
    done = subprocess.run([*ADYTON, "ledger", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "7/12" in done.stdout
    refused = subprocess.run([*ADYTON, "ledger", "nowhere"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert one_sentence(refused.stderr)


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path):
    with Ledger.open(tmp_path / "long", total=1, dataset="visits") as ledger:
        for _ in range(10):
            ledger.debit(Fraction(0), lineage=["root" * 200000], operator="laplace")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*ADYTON, "ledger", str(tmp_path / "long"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=180) == 1


def test_an_interrupt_from_the_keyboard():
    script = (
        "import sys, time, types\nfrom adyton.cli.main import COMMANDS, main\n"
        "module = types.ModuleType('sample')\n"
        "def command():\n    print('started', flush=True)\n    time.sleep(300)\n"
        "module.command = command\nsys.modules['sample'] = module\nCOMMANDS['sample'] = 'sample:command'\n"
        "sys.argv = ['adyton', 'sample']\nmain()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=180) == 130
        assert process.stderr.read() == "adyton: interrupted.\n"


class Terminal:
    """A standard error that claims to be a terminal, or not, and remembers what was written."""

    def __init__(self, terminal: bool) -> None:
        self.terminal, self.written = terminal, ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.written += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("terminal", "quiet", "seen"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool, quiet: bool, seen: bool):
    screen = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with console.progress("measuring", total=2, quiet=quiet) as advance:
        advance(1)
        advance(1)
    assert ("measuring" in screen.written) is seen
    if not seen:
        assert screen.written == ""
