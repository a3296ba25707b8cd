"""MST and AIM of OpenDP on the same rows: ``python opendp_pairs.py rows.npz theirs.json METHOD TABLE EPSILON``.

It runs in an environment of its own and imports nothing of Adyton. Pure ε throughout: Laplace noise, one row added or
removed. Settings are the library's defaults; AIM is told that pairs are wanted (queries=2), which is its workload here.
``aim-3`` is AIM with all of its defaults (queries=3). One thread. A run that needs more than thirty minutes of
processor time ends there, and what its last model says so far is written down, marked as not finished.
"""

import itertools
import json
import os
import sys
import time

import numpy as np
import opendp.extras.mbi._mst
import opendp.prelude as dp
import polars as pl

SECONDS = 1800

os.sched_setaffinity(0, {int(os.environ.get("CORE", "0"))})
os.environ.update(POLARS_MAX_THREADS="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false")  # read at their first use
dp.enable_features("contrib")
rows, target, method, name, epsilon = sys.argv[1:6]
given = np.load(rows)
codes, sizes = given[f"{name}.codes"], given[f"{name}.sizes"].tolist()
columns = [f"a{place}" for place in range(len(sizes))]
pairs = list(itertools.combinations(range(len(sizes)), 2))


class OutOfTime(Exception):
    """The time is used up."""


def distance(model: object) -> float:
    """The mean over all pairs of the total variation from the truth, each table in parts of its own sum."""
    found = []
    for one, other in pairs:
        cells = np.bincount(codes[:, one] * sizes[other] + codes[:, other], minlength=sizes[one] * sizes[other])
        table = np.asarray(model.project((columns[one], columns[other])).values, dtype=float).ravel()
        found.append(np.abs(table / table.sum() - cells / cells.sum()).sum() / 2)
    return float(np.mean(found))


last, over = [], []


def estimator(domain: object, measured: object, *, potentials: object = None) -> object:
    """Their own estimator, which is not begun any more when the time is used up; its model is kept."""
    if time.process_time() - begun > SECONDS and last:
        over.append(True)
        raise OutOfTime
    last[:] = [dp.mbi.mirror_descent(domain, measured, potentials=potentials), last[1] + 1 if last else 1]
    print(f"{method} {name} {epsilon}: fit {last[1]}, {time.process_time():.0f} s", file=sys.stderr, flush=True)
    return last[0]


algorithm = {
    "mst": lambda: dp.mbi.MST(estimator=estimator),
    "aim": lambda: dp.mbi.AIM(estimator=estimator, queries=2),
    "aim-3": lambda: dp.mbi.AIM(estimator=estimator),
}[method]()
frame = pl.LazyFrame({column: codes[:, place].astype(np.int64) for place, column in enumerate(columns)})
cuts = {column: list(range(size - 1)) for column, size in zip(columns, sizes, strict=True)}  # one bin for each cell
context = dp.Context.compositor(
    data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=float(epsilon))
)
# Its shares add up to more than the whole by a rounding error, and the library refuses its own request.
opendp.extras.mbi._mst.prior = lambda share: share * (1 - 1e-12)
begun = time.process_time()
try:
    model = context.query(epsilon=float(epsilon)).contingency_table(cuts=cuts, algorithm=algorithm).release().model
except dp.OpenDPException:
    if not over:
        raise
    model = last[0]
seconds = time.process_time() - begun
known = {}
if os.path.exists(target):
    with open(target) as file:
        known = json.load(file)
known[f"{method} {name} {epsilon}"] = {
    "error": distance(model),
    "seconds": seconds,
    "finished": not over,
    "fits": last[1],
}
with open(target, "w") as file:
    json.dump(known, file, indent=1)
