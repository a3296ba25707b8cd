"""Marginals: counts over some attributes, summed over the others; and grids of equal boxes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size, by_part
from adyton.whole import as_shape, freeze, rises, whole

_MOST_MARGINALS = 100_000


@dataclass(frozen=True)
class Marginals(Queries):
    """One histogram for each set of axes, summed over all other axes: ``Marginals(shape, way=2)`` for all pairs.

    >>> Marginals((2, 3), way=1) @ [[1, 2, 3], [4, 5, 6]]
    array([ 6, 15,  5,  7,  9])
    """

    domain: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        domain: int | Sequence[int],
        axes: Sequence[Sequence[int]] | None = None,
        *,
        way: int | None = None,
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        dimensions = len(self.domain)
        if (axes is None) == (way is None):
            raise BadInput("say which marginals: either way=k for all sets of k axes, or axes=[(0, 1), …].")
        if way is not None:
            size = whole(way, "way", 0)
            if size > dimensions:
                raise BadInput(f"the domain has {dimensions} axes, given way = {size}.")
            if math.comb(dimensions, size) > _MOST_MARGINALS:
                raise BadInput(
                    f"{dimensions} axes have more than {_MOST_MARGINALS:,} sets of {size}. Name some of them."
                )
            sets = tuple(itertools.combinations(range(dimensions), size))
        else:
            assert axes is not None
            if not all(isinstance(chosen, Sequence) for chosen in axes):
                raise BadInput(f"axes must be a list of sets of axes, like [(0, 1), (2,)], given {shorten(axes)}.")
            sets = tuple(tuple(whole(axis, "axes", 0) for axis in chosen) for chosen in axes)
            for chosen in sets:
                if list(chosen) != sorted(set(chosen)) or (chosen and chosen[-1] >= dimensions):
                    raise BadInput(f"axes are numbered 0 … {dimensions - 1} in ascending order, given {chosen}.")
        if not sets:
            raise BadInput("marginals need at least one set of axes, given none.")
        object.__setattr__(self, "axes", sets)

    @property
    def sizes(self) -> list[int]:
        """How many cells each marginal has."""
        return [math.prod(self.domain[axis] for axis in chosen) for chosen in self.axes]

    @property
    def count(self) -> int:
        """The cells of all the marginals."""
        return sum(self.sizes)

    def _apply(self, cells: Array) -> Array:
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        parts = [table.sum(axis=self._others(chosen, cells.ndim - 1), keepdims=True) for chosen in self.axes]
        pairs = zip(parts, self.sizes, strict=True)
        return np.concatenate([part.reshape(*cells.shape[:-1], size) for part, size in pairs], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        leading = answers.shape[:-1]
        table = np.zeros((*leading, *self.domain), dtype=answers.dtype)
        start = 0
        for chosen, size in zip(self.axes, self.sizes, strict=True):
            table += answers[..., start : start + size].reshape(*leading, *self._kept(chosen))
            start += size
        return table.reshape(*leading, self.cells)

    def _rows(self, numbers: Integers) -> Reals:
        """A query of a marginal counts the cells that fall into one cell of the marginal."""
        rows = np.empty((numbers.size, self.cells))
        for part, own, within in by_part(numbers, self.sizes):
            kept = self._kept(self.axes[part])
            places = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), self.domain).reshape(-1)
            rows[own] = places == within[:, None]
        return rows

    def _kept(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a marginal, with a side of 1 for each axis that is summed over."""
        return tuple(side if axis in chosen else 1 for axis, side in enumerate(self.domain))

    def _others(self, chosen: tuple[int, ...], leading: int) -> tuple[int, ...]:
        return tuple(leading + axis for axis in range(len(self.domain)) if axis not in chosen)

    def __str__(self) -> str:
        return f"{len(self.axes):,} marginals of {' × '.join(f'{side:,}' for side in self.domain)} cells"

    def size(self) -> Size:
        """Every marginal reads every cell."""
        return Size(2 * self.count + self.cells, len(self.axes) * self.cells + 2 * self.count)

    def largest_row_sum(self) -> int:
        """As many cells as the smallest marginal sums up in one of its own."""
        return self.cells // min(self.sizes)

    def squared_norm(self) -> float:
        """Every marginal counts every cell once."""
        return float(self.cells * len(self.axes))


@dataclass(frozen=True, eq=False)
class Grid(Queries):
    """The sums over a grid of boxes: along each axis, blocks that start where its ``edges`` say.

    >>> Grid.of_blocks((2, 4), (1, 2)) @ [[1, 2, 3, 4], [5, 6, 7, 8]]
    array([14, 22])
    """

    domain: tuple[int, ...]
    edges: tuple[Integers, ...]
    """For each axis the first cell of each block, and the number of cells at the end."""

    def __init__(self, domain: int | Sequence[int], edges: Sequence[npt.ArrayLike]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        frozen = tuple(freeze(axis, "edges").reshape(-1) for axis in edges)
        if len(frozen) != len(self.domain) or any(
            axis.size < 2 or axis[0] != 0 or axis[-1] != side or not rises(axis)
            for axis, side in zip(frozen, self.domain, strict=False)
        ):
            raise BadInput(f"edges rise from 0 to the side along each axis of the domain {self.domain}.")
        object.__setattr__(self, "edges", frozen)

    @classmethod
    def of_blocks(cls, domain: int | Sequence[int], blocks: int | Sequence[int]) -> Grid:
        """A grid with this many blocks along each axis, as equal as they can be; at most one block per cell."""
        sides, numbers = as_shape(domain), as_shape(blocks, "blocks")
        if len(numbers) != len(sides):
            raise BadInput(f"the domain {sides} needs one number of blocks per axis, given {numbers}.")
        pairs = [(side, min(side, number)) for side, number in zip(sides, numbers, strict=True)]
        return cls(sides, [np.arange(number + 1) * side // number for side, number in pairs])

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many blocks there are along each axis."""
        return tuple(axis.size - 1 for axis in self.edges)

    @property
    def count(self) -> int:
        """How many boxes there are."""
        return math.prod(self.blocks)

    def _apply(self, cells: Array) -> Array:
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        for axis, starts in enumerate(self.edges, start=cells.ndim - 1):
            table = np.add.reduceat(table, starts[:-1], axis=axis)
        return table.reshape(*cells.shape[:-1], self.count)

    def _transpose(self, answers: Array) -> Array:
        table = answers.reshape(*answers.shape[:-1], *self.blocks)
        for axis, starts in enumerate(self.edges, start=answers.ndim - 1):
            table = np.repeat(table, np.diff(starts), axis=axis)
        return table.reshape(*answers.shape[:-1], self.cells)

    def __str__(self) -> str:
        return f"grid of {' × '.join(f'{number:,}' for number in self.blocks)} boxes"

    def _plain_sensitivity(self) -> int:
        """Every cell is in one box."""
        return 1

    def largest_row_sum(self) -> int:
        """The largest box."""
        return math.prod(int(np.diff(axis).max()) for axis in self.edges)

    def squared_norm(self) -> float:
        """Every cell is in one box."""
        return float(self.cells)
