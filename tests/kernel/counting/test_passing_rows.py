"""Rows counted as they pass by, against the engine's own group-bys and against counting in plain Python."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from adyton.kernel.counting import open_table, packs
from adyton.kernel.counting import table as local_table
from adyton.kernel.counting.packs import Column, packed, packed_for_passing
from adyton.kernel.reading import readers as frame_readers
from adyton.schema import Boolean, Categorical, Integer, Numeric, RowTree, Schema

SCHEMA = Schema(
    {
        "town": Categorical(["a", "b", "c"], nulls="level", outside="other"),
        "kind": Categorical(["x", "y"]),
        "age": Integer(0, 99, outside="clamp"),
        "size": Numeric(0, 1, 40),
        "cost": Numeric(0, 10, 300, nulls="level"),
        "flag": Boolean(),
        "floor": Integer(-3, 6),
        "rooms": Integer(0, 8),
    }
)
GROUPS = [*itertools.combinations(SCHEMA.names, 2), ("age",), ("flag", "kind", "town")]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(5)
    rows = 3000
    gone = random.random((8, rows)) < 0.1
    extreme = np.array([-(2**63), 2**63 - 1, -(2**31), 2**31, 2**16, -1, 9])
    return pa.table(
        {
            "town": pa.array(random.choice(["a", "b", "c", "d"], rows), mask=gone[0]),
            "kind": pa.array(random.choice(["x", "y", "z"], rows), mask=gone[1]),
            "age": pa.array(random.integers(-(2**62), 2**62, rows) >> random.integers(0, 62, rows), mask=gone[2]),
            "size": pa.array(random.choice([np.nan, np.inf, -1.0, 1e300, 0.5, 0.25, 1.0], rows), mask=gone[3]),
            "cost": pa.array(random.uniform(-1, 11, rows), mask=gone[4]),
            "flag": pa.array(random.random(rows) < 0.3, mask=gone[5]),
            "floor": pa.array(random.choice([*extreme, *range(-4, 8)], rows), mask=gone[6]),
            "rooms": pa.array(random.choice([*extreme, *range(9)], rows), mask=gone[7]),
        }
    )


@pytest.mark.parametrize("tree", [None, RowTree.stump(SCHEMA.names)])
def test_same_counts_as_group_bys(rows: pa.Table, tree: RowTree | None, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(rows, SCHEMA)

    def counted() -> list:
        return table.tables(GROUPS) if tree is None else table.split_tables(tree, SCHEMA.names[1:], SCHEMA.names[0])

    monkeypatch.setattr(local_table, "_FEW_PACKS", 10**6)
    expected = counted()
    monkeypatch.setattr(local_table, "_FEW_PACKS", 0)
    monkeypatch.setattr(frame_readers, "_ROWS_AT_A_TIME", 700)
    monkeypatch.setattr(packs, "_ROWS_BETWEEN", 1500)
    monkeypatch.setattr(packs, "_BLOCK", 256)
    for one, other in zip(counted(), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    for group, own in zip(GROUPS, table.tables(GROUPS), strict=True):
        np.testing.assert_array_equal(own, table.select(group).vectorize())


def test_few_packs_have_all_pairs() -> None:
    columns = {f"x{place}": Column(10, 11) for place in range(8)}
    groups = list(itertools.combinations(columns, 2))
    for together, number in [(11**4, 6), (11**3, 11), (11**2, 28), (5, 28)]:
        packs, where = packed(columns, groups, together)
        assert len(packs) == number
        assert all({*group} <= {*packs[one].names} for group, one in zip(groups, where, strict=True))
    assert packed(columns, []) == ([], [])
    wide = {"x": Column(1 << 16, (1 << 16) + 1)}
    assert packed_for_passing(wide, [["x"]], packed(wide, [["x"]])) is None


def test_a_number_beyond_the_last_is_counted_as_the_last() -> None:
    tally = packs.Tally([3, 2], [[0, 1]])
    tally.add(2, [np.array([9, 1], dtype=np.uint16), np.array([1, 60_000], dtype=np.uint16)])
    assert tally.counts()[0].tolist() == [0, 0, 0, 1, 0, 1]
