"""Instances from files: common formats are read, missing files are one sentence, and no content is an error."""

import json
import math

import numpy as np
import pytest

from adyton.configuration.greedy import Auction, IndependentSet, Knapsack
from adyton.configuration.problems import Bids, Deliveries, Items, WeightedGraph
from adyton.configuration.reading import MOST_CUSTOMERS, MOST_VERTICES, READERS, read_instances
from adyton.configuration.routing import Routing
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import Lattice

FAMILIES = [Knapsack(), IndependentSet(), Auction(), Routing()]

KNAPSACK = "3 50\n60 10\n100 20\n120 30\n1 0 1\n"
GRAPH = "c a path\np edge 4 3\nn 2 2.5\nn 4 7\ne 1 2\ne 2 3\ne 3 4\n"
AUCTION = "% made by hand\n\ngoods 3\nbids 3\ndummy 1\n\n0\t10.5\t0\t1\t#\n1\t6\t1\t3\t#\n2\t4\t2\t3\t#\n"
ROUNDS = """NAME : tiny
COMMENT : (by hand)
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
 1 0 0
 2 3 4
 3 1 1
 4 0 10
DEMAND_SECTION
1 0
2 4
3 5
4 6
DEPOT_SECTION
 1
 -1
EOF
"""


def test_formats_are_read(tmp_path):
    for name, text in (("k", KNAPSACK), ("g", GRAPH), ("a", AUCTION), ("r", ROUNDS)):
        (tmp_path / name).write_text(text)
    [items] = read_instances(Items, tmp_path / "k")
    assert (items.values.tolist(), items.sizes.tolist(), items.capacity) == ([60, 100, 120], [10, 20, 30], 50)
    [graph] = read_instances(WeightedGraph, str(tmp_path / "g"))
    assert graph.weights.tolist() == [1, 2.5, 1, 7]
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    [bids] = read_instances(Bids, [tmp_path / "a"])
    assert (bids.prices.tolist(), bids.bundles, bids.goods) == ([10.5, 6, 4], ((0, 1), (1, 3), (2, 3)), 3)
    assert Auction().run(bids, 0.5) == 14.5  # the last two are one bidder's
    [rounds] = read_instances(Deliveries, tmp_path / "r")
    assert rounds.distances.tolist() == [[0, 5, 1, 10], [5, 0, 4, 7], [1, 4, 0, 9], [10, 7, 9, 0]]
    assert (rounds.demands.tolist(), rounds.capacity) == ([4, 5, 6], 10)


def test_depot_may_stand_anywhere(tmp_path):
    (tmp_path / "r").write_text(ROUNDS.replace("DEPOT_SECTION\n 1\n", "DEPOT_SECTION\n 3\n"))
    [rounds] = read_instances(Deliveries, tmp_path / "r")
    assert rounds.distances[0].tolist() == [0, 1, 4, 9]
    assert rounds.demands.tolist() == [0, 4, 6]


def test_patterns_and_json_lines(tmp_path):
    for place in range(3):
        (tmp_path / f"{place}.txt").write_text(f"1 9\n{place} 1\n")
    assert [one.values.tolist() for one in read_instances(Items, str(tmp_path / "*.txt"))] == [[0], [1], [2]]
    lines = [
        json.dumps({"values": [1, 2], "sizes": [1, 1], "capacity": 3}),
        json.dumps({"values": [math.nan], "sizes": [1e400], "capacity": -1}),
        json.dumps({"values": [1, 2], "sizes": [1], "capacity": 3}),
        '{"values": 7}',
        "[1, 2]",
        "null",
        "{",
        "",
        "[" * 100_000,
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    assert [one.values.size for one in read_instances(Items, tmp_path / "all.jsonl")] == [2, 1]
    assert len(read_instances(list, tmp_path / "all.jsonl")) == 1
    plane = {"depot": [0, 0], "customers": [[3, 4]], "demands": [1], "capacity": 2}
    table = {"distances": [[0, 5], [5, 0]], "demands": [1], "capacity": 2}
    (tmp_path / "rounds.jsonl").write_text(f"{json.dumps(plane)}\n{json.dumps(table)}\n")
    one, other = read_instances(Deliveries, tmp_path / "rounds.jsonl")
    assert one.distances.tolist() == other.distances.tolist()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_nothing_in_a_file_is_an_error(family, tmp_path):
    """Formats with words lost, doubled, or replaced by others; noise; and files of another family."""
    chance = np.random.default_rng(5)
    texts = [KNAPSACK, GRAPH, AUCTION, ROUNDS, "", "\x00\x01", "p edge\ne\nn\n", "goods\n0\n", "CAPACITY\nCAPACITY :\n"]
    strange = [
        "nan",
        "-1",
        "inf",
        "1e999",
        "9" * 5000,
        "x",
        "²",
        "",
        "#",
        ":",
        "0",
        "-0",
        "3.5",
        "99999999999999999999",
    ]
    for text in texts[:4]:
        words = text.replace("\n", " \n ").split(" ")
        for _ in range(60):
            changed = list(words)
            for place in chance.integers(0, len(words), 3):
                changed[place] = str(chance.choice(strange)) if chance.random() < 0.7 else ""
            texts.append(" ".join(changed))
    lattice = Lattice(*family.interval)
    for text in texts:
        instance = READERS[family.kind](text)
        assert isinstance(instance, family.kind)
        assert np.isfinite(family.curve(instance, lattice).values).all()
    (tmp_path / "noise").write_bytes(chance.bytes(2000))
    assert len(read_instances(family.kind, tmp_path / "noise")) == 1


def test_sizes_are_limited():
    assert READERS[WeightedGraph]("p edge 999999999999 0").weights.size == MOST_VERTICES
    assert READERS[WeightedGraph](f"e 1 {MOST_VERTICES + 1}\ne 1 2").weights.size == 2
    many = "CAPACITY : 5\nNODE_COORD_SECTION\n" + "\n".join(f"{i} {i} 0" for i in range(1, MOST_CUSTOMERS + 50))
    assert READERS[Deliveries](many).demands.size == MOST_CUSTOMERS


@pytest.mark.parametrize(
    ("kind", "files", "told"),
    [
        (Items, "missing.txt", "does not exist"),
        (Items, ".", "is a folder"),
        (Items, "none-*.txt", "no file matches"),
        (list, "here.txt", "there is no text format for list"),
        (Items, "a\0b", "cannot be read"),
    ],
)
def test_files_that_cannot_be_opened(kind, files, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").write_text("1 2\n")
    with pytest.raises(BadInput, match=told) as caught:
        read_instances(kind, files)
    assert "\n" not in str(caught.value)
