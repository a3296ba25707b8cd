"""Stripes along one attribute: one group for each combination of all the others."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.errors import BadInput
from adyton.partitions.marginal import marginal_partition
from adyton.queries import Partition
from adyton.whole import as_shape, whole


def stripe_partition(domain: int | Sequence[int], axis: int) -> Partition:
    """One group per combination of the other attributes, in row-major order; its cells run along *axis*.

    A split by it gives one-dimensional vectors that share no rows, so that a plan for one dimension can spend the
    whole ε on each (Zhang et al., εKTELO, SIGMOD 2018, §7.1 and Algorithm 3).

    >>> stripe_partition((2, 3), 0).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    sides = as_shape(domain)
    along = whole(axis, "axis", 0)
    if along >= len(sides):
        raise BadInput(f"axes are numbered 0 … {len(sides) - 1} for the domain {sides}, given {along}.")
    return marginal_partition(sides, [other for other in range(len(sides)) if other != along])
