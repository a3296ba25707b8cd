"""Packing a knapsack greedily: the largest value/size^ρ that still fits comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.configuration import made_up
from adyton.configuration.exact_order import clamped, logarithms, on_grid, overtaken_from, put_in_order
from adyton.configuration.family import Reached, SweptFamily
from adyton.configuration.problems import Items


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
        """The value packed, and until where the packing stays the same."""
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
    """Mark what is packed; say until which greater parameter the same is packed.

    Let W be what is packed. Packing in another order packs W if and only if, for every other item, those of W that
    stand before it leave too little room for it. Those that stand before it now are lost one by one as the item
    overtakes them: it stays out until the sizes of the lost make room. Sums of sizes are exact in any order.
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
    """The least parameter at which packed items of this size in total have been overtaken; infinity from the limit."""
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
