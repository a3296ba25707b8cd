"""What a workload asks of stripes: the lines of cells along one axis of a domain, all other attributes fixed."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from adyton.arrays import Array
from adyton.errors import BadInput
from adyton.queries.base import Queries
from adyton.queries.basic import Identity, Prefix, Total
from adyton.queries.combined import Kronecker, Stack
from adyton.queries.marginals import Marginals
from adyton.queries.ranges import Ranges
from adyton.queries.weighted import Weighted
from adyton.whole import whole

Parts = list[tuple[int, Queries]]
"""Queries about one stripe, each with how often it is asked over all stripes."""
_MOST_KINDS = 64
"""Ranges that count more different numbers of stripes are weighted one by one."""
_MOST_REPEATED = 64
"""Up to so many copies, a part that counts more often is repeated; beyond, it is weighted."""


def along_axis(domain: tuple[int, ...], axis: int) -> int:
    """The number of an axis, or an error where the domain has no such axis."""
    along = whole(axis, "axis", 0)
    if along >= len(domain):
        raise BadInput(f"axes are numbered 0 … {len(domain) - 1} for the domain {domain}, given {along}.")
    return along


def stripe_parts(workload: Queries, axis: int) -> Parts | None:  # noqa: PLR0911
    """What is asked about single stripes along *axis*: if the errors of all stripes have mean zero, are independent and
    follow one law, then E‖W·e‖² = Σ (how often)·E‖part·e′‖², for e′ the error of one stripe.

    For stripe s let W_s be the columns of W in it. Then E‖W·e‖² = Σ_s E‖W_s·e_s‖², and for products, marginals and
    boxes the W_s are copies of a few query sets. None where nothing of the kind is known.

    >>> stripe_parts(Marginals((4, 2, 3), way=1), 0)
    [(6, Identity(domain=(4,))), (12, Total(domain=(4,)))]
    """
    along = along_axis(workload.domain, axis)
    if len(workload.domain) == 1:
        return [(1, workload)]
    side = workload.domain[along]
    stripes = workload.cells // side
    match workload:
        case Identity():
            return [(stripes, Identity(side))]
        case Total():
            return [(stripes, Total(side))]
        case Marginals():
            with_it = sum(along in chosen for chosen in workload.axes)
            times = {Identity(side): stripes * with_it, Total(side): stripes * (len(workload.axes) - with_it)}
            return [(number, queries) for queries, number in times.items() if number]
        case Ranges():
            return _of_boxes(workload, along)
        case Kronecker():
            return _of_product(workload, along)
        case Stack():
            found = [stripe_parts(part, along) for part in workload.parts]
            return None if any(one is None for one in found) else _joined(one for one in found if one is not None)
        case _:
            return None


def stripe_workload(workload: Queries, axis: int) -> Queries:
    """A workload for one stripe that stands for all that is asked of the stripes: in the same proportions where they
    are known, and all prefix sums where they are not.

    >>> str(stripe_workload(Kronecker([Prefix(4), Identity(3)]), 0))
    'prefix sums of 4 cells'
    """
    parts = stripe_parts(workload, axis)
    if parts is None:
        return Prefix(workload.domain[axis])
    if len(parts) == 1:
        return parts[0][1]
    common = math.gcd(*(number for number, _ in parts))
    times = [number // common for number, _ in parts]
    if sum(times) <= _MOST_REPEATED:
        return Stack([queries for copies, (_, queries) in zip(times, parts, strict=True) for _ in range(copies)])
    return Stack([Weighted(queries, math.sqrt(number / parts[0][0])) for number, queries in parts])


def stripes_of(values: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Flat values of this shape, as one row for each stripe along an axis; axes in front are kept.

    >>> stripes_of(np.arange(6), (2, 3), 0)
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    leading = values.shape[:-1]
    table = np.moveaxis(values.reshape(*leading, *shape), len(leading) + axis, -1)
    return np.ascontiguousarray(table).reshape(*leading, -1, shape[axis])


def whole_of(stripes: Array, shape: tuple[int, ...], axis: int) -> Array:
    """The way back from :func:`stripes_of`.

    >>> whole_of(np.array([[0, 3], [1, 4], [2, 5]]), (2, 3), 0)
    array([0, 1, 2, 3, 4, 5])
    """
    leading = stripes.shape[:-2]
    others = [side for number, side in enumerate(shape) if number != axis]
    table = np.moveaxis(stripes.reshape(*leading, *others, shape[axis]), -1, len(leading) + axis)
    return np.ascontiguousarray(table).reshape(*leading, -1)


def _of_product(workload: Kronecker, along: int) -> Parts | None:
    """The factor that the axis belongs to, as often as the others ask: Σ over their columns of the squared norms."""
    first, others, own = 0, 1.0, None
    for factor in workload.factors:
        if first <= along < first + len(factor.domain):
            own = stripe_parts(factor, along - first)
        else:
            others *= factor.squared_norm()
        first += len(factor.domain)
    if own is None or not others.is_integer():
        return None
    return [(int(others) * number, queries) for number, queries in own if others]


def _of_boxes(workload: Ranges, along: int) -> Parts | None:
    """A box asks each stripe that it meets for the same interval. Boxes that meet equally many stripes go together."""
    sides = np.delete(workload.upper - workload.lower + 1, along, axis=1)
    met = sides.prod(axis=1)
    numbers = np.unique(met)
    lower, upper = workload.lower[:, along, None], workload.upper[:, along, None]
    line = workload.domain[along]
    if numbers.size > _MOST_KINDS:
        return [(1, Weighted(Ranges(line, lower, upper), np.sqrt(met)))]
    return [(int(number), Ranges(line, lower[met == number], upper[met == number])) for number in numbers]


def _joined(found: Iterable[Parts]) -> Parts:
    """All parts; single cells and totals, which compare as equal, are counted together."""
    times: dict[Queries, int] = {}
    for number, queries in (pair for parts in found for pair in parts):
        times[queries] = times.get(queries, 0) + number
    return [(number, queries) for queries, number in times.items()]
