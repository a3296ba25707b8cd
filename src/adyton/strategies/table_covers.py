"""Which tables to measure when tables of pairs are asked for: sometimes larger ones, that hold several pairs each.

Under pure ε each measured table takes its part of the budget, so that fewer tables are each more exact. A pair Q out of
a table over S has the variance 2·n_S/(n_Q·θ_S²), and if S serves the pairs Q ∈ S with weights w, their error is
E_S/θ_S, E_S = √n_S·Σ w_Q·√n_Q up to a factor. With the best shares, θ_S ∝ √E_S, all errors are (Σ_S √E_S)². So a table
is worth as much as Σ √E_S gets smaller by it: six attributes of two cells in one table of 64 have a quarter of the
error of their 15 pairs. What is found greedily, the best ratio first, is a cover, as in Chvátal, "A greedy heuristic
for the set-covering problem", 1979.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

import numpy as np

from adyton.arrays import Reals

Group = tuple[str, ...]

MOST_CELLS = 1 << 14
"""No larger table is measured for the sake of several pairs."""


def covering(
    sides: Mapping[str, int], pairs: Sequence[Group], weights: Sequence[float] | None = None
) -> tuple[Group, ...]:
    """Groups of attributes, in the order of *sides*, that hold all *pairs*, each at least once.

    *weights* say how much the error of each pair matters.

    >>> covering({"a": 2, "b": 2, "c": 3, "d": 90}, [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")])
    (('a', 'b', 'c'), ('c', 'd'))
    """
    names = list(sides)
    place = {name: number for number, name in enumerate(names)}
    cells = np.array([sides[name] for name in names], dtype=np.float64)
    spread, alone = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for (one, other), weight in zip(pairs, weights or [1.0] * len(pairs), strict=True):
        first, second = place[one], place[other]
        spread[first, second] = spread[second, first] = weight * math.sqrt(sides[one] * sides[other])
        alone[first, second] = alone[second, first] = math.sqrt(weight * sides[one] * sides[other])
    found: list[Group] = []
    queue = [(0.0, place[one], place[other]) for one, other in pairs]
    heapq.heapify(queue)
    while queue:
        _, first, second = heapq.heappop(queue)
        if not alone[first, second]:
            continue
        ratio, group = _grown(cells, spread, alone, [first, second])
        if queue and ratio > queue[0][0]:  # a ratio only grows as pairs are covered: another may be the best now
            heapq.heappush(queue, (ratio, first, second))
            continue
        found.append(tuple(names[member] for member in sorted(group)))
        inside = np.ix_(group, group)
        spread[inside] = alone[inside] = 0.0
    return tuple(found)


def _grown(cells: Reals, spread: Reals, alone: Reals, start: list[int]) -> tuple[float, list[int]]:
    """From a pair, one attribute more as long as what the table costs beside its pairs alone gets less."""
    group, size = list(start), float(cells[start].prod())
    error, pairs = float(spread[start[0], start[1]]), float(alone[start[0], start[1]])
    ratio = (size**0.5 * error) ** 0.5 / pairs
    near, apart = spread[start].sum(axis=0), alone[start].sum(axis=0)
    while len(group) < cells.size:
        errors, sums = error + near, pairs + apart
        ratios = np.sqrt(np.sqrt(size * cells) * errors) / sums
        ratios[group] = np.inf
        ratios[size * cells > MOST_CELLS] = np.inf
        best = int(ratios.argmin())
        if ratios[best] >= ratio * (1 - 1e-9):
            break
        group.append(best)
        near, apart = near + spread[best], apart + alone[best]
        size, error, pairs, ratio = size * cells[best], float(errors[best]), float(sums[best]), float(ratios[best])
    return ratio, group
