"""The weighted average of several releases of the same cells, and how its errors scatter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from adyton.errors import BadInput
from adyton.exact import display
from adyton.queries import Queries
from adyton.result.combined_noise import CombinedNoise
from adyton.result.intervals import NoiseModel
from adyton.result.same_thing import joint_receipt

if TYPE_CHECKING:
    from adyton.result.release import Release

COMBINED = "combined"
"""What is said in place of an algorithm, of a release that was put together from several."""


def averaged(releases: Sequence[Release], weights: Sequence[float] | None = None) -> Release:
    """The average, with weights by noise if none are given. What was put together before comes apart first."""
    parts = [one for given in releases for one in given.parts or (given,)]
    own = _weights(parts) if weights is None else tuple(weights)
    estimate = sum((weight * part.estimate for weight, part in zip(own, parts, strict=True)), np.zeros(1))
    return replace(
        parts[0],
        algorithm=COMBINED,
        options={},
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        estimate=np.asarray(estimate),
        choice=None,
        receipt=joint_receipt([part.receipt for part in parts]),
        misfits=None,
        parts=tuple(parts),
        weights=own,
    )


def combined_noise(release: Release) -> CombinedNoise:
    """How the average scatters."""
    return CombinedNoise.of(_models(release.parts), release.weights, release.estimate)


def in_words(release: Release) -> str:
    """How it was put together."""
    told = ", ".join(
        f"{part.algorithm} with ε = {display(part.epsilon)} counts {100 * weight:.3g}%"
        for part, weight in zip(release.parts, release.weights, strict=True)
    )
    return f"Put together from {len(release.parts)} releases, weighted by their noise: {told}."


def share_noise(one: Release, other: Release) -> bool:
    """Whether the same counts, from the same entries of a ledger, are in both."""
    return any(
        left.receipt.entries == right.receipt.entries and np.array_equal(left.estimate, right.estimate)
        for left, right in itertools.product(one.parts or (one,), other.parts or (other,))
    )


def _models(parts: Sequence[Release]) -> list[NoiseModel]:
    """The noise of each part. Those that were made for the same task share one workload, so that it shows."""
    first = parts[0]
    return [replace(part.noise, workload=first.workload) if part.task == first.task else part.noise for part in parts]


def _weights(parts: Sequence[Release]) -> tuple[float, ...]:
    """In proportion to 1/E‖error‖² on the queries of the first."""
    models = _models(parts)
    asked = models[0].workload
    for part, model in zip(parts, models, strict=True):
        if part.task != parts[0].task and not model.determines(asked):
            raise BadInput(
                f"what was measured for {part.task} does not tell what {parts[0].task} asks for. Combine releases of "
                "the same task."
            )
    worth = np.array([1 / max(_square(model, asked), 1e-300) for model in models])
    return tuple((worth / worth.sum()).tolist())


def _square(model: NoiseModel, asked: Queries) -> float:
    """E‖error‖² of all answers."""
    computed = model.expected_error() if model.workload is asked else None
    return float((model.resampled_error(asked) if computed is None else computed).total ** 2)
