"""How much a workload asks about each set of axes: what depends on them together, and on no other.

Functions of the cells fall apart into 2^d orthogonal spaces for d axes, one for every set T of axes: those that vary
along each axis of T with mean zero, and are constant along all others. P_T is the projection on that space. Strategies
of marginals have one variance in each, so that their error on W follows from the energies tr(P_T·WᵀW).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.queries.base import Queries
from adyton.queries.basic import Identity, Total
from adyton.queries.combined import Kronecker, Stack
from adyton.queries.marginals import Marginals
from adyton.queries.ranges import Ranges
from adyton.queries.weighted import Weighted

_MOST_NUMBERS = 1 << 22


def energies_by_axes(workload: Queries) -> Reals | None:  # noqa: PLR0911
    """tr(P_T·WᵀW) for every set T of axes, numbered by its bits; None where it is not known without writing W out.

    >>> energies_by_axes(Marginals((2, 3), way=1))  # of no axis, the first, the second, both
    array([5., 3., 4., 0.])
    """
    if len(workload.domain) == 1:
        return _of_line(workload)
    match workload:
        case Identity() | Total():
            return _product([_of_line(type(workload)(side)) for side in workload.domain])
        case Marginals():
            return np.asarray(sum(_of_marginal(workload.domain, axes) for axes in workload.axes))
        case Kronecker():
            factors = [energies_by_axes(factor) for factor in workload.factors]
            known = [factor for factor in factors if factor is not None]
            return _product(known) if len(known) == len(factors) else None
        case Stack():
            parts = [energies_by_axes(part) for part in workload.parts]
            known = [part for part in parts if part is not None]
            return np.asarray(sum(known)) if len(known) == len(parts) else None
        case Ranges():
            return _of_boxes(workload, np.ones(workload.count))
        case Weighted():
            return _of_weighted(workload)
        case _:
            return None


def _of_line(workload: Queries) -> Reals:
    """‖W·1‖²/n, and the rest of ‖W‖²."""
    mean = float(np.square(workload @ np.ones(workload.cells)).sum()) / workload.cells
    return np.array([mean, max(0.0, workload.squared_norm() - mean)])


def _product(factors: Sequence[Reals]) -> Reals:
    """Later factors have the higher bits."""
    return functools.reduce(lambda low, high: np.multiply.outer(high, low).reshape(-1), factors)


def _of_marginal(domain: tuple[int, ...], axes: tuple[int, ...]) -> Reals:
    sides = enumerate(domain)
    return _product([np.array([1.0, side - 1.0]) if axis in axes else np.array([side, 0.0]) for axis, side in sides])


def _of_boxes(workload: Ranges, weights: Reals) -> Reals:
    """A side of length k out of n has k²/n and k − k²/n."""
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


def _of_weighted(workload: Weighted) -> Reals | None:
    """Where all queries of a part weigh alike."""
    inner, weights = workload.queries, workload.weights
    match inner:
        case Ranges():
            return _of_boxes(inner, weights)
        case Marginals():
            parts: list[Queries] = [Marginals(inner.domain, [axes]) for axes in inner.axes]
        case Stack():
            parts = list(inner.parts)
        case _:
            parts = [inner]
    total = np.zeros(1 << len(workload.domain))
    for part, own in zip(parts, np.split(weights, np.cumsum([part.count for part in parts])[:-1]), strict=True):
        even = np.ptp(own) == 0
        if not even and not isinstance(inner, Stack):
            return None
        energies = energies_by_axes(part if even else Weighted(part, own))
        if energies is None:
            return None
        total += energies * (float(own[0]) ** 2 if even else 1.0)
    return total
