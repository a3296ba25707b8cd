"""What a service costs beside a session at the table: ``python benchmarks/beside_service.py [RELEASES]``.

A table of 200,000 rows and 4,096 cells, a ledger in a file on either side, no protection of times. Both sides take
turns; medians and the least seconds of a release, and of opening a connected session.
"""

import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import adyton as ad
from adyton.service.access import Access

SCHEMA = '[attributes.code]\ntype = "integer"\nmin = 0\nmax = 4095\n'
CONFIG = """
[http]
listen = "unix:http.sock"
requests_per_minute = 1000000
[datasets.codes]
data = "codes.parquet"
schema = "codes.toml"
ledger = "codes.ledger"
total = 1000
[datasets.codes.analysts.mara]
"""


def seconds(action):
    """How long something takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ready(folder, token):
    """A connected session, once there is a service."""
    for _ in range(600):
        try:
            return ad.connect(f"unix:{folder / 'http.sock'}", token=token)
        except ad.errors.AdytonError:
            time.sleep(0.2)
    raise SystemExit((folder / "log").read_text())


def main(folder, count):
    """Measure, and print."""
    codes = np.random.default_rng(1).zipf(1.3, 200_000) % 4096
    pq.write_table(pa.table({"code": codes}), folder / "codes.parquet")
    (folder / "codes.toml").write_text(SCHEMA)
    (folder / "service.toml").write_text(CONFIG)
    token = Access(folder / "access.sqlite").make("mara")
    command = [sys.executable, "-m", "adyton", "serve", "service.toml"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as served:
        try:
            there = ready(folder, token)
            opened = [seconds(lambda: ad.connect(f"unix:{folder / 'http.sock'}", token=token)) for _ in range(count)]
            print(f"opening a session: median {statistics.median(opened):.3f} s, least {min(opened):.3f} s")
            place = {"schema": folder / "codes.toml", "ledger": folder / "here.ledger"}
            here = ad.Session(folder / "codes.parquet", epsilon=1000, **place)
            for algorithm in ("identity", "hb", "auto"):
                times = {"here": [], "there": []}
                for number in range(count + 1):
                    for name, session in (("here", here), ("there", there)):
                        taken = seconds(partial(session.release, ad.Ranges("code"), "0.1", algorithm=algorithm))
                        if number:  # the first one loads what it needs
                            times[name].append(taken)
                middle = [statistics.median(times[name]) for name in times]
                least = [min(times[name]) for name in times]
                ratios = f"{middle[1] / middle[0]:.2f} of medians, {least[1] / least[0]:.2f} of the least"
                print(f"{algorithm}: {middle[0]:.3f} s here, {middle[1]:.3f} s there; ratio {ratios}", flush=True)
        finally:
            served.terminate()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        main(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 20)
