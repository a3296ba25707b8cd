"""Sums of values and rows that are shared out: exact on dirty rows, stable as claimed, and mutants that are caught."""

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pyarrow
import pytest

from adyton.errors import BadInput
from adyton.kernel.counting import open_table
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.kernel import Kernel
from adyton.kernel.transforms import ShareRows, SumValues
from adyton.queries import Identity
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton.schema.numbers import FixedPoint
from adyton.session.wire import decode, encode
from adyton_lab.audit.walk import DisagreementError, Walk

REAL = [0.0, 0.014, 12.345, 99.99, 100.0, -0.0, -3.0, 1e300, math.inf, -math.inf, math.nan, None]
WHOLE = [0, 1, -5, 7, 250, 10**12, -(2**63), 2**63 - 1, None, 3, 3, 3]
GROUP = ["a", "b", None, "x", "a", "b", "a", "b", "a", "b", "a", "b"]


def expected(values, keep, groups=GROUP):
    """Σ k^p by group, written again in Python's own numbers; *keep* says how many steps a value has, None for none."""
    found = {group: [0, 0, 0] for group in ("a", "b")}
    for value, group in zip(values, groups, strict=True):
        steps = None if value is None or math.isnan(value) else keep(value)
        if steps is not None and group in found:
            for power in range(3):
                found[group][power] += steps**power
    return [[found[group][power] for group in ("a", "b")] for power in range(3)]


@pytest.mark.parametrize("outside", ["drop", "clamp", "other"])
def test_dirty_rows_add_up_exactly(outside):
    schema = Schema(
        {
            "real": Numeric(0, 100, bins=7, outside=outside, nulls="level"),
            "whole": Integer(-5, 250, step=10, outside=outside),
            "group": Categorical(["a", "b"]),
        }
    )
    table = open_table(pyarrow.table({"real": REAL, "whole": WHOLE, "group": GROUP}), schema)

    def real(value):
        if not 0 <= value <= 100:
            return None if outside != "clamp" else 10**7 if value > 0 else 0
        return round(F(value) * 10**5)

    def whole(value):
        if not -5 <= value <= 250:
            return None if outside != "clamp" else 255 if value > 0 else 0
        return value + 5

    for name, values, keep in (("real", REAL, real), ("whole", WHOLE, whole)):
        found = [one.tolist() for one in table.power_sums(name, ("group",), 2)]
        assert found == expected(values, keep)
        everything = table.power_sums(name, (), 1)
        alone = expected(values, keep, ["a"] * len(values))
        assert [int(one) for one in everything] == [alone[0][0], alone[1][0]]


def test_the_longest_squares_are_exact():
    """Beyond 2⁵³, where doubles lose digits."""
    values = [99_999_999, 99_999_998, 94_906_267, 94_906_269, 1]
    table = open_table(pyarrow.table({"x": values}), Schema({"x": Integer(0, 99_999_999)}))
    assert [int(one) for one in table.power_sums("x", (), 2)] == [5, sum(values), sum(value**2 for value in values)]


def test_texts_are_numbers_where_the_schema_says_so():
    schema = Schema({"x": Numeric(0, 10, bins=2)})
    table = open_table(pyarrow.table({"x": ["1.5", " 2 ", "many", "", None]}), schema)
    assert [int(one) for one in table.power_sums("x", (), 1)] == [2, 3_500_000]


@pytest.mark.parametrize(
    ("attribute", "grid"),
    [
        (Integer(5, 5), (1, 5, 6)),
        (Integer(-(2**52), 2**52 - 1), (10**8, -45035997, 45035997)),
        (Numeric(40.5, 40.9, bins=4), (F(1, 10**8), 4_050_000_000, 4_090_000_000)),
        (Numeric(edges=[0, 1, 10]), (F(1, 10**6), 0, 10**7)),
        (Numeric(-1e-9, 1e-9, bins=2), (F(1, 10**16), -(10**7), 10**7)),
    ],
)
def test_the_grid_follows_from_the_schema(attribute, grid):
    found = FixedPoint.of(attribute)
    assert (found.step, found.low, found.high) == grid
    assert found.lower <= attribute.min
    assert found.span < 2 * 10**8


def test_codes_add_up_as_rows_do():
    schema = Schema({"g": Categorical(["a", "b"]), "x": Integer(0, 9)})
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, 2, 200), rng.integers(-1, 10, 200)])
    rows = pyarrow.table({"g": np.array(["a", "b"])[codes[:, 0]], "x": codes[:, 1]})
    real, coded = open_table(rows, schema), CodedTable.checked(codes, schema)
    for one, other in zip(real.power_sums("x", ("g",), 2), coded.power_sums("x", ("g",), 2), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("degree", [1, 2])
def test_a_row_is_shared_out_completely(degree):
    """Its shares are at least 0 and add up to M^d, so that a kernel that charges M^d charges enough."""
    schema = Schema({"x": Integer(0, 10)})
    for value in range(11):
        table = CodedTable.checked(np.array([[value]]), schema)
        ((vector,),) = (ShareRows("x", (), degree).plan(_shape(schema)).derive(table),)
        shares = vector.values()
        assert shares.min() >= 0
        assert shares.sum() == 10**degree
        assert (shares * np.arange(degree + 1)).sum() == degree * 10 ** (degree - 1) * value
        assert degree == 1 or shares[2] == value**2


def _shape(schema):
    from adyton.kernel.shapes import TableShape

    return TableShape(schema)


def test_the_kernel_charges_what_it_hides():
    schema = Schema({"x": Numeric(-10, 20, bins=3), "g": Categorical(["a", "b"])}, rows_per_unit=3)
    kernel = Kernel(pyarrow.table({"x": [1.5], "g": ["a"]}), schema=schema, epsilon=2)
    sums, shares = kernel.root.sums("x", "g"), kernel.root.shares("x", ["g"], degree=2)
    assert (sums.shape, sums.stability) == ((2,), 3 * 20 * 10**6)
    assert (shares.shape, shares.stability) == ((2, 3), 3 * (30 * 10**6) ** 2)
    sums.measure(Identity(2), F(1, sums.stability))
    assert kernel.spent == 1


@pytest.mark.parametrize(
    ("low", "high", "reach"), [(-100, 5, 100), (-5, 100, 100), (-100, -5, 100), (5, 100, 100), (-3, 3, 3), (0, 0, 1)]
)
def test_a_sum_moves_by_the_bound_that_is_farther_from_zero(low, high, reach):
    """The stability covers the extreme rows, and one of them needs all of it."""
    schema = Schema({"x": Integer(low, high)})
    outcome = SumValues("x").plan(_shape(schema))
    sums = [
        int(outcome.derive(CodedTable.checked(np.array(rows), schema))[0].values()[0])
        for rows in ([[0]], [[high - low]], [[0], [0], [high - low]])
    ]
    assert sums == [low, high, 2 * low + high]
    moved = sums[:2]
    assert outcome.stability == reach == max(1, *map(abs, moved))
    assert ShareRows("x").plan(_shape(schema)).stability == max(high - low, 1)


def halved(kind):
    honest = kind.plan

    def plan(self, source):
        outcome = honest(self, source)
        return replace(outcome, stability=max(1, outcome.stability // 2))

    return plan


def test_walks_without_a_bug():
    Walk(5, "codes").play(30)


@pytest.mark.parametrize("kind", [SumValues, ShareRows])
def test_half_the_stability_is_caught(monkeypatch, kind):
    monkeypatch.setattr(kind, "plan", halved(kind))

    def walks():
        for seed in range(40):
            Walk(seed, "codes").play(30)

    with pytest.raises(DisagreementError):
        walks()


def test_the_span_does_for_a_sum_only_from_zero(monkeypatch):
    """A mutant: values from 100 to 101 counted with the width of their range as sensitivity."""
    schema = Schema({"x": Integer(100, 101)})
    assert SumValues("x").plan(_shape(schema)).stability == 101
    assert ShareRows("x").plan(_shape(schema)).stability == 1


def test_wire_and_bad_input():
    assert decode(encode(SumValues("x", ("g",)))) == SumValues("x", ("g",))
    assert decode(encode(ShareRows("x", (), 2))) == ShareRows("x", (), 2)
    schema = Schema({"x": Integer(0, 9), "g": Categorical(["a"])})
    kernel = Kernel(pyarrow.table({"x": [1], "g": ["a"]}), schema=schema, epsilon=1)
    with pytest.raises(BadInput, match="no numbers to add up"):
        kernel.root.sums("g")
    with pytest.raises(BadInput, match="degree must be 1 or 2"):
        kernel.root.shares("x", degree=3)
    with pytest.raises(BadInput, match="given twice"):
        kernel.root.sums("x", "x")
