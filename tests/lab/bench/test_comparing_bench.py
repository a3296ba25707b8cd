"""Intervals of comparisons are summed up as they were found."""

import math

import pytest

from adyton.result.comparing import Comparison
from adyton_lab.bench.comparing import _Held


def test_unbounded_intervals_count_as_missed():
    held = _Held("ratio", "1")
    for data, lower, upper in (("a", 0.0, 3.0), ("a", 1.9, 2.1), ("b", -math.inf, math.inf), ("b", 0.0, 4.0)):
        held.add(data, Comparison("ratio", 2.0, lower, upper, 0.95, "exact", ""), truth=2.5)
    record = held.record()
    assert (record.intervals, record.holds, record.worst) == (4, 50.0, 50.0)
    assert record.data == "2 data sets"
    assert record.width == pytest.approx(1 / 4.55, rel=0.05)  # the narrow one must be five times as wide
