"""Many tables with merged cells: exact sums, what is public, the loss of all that measures them, and bad requests."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pyarrow
import pytest

from adyton.errors import BadInput
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.counts import CountedTables
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice, ParentChoice
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import TablesShape
from adyton.kernel.transforms import MergeCells, SingleTables
from adyton.noise import KeyedNoise
from adyton.queries import Identity, Partition
from adyton.queries.base import Size
from adyton.schema import Integer, Schema
from adyton_lab.audit.enumeration import audit_selection_exactly

SCHEMA = Schema({"a": Integer(0, 6), "b": Integer(0, 1), "c": Integer(0, 4)})
GROUPS = (("a", "b"), ("c",), ("a", "b", "c"), ("c", "a"), ("a",))
CODES = np.random.default_rng(1).integers(0, (7, 2, 5), (400, 3))


def tables_of(epsilon=1000, codes=CODES, **options):
    return Kernel.simulated_table(codes, SCHEMA, epsilon=epsilon, **(options or {"seed": 1})).root.tables(GROUPS)


def true_counts(tables):
    """By measurements with hardly any noise."""
    return tables.measure(MeasureTables.weighted(range(len(tables.groups))), 50 * len(tables.groups)).tables()


def random_map(rng, cells):
    return None if rng.random() < 0.2 else np.unique(rng.integers(0, cells, cells), return_inverse=True)[1]


def summed(table, maps):
    """By NumPy, one cell after the other."""
    maps = [np.arange(size) if cells is None else cells for cells, size in zip(maps, table.shape, strict=True)]
    sums = np.zeros([max(cells) + 1 for cells in maps], dtype=int)
    np.add.at(sums, np.ix_(*maps), table)
    return sums


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_those_of_any_maps_also_twice(seed):
    rng = np.random.default_rng(seed)
    tables = tables_of()
    true = true_counts(tables)
    for _ in range(2):
        order = rng.permutation(len(tables.groups))[: 5 - seed % 3]
        groups = [tables.groups[place] for place in order]
        maps = [[random_map(rng, size) for size in tables.shapes[place]] for place in order]
        tables = tables.merged(list(zip(groups, maps, strict=True)))
        true = {group: summed(true[group], cells) for group, cells in zip(groups, maps, strict=True)}
        assert tables.groups == tuple(groups)
        assert tables.shapes == tuple(table.shape for table in true.values())
        found = true_counts(tables)
        assert all(np.array_equal(found[group], table) for group, table in true.items())


def test_rows_are_read_once(monkeypatch):
    passes, honest = [], PrivateTable._run
    monkeypatch.setattr(PrivateTable, "_run", lambda *asked: (passes.append(1), honest(*asked))[1])
    rows = pyarrow.table({name: CODES[:, place] for place, name in enumerate(SCHEMA.names)})
    kernel = Kernel(rows, schema=SCHEMA, epsilon=1000)
    tables = kernel.root.tables(GROUPS)
    halves, whole = tables.merged({("a",): ([0, 0, 0, 1, 1, 1, 1],)}), tables.merged({("a",): ([0] * 7,)})
    assert passes == []
    counts = np.bincount(CODES[:, 0])
    assert true_counts(halves)["a",].tolist() == [counts[:3].sum(), counts[3:].sum()]
    assert true_counts(whole)["a",].tolist() == [400]
    assert true_counts(tables)["a",].tolist() == counts.tolist()
    assert passes == [1]
    assert kernel.spent == 50 * 7


def test_what_is_public():
    merged = tables_of().merged([(("c", "a"), (None, [1, 0, 1, 0, 2, 2, 2])), (("a",), (None,))])
    assert (merged.groups, merged.shapes, merged.cells, merged.place("a")) == (
        (("c", "a"), ("a",)),
        ((5, 3), (7,)),
        22,
        1,
    )
    assert set(merged.schema.names) == {"a", "c"}
    assert (merged.lineage[-1], merged.stability) == ("merge(c × a, a)", 1)
    shape = merged.facts.shape
    assert (shape.merged, shape.pending) == (
        ((None, 3), (None,)),
        Size(4 * 42, 64 * 42),
    )  # of the cells that are merged
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert hash(replace(shape)) == hash(shape)
    assert shape != replace(shape, merged=())
    again = merged.merged({("a",): (range(7),), ("c", "a"): ([0, 0, 0, 0, 1], None)})
    assert (again.shapes, again.facts.shape.merged) == (((7,), (2, 3)), ((7,), (2, 3)))
    assert merged.merged({("a",): [None]}).facts.shape.merged == ()


def test_a_vector_has_a_schema_only_if_its_cells_are_those_of_the_schema():
    merged = tables_of().merged([(("c", "a"), (None, [0, 0, 0, 1, 1, 1, 1])), (("c",), (None,)), (("a",), (range(7),))])
    assert merged.lineage[-1] == "merge(c × a, c, a)"
    pair, plain, renamed = merged.vectors()
    assert [vector.shape for vector in (pair, plain, renamed)] == [(5, 2), (5,), (7,)]
    assert (pair.schema, plain.schema, renamed.schema) == (None, SCHEMA.select("c"), None)
    true = np.zeros((5, 7), dtype=int)
    np.add.at(true, (CODES[:, 2], CODES[:, 0]), 1)
    sums = np.column_stack([true[:, :3].sum(axis=1), true[:, 3:].sum(axis=1)])
    assert pair.measure(Identity(pair.shape), 50).answers.tolist() == sums.reshape(-1).tolist()


def test_sums_are_exact_in_64_bits_and_beyond_32():
    """Counts are kept in 32 bits where they fit."""
    for cells in ([2**31 - 1] * 3, [2**62, 5, 2**62 - 6], [2**63 - 1, 0, 0]):
        data = CountedTables(lambda cells=cells: [np.array(cells)], [("a",)], [(3,)])
        merged = data.merged([0], [[Partition([1, 0, 1])]], [(2,)])
        assert merged.table(0).tolist() == [cells[1], cells[0] + cells[2]]
        assert data.merged([0], [[Partition([0, 0, 0])]], [(1,)]).table(0).tolist() == [sum(cells)]


WRONG = [
    ([], "given none"),
    (5, "pairs of their attributes and maps, given 5"),
    ([("c",)], "pairs of their attributes and maps"),
    ([(("c",), 5)], "pairs of their attributes and maps, given 5"),
    ([(("b", "a"), (None, None))], "no table of 'b', 'a'"),
    ([(("z",), (None,))], "no table of 'z'"),
    ([(("c",), (None,)), (("c",), ([0] * 5,))], "table 1 is named twice"),
    ([(("c",), ())], r"need \[1\] maps.*given \[0\]"),
    ([(("c", "a"), (None,)), (("c",), (None, None))], r"need \[2, 1\] maps.*given \[1, 2\]"),
    ([(("c",), ([0, 1, 2, 3],))], "'c' has 4 cells, but there are 5"),
    ([(("c", "a"), ([0] * 5, [0] * 5))], "'a' in the table of 'c', 'a' has 5 cells, but there are 7"),
    ([(("c",), ([],))], "without gaps"),
    ([(("c",), ([0, 2, 0, 2, 0],))], r"without gaps, given \[0, 2\]"),
    ([(("c",), ([1, 1, 1, 1, 1],))], "without gaps"),
    ([(("c",), ([0, 0, 0, 0, 2**70],))], "without gaps"),
    ([(("c",), ([0, 0, 0, 0, -1],))], "at least 0, given -1"),
    ([(("c",), ([0, 0, 0, 0, True],))], "whole number of at least 0, given True"),
    ([(("c",), (np.array([0, 1, 0, 1, 0], dtype=bool),))], "whole number of at least 0"),
    ([(("c",), ([0, 1.0, 0, 0, 0],))], "whole number of at least 0, given 1.0"),
    ([(("c",), (np.array([0, 1, 0, 1, np.nan]),))], "whole number of at least 0"),
    ([(("c",), (np.zeros((5, 1), dtype=int),))], "whole number of at least 0"),
    ([(("c",), ("00000",))], "whole number of at least 0"),
    ([(("c",), (0,))], "a map is a list"),
]


@pytest.mark.parametrize(("tables", "words"), WRONG)
def test_bad_maps_spend_nothing(tables, words):
    source = tables_of()
    with pytest.raises(BadInput, match=words) as refused:
        source.merged(tables)
    assert len(str(refused.value)) < 300
    assert source.kernel.budget.spent == 0


HOSTILE = [
    MergeCells((("c",),), ((Partition([0, 1, -1, 0, 1]),),)),
    MergeCells((("c",),), ((Partition([0, 2, 2, 0, 2]),),)),
    MergeCells((("c",),), ((Partition([0, 0, 0, 0, 0], 2),),)),
    MergeCells((("c",),), ((Partition([0, 1]),),)),
    MergeCells((("c",),), ()),
    MergeCells((("c",),), ((None,), (None,))),
    MergeCells((), ()),
    MergeCells((), ((None,),)),
    MergeCells((("c",), ("c",)), ((None,), (None,))),
    MergeCells((("c",),), (([0, 0, 0, 0, 0],),)),
    MergeCells((("c",),), ((Identity(5),),)),
    MergeCells((["c"],), ((None,),)),
]


@pytest.mark.parametrize("operator", HOSTILE)
def test_operators_that_were_not_made_by_the_source_are_checked(operator):
    source = tables_of()
    with pytest.raises(BadInput):
        source.kernel.transform(source, operator)
    assert source.kernel.budget.spent == 0


def test_mechanisms_refuse_what_fits_only_the_tables_before():
    tables = tables_of()
    merged = tables.merged({("c", "a"): ([0, 1, 1, 1, 0], None), ("c",): ([0, 0, 0, 0, 1],)})
    wrong = [
        MeasureTables.weighted((0, 2)),
        PairChoice.of({0: np.ones((5, 7))}, 1, 1),
        MeanDistance.of({1: np.ones(5)}),
    ]
    for mechanism in (*wrong, ParentChoice((0, 1), "b")):
        with pytest.raises(BadInput):
            tables.kernel.measure(merged, mechanism, 1)
    with pytest.raises(BadInput, match="works on many tables"):
        tables.kernel.transform(tables.kernel.root, MergeCells((("c",),), ((None,),)))
    assert tables.kernel.budget.spent == 0


def test_many_large_merges_in_a_row_are_refused_before_anything_is_spent():
    shape = TablesShape(Schema({"a": Integer(0, 2**25 - 1)}), (("a",),))
    everything = MeasureTables.weighted((0,))
    check_request(everything, shape, F(1))
    for _ in range(4):
        (shape,) = MergeCells((("a",),), ((None,),)).plan(shape).shapes
    (vector,) = SingleTables().plan(shape).shapes
    assert vector.pending == shape.pending
    with pytest.raises(BadInput, match="steps of arithmetic"):
        check_request(everything, shape, F(1))


def test_a_replay_sees_the_same_noise_in_a_table_measured_with_others():
    def noise_of(groups, seed=4):
        tables = tables_of(100, np.zeros((0, 3), dtype=int), noise=KeyedNoise(seed))
        maps = {("c", "a"): ([0, 1, 1, 1, 0], None), ("c",): ([0, 0, 0, 0, 1],)}
        merged, shares = tables.merged(maps), (F(1, 9),) * len(groups)
        return merged.measure(MeasureTables(groups, shares), 1).tables()["c",].tolist()

    assert noise_of((0, 1)) == noise_of((1,))
    assert noise_of((1,)) != noise_of((1,), seed=5)


# ---- the exact loss on small tables

SMALL = Schema({"a": Integer(0, 2), "b": Integer(0, 2), "c": Integer(0, 1)})
PAIRS = tuple(itertools.combinations("abc", 2))
MAPS = {
    "of any cells": ([0, 1, 0], [1, 1, 0], None),
    "of all cells": ([0, 1, 1], None, [0, 0]),
    "in another order": ([2, 0, 1], None, [1, 0]),
}


@pytest.fixture(params=MAPS.values(), ids=MAPS)
def merged(request):
    """What is public about merged pairs of three attributes, and their counts from those of all cells."""
    maps = dict(zip("abc", (cells if cells is None else Partition(cells) for cells in request.param), strict=True))
    plan = MergeCells(PAIRS, tuple(tuple(maps[name] for name in pair) for pair in PAIRS)).plan(
        TablesShape(SMALL, PAIRS)
    )
    prepare = counting(SMALL, PAIRS)
    return plan.shapes[0], lambda counts: plan.derive(prepare(counts))[0]


def neighbours():
    """Small tables, and the same with one row more in any cell."""
    rng = np.random.default_rng(3)
    for left in (np.zeros(SMALL.shape, dtype=int), rng.poisson(0.4, SMALL.shape), rng.poisson(3, SMALL.shape)):
        for cell in np.ndindex(*SMALL.shape):
            right = left.copy()
            right[cell] += 1
            yield left, right


def test_noisy_tables_and_distances_lose_at_most_epsilon(merged):
    """The loss of Laplace noise is what a row moves, divided by the scale."""
    shape, prepare = merged
    epsilon, shares = F(3, 7), MeasureTables.weighted((2, 0, 1), (1, 2, 3))
    rng = np.random.default_rng(5)
    mean = MeanDistance.of({place: rng.gamma(0.5, 3, shape.shapes[place]) for place in range(3)})
    lost, moved = [], []
    for left, right in neighbours():
        before, after = prepare(left), prepare(right)
        changes = [int(abs(after.table(place) - before.table(place)).sum()) for place in shares.places]
        assert max(changes) == 1
        lost.append(sum(rate * change for rate, change in zip(shares.rates(epsilon), changes, strict=True)))
        totals = [sum(mean.guess.distances(side).tolist()) for side in (before, after)]
        moved.append(abs(totals[1] - totals[0]) / mean.scale(epsilon))
    assert F(999, 1000) * epsilon < max(lost) <= epsilon
    assert epsilon / 2 < max(moved) <= epsilon


@pytest.mark.parametrize("count", [1, 2])
def test_choices_lose_at_most_epsilon(merged, count):
    shape, prepare = merged
    rng = np.random.default_rng(6)
    pairs = PairChoice.of({place: rng.gamma(0.5, 3, shape.shapes[place]) for place in range(3)}, 1, count)
    for kind, choice in ((PairChoice, pairs), (ParentChoice, ParentChoice((0, 1, 2), "b"))):
        case = replace(kind.audit_cases()[0], mechanism=choice, domain=SMALL.shape, prepare=prepare, searched=())
        found = audit_selection_exactly(case, pairs=8)
        assert found.passed, found
        assert found.figures["largest/ε"] > 0
