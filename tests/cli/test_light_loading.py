"""What the command does not load."""

import subprocess
import sys

RELEASE = """
import sys
from adyton.cli.main import app
app(["release", "examples/visits.csv", "--schema", "examples/visits.toml", "--ranges", "age", "--epsilon", "1",
     "--out", sys.argv[1]], standalone_mode=False)
print([name for name in ("pandas", "ibis", "duckdb", "sqlglot", "scipy.special") if name in sys.modules])
"""


QUICK_END = """
import atexit, sys
from adyton.cli import leave
atexit.register(lambda: print("last words"))
print("all is written", end=" ")
leave(3)
"""


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_a_release_loads_no_library_that_it_does_not_use(tmp_path):
    assert run(RELEASE, str(tmp_path / "out")).splitlines()[-1] == "[]"


def test_the_end_comes_at_once_but_after_everything_else():
    done = subprocess.run([sys.executable, "-c", QUICK_END], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "all is written last words\n", "")


def test_options_that_are_no_texts_are_still_checked():
    words = ["plan", "--schema", "examples/visits.toml", "--marginals", "two"]
    done = subprocess.run([sys.executable, "-m", "adyton", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--marginals" in done.stderr
