"""A parameter of an interval, or a point of a grid, chosen by its utility on private instances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice
from adyton.kernel.instances.votes import ADD_REMOVE, PrivateInstances, StepSums, StepVote
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import InstancesShape, SourceShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.whole import IntegerArray


@dataclass(frozen=True)
class ChosenPoint(Mechanism):
    """The number of a point of a public grid, by permute-and-flip on the sums of all votes.

    Claim.  ε-DP for sets of instances that differ by one instance added, removed or (if the relation is ``replace``)
    replaced by another; or by all instances of one owner, if votes are those of owners.
    Proof.  A vote is a whole number of 0 … 2²⁰ at every point, clipped, and depends on its own instance (owner) alone;
    so the sums change by amounts that lie in an interval of length R = 2²⁰, or R = 2²¹ if one vote is removed and
    another added. The points are public. By the lemma on differences of scores
    (:class:`~adyton.kernel.mechanisms.selection.Selection`) permute-and-flip with sharpness ε/R is ε-DP.  ∎
    """

    takes = InstancesShape

    def check(self, source: InstancesShape) -> None:
        """A grid."""
        if source.interval:
            raise BadInput("these instances have an interval of parameters, not a grid. Choose a parameter with tune.")

    def size(self, source: InstancesShape, epsilon: Fraction) -> Size:
        """A flip for every point."""
        return Size(8 * source.points, 4096 * source.points)

    def draw(self, data: PrivateInstances, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The number of a point for each trial."""
        assert isinstance(data.parameters, int)
        scores = data.sums.at(np.arange(data.parameters))
        return np.array([[noise.permute_and_flip(scores, epsilon / data.spread)] for _ in range(trials)])

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> int | Places:
        """The number; an array of them in a simulation of several trials."""
        return int(output[0]) if output.ndim == 1 else output[:, 0]

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Vectors of counts stand for sums of votes: one row more is a vote for its cell."""

        def prepared(counts: IntegerArray) -> PrivateInstances:
            return PrivateInstances(StepSums(np.arange(counts.size), counts * UNIT), int(counts.size), ADD_REMOVE)

        return [AuditCase("chosen point", cls(), (4,), prepared, reaches_epsilon=False, enumerable=True)]

    def __str__(self) -> str:
        return "chosen point of a grid"


@dataclass(frozen=True)
class TunedParameter(Mechanism):
    """One of the 2³² points of a public lattice, by the exponential mechanism on the sum U of all votes.

    Balcan, Dick and Vitercik, "Differentially private algorithm configuration" (2017). The point at place k is chosen
    with probability ∝ e^{c·U(k)}, where c = ε/R and R is the most by which one neighbour can move two sums relative to
    each other: 2²⁰ if an instance is added or removed, 2²¹ if one is replaced. With a ``default``, the current value,
    there is one more outcome: it has half of the prior, as much as all points together, and its utility is U at the
    point nearest to it.

    The places are divided into pieces at the starts of the votes' pieces. For each piece a top T ≥ U is known; a piece
    j of n_j places is drawn with probability ∝ n_j·e^{c·T_j}, exactly, then one of its places uniformly, which is kept
    with probability e^{−c·(T_j − U)}, exactly; otherwise both are drawn again. If votes are step functions, T = U, and
    the first draw is kept. If they are smooth between their starts (not piecewise constant), T is an envelope.

    Claim.  ε-DP for sets of instances that differ by one instance added, removed or (if the relation is ``replace``)
    replaced by another; or by all instances of one owner, if votes are those of owners.
    Proof.  A vote is a whole number of 0 … 2²⁰ at every place, clipped, and depends on its own instance (owner) alone;
    so U changes by amounts that lie in an interval of length R = 2²⁰, or R = 2²¹ if one vote is removed and another
    added. A place k of piece j is drawn and kept with a probability proportional to
    n_j·e^{c·T_j}·(1/n_j)·e^{−c·(T_j − U(k))} = e^{c·U(k)}, for any pieces and tops with T ≥ U: the distribution does
    not depend on how the data divide the interval, and every place of the lattice is possible, not only the starts.
    This is the exponential mechanism with a public prior, and by the lemma on differences of scores
    (:class:`~adyton.kernel.mechanisms.selection.Selection`) it is ε-DP with sharpness c = ε/R. The numbers of instances
    and pieces are not published.  ∎
    """

    takes = InstancesShape
    default: float | None = None

    def check(self, source: InstancesShape) -> None:
        """An interval, and a default that lies in it."""
        if not source.interval:
            raise BadInput("these instances have a grid of points, not an interval. Choose a point with choose_point.")
        low, high = source.interval
        if self.default is None:
            return
        if not (math.isfinite(self.default) and low <= self.default <= high):
            raise BadInput(
                f"default must lie in the interval from {low:g} to {high:g}, given {shorten(self.default)}. "
                "Widen the interval, or leave default out."
            )
        Lattice(low, high).nearest(self.default)  # compiled now, so that nothing can fail after the debit

    def size(self, source: InstancesShape, epsilon: Fraction) -> Size:
        """The sums are computed already; a draw takes a few passes over them."""
        return Size(1 << 20, 1 << 26)

    def draw(self, data: PrivateInstances, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """A place for each trial; 2³² for the default."""
        sums, rate = data.sums, epsilon / data.spread
        starts, tops = sums.starts, sums.tops
        counts = np.diff(np.append(starts, POINTS))
        if self.default is not None:
            assert isinstance(data.parameters, Lattice)
            at_default = sums.at(np.array([data.parameters.nearest(self.default)]))
            starts, tops = np.append(starts, POINTS), np.append(tops, at_default)
            counts = np.append(counts, POINTS)  # as much prior as all places
        gaps = tops.max() - tops
        places = np.empty(trials, dtype=np.int64)
        left = np.arange(trials)
        while left.size:
            pieces = noise.exponential_choices(left.size, counts, gaps, rate)
            drawn = _uniform_places(pieces, starts, counts, noise)
            kept = np.ones(left.size, dtype=bool)
            if not sums.exact:
                inside = np.flatnonzero(drawn < POINTS)
                short = tops[pieces[inside]] - sums.at(drawn[inside])
                kept[inside] = [noise.bernoulli_exp(rate * max(gap, 0)) for gap in short.tolist()]
            places[left[kept]] = drawn[kept]
            left = left[~kept]
        return places[:, None]

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> int | Places:
        """The place; an array of them in a simulation of several trials."""
        return int(output[0]) if output.ndim == 1 else output[:, 0]

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Sets of four kinds of made-up instances, without and with a default."""
        return [  # the exact loss is computed by adyton_lab.audit.tuning, and reaches ε there
            AuditCase(str(tuned), tuned, (4,), _made_up, _stretch, reaches_epsilon=False)
            for tuned in (cls(), cls(0.25))
        ]

    def __str__(self) -> str:
        return "tuned parameter" if self.default is None else f"tuned parameter, or {self.default:g}"


def _uniform_places(pieces: Places, starts: Places, counts: Places, noise: NoiseSource) -> Places:
    """A uniform place of each of these pieces; 2³² for the piece that stands for the default."""
    drawn = starts[pieces]
    for piece in np.unique(pieces[drawn < POINTS]):
        here = pieces == piece
        drawn[here] += noise.uniform_integers(int(here.sum()), int(counts[piece]))
    return drawn


_CUTS = np.array([0, 1, 2, 128, 130, 192, 256]) * (POINTS // 256)
_LEVELS = np.array([[0, 4, 0, 0, 0, 0], [4, 0, 4, 0, 0, 4], [1, 1, 1, 2, 2, 3], [4, 4, 4, 0, 4, 4]]) * (UNIT // 4)


def _made_up(counts: IntegerArray) -> PrivateInstances:
    """A set with these counts of the four instances, for an auditor."""
    votes = [StepVote(_CUTS[:-1], levels * int(count)) for levels, count in zip(_LEVELS, counts, strict=True)]
    return PrivateInstances(StepSums.of(votes), Lattice(0.0, 1.0), ADD_REMOVE)


def _stretch(outputs: IntegerArray, left: IntegerArray, right: IntegerArray, epsilon: Fraction) -> IntegerArray:
    """The stretch between two cuts in which an output lies."""
    return np.searchsorted(_CUTS, outputs[:, 0], "right")
