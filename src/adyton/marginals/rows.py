"""Synthetic rows: sampled along the forest of pairs, then changed, a few at a time, until all pairs fit."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.marginals.forest import Pair
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


class Comparison:
    """How far the pairs of rows are from those of the model, while the rows come by.

    >>> model = PairModel.of({"a": np.array([6.0, 2.0]), "b": np.array([4.0, 4.0])}, {})
    >>> compared = Comparison(model)
    >>> for codes in sampled_codes(model, 8, seed=1):
    ...     compared.add(codes)
    >>> compared.mean()
    0.0
    """

    def __init__(self, model: PairModel) -> None:
        self._tables = model.all_pairs()
        self._names = list(model.singles)
        self._counts: dict[Pair, Reals] = {pair: np.zeros(table.shape) for pair, table in self._tables.items()}
        self._rows = 0

    def add(self, codes: Codes) -> None:
        """Count some more rows."""
        for (one, other), counts in self._counts.items():
            first, second = codes[:, self._names.index(one)], codes[:, self._names.index(other)]
            cells = first.astype(np.int64) * counts.shape[1] + second
            np.add(counts, np.bincount(cells, minlength=counts.size).reshape(counts.shape), out=counts)
        self._rows += len(codes)

    def distances(self) -> dict[Pair, float]:
        """For every pair the total variation between rows and model."""
        if not self._rows:
            raise BadInput("there are no rows to compare yet. Add some first.")
        found = {}
        for pair, counts in self._counts.items():
            table = self._tables[pair]
            found[pair] = float(np.abs(counts / self._rows - table / max(table.sum(), 1e-300)).sum() / 2)
        return found

    def mean(self) -> float:
        """The mean over all pairs."""
        distances = self.distances()
        return float(np.mean(list(distances.values()))) if distances else 0.0
