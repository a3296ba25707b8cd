"""Seconds, and the unit in which those of different machines can be compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

_SORTED = 10_000_000
_Found = TypeVar("_Found")


def timed(work: Callable[[], _Found]) -> tuple[float, _Found]:
    """The seconds that something takes, and what comes of it."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def seconds(work: Callable[[], object]) -> float:
    """The seconds that something takes."""
    return timed(work)[0]


def sort_unit() -> float:
    """Seconds for one sort of ten million random doubles."""
    values = np.random.default_rng(0).random(_SORTED)
    return min(seconds(lambda: np.sort(values)) for _ in range(3))
