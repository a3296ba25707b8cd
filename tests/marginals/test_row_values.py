"""Codes become values that the engine reads as the same codes again."""

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.result.rows import arrow_rows
from adyton.schema import Boolean, Categorical, Integer, Numeric, Schema

SCHEMA = Schema(
    {
        "city": Categorical(["Paris", "Lyon"], outside="other", nulls="level"),
        "grade": Categorical([1, 2, 7], outside="other"),
        "age": Integer(-3, 20, step=5, outside="other", nulls="level"),
        "income": Numeric(0, 1, bins=3, nulls="level"),
        "rate": Numeric(edges=[0, 1e-9, 10, 1e6], outside="other"),
        "smoker": Boolean(nulls="level"),
        "member": Boolean(outside="other"),
    }
)


@pytest.fixture(scope="module")
def codes():
    random = np.random.default_rng(3)
    return np.stack([random.integers(size, size=400) for size in SCHEMA.shape], axis=1).astype(np.int32)


def test_values_are_read_as_their_cells(codes):
    rows = arrow_rows(SCHEMA, codes, np.random.default_rng(4))
    assert rows.num_rows == 400
    table = ad.Kernel(rows, schema=SCHEMA, epsilon=700).root
    for place, name in enumerate(SCHEMA.names):
        vector = table.select(name).vectorize()
        counts = vector.measure(ad.workloads.Identity(vector.shape), epsilon=100).answers
        # noise of scale 1/100 is 0 but with a chance below e^-98 in all
        assert counts.tolist() == np.bincount(codes[:, place], minlength=vector.cells).tolist(), name


def test_numbers_fill_their_cells(codes):
    rows = arrow_rows(SCHEMA, codes, np.random.default_rng(5))
    ages = {age for age in rows.column("age").to_pylist() if age is not None}
    assert ages == set(range(-3, 22))  # every number, and one beyond the largest for what lies outside
    incomes = [value for value in rows.column("income").to_pylist() if value is not None]
    assert len(set(incomes)) == len(incomes)


@pytest.mark.parametrize(("given", "words"), [(np.zeros((2, 3)), "7 attributes"), (np.full((2, 7), 9), "a cell")])
def test_codes_that_do_not_fit_are_refused(given, words):
    with pytest.raises(BadInput, match=words):
        arrow_rows(SCHEMA, given.astype(np.int32), np.random.default_rng(0))
