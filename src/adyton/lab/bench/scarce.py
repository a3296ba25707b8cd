"""Plans where data are scarce, beside the published DAWA, whose choice of a partition is not private.

ε = 0.1 on a line of 4096 cells, and so few rows that ε times their number is 25 or 100.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.lab.bench.plans import geometric_mean, workloads
from adyton.lab.bench.published_dawa import published_dawa
from adyton.lab.bench.shapes import draw, shapes
from adyton.plans import Plan, plan_named, simulate
from adyton.plans.base import Estimate
from adyton.queries import Queries

Counts: TypeAlias = npt.NDArray[np.int64]

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
    advance: Callable[[], None] = lambda: None,
) -> Iterator[ScarceRecord]:
    """Every plan in every setting; each trial draws the data anew."""
    found = list(shapes(1, CELLS, data, public=public).values())
    for rows, (asked, workload) in itertools.product(ROWS, workloads(1, CELLS).items()):
        counts = [
            [draw(shape, rows, 1000 * trial + number) for trial in range(trials)] for number, shape in enumerate(found)
        ]
        mark = _error(counts, workload, lambda x, asked, seed: published_dawa(x, asked, EPSILON, seed))
        for name in plans or PLANS:
            own = _error(counts, workload, partial(_simulated, plan_named(name)))
            advance()
            yield ScarceRecord(
                workload=asked, signal=rows // 10, plan=name, error=own, published=mark, ratio=own / mark
            )


def _simulated(plan: Plan, x: Counts, workload: Queries, seed: int) -> Estimate:
    return simulate(plan, x, workload, EPSILON, seed=seed)


def _error(
    counts: list[list[Counts]], workload: Queries, estimate: Callable[[Counts, Queries, int], Estimate]
) -> float:
    """The mean over the draws from each shape, and the geometric mean over the shapes."""
    means = []
    for drawn in counts:
        misses = [workload @ (estimate(x, workload, seed) - x) for seed, x in enumerate(drawn)]
        means.append(float(np.linalg.norm(misses, axis=-1).mean()))
    return geometric_mean(means)


def steps(plans: Sequence[str] | None = None) -> int:
    """How many records :func:`compare` yields."""
    return len(ROWS) * 2 * len(plans or PLANS)
