"""Which columns of a query matrix are equal, found without writing the matrix out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.queries.partition import Partition

if TYPE_CHECKING:
    from adyton.queries.base import Queries

_CERTAINTY = 128
_FEWEST_BITS = 16


def group_columns(queries: Queries) -> Partition:
    """Cells with equal columns, as groups numbered in the order of their first cells."""
    labels = np.zeros(queries.cells, dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for products in column_products(queries):
        if (products != products[first][labels]).any():
            labels, first = _refine(labels, products)
        if first.size == queries.cells:
            break
    return Partition(labels)


def column_products(queries: Queries) -> Iterator[npt.NDArray[Any]]:
    """Products v·W with random v, in whole numbers, that all together are equal just for equal columns.

    Zhang et al., εKTELO, SIGMOD 2018, Algorithm 2, in exact arithmetic. If two columns differ in the coefficient of
    query q, then whatever the other numbers are, at most one value of v_q makes their products equal: a chance of at
    most 2^-b for numbers of b bits, and of at most 2^-128 for all products.
    """
    room = 62 - queries.sensitivity().bit_length()  # |v·W| < 2^b · sensitivity
    bits, kind = (room, np.int64) if room >= _FEWEST_BITS else (62, object)
    random = np.random.default_rng(np.random.SeedSequence(queries.count))
    for _ in range(-(-_CERTAINTY // bits)):
        yield queries._transpose(random.integers(0, 1 << bits, queries.count).astype(kind, copy=False))


def _refine(labels: Integers, products: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Groups of cells that had equal labels and have equal products, and the first cell of each."""
    keys = products
    if labels.any():
        kinds = np.unique(products, return_inverse=True)[1]
        keys = labels * (int(kinds.max()) + 1) + kinds
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[groups], np.sort(first)
