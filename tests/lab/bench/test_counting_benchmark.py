"""Counting beside its peers: all ways count the same rows, and their times are compared."""

import pytest

from adyton.errors import BadInput, SchemaError
from adyton_lab.bench import counting
from adyton_lab.bench.counting import place_at, vectorize


def test_files(monkeypatch):
    monkeypatch.setattr(counting, "_ROUNDS", 1)
    steps, rows = vectorize(rows=2000)
    found = list(rows)
    assert len(found) == steps
    ways = {question: [one.way for one in found if one.question == question] for question in ("numbers", "texts")}
    assert ways == {"numbers": ["adyton", "duckdb", "polars", "numpy"], "texts": ["adyton", "duckdb", "polars"]}
    least = min(found[:4], key=lambda one: one.processor_seconds)
    assert [one for one in found[:4] if one.times_the_fastest_other < 1] == [least]


def test_ways_must_count_the_same():
    with pytest.raises(AssertionError, match="do not count the same rows"):
        counting._check_same({"a": lambda: 1, "b": lambda: 2})


def test_a_server_that_does_not_answer_is_reported_without_its_address():
    pytest.importorskip("psycopg")
    with pytest.raises(SchemaError) as caught, place_at("postgresql://zoe:hunter2@127.0.0.1:1/x", 10):
        pass
    assert "cannot be reached" in str(caught.value)
    assert not any(word in f"{caught.value} {caught.value.__context__}" for word in ("zoe", "hunter2", "127"))


def test_an_unknown_engine():
    with pytest.raises(BadInput, match="spark"), place_at("mysql://somewhere", 10):
        pass
