"""Made-up instances, public and seeded: to try a family on, to plan with, and to measure what tuning is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from adyton.arrays import Places, Reals
from adyton.configuration.problems import Bids, CutGraph, Deliveries, Items, WeightedGraph
from adyton.errors import BadInput
from adyton.messages import no_such
from adyton.whole import whole

CUT_KINDS = ("gnp", "spins", "gaussian", "communities")


def cut_graph(kind: str, vertices: int = 50, seed: int | Sequence[int] = 0) -> CutGraph:
    """A random graph for max-cut.

    ``gnp`` has each edge with probability 0.2, of weight 1. ``spins`` is a spin glass: every edge, of weight 1 or −1.
    ``gaussian`` has every edge with a normal weight. ``communities`` has five groups of vertices, with weights 1 for
    most edges between groups and for few inside.

    >>> cut_graph("spins", vertices=3, seed=1).weights.tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]]
    """
    if kind not in CUT_KINDS:
        raise BadInput(no_such("kind of graph", kind, CUT_KINDS))
    size = whole(vertices, "vertices", 0)
    upper = np.triu(_weights(kind, size, np.random.default_rng(seed)), 1)
    return CutGraph(upper + upper.T)


def _weights(kind: str, size: int, chance: np.random.Generator) -> Reals:
    if kind == "gaussian":
        return chance.standard_normal((size, size))
    if kind == "spins":
        return chance.choice([-1.0, 1.0], (size, size))
    odds = np.full((size, size), 0.2)
    if kind == "communities":
        groups = chance.integers(0, 5, size)
        odds = np.where(groups[:, None] == groups, 0.05, 0.5)
    return (chance.random((size, size)) < odds).astype(np.float64)


ITEM_KINDS = ("uncorrelated", "weak", "strong", "inverse", "lognormal")
GRAPH_KINDS = ("gnp", "preferential", "geometric", "small-world")
BID_KINDS = ("regions", "decay", "uniform", "weighted")
DELIVERY_KINDS = ("random", "central", "clustered", "mixed", "corner")

Seed = int | Sequence[int]
Made = TypeVar("Made")


def several(make: Callable[..., Made], how_many: int, kind: str, seed: int = 0, **sizes: int) -> list[Made]:
    """Instances of one kind, each with a seed of its own.

    >>> [len(auction.prices) for auction in several(bids, 3, "regions", count=20)]
    [20, 20, 20]
    """
    return [make(kind, seed=(seed, place), **sizes) for place in range(whole(how_many, "how_many", 0))]


def items(kind: str = "lognormal", count: int = 50, seed: Seed = 0) -> Items:
    """Items of a knapsack that holds between a twentieth and half of them.

    Kinds say how value and size are related, after Pisinger, "Where are the hard knapsack problems?", 2005;
    ``lognormal`` has few large items, whose values grow more slowly than their sizes.

    >>> made = items("strong", count=3, seed=1)
    >>> made.values - made.sizes
    array([100., 100., 100.])
    """
    chance = _start(kind, ITEM_KINDS, count, seed)
    sizes = chance.integers(1, 1001, count).astype(np.float64)
    if kind == "uncorrelated":
        values = chance.integers(1, 1001, count).astype(np.float64)
    elif kind == "weak":
        values = np.maximum(sizes + chance.integers(-100, 101, count), 1.0)
    elif kind == "strong":
        values = sizes + 100.0
    elif kind == "inverse":
        values, sizes = sizes, sizes + 100.0
    else:
        sizes = np.maximum(np.round(chance.lognormal(4.0, 1.2, count)), 1.0)
        values = np.maximum(np.round(sizes**0.8 * chance.lognormal(0.0, 0.5, count)), 1.0)
    return Items(values, sizes, float(np.floor(sizes.sum() * chance.uniform(0.05, 0.5))))


def graph(kind: str = "gnp", vertices: int = 60, seed: Seed = 0) -> WeightedGraph:
    """A graph whose vertices have exponential weights: few of them matter much.

    ``gnp`` has each edge with probability 0.1 (Erdős and Rényi); ``preferential`` joins each new vertex to three that
    have many neighbours already (Barabási and Albert); ``geometric`` joins points of the unit square nearer than 0.2;
    ``small-world`` is a ring of six neighbours with a fifth of the edges rewired (Watts and Strogatz).

    >>> graph("preferential", vertices=10).edges.shape
    (21, 2)
    """
    chance = _start(kind, GRAPH_KINDS, vertices, seed)
    if kind == "preferential":
        edges = _preferential(vertices, chance)
    elif kind == "small-world":
        edges = _small_world(vertices, chance)
    else:
        pairs = np.stack(np.triu_indices(vertices, 1), axis=1)
        if kind == "gnp":
            edges = pairs[chance.random(len(pairs)) < 0.1]
        else:
            points = chance.random((vertices, 2))
            edges = pairs[np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T) <= 0.2]
    return WeightedGraph(chance.exponential(1.0, vertices), edges)


def _preferential(vertices: int, chance: np.random.Generator) -> Places:
    """A star of four vertices first; then each end of an edge is as likely to be joined as any other end."""
    edges = [(0, end) for end in range(1, min(4, vertices))]
    for vertex in range(4, vertices):
        ends = np.array(edges).ravel()
        chosen: set[int] = set()
        while len(chosen) < 3:
            chosen.add(int(chance.choice(ends)))
        edges += [(end, vertex) for end in sorted(chosen)]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _small_world(vertices: int, chance: np.random.Generator) -> Places:
    joined = {
        (min(pair), max(pair))
        for vertex in range(vertices)
        for step in (1, 2, 3)
        if len(set(pair := (vertex, (vertex + step) % vertices))) == 2
    }
    for pair in sorted(joined):
        if chance.random() < 0.2:
            end = int(chance.integers(vertices))
            led = (min(pair[0], end), max(pair[0], end))
            if end != pair[0] and led not in joined:
                joined.remove(pair)
                joined.add(led)
    return np.array(sorted(joined), dtype=np.int64).reshape(-1, 2)


def bids(kind: str = "regions", goods: int = 30, count: int = 100, seed: Seed = 0) -> Bids:
    """Bids like those of the Combinatorial Auction Test Suite (Leyton-Brown, Pearson and Shoham, 2000).

    ``regions``: goods near one another, each with a common and a private worth, and a premium for large bundles;
    ``decay``: bundles that stop growing with probability ¼; ``uniform``: one to seven goods; ``weighted``: up to half
    of the goods. Except for regions, a price is random and in proportion to the number of goods.

    >>> bids("uniform", goods=5, count=2, seed=3).bundles
    ((0, 1, 2, 3, 4), (0, 3, 4))
    """
    chance = _start(kind, BID_KINDS, count, seed)
    whole(goods, "goods", 1)
    worth = chance.uniform(1.0, 100.0, goods)
    places = chance.random((goods, 2))
    nearest = np.argsort(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)), axis=1, kind="stable")
    prices, bundles = np.zeros(count), []
    for bid in range(count):
        size = min(_bundle_size(kind, goods, chance), goods)
        if kind == "regions":
            bundle = nearest[chance.integers(goods), :size]
            price = (worth[bundle] * chance.uniform(0.5, 1.5, size)).sum() + size**1.2
        else:
            bundle = chance.choice(goods, size, replace=False)
            price = 100.0 * size * chance.uniform(0.5, 1.5 if kind == "uniform" else 1.0)
        prices[bid] = max(round(float(price)), 1)
        bundles.append(bundle.tolist())
    return Bids(prices, bundles, goods)


def _bundle_size(kind: str, goods: int, chance: np.random.Generator) -> int:
    if kind == "regions":
        return int(chance.geometric(0.2))
    if kind == "decay":
        return int(chance.geometric(0.25))
    return int(chance.integers(1, 8 if kind == "uniform" else max(goods // 2, 2)))


def deliveries(kind: str = "random", customers: int = 40, seed: Seed = 0) -> Deliveries:
    """Customers on a map of 1000 by 1000, after Uchoa et al., "New benchmark instances for the CVRP", 2017.

    ``random``: customers and depot anywhere; ``central``: the depot in the centre; ``clustered``: customers around
    three to eight seeds; ``mixed``: half of them clustered; ``corner``: clusters, and the depot in a corner. Demands
    are 1 to 100; a vehicle serves three to twenty-five customers, mostly about six.

    >>> deliveries("clustered", customers=5).distances.shape
    (6, 6)
    """
    chance = _start(kind, DELIVERY_KINDS, customers, seed)
    depot = {"central": [500.0, 500.0], "corner": [0.0, 0.0]}.get(kind) or chance.integers(0, 1001, 2).tolist()
    anywhere = {"clustered": 0, "corner": 0, "mixed": customers // 2}.get(kind, customers)
    points = chance.integers(0, 1001, (anywhere, 2)).astype(np.float64)
    if anywhere < customers:
        points = np.vstack([points, _clusters(customers - anywhere, chance)])
    demands = chance.integers(1, 101, customers)
    served = chance.triangular(3.0, 6.0, 25.0)
    capacity = max(np.ceil(served * demands.sum() / max(customers, 1)), demands.max(initial=0))
    return Deliveries.in_the_plane(depot, points, demands, float(capacity))


def _clusters(customers: int, chance: np.random.Generator) -> Reals:
    """Points of the map, each kept with probability Σ exp(−distance to a seed / 40), until there are enough."""
    seeds = chance.integers(0, 1001, (int(chance.integers(3, 9)), 2))
    points = np.zeros((0, 2))
    while len(points) < customers:
        tried = chance.integers(0, 1001, (2000, 2)).astype(np.float64)
        apart = np.hypot(*(tried[:, None] - seeds[None]).transpose(2, 0, 1))
        points = np.vstack([points, tried[chance.random(len(tried)) < np.exp(-apart / 40.0).sum(axis=1)]])
    return points[:customers]


def _start(kind: str, kinds: Sequence[str], count: int, seed: Seed) -> np.random.Generator:
    """A random generator from a seed; an unknown kind, or a count that is not a whole number, is refused."""
    if kind not in kinds:
        raise BadInput(no_such("kind of instance", kind, kinds))
    whole(count, "the number of candidates", 0)
    return np.random.default_rng(seed)
