"""Runs what a page shows: its blocks of Python and shell, in order, in one namespace and one folder."""

import contextlib
import io
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from adyton.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NEVER = re.compile(r"\b(?:pip install|pytest|mkdocs|venv)\b")
_PUNCTUATION = set("();<>|&")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    reason: str | None
    """Why it is not run, if it is not."""


def blocks(page: str) -> list[Block]:
    return blocks_in((ROOT / page).read_text(encoding="utf-8"))


def blocks_in(text: str) -> list[Block]:
    return [Block(match["language"], match["code"], match["reason"]) for match in _BLOCK.finditer(text)]


def run(page: str) -> str:
    """Everything that the page's blocks print."""
    return run_text(page, (ROOT / page).read_text(encoding="utf-8"))


def run_text(page: str, text: str) -> str:
    """The same of a text that is, or is made of, the page's."""
    namespace = {"__name__": page}
    return "".join(_run(page, block, namespace) for block in blocks_in(text) if block.reason is None)


def _run(page: str, block: Block, namespace: dict) -> str:
    if block.language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.code, page, "exec"), namespace)
        return printed.getvalue()
    if block.language == "bash":
        lines = block.code.replace("\\\n", " ").splitlines()
        return "".join(command(line) for line in lines if line.strip())
    return ""


def command(line: str) -> str:
    """What a command prints: an adyton command in this process, anything else in a shell."""
    assert not _NEVER.search(line), f"mark this block with <!-- not run: reason -->: {line}"
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    if words[0] == "adyton" and not any(set(word) <= _PUNCTUATION for word in words):
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}{done.stderr}{done.exception!r}"
        return done.stdout
    finished = subprocess.run(["bash", "-euc", line], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, f"{line}\n{finished.stderr}"
    return finished.stdout
