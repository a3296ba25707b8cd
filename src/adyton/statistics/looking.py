"""A look at where rows lie, of all groups together: where to count them, and where to look for their quantiles."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from adyton.statistics.asked import Asked
from adyton.whole import IntegerArray

LOOKED = tuple(Fraction(part, 16) for part in range(1, 16))
"""The quantiles of all rows that are chosen first."""
_MOST_PLACES = 1 << 24
"""Of all groups, on all levels."""
_EVEN = Fraction(1, 4)
"""This part of the places is spread evenly over all cells, should the look have been mistaken."""


def coarse_parts(asked: Asked) -> int:
    """In how many parts the rows of a group are counted."""
    return min(len(LOOKED) + 1, asked.attribute.base_size)


def even_borders(asked: Asked) -> IntegerArray:
    """Where parts of about as many cells begin, and where the last one ends."""
    cells, parts = asked.attribute.base_size, coarse_parts(asked)
    return np.array([part * cells // parts for part in range(parts + 1)])


def borders(asked: Asked, looked: IntegerArray) -> IntegerArray:
    """Where parts of about as many rows begin, and where the last one ends. A cell that several of the quantiles
    *looked* lie in is a part of its own; what is left over halves the widest parts."""
    cells, parts = asked.attribute.base_size, coarse_parts(asked)
    ordered = np.sort(looked)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    inner = np.unique(np.concatenate((ordered, twice + 1)))
    edges = [0, *inner[(inner > 0) & (inner < cells)].tolist()[: parts - 1], cells]
    while len(edges) <= parts:
        widest = int(np.argmax(np.diff(edges)))
        edges.insert(widest + 1, (edges[widest] + edges[widest + 1]) // 2)
    return np.array(edges)


def places_in_all(asked: Asked, levels: int) -> int:
    """How many places each line gets: as many as cells at least."""
    cells = asked.attribute.base_size
    return max(cells, min(max(2 * cells, 1 << 13), _MOST_PLACES // (asked.groups * levels)))


def even_places(cells: int, total: int) -> IntegerArray:
    """So many places, about as many for each cell."""
    return np.diff(np.arange(cells + 1) * total // cells)


def places(asked: Asked, looked: IntegerArray, total: int) -> IntegerArray:
    """So many places, most of them where the look has found rows: as many between one quantile and the next."""
    cells = asked.attribute.base_size
    ends = np.concatenate(([0], np.sort(looked), [cells - 1]))
    slopes = np.zeros(cells + 1)
    each = float(1 - _EVEN) / (len(ends) - 1)
    for first, last in itertools.pairwise(ends.tolist()):
        slopes[first] += each / (last - first + 1)
        slopes[last + 1] -= each / (last - first + 1)
    likely = np.cumsum(slopes[:-1]) + float(_EVEN) / cells
    upto = np.concatenate(([0.0], np.cumsum(likely)))
    more = np.rint(upto / upto[-1] * (total - cells)).astype(np.int64)
    return np.asarray(1 + np.diff(np.maximum.accumulate(more)))
