"""A heavy independent set of a graph: the largest weight/(1 + degree)^ρ comes first, its neighbours are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.configuration import made_up
from adyton.configuration.exact_order import (
    clamped,
    first_is_overtaken,
    first_of,
    logarithms,
    overtaken_from,
    put_in_order,
)
from adyton.configuration.family import Reached, SweptFamily
from adyton.configuration.problems import Bids, WeightedGraph


@dataclass(frozen=True, kw_only=True)
class Auction(SweptFamily[Bids]):
    """Bids accepted greedily by price/|bundle|^ρ, so that no good is sold twice; the value is the revenue.

    Lehmann, O'Callaghan and Shoham, "Truth revelation in approximately efficient combinatorial auctions", JACM 2002:
    ρ = ½ has the best guarantee in the number of goods.

    >>> bids = Bids(prices=[10, 6, 6], bundles=[(0, 1), (0,), (1,)])
    >>> Auction().run(bids, 0.5), Auction().run(bids, 1.0)
    (10.0, 12.0)
    """

    name = "auction"
    interval = (0.0, 2.0)
    default = 0.5
    kind = Bids

    def examples(self) -> Sequence[Bids]:
        """Made-up auctions of every kind."""
        return [made_up.bids(kind, goods=8, count=14, seed=1) for kind in made_up.BID_KINDS]

    def reached(self, instance: Bids) -> Reached:
        """The revenue, and until where the same bids win."""
        prices = clamped(instance.prices)
        offered = np.flatnonzero(prices > 0)
        bundles = [instance.bundles[bid] for bid in offered]
        goods = instance.goods
        sizes = [len(bundle) if goods is None else sum(0 <= good < goods for good in bundle) for bundle in bundles]
        a, b = logarithms(prices[offered]), logarithms(np.maximum(np.array(sizes, dtype=np.float64), 1.0))
        starts, neighbours = neighbours_of(len(bundles), _sharing(bundles))
        return in_conflict(a, b, starts, neighbours, prices[offered])


def _sharing(bundles: Sequence[Sequence[int]]) -> Places:
    """Pairs of bids that want a good in common."""
    from scipy.sparse import csr_array

    goods, starts = [good for bundle in bundles for good in bundle], np.cumsum([0, *map(len, bundles)])
    known, columns = np.unique(np.array(goods, dtype=np.int64), return_inverse=True)
    wants = csr_array((np.ones(len(goods), dtype=np.int32), columns, starts), shape=(len(bundles), len(known)))
    pairs: Places = np.stack((wants @ wants.T).nonzero(), axis=1).astype(np.int64)
    return pairs[pairs[:, 0] < pairs[:, 1]]


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


def neighbours_of(count: int, pairs: Places) -> tuple[Places, Places]:
    """For each of *count* candidates those that it excludes: the start of its list, and all lists one after another.

    *pairs* may name a pair twice or in both orders; pairs outside, and of a candidate with itself, are left out.
    """
    inside = (pairs >= 0).all(axis=1) & (pairs < count).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    one, other = pairs[inside].T
    both = np.sort(np.concatenate([one * count + other, other * count + one]))
    both = both[np.diff(both, prepend=-1) > 0]
    starts = np.searchsorted(both, np.arange(count + 1, dtype=np.int64) * count)
    return starts.astype(np.int64), both % max(count, 1)


def in_conflict(a: Reals, b: Reals, starts: Places, neighbours: Places, gains: Reals) -> Reached:
    """The sum of gains that is reached when the highest line is taken that no taken one excludes, again and again."""
    order = np.argsort(-a, kind="stable").astype(np.int64)
    taken = np.zeros(len(a), dtype=np.bool_)

    def one_run(parameter: float) -> tuple[float, float]:
        put_in_order(order, a, b, parameter)
        taken[:] = False
        until = take_in_order(order, a, b, starts, neighbours, taken)
        return math.fsum(gains[taken]), until

    return one_run


@compiled
def take_in_order(order: Places, a: Reals, b: Reals, starts: Places, neighbours: Places, taken: Flags) -> float:
    """Mark what is taken; say until which greater parameter the same is taken.

    Let W be what is taken, and let no two of W exclude each other. Greedy choice by any order takes W if and only if
    every other candidate is excluded by one of W that stands before it (by induction along the order). So a candidate
    stays out at least until it has overtaken the last of those that stand before it now.
    """
    until = math.inf
    for candidate in order:
        free, excluded_until = True, -math.inf
        for place in range(starts[candidate], starts[candidate + 1]):
            other = neighbours[place]
            if taken[other]:  # it stands before the candidate, as all that are taken by now
                free = False
                excluded_until = max(excluded_until, overtaken_from(other, candidate, a, b))
                if excluded_until >= until:
                    break
        if free:
            taken[candidate] = True
        else:
            until = min(until, excluded_until)
    return until
