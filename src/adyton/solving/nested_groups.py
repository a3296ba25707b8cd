"""Least squares on groups inside groups, each level measured on its own, or only in part, or not at all.

The same estimate as :class:`adyton.solving.trees.TreeSolver` gives, for few levels whose groups were found on noisy
answers a moment ago: nothing is prepared, the cells need no order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.queries.base import scatter


class Layer(NamedTuple):
    """The answers for one level of groups (or of cells), and in which group of the next level each of them lies."""

    answers: npt.ArrayLike
    """Along the last axis; axes in front are independent trials."""
    variances: npt.ArrayLike
    """One for all, or one each; infinite where there is no answer: what stands there is not read."""
    inside: npt.NDArray[np.int64] | None = None
    """The number of the next level's group that each lies in; None for the last level."""


def nested_least_squares(*layers: Layer) -> Reals:
    """The finest level's counts that fit all the answers best, each weighted by its noise; from fine to coarse layers.

    Upwards, the estimate of a group is its members' sum with variance U = Σ u, averaged with its own answer. Downwards,
    what a group is found to hold more than its members is divided among them in proportion to their variances u; where
    there are cells below that nothing is known about, these take it in equal parts (Hay et al., "Boosting the accuracy
    of differentially private histograms through consistency", PVLDB 2010, for unequal noise).

    >>> cells = Layer([1.0, 2.0, 6.0], 1.0, np.array([0, 0, 1]))
    >>> nested_least_squares(cells, Layer([5.0, 8.0], [2.0, 1.0]))
    array([1.5, 2.5, 7. ])
    """
    if not layers or any(layer.inside is None for layer in layers[:-1]):
        raise BadInput("give at least one layer, and for each but the last one the groups that its members lie in.")
    noise = [_noise(layer) for layer in layers]
    sums = np.where(np.isinf(noise[0]), 0.0, np.asarray(layers[0].answers, dtype=np.float64))
    cells, known, lost = sums, noise[0], np.isinf(noise[0]).astype(np.float64)
    surpluses, shares = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for below, layer, own in zip(layers, layers[1:], noise[1:], strict=False):
            inside = below.inside
            missing, variance = (scatter(part, inside, own.size) for part in (lost, known))  # type: ignore[arg-type]
            shares.append(np.where(missing[inside] > 0, lost / missing[inside], known / variance[inside]))
            within = scatter(sums, inside, own.size)  # type: ignore[arg-type]
            gain = np.where(np.isinf(variance), 1.0, variance / (variance + own))
            surplus = np.where(np.isinf(own), 0.0, gain * (np.asarray(layer.answers, dtype=np.float64) - within))
            surpluses.append(surplus)
            sums, known = within + surplus, 1 / (1 / own + 1 / variance)
            lost = np.where(np.isinf(known), missing, 0.0)
    extra: Reals = np.zeros(1)
    for layer, share, surplus in zip(layers[-2::-1], shares[::-1], surpluses[::-1], strict=True):
        extra = (surplus + extra)[..., layer.inside] * share
    return np.asarray(cells + extra)


def _noise(layer: Layer) -> Reals:
    return np.broadcast_to(np.asarray(layer.variances, dtype=np.float64), np.shape(layer.answers)[-1:])
