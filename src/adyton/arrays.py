"""Array types, named after their contents, and array functions that several packages share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]
"""Numbers of any type."""
Reals = npt.NDArray[np.float64]
"""Noisy counts, estimates, weights."""
Singles = npt.NDArray[np.float32]
"""Single-precision numbers, for very large arrays."""
Integers = npt.NDArray[np.int64]
"""Counts and other whole numbers."""
Places = npt.NDArray[np.int64]
"""Positions: numbers of cells, groups, rows or nodes."""
Flags = npt.NDArray[np.bool_]
"""A boolean for each item."""


def within(numbers: Array, last: int, first: int = 0) -> Array:
    """The numbers, clipped to the range from *first* to *last*."""
    if numbers.size and (numbers.min() < first or numbers.max() > last):
        numbers = np.clip(numbers, first, last)
    return numbers


def nodes_reached(codes: Integers, split: Places, first: Places, sizes: Places) -> Places:
    """The node of a tree that each row reaches by its cells: a leaf, or an inner node without a child for its cell.

    *codes* has the cells of a row (−1: no cell), in the columns that nodes *split* by. For a cell below the node's
    *sizes*, the child is node *first* + cell. Whatever the arrays contain, every step leads to a node with a larger
    number, so the walk ends.
    """
    reached = np.zeros(len(codes), dtype=np.int64)
    moving = np.arange(len(codes))
    while moving.size:
        nodes = reached[moving]
        inner = split[nodes] >= 0
        moving, nodes = moving[inner], nodes[inner]
        cells = codes[moving, split[nodes]]
        children = first[nodes] + cells
        known = (cells >= 0) & (cells < sizes[nodes]) & (children > nodes) & (children < len(split))
        moving = moving[known]
        reached[moving] = children[known]
    return reached


def arrow_column(values: Sequence[Any] | Array, kind: str | None = None) -> pa.Array:
    """Numbers and texts as an Arrow array, like that of ``pyarrow.array()``, cast to *kind* if given.

    It avoids the functions that load pandas where it is installed, which takes half a second.
    """
    import pyarrow as pa

    column = _column(values)
    if kind in (None, str(column.type)):
        return column
    if kind == "binary" and column.type == pa.string():
        return column.view(kind)  # the same bytes
    return column.cast(kind)


def _column(values: Sequence[Any] | Array) -> pa.Array:
    import pyarrow as pa
    from pyarrow.lib import StringBuilder

    if isinstance(values, tuple | list) and values and all(type(value) is int for value in values):
        values = np.array(values)
    number = getattr(values, "dtype", None)
    if number in (np.int32, np.int64, np.float64):
        numbers = np.ascontiguousarray(values)
        return pa.Array.from_buffers(pa.from_numpy_dtype(number), numbers.size, [None, pa.py_buffer(numbers)])
    if not (len(values) and all(isinstance(value, str) for value in values)):
        return pa.array(values)
    texts = StringBuilder()
    texts.append_values(values)
    return texts.finish()
