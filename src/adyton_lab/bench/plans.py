"""Time and error of every plan, in one run, beside what published implementations reach.

Machines differ, so times are also given in the unit "one sort of ten million random doubles", taken in the same run.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from adyton.arrays import Integers
from adyton.kernel.kernel import Kernel
from adyton.plans import Plan, algorithms, plan_named
from adyton.queries import Identity, Prefix, Queries, RandomRanges
from adyton_lab.bench import published
from adyton_lab.bench.shapes import shapes
from adyton_lab.bench.timing import seconds, sort_unit
from adyton_lab.corpus.public_files import draw
from adyton_lab.training.engine import Trials, geometric_mean

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
    """The median of single runs, the kernel's opening included, after one that prepares what can be kept."""
    unprepared: float
    """The same in milliseconds when nothing is kept from one run to the next: neither strategies nor solvers."""
    sorts: float
    """The same in units of a sort of ten million doubles."""
    times_faster: float | None
    """The published time in that unit, divided by ours."""
    times_faster_unprepared: float | None
    errors: tuple[float, ...]
    """‖W·x̂ − W·x‖₂ at the three scales: mean over trials, geometric mean over shapes."""
    expected: float | None
    """The closed form, sqrt(E‖W·x̂ − W·x‖₂²), where the error does not depend on the data."""
    to_published: float | None
    """The geometric mean over the scales of our error divided by the published one of the same algorithm."""
    to_dawa: float | None
    """The same against the published DAWA, which is not private (one dimension)."""
    to_best: float | None
    """The same against the best of all published algorithms at each scale (two dimensions)."""


def workloads(ndim: int, side: int) -> dict[str, Queries]:
    """What is asked of every plan: all cells, and all prefixes or two thousand boxes of any length."""
    domain = (side,) * ndim
    if ndim == 1:
        return {"identity": Identity(domain), "prefix": Prefix(domain)}
    return {"identity": Identity(domain), "boxes": RandomRanges(domain, _BOXES, seed=1, kind="any-length")}


def compare(
    settings: Sequence[tuple[int, int, str]] = SETTINGS,
    *,
    plans: Sequence[str] | None = None,
    trials: int = 10,
    data: str | os.PathLike[str] | None = None,
    public: bool = False,
) -> Iterator[PlanRecord]:
    """Measure every plan in every setting."""
    unit = sort_unit()
    for ndim, side, epsilon in settings:
        found = shapes(ndim, side, data, public=public)
        for name in plans or algorithms(ndim):
            plan = plan_named(name)
            if not plan.serves.serves(ndim):
                continue
            for asked, workload in workloads(ndim, side).items():
                if plan.effort == "dense" and asked != "identity":
                    continue  # its strategy is the workload: a dense solve that tells nothing new
                counts = [
                    [draw(shape, scale, seed) for seed, shape in enumerate(found.values())]
                    for scale in published.SCALES
                ]
                yield _record(plan, workload, asked, epsilon, counts, trials, unit)


def steps(*, plans: Sequence[str] | None = None, **_: object) -> int:
    """How many records :func:`compare` yields at most."""
    return sum(2 * len(plans or algorithms(ndim)) for ndim, _, _ in SETTINGS)


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
    theirs, their_time = published.errors(ndim, side, epsilon, asked), published.times(ndim, side).get(plan.name)
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
