"""Many tables behind one handle: counted once, measured many times, refused before anything is spent."""

import itertools
from fractions import Fraction as F

import numpy as np
import pyarrow
import pytest

from adyton.errors import AdytonError, BadInput, BudgetExceeded, SchemaError
from adyton.kernel import transforms
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, NoisyCount, PairChoice, ParentChoice
from adyton.kernel.sources import TablesSource
from adyton.noise import KeyedNoise
from adyton.queries import Identity
from adyton.schema import Integer, Schema

SCHEMA = Schema({"a": Integer(0, 1), "b": Integer(0, 2), "c": Integer(0, 1, outside="clamp"), "d": Integer(0, 3)})
PAIRS = tuple(itertools.combinations(SCHEMA.names, 2))
VALUES = np.random.default_rng(1).integers(0, 5, (300, 4))  # many rows are dropped from some tables and not from others
ALL = MeasureTables.weighted(range(6))


def kernel_of(values=VALUES, epsilon=1000):
    table = pyarrow.table({name: values[:, place] for place, name in enumerate(SCHEMA.names)})
    return Kernel(table, schema=SCHEMA, epsilon=epsilon)


def true_table(one, other, values=VALUES):
    places, shape = [SCHEMA.names.index(name) for name in (one, other)], SCHEMA.select((one, other)).shape
    cells = values[:, places]
    cells = np.where(np.array([one, other]) == "c", np.minimum(cells, 1), cells)
    kept = cells[(cells < shape).all(axis=1)]
    return np.bincount(np.ravel_multi_index(tuple(kept.T), shape), minlength=np.prod(shape)).reshape(shape)


def test_tables_are_counted_once_when_they_are_first_measured(monkeypatch):
    passes, honest = [], PrivateTable._run
    monkeypatch.setattr(PrivateTable, "_run", lambda *asked: (passes.append(1), honest(*asked))[1])
    kernel = kernel_of()
    tables = kernel.root.tables(PAIRS)
    vector = tables.vectors()[2]
    assert isinstance(tables, TablesSource)
    assert passes == []
    first = tables.measure(ALL, 300)
    again = tables.measure(MeasureTables((4, 1), (F(1, 2), F(1, 2))), 100)
    assert vector.measure(Identity(vector.shape), 50).answers.reshape(2, 4).tolist() == true_table("a", "d").tolist()
    assert passes == [1]
    for table in itertools.chain(first, again):
        assert np.array_equal(table.counts, true_table(*table.group))
        assert table.variance < 1e-9
    assert (len(first), len(again)) == (len(PAIRS), 2)
    assert again.groups == (PAIRS[4], PAIRS[1])
    assert kernel.spent == 450


def test_a_simulated_table_counts_the_same():
    codes = np.where(SCHEMA.shape <= VALUES, -1, VALUES)
    codes[:, 2] = np.minimum(VALUES[:, 2], 1)
    tables = Kernel.simulated_table(codes, SCHEMA, epsilon=1000, seed=2).root.tables(PAIRS)
    noisy = tables.measure(ALL, 300)
    assert not noisy.private
    assert all(np.array_equal(table, true_table(*group)) for group, table in noisy.tables().items())


def test_what_is_public():
    tables = kernel_of().root.where("a = 1").tables(PAIRS)
    assert (tables.groups, tables.shapes[1], tables.cells, tables.place("b", "d")) == (PAIRS, (2, 2), 44, 4)
    assert tables.schema.names == SCHEMA.names
    assert tables.lineage[-1] == "tables(a × b, a × c, a × d and 3 more)"
    assert [vector.lineage[-1] for vector in tables.vectors()][4] == "table(b, d)"
    assert "6 private tables" in repr(tables)
    with pytest.raises(BadInput, match="no table of 'd', 'b'"):
        tables.place("d", "b")


def test_the_ledger_stays_short(tmp_path):
    schema = Schema({f"attribute {place}": Integer(0, 1) for place in range(30)})
    rows = pyarrow.table({name: [0, 1] for name in schema.names})
    with_ledger = Kernel(rows, schema=schema, epsilon=1, ledger=tmp_path / "ledger", dataset="rows")
    tables = with_ledger.root.tables(list(itertools.combinations(schema.names, 2)))
    noisy = tables.measure(MeasureTables.weighted(range(435)), 1)
    assert "435 groups" in repr(noisy)
    (entry,) = with_ledger.ledger.entries()
    assert entry.operator == "noisy tables number 0, 1, 2, 3, 4, 5 and 429 more, ε = 1"
    assert sum(map(len, entry.lineage)) < 200
    assert with_ledger.spent == 1


def test_stability_is_charged():
    kernel = kernel_of()
    grouped = kernel.root.group_by("a", "b", count="n", max_count=4).tables([("a", "b"), ("b", "n")])
    grouped.measure(MeasureTables.weighted((0, 1)), F(1, 4))
    assert kernel.spent == F(1, 2)
    with pytest.raises(BudgetExceeded):
        grouped.measure(MeasureTables.weighted((0, 1)), 500)


def test_zero_rows():
    kernel = kernel_of(VALUES[:0])
    tables = kernel.root.tables(PAIRS)
    assert not any(table.any() for table in tables.measure(ALL, 300).tables().values())
    guesses = {0: np.zeros((2, 3)), 3: np.ones((3, 2))}
    assert tables.choose_pairs(PairChoice.of(guesses, 0, 1), 50) == (3,)
    assert tables.mean_distance(MeanDistance.of(guesses), 50).value == pytest.approx(3, abs=0.7)
    assert tables.choose_parents(ParentChoice((0, 1, 2), "b"), 1).keys() == {"a", "c", "d"}


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([], "given none"),
        ([("z",)], "z"),
        ([()], "attribute"),
        ([("a", "a")], "a"),
        ([("a", "b"), ("c",), ("a", "b")], "'a', 'b' is named twice"),
    ],
)
def test_groups_that_are_none(groups, said):
    with pytest.raises(AdytonError, match=said) as refused:
        kernel_of().root.tables(groups)
    assert isinstance(refused.value, BadInput | SchemaError)


def test_too_many_cells_are_refused_with_the_way_that_works(monkeypatch):
    schema = Schema({f"x{place}": Integer(0, 9999) for place in range(3)})
    kernel = Kernel.simulated_table(np.zeros((2, 3), dtype=int), schema, epsilon=1, seed=1)
    with pytest.raises(BadInput, match=r"2 tables have 200,000,000 cells in all; the limit is 33,554,432.*vectorize"):
        kernel.root.tables([("x0", "x1"), ("x0", "x2")])
    monkeypatch.setattr(transforms, "MOST_TABLES", 2)
    with pytest.raises(BadInput, match="3 groups of attributes; the limit is 2"):
        kernel.root.tables([("x0",), ("x1",), ("x2",)])
    assert kernel.spent == 0


GUESS = {0: np.ones((2, 3)), 2: np.ones((2, 4)), 4: np.ones((3, 4)), 1: np.ones((2, 2))}


@pytest.mark.parametrize(
    "ask",
    [
        MeasureTables((), ()),
        MeasureTables((6,), (F(1),)),
        MeasureTables((-1,), (F(1),)),
        MeasureTables((0, 0), (F(1, 2), F(1, 2))),
        MeasureTables((0, 1), (F(1),)),
        MeasureTables((0, 1), (F(1, 2), F(501, 1000))),
        MeasureTables((0, 1), (F(3, 2), F(-1, 2))),
        MeasureTables((0, 1), (F(1), F(0))),
        MeasureTables([0], (F(1),)),
        MeasureTables((0,), (1.0,)),
        MeasureTables((0,), (F(1, 2**3000),)),
        MeasureTables.weighted((0, 1), (1, 1e-30)),
        PairChoice.of(GUESS, 1, 0),
        PairChoice.of(GUESS, 1, 5),
        PairChoice.of(GUESS, 1, 4, forest=True),
        PairChoice.of({}, 1, 1),
        PairChoice.of({0: np.ones((2, 2))}, 1, 1),
        PairChoice.of({7: np.ones((2, 2))}, 1, 1),
        MeanDistance.of({0: np.ones(7)}),
        ParentChoice((0, 1, 2), ("a",)),
        ParentChoice((0, 1, 2), "z"),
        ParentChoice((0, 5), "a"),
        ParentChoice((), "a"),
        NoisyCount(),
    ],
    ids=lambda ask: type(ask).__name__,
)
def test_bad_requests_spend_nothing(ask):
    kernel = kernel_of()
    tables = kernel.root.tables(PAIRS)
    with pytest.raises(BadInput) as refused:
        kernel.measure(tables, ask, 1)
    assert len(str(refused.value)) < 300
    assert kernel.spent == 0


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, -1], [1, np.inf], [1, np.nan], ["1", "2"], [[1, 2]]])
def test_bad_weights(weights):
    with pytest.raises(BadInput, match="2 finite numbers greater than 0"):
        MeasureTables.weighted((0, 1), weights)


def test_operators_are_for_their_own_kind_of_source():
    kernel = kernel_of()
    with pytest.raises(BadInput, match="works on many tables"):
        kernel.measure(kernel.root, ALL, 1)
    with pytest.raises(BadInput, match="works on a table"):
        kernel.transform(kernel.root.tables(PAIRS), transforms.CountTables(PAIRS))


def test_a_replay_that_measures_other_tables_sees_the_same_noise():
    def noise_of(places, seed=4):
        codes = np.zeros((0, 4), dtype=int)
        root = Kernel.simulated_table(codes, SCHEMA, epsilon=9, noise=KeyedNoise(seed)).root
        tables, shares = root.tables(PAIRS), (F(1, 10),) * len(places)
        return [tables.measure(MeasureTables(places, shares), 1).tables() for _ in range(2)]

    one, other = noise_of((0, 3, 5)), noise_of((3,))
    for first, second in zip(one, other, strict=True):
        assert np.array_equal(first["b", "c"], second["b", "c"])
    assert not np.array_equal(one[0]["b", "c"], one[1]["b", "c"])
    assert not np.array_equal(one[0]["b", "c"], noise_of((3,), seed=5)[0]["b", "c"])
