"""The service beside a session in the same process: the time of a request through all processes, and of opening a
session.

Both sides answer the same requests about the same made-up rows, in turn; the times are medians. Timing protection is
off: with it on, a reply leaves at the public time of its class, whatever the work takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import adyton as ad
from adyton.errors import AdytonError, ServiceError
from adyton.service.access import Access
from adyton.session.session import Session
from adyton_lab.bench.common import Rows, seconds

ROWS = 10_000
CELLS = 4096
_EPSILON, _TOTAL = Fraction(1, 1000), 1000
_PATIENCE = 120.0
_NAME = "bench"
_CONFIG = """
[http]
listen = "unix:http.sock"
requests_per_minute = 1_000_000
pages = false
[timing]
on = false
[curators]
names = ["{name}"]
[datasets.people]
data = "people.parquet"
schema = "people.toml"
ledger = "people.ledger"
total = {total}
"""
_SCHEMA = f"""
[attributes.place]
type = "integer"
min = 0
max = {CELLS - 1}
"""


@dataclass(frozen=True, kw_only=True)
class ServiceTime:
    """What one kind of request takes; None where there is nothing to compare."""

    request: str
    in_process_seconds: float | None
    service_seconds: float
    ratio: float | None


def service(trials: int = 10) -> Rows:
    """Measure every request in turn, in process and through a service that is started here."""
    return len(_WORK) + 1, _service_times(trials)


def _service_times(trials: int) -> Iterator[ServiceTime]:
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as connect:
        place = Path(folder)
        near = Session(
            place / "people.parquet", schema=place / "people.toml", ledger=place / "own.ledger", epsilon=_TOTAL
        )
        for name, work in _WORK.items():
            sides = {True: near, False: connect()}
            times: dict[bool, list[float]] = {True: [], False: []}
            for trial in range(trials + 1):
                for inside, session in sides.items():
                    took = seconds(partial(work, session, place / "release"))
                    times[inside] += [took] * (trial > 0)  # the first one compiles and opens files
            own, other = median(times[True]), median(times[False])
            yield ServiceTime(request=name, in_process_seconds=own, service_seconds=other, ratio=other / own)
        opening = median(seconds(connect) for _ in range(trials))
        yield ServiceTime(request="open a session", in_process_seconds=None, service_seconds=opening, ratio=None)


def _count(session: Session, folder: Path) -> None:
    session.count(_EPSILON)


def _release(session: Session, folder: Path) -> None:
    session.release(ad.Histogram("place"), epsilon=_EPSILON)


def _saved(session: Session, folder: Path) -> None:
    session.release(ad.Histogram("place"), epsilon=_EPSILON).save(folder, overwrite=True)


_WORK: dict[str, Callable[[Session, Path], None]] = {
    "number of rows": _count,
    f"histogram of {CELLS:,} cells": _release,
    f"histogram of {CELLS:,} cells, with its files": _saved,
}


@contextmanager
def _served(folder: Path) -> Iterator[Callable[[], Session]]:
    """A service on made-up rows in a folder; a function that opens a session at it."""
    import pyarrow as pa
    from pyarrow import parquet

    places = np.random.default_rng(0).integers(0, CELLS, ROWS)
    parquet.write_table(pa.table({"place": places}), folder / "people.parquet")
    (folder / "people.toml").write_text(_SCHEMA, encoding="utf-8")
    config = folder / "service.toml"
    config.write_text(_CONFIG.format(name=_NAME, total=_TOTAL), encoding="utf-8")
    token = Access(folder / "access.sqlite").make(_NAME, role="curator")

    def connect() -> Session:
        return ad.connect(f"unix:{folder / 'http.sock'}", token=token, dataset="people")

    command = [sys.executable, "-m", "adyton", "serve", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait(connect, process)
            yield connect
        finally:
            process.terminate()


def _wait(connect: Callable[[], Session], process: subprocess.Popen[str]) -> None:
    """Until the service answers."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connect().count(_EPSILON)
            return
        except AdytonError as problem:
            if process.poll() is not None or time.monotonic() > end:
                said = process.stderr.read() if process.poll() is not None and process.stderr else str(problem)
                raise ServiceError(f"the service did not start: {said.strip()}") from None
            time.sleep(0.1)
