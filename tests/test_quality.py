"""The code's own hygiene: style, types, a fast import, and nothing of this machine in what is shipped."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import adyton

ROOT = Path(__file__).parent.parent
TOOLS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])


@pytest.mark.parametrize("arguments", TOOLS, ids=" ".join)
def test_tool_has_nothing_to_say(arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_is_light():
    """Heavy libraries are imported when first used; time is a matter of the machine, so the modules are counted."""
    heavy = (
        "numba",
        "scipy",
        "ibis",
        "duckdb",
        "pandas",
        "pyarrow",
        "opendp",
        "cryptography",
        "rich",
        "typer",
        "sqlglot",
    )
    code = f"import sys, adyton; adyton.Schema; adyton.noise; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_readme_has_the_two_commands():
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert "adyton release" in commands[0]
    assert "pytest" in commands[1]


def test_the_guide_for_contributors_names_what_there_is():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src|tests|docs|benchmarks|\.ci)/[^`\s]*|[A-Z]+\.md|pyproject\.toml)", guide))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"^(\w+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(targets) <= 10
    assert set(re.findall(r"`make (\w+)", guide)) == targets - {"help"}
    for page in ("CONTRIBUTING.md", "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#:]+)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page} links to {target}"


def test_names_in_the_guide_are_those_of_the_code():
    """What a recipe says to edit is where it says."""
    for path, words in {
        "src/adyton/plans/registry.py": ["_PLACES"],
        "src/adyton/kernel/mechanisms/__init__.py": ["CORE", "PLACES"],
        "src/adyton_lab/audit/trusted.py": ["CORE", "ADDED"],
        "src/adyton/tasks/request.py": ["_PLACES"],
        "tests/kernel/test_wire.py": ["EXAMPLES"],
        "tests/kernel/engines/hard_rows.py": ["ROWS"],
        "tests/kernel/engines/conftest.py": ["def opened"],
        "src/adyton/kernel/reading/readers.py": ["class Reader", "def batches"],
        "src/adyton/kernel/engines/server.py": ["class Server"],
        "src/adyton/result/result.py": ["class Result"],
    }.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        assert [word for word in words if not re.search(rf"^ *{re.escape(word)}\b", text, re.MULTILINE)] == [], path


def test_hooks_before_a_commit_run_what_is_checked_here():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: python -m (.+)", hooks) == [" ".join(tool) for tool in TOOLS]
    assert re.findall(r"repo: (.+)", hooks) == ["local"]


def test_the_version_to_cite_is_this_one():
    assert f"\nversion: {adyton.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
