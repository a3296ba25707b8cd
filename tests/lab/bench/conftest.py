"""The unit of time of the benchmarks is taken from a short sort: what they measure is not tested by its duration."""

import pytest

from adyton_lab.bench import timing


@pytest.fixture(autouse=True)
def short_sort(monkeypatch):
    monkeypatch.setattr(timing, "_SORTED", 100_000)
