"""Plans where data are scarce, beside the published DAWA, whose choice of a partition is not private.

ε = 0.1 on a line of 4096 cells, and so few rows that ε times their number is 25 or 100.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from adyton.arrays import Integers
from adyton.plans import Plan, plan_named
from adyton.queries import Queries
from adyton_lab.bench.plans import workloads
from adyton_lab.bench.published_dawa import published_dawa
from adyton_lab.bench.shapes import shapes
from adyton_lab.corpus.public_files import draw
from adyton_lab.training.engine import Trials, distances, geometric_mean

CELLS = 4096
EPSILON = "0.1"
ROWS = (250, 1000)
PLANS = ("change-points", "denoised-tree", "staged-hierarchy", "private-resolution", "dyadic", "dawa")


@dataclass(frozen=True, kw_only=True)
class ScarceRecord:
    """One plan on one workload with few rows."""

    workload: str
    signal: int
    """ε times the number of rows."""
    plan: str
    error: float
    """‖W·x̂ − W·x‖₂: mean over draws of the data and of the noise, geometric mean over the shapes."""
    published: float
    """The same for the published DAWA, which is not private, on the same data."""
    ratio: float


def compare(
    *,
    plans: Sequence[str] | None = None,
    trials: int = 20,
    data: str | os.PathLike[str] | None = None,
    public: bool = False,
) -> Iterator[ScarceRecord]:
    """Every plan in every setting; each trial draws the data anew."""
    found = list(shapes(1, CELLS, data, public=public).values())
    for rows, (asked, workload) in itertools.product(ROWS, workloads(1, CELLS).items()):
        counts = [
            [draw(shape, rows, 1000 * trial + number) for trial in range(trials)] for number, shape in enumerate(found)
        ]
        mark = _error(counts, workload, _published)
        for name in plans or PLANS:
            own = _error(counts, workload, partial(_simulated, plan_named(name)))
            yield ScarceRecord(
                workload=asked, signal=rows // 10, plan=name, error=own, published=mark, ratio=own / mark
            )


def steps(*, plans: Sequence[str] | None = None, **_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(ROWS) * 2 * len(plans or PLANS)


def _published(x: Integers, workload: Queries, seed: int) -> float:
    return float(distances(workload, published_dawa(x, workload, EPSILON, seed), x))


def _simulated(plan: Plan, x: Integers, workload: Queries, seed: int) -> float:
    return float(Trials(plan, x, EPSILON, seed=seed, trials=None).on(workload).errors)


def _error(counts: list[list[Integers]], workload: Queries, error: Callable[[Integers, Queries, int], float]) -> float:
    """The mean over the draws from each shape, and the geometric mean over the shapes."""
    return geometric_mean(
        [float(np.mean([error(x, workload, seed) for seed, x in enumerate(drawn)])) for drawn in counts]
    )
