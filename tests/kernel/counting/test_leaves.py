"""Trees of rows, and counting by their leaves: in the engine and with NumPy, row by row, with dirty values."""

import itertools
import pickle
from fractions import Fraction as F

import numpy as np
import pyarrow
import pytest

import adyton as ad
from adyton.errors import AdytonError, BadInput, SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting import table as local_table
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import SplitChoice
from adyton.queries import Identity
from adyton.schema import Boolean, Categorical, Integer, Numeric, RowTree, Schema

SCHEMA = Schema(
    {
        "a": Integer(0, 2),
        "b": Categorical(["x", "y", "z"], nulls="level"),
        "c": Boolean(outside="other"),
        "d": Numeric(0, 1, bins=4),
        "y": Categorical([0, 1]),
    }
)
VALUES = {
    "a": {0: 0, 1: 1, 2: 2, 3: -1, -1: -1, None: -1},
    "b": {"x": 0, "y": 1, "z": 2, "w": -1, None: 3, " y ": 1},
    "c": {"true": 1, "0": 0, "huh": 2, None: -1},
    "d": {0.1: 0, 0.3: 1, 1.0: 3, 1.5: -1, float("nan"): -1, None: -1},
    "y": {0: 0, 1: 1, 2: -1, None: -1},
}
"""Values, and the cell of each; −1 where the schema drops it."""


def rows_of(count, seed):
    rng = np.random.default_rng(seed)
    picks = {name: rng.integers(0, len(values), count) for name, values in VALUES.items()}
    values = {name: [list(VALUES[name])[pick] for pick in picks[name]] for name in VALUES}
    return values, np.column_stack([np.array(list(VALUES[name].values()))[picks[name]] for name in VALUES])


def trees():
    tree = RowTree.stump(SCHEMA)
    yield tree
    for splits in ({0: "b"}, {1: "a", 3: "c"}, {5: "d", 2: "d", 6: "c"}, {16: "c", 4: "a"}):
        tree = tree.grow(splits, SCHEMA)
        yield tree


@pytest.fixture(scope="module")
def dirty():
    values, codes = rows_of(3000, 7)
    return open_table(pyarrow.table(values), SCHEMA), codes


@pytest.mark.parametrize("tree", list(trees()), ids=lambda tree: f"depth {tree.depth}")
def test_the_engine_counts_as_codes_do(dirty, tree):
    table, codes = dirty
    coded = CodedTable.checked(codes, SCHEMA)
    for names in ((), ("y",), ("d", "y")):
        assert np.array_equal(table.in_leaves(tree, names), coded.in_leaves(tree, names))
    found = table.split_tables(tree, ["c", "a", "d"], "y")
    for one, other in zip(found, coded.split_tables(tree, ["c", "a", "d"], "y"), strict=True):
        assert np.array_equal(one, other)


def test_counts_by_hand(dirty):
    """Written again, row by row: only attributes on a row's own path, and those asked for, can drop it."""
    table, codes = dirty
    tree = list(trees())[-1]
    counts = np.zeros((len(tree.leaves), 2), dtype=int)
    for row in codes:
        node = 0
        while tree.split[node] >= 0 and row[tree.split[node]] >= 0:
            node = tree.first[node] + row[tree.split[node]]
        if tree.split[node] < 0 and row[4] >= 0:
            counts[np.flatnonzero(tree.leaves == node)[0], row[4]] += 1
    assert np.array_equal(table.in_leaves(tree, ("y",)), counts)


def test_many_leaves_need_wider_keys():
    schema = Schema({"a": Integer(0, 299), "b": Integer(0, 299), "y": Boolean()})
    codes = np.random.default_rng(1).integers(0, (300, 300, 2), (2000, 3))
    table = open_table(
        pyarrow.table(dict(zip("aby", (codes[:, 0], codes[:, 1], codes[:, 2] == 1), strict=True))), schema
    )
    tree = RowTree.stump(["a", "b"]).grow({0: "a"}, schema)
    expected = CodedTable.checked(codes, schema).split_tables(tree, ["b"], "y")[0]
    assert np.array_equal(table.split_tables(tree, ["b"], "y")[0], expected)


def test_one_row_is_in_one_cell_at_most():
    """Over every combination of values, the dirty ones too, in one pass: each row has a number."""
    grid = list(itertools.product(*(list(values) for values in VALUES.values())))
    values = {name: [row[place] for row in grid] for place, name in enumerate(VALUES)}
    schema = Schema({**SCHEMA.attributes, "row": Integer(0, len(grid) - 1)})
    table = open_table(pyarrow.table({**values, "row": np.arange(len(grid))}), schema)
    for tree in list(trees())[2:4]:
        for names in (("row",), ("row", "y")):
            counts = table.in_leaves(tree, names)
            per_row = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis != 1))
            assert set(per_row.tolist()) == {0, 1}
        wide = table.split_tables(tree, ["row"], "y")[0]
        assert wide.sum(axis=(0, 2)).max() == 1


def test_places_depend_on_the_path_alone():
    *_, tree = trees()
    other = RowTree.stump(["d", "c", "b", "a", "z"]).grow({0: "b"}, SCHEMA).grow({2: "d", 1: "c"}, SCHEMA)
    here, there = (dict(zip(one.places.tolist(), map(one.path, one.leaves), strict=True)) for one in (tree, other))
    assert len(here) == len(tree.leaves)
    common = here.keys() & there.keys()
    assert common
    assert all(here[place] == there[place] for place in common)
    assert {here[place] for place in common} == set(here.values()) & set(there.values())


def test_what_a_tree_knows():
    *_, tree = trees()
    for leaf, free in zip(tree.leaves, tree.free(), strict=True):
        used = tree.used(leaf)
        assert {name for name, one in zip(tree.attributes, free, strict=True) if not one} == set(used)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert len({tree, RowTree(tree.attributes, tree.split, tree.first)}) == 1
    assert tree.node_of(np.array([[0, -1, 0, 0, 0], [-1, 0, 0, 0, 0]])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("split", "first"),
    [
        ([0], [1]), ([0, -1], [0, -1]), ([0, -1], [1, 1]), ([0, -1, -1], [2, -1, -1]), ([5, -1], [1, -1]),
        ([-2], [-1]), ([], []), ([-1, -1], [-1, -1]), ([0, 1, -1], [1, 1, -1]), ([0, 0, -1], [1, 2, -1]),
        ([-1, 0, -1], [-1, 2, -1]), ([0, -1, 1, -1], [3, -1, 1, -1]), ([0.5], [-1]),
    ],
)  # fmt: skip
def test_no_tree(split, first):
    with pytest.raises(BadInput):
        RowTree(("a", "b"), np.array(split), np.array(first))


@pytest.mark.parametrize(
    "ask",
    [
        lambda tree: tree.grow({0: "a"}, SCHEMA),
        lambda tree: tree.grow({1: "q"}, SCHEMA),
        lambda tree: tree.grow({99: "a"}, SCHEMA),
        lambda tree: tree.grow({1: "b"}, SCHEMA),
        lambda tree: tree.grow({1: "a"}, {"b": 3}),
        lambda tree: tree.node_of(np.zeros((2, 3), dtype=int)),
        lambda tree: RowTree.stump(["a", "a"]),
        lambda tree: RowTree.stump([]),
    ],
)
def test_bad_questions_to_a_tree(ask):
    with pytest.raises(BadInput):
        ask(list(trees())[1])


def simulated(**options):
    return Kernel.simulated_table(rows_of(200, 3)[1], SCHEMA, epsilon=1, **options)


WIDE = Schema({"a": Integer(0, 4), "b": Integer(0, 9)})
TREE = RowTree.stump(SCHEMA).grow({0: "b"}, SCHEMA)


@pytest.mark.parametrize(
    "ask",
    [
        lambda root: root.leaves(RowTree.stump(["q"]).grow({0: "q"}, {"q": 2})),
        lambda root: root.leaves(RowTree.stump(WIDE).grow({0: "a"}, WIDE)),
        lambda root: root.leaves(TREE, "q"),
        lambda root: root.leaves(TREE, "y", "y"),
        lambda root: root.leaves("tree"),
        lambda root: root.where("a > 1"),
        lambda root: root.group_by("a", max_count=2),
        lambda root: root.misfits(["a"]),
        lambda root: root.choose_splits(SplitChoice(TREE, np.ones((4, 5), dtype=bool), "y"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, np.zeros((4, 5), dtype=bool), "y"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, [[1, 1]], "y"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, 2 * TREE.free(), "y"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, TREE.free() & [1, 1, 1, 1, 0], "q"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, TREE.free() & [1, 1, 1, 1, 0], "y", "variance"), 1),
        lambda root: root.choose_splits(SplitChoice(TREE, TREE.free() & [1, 1, 1, 1, 0], "y", "entropy"), 1),
    ],
)
def test_bad_requests_spend_nothing(ask):
    kernel = simulated(seed=1)
    with pytest.raises(AdytonError) as refused:
        ask(kernel.root)
    assert isinstance(refused.value, BadInput | SchemaError)
    assert kernel.spent == 0


def test_too_many_cells_are_refused_before_the_debit():
    schema = Schema({"a": Integer(0, 9999), "b": Integer(0, 9999), "y": Boolean()})
    kernel = Kernel.simulated_table(np.zeros((3, 3), dtype=int), schema, epsilon=1, seed=0)
    tree = RowTree.stump(["a", "b"]).grow({0: "a"}, schema)
    with pytest.raises(BadInput, match="134,217,728 cells"):
        kernel.root.leaves(tree, "b", "y")
    with pytest.raises(BadInput, match="134,217,728 cells"):
        kernel.root.choose_splits(SplitChoice(tree, tree.free(), "y"), 1)
    assert kernel.spent == 0


@pytest.mark.parametrize("codes", [[[0, 0]], [[0, 0, 0, 0, 2]], [[-2, 0, 0, 0, 0]], [[0.5] * 5], [0] * 5, "rows"])
def test_bad_codes(codes):
    with pytest.raises(BadInput):
        Kernel.simulated_table(codes, SCHEMA, epsilon=1, seed=0)


def test_public_rows_are_never_measured_with_private_noise():
    with pytest.raises(BadInput, match="simulated noise"):
        simulated(noise=ad.noise.ExactNoise())
    assert not simulated(seed=1).private


def test_a_simulated_table_answers_as_a_table():
    values, codes = rows_of(500, 5)
    private = ad.Kernel(pyarrow.table(values), schema=SCHEMA, epsilon=10_000 // 10)
    public = Kernel.simulated_table(codes, SCHEMA, epsilon=1000, seed=3)
    for ask in (
        lambda root: root.count(60).answers,
        lambda root: root.select("a", "y").vectorize().measure(Identity((3, 2)), 60).answers,
        lambda root: root.split("b")[3].leaves(TREE, "y").measure(Identity((4, 2)), 60).answers,
        lambda root: root.split("a")[1].select("c").vectorize().measure(Identity(3), 60).answers,
        lambda root: root.choose_splits(SplitChoice(TREE, TREE.free() & [1, 1, 1, 1, 0], "y"), 60),
    ):
        assert np.array_equal(ask(private.root), ask(public.root))
        assert private.spent == public.spent
    assert public.spent == F(300)


def test_zero_rows():
    empty = ad.Kernel(
        pyarrow.table({name: pyarrow.array([], pyarrow.int64()) for name in WIDE.names}), schema=WIDE, epsilon=200
    )
    tree = RowTree.stump(["a"]).grow({0: "a"}, WIDE)
    assert not empty.root.leaves(tree, "b").measure(Identity((5, 10)), 60).answers.any()
    stump = RowTree.stump(["a"])
    assert empty.root.choose_splits(SplitChoice(stump, stump.free(), "b", "gini"), 60) == (0,)


def test_many_tables_in_one_pass_are_those_of_single_ones(dirty, monkeypatch):
    table, codes = dirty
    groups = [*itertools.combinations(SCHEMA.names, 2), ("y", "a"), ("c",), SCHEMA.names]
    expected = [table.select(list(names)).vectorize() for names in groups]
    passes, honest = [], PrivateTable._run
    monkeypatch.setattr(PrivateTable, "_run", lambda *asked: (passes.append(asked), honest(*asked))[1])
    for one, other in zip(table.tables(groups), expected, strict=True):
        assert np.array_equal(one, other)
    assert len(passes) == 1
    monkeypatch.setattr(local_table, "_FEW_PACKS", 0)
    for one, other in zip(table.tables(groups), expected, strict=True):
        assert np.array_equal(one, other)
    for one, other in zip(CodedTable.checked(codes, SCHEMA).tables(groups), expected, strict=True):
        assert np.array_equal(one, other)


def test_tables_share_rows_so_that_costs_add_up():
    rows = pyarrow.table({"a": [0, 1, 1], "y": [0, 1, 1]})
    kernel = Kernel(rows, schema=Schema({"a": Integer(0, 2), "y": Integer(0, 1)}), epsilon=3)
    pair, single = kernel.root.tables([("y", "a"), ["a"]]).vectors()
    assert (pair.shape, single.shape) == ((2, 3), (3,))
    assert pair.lineage[-1] == "table(y, a)"
    for vector in (pair, single):
        vector.measure(Identity(vector.shape), 1)
    assert kernel.remaining == 1
    for wrong, said in (([], "none"), ([("z",)], "z"), ([()], "attribute")):
        with pytest.raises(AdytonError, match=said):
            kernel.root.tables(wrong)
    assert kernel.remaining == 1
