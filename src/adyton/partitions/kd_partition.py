"""Boxes inside which noisy counts differ by no more than noise explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Partition
from adyton.whole import as_shape

_Tree = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def kd_partition(counts: npt.ArrayLike, domain: int | Sequence[int], price: float) -> Partition:
    """The boxes, got by halving a domain of one or two dimensions along either axis again and again, with the least
    Σ_boxes (Σ (y_i − mean)² + price).

    DPCube stops halving where a threshold says so (Xiao, Xiong and Yuan, "Differentially private data release through
    multidimensional partitioning", 2010). Here the best of all such trees is found from the cells upwards: there are
    fewer than 4n boxes, and each is either kept whole or cut the cheaper way. Groups are numbered in the order in which
    the halves follow each other.

    >>> kd_partition([[1, 0, 9, 9], [0, 1, 9, 8]], (2, 4), price=3).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    sides = as_shape(domain)
    values = np.asarray(counts, dtype=np.float64)
    if len(sides) > 2:
        raise BadInput(f"boxes are cut in one or two dimensions, given the domain {sides}.")
    if values.size != math.prod(sides) or not np.isfinite(values).all():
        raise BadInput(f"counts are {math.prod(sides)} finite numbers, given an array of shape {values.shape}.")
    if not (math.isfinite(price) and price >= 0):
        raise BadInput(f"price must be a finite number of at least 0, given {shorten(price)}.")
    rows, columns = sides if len(sides) == 2 else (1, sides[0])
    from adyton.partitions.kd_partition_compiled import best_boxes

    labels = best_boxes(values.reshape(rows, columns), *_halves(rows), *_halves(columns), float(price))
    return Partition(labels.reshape(-1))


@lru_cache(maxsize=64)
def _halves(side: int) -> _Tree:
    """All the intervals that halving an axis yields, each before its halves: (start, end), and the number of the first
    of its two halves, or -1 for a single cell."""
    spans, first = [(0, side)], []
    for start, end in spans:  # grows while it is read
        first.append(len(spans) if end - start > 1 else -1)
        if end - start > 1:
            middle = (start + end) // 2
            spans += [(start, middle), (middle, end)]
    return np.array(spans), np.array(first)
