"""Synthetic rows of OpenDP's AIM and MST: ``python opendp_rows.py rows.npz FOLDER METHOD TABLE EPSILON DELTA``.

It runs in an environment of its own and imports nothing of Adyton. Gaussian noise: ρ-zCDP with the largest ρ that
implies (ε, δ), one row added or removed. Settings are the library's defaults; AIM is told that pairs are wanted
(queries=2), ``aim-3`` is AIM with all of its defaults. One thread. A run that needs more than thirty minutes of
processor time ends there; then its last model counts, and it is marked as not finished. FOLDER gets a file with the
model's tables of all pairs, and with as many rows as were learnt from, as cells. Rows are sampled from the model: those
of the method ``round`` in mbi 1.1.0 are sorted inside of groups, so that attributes depend on each other that do not in
the model.
"""

import math
import os
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import opendp.extras.mbi._mst
import opendp.prelude as dp
import polars as pl

SECONDS = 1800


def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ for which ρ-zCDP implies (ε, δ)-DP.

    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, corollary 13.
    """

    def implied(rho: float) -> float:
        orders = 1 + np.geomspace(1e-3, 1e5, 200_001)
        logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return float(logs.min())

    low, high = 0.0, epsilon + 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if implied(middle) <= math.log(delta) else (low, middle)
    return low


class OutOfTime(Exception):
    """The time is used up."""


os.sched_setaffinity(0, {int(os.environ.get("CORE", "0"))})
os.environ.update(POLARS_MAX_THREADS="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false")  # read at their first use
dp.enable_features("contrib")
rows, target, method, name, epsilon, delta = sys.argv[1:7]
given = np.load(rows)
codes, sizes = given[f"{name}.codes"].astype(np.int64), given[f"{name}.sizes"].tolist()
columns = [f"a{place}" for place in range(len(sizes))]
last, over = [], []


def estimator(domain: object, measured: object, *, potentials: object = None) -> object:
    """Their own estimator, which is not begun any more when the time is used up; its model is kept."""
    if time.process_time() - begun > SECONDS and last:
        over.append(True)
        raise OutOfTime
    last[:] = [dp.mbi.mirror_descent(domain, measured, potentials=potentials), last[1] + 1 if last else 1]
    print(f"{method} {name}: fit {last[1]}, {time.process_time():.0f} s", file=sys.stderr, flush=True)
    return last[0]


algorithm = {
    "mst": lambda: dp.mbi.MST(estimator=estimator),
    "aim": lambda: dp.mbi.AIM(estimator=estimator, queries=2),
    "aim-3": lambda: dp.mbi.AIM(estimator=estimator),
}[method]()
frame = pl.LazyFrame({column: codes[:, place] for place, column in enumerate(columns)})
cuts = {column: list(range(size - 1)) for column, size in zip(columns, sizes, strict=True)}  # one bin for each cell
rho = rho_of(float(epsilon), float(delta))
context = dp.Context.compositor(data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho))
# Its shares add up to more than the whole by a rounding error, and the library refuses its own request.
opendp.extras.mbi._mst.prior = lambda share: share * (1 - 1e-12)
begun = time.process_time()
try:
    model = context.query(rho=rho).contingency_table(cuts=cuts, algorithm=algorithm).release().model
except dp.OpenDPException:
    if not over:
        raise
    model = last[0]
seconds = time.process_time() - begun
made = model.synthetic_data(len(codes), method="sample").to_dict()
tables = {f"{one} {other}": np.asarray(model.project((one, other)).values) for one, other in combinations(columns, 2)}
Path(target).mkdir(parents=True, exist_ok=True)
np.savez_compressed(
    Path(target) / f"{method}, {name}.npz",
    codes=np.column_stack([made[column] for column in columns]).astype(np.int16),
    seconds=seconds,
    finished=not over,
    **tables,
)
print(f"{method} {name}: {seconds:.0f} s, rho = {rho:.5f}, {'finished' if not over else 'not finished'}")
