"""Simulated runs of the algorithm behind a release: they show how its answers scatter, and cost no budget.

They come after the release, on nothing but public things, and they may be slow: on a busy machine, or because the
algorithm is. Then fewer are made than planned. Whoever uses them asks how many there were, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.plans.base import Plan
from adyton.plans.registry import simulate
from adyton.queries import Queries
from adyton.result.result import Look

SECONDS, PATIENCE = 20.0, 3.0
"""How long runs may go on for one purpose: so many seconds of work, or so many times as long on a busy machine. The run
that is under way is finished, and two are made in any case."""
_MEMORY = 60.0
"""For so many seconds it is remembered that runs are slow; later the machine may be less busy."""
_SEED = 20141107
_LARGEST_COUNT = 2.0**53
_AT_ONCE, _KEPT = 1 << 22, 1 << 23
"""How many simulated cells (or answers) are held at a time, and how many cells are kept for what is asked next."""
_MOST_IN_BATCH = {True: 4000, False: 10}
"""By whether the noise has one law for all data. Where it has not, every batch has a stand-in of its own."""

Batch = tuple[npt.NDArray[np.int64], Reals]
"""Public counts, and the estimates of some runs on them."""


@dataclass(frozen=True, eq=False)
class SimulatedRuns:
    """Runs of a plan on an empty table where the noise has one law for all data, else on the published estimate."""

    plan: Plan
    workload: Queries
    epsilon: Fraction
    estimate: Reals
    seed: int = _SEED
    _kept: dict[bool, list[Batch]] = field(default_factory=lambda: {True: [], False: []})
    """Runs on domains that are not too large stay."""
    _pace: dict[bool, tuple[float, float]] = field(default_factory=dict)
    """The seconds that a run took when it was last tried, and when that was."""

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of simulated answers in *number* runs, some runs at a time.

        In fewer runs of a slow algorithm; and in none if it is known by now that *least* of them take too long.
        """
        some = max(1, _AT_ONCE // queries.count)
        for data, cells in self._batches(number, exact, least):
            truth = queries @ data
            for start in range(0, len(cells), some):
                yield np.asarray(queries @ cells[start : start + some] - truth, dtype=np.float64)

    def _batches(self, number: int, exact: bool, least: int) -> Iterator[Batch]:
        kept = self._kept[exact]
        most = max(1, min(_MOST_IN_BATCH[exact], _AT_ONCE // self.estimate.size))
        if self._hopeless(exact, least):
            return
        begin = clock()
        done = place = 0
        while done < number:
            start, fresh = clock(), place >= len(kept)
            if not fresh:
                batch = kept[place]
            else:
                size = self._next_size(place, most, SECONDS - _since(begin), self._seconds(exact))
                if not size:
                    return
                batch = self._batch(exact, self.seed + done, size)
                if (done + size) * self.estimate.size <= _KEPT:
                    kept.append(batch)
            data, cells = batch
            yield data, cells[: number - done]
            if fresh and place:  # the first run may have had to compile what it runs
                self._pace[exact] = _since(start) / len(cells), clock()[1]
            done += len(cells)
            place += 1

    def _seconds(self, exact: bool) -> float:
        """How long a run takes, as far as is known."""
        return self._pace.get(exact, (0.0, 0.0))[0]

    def _hopeless(self, exact: bool, least: int) -> bool:
        """Whether there cannot be *least* runs in time: a moment ago they took too long."""
        missing = least - sum(len(cells) for _, cells in self._kept[exact])
        _, tried = self._pace.get(exact, (0.0, 0.0))
        return missing * self._seconds(exact) > SECONDS and clock()[1] < tried + _MEMORY

    def _next_size(self, place: int, most: int, left: float, pace: float) -> int:
        """How many runs to make next: one, one more, then ever more, but no more than there is time for.

        As long as there is time, the sizes are the same ones each time, and so is the result.
        """
        if place < 2:
            return 1
        if left <= 0:
            return 0
        return int(min(most, 10 ** (place - 1), max(1.0, left / max(pace, 1e-9))))

    def _batch(self, exact: bool, seed: int, trials: int) -> Batch:
        data = np.zeros(self.estimate.shape, dtype=np.int64) if exact else self._stand_in(seed)
        plan = replace(self.plan, total=None if self.plan.total is None else int(data.sum()))
        return data, simulate(plan, data, self.workload, self.epsilon, seed=seed, trials=trials)

    def _stand_in(self, seed: int) -> npt.NDArray[np.int64]:
        """Counts such as the data might have: the estimate is smoother than they are, so that chance is added again."""
        random = np.random.default_rng(seed)
        likely = Look(nonnegative=True).shown(self.estimate)
        return random.poisson(np.minimum(likely, _LARGEST_COUNT)).astype(np.int64)


def clock() -> tuple[float, float]:
    """The seconds that this thread has worked, and the time on the wall."""
    return time.thread_time(), time.monotonic()


def _since(start: tuple[float, float]) -> float:
    """The seconds of work since then, as far as others left the machine to it."""
    worked, passed = (now - then for now, then in zip(clock(), start, strict=True))
    return max(worked, passed / PATIENCE)
