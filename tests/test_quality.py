"""The code's own hygiene: style, types, a fast import, and nothing of this machine in what is shipped."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "arguments", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join
)
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
