"""The Haar queries: the total, and the difference between the two halves of every dyadic block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from adyton.arrays import Array, Reals
from adyton.queries.basic import DomainQueries


@dataclass(frozen=True, init=False)
class Haar(DomainQueries):
    """The total, then for every dyadic block from the whole domain down to pairs: its left half minus its right half.

    A domain that is no power of two is continued with cells that are always empty; blocks that hold no real cell are
    left out.

    >>> Haar(4) @ [1, 2, 3, 5]
    array([11, -5, -1, -2])
    """

    one_axis: ClassVar[str] = "Haar queries need one dimension, given the shape {}. Use Kronecker for more."

    @property
    def levels(self) -> int:
        """How often the padded domain can be halved."""
        return (self.cells - 1).bit_length()

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many blocks of each level hold a real cell, from the whole domain down to pairs."""
        return _blocks(self.cells)

    @property
    def count(self) -> int:
        """One for the total and one for each block."""
        return 1 + sum(self.blocks)

    def _apply(self, cells: Array) -> Array:
        sums = cells
        parts = []
        for _ in range(self.levels):
            left, right = _halves(sums)
            parts.append(left - right)
            sums = left + right
        return np.concatenate([sums, *reversed(parts)], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        return self._spread(answers, signed=True)

    def _absolute_transpose(self, weights: Array) -> Array:
        return self._spread(weights, signed=False)

    def _spread(self, answers: Array, *, signed: bool) -> Array:
        values, start, cells = answers[..., :1], 1, self.cells
        for level, blocks in zip(range(self.levels, 0, -1), self.blocks, strict=True):
            own = answers[..., start : start + blocks]
            start += blocks
            halves = np.empty((*answers.shape[:-1], 2 * blocks), dtype=answers.dtype)
            np.add(values, own, out=halves[..., ::2])
            (np.subtract if signed else np.add)(values, own, out=halves[..., 1::2])
            values = halves[..., : -(-cells >> (level - 1))]
        return np.array(values)

    def inverse(self, answers: Reals) -> Reals:
        """The cells of the padded domain that have these answers, cut to the real cells.

        A block's halves are (sum ± difference) / 2.
        """
        return self._spread(answers / self.sizes, signed=True)

    def inverse_transpose(self, cells: Reals) -> Reals:
        """(A⁻¹)ᵀ·q for coefficients q over the cells: what each answer contributes to a query."""
        return self._apply(cells) / self.sizes

    @property
    def sizes(self) -> Reals:
        """The number of (padded) cells that each query counts: its squared norm."""
        return _sizes(self.cells)

    def __str__(self) -> str:
        return f"Haar wavelet of {self.cells:,} cells"

    def _plain_sensitivity(self) -> int:
        """A cell is in the total and in one block of each level."""
        return self.levels + 1

    def squared_norm(self) -> float:
        """The total and every level count every cell once."""
        return float(self.cells * (self.levels + 1))


@lru_cache(maxsize=64)
def _blocks(cells: int) -> tuple[int, ...]:
    return tuple(-(-cells >> level) for level in range((cells - 1).bit_length(), 0, -1))


@lru_cache(maxsize=64)
def _sizes(cells: int) -> Reals:
    levels = (cells - 1).bit_length()
    sizes = np.repeat(np.exp2([levels, *range(levels, 0, -1)]), [1, *_blocks(cells)])
    sizes.flags.writeable = False
    return sizes


def _halves(values: Array) -> tuple[Array, Array]:
    """The even and the odd entries; an odd number of them is continued with a zero."""
    left, right = values[..., ::2], values[..., 1::2]
    if left.shape[-1] > right.shape[-1]:
        empty = np.zeros((*values.shape[:-1], 1), dtype=values.dtype)
        right = np.concatenate([right, empty], axis=-1)
    return left, right
