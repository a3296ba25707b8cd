"""Groups of neighbouring cells of numbers: every value is in the group of its cell, whatever the value is."""

import numpy as np
import pytest

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting.opening import open_table
from adyton.learning.coding import codes_of
from adyton.schema.cell_groups import grouped, merged_cells
from adyton_lab.audit.people import STORES, people, schema_of

POLICIES = [("drop", "drop"), ("clamp", "level"), ("other", "level"), ("other", "drop")]


@pytest.mark.parametrize(("outside", "nulls"), POLICIES)
@pytest.mark.parametrize("step", [1, 3])
def test_groups_of_whole_numbers_hold_the_values_of_their_cells(outside, nulls, step):
    """Whether values are whole, have fractions, lie at an end or beyond, are texts or are missing."""
    fine = ad.Integer(-5, 31, step=step, outside=outside, nulls=nulls)
    coarse = grouped(fine, [0, 1, 4, 9])
    edges = np.array([-6, -5, -4, 4, 6.999, 7, 22, 30, 31, 32, 33])
    numbers = np.concatenate([edges, np.nextafter(edges, -99), np.nextafter(edges, 99), [np.nan, np.inf, 1e300]])
    for values in (numbers, np.arange(-9, 40), [f"{value:.3f}" for value in edges] + [None, "x", ""]):
        own, read = (codes_of({"a": values}, ad.Schema({"a": attribute}))[:, 0] for attribute in (fine, coarse))
        assert np.array_equal(np.append(merged_cells(fine, coarse), -1)[own], read)


def test_groups_must_begin_and_end_where_cells_do():
    fine = ad.Integer(0, 9, step=2)
    end = np.nextafter(10.0, 0)
    for edges in ([0, 4, 9], [0, 4, 10], [0, 3, end], [-2, 4, end], [0, 4.5, end]):
        with pytest.raises(SchemaError, match="not made of whole cells"):
            merged_cells(fine, ad.Numeric(edges=edges))
    assert merged_cells(fine, ad.Numeric(edges=[0, 4, end])).tolist() == [0, 0, 1, 1, 1]
    large = ad.Integer(2**52, 2**52 + 9)
    with pytest.raises(SchemaError, match="not made of whole cells"):
        merged_cells(large, grouped(large, [0, 1]))
    with pytest.raises(SchemaError, match="not made of whole cells"):
        merged_cells(fine, ad.Duration(edges=[0, 4, end], unit="seconds"))


@pytest.mark.parametrize("source", STORES)
def test_every_format_counts_groups_as_the_sums_of_their_cells(source, tmp_path):
    table = open_table(STORES[source](tmp_path / "people", people()), schema_of(source, unit=False))
    table = table.select(["age", "visits", "balance"])
    attributes = table.schema.attributes
    coarse = {name: grouped(attribute, [0, 1, 4]) for name, attribute in attributes.items()}
    merged = table.coarsened(table.schema.with_attributes(coarse))
    sums = np.zeros(merged.schema.shape, dtype=np.int64)
    np.add.at(sums, np.ix_(*(merged_cells(attributes[name], coarse[name]) for name in coarse)), table.vectorize())
    assert sums.sum() > 100
    assert np.array_equal(merged.vectorize(), sums)
