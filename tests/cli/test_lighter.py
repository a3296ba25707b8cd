"""What the command does not load."""

import subprocess
import sys

LIGHT = """
import sys
from adyton.cli.lighter import load_less
load_less()
load_less()
assert [type(finder).__name__ for finder in sys.meta_path].count("_Finder") == 1
import ibis
connection = ibis.duckdb.connect()
assert connection.raw_sql(connection.compile(ibis.literal(1))).fetchone() == (1,)
assert "ibis.backends.sql.compilers.bigquery" not in sys.modules
assert ibis.backends.sql.compilers.mysql.__name__.endswith("mysql")  # a compiler by itself
from ibis.backends.sql.compilers import BigQueryCompiler, DuckDBCompiler  # all of them, for who asks by class
assert DuckDBCompiler is sys.modules["ibis.backends.sql.compilers.duckdb"].DuckDBCompiler
"""

NUMBERS = """
import sys
from adyton.cli.lighter import load_less
load_less()
from adyton.compiling import compiled
assert compiled(lambda value: value + 1)(1) == 2
assert "scipy.linalg" not in sys.modules
import numba, numpy, scipy.linalg.cython_blas
assert numba.njit(lambda matrix: numpy.dot(matrix, matrix))(numpy.eye(2)).sum() == 2
"""

RELEASE = """
import sys
from adyton.cli.lighter import load_less
from adyton.cli.main import app
load_less()
app(["release", "examples/visits.csv", "--schema", "examples/visits.toml", "--ranges", "age", "--epsilon", "1",
     "--out", sys.argv[1]], standalone_mode=False)
print([name for name in ("pandas", "ibis", "duckdb", "sqlglot", "scipy.special", "pydantic") if name in sys.modules])
"""


QUICK_END = """
import atexit, sys
from adyton.cli.leaving import leave
atexit.register(lambda: print("last words"))
print("all is written", end=" ")
leave(3)
"""


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_a_compiler_of_ibis_is_loaded_when_it_is_asked_for():
    run(LIGHT)


def test_loops_need_no_linear_algebra_and_those_of_others_have_it():
    run(NUMBERS)


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
