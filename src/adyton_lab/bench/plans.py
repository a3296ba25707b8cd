"""Time and error of every plan, in one run, compared with those of published implementations.

Machines differ, so times are also given in the unit "one sort of ten million random doubles", measured in the same run.
Published figures are the better of dpcomp_core's and εKTELO's on the DPBench histograms: times in that unit, and
errors ‖W·x̂ − W·x‖₂, geometric means over the data sets at each of the :data:`SCALES`. Their DAWA is not private as
coded, nor are their grids, which read the true number of rows.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from statistics import median
from typing import Any

from adyton.arrays import Integers
from adyton.kernel.kernel import Kernel
from adyton.plans import Plan, algorithms, plan_named
from adyton.queries import Identity, Prefix, Queries, RandomRanges
from adyton_lab.bench.common import Folder, Rows, seconds, shapes, sort_unit
from adyton_lab.corpus.public_files import draw
from adyton_lab.training.engine import Trials, geometric_mean

SCALES = (10**3, 10**5, 10**7)
"""Numbers of rows."""
SETTINGS: tuple[tuple[int, int, str], ...] = ((1, 4096, "1"), (1, 4096, "0.1"), (2, 32, "1"), (2, 128, "1"))
"""Dimensions, side and ε."""
_TIMED_RUNS = 9
_FRESH_RUNS = 3
_BOXES = 2000


@dataclass(frozen=True, kw_only=True)
class PlanRecord:
    """One plan on one workload, over all shapes and scales."""

    domain: str
    epsilon: str
    workload: str
    plan: str
    milliseconds: float
    """The median of single runs, including opening the kernel, after one run that fills the caches."""
    unprepared: float
    """The same in milliseconds with empty caches: neither strategies nor solvers are kept between runs."""
    sorts: float
    """*milliseconds* in units of a sort of ten million doubles."""
    times_faster: float | None
    """The published time in that unit, divided by ours."""
    times_faster_unprepared: float | None
    errors: tuple[float, ...]
    """‖W·x̂ − W·x‖₂ at the three scales: mean over trials, geometric mean over shapes."""
    expected: float | None
    """The closed form, sqrt(E‖W·x̂ − W·x‖₂²), if the error does not depend on the data."""
    to_published: float | None
    """The geometric mean over the scales of our error divided by the published error of the same algorithm."""
    to_dawa: float | None
    """The same against the published DAWA, which is not private (one dimension)."""
    to_best: float | None
    """The same against the best of all published algorithms at each scale (two dimensions)."""


def workloads(ndim: int, side: int) -> dict[str, Queries]:
    """The workloads of every plan: all cells, and all prefixes or two thousand boxes of any side lengths."""
    domain = (side,) * ndim
    if ndim == 1:
        return {"identity": Identity(domain), "prefix": Prefix(domain)}
    return {"identity": Identity(domain), "boxes": RandomRanges(domain, _BOXES, seed=1, kind="any-length")}


def plans(
    settings: Sequence[tuple[int, int, str]] = SETTINGS,
    *,
    plans: Sequence[str] | None = None,
    trials: int = 10,
    data: Folder = None,
    public: bool = False,
) -> Rows:
    """Measure every plan in every setting."""
    places = [
        (setting, plan, workload)
        for setting in settings
        for plan in map(plan_named, plans or algorithms(setting[0]))
        if plan.serves.serves(setting[0])
        for workload in workloads(*setting[:2])
        if plan.effort != "dense" or workload == "identity"  # its strategy is the workload: no new result
    ]
    return len(places), _records(places, trials, data, public)


def _records(
    places: Sequence[tuple[tuple[int, int, str], Plan, str]], trials: int, data: Folder, public: bool
) -> Iterator[PlanRecord]:
    unit = sort_unit()
    for (ndim, side, epsilon), group in itertools.groupby(places, key=lambda place: place[0]):
        histograms = list(shapes(ndim, side, data, public=public).values())
        counts = [[draw(shape, scale, seed) for seed, shape in enumerate(histograms)] for scale in SCALES]
        for _, plan, workload in group:
            yield _record(plan, workloads(ndim, side)[workload], workload, epsilon, counts, trials, unit)


def _record(
    plan: Plan, workload: Queries, asked: str, epsilon: str, counts: list[list[Integers]], trials: int, unit: float
) -> PlanRecord:
    ndim, side = len(workload.domain), workload.domain[0]
    seeds = itertools.count(1)
    errors = [
        geometric_mean(
            [float(Trials(plan, x, epsilon, seed=next(seeds), trials=trials).on(workload).errors.mean()) for x in scale]
        )
        for scale in counts
    ]
    example = counts[0][0]

    def run() -> None:
        plan.estimate(Kernel.simulated(example, epsilon=epsilon, seed=0).root, workload, epsilon)

    run()
    usual = median(seconds(run) for _ in range(_TIMED_RUNS))
    fresh = median(seconds(run) for _ in range(_FRESH_RUNS) if _forget())
    theirs, their_time = published_errors(ndim, side, epsilon, asked), published_times(ndim, side).get(plan.name)
    expected = None
    if not plan.serves.data_dependent:
        closed = plan.expected_error(workload, epsilon)
        expected = closed.total if closed.kind == "exact" else None
    return PlanRecord(
        domain=" × ".join(str(length) for length in workload.domain),
        epsilon=epsilon,
        workload=asked,
        plan=plan.name,
        milliseconds=usual * 1000,
        unprepared=fresh * 1000,
        sorts=usual / unit,
        times_faster=None if their_time is None else their_time * unit / usual,
        times_faster_unprepared=None if their_time is None else their_time * unit / fresh,
        errors=tuple(errors),
        expected=expected,
        to_published=_ratio(errors, theirs.get(plan.name)),
        to_dawa=_ratio(errors, theirs.get("dawa")),
        to_best=_ratio(errors, theirs.get("best")),
    )


def _ratio(errors: Sequence[float], published: Sequence[float] | None) -> float | None:
    if published is None:
        return None
    return geometric_mean([own / theirs for own, theirs in zip(errors, published, strict=True)])


def _forget() -> bool:
    """Empty every cache of the package."""
    for name, module in list(sys.modules.items()):
        if name.startswith("adyton."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    return True


def published_times(ndim: int, side: int) -> dict[str, float]:
    """Times by algorithm; empty if none were published for such a domain."""
    times: dict[str, float] = published_tables()["times"].get(f"{ndim}/{side}", {})
    return times


def published_errors(ndim: int, side: int, epsilon: str, workload: str) -> dict[str, list[float]]:
    """Errors by algorithm, at each scale; "best" is the best of all published algorithms at each scale."""
    errors: dict[str, list[float]] = published_tables()["errors"].get(f"{ndim}/{side}/{epsilon}/{workload}", {})
    return errors


@lru_cache(maxsize=1)
def published_tables() -> dict[str, Any]:
    """All published figures: times by dimensions and side, errors by dimensions, side, ε and workload."""
    tables: dict[str, Any] = json.loads((files("adyton_lab.bench") / "published.json").read_text(encoding="utf-8"))
    return tables
