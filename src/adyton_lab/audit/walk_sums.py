"""The steps of a random walk that add up values, or share out rows between bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adyton_lab.audit.walk_nodes import CELLS, VALUES, Node

if TYPE_CHECKING:
    from adyton_lab.audit.walk import Walk


class SumsMoves:
    """What a :class:`~adyton_lab.audit.walk.Walk` does to derive sums from rows, and to measure them."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def sums(self, node: Node) -> None:
        """Add up one attribute; the matrix says what one row more adds."""
        name = self._walk.attribute(node)
        matrix = (VALUES[name].astype(object) * node.matrix.sum(axis=0)).reshape(1, -1)
        self._walk.measure(self._walk.derive(node, node.handle.sums(name), matrix, int(max(VALUES[name]))))

    def shares(self, node: Node) -> None:
        """Share out rows between the bounds of one attribute, by the other one if it is there."""
        name = self._walk.attribute(node)
        others = [one for one in node.handle.schema.names if one in VALUES and one != name]
        groups = [VALUES[one] == value for one in others[:1] for value in range(max(VALUES[one]) + 1)]
        degree, last, k = int(self._walk.rng.integers(1, 3)), int(max(VALUES[name])), VALUES[name].astype(object)
        points = [math.comb(degree, j) * k**j * (last - k) ** (degree - j) for j in range(degree + 1)]
        rows = node.matrix.sum(axis=0)
        matrix = np.array([rows * group * point for group in groups or [np.ones(CELLS, dtype=int)] for point in points])
        shared = node.handle.shares(name, others[:1], degree=degree)
        self._walk.measure(self._walk.derive(node, shared, matrix, last**degree))
