"""Max-cut: what a curve says is what a plain run of the algorithm reaches, and the relaxation is solved."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adyton as ad
from adyton.configuration import reading
from adyton.configuration.made_up import cut_graph
from adyton.configuration.max_cut import ROUNDINGS, MaxCut, rank_for, relaxed_cut, unit_vectors
from adyton.configuration.problems import HEAVIEST, CutGraph
from adyton.configuration.reading import cut_graph_in, read_instances
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Lattice


def symmetric(upper):
    upper = np.triu(upper, 1)
    return upper + upper.T


def graphs():
    """Whole and broken weights, signs, ties, copies of vertices, no edges, one vertex, none."""
    chance = np.random.default_rng(16)
    copies = np.kron(symmetric(chance.integers(0, 3, (6, 6))), np.ones((3, 3)))
    return {
        "gnp": symmetric(chance.random((40, 40)) < 0.2).astype(float),
        "spins": symmetric(chance.choice([-1.0, 1.0], (30, 30))),
        "broken": symmetric(chance.normal(size=(30, 30))),
        "tiny": symmetric(chance.normal(size=(9, 9))) * 1e-170,
        "copies": copies,
        "complete": symmetric(np.ones((12, 12))),
        "star": symmetric(np.outer(np.arange(10) == 0, np.ones(10))),
        "empty-edges": np.zeros((7, 7)),
        "one": np.zeros((1, 1)),
        "none": np.zeros((0, 0)),
    }


GRAPHS = graphs()


def plainly(family, instance, parameters):
    """Independently: the side of every vertex straight from its definition, the cut by adding up edges."""
    heights, own = family.drawn(instance)
    edges = [(i, j) for i in range(instance.vertices) for j in range(i)]
    ends, weights = np.array(edges, dtype=int).reshape(-1, 2), np.array([instance.weights[edge] for edge in edges])
    found = np.zeros(len(parameters))
    for height, private in zip(heights, own, strict=True):
        for place, parameter in enumerate(parameters):
            if family.rounding == "rotation":
                angle = min(parameter, math.pi / 2)  # beyond, nothing changes
                signs = np.where(math.cos(angle) * height + math.sin(angle) * private > 0, 1.0, -1.0)
            else:
                signs = np.clip(height / parameter, -1, 1)
                if family.rounding == "threshold":
                    signs = np.where(private <= signs, 1.0, -1.0)
            found[place] += weights @ (1 - signs[ends[:, 0]] * signs[ends[:, 1]]) / 2
    return found / len(heights)


def evaluated(curve, lattice, places):
    if hasattr(curve, "values"):
        return curve.at(places)
    points = lattice.point(places)
    constant, inverse, square = curve.coefficients[np.searchsorted(curve.starts, places, "right") - 1].T
    return constant + inverse / points + square / points**2


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_curve_is_the_algorithm_at_every_parameter(rounding):
    chance = np.random.default_rng(1)
    for number, weights in enumerate(GRAPHS.values()):
        family, instance = MaxCut(rounding, hyperplanes=1 + 2 * (number % 2)), CutGraph(weights)
        lattice = Lattice(0.0, 3.0) if number % 3 else Lattice(*family.interval)
        places = chance.integers(0, POINTS, 300 if number else 1000)
        found = evaluated(family.curve(instance, lattice), lattice, places)
        plain = plainly(family, instance, lattice.point(places))
        assert found == pytest.approx(plain, rel=1e-9, abs=1e-12 * np.abs(weights).sum())


@pytest.mark.parametrize("rounding", ["rotation", "threshold"])
@pytest.mark.parametrize("name", ["broken", "spins", "copies"])
def test_a_run_is_the_curve_bit_for_bit(rounding, name):
    family, instance = MaxCut(rounding, hyperplanes=3), CutGraph(GRAPHS[name])
    lattice = Lattice(*family.interval)
    curve = family.curve(instance, lattice)
    edges = np.concatenate([curve.starts, curve.starts[1:] - 1, [POINTS - 1]])
    places = np.concatenate([edges, np.random.default_rng(2).integers(0, POINTS, 100)])
    assert curve.starts.size >= 10
    assert (np.diff(curve.starts) > 0).all()
    assert curve.starts[0] == 0
    for place, value in zip(places.tolist(), curve.at(places).tolist(), strict=True):
        assert family.run(instance, lattice.point(place)) == value


def test_the_expected_cut_is_the_mean_over_coins():
    instance = CutGraph(GRAPHS["spins"])
    family, chance = MaxCut("expected"), np.random.default_rng(4)
    (heights,), _ = family.drawn(instance)
    first = chance.uniform(-1, 1, (40_000, instance.vertices)) <= np.clip(heights / 0.7, -1, 1)
    signs = 2.0 * first - 1
    cuts = (instance.weights.sum() - ((signs @ instance.weights) * signs).sum(axis=1)) / 4
    five_and_a_half = 5.5 * cuts.std() / math.sqrt(len(cuts))  # false alarm in 1 of 2·10⁷
    assert abs(family.run(instance, 0.7) - cuts.mean()) < five_and_a_half


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_at_0_it_is_the_hyperplane(rounding):
    family, instance = MaxCut(rounding), CutGraph(GRAPHS["broken"])
    (heights,), _ = family.drawn(instance)
    apart = (heights > 0)[:, None] != (heights > 0)
    assert family.run(instance, family.default) == pytest.approx(instance.weights[apart].sum() / 2)


def by_scs(weights):
    """The largest Σ w(1 − X_ij)/2 over positive semidefinite X with a diagonal of ones."""
    scs, sparse = pytest.importorskip("scs"), pytest.importorskip("scipy.sparse")
    size = len(weights)
    columns, rows = np.triu_indices(size)  # the lower triangle, column by column
    cost = weights[rows, columns] / 4 * np.where(rows == columns, 1.0, math.sqrt(2))
    diagonal = np.flatnonzero(rows == columns)
    ones = sparse.csc_matrix((np.ones(size), (rows[diagonal], diagonal)), shape=(size, len(rows)))
    data = {
        "A": sparse.vstack([ones, -sparse.eye(len(rows))]).tocsc(),
        "b": np.concatenate([np.ones(size), np.zeros(len(rows))]),
        "c": cost,
    }
    found = scs.SCS(data, {"z": size, "s": [size]}, eps_abs=1e-8, eps_rel=1e-8, verbose=False).solve()
    return weights.sum() / 4 - found["info"]["pobj"]


@pytest.mark.parametrize("name", ["gnp", "spins", "broken", "copies", "complete", "star"])
def test_the_relaxation_is_solved(name):
    weights = GRAPHS[name]
    start = CutGraph(weights).chance().standard_normal((len(weights), rank_for(len(weights))))
    vectors = unit_vectors(weights, start)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert relaxed_cut(weights, vectors) == pytest.approx(by_scs(weights), abs=1e-5 * np.abs(weights).sum() / 2)


def test_vectors_are_certified_without_another_solver():
    """Weak duality: for any y, Σy/4 plus what its slack lacks bounds every relaxed cut from above."""
    for name in ("gnp", "spins", "broken", "tiny", "copies"):
        weights = GRAPHS[name]
        start = CutGraph(weights).chance().standard_normal((len(weights), rank_for(len(weights))))
        vectors, weights = unit_vectors(weights, start), weights / np.abs(weights).max()
        prices = np.linalg.norm(weights @ vectors, axis=1)
        lacking = min(0.0, np.linalg.eigvalsh(weights + np.diag(prices))[0])
        bound = (weights.sum() + prices.sum() - len(weights) * lacking) / 4
        total = np.abs(weights).sum()
        assert relaxed_cut(weights, vectors) / total == pytest.approx(bound / total, abs=2e-4)


def test_scale_changes_nothing_but_the_value():
    family, weights = MaxCut(), GRAPHS["spins"]
    start = np.random.default_rng(0).standard_normal((30, 8))
    assert np.array_equal(unit_vectors(weights, start), unit_vectors(weights * 2.0**300, start))
    assert math.isfinite(family.run(CutGraph(weights * 1e308), 0.4))


def test_order_and_threads_change_nothing():
    family, lattice = MaxCut(hyperplanes=2), Lattice(*MaxCut.interval)
    instances = [CutGraph(weights) for weights in GRAPHS.values()]
    alone = [family.curve(one, lattice) for one in instances]
    with ThreadPoolExecutor(2) as pool:
        mixed = list(pool.map(lambda one: family.curve(CutGraph(one.weights), lattice), reversed(instances)))
    for one, other in zip(alone, reversed(mixed), strict=True):
        assert np.array_equal(one.starts, other.starts)
        assert np.array_equal(one.values, other.values)


def test_chance_follows_content():
    weights = GRAPHS["gnp"]
    changed = weights.copy()
    changed[0, 1] = changed[1, 0] = 1 - changed[0, 1]
    first, again, other = (CutGraph(one).chance().random() for one in (weights, weights.astype(int), changed))
    assert first == again != other
    assert CutGraph(np.zeros((2, 2))).chance().random() == CutGraph(-np.zeros((2, 2))).chance().random()
    assert CutGraph(np.zeros((2, 2))).chance().random() != CutGraph(np.zeros((3, 3))).chance().random()


def test_what_makes_no_sense_is_no_error():
    given = np.array([[5.0, np.nan, 2.0], [np.inf, 1.0, 4.0], [4.0, -np.inf, np.nan]])
    assert CutGraph(given).weights.tolist() == [[0, 0, 3], [0, 0, 2], [3, 2, 0]]
    assert CutGraph([[0, 1e300], [1e300, 0]]).weights.max() == HEAVIEST
    for rounding in ROUNDINGS:
        curve = MaxCut(rounding).curve(CutGraph(np.full((4, 4), np.nan)), Lattice(0.0, 1.0))
        assert not evaluated(curve, Lattice(0.0, 1.0), np.array([0, 5, POINTS - 1])).any()


def test_what_is_refused():
    for wrong in ([[1.0, 2.0]], [1.0], "graph", [["a"]]):
        with pytest.raises(BadInput, match="weights of a graph"):
            CutGraph(wrong)
    with pytest.raises(BadInput, match="two of the vertices 0 to 2"):
        CutGraph.of_edges(3, [(0, 3, 1.0)])
    with pytest.raises(BadInput, match="there is no rounding 'rotate'"):
        MaxCut("rotate")
    with pytest.raises(BadInput, match="hyperplanes"):
        MaxCut(hyperplanes=0)
    with pytest.raises(BadInput, match="never negative"):
        MaxCut("expected").curve(CutGraph(np.zeros((2, 2))), Lattice(-1.0, 1.0))


def test_files_of_rudy(tmp_path):
    (tmp_path / "g.txt").write_text("3 3\n1 2 2\n2 3 -1.5\n\n1 2\n")
    [graph] = read_instances(CutGraph, tmp_path / "g.txt")
    assert graph.weights.tolist() == [[0, 3, 0], [3, 0, -1.5], [0, -1.5, 0]]


@pytest.mark.parametrize("text", ["", "x", "-3 4", "3", "3 1\n1 9 7\n", "3 1\n1 x 7\n2\n1 2 nan\n1 2 inf\n1 1 5"])
def test_nothing_in_a_file_is_an_error(text):
    graph = cut_graph_in(text)
    assert graph.vertices in {0, 3}
    assert not graph.weights.any()


def test_files_are_limited(monkeypatch):
    monkeypatch.setattr(reading, "MOST_CUT_VERTICES", 4)
    graph = cut_graph_in("999999999 2\n1 2 3\n4 5 6")
    assert (graph.vertices, graph.weights.sum()) == (4, 6)


def test_made_up_graphs():
    assert np.array_equal(cut_graph("gnp", seed=3).weights, cut_graph("gnp", seed=3).weights)
    assert not np.array_equal(cut_graph("gnp", seed=3).weights, cut_graph("gnp", seed=4).weights)
    with pytest.raises(BadInput, match="there is no kind of graph 'gpn'"):
        cut_graph("gpn")
    for family in map(MaxCut, ROUNDINGS):
        assert {one.vertices for one in family.examples()} == {0, 12}


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_rounding_can_be_tuned(rounding):
    """With hardly any noise the best parameter is found, on the interval that begins at 0."""
    family, instances = MaxCut(rounding, hyperplanes=2), [cut_graph("spins", 16, seed=seed) for seed in range(8)]
    found = ad.configure(family, instances, 1000, clip=1, public=True, seed=3)
    lattice = Lattice(*family.interval)
    everywhere = lattice.point(np.linspace(0, POINTS - 1, 200).astype(np.int64))
    curves = [family.curve(one, lattice) for one in instances]
    best = np.array([max(evaluated(one, lattice, np.arange(0, POINTS, POINTS // 5000))) for one in curves])

    def regret(parameter):
        return np.mean(1 - np.array([family.run(one, parameter) for one in instances]) / best)

    assert regret(found.parameter) <= min(map(regret, everywhere[::10])) + 5e-3
