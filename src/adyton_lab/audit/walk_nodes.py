"""What a random walk through the kernel goes by: the cells of its table, its sources, and budgets that are none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Array

CELLS = 6
VALUES = {"a": np.arange(CELLS) // 2, "b": np.arange(CELLS) % 2}
"""The six cells as a table of two attributes."""
NONSENSE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1, 0, -0.0, "-1/2", "nan", "", "one", None, True, 1j, [1], "1e999999999", b"1",
)  # fmt: skip
HUGE: tuple[Any, ...] = (10**40, "1e300", 1e308, Fraction(10**60, 7))


class DisagreementError(AssertionError):
    """The kernel and an oracle disagree."""


@dataclass
class Node:
    """A source as the oracles see it."""

    handle: Any
    matrix: Array
    stability: int = 1
    linear: bool = True
    path: int = 1
    """All stabilities from the root to here, multiplied."""
    requests: list[Fraction] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    splits: list[list[Node]] = field(default_factory=list)

    def consumed(self) -> Fraction:
        """B(v), from scratch."""
        own = sum(self.requests, Fraction(0))
        derived = sum((child.stability * child.consumed() for child in self.children), Fraction(0))
        return own + derived + sum((max(part.consumed() for part in split) for split in self.splits), Fraction(0))
