"""How costs grow: time and memory against rows, rows of pair tables, cells, attributes, queries and workers.

Every point is measured in a separate process, so memory is measured separately. Rows are made up inside the engine,
and counts from a seed: nothing here is private.
"""

from __future__ import annotations

import atexit
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import adyton as ad
from adyton.arrays import Integers
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named
from adyton.queries import Prefix, RandomRanges
from adyton.schema import Schema
from adyton_lab.bench.common import Rows
from adyton_lab.corpus import made_up_corpus
from adyton_lab.pages import canvas, common_legend, styles
from adyton_lab.training.executors import Processes
from adyton_lab.training.experiments import Experiments, grid

PLANS = ("identity", "hb", "change-points", "staged-hierarchy", "pythia")
ROWS, CELLS, WORKERS = 10**7, 1 << 18, 2
"""The default largest sizes; they take a minute or two."""
_FIRST_ROWS, _FIRST_CELLS, _FITTED_CELLS = 10**6, 1 << 10, 1 << 12
_MOST_PAIRED_ROWS = 10**8
_ATTRIBUTES = (2, 4, 8)
_QUERIES = (10**3, 10**4, 10**5)
_PROBE = "import sys; from adyton_lab.bench.scale import probe; probe(sys.argv[1], sys.argv[2], int(sys.argv[3]))"


@dataclass(frozen=True)
class Growth:
    """One point: the time and memory of an algorithm at one size."""

    grows: str
    """rows, pairs (rows counted into all pair tables), cells, attributes, queries or workers."""
    algorithm: str
    size: int
    seconds: float
    processor_seconds: float
    megabytes: float
    """The peak memory minus that before the work; for workers, that of the process that distributes the work."""
    times_the_query: float | None = None
    """For rows and pairs: processor time divided by that of the bare group-by, in the same process."""
    exponent: float | None = None
    """b if processor time grows as size^b, fitted to this and all earlier points; for cells, to 4,096 and more."""


def points(rows: int = ROWS, cells: int = CELLS, workers: int = WORKERS) -> list[tuple[str, str, int]]:
    """The points to measure: rows by factors of ten, cells by factors of four.

    >>> [size for what, name, size in points(10**6, 1 << 12, 2) if name == "hb" and what == "cells"]
    [1024, 4096]
    """
    sizes = [("rows", "identity", size) for size in _by(10, _FIRST_ROWS, rows)]
    sizes += [("pairs", "all-pairs", size) for size in _by(10, _FIRST_ROWS, min(rows, _MOST_PAIRED_ROWS))]
    sizes += [("cells", name, size) for name in PLANS for size in _by(4, _FIRST_CELLS, cells)]
    sizes += [("attributes", "all-pairs", size) for size in _ATTRIBUTES]
    sizes += [("queries", "hb", size) for size in _QUERIES]
    return sizes + [("workers", "dawa", size) for size in _by(2, 1, workers)]


def _by(factor: int, first: int, last: int) -> list[int]:
    return list(itertools.takewhile(lambda size: size <= last, (first * factor**step for step in itertools.count())))


def scale(rows: int = ROWS, cells: int = CELLS, workers: int = WORKERS) -> Rows:
    """Measure every point, one after the other."""
    places = points(rows, cells, workers)
    return len(places), _growths(places)


def _growths(places: Sequence[tuple[str, str, int]]) -> Iterator[Growth]:
    for _, group in itertools.groupby(places, key=lambda point: point[:2]):
        line: list[Growth] = []
        for grows, name, size in group:
            measured = _measured(grows, name, size)
            query = measured.pop("processor_seconds_of_the_query", None)
            ratio = None if query is None else measured["processor_seconds"] / query
            line.append(Growth(grows, name, size, **measured, times_the_query=ratio))
            yield replace(line[-1], exponent=exponent(line))


def _measured(grows: str, name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-c", _PROBE, grows, name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{grows} {size} of {name} could not be measured: {done.stderr[-500:]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def exponent(line: Sequence[Growth]) -> float | None:
    """The slope of log time against log size by least squares; None for workers, with which time does not grow.

    >>> doubling = [Growth("rows", "identity", 10**k, 0, 2.0 * 10**k, 0) for k in (6, 7, 8)]
    >>> round(exponent(doubling), 3)
    1.0
    """
    least = {"cells": _FITTED_CELLS, "workers": sys.maxsize}
    fitted = [point for point in line if point.size >= least.get(point.grows, 0)]
    if len(fitted) < 2:
        return None
    times = np.log([max(point.processor_seconds, 1e-6) for point in fitted])
    return float(np.polyfit(np.log([point.size for point in fitted]), times, 1)[0])


def draw_growth(growths: Sequence[Growth], folder: Path) -> None:
    """Plot time against every size, and memory against cells, on logarithmic axes, with a line for every algorithm."""
    for grows in dict.fromkeys(point.grows for point in growths):
        measure = "seconds" if grows == "workers" else "processor_seconds"
        _plot(growths, grows, measure, folder / f"scale-{grows}.svg")
    _plot(growths, "cells", "megabytes", folder / "scale-memory.svg")


def _plot(growths: Sequence[Growth], grows: str, measure: str, path: Path) -> None:
    unit = {"seconds": "time in s", "processor_seconds": "processor time in s", "megabytes": "memory in MB"}[measure]
    points = [point for point in growths if point.grows == grows]
    with canvas(path, (6.5, 4.0)) as figure:
        axes = figure.subplots()
        axes.set(title=f"{unit} against {grows}", xscale="log", yscale="log", xlabel=grows, ylabel=unit)
        axes.grid(color="#DDDDDD", linewidth=0.5)
        for name, (colour, marker) in styles(list(dict.fromkeys(point.algorithm for point in points)), {}).items():
            line = [(point.size, max(getattr(point, measure), 1e-3)) for point in points if point.algorithm == name]
            axes.plot(*zip(*line, strict=True), color=colour, marker=marker, markersize=4, label=name)
        common_legend(figure)


# ---- one point ------------------------------------------------------------------------------------------------------

LEVELS = 100_000
"""The cells that rows fall into."""
SIDES = (1024, 2048, 4096)
"""The cells of the vectors that workers run experiments on."""
_FEW_ROWS = 10
_MADE_ROWS = "select cast((i * 7919 + i % 8191 * 31) % {levels} as integer) as value from range({rows}) made(i)"
_MAKE = """
import sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"create table made as {sys.argv[2]}")
"""
_EPSILON = "0.1"
_NEIGHBOURS = 64
_WARM = 1 << 17
"""A run on this many cells compiles all loops before the timed run."""


class Probe(NamedTuple):
    """The work to measure; everything that is loaded, compiled or made up only once is done before."""

    work: Callable[[], None]
    bare: Callable[[], float] | None = None
    """Measures the processor time of the bare query to compare with, if there is one."""


def probe(grows: str, name: str, size: int) -> None:
    """Measure, and print the figures as JSON."""
    measured = _PROBES[grows](name, size)
    before, begun, used = peak_memory(), time.perf_counter(), time.process_time()
    measured.work()
    figures = {
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - used,
        "megabytes": peak_memory() - before,
    }
    if measured.bare is not None:
        figures["processor_seconds_of_the_query"] = measured.bare()
    sys.stdout.write(json.dumps(figures))


def _rows(name: str, rows: int) -> Probe:
    """A histogram of rows made up by the engine, compared with the same question in plain SQL."""
    schema = ad.Schema({"value": ad.Integer(0, LEVELS - 1)})
    made = [_MADE_ROWS.format(levels=LEVELS, rows=number) for number in (rows, _FEW_ROWS)]
    return _release(made, schema, ad.Histogram("value"), name, "value")


def _pairs(name: str, rows: int) -> Probe:
    """The 28 pair tables of eight attributes with ten levels, compared with the bare query for one pair."""
    return _all_pairs(name, 8, 10, rows, "x0, x1")


def _attributes(name: str, attributes: int) -> Probe:
    """All pair tables of *attributes* attributes with 32 levels, over a million rows."""
    return _all_pairs(name, attributes, 32, 1_000_000)


def _all_pairs(name: str, attributes: int, levels: int, rows: int, group: str = "") -> Probe:
    """All pair tables of independent attributes."""
    columns = {f"x{place}": f"cast(hash(i * 64 + {place}) % {levels} as integer)" for place in range(attributes)}
    chosen = ", ".join(f"{value} as {column}" for column, value in columns.items())
    made = [f"select {chosen} from range({number}) made(i)" for number in (rows, _FEW_ROWS)]
    schema = ad.Schema({column: ad.Integer(0, levels - 1) for column in columns})
    return _release(made, schema, ad.Marginals(way=2), name, group)


def _release(made: Sequence[str], schema: Schema, task: Any, algorithm: str, group: str) -> Probe:
    """A release of a stored table, and the bare group-by if *group* is given; a release of few rows warms up first."""
    import duckdb

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
    """The peak memory of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the parent's memory from before the program started
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _stored(query: str) -> Path:
    """A DuckDB file with a table of rows made up inside the engine, in a separate process."""
    path = Path(tempfile.mkdtemp(prefix="adyton-scale-"), "made.duckdb")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    subprocess.run([sys.executable, "-c", _MAKE, str(path), query], check=True)
    return path


def _cells(name: str, cells: int) -> Probe:
    """A plan on a vector of *cells* cells, with exact noise, for all prefix sums."""
    plan = plan_named(name)

    def work(counts: Integers) -> None:
        plan.estimate(Kernel.on_vector(counts, epsilon=1).root, Prefix(counts.size), _EPSILON)

    work(made_up(_WARM))
    counts = made_up(cells)
    return Probe(lambda: work(counts))


def made_up(cells: int) -> Integers:
    """Counts of about three rows per cell, similar among neighbours, with skewed heights."""
    random = np.random.default_rng(cells)
    levels = random.gamma(0.3, 10, -(-cells // _NEIGHBOURS))
    return random.poisson(np.repeat(levels, _NEIGHBOURS)[:cells]).astype(np.int64)


def _queries(name: str, queries: int) -> Probe:
    """A plan for *queries* random ranges over 65,536 cells, and their answers."""
    counts, plan = made_up(1 << 16), plan_named(name)

    def work(number: int) -> None:
        asked = RandomRanges(counts.size, number, seed=1)
        asked @ plan.estimate(Kernel.on_vector(counts, epsilon=1).root, asked, _EPSILON)

    work(10)
    return Probe(lambda: work(queries))


def _workers(name: str, workers: int) -> Probe:
    """Experiments on made-up shapes, with *workers* processes."""
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
