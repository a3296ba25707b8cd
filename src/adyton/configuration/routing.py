"""Rounds of vehicles by the savings method: rounds are joined where that saves most, as long as the load fits."""

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
    lost_from,
    on_grid,
    overtaken_from,
    put_in_order,
    sign,
)
from adyton.configuration.problems import Deliveries


@dataclass(frozen=True, kw_only=True)
class Routing(SweptFamily[Deliveries]):
    """The savings method for vehicle routing: joining customers i and j saves d₀ᵢ + d₀ⱼ − λ·d_ij.

    Clarke and Wright, "Scheduling of vehicles from a central depot to a number of delivery points", 1964; the factor λ
    is due to Yellow, 1970. Every customer starts with a separate round; the largest positive saving that is possible is
    made, again and again: both customers must be at an end of different rounds, and the joined load must fit one
    vehicle. The value is minus the length of all rounds.

    >>> stops = Deliveries.in_the_plane(depot=(0, 0), customers=[(3, 4), (3, 3)], demands=[1, 1], capacity=2)
    >>> round(Routing().run(stops, 1.0), 3)
    -10.243
    """

    name = "routing"
    interval = (0.0, 2.0)
    default = 1.0
    kind = Deliveries

    def examples(self) -> Sequence[Deliveries]:
        """Made-up customers of every kind."""
        return [made_up.deliveries(kind, customers=9, seed=1) for kind in made_up.DELIVERY_KINDS]

    def reached(self, instance: Deliveries) -> Reached:
        """Minus the length of all rounds, and up to which parameter they stay the same."""
        table = _distances(instance.distances)
        first, second = (ends.astype(np.int64) for ends in np.triu_indices(len(table) - 1, 1))
        b = table[first + 1, second + 1]
        a = table[0, first + 1] + table[0, second + 1]
        capacity = float(clamped(np.array(instance.capacity)))
        demands = on_grid(np.minimum(clamped(instance.demands), 2.0 * capacity + 1.0), capacity)
        room = float(on_grid(np.array(capacity), capacity))
        alone = (-2.0 * table[0, 1:]).tolist()
        order = np.argsort(-a, kind="stable").astype(np.int64)
        taken, rounds = np.zeros(len(a), dtype=np.bool_), _Rounds.of(len(demands))

        def one_run(parameter: float) -> tuple[float, float]:
            put_in_order(order, a, b, parameter)
            rounds.begin(taken, demands)
            until = join_in_order(
                order, a, b, first, second, room, parameter, taken, rounds.joints, rounds.route, rounds.load
            )
            return math.fsum(alone + a[taken].tolist() + (-b[taken]).tolist()), until

        return one_run


def _distances(table: Reals) -> Reals:
    """Symmetric, finite, not negative, and on a grid on which sums of two are exact. Infinity counts as the largest."""
    finite = np.where(np.isposinf(table), table[np.isfinite(table)].max(initial=0.0), table)
    clean = clamped(finite)
    mean = clean / 2.0 + clean.T / 2.0
    return on_grid(mean, 2.0 * float(mean.max(initial=0.0)))


@dataclass(frozen=True)
class _Rounds:
    """Buffers for what a run remembers of each customer: the joints at both sides, the round, and the rounds' loads."""

    joints: Places
    route: Places
    load: Reals

    @classmethod
    def of(cls, customers: int) -> _Rounds:
        """Buffers for this many customers."""
        return cls(np.zeros((customers, 2), np.int64), np.zeros(customers, np.int64), np.zeros(customers))

    def begin(self, taken: Flags, demands: Reals) -> None:
        """Give every customer a separate round."""
        taken[:] = False
        self.joints[:] = -1
        self.route[:] = np.arange(len(self.route))
        self.load[:] = demands


@compiled
def join_in_order(
    order: Places,
    a: Reals,
    b: Reals,
    first: Places,
    second: Places,
    room: float,
    parameter: float,
    taken: Flags,
    joints: Places,
    route: Places,
    load: Reals,
) -> float:
    """Mark the pairs that are joined; return a greater parameter up to which the same are joined.

    Let W be the joined pairs. Any part of W forms rounds that fit, too. So joining in another order gives W if and only
    if every other pair is ruled out by the members of W before it. The reasons that rule a pair out are: one of the two
    has joints at both sides, or both are in the same round, or their two loads together are too large. A reason holds
    as long as none of the joints that make it is overtaken, and the pair stays out as long as one of its reasons holds.
    """
    until = math.inf
    for pair in order:
        if sign(a[pair], b[pair], parameter) <= 0:
            break  # later pairs save nothing either, nor does a greater parameter help
        i, j = first[pair], second[pair]
        apart = route[i] != route[j] and load[route[i]] + load[route[j]] <= room
        if apart and joints[i, 1] < 0 and joints[j, 1] < 0:
            until = min(until, lost_from(a[pair], b[pair], False))
            taken[pair] = True
            joints[i, 0 if joints[i, 0] < 0 else 1] = pair
            joints[j, 0 if joints[j, 0] < 0 else 1] = pair
            _merge(route[i], route[j], route, load)
            continue
        out = -math.inf
        for end in (i, j):
            if joints[end, 1] >= 0:
                both = overtaken_from(joints[end, 0], pair, a, b)
                out = max(out, min(both, overtaken_from(joints[end, 1], pair, a, b)))
        if not apart and out < until:
            out = max(out, _rounds_kept(pair, route[i], route[j], a, b, joints, route))
        until = min(until, out)
    return until


@compiled
def _merge(kept: int, gone: int, route: Places, load: Reals) -> None:
    load[kept] += load[gone]
    for customer in range(len(route)):
        if route[customer] == gone:
            route[customer] = kept


@compiled
def _rounds_kept(pair: int, first: int, second: int, a: Reals, b: Reals, joints: Places, route: Places) -> float:
    """Up to which parameter no joint of these two rounds is overtaken by this pair."""
    until = math.inf
    for customer in range(len(route)):
        if route[customer] in (first, second):
            for side in range(2):
                if joints[customer, side] >= 0:
                    until = min(until, overtaken_from(joints[customer, side], pair, a, b))
    return until
