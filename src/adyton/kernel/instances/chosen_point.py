"""A point of a public grid of parameters, chosen by what it is worth on private instances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.instances.lattice import UNIT
from adyton.kernel.instances.private_instances import ADD_REMOVE, PrivateInstances
from adyton.kernel.instances.votes import StepSums
from adyton.kernel.operators import Mechanism
from adyton.kernel.shapes import InstancesShape, SourceShape
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.whole import IntegerArray


@dataclass(frozen=True)
class ChosenPoint(Mechanism):
    """The number of a point of a public grid, by permute-and-flip on the sums of all votes.

    Claim.  ε-DP for sets of instances of which one is added, removed or (if the relation is ``replace``) replaced by
    another; for the sets of one owner's instances, where votes are those of owners.
    Proof.  A vote is a whole number of 0 … 2²⁰ at every point, clipped, and depends on its own instance (owner) alone;
    so the sums change by amounts that lie in an interval of length R = 2²⁰, or R = 2²¹ where one vote is taken away and
    another added. The points are public. By the lemma on differences of scores
    (:class:`~adyton.kernel.mechanisms.selection.Selection`) permute-and-flip with sharpness ε/R is ε-DP.  ∎
    """

    takes = InstancesShape

    def check(self, source: InstancesShape) -> None:
        """A grid."""
        if source.interval:
            raise BadInput("these instances were asked about every parameter of an interval. Choose one with tune.")

    def size(self, source: InstancesShape, epsilon: Fraction) -> Size:
        """A flip for every point."""
        return Size(8 * source.points, 4096 * source.points)

    def parts(self, source: SourceShape) -> None:
        """One draw."""

    def draw(self, data: PrivateInstances, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The number of a point for each trial."""
        assert isinstance(data.parameters, int)
        scores = data.sums.at(np.arange(data.parameters))
        return np.array([[noise.permute_and_flip(scores, epsilon / data.spread)] for _ in range(trials)])

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> int | Places:
        """The number; several, in a simulation of several trials."""
        return int(output[0]) if output.ndim == 1 else output[:, 0]

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A vector of counts is as good as sums of votes: one row more is a vote for its cell."""

        def prepared(counts: IntegerArray) -> PrivateInstances:
            return PrivateInstances(StepSums(np.arange(counts.size), counts * UNIT), int(counts.size), ADD_REMOVE)

        return [AuditCase("chosen point", cls(), (4,), prepared, reaches_epsilon=False, enumerable=True)]

    def __str__(self) -> str:
        return "chosen point of a grid"
