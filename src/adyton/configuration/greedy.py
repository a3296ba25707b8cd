"""Greedy families: bids of an auction, an independent set of a graph, the packing of a knapsack.

The best by a score like value/size^ρ is taken first; candidates that it excludes, or that no longer fit, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.configuration import made_up
from adyton.configuration.family import (
    Reached,
    SweptFamily,
    clamped,
    first_is_overtaken,
    first_of,
    logarithms,
    on_grid,
    overtaken_from,
    put_in_order,
)
from adyton.configuration.problems import Bids, Items, WeightedGraph


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
        """The revenue, and up to which parameter the same bids win."""
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
    """Vertices, no two of them neighbours, taken greedily by weight/(1 + degree)^ρ.

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
        """The weight of the set, and up to which parameter it stays the same."""
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
    """Mark the vertices that are taken; return a greater parameter up to which the same are taken.

    Degrees, and so scores, depend on what was taken before. As long as each vertex that was taken is still before all
    that were open then, the same are taken in the same order.
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
    """For each of *count* candidates, those that it excludes: the start of its list, and all lists one after another.

    *pairs* may name a pair twice or in both orders; unknown candidates, and a candidate with itself, are left out.
    """
    inside = (pairs >= 0).all(axis=1) & (pairs < count).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    first, second = pairs[inside].T
    both = np.sort(np.concatenate([first * count + second, second * count + first]))
    both = both[np.diff(both, prepend=-1) > 0]
    starts = np.searchsorted(both, np.arange(count + 1, dtype=np.int64) * count)
    return starts.astype(np.int64), both % max(count, 1)


def in_conflict(a: Reals, b: Reals, starts: Places, neighbours: Places, gains: Reals) -> Reached:
    """The sum of gains if the highest line that is not excluded by those taken before is taken, again and again."""
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
    """Mark the candidates that are taken; return a greater parameter up to which the same are taken.

    Let W be the taken candidates, no two of which exclude each other. Greedy choice in any order takes W if and only if
    every other candidate is excluded by a member of W that is before it (by induction along the order). So a candidate
    stays out at least until it has overtaken the last of those members that are before it now.
    """
    until = math.inf
    for candidate in order:
        free, excluded_until = True, -math.inf
        for place in range(starts[candidate], starts[candidate + 1]):
            other = neighbours[place]
            if taken[other]:  # it is before the candidate, like all that are taken by now
                free = False
                excluded_until = max(excluded_until, overtaken_from(other, candidate, a, b))
                if excluded_until >= until:
                    break
        if free:
            taken[candidate] = True
        else:
            until = min(until, excluded_until)
    return until


@dataclass(frozen=True, kw_only=True)
class Knapsack(SweptFamily[Items]):
    """Greedy packing by value/size^ρ. With ρ = 0 the most valuable come first, with ρ = 1 the densest.

    ``better_of`` takes the most valuable single item instead where that is worth more: then ρ = 1 is never worse than
    half of the best packing.

    >>> items = Items(values=[60, 100, 120], sizes=[10, 20, 30], capacity=50)
    >>> Knapsack().run(items, 0.0), Knapsack().run(items, 1.0)
    (220.0, 160.0)
    """

    name = "knapsack"
    interval = (0.0, 2.0)
    default = 1.0
    kind = Items

    better_of: bool = False

    def examples(self) -> Sequence[Items]:
        """Made-up items of every kind."""
        return [made_up.items(kind, count=12, seed=1) for kind in made_up.ITEM_KINDS]

    def reached(self, instance: Items) -> Reached:
        """The value packed, and up to which parameter the packing stays the same."""
        values, sizes = clamped(instance.values), clamped(instance.sizes)
        capacity = float(clamped(np.array(instance.capacity)))
        fits = (values > 0) & (sizes <= capacity) & ~np.isnan(instance.sizes)
        needs_room = fits & (sizes > 0)
        free = values[fits & (sizes == 0)].tolist()
        least = float(values[fits].max(initial=0.0)) if self.better_of else 0.0
        values, sizes = values[needs_room], sizes[needs_room]
        a, b = logarithms(values), logarithms(sizes)
        room, needed = float(on_grid(np.array(capacity), capacity)), on_grid(sizes, capacity)
        order = np.argsort(-a, kind="stable").astype(np.int64)
        taken, packed, flips = np.zeros(len(a), dtype=np.bool_), np.zeros_like(order), np.zeros_like(a)

        def one_run(parameter: float) -> tuple[float, float]:
            put_in_order(order, a, b, parameter)
            taken[:] = False
            until = pack_in_order(order, a, b, needed, room, taken, packed, flips)
            return max(least, math.fsum(free + values[taken].tolist())), until

        return one_run


@compiled
def pack_in_order(
    order: Places, a: Reals, b: Reals, sizes: Reals, room: float, taken: Flags, packed: Places, flips: Reals
) -> float:
    """Mark the packed items; return a greater parameter up to which the same are packed.

    Let W be the packed items. Packing in another order packs W if and only if, for every other item, the members of W
    before it leave too little room for it. Those that are before it now are lost one by one as the item overtakes them:
    it stays out until the sizes of the lost items make room. Sums of sizes are exact in any order.
    """
    until = math.inf
    used, count = 0.0, 0
    for item in order:
        if used + sizes[item] <= room:
            used += sizes[item]
            taken[item] = True
            packed[count] = item
            count += 1
            continue
        lacking = used + sizes[item] - room
        for place in range(count):
            flips[place] = overtaken_from(packed[place], item, a, b)
        until = min(until, _room_from(lacking, flips, packed, sizes, count, until))
    return until


@compiled
def _room_from(lacking: float, flips: Reals, packed: Places, sizes: Reals, count: int, limit: float) -> float:
    """The least parameter below the limit at which packed items of this total size are overtaken; else infinity."""
    lost = 0.0
    for place in range(count):
        if flips[place] < limit:
            lost += sizes[packed[place]]
    if lost < lacking:
        return math.inf
    lost, latest = 0.0, -math.inf
    while lost < lacking:
        soonest = math.inf
        for place in range(count):
            if latest < flips[place] < soonest:
                soonest = flips[place]
        for place in range(count):
            if flips[place] == soonest:
                lost += sizes[packed[place]]
        latest = soonest
    return latest
