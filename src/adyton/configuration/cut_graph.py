"""An instance of max-cut: vertices, and a weight for each pair of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.remembered import cached_property
from adyton.whole import whole

HEAVIEST = 1e100
"""Weights beyond it count as this much: no sum of them is too large for a number."""
_PURPOSE = b"adyton/max-cut/1"


@dataclass(frozen=True, eq=False)
class CutGraph:
    """A graph whose vertices are to be split into two sides, so that the edges between them weigh as much as possible.

    ``weights[i, j]`` is the weight of the edge between i and j; 0 where there is none. Weights may be negative, as in
    spin glasses. A quadratic program, the largest xᵀAx over signs x, is the max-cut of −A. What makes no sense is no
    error, because that would tell something about the instance: a weight that is no number counts as 0, the diagonal
    is ignored, and of two weights for one edge the mean is taken.

    >>> CutGraph.of_edges(3, [(0, 1, 2.0), (1, 2, -1.0)]).weights.tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
    """

    weights: Reals

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadInput("the weights of a graph must be numbers. Give a matrix, or use CutGraph.of_edges.") from None
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise BadInput("the weights of a graph must be a square matrix. Give one, or use CutGraph.of_edges.")
        clean = np.where(np.isfinite(given), np.clip(given, -HEAVIEST, HEAVIEST), 0.0)
        clean = clean / 2 + clean.T / 2 + 0.0  # + 0.0: −0.0 and 0.0 are the same content
        np.fill_diagonal(clean, 0.0)
        clean.flags.writeable = False
        object.__setattr__(self, "weights", clean)

    @classmethod
    def of_edges(cls, vertices: int, edges: Iterable[tuple[int, int, float]]) -> CutGraph:
        """A graph from edges (i, j, weight) between vertices 0, 1, …; edges between the same two are added up."""
        size = whole(vertices, "vertices", 0)
        weights = np.zeros((size, size))
        try:
            for one, other, weight in edges:
                first, second = whole(one, "vertex", 0), whole(other, "vertex", 0)
                weights[first, second] += weight
                if first != second:
                    weights[second, first] += weight
        except (TypeError, ValueError, IndexError):
            raise BadInput(
                f"an edge must be two of the vertices 0 to {size - 1} and a weight. Write it like (0, 1, 2.5)."
            ) from None
        return cls(weights)

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return len(self.weights)

    @cached_property
    def _key(self) -> int:
        content = self.vertices.to_bytes(8) + self.weights.astype("<f8").tobytes()
        return int.from_bytes(hashlib.sha256(_PURPOSE + content).digest()[:16])

    def chance(self) -> np.random.Generator:
        """Random numbers that depend on the graph's own content, and on nothing else: not on where it stands in a list.

        They are no noise and protect nothing: the algorithm needs them, and is a function of its instance with them.
        """
        return np.random.Generator(np.random.Philox(key=self._key))
