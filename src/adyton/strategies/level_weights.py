"""Some levels of a tree, each with a weight: whole levels are measured, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.queries import Hierarchy
from adyton.queries.block_tree import BlockTree
from adyton.strategies.base import Strategy

_DIGITS = 10_000
"""Shares are rounded to this denominator."""


@dataclass(frozen=True)
class LevelWeights:
    """Block sizes to measure, from the smallest to the largest, and the share of ε for each; the shares add up to 1."""

    block_sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def share(self, number: int) -> Fraction:
        """A weight as an exact share of a budget, rounded to four digits."""
        return Fraction(round(self.weights[number] * _DIGITS), _DIGITS)

    def variances(self, epsilon: float) -> tuple[float, ...]:
        """The variance 2/(w·ε)² of the noise in a block's answer, for each size.

        >>> LevelWeights((1, 4), (0.5, 0.5)).variances(2.0)
        (2.0, 2.0)
        """
        return tuple(2 / (weight * epsilon) ** 2 for weight in self.weights)

    def strategy(self, cells: int) -> Strategy:
        """The blocks of these sizes on a line."""
        return _on_line(self, cells)


@lru_cache(maxsize=32)
def _on_line(levels: LevelWeights, cells: int) -> Strategy:
    tree = BlockTree.of_sizes(cells, levels.block_sizes[::-1], root=False)
    return level_strategy(tree, levels.weights[::-1])


def level_strategy(tree: BlockTree, weights: npt.ArrayLike) -> Strategy:
    """All blocks of the levels with a positive weight, from the coarsest level on, each level with its weight.

    >>> from adyton.queries.domain_trees import boxes_in_boxes
    >>> print(level_strategy(boxes_in_boxes((4, 4)), [0.4, 0, 0.6]).queries)
    hierarchy of 17 blocks of 16 cells
    """
    given, levels = np.asarray(weights, dtype=np.float64), len(tree.boundaries)
    if given.shape != (levels,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise BadInput(f"weights must be {levels} numbers of at least 0, one per level and not all 0.")
    queries = Hierarchy.of_tree(tree, np.flatnonzero(given).tolist())
    return Strategy(queries, given[queries.query_levels()])
