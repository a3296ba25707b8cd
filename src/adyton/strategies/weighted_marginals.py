"""OPT_M: weighted marginals, optimised for a workload of marginals.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. Let the marginal over the axes S have weight θ_S. On the cells, the strategy's AᵀA = Σ_S θ_S²·⊗_i
(1 if i ∈ S else J), J the matrix of ones, has for every set T of axes one eigenvalue

    λ_T = Σ_{S ⊇ T} θ_S²·Π_{i ∉ S} n_i,   with multiplicity Π_{i ∈ T} (n_i − 1),

and the workload the eigenvalues ω_T, likewise, on the same spaces. The sensitivity is Σθ, so the squared error is
(Σθ)²·Σ_T multiplicity_T·ω_T/λ_T, to be minimised over the 2^d weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Marginals
from adyton.strategies.base import Strategy

_MOST_AXES = 12
_LEAST = 1e-6
_SEED, _RANDOM_STARTS = 20180901, 6
_NEGLIGIBLE = 5e-4
"""Marginals are left out as long as the logarithm of the squared error grows by no more than this."""


def weighted_marginals(workload: Marginals) -> Strategy:
    """The best weights for marginals; beyond twelve axes, the workload itself with equal weights.

    >>> print(weighted_marginals(Marginals((10, 10), [(0,), (1,)])).queries)
    2 marginals of 10 × 10 cells
    """
    axes = len(workload.domain)
    if axes > _MOST_AXES:
        return Strategy(workload)
    theta = optimal_weights(workload)
    sets = [tuple(axis for axis in range(axes) if number >> axis & 1) for number in np.flatnonzero(theta)]
    queries = Marginals(workload.domain, sets)
    return Strategy(queries, np.repeat(theta[theta > 0], queries.sizes))


def optimal_weights(workload: Marginals) -> Reals:
    """θ for every set of axes, numbered by its bits, with sum 1; those that hardly matter are 0."""
    from scipy.optimize import Bounds, minimize

    importance, summed, asked = _spaces(workload)

    def logarithm(theta: Reals) -> tuple[float, Reals]:
        eigenvalues = np.where(importance > 0, _over_supersets(theta**2 * summed), 1.0)
        terms = importance / eigenvalues
        total, error = theta.sum(), terms.sum()
        slope = -2 * theta * summed * _over_subsets(terms / eigenvalues)
        return float(2 * np.log(total) + np.log(error)), 2 / total + slope / error

    options: Any = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-12}
    bounds = Bounds(np.where(asked > 0, _LEAST, 0.0), np.inf)
    best, least = np.ones(asked.size), np.inf
    for start in _starts(asked):
        found = minimize(logarithm, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        if found.fun < least:
            best, least = found.x, float(found.fun)
    for threshold in (1e-1, 1e-2, 1e-3, 1e-4):
        kept = np.where(best > threshold * best.max(), best, 0.0)
        with np.errstate(divide="ignore"):
            if logarithm(kept)[0] <= least + _NEGLIGIBLE:
                return np.asarray(kept / kept.sum())
    return np.asarray(best / best.sum())


def _starts(asked: Reals) -> list[Reals]:
    """What is asked, everything, the whole table, and some at random: the error has local minima."""
    random = np.random.default_rng(_SEED)
    table = np.full(asked.size, 0.05)
    table[-1] = 1.0
    return [
        np.where(asked > 0, 1.0, 0.05),
        np.ones(asked.size),
        table,
        *(random.exponential(size=(_RANDOM_STARTS, asked.size)) ** 3 + 1e-3),
    ]


def _spaces(workload: Marginals) -> tuple[Reals, Reals, Reals]:
    """For every set of axes: multiplicity·ω, how many cells its marginal sums up in one, and how often it is asked."""
    numbers = np.arange(1 << len(workload.domain))
    sizes = np.array(workload.domain, dtype=np.float64)
    members = (numbers[:, None] >> np.arange(sizes.size) & 1).astype(bool)
    summed = np.where(members, 1.0, sizes).prod(axis=1)
    multiplicity = np.where(members, sizes - 1, 1.0).prod(axis=1)
    asked = np.bincount([sum(1 << axis for axis in chosen) for chosen in workload.axes], minlength=numbers.size)
    return multiplicity * _over_supersets(asked * summed), summed, asked.astype(np.float64)


def _over_supersets(values: Reals) -> Reals:
    """For every set the sum over all sets that contain it."""
    table = values.reshape((2,) * (values.size.bit_length() - 1)).astype(np.float64)
    for axis in range(table.ndim):
        table = np.flip(np.flip(table, axis).cumsum(axis=axis), axis)
    return table.reshape(-1)


def _over_subsets(values: Reals) -> Reals:
    """For every set the sum over all sets that it contains."""
    table = values.reshape((2,) * (values.size.bit_length() - 1))
    for axis in range(table.ndim):
        table = table.cumsum(axis=axis)
    return table.reshape(-1)
