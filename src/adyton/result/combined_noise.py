"""The noise of several releases put together: independent errors, each times its weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adyton.arrays import Reals
from adyton.plans.base import ErrorKind, ExpectedError
from adyton.queries import Queries
from adyton.remembered import cached_property
from adyton.result.interval import Kind
from adyton.result.intervals import NoiseModel
from adyton.result.simulated_runs import SimulatedRuns
from adyton.solving.noise_moments import Moments

_APART = 1 << 20
"""How far apart the seeds of the parts are: no two of them simulate with the same noise."""


@dataclass(frozen=True, eq=False)
class CombinedRuns(SimulatedRuns):
    """Simulated runs of all parts, added up."""

    parts: tuple[SimulatedRuns, ...] = ()
    weights: tuple[float, ...] = ()

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of combined answers: as many runs as the slowest part makes."""
        streams = [part.errors(queries, number, exact=exact, least=least) for part in self.parts]
        for pieces in _side_by_side(streams):
            yield sum((weight * piece for weight, piece in zip(self.weights, pieces, strict=True)), np.zeros(1))


@dataclass(frozen=True, eq=False)
class CombinedNoise(NoiseModel):
    """How a weighted average of independent estimates scatters. Cumulants of independent errors add up."""

    parts: tuple[NoiseModel, ...] = ()
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[NoiseModel], weights: Sequence[float], estimate: Reals) -> CombinedNoise:
        """Of estimates whose average is *estimate*."""
        first = parts[0]
        return cls(first.plan, first.workload, first.epsilon, estimate, tuple(parts), tuple(weights))

    def expected_error(self) -> ExpectedError | None:
        """√Σ (weight·error)², where each part has an error on all data and was made for the same task."""
        if any(part.workload is not self.workload for part in self.parts):
            return None
        found = [part.expected_error() for part in self.parts]
        errors = [error for error in found if error is not None]
        if len(errors) < len(found):
            return None
        total = math.hypot(*(weight * error.total for weight, error in zip(self.weights, errors, strict=True)))
        kind: ErrorKind = "exact" if all(error.kind == "exact" for error in errors) else "estimate"
        return ExpectedError(total, self.workload.count, kind)

    def kind(self, queries: Queries | None = None) -> Kind:
        """Exact where all parts are."""
        asked = self.workload if queries is None else queries
        return "exact" if all(part.kind(asked) == "exact" for part in self.parts) else "approximate"

    def moments(self, queries: Queries) -> Moments | None:
        """Σ weight²·variance and Σ weight⁴·fourth cumulant, where all are known."""
        found = [part.moments(queries) for part in self.parts]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        pairs = list(zip(self.weights, known, strict=True))
        variances = sum((weight**2 * one.variances for weight, one in pairs), np.zeros(1))
        fourths = sum((weight**4 * one.fourths for weight, one in pairs), np.zeros(1))
        return Moments(np.asarray(variances), np.asarray(fourths), any(one.at_most for one in known))

    def variances(self, queries: Queries) -> Reals:
        """Σ weight²·variance."""
        pairs = zip(self.weights, self.parts, strict=True)
        return np.asarray(sum((weight**2 * part.variances(queries) for weight, part in pairs), np.zeros(1)))

    def determines(self, queries: Queries) -> bool:
        """Where all parts do."""
        return all(part.determines(queries) for part in self.parts)

    @cached_property
    def runs(self) -> CombinedRuns:
        """Each part is run on data like the combined estimate, with noise of its own."""
        own = [
            replace(SimulatedRuns(part.plan, part.workload, part.epsilon, self.estimate), seed=(place + 1) * _APART)
            for place, part in enumerate(self.parts)
        ]
        return CombinedRuns(
            self.plan, self.workload, self.epsilon, self.estimate, parts=tuple(own), weights=self.weights
        )


def _side_by_side(streams: Sequence[Iterator[Reals]]) -> Iterator[list[Reals]]:
    """Batches of equal lengths out of streams of batches of any, until one of them ends.

    >>> one, other = iter([np.zeros((3, 1))]), iter([np.ones((1, 1)), np.ones((4, 1))])
    >>> [[len(piece) for piece in pieces] for pieces in _side_by_side([one, other])]
    [[1, 1], [2, 2]]
    """
    held: list[Reals | None] = [None] * len(streams)
    while True:
        for place, stream in enumerate(streams):
            if held[place] is None:
                held[place] = next(stream, None)
        ready = [piece for piece in held if piece is not None]
        if len(ready) < len(streams):
            return
        length = min(map(len, ready))
        yield [piece[:length] for piece in ready]
        held = [piece[length:] if len(piece) > length else None for piece in ready]
