"""A heavy independent set of a graph: the largest weight/(1 + degree)^ρ comes first, its neighbours are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.configuration import made_up
from adyton.configuration.conflicts import in_conflict, neighbours_of
from adyton.configuration.exact_order import clamped, first_is_overtaken, first_of, logarithms
from adyton.configuration.problems import WeightedGraph
from adyton.configuration.sweep import Reached, SweptFamily


@dataclass(frozen=True, kw_only=True)
class IndependentSet(SweptFamily[WeightedGraph]):
    """Vertices of which no two are neighbours, taken greedily by weight/(1 + degree)^ρ.

    With ρ = 0 the heaviest come first; ρ = 1 is the rule of Sakai, Togasaki and Yamazaki (2003). Degrees are those of
    the whole graph, or, if ``adaptive``, of what is left of it.

    >>> star = WeightedGraph(weights=[3, 2, 2], edges=[(0, 1), (0, 2)])
    >>> IndependentSet().run(star, 0.0), IndependentSet().run(star, 1.5)
    (3.0, 4.0)
    """

    name = "independent-set"
    interval = (0.0, 2.0)
    default = 1.0
    kind = WeightedGraph

    adaptive: bool = False

    def examples(self) -> Sequence[WeightedGraph]:
        """Made-up graphs of every kind."""
        return [made_up.graph(kind, vertices=14, seed=1) for kind in made_up.GRAPH_KINDS]

    def reached(self, instance: WeightedGraph) -> Reached:
        """The weight taken, and until where the set stays the same."""
        weights = clamped(instance.weights)
        present = weights > 0
        number = np.where(present, np.cumsum(present) - 1, -1)
        known = ((instance.edges >= 0) & (instance.edges < len(weights))).all(axis=1)
        weights = weights[present]
        starts, neighbours = neighbours_of(len(weights), number[instance.edges[known]])
        a, scale = logarithms(weights), logarithms(np.arange(1.0, len(weights) + 1.0))
        if self.adaptive:
            return _adaptive(a, scale, starts, neighbours, weights)
        return in_conflict(a, scale[np.diff(starts)], starts, neighbours, weights)


def _adaptive(a: Reals, scale: Reals, starts: Places, neighbours: Places, weights: Reals) -> Reached:
    count = len(a)
    b, degrees = np.zeros(count), np.zeros(count, dtype=np.int64)
    still_open, taken = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)

    def one_run(parameter: float) -> tuple[float, float]:
        still_open[:], taken[:] = True, False
        degrees[:] = np.diff(starts)
        b[:] = scale[degrees]
        until = take_adaptively(a, b, scale, starts, neighbours, parameter, degrees, still_open, taken)
        return math.fsum(weights[taken]), until

    return one_run


@compiled
def take_adaptively(
    a: Reals,
    b: Reals,
    scale: Reals,
    starts: Places,
    neighbours: Places,
    parameter: float,
    degrees: Places,
    still_open: Flags,
    taken: Flags,
) -> float:
    """Mark what is taken; say until which greater parameter the same is taken.

    Degrees, and so scores, depend on what was taken before. As long as each vertex that was taken still stands before
    all that were open then, the same are taken in the same order.
    """
    until = math.inf
    while True:
        best = first_of(a, b, still_open, parameter)
        if best < 0:
            return until
        until = min(until, first_is_overtaken(best, a, b, still_open))
        taken[best] = True
        still_open[best] = False
        for place in range(starts[best], starts[best + 1]):
            lost = neighbours[place]
            if not still_open[lost]:
                continue
            still_open[lost] = False
            for further in range(starts[lost], starts[lost + 1]):
                beside = neighbours[further]
                degrees[beside] -= 1
                b[beside] = scale[degrees[beside]]
