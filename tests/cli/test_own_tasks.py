"""A kind of task that somebody else has registered is asked for, planned and delivered on the command line.

In one other process for all commands: which options there are is settled when the first one is called.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adyton.errors import BadInput
from adyton.tasks import Histogram, Option, register
from adyton.tasks import request as reading

PROGRAM = """
import json, sys
from dataclasses import dataclass
from adyton.tasks import Histogram, Option, register

@register
@dataclass(frozen=True, init=False, repr=False)
class ByParity(Histogram):
    kind = "parity"
    command_options = (
        Option("parity", "Rows with even and odd numbers.", "A"),
        Option("parity-words", "For --parity: words for both.", "EVEN,ODD", asks=False),
    )
    attributes: tuple[str, ...]

    @classmethod
    def from_options(cls, given):
        print("given", sorted(given.items()), file=sys.stderr)
        return cls(given["parity"])

from typer.testing import CliRunner
from adyton.cli.main import app
done = [CliRunner().invoke(app, words, env={"COLUMNS": "200"}) for words in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = ("--schema", str(EXAMPLES / "visits.toml"))


def test_it_has_options_messages_and_results_of_its_own(tmp_path):
    asked = ("--parity", "stay_days", "--parity-words", "a,b")
    refused = {
        (): "--parity",
        ("--parity", "age", "--count"): "one thing at a time: --count, or --parity",
        ("--histogram", "age", "--parity-words", "a,b"): "--parity-words belongs to --parity",
    }
    commands = [
        ("release", "--help"),
        ("release", str(EXAMPLES / "visits.csv"), *SCHEMA, *asked, "--epsilon", "1", "--json", "--out",
         str(tmp_path / "out")),
        ("plan", *SCHEMA, *asked, "--epsilon", "1"),
        *(("plan", *SCHEMA, *words) for words in refused),
    ]  # fmt: skip
    given = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = json.loads(subprocess.run(given, capture_output=True, text=True, check=True).stdout)
    (_, help_page, _), (code, released, said), (planned_code, planned, _), *others = done
    assert "Rows with even and odd numbers." in " ".join(help_page.split())
    assert code == 0, said
    assert "given [('parity', 'stay_days'), ('parity_words', 'a,b')]" in said
    assert json.loads(released)["task"] == {"task": "parity", "attributes": ["stay_days"]}
    assert "parity" in (tmp_path / "out" / "release.json").read_text(encoding="utf-8")
    assert (planned_code, "typical error" in planned) == (0, True)
    for (code, _, said), words in zip(others, refused.values(), strict=True):
        assert (code, words in said) == (2, True), said


def test_two_tasks_cannot_share_an_option(monkeypatch):
    monkeypatch.setattr(reading.TASKS, "added", {})

    class Mine(Histogram):
        kind = "mine"
        command_options = (Option("count", "Something else.", "A"),)

    register(Mine)
    with pytest.raises(BadInput, match="two kinds of task are asked for by --count"):
        reading.command_options()


def test_options_are_not_inherited(monkeypatch):
    monkeypatch.setattr(reading.TASKS, "added", {})

    class Mine(Histogram):
        kind = "mine"

    register(Mine)
    assert Mine not in [task for _, tasks in reading.command_options() for task in tasks]
