"""The unit of time of the benchmarks is taken from a short sort: what they measure is not tested by its duration."""

import pytest

from adyton_lab.bench import common


@pytest.fixture(autouse=True)
def short_sort(monkeypatch):
    monkeypatch.setattr(common, "_SORTED", 100_000)
