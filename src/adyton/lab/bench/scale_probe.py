"""One point of :mod:`adyton.lab.bench.scale`, measured in a process of its own: seconds, and the memory it takes.

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.lab.bench.vectorize import peak_memory
from adyton.schema import Schema

LEVELS = 100_000
"""The cells that rows fall into."""
SIDES = (1024, 2048, 4096)
"""The cells of the vectors that workers run experiments on."""
_SIDE = 32
_PAIRED_ATTRIBUTES, _LEVELS = 8, 10
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


def probe(what: str, name: str, size: int) -> None:
    """Measure, and print the figures as JSON."""
    work = _WORK[what](name, size)
    before, begun, used = peak_memory(), time.perf_counter(), time.process_time()
    extra = work()
    found = {
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - used,
        "megabytes": peak_memory() - before,
    }
    sys.stdout.write(json.dumps(found | extra))


def _rows(name: str, rows: int) -> Callable[[], dict[str, float]]:
    """A histogram of rows that the engine made up, beside the same question in plain SQL."""
    import adyton as ad

    schema = ad.Schema({"value": ad.Integer(0, LEVELS - 1)})
    many, few = (_stored(_ROWS.format(levels=LEVELS, rows=number)) for number in (rows, 10))
    return _beside(many, few, schema, ad.Histogram("value"), name, "value")


def _pairs(name: str, rows: int) -> Callable[[], dict[str, float]]:
    """The 28 pair tables of eight attributes of ten levels, beside the bare query for one of them."""
    import adyton as ad

    schema = ad.Schema({f"x{place}": ad.Integer(0, _LEVELS - 1) for place in range(_PAIRED_ATTRIBUTES)})
    many, few = (_stored(_paired(_PAIRED_ATTRIBUTES, _LEVELS, number)) for number in (rows, 10))
    return _beside(many, few, schema, ad.Marginals(way=2), name, "x0, x1")


def _beside(
    many: Path, few: Path, schema: Schema, task: Any, algorithm: str, group: str
) -> Callable[[], dict[str, float]]:
    """A release of a stored table, beside a bare group-by."""
    import duckdb

    import adyton as ad

    def release(path: Path) -> None:
        with ad.Session(path, schema=schema, epsilon=1, dataset="made up") as session:
            session.release(task, epsilon=_EPSILON, algorithm=algorithm)

    def work() -> dict[str, float]:
        begun, used = time.perf_counter(), time.process_time()
        release(many)
        found = {"seconds": time.perf_counter() - begun, "processor_seconds": time.process_time() - used}
        return found | {"megabytes": peak_memory() - before, "processor_seconds_of_the_query": bare()}

    def bare() -> float:
        with duckdb.connect(str(many), read_only=True) as connection:
            connection.execute("set enable_progress_bar = false")
            used = time.process_time()
            connection.sql(f"select {group}, count(*) as number from made group by {group}").fetchnumpy()
            return time.process_time() - used

    release(few)  # what is loaded and compiled once is no part of the figures
    before = peak_memory()
    return work


def _stored(query: str) -> Path:
    """A DuckDB file with a table of rows that were made up inside the engine, in a process of its own."""
    path = Path(tempfile.mkdtemp(prefix="adyton-scale-"), "made.duckdb")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    subprocess.run([sys.executable, "-c", _MAKE, str(path), query], check=True)
    return path


def _cells(name: str, cells: int) -> Callable[[], dict[str, float]]:
    """A plan on a vector of so many cells, with exact noise, for all prefix sums."""
    from adyton.kernel.kernel import Kernel
    from adyton.plans import plan_named
    from adyton.queries import Prefix

    plan = plan_named(name)

    def work(counts: Integers) -> dict[str, float]:
        plan.estimate(Kernel.on_vector(counts, epsilon=1).root, Prefix(counts.size), _EPSILON)
        return {}

    work(made_up(_WARM))
    counts = made_up(cells)
    return lambda: work(counts)


def made_up(cells: int) -> Integers:
    """Counts of about three rows a cell, alike among neighbours, of skewed heights."""
    random = np.random.default_rng(cells)
    levels = random.gamma(0.3, 10, -(-cells // _NEIGHBOURS))
    return random.poisson(np.repeat(levels, _NEIGHBOURS)[:cells]).astype(np.int64)


def _attributes(name: str, attributes: int) -> Callable[[], dict[str, float]]:
    """All pair tables of so many attributes of 32 levels, over a million rows."""
    import adyton as ad

    names = [f"x{place}" for place in range(attributes)]
    schema = ad.Schema({one: ad.Integer(0, _SIDE - 1) for one in names})
    few, many = (_stored(_paired(attributes, _SIDE, rows)) for rows in (10, 1_000_000))

    def work(path: Path) -> dict[str, float]:
        with ad.Session(path, schema=schema, epsilon=1, dataset="made up") as session:
            session.release(ad.Marginals(way=2), epsilon=_EPSILON, algorithm=name)
        return {}

    work(few)
    return lambda: work(many)


def _paired(attributes: int, levels: int, rows: int) -> str:
    """The query that makes up rows of independent attributes."""
    columns = (f"cast(hash(i * 64 + {place}) % {levels} as integer) as x{place}" for place in range(attributes))
    return f"select {', '.join(columns)} from range({rows}) made(i)"


def _queries(name: str, queries: int) -> Callable[[], dict[str, float]]:
    """A plan for so many random ranges over 65,536 cells, and their answers."""
    from adyton.kernel.kernel import Kernel
    from adyton.plans import plan_named
    from adyton.queries.random_ranges import RandomRanges

    counts, plan = made_up(1 << 16), plan_named(name)

    def work(number: int) -> dict[str, float]:
        asked = RandomRanges(counts.size, number, seed=1)
        asked @ plan.estimate(Kernel.on_vector(counts, epsilon=1).root, asked, _EPSILON)
        return {}

    work(10)
    return lambda: work(queries)


def _workers(name: str, workers: int) -> Callable[[], dict[str, float]]:
    """Experiments on made-up shapes, by so many processes."""
    from adyton.lab.corpus import made_up_corpus
    from adyton.lab.executors import Processes
    from adyton.lab.experiments import Experiments
    from adyton.lab.inputs import grid

    shapes = made_up_corpus(1)[:4]

    def work(sides: list[int], executor: Processes) -> dict[str, float]:
        inputs = grid(shapes, sides, [1_000, 100_000])
        Experiments().measure(inputs, [name], ["prefix"], trials=10, executor=executor)
        return {}

    work([64], Processes(1))
    return lambda: work(list(SIDES), Processes(workers))


_WORK: dict[str, Callable[[str, int], Callable[[], dict[str, float]]]] = {
    "rows": _rows,
    "pairs": _pairs,
    "cells": _cells,
    "attributes": _attributes,
    "queries": _queries,
    "workers": _workers,
}
