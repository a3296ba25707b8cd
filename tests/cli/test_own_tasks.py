"""A kind of task that somebody else has registered is asked for, planned and delivered on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adyton.errors import BadInput
from adyton.tasks import Histogram, Option, register
from adyton.tasks import request as reading

PROGRAM = """
import sys
from dataclasses import dataclass
from adyton.tasks import Histogram, Option, register

@register
@dataclass(frozen=True, init=False, repr=False)
class ByParity(Histogram):
    kind = "parity"
    asked_by = (
        Option("parity", "Rows with even and odd numbers.", "A"),
        Option("parity-words", "For --parity: words for both.", "EVEN,ODD", asks=False),
    )
    attributes: tuple[str, ...]

    @classmethod
    def from_options(cls, given):
        print("given", sorted(given.items()), file=sys.stderr)
        return cls(given["parity"])

from adyton.cli.main import main
main()
"""


def run(*words):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = ("--schema", str(EXAMPLES / "visits.toml"))


def test_it_has_options_of_its_own(tmp_path):
    assert "Rows with even and odd numbers." in " ".join(run("release", "--help").stdout.split())
    asked = ("--parity", "stay_days", "--parity-words", "a,b")
    done = run("release", str(EXAMPLES / "visits.csv"), *SCHEMA, *asked, "--epsilon", "1", "--json", "--out",
               str(tmp_path / "out"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "given [('parity', 'stay_days'), ('parity_words', 'a,b')]" in done.stderr
    assert json.loads(done.stdout)["task"] == {"task": "parity", "attributes": ["stay_days"]}
    assert "parity" in (tmp_path / "out" / "release.json").read_text(encoding="utf-8")
    planned = run("plan", *SCHEMA, *asked, "--epsilon", "1")
    assert (planned.returncode, "typical error" in planned.stdout) == (0, True), planned.stderr


def test_it_stands_in_messages():
    for words, said in (
        ((), "--parity"),
        (("--parity", "age", "--count"), "one thing at a time: --count, or --parity"),
        (("--histogram", "age", "--parity-words", "a,b"), "--parity-words belongs to --parity"),
    ):
        done = run("plan", *SCHEMA, *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_two_tasks_cannot_share_an_option(monkeypatch):
    monkeypatch.setattr(reading.TASKS, "added", {})

    class Mine(Histogram):
        kind = "mine"
        asked_by = (Option("count", "Something else.", "A"),)

    register(Mine)
    with pytest.raises(BadInput, match="two kinds of task are asked for by --count"):
        reading.asking()


def test_options_are_not_inherited(monkeypatch):
    monkeypatch.setattr(reading.TASKS, "added", {})

    class Mine(Histogram):
        kind = "mine"

    register(Mine)
    assert Mine not in [task for _, tasks in reading.asking() for task in tasks]
