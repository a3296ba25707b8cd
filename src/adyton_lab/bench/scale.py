"""What grows how: time and memory against rows, rows of pair tables, cells, attributes, queries and workers.

Every point is measured in a process of its own, so that its memory is its own. Rows are made up inside the engine while
it counts them.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

PLANS = ("identity", "hb", "change-points", "staged-hierarchy", "pythia")
ROWS, CELLS, WORKERS = 10**7, 1 << 18, 2
"""Where the growth is followed to if nothing else is said: a minute or two."""
MOST_ROWS, MOST_CELLS, MOST_WORKERS = 10**10, 1 << 24, 64
_FIRST_ROWS, _FIRST_CELLS, _FITTED_CELLS = 10**6, 1 << 10, 1 << 12
_MOST_PAIRED_ROWS = 10**8
_ATTRIBUTES = (2, 4, 8)
_QUERIES = (10**3, 10**4, 10**5)
_PROBE = "import sys; from adyton_lab.bench.scale_probe import probe; probe(sys.argv[1], sys.argv[2], int(sys.argv[3]))"


@dataclass(frozen=True)
class Growth:
    """One point: what takes how long at which size."""

    grows: str
    """rows, pairs (rows of which all pair tables are counted), cells, attributes, queries or workers."""
    algorithm: str
    size: int
    seconds: float
    processor_seconds: float
    megabytes: float
    """The most memory beyond what the process had before; of workers, that of the one who hands out the work."""
    times_the_query: float | None = None
    """Of rows and pairs: processor time over that of the bare group-by, in the same process."""
    exponent: float | None = None
    """b where processor time grows as size^b, fitted to this point and those before it; of cells from 4,096 on."""


def points(rows: int = ROWS, cells: int = CELLS, workers: int = WORKERS) -> list[tuple[str, str, int]]:
    """What is measured: rows by factors of ten, cells by factors of four.

    >>> [size for what, name, size in points(10**6, 1 << 12, 2) if name == "hb" and what == "cells"]
    [1024, 4096]
    """
    found = [("rows", "identity", size) for size in _by(10, _FIRST_ROWS, rows)]
    found += [("pairs", "all-pairs", size) for size in _by(10, _FIRST_ROWS, min(rows, _MOST_PAIRED_ROWS))]
    found += [("cells", name, size) for name in PLANS for size in _by(4, _FIRST_CELLS, cells)]
    found += [("attributes", "all-pairs", size) for size in _ATTRIBUTES]
    found += [("queries", "hb", size) for size in _QUERIES]
    return found + [("workers", "dawa", size) for size in _by(2, 1, workers)]


def _by(factor: int, first: int, last: int) -> list[int]:
    return list(itertools.takewhile(lambda size: size <= last, (first * factor**step for step in itertools.count())))


def steps(rows: int = ROWS, cells: int = CELLS, workers: int = WORKERS) -> int:
    """How many records :func:`compare` yields."""
    return len(points(rows, cells, workers))


def compare(rows: int = ROWS, cells: int = CELLS, workers: int = WORKERS) -> Iterator[Growth]:
    """Measure every point, one after the other."""
    for _, group in itertools.groupby(points(rows, cells, workers), key=lambda point: point[:2]):
        found: list[Growth] = []
        for what, name, size in group:
            measured = _measured(what, name, size)
            query = measured.pop("processor_seconds_of_the_query", None)
            ratio = None if query is None else measured["processor_seconds"] / query
            found.append(Growth(what, name, size, **measured, times_the_query=ratio))
            yield Growth(**(vars(found[-1]) | {"exponent": exponent(found)}))


def _measured(what: str, name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-c", _PROBE, what, name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{what} {size} of {name} could not be measured: {done.stderr[-500:]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def exponent(found: Sequence[Growth]) -> float | None:
    """The slope of log time against log size by least squares; workers are not something that time grows with.

    >>> doubling = [Growth("rows", "identity", 10**k, 0, 2.0 * 10**k, 0) for k in (6, 7, 8)]
    >>> round(exponent(doubling), 3)
    1.0
    """
    fitted = [
        one for one in found if one.grows != "workers" and not (one.grows == "cells" and one.size < _FITTED_CELLS)
    ]
    if len(fitted) < 2:
        return None
    times = np.log([max(one.processor_seconds, 1e-6) for one in fitted])
    return float(np.polyfit(np.log([one.size for one in fitted]), times, 1)[0])
