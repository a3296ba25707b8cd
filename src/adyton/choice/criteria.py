"""How mixed a set of training inputs is: the criteria by which Delphi's trees are split.

For each input the regret of every algorithm is known: its error divided by the least error of all. A criterion makes
some numbers of the regrets of an input, whose means over a set of inputs say how mixed the set is.

Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
SIGMOD 2017, section 5. Three of its four criteria do not do what they are meant to as they are printed:

* Group regret is to forgive the choice of an algorithm whose regret is at most θ above the best. But its groups are of
  algorithms with like *mean* regrets in the set, and these are alike too where one algorithm is bad on one half of the
  inputs and the other on the other half. A tree looks for such coincidences: a θ of 0.02 is enough to make it worse
  than no groups at all. Here the groups are made on each input. The printed one is :func:`mean_group_regret`.
* The mean regret over all algorithms is linear, so that the parts of a set have on average what the set has, and the
  variance of the mean regrets is convex, so that they have more. Here these criteria are what their names say: the
  least mean regret of an algorithm, and the variance of regrets inside the set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import no_such, shorten


@dataclass(frozen=True)
class Criterion:
    """Numbers of inputs, and how mixed a set with such means is: the lower, the better."""

    numbers: Callable[[Reals], Reals]
    """From regrets, inputs × algorithms: inputs × numbers."""
    impurity: Callable[[Reals], Reals]
    """From means of them, along the last axis, for many sets at once: one number a set."""


THETA = 0.5
"""How much worse than the best an algorithm may be and still be as good; chosen on the DPBench histograms."""
MEAN_THETA = 0.7
"""How far the mean regrets of a group may be apart."""


def near_best(regrets: Reals, theta: float) -> Reals:
    """The vote of each input, shared by all algorithms whose regret on it is at most 1 + theta.

    >>> near_best(np.array([[1.0, 1.2, 3.0]]), 0.5).tolist()
    [[0.5, 0.5, 0.0]]
    """
    _check(theta)
    near = regrets <= 1 + theta
    return np.asarray(near / near.sum(axis=-1, keepdims=True))


def best(regrets: Reals) -> Reals:
    """1 at the best algorithm of each input, 0 elsewhere."""
    return np.asarray(np.eye(regrets.shape[1])[np.argmin(regrets, axis=1)])


def gini(shares: Reals) -> Reals:
    """How often two inputs of the set disagree.

    >>> float(gini(np.array([0.5, 0.5])))
    0.5
    """
    return np.asarray(1 - np.square(shares).sum(axis=-1))


def mean_group_regret(means: Reals, theta: float) -> Reals:
    """Gini impurity of groups of algorithms whose mean regrets are within *theta*, for the best such groups.

    The means are the regrets r of all algorithms, then the shares t of inputs on which they are the best. The best
    groups are ranges of the algorithms in the order of their regrets (Claim 5.1), found by dynamic programming:
    g[j] = max_i g[i] + (Σ_{i ≤ k < j} t[k])², over ranges that are not wider than theta.

    >>> float(mean_group_regret(np.array([1.0, 1.1, 3.0, 0.5, 0.25, 0.25]), theta=0.7))
    0.375
    """
    _check(theta)
    regrets, shares = np.split(means, 2, axis=-1)
    order = np.argsort(regrets, axis=-1, kind="stable")
    ordered = np.take_along_axis(regrets, order, axis=-1)
    sums = np.cumsum(np.take_along_axis(shares, order, axis=-1), axis=-1)
    sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    highest = np.zeros(sums.shape)
    for end in range(1, sums.shape[-1]):
        near = ordered[..., end - 1 : end] - ordered[..., :end] <= theta
        gains = highest[..., :end] + np.square(sums[..., end : end + 1] - sums[..., :end])
        highest[..., end] = np.where(near, gains, -1.0).max(axis=-1)
    return np.asarray(1 - highest[..., -1])


def variance(means: Reals) -> Reals:
    """The variance of an algorithm's regret, on average over the algorithms, from mean regrets and mean squares.

    >>> float(variance(np.array([2.0, 1.0, 5.0, 1.0])))
    0.5
    """
    regrets, squares = np.split(means, 2, axis=-1)
    return np.asarray((squares - np.square(regrets)).mean(axis=-1))


CRITERIA = {
    "group-regret": Criterion(partial(near_best, theta=THETA), gini),
    "best-algorithm": Criterion(best, gini),
    "least-regret": Criterion(lambda regrets: regrets, lambda means: np.asarray(means.min(axis=-1))),
    "regret-variance": Criterion(lambda regrets: np.hstack([regrets, np.square(regrets)]), variance),
    "mean-group-regret": Criterion(
        lambda regrets: np.hstack([regrets, best(regrets)]), partial(mean_group_regret, theta=MEAN_THETA)
    ),
}


def criterion_named(name: str) -> Criterion:
    """The criterion of this name."""
    if name not in CRITERIA:
        raise BadInput(no_such("criterion", name, CRITERIA))
    return CRITERIA[name]


def _check(theta: float) -> None:
    if not theta >= 0:
        raise BadInput(f"theta must be at least 0, given {shorten(theta)}.")
