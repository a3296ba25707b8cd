"""Every question of a curator is answered by one command and by one line of Python, and both are run."""

import ast
import itertools
import re
from pathlib import Path

import page_blocks
import pytest

from adyton.session import run as running

PAGE = "docs/how-to/questions.md"
QUESTION = re.compile(r"^### (?P<words>[^\n]+)\n(?P<answer>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
ROWS = 400
SAID = (
    "cardiology",
    "traffic accident",
    "deviation",
    "Combined from 2 releases",
    "2024-W12",
    "remaining",
    "or 5% of 400, 19 times of 20",
)


BY_COMMAND = ("How much do salaries vary?", "Can we publish rows", "We asked twice", "How much is left?")
"""Asked by their commands, as every second question is: what is looked for is printed by those."""


@pytest.fixture
def short(workplace, monkeypatch):
    """The first rows of each table, and a coarse map. What does not fit is counted on other pages."""
    for table in Path("examples").glob("*.csv"):
        lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
        table.write_text("".join(lines[: ROWS + 1]), encoding="utf-8")
    schema = Path("examples/calls.toml")
    schema.write_text(schema.read_text(encoding="utf-8").replace("grid = [20, 18]", "grid = 8"), encoding="utf-8")
    share = running.misfits_share
    monkeypatch.setattr(
        running, "misfits_share", lambda given, schema, **_: share(bool(given), schema, from_text=False)
    )


def test_each_question_has_one_command_and_one_line_of_python():
    text = (page_blocks.ROOT / PAGE).read_text(encoding="utf-8")
    questions = {match["words"]: match["answer"] for match in QUESTION.finditer(text)}
    assert len(questions) >= 20
    for words, answer in questions.items():
        command, line = page_blocks.blocks_in(answer)
        assert (command.language, line.language) == ("bash", "python"), words
        assert len(command.code.replace("\\\n", " ").splitlines()) == 1, words
        assert len(ast.parse(line.code).body) == 1, words


def one_way(answer, number, words):
    """The answer without its line of Python or without its command: both ask the same."""
    command = number % 2 == 0 or words.startswith(BY_COMMAND)
    unused = "python" if command else "bash"
    return re.sub(rf"^```{unused}\n.*?^```$", "", answer, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.full)], ids=["one way", "both ways"])
def test_all_answers(both, short):
    text, number = (page_blocks.ROOT / PAGE).read_text(encoding="utf-8"), itertools.count()
    if not both:
        text = QUESTION.sub(lambda match: one_way(match[0], next(number), match["words"]), text)
    printed = page_blocks.run_text(PAGE, text)
    assert not [words for words in SAID if words not in printed]
    assert Path("map-of-calls/report.html").is_file()
    assert len(Path("synthetic.csv").read_text(encoding="utf-8").splitlines()) == 501
