"""Intervals are compared with the truth and summed up as they were found."""

import math

import numpy as np
import pytest

from adyton_lab.bench.common import Held


def test_unbounded_intervals_count_as_missed():
    held = Held(kind="ratio", epsilon="1")
    for data, lower, upper in (("a", 0.0, 3.0), ("a", 1.9, 2.1), ("b", -math.inf, math.inf), ("b", 0.0, 4.0)):
        held.add(data, 2.0, lower, upper, truth=2.5)
    record = held.coverage()
    assert (record.intervals, record.holds, record.worst, record.data) == (4, 50.0, 50.0, "2 data sets")
    assert record.width is None  # no stretching makes an unbounded interval hold


def test_the_width_is_relative_to_what_is_needed_on_each_side():
    held = Held(kind="cells", epsilon="1")
    held.add("a", np.zeros(100), np.full(100, -5.0), np.full(100, 20.0), np.linspace(-10, -0.1, 100))
    held.expect(3.0, 2.0)
    held.expect(1.0, 0.0)  # no error: nothing to compare
    record = held.coverage()
    assert record.holds == pytest.approx(50, abs=1)
    assert record.width == pytest.approx(5 / 9.5, rel=0.02)
    assert (record.worst, record.expected) == (None, pytest.approx(1.5))
