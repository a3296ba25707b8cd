"""Iterative proportional fitting: a table of several attributes from the tables of its pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.forest import Pair

ROUNDS = 15
_LEAST, _NEAR = 1e-9, 1e-5


def fitted_to_pairs(singles: Mapping[str, Reals], pairs: Mapping[Pair, Reals], rounds: int = ROUNDS) -> Reals:
    """The table over all of *singles*, from independence scaled to each of the *pairs* in turn.

    Where the pairs agree with one another, this converges to the table of largest entropy that has them (Csiszár,
    "I-divergence geometry of probability distributions and minimization problems", 1975). Noisy pairs do not quite;
    after so many rounds what is left of their quarrel is small beside their noise.

    >>> half = {"a": np.array([2.0, 2.0]), "b": np.array([2.0, 2.0]), "c": np.array([2.0, 2.0])}
    >>> same = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> fitted_to_pairs(half, {("a", "b"): same, ("b", "c"): same}).round(3).tolist()
    [[[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]]
    """
    names = list(singles)
    total = max(float(np.mean([table.sum() for table in singles.values()])), _LEAST)
    cells = np.array(total)
    for table in singles.values():
        cells = np.multiply.outer(cells, np.maximum(table, _LEAST) / total)
    for _ in range(rounds if pairs else 0):
        moved = 0.0
        for (one, other), table in pairs.items():
            kept = (names.index(one), names.index(other))
            sums = cells.sum(axis=tuple(axis for axis in range(len(names)) if axis not in kept), keepdims=True)
            wanted = np.maximum(table, _LEAST).reshape(sums.shape)
            moved = max(moved, float(np.abs(sums - wanted).sum()))
            cells *= wanted / np.maximum(sums, 1e-12)
        if moved < _NEAR * total:
            break
    return np.asarray(cells)
