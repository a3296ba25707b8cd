"""What the command does not load."""

import subprocess
import sys

import pytest

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


INTERRUPTED = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "{library}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.argv = ["adyton", "release", "--help"]
from adyton.__main__ import main
main()
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


@pytest.mark.parametrize("library", ["typer", "rich", "adyton.cli.main", "adyton.cli.release"])
def test_ctrl_c_while_the_command_is_loaded_ends_it_without_a_traceback(library):
    program = INTERRUPTED.replace("{library}", library)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (130, ["adyton: interrupted."])


def test_options_that_are_no_texts_are_still_checked():
    words = ["plan", "--schema", "examples/visits.toml", "--marginals", "two"]
    done = subprocess.run([sys.executable, "-m", "adyton", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--marginals" in done.stderr
