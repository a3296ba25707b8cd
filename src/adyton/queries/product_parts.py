"""Workloads as unions of products: for each part, one query set along every axis."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from adyton.queries.base import Queries
from adyton.queries.basic import Identity, Total
from adyton.queries.combined import Kronecker, Stack
from adyton.queries.marginals import Marginals
from adyton.queries.weighted import Weighted


@dataclass(frozen=True, eq=False)
class ProductPart:
    """The products of one query from every factor, all with one weight."""

    weight: float
    factors: tuple[Queries, ...]
    """One for each axis."""


def product_parts(workload: Queries) -> list[ProductPart] | None:  # noqa: PLR0911
    """The workload as a union of products; None where it is none, or not seen to be one.

    >>> [[str(factor) for factor in part.factors] for part in product_parts(Marginals((2, 3), way=1))]
    [['histogram of 2 cells', 'total'], ['total', 'histogram of 3 cells']]
    """
    if len(workload.domain) == 1:
        return [ProductPart(1.0, (workload,))]
    match workload:
        case Identity() | Total():
            return [ProductPart(1.0, tuple(type(workload)(side) for side in workload.domain))]
        case Marginals():
            return [ProductPart(1.0, _of_marginal(workload.domain, axes)) for axes in workload.axes]
        case Kronecker():
            found = [product_parts(factor) for factor in workload.factors]
            known = [parts for parts in found if parts is not None]
            return [_joined(chosen) for chosen in itertools.product(*known)] if len(known) == len(found) else None
        case Stack():
            found = [product_parts(part) for part in workload.parts]
            known = [parts for parts in found if parts is not None]
            return list(itertools.chain(*known)) if len(known) == len(found) else None
        case Weighted():
            return _of_weighted(workload)
        case _:
            return None


def _of_marginal(domain: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Queries, ...]:
    return tuple(Identity(side) if axis in axes else Total(side) for axis, side in enumerate(domain))


def _joined(parts: tuple[ProductPart, ...]) -> ProductPart:
    factors = itertools.chain.from_iterable(part.factors for part in parts)
    return ProductPart(math.prod(part.weight for part in parts), tuple(factors))


def _of_weighted(workload: Weighted) -> list[ProductPart] | None:
    """Where all queries of a part weigh alike: a part's queries stand together."""
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
