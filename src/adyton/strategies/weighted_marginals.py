"""OPT_M: weighted marginals, optimised for a workload.

McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential
privacy", PVLDB 2018. Let the marginal over the axes S have weight θ_S. On the cells, the strategy's AᵀA = Σ_S θ_S²·⊗_i
(1 if i ∈ S else J), J the matrix of ones, has for every set T of axes one eigenvalue

    λ_T = Σ_{S ⊇ T} θ_S²·Π_{i ∉ S} n_i.

The sensitivity is Σθ, so that the squared error is (Σθ)²·Σ_T E_T/λ_T, to be minimised over the 2^d weights. E_T is how
much the workload asks about T (:mod:`adyton.queries.energies_by_axes`): marginals that count more than others, products
over the axes and boxes have these numbers in closed form. The error is not convex in θ; there are several starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Marginals, Queries
from adyton.queries.energies_by_axes import energies_by_axes
from adyton.solving.marginals_solver import over_supersets
from adyton.strategies.base import Strategy
from adyton.threads import one_thread

MOST_AXES = 12
_LEAST = 1e-6
_SEED, _RANDOM_STARTS = 20180901, 6
_NEGLIGIBLE = 5e-4
"""Marginals are left out as long as the logarithm of the squared error grows by no more than this."""
_NOTHING = 1e-12


def weighted_marginals(workload: Queries) -> tuple[Strategy, float] | None:
    """The best weights for marginals, and the squared error, with variance 1 at weight 1.

    None beyond twelve axes, and for workloads of which it is not known what they ask about sets of axes.

    >>> found = weighted_marginals(Marginals((10, 10), [(0,), (1,)]))
    >>> str(found[0].queries), round(found[1])
    ('2 marginals of 10 × 10 cells', 76)
    """
    axes = len(workload.domain)
    energies = energies_by_axes(workload) if axes <= MOST_AXES else None
    if energies is None or not energies.any():
        return None
    theta, error = optimal_weights(workload.domain, energies)
    sets = [tuple(axis for axis in range(axes) if number >> axis & 1) for number in np.flatnonzero(theta)]
    queries = Marginals(workload.domain, sets)
    return Strategy(queries, np.repeat(theta[theta > 0], queries.sizes)), error


def optimal_weights(domain: tuple[int, ...], energies: Reals) -> tuple[Reals, float]:
    """θ for every set of axes, numbered by its bits, with sum 1, and the squared error; sets that hardly matter have
    weight 0."""
    from scipy.optimize import Bounds, minimize

    energies = np.where(energies > _NOTHING * energies.max(), energies, 0.0)
    summed = _summed(domain)
    asked = (energies > 0) & (over_supersets((energies > 0).astype(np.float64)) == 1)  # no larger set is asked about

    def logarithm(theta: Reals) -> tuple[float, Reals]:
        eigenvalues = np.where(energies > 0, over_supersets(theta**2 * summed), 1.0)
        terms = energies / eigenvalues
        total, error = theta.sum(), terms.sum()
        slope = -2 * theta * summed * _over_subsets(terms / eigenvalues)
        return float(2 * np.log(total) + np.log(error)), 2 / total + slope / error

    options: Any = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-12}
    bounds = Bounds(np.where(asked, _LEAST, 0.0), np.inf)
    best, least = np.ones(asked.size), np.inf
    with one_thread():
        for start in _starts(asked):
            found = minimize(logarithm, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            if found.fun < least:
                best, least = found.x, float(found.fun)
    for threshold in (1e-1, 1e-2, 1e-3, 1e-4):
        kept = np.where(best > threshold * best.max(), best, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = logarithm(kept)[0]
        if error <= least + _NEGLIGIBLE:
            best, least = kept, error
            break
    return np.asarray(best / best.sum()), float(np.exp(least))


def _starts(asked: Reals) -> list[Reals]:
    """What is asked, everything, the whole table, and some at random: the error has local minima."""
    random = np.random.default_rng(_SEED)
    table = np.full(asked.size, 0.05)
    table[-1] = 1.0
    return [
        np.where(asked, 1.0, 0.05),
        np.ones(asked.size),
        table,
        *(random.exponential(size=(_RANDOM_STARTS, asked.size)) ** 3 + 1e-3),
    ]


def _summed(domain: tuple[int, ...]) -> Reals:
    """For every set of axes, how many cells its marginal sums up in one."""
    members = (np.arange(1 << len(domain))[:, None] >> np.arange(len(domain)) & 1).astype(bool)
    return np.asarray(np.where(members, 1.0, np.array(domain, dtype=np.float64)).prod(axis=1))


def _over_subsets(values: Reals) -> Reals:
    """For every set the sum over all sets that it contains."""
    table = values.reshape((2,) * (values.size.bit_length() - 1))
    for axis in range(table.ndim):
        table = table.cumsum(axis=axis)
    return table.reshape(-1)
