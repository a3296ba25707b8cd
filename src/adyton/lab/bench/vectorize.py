"""How fast a table is turned into a vector, against the plain SQL that an expert would write for the same question.

Both run in DuckDB on the same Parquet file, in turn. A second experiment, in processes of their own, shows that the
memory for the answer grows with the number of cells and not with the number of rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from adyton.lab.bench.timing import seconds

if TYPE_CHECKING:
    from adyton.kernel.tables import PrivateTable

_AGES = 100
_MAKE = """
copy (
    select cast(floor(random() * 130) - 5 as integer) as age, random() * 120000 - 10000 as salary
    from range({rows})
) to '{path}' (format parquet)
"""
_QUERY = """
select cell, count(*) as rows
from (
    select age * {bins} + least(cast(floor(salary / {width}) as integer), {bins} - 1) as cell
    from read_parquet('{path}')
    where age between 0 and 99 and salary between 0 and 100000
)
group by cell
"""
_PROBE = """
import sys
from adyton.lab.bench.vectorize import open_example, peak_memory
table = open_example(sys.argv[1], int(sys.argv[2]))
before = peak_memory()
table.vectorize()
sys.stdout.write(str(peak_memory() - before))
"""


@dataclass(frozen=True)
class VectorizeComparison:
    """Medians in seconds, and the memory in MB that counting takes for a tenth of the rows and for all of them."""

    rows: int
    cells: int
    adyton_seconds: float
    sql_seconds: float
    memory_few_rows: float
    memory_many_rows: float
    times_the_sql: float


def compare(rows: int = 20_000_000, cells: int = 100_000, repeats: int = 7) -> Iterator[VectorizeComparison]:
    """Run both in turn, *repeats* times; *cells* must be a multiple of 100."""
    import duckdb

    bins = max(1, cells // _AGES)
    with tempfile.TemporaryDirectory() as folder:
        many, few = Path(folder, "many.parquet").as_posix(), Path(folder, "few.parquet").as_posix()
        connection = duckdb.connect()
        connection.execute("set enable_progress_bar = false")
        connection.execute(_MAKE.format(rows=rows, path=many))
        connection.execute(_MAKE.format(rows=max(1, rows // 10), path=few))
        query = _QUERY.format(path=many, bins=bins, width=100_000 / bins)
        table = open_example(many, bins)
        plain, ours = [], []
        for _ in range(repeats):
            plain.append(seconds(lambda: connection.sql(query).to_arrow_table()))
            ours.append(seconds(table.vectorize))
        counted = int(table.vectorize().sum())
        expected = connection.sql(query).to_arrow_table().column("rows").to_numpy().sum()
        if counted != expected:
            raise AssertionError("the two counts differ, so that the comparison means nothing")
        yield VectorizeComparison(
            rows=rows,
            cells=bins * _AGES,
            adyton_seconds=median(ours),
            sql_seconds=median(plain),
            memory_few_rows=_extra_memory(few, bins),
            memory_many_rows=_extra_memory(many, bins),
            times_the_sql=median(ours) / median(plain),
        )


def steps() -> int:
    """How many records :func:`compare` yields."""
    return 1


def open_example(path: str, bins: int) -> PrivateTable:
    """The table of the comparison."""
    from adyton.kernel.tables import open_table
    from adyton.schema import Integer, Numeric, Schema

    schema = Schema({"age": Integer(0, _AGES - 1), "salary": Numeric(0, 100_000, bins=bins)})
    return open_table(path, schema)


def peak_memory() -> float:
    """The most memory, in MB, that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the parent's memory from before the program started
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _extra_memory(path: str, bins: int) -> float:
    """Peak memory, in MB, of counting in a fresh process, beyond what the process had when the table was open."""
    command = [sys.executable, "-W", "ignore", "-c", _PROBE, path, str(bins)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
