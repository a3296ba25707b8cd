"""Least squares on groups inside groups, each level measured on its own, or only in part, or not at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.solving.block_passes import BlockFit


class Layer(NamedTuple):
    """The answers for one level of groups (or of cells), and in which group of the next level each of them lies."""

    answers: npt.ArrayLike
    """Along the last axis; axes in front are independent trials."""
    variances: npt.ArrayLike
    """One for all, or one each; infinite where there is no answer: what stands there is not read."""
    inside: Places | None = None
    """The number of the next level's group that each lies in; None for the last level."""


def nested_least_squares(*layers: Layer) -> Reals:
    """The finest level's counts that fit all the answers best, each weighted by its noise; from fine to coarse layers.

    Groups need no order: they are sorted into a tree for the passes of :mod:`.block_passes`.

    >>> cells = Layer([1.0, 2.0, 6.0], 1.0, np.array([0, 0, 1]))
    >>> nested_least_squares(cells, Layer([5.0, 8.0], [2.0, 1.0]))
    array([1.5, 2.5, 7. ])
    """
    if not layers or any(layer.inside is None for layer in layers[:-1]):
        raise BadInput("give at least one layer, and for each but the last one the groups that its members lie in.")
    orders, parts = [np.arange(np.shape(layers[-1].answers)[-1])], []
    for layer in layers[-2::-1]:
        inside = np.argsort(orders[-1])[layer.inside]  # the places of the groups, sorted by what they lie in themselves
        parts.append(np.bincount(inside, minlength=orders[-1].size))
        orders.append(np.argsort(inside, kind="stable"))
    pairs = list(zip(layers[::-1], orders, strict=True))
    answers = [np.asarray(layer.answers, dtype=np.float64)[..., order] for layer, order in pairs]
    noise = [np.broadcast_to(layer.variances, order.shape)[order] for layer, order in pairs]
    offsets = np.cumsum(np.concatenate([[orders[0].size], *parts]))
    with np.errstate(divide="ignore"):
        precisions = 1 / np.concatenate(noise).astype(np.float64)
    fit = BlockFit.of(offsets, precisions, np.ones(orders[-1].size))
    found = fit.estimates(np.concatenate(answers, axis=-1))[..., -orders[-1].size :]
    result = np.empty_like(found)
    result[..., orders[-1]] = found
    return result
