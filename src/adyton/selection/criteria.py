"""How mixed a set of training inputs is: the four criteria by which Delphi's trees are split.

For each input the regret of every algorithm is known: its error divided by the least error of all. A set of inputs has
the mean regret r[A] of each algorithm, the mean r₂[A] of its square, and the share t[A] of the inputs on which it is
the best. Every criterion takes these, along the last axis, for many sets at once, and returns one number a set: the
lower, the better.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, section 5. Two of its four formulas cannot choose a split as they are printed: the mean of r over all
algorithms is linear, so that the parts of a set have on average what the set has, and the variance of r over the
algorithms is convex, so that they have more. Here these criteria are what their names say: the least mean regret of an
algorithm, and the variance of regrets inside the set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.messages import no_such, shorten
from adyton.queries.base import Reals

Criterion: TypeAlias = Callable[[Reals, Reals, Reals], Reals]

THETA = 0.7
"""Chosen on the histograms of the DPBench study, leave one out; larger than in the paper, whose figures are larger."""


def best_algorithm(regrets: Reals, squares: Reals, shares: Reals) -> Reals:
    """Gini impurity of the best algorithm: how often two inputs of the set disagree about it.

    >>> float(best_algorithm(np.ones(2), np.ones(2), np.array([0.5, 0.5])))
    0.5
    """
    return np.asarray(1 - np.square(shares).sum(axis=-1))


def group_regret(regrets: Reals, squares: Reals, shares: Reals, theta: float = THETA) -> Reals:
    """Gini impurity of groups of algorithms whose mean regrets are within *theta*, for the best such groups.

    The best groups are ranges of the algorithms in the order of their regrets (Claim 5.1), found by dynamic
    programming: g[j] = max_i g[i] + (Σ_{i ≤ k < j} t[k])², over ranges that are not wider than theta.

    >>> float(group_regret(np.array([1.0, 1.1, 3.0]), np.ones(3), np.array([0.5, 0.25, 0.25])))
    0.375
    """
    if not theta >= 0:
        raise BadInput(f"theta must be at least 0, given {shorten(theta)}.")
    order = np.argsort(regrets, axis=-1, kind="stable")
    ordered = np.take_along_axis(regrets, order, axis=-1)
    sums = np.cumsum(np.take_along_axis(shares, order, axis=-1), axis=-1)
    sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    best = np.zeros(sums.shape)
    for end in range(1, sums.shape[-1]):
        near = ordered[..., end - 1 : end] - ordered[..., :end] <= theta
        gains = best[..., :end] + np.square(sums[..., end : end + 1] - sums[..., :end])
        best[..., end] = np.where(near, gains, -1.0).max(axis=-1)
    return np.asarray(1 - best[..., -1])


def least_regret(regrets: Reals, squares: Reals, shares: Reals) -> Reals:
    """The least mean regret of an algorithm: what the set costs if it becomes a leaf.

    >>> float(least_regret(np.array([1.5, 3.0]), np.ones(2), np.array([0.5, 0.5])))
    1.5
    """
    return np.asarray(regrets.min(axis=-1))


def regret_variance(regrets: Reals, squares: Reals, shares: Reals) -> Reals:
    """The variance of an algorithm's regret inside the set, on average over the algorithms.

    >>> float(regret_variance(np.array([2.0, 1.0]), np.array([5.0, 1.0]), np.array([0.5, 0.5])))
    0.5
    """
    return np.asarray((squares - np.square(regrets)).mean(axis=-1))


CRITERIA: dict[str, Criterion] = {
    "group-regret": group_regret,
    "best-algorithm": best_algorithm,
    "least-regret": least_regret,
    "regret-variance": regret_variance,
}


def criterion_named(name: str) -> Criterion:
    """The criterion of this name."""
    if name not in CRITERIA:
        raise BadInput(no_such("criterion", name, CRITERIA))
    return CRITERIA[name]
