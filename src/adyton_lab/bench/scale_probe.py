"""One point of :mod:`adyton_lab.bench.scale`, measured in a process of its own: seconds, and the memory it takes.

All rows are made up inside the engine, and all counts from a seed. Nothing here is private.
"""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adyton.arrays import Integers
from adyton.schema import Schema

LEVELS = 100_000
"""The cells that rows fall into."""
SIDES = (1024, 2048, 4096)
"""The cells of the vectors that workers run experiments on."""
_FEW_ROWS = 10
_ROWS = "select cast((i * 7919 + i % 8191 * 31) % {levels} as integer) as value from range({rows}) made(i)"
_MAKE = """
import sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"create table made as {sys.argv[2]}")
"""
_EPSILON = "0.1"
_NEIGHBOURS = 64
_WARM = 1 << 17
"""So many cells have all loops compiled before the clock runs."""


class Probe(NamedTuple):
    """What is measured: everything that is loaded, compiled or made up once is done before."""

    work: Callable[[], None]
    bare: Callable[[], float] | None = None
    """Processor time of the bare query that it is held against, if there is one."""


def probe(what: str, name: str, size: int) -> None:
    """Measure, and print the figures as JSON."""
    measured = _PROBES[what](name, size)
    before, begun, used = peak_memory(), time.perf_counter(), time.process_time()
    measured.work()
    found = {
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - used,
        "megabytes": peak_memory() - before,
    }
    if measured.bare is not None:
        found["processor_seconds_of_the_query"] = measured.bare()
    sys.stdout.write(json.dumps(found))


def _rows(name: str, rows: int) -> Probe:
    """A histogram of rows that the engine made up, beside the same question in plain SQL."""
    import adyton as ad

    schema = ad.Schema({"value": ad.Integer(0, LEVELS - 1)})
    made = [_ROWS.format(levels=LEVELS, rows=number) for number in (rows, _FEW_ROWS)]
    return _release(made, schema, ad.Histogram("value"), name, "value")


def _pairs(name: str, rows: int) -> Probe:
    """The 28 pair tables of eight attributes of ten levels, beside the bare query for one of them."""
    return _all_pairs(name, 8, 10, rows, "x0, x1")


def _attributes(name: str, attributes: int) -> Probe:
    """All pair tables of so many attributes of 32 levels, over a million rows."""
    return _all_pairs(name, attributes, 32, 1_000_000)


def _all_pairs(name: str, attributes: int, levels: int, rows: int, group: str = "") -> Probe:
    """All pair tables of independent attributes."""
    import adyton as ad

    columns = {f"x{place}": f"cast(hash(i * 64 + {place}) % {levels} as integer)" for place in range(attributes)}
    chosen = ", ".join(f"{value} as {column}" for column, value in columns.items())
    made = [f"select {chosen} from range({number}) made(i)" for number in (rows, _FEW_ROWS)]
    schema = ad.Schema({column: ad.Integer(0, levels - 1) for column in columns})
    return _release(made, schema, ad.Marginals(way=2), name, group)


def _release(made: Sequence[str], schema: Schema, task: Any, algorithm: str, group: str) -> Probe:
    """A release of a stored table, and the bare group-by, if a *group* is named; first one of few rows, to warm up."""
    import duckdb

    import adyton as ad

    def release(path: Path) -> None:
        with ad.Session(path, schema=schema, epsilon=1, dataset="made up") as session:
            session.release(task, epsilon=_EPSILON, algorithm=algorithm)

    def bare() -> float:
        with duckdb.connect(str(many), read_only=True) as connection:
            connection.execute("set enable_progress_bar = false")
            used = time.process_time()
            connection.sql(f"select {group}, count(*) as number from made group by {group}").fetchnumpy()
            return time.process_time() - used

    many, few = map(_stored, made)
    release(few)
    return Probe(lambda: release(many), bare if group else None)


def peak_memory() -> float:
    """The most memory, in MB, that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the parent's memory from before the program started
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _stored(query: str) -> Path:
    """A DuckDB file with a table of rows that were made up inside the engine, in a process of its own."""
    path = Path(tempfile.mkdtemp(prefix="adyton-scale-"), "made.duckdb")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    subprocess.run([sys.executable, "-c", _MAKE, str(path), query], check=True)
    return path


def _cells(name: str, cells: int) -> Probe:
    """A plan on a vector of so many cells, with exact noise, for all prefix sums."""
    from adyton.kernel.kernel import Kernel
    from adyton.plans import plan_named
    from adyton.queries import Prefix

    plan = plan_named(name)

    def work(counts: Integers) -> None:
        plan.estimate(Kernel.on_vector(counts, epsilon=1).root, Prefix(counts.size), _EPSILON)

    work(made_up(_WARM))
    counts = made_up(cells)
    return Probe(lambda: work(counts))


def made_up(cells: int) -> Integers:
    """Counts of about three rows a cell, alike among neighbours, of skewed heights."""
    random = np.random.default_rng(cells)
    levels = random.gamma(0.3, 10, -(-cells // _NEIGHBOURS))
    return random.poisson(np.repeat(levels, _NEIGHBOURS)[:cells]).astype(np.int64)


def _queries(name: str, queries: int) -> Probe:
    """A plan for so many random ranges over 65,536 cells, and their answers."""
    from adyton.kernel.kernel import Kernel
    from adyton.plans import plan_named
    from adyton.queries.ranges import RandomRanges

    counts, plan = made_up(1 << 16), plan_named(name)

    def work(number: int) -> None:
        asked = RandomRanges(counts.size, number, seed=1)
        asked @ plan.estimate(Kernel.on_vector(counts, epsilon=1).root, asked, _EPSILON)

    work(10)
    return Probe(lambda: work(queries))


def _workers(name: str, workers: int) -> Probe:
    """Experiments on made-up shapes, by so many processes."""
    from adyton_lab.corpus import made_up_corpus
    from adyton_lab.training.executors import Processes
    from adyton_lab.training.experiments import Experiments, grid

    shapes = made_up_corpus(1)[:4]

    def work(sides: list[int], executor: Processes) -> None:
        inputs = grid(shapes, sides, [1_000, 100_000])
        Experiments().measure(inputs, [name], ["prefix"], trials=10, executor=executor)

    work([64], Processes(1))
    return Probe(lambda: work(list(SIDES), Processes(workers)))


_PROBES: dict[str, Callable[[str, int], Probe]] = {
    "rows": _rows,
    "pairs": _pairs,
    "cells": _cells,
    "attributes": _attributes,
    "queries": _queries,
    "workers": _workers,
}
