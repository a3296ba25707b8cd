"""The nodes of a tree as two arrays: checked, whoever wrote them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.whole import rises

MOST_NODES = 1 << 22
"""Far more than a tree with a useful number of rows in each leaf can have."""


def check_names(names: Sequence[object]) -> None:
    """An error unless these are different names in a tuple."""
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"the attributes of a tree are names in a tuple, given {shorten(names)}.")
    if len(set(names)) < len(names):
        raise BadInput(f"an attribute is given twice in {listing(names)}. Name each once.")


def check_nodes(attributes: int, split: Integers, first: Integers) -> None:
    """An error unless every node but the root is the child of exactly one node before it, and no path repeats."""
    inner = np.flatnonzero(split >= 0)
    starts = first[inner]
    order = np.argsort(starts)
    well_formed = (
        0 < split.size == first.size <= MOST_NODES
        and int(split.min()) >= -1
        and int(split.max()) < attributes
        and bool((first[split < 0] == -1).all())
        and bool((starts > inner).all())
        and (not inner.size or (rises(starts[order]) and int(starts.min()) == 1 and int(starts.max()) < split.size))
        and bool(inner.size or split.size == 1)
    )
    if not well_formed:
        raise BadInput(
            "these are no nodes of a tree: every node but the first must be the child of one node before it, and a "
            "node's children must follow one another."
        )
    sizes, used = sizes_of(split, first), [0] * split.size  # as bits, one per attribute
    for node in inner.tolist():
        here = 1 << int(split[node])
        if used[node] & here:
            raise BadInput("a path of the tree splits twice on the same attribute. Split on another one.")
        used[first[node] : first[node] + sizes[node]] = [used[node] | here] * int(sizes[node])


def sizes_of(split: Integers, first: Integers) -> Places:
    """How many children every node has; 0 for a leaf."""
    sizes = np.zeros(split.size, dtype=np.int64)
    inner = np.flatnonzero(split >= 0)
    inner = inner[np.argsort(first[inner])]
    sizes[inner] = np.diff(np.append(first[inner], split.size))
    return sizes
