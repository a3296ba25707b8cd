"""The suite of skewed numbers: one column, seen to the end."""

import numpy as np
import pytest

from adyton_lab.bench import looks_numbers
from adyton_lab.bench.looks_numbers import Column, looks_moments, looks_quantiles


@pytest.fixture
def one_column(monkeypatch):
    values = np.repeat(np.arange(50.0) + 0.5, np.arange(50, 0, -1) * 40)
    monkeypatch.setattr(looks_numbers, "columns", lambda data, public: [Column.of("falling", values, 1000.0, bins=200)])
    monkeypatch.setattr(looks_numbers, "EPSILONS", ("1",))


@pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget")
def test_every_case_has_a_record(one_column, monkeypatch):
    """51,000 rows in ten of 200 cells, ε = 1: the median is in its cell, and the mean is off by less than a cell."""
    monkeypatch.setattr(looks_numbers, "PARTS", ("0.5",))
    count, records = looks_quantiles(trials=2)
    (record,) = records
    assert (count, record.rows, record.cell, record.holds) == (1, 51_000, 2, 100)
    assert record.error == record.choice == pytest.approx(12**-0.5)
    monkeypatch.setattr(looks_numbers, "BOUNDS", (1,))
    count, records = looks_moments(trials=1)
    assert count == 2
    assert [(record.statistic, record.error < 20) for record in records] == [("mean", True), ("deviation", True)]
