"""Synthetic rows: sampled along the forest of pairs, then changed, a few at a time, until all pairs fit."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.gradual_updates import Codes
from adyton.marginals.pair_model import PairModel
from adyton.marginals.refining import along_forest, fit, refined
from adyton.whole import whole

ROWS_AT_A_TIME = 1 << 17
"""Rows are made in parts of at most so many: memory stays flat in their number."""
_MOST_THREADS = 4


def sampled_codes(model: PairModel, rows: int, *, seed: int | None = None) -> Iterator[Codes]:
    """Rows in parts: arrays with a row for each row and a column for each attribute, whose numbers are cells.

    The forest is followed from attribute to attribute, so that its pairs come out right but for rounding. Then rows are
    fitted to the tables of all pairs, which takes out the chance of the sample too. It costs no privacy. The same seed
    gives the same rows; without one they are new every time.

    >>> singles = {"a": np.array([6.0, 2.0]), "b": np.array([4.0, 4.0])}
    >>> model = PairModel.of(singles, {("a", "b"): np.array([[4.0, 2.0], [0.0, 2.0]])})
    >>> (codes,) = sampled_codes(model, 8, seed=1)
    >>> np.unique(codes, axis=0, return_counts=True)[1].tolist()
    [4, 2, 2]
    """
    wanted = whole(rows, "rows", 0)
    key = secrets.randbits(63) if seed is None else whole(seed, "seed", 0)
    return _parts(refined(model), wanted, key)


def _parts(model: PairModel, wanted: int, key: int) -> Iterator[Codes]:
    """The parts in their order. Each has random numbers of its own, so that threads can make some of them ahead."""
    tables, parts = model.all_pairs(), -(-wanted // ROWS_AT_A_TIME)

    def part(number: int) -> Codes:
        count = wanted * (number + 1) // parts - wanted * number // parts
        random = np.random.default_rng([key, number])
        codes = along_forest(model, count, random)
        fit(codes, model.sides, tables, random)
        return np.ascontiguousarray(codes.T)

    threads = min(_MOST_THREADS, os.cpu_count() or 1, parts)
    if threads <= 1:
        yield from map(part, range(parts))
        return
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[Codes]]()
    try:
        for number in range(parts):
            waiting.append(pool.submit(part, number))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class ModelRows:
    """A model as a source of rows."""

    model: PairModel

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """See :func:`sampled_codes`."""
        return sampled_codes(self.model, rows, seed=seed)

    def tables(self) -> dict[tuple[str, ...], Reals]:
        """All pairs, or the only attribute: what the rows are compared with."""
        pairs: dict[tuple[str, ...], Reals] = {
            (one, other): table for (one, other), table in self.model.all_pairs().items()
        }
        return pairs or {(name,): table for name, table in self.model.singles.items()}
