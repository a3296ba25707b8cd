"""Greedy families: the curve is what the algorithm reaches, at every point of the lattice, also where scores tie."""

import math
from dataclasses import dataclass

import numpy as np
import plain_greedy
import pytest

from adyton.configuration import family as families
from adyton.configuration import made_up
from adyton.configuration.family import Candidates, GreedyFamily
from adyton.configuration.greedy import Auction, IndependentSet, Knapsack
from adyton.configuration.problems import Bids, Deliveries, Items, WeightedGraph
from adyton.configuration.routing import Routing
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Lattice, StepCurve

NAN, INF = math.nan, math.inf


def items(chance):
    n = int(chance.integers(4, 16))
    sizes = chance.integers(1, 4, n) * 1.0
    yield Items(chance.integers(1, 4, n), sizes, 0.4 * sizes.sum())  # ties
    yield Items(chance.uniform(1, 2, n), sizes, 0.5 * sizes.sum())
    yield Items(np.ones(n) + chance.integers(0, 9, n) * 1e-11, np.ones(n) + chance.integers(0, 9, n) * 1e-11, n / 2)
    real = chance.lognormal(0, 1, n)
    yield Items(real**0.9 * chance.uniform(0.8, 1.2, n), real, chance.uniform(0.1, 0.8) * real.sum())
    yield made_up.items(made_up.ITEM_KINDS[n % 5], count=n, seed=n)


def odd_items():
    yield Items([], [], 5)
    yield Items([3], [2], 2)
    yield Items([3], [2], 1)
    yield Items([3, 4, 5], [0, -1, 2], 2)
    yield Items([NAN, -1, 0, INF, 2, 2, 7], [1, 1, 1, 1, NAN, INF, 1], 2)
    yield Items([1, 2, 3], [1, 2, 3], NAN)
    yield Items([1, 2, 3], [1, 2, INF], INF)
    yield Items([1, 2], [1e-320, 2e-320], 3e-320)


def graphs(chance):
    n = int(chance.integers(3, 20))
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[chance.random(len(edges)) < chance.uniform(0.1, 0.4)]
    degrees = np.bincount(edges.ravel(), minlength=n)
    yield WeightedGraph(np.ones(n), edges)
    yield WeightedGraph((1 + degrees) * chance.uniform(0.7, 1.4, n), edges)
    yield WeightedGraph((1 + degrees) ** 0.5 * chance.uniform(0.9, 1.1, n), edges)
    yield WeightedGraph(chance.integers(1, 4, n), np.vstack([edges, edges[:, ::-1], edges]))
    yield WeightedGraph(chance.exponential(1.0, n), edges)
    yield WeightedGraph(np.ones(n) + chance.integers(0, 9, n) * 1e-11, edges)
    yield made_up.graph(made_up.GRAPH_KINDS[n % 4], vertices=n, seed=n)


def odd_graphs():
    yield WeightedGraph([], [])
    yield WeightedGraph([2], [(0, 0)])
    yield WeightedGraph([], [(0, 1)])
    yield WeightedGraph([1, NAN, INF, -1, 0, 5], [(0, 5), (1, 5), (5, 9), (-1, 2), (2, 2), (3, 5), (0, 2)])


def auctions(chance):
    n = int(chance.integers(5, 20))
    bundles = [chance.choice(8, chance.integers(1, 5), replace=False) for _ in range(n)]
    yield Bids(chance.integers(1, 5, n), bundles)
    yield Bids(chance.uniform(1, 2, n) * [len(b) ** 0.8 for b in bundles], bundles)
    yield Bids(chance.uniform(1, 2, n), bundles, goods=6)
    yield Bids(np.repeat(chance.uniform(1, 9, n), 2), bundles + bundles)
    yield made_up.bids(made_up.BID_KINDS[n % 4], goods=8, count=n, seed=n)


def odd_auctions():
    yield Bids([], [])
    yield Bids([4], [()])
    yield Bids([4, 5, NAN, -1, INF, 0], [(), (0, 0, 1), (0,), (1,), (2,), (2,)])
    yield Bids([1, 2], [(7,), (7, 9)], goods=0)


def rounds(chance):
    n = int(chance.integers(3, 10))
    points, demands = chance.integers(0, 4, (n, 2)), chance.integers(1, 4, n)
    yield Deliveries.in_the_plane((1, 1), points, demands, 6)  # customers at one place, and at the depot
    table = chance.integers(0, 5, (n + 1, n + 1))
    yield Deliveries(table, demands, 7)
    yield Deliveries.in_the_plane((0, 0), chance.normal(size=(n, 2)), np.ones(n), 3)
    yield made_up.deliveries(made_up.DELIVERY_KINDS[n % 5], customers=n, seed=n)


def odd_rounds():
    yield Deliveries([[0]], [], 5)
    yield Deliveries([[0, 2], [2, 0]], [1], 5)
    yield Deliveries([[0, 2, 3], [NAN, 0, -1], [INF, 4, 0]], [NAN, 1], 5)
    yield Deliveries.in_the_plane((0, 0), [(1, 1), (1, 2), (2, 2)], [9, INF, 1], 5)
    yield Deliveries.in_the_plane((0, 0), [(1, 1), (1, NAN), (INF, 2)], [0, -1, 0], 0)
    yield Deliveries.in_the_plane((0, 0), [(1, 1), (1, 2)], [1, 1], NAN)


CASES = {
    "knapsack": (Knapsack(), plain_greedy.knapsack, items, odd_items),
    "better of": (Knapsack(better_of=True), lambda one: plain_greedy.knapsack(one, better_of=True), items, odd_items),
    "static": (IndependentSet(), plain_greedy.independent_set, graphs, odd_graphs),
    "adaptive": (
        IndependentSet(adaptive=True),
        lambda one: plain_greedy.independent_set(one, adaptive=True),
        graphs,
        odd_graphs,
    ),
    "auction": (Auction(), plain_greedy.auction, auctions, odd_auctions),
    "routing": (Routing(), plain_greedy.routing, rounds, odd_rounds),
}


def places_to_try(curve, chance, how_many):
    beside = np.concatenate([curve.starts - 1, curve.starts, curve.starts + 1, [0, POINTS - 1]])
    return np.concatenate([beside[(beside >= 0) & (beside < POINTS)], chance.integers(0, POINTS, how_many)])


def assert_exact(family, plain, instance, lattice, chance, how_many):
    curve = family.curve(instance, lattice)
    places = places_to_try(curve, chance, how_many)
    expected = [plain(lattice.point(int(place))) for place in places]
    np.testing.assert_array_equal(curve.at(places), expected)
    assert curve.starts[0] == 0
    assert (np.diff(curve.starts) > 0).all()
    return len(places), len(curve.starts)


@pytest.mark.parametrize("number", [40, pytest.param(200, marks=pytest.mark.full)])
@pytest.mark.parametrize("case", CASES)
def test_curve_is_the_plain_algorithm(case, number):
    family, plain, make, odd = CASES[case]
    chance = np.random.default_rng(16)
    odd_ones = list(odd())
    instances = [*odd_ones, *family.examples()]
    while len(instances) < number:
        instances += make(chance)
    tried, pieces = 0, 0
    for place, instance in enumerate(instances):
        lattice = Lattice(*[(0.0, 2.0), (-1.0, 1.0), (0.5, 0.75)][0 if place % 5 else place % 3])
        more = assert_exact(family, plain(instance), instance, lattice, chance, 20)
        tried, pieces = tried + more[0], pieces + more[1]
    assert tried >= 20 * number
    assert pieces > 1.5 * (len(instances) - len(odd_ones))  # else there was nothing to find


@pytest.mark.parametrize("case", CASES)
def test_run_is_the_plain_algorithm(case):
    family, plain, make, odd = CASES[case]
    chance = np.random.default_rng(17)
    for instance in [*odd(), *make(chance), *make(chance)]:
        for parameter in (0.0, 0.5, 1.0, 2.0, -1.0, 1e-320, 1e300, *chance.uniform(0, 2, 5)):
            assert family.run(instance, parameter) == plain(instance)(parameter)


def one_place_late(reached, lattice):
    """A mutant: it goes on one place after the first that may change."""
    return StepCurve(*_pieces(reached, lattice, late=1))


def every_other_missed(reached, lattice):
    """A mutant: it leaves out every other critical parameter."""
    return StepCurve(*_pieces(reached, lattice, skip=True))


def _pieces(reached, lattice, late=0, skip=False):
    starts, values, place = [], [], 0
    while place < POINTS:
        value, until = reached(lattice.point(place))
        starts.append(place)
        values.append(value)
        following = max(place + 1, lattice.first_from(until) + late)
        if skip and following < POINTS:
            following = max(following + 1, lattice.first_from(reached(lattice.point(following))[1]))
        place = following
    return np.array(starts), np.array(values)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mutant", [one_place_late, every_other_missed])
def test_broken_sweeps_are_caught(case, mutant, monkeypatch):
    family, plain, make, _ = CASES[case]
    monkeypatch.setattr(families, "sweep", mutant)
    chance, caught = np.random.default_rng(18), 0
    instances = [instance for _ in range(5) for instance in make(chance)]
    for instance in instances:
        try:
            assert_exact(family, plain(instance), instance, Lattice(0.0, 2.0), chance, 50)
        except AssertionError:
            caught += 1
        if caught > len(instances) / 4:
            return
    pytest.fail(f"caught on {caught} of {len(instances)} instances only")


@dataclass
class Bag(Candidates):
    left: float = 0.0


class OwnKnapsack(GreedyFamily[Items]):
    """A knapsack as somebody would write it, on logarithms that are rounded as ours are."""

    name, interval, default, kind = "own", (0.0, 2.0), 1.0, Items

    def begin(self, instance):
        a, b = (np.array([plain_greedy.log(one) for one in ones]) / 2**40 for ones in (instance.values, instance.sizes))
        return Bag(a, b, instance.sizes <= instance.capacity, left=instance.capacity)

    def take(self, instance, candidates, chosen):
        candidates.value += instance.values[chosen]
        candidates.left -= instance.sizes[chosen]
        candidates.still_open &= instance.sizes <= candidates.left

    def examples(self):
        return [made_up.items(count=5)]


def test_own_family_is_swept():
    chance = np.random.default_rng(19)
    for seed in range(8):
        instance = made_up.items(made_up.ITEM_KINDS[seed % 5], count=10, seed=seed)
        assert_exact(OwnKnapsack(), plain_greedy.knapsack(instance), instance, Lattice(0.0, 2.0), chance, 30)


class Picks(GreedyFamily[tuple]):
    """The number of the candidate that is taken first, from 1; 0 if none is."""

    name, interval, default, kind = "picks", (0.0, 2.0), 1.0, tuple

    def begin(self, instance):
        return Candidates(*instance)

    def take(self, instance, candidates, chosen):
        candidates.value = chosen + 1
        candidates.still_open[:] = False

    def examples(self):
        return [([1.0], [1.0])]


class Gains(Picks):
    only_gains = True


@pytest.mark.parametrize("place", [1, 12345, (1 << 31) + 7, POINTS - 1])
def test_ties_at_a_point_of_the_lattice(place):
    lattice = Lattice(0.0, 2.0)
    tie = lattice.point(place)
    first = Picks().curve(([tie, 0.0], [1.0, 0.0]), lattice)  # equal there: the first of them stays
    second = Picks().curve(([0.0, tie], [0.0, 1.0]), lattice)
    assert second.starts.tolist() == [0, place]
    assert second.values.tolist() == [2.0, 1.0]
    assert first.starts.tolist() == ([0, place + 1] if place + 1 < POINTS else [0])
    gains = Gains().curve(([tie], [1.0]), lattice)  # a score of 0 is no gain
    assert (gains.starts.tolist(), gains.values.tolist()) == ([0, place], [1.0, 0.0])
    grows = Gains().curve(([-tie], [-1.0]), lattice)
    assert grows.starts.tolist() == ([0, place + 1] if place + 1 < POINTS else [0])


def test_scores_that_are_none_are_never_taken():
    lattice = Lattice(0.0, 2.0)
    assert Picks().curve(([NAN, INF, -INF, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, NAN]), lattice).values.tolist() == [4.0]
    assert Picks().curve(([NAN], [0.0]), lattice).values.tolist() == [0.0]
    assert Picks().curve(([], []), lattice).values.tolist() == [0.0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Items([1, 2], [1], 3),
        lambda: Items([[1]], [[1]], 3),
        lambda: Items(["a"], [1], 3),
        lambda: Items([1], [1], [3]),
        lambda: WeightedGraph([1], [(0, 1, 2)]),
        lambda: WeightedGraph([1], [(0.5, 1)]),
        lambda: WeightedGraph([1], [(0, 1), (1,)]),
        lambda: Bids([1], [(0,), (1,)]),
        lambda: Bids([1], [("a",)]),
        lambda: Bids([1], [(0,)], goods="many"),
        lambda: Deliveries([[0, 1]], [1], 1),
        lambda: Deliveries.in_the_plane((0, 0, 0), [(1, 1)], [1], 1),
        lambda: made_up.items("heavy"),
        lambda: made_up.graph(vertices=-1),
        lambda: made_up.bids(goods=0),
    ],
)
def test_wrong_structure_is_one_sentence(wrong):
    with pytest.raises(BadInput) as caught:
        wrong()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (made_up.items, made_up.ITEM_KINDS),
        (made_up.graph, made_up.GRAPH_KINDS),
        (made_up.bids, made_up.BID_KINDS),
        (made_up.deliveries, made_up.DELIVERY_KINDS),
    ],
)
def test_made_up_instances(make, kinds):
    for kind in kinds:
        one, same, other = make(kind, seed=1), make(kind, seed=1), make(kind, seed=2)
        assert repr(one) == repr(same) != repr(other)
        tiny = next(family for family, *_ in CASES.values() if family.kind is type(one))
        for count in range(4):
            sizes = {"vertices": count} if make is made_up.graph else {"customers": count}
            sizes = sizes if make in (made_up.graph, made_up.deliveries) else {"count": count}
            assert np.isfinite(tiny.curve(make(kind, seed=1, **sizes), Lattice(0.0, 2.0)).values).all()
