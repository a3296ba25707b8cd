"""What choosing costs in time: the plan that chooses, beside the algorithm that it chose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median

import numpy as np

from adyton.arrays import Integers
from adyton.choice.pythia import Pythia
from adyton.kernel.kernel import Kernel
from adyton.kernel.sources import VectorSource
from adyton.plans import plan_named
from adyton.queries import Identity, Prefix, Queries, RandomRanges
from adyton_lab.bench.timing import seconds

_DOMAINS = ((4096,), (64, 64))
_RUNS = 9
_EPSILON = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class ChoosingRecord:
    """One workload."""

    domain: str
    workload: str
    algorithm: str
    """The algorithm that was chosen."""
    bought: int
    """How many features were bought."""
    choosing: float
    """Milliseconds to choose, features included: the median, when the workload was seen before."""
    first: float
    """How many milliseconds longer choosing and running takes than running alone, with workloads never seen before."""
    running: float
    """Milliseconds to run the algorithm."""
    part: float
    """Choosing divided by running."""


def compare() -> Iterator[ChoosingRecord]:
    """Measure on 4096 cells in one and two dimensions."""
    random = np.random.default_rng(0)
    for domain in _DOMAINS:
        x = random.poisson(random.gamma(0.3, 20, domain))
        for make in _workloads(domain):
            yield _record(x, make)


def steps() -> int:
    """How many records :func:`compare` yields."""
    return sum(len(_workloads(domain)) for domain in _DOMAINS)


def _workloads(domain: tuple[int, ...]) -> list[Callable[[int], Queries]]:
    """Workloads, each by a number: as often as it is asked for, another one of its kind."""
    found: list[Callable[[int], Queries]] = [lambda number: Identity(domain)]
    if len(domain) == 1:
        found.append(lambda number: Prefix(domain))
    found.append(lambda number: RandomRanges(domain, 1000, seed=number))
    return found


def _record(x: Integers, make: Callable[[int], Queries]) -> ChoosingRecord:
    plan, seeds, workload, numbers = Pythia(), itertools.count(), make(0), itertools.count(1)

    def source() -> VectorSource:
        root: VectorSource = Kernel.simulated(x, epsilon=_EPSILON, seed=next(seeds)).root
        return root

    choice = plan.choose(source(), workload, _EPSILON)
    plan.follow(source(), workload, choice)
    choosing = _median_time(lambda x: plan.choose(x, workload, _EPSILON), source)
    running = _median_time(lambda x: plan.follow(x, workload, choice), source)
    alone = plan_named(choice.algorithm)
    both, one = (
        _median_time(lambda x, way=way: way.estimate(x, make(next(numbers)), _EPSILON), source)  # type: ignore[misc]
        for way in (plan, alone)
    )
    return ChoosingRecord(
        domain=" × ".join(str(side) for side in x.shape),
        workload=str(workload),
        algorithm=choice.algorithm,
        bought=len(choice.bought),
        choosing=1000 * choosing,
        first=1000 * (both - one),
        running=1000 * running,
        part=choosing / running,
    )


def _median_time(work: Callable[[VectorSource], object], source: Callable[[], VectorSource]) -> float:
    """In seconds, on a fresh source each time."""
    return median(seconds(partial(work, source())) for _ in range(_RUNS))
