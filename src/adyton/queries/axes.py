"""What a workload asks along the axes of its domain: as a union of products, about each set of axes, about stripes.

For d axes, the functions of the cells decompose into 2^d orthogonal spaces, one for every set T of axes: the functions
that vary along each axis of T with mean zero and are constant along all other axes. P_T is the projection onto that
space. A strategy of marginals has one variance in each space, so its error on W follows from the energies tr(P_T·WᵀW).

Stripes are the lines of cells along one axis, all other attributes fixed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.queries.base import Queries
from adyton.queries.basic import Identity, Marginals, Total
from adyton.queries.combined import Kronecker, Stack
from adyton.queries.ranges import Prefix, Ranges, Weighted
from adyton.whole import whole


@dataclass(frozen=True, eq=False)
class ProductPart:
    """The products of one query from every factor, all with the same weight."""

    weight: float
    factors: tuple[Queries, ...]
    """One query set for each axis."""


def product_parts(workload: Queries) -> list[ProductPart] | None:  # noqa: PLR0911
    """The workload as a union of products; None where it is not known to be one.

    >>> [[str(factor) for factor in part.factors] for part in product_parts(Marginals((2, 3), way=1))]
    [['histogram of 2 cells', 'total'], ['total', 'histogram of 3 cells']]
    """
    if len(workload.domain) == 1:
        return [ProductPart(1.0, (workload,))]
    match workload:
        case Identity() | Total():
            return [ProductPart(1.0, tuple(type(workload)(side) for side in workload.domain))]
        case Marginals():
            return [ProductPart(1.0, _axis_factors(workload.domain, axes)) for axes in workload.axes]
        case Kronecker():
            lists = [product_parts(factor) for factor in workload.factors]
            known = [parts for parts in lists if parts is not None]
            return [_product_of(chosen) for chosen in itertools.product(*known)] if len(known) == len(lists) else None
        case Stack():
            lists = [product_parts(part) for part in workload.parts]
            known = [parts for parts in lists if parts is not None]
            return list(itertools.chain(*known)) if len(known) == len(lists) else None
        case Weighted():
            return _weighted_parts(workload)
        case _:
            return None


def _axis_factors(domain: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Queries, ...]:
    return tuple(Identity(side) if axis in axes else Total(side) for axis, side in enumerate(domain))


def _product_of(parts: tuple[ProductPart, ...]) -> ProductPart:
    factors = itertools.chain.from_iterable(part.factors for part in parts)
    return ProductPart(math.prod(part.weight for part in parts), tuple(factors))


def _weighted_parts(workload: Weighted) -> list[ProductPart] | None:
    """The parts, if all queries of each part have the same weight; the queries of a part are consecutive."""
    parts = product_parts(workload.queries) if not isinstance(workload.queries, Kronecker) else None
    if np.ptp(workload.weights) == 0:
        parts = product_parts(workload.queries)
    if parts is None:
        return None
    counts = [math.prod(factor.count for factor in part.factors) for part in parts]
    own = np.split(workload.weights, np.cumsum(counts)[:-1])
    if any(np.ptp(weights) > 0 for weights in own):
        return None
    return [
        ProductPart(part.weight * abs(float(weights[0])), part.factors)
        for part, weights in zip(parts, own, strict=True)
        if weights[0]
    ]


_MOST_NUMBERS = 1 << 22


def energies_by_axes(workload: Queries) -> Reals | None:  # noqa: PLR0911
    """tr(P_T·WᵀW) for every set T of axes, numbered by its bits; None if it cannot be computed without writing W out.

    >>> energies_by_axes(Marginals((2, 3), way=1))  # of no axis, the first, the second, both
    array([5., 3., 4., 0.])
    """
    if len(workload.domain) == 1:
        return _energies_of_line(workload)
    match workload:
        case Ranges():
            return _energies_of_boxes(workload, np.ones(workload.count))
        case Weighted(queries=Ranges() as boxes):
            return _energies_of_boxes(boxes, workload.weights)
        case Kronecker():
            factors = [energies_by_axes(factor) for factor in workload.factors]
            known = [factor for factor in factors if factor is not None]
            return _energies_of_product(known) if len(known) == len(factors) else None
        case Stack():
            parts: Sequence[Queries] = workload.parts
        case Weighted(queries=Stack() as stack):
            pairs = zip(stack.parts, stack.split(workload.weights), strict=True)
            parts = [Weighted(part, weights) for part, weights in pairs]
        case Weighted() if np.ptp(workload.weights) == 0:
            energies = energies_by_axes(workload.queries)
            return None if energies is None else energies * float(workload.weights[0]) ** 2
        case _:
            products = product_parts(workload)
            if products is None:
                return None
            total = np.zeros(1 << len(workload.domain))
            for part in products:
                total += part.weight**2 * _energies_of_product([_energies_of_line(factor) for factor in part.factors])
            return total
    by_part = [energies_by_axes(part) for part in parts]
    known = [part for part in by_part if part is not None]
    return np.asarray(sum(known)) if len(known) == len(parts) else None


def _energies_of_line(workload: Queries) -> Reals:
    """‖W·1‖²/n, and the rest of ‖W‖²."""
    mean = float(np.square(workload @ np.ones(workload.cells)).sum()) / workload.cells
    return np.array([mean, max(0.0, workload.squared_norm() - mean)])


def _energies_of_product(factors: Sequence[Reals]) -> Reals:
    """Later factors have the higher bits."""
    return functools.reduce(lambda low, high: np.multiply.outer(high, low).reshape(-1), factors)


def _energies_of_boxes(workload: Ranges, weights: Reals) -> Reals:
    """A side of length k on an axis of n cells has the energies k²/n and k − k²/n."""
    lengths = (workload.upper - workload.lower + 1).astype(np.float64)
    total = np.zeros(1 << len(workload.domain))
    for first in range(0, workload.count, chunk := max(1, _MOST_NUMBERS >> len(workload.domain))):
        table = np.square(weights[first : first + chunk])[:, None]
        for axis, side in enumerate(workload.domain):
            own = lengths[first : first + chunk, axis]
            pair = np.stack([own**2 / side, own - own**2 / side], axis=1)
            table = (pair[:, :, None] * table[:, None, :]).reshape(len(own), -1)
        total += table.sum(axis=0)
    return total


Parts = list[tuple[int, Queries]]
"""Query sets about one stripe, each with the number of times that it is asked over all stripes."""
_MOST_KINDS = 64
"""Ranges with more different numbers of stripes than this are weighted individually."""
_MOST_REPEATED = 64
"""Parts that are asked more often are repeated if this makes at most this many copies in all; otherwise weighted."""


def along_axis(domain: tuple[int, ...], axis: int) -> int:
    """The number of an axis, or an error if the domain has no such axis."""
    along = whole(axis, "axis", 0)
    if along >= len(domain):
        raise BadInput(f"axes are numbered 0 … {len(domain) - 1} for the domain {domain}, given {along}.")
    return along


def stripe_parts(workload: Queries, axis: int) -> Parts | None:  # noqa: PLR0911
    """The queries about single stripes along *axis*: if the errors of all stripes are independent and identically
    distributed with mean zero, then E‖W·e‖² = Σ (times asked)·E‖part·e′‖², for e′ the error of one stripe.

    For stripe s let W_s be the columns of W in it. Then E‖W·e‖² = Σ_s E‖W_s·e_s‖², and for products, marginals and
    boxes the W_s are copies of a few query sets. None for other workloads.

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
            return _stripes_of_boxes(workload, along)
        case Kronecker():
            return _stripes_of_product(workload, along)
        case Stack():
            lists = [stripe_parts(part, along) for part in workload.parts]
            return (
                None
                if any(parts is None for parts in lists)
                else _added_up(parts for parts in lists if parts is not None)
            )
        case _:
            return None


def stripe_workload(workload: Queries, axis: int) -> Queries:
    """A workload for one stripe that represents the queries about all stripes: in the same proportions where these
    are known, otherwise all prefix sums.

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
    """Flat values of this shape as one row for each stripe along an axis; leading axes are kept.

    >>> stripes_of(np.arange(6), (2, 3), 0)
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    leading = values.shape[:-1]
    table = np.moveaxis(values.reshape(*leading, *shape), len(leading) + axis, -1)
    return np.ascontiguousarray(table).reshape(*leading, -1, shape[axis])


def whole_of(stripes: Array, shape: tuple[int, ...], axis: int) -> Array:
    """The inverse of :func:`stripes_of`.

    >>> whole_of(np.array([[0, 3], [1, 4], [2, 5]]), (2, 3), 0)
    array([0, 1, 2, 3, 4, 5])
    """
    leading = stripes.shape[:-2]
    others = [side for number, side in enumerate(shape) if number != axis]
    table = np.moveaxis(stripes.reshape(*leading, *others, shape[axis]), -1, len(leading) + axis)
    return np.ascontiguousarray(table).reshape(*leading, -1)


def _stripes_of_product(workload: Kronecker, along: int) -> Parts | None:
    """The factor that the axis belongs to, asked as often as the product of the other factors' squared norms."""
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


def _stripes_of_boxes(workload: Ranges, along: int) -> Parts | None:
    """A box asks each stripe that it meets for the same interval. Boxes that meet the same number of stripes form one
    part."""
    sides = np.delete(workload.upper - workload.lower + 1, along, axis=1)
    met = sides.prod(axis=1)
    numbers = np.unique(met)
    lower, upper = workload.lower[:, along, None], workload.upper[:, along, None]
    line = workload.domain[along]
    if numbers.size > _MOST_KINDS:
        return [(1, Weighted(Ranges(line, lower, upper), np.sqrt(met)))]
    return [(int(number), Ranges(line, lower[met == number], upper[met == number])) for number in numbers]


def _added_up(lists: Iterable[Parts]) -> Parts:
    """All parts; query sets that compare equal (single cells, totals) are counted together."""
    times: dict[Queries, int] = {}
    for number, queries in (pair for parts in lists for pair in parts):
        times[queries] = times.get(queries, 0) + number
    return [(number, queries) for queries, number in times.items()]
