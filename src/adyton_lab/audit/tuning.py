"""Does a tuned parameter give away more than ε? Its distribution is enumerated on small sets of instances and their
neighbours.

The mechanism's own code is run once for every piece that it can draw. A uniform draw of a place represents all places
of its piece, so an outcome is a stretch of places of equal probability; two distributions are compared on every
stretch of their common refinement.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Integers, Places
from adyton.configuration.family import Family
from adyton.exact import Rational
from adyton.kernel.instances.lattice import POINTS, Lattice, StepCurve, Utility
from adyton.kernel.instances.opening import survey
from adyton.kernel.instances.tuned_parameter import TunedParameter
from adyton.kernel.instances.votes import REPLACE, PrivateInstances
from adyton.kernel.operators import claim
from adyton.noise.source import Size
from adyton.whole import IntegerArray
from adyton_lab.audit.enumeration import TOLERANCE, EnumeratingSource, enumerate_distribution
from adyton_lab.audit.pairs import EPSILONS, Finding

Set = tuple[int, ...]
"""A set of instances, by the numbers of the toys."""
Law = dict[tuple[int, int], float]
"""The probability of every stretch: its first place, and how many places it has."""
_LATTICE = Lattice(0.0, 1.0)
_REGRET = Utility.named("regret")


class ToyFamily(Family[int]):
    """Six made-up instances: a small preferred range, its opposite, steps, no preference, absurd values, a failure."""

    name = "toy"
    interval = (0.0, 1.0)
    default = 0.5
    kind = int
    _cuts = np.array([0, 1, 500, 501, 900]) * (POINTS // 1000)
    _values = (
        (0, 10, 0, 0, 0),
        (10, 0, 10, 10, 10),
        (9.9, 9.7, 9.5, 9.2, 10),
        (1, 1, 1, 1, 1),
        (1e300, -1e300, 0, 5, 9),
    )
    toys = len(_values) + 1

    def run(self, instance: int, parameter: float) -> float:
        """The value of the piece in which the parameter lies."""
        return float(self.curve(instance, _LATTICE).at(np.array([_LATTICE.nearest(parameter)]))[0])

    def curve(self, instance: int, lattice: Lattice) -> StepCurve:
        """The values of the toy of this number; the last one fails."""
        return StepCurve(self._cuts, np.array(self._values[instance], dtype=np.float64))

    def examples(self) -> Sequence[int]:
        """The first toy."""
        return [0]


class _Stretches:
    """Draws like an enumerating source, except for places: the first place represents all places of its piece."""

    private = False

    def __init__(self, source: EnumeratingSource) -> None:
        self._source = source
        self.bernoulli_exp = source.bernoulli_exp
        self.length = 1

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        return self._source.exponential_choices(count, multiplicities, gaps, rate)

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        self.length = bound
        return np.zeros(size, dtype=np.int64)


def audit_tuning(
    neighbours: str,
    *,
    largest: int = 2,
    default: float | None = None,
    mechanism: TunedParameter | None = None,
    held: Callable[[Set, str], PrivateInstances] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Finding:
    """The largest loss over all sets of up to *largest* toys and all their neighbours, at every ε."""
    tuned, hold = mechanism or TunedParameter(default), held or held_toys
    name = f"{tuned}, {neighbours}"
    worst, pairs = 0.0, list(neighbouring(largest, neighbours))
    for epsilon in EPSILONS:
        laws = {
            side: law_of(tuned, hold(side, neighbours), epsilon) for side in {side for pair in pairs for side in pair}
        }
        loss, (left, right) = max((largest_loss(laws[pair[0]], laws[pair[1]]), pair) for pair in pairs)
        worst = max(worst, loss / float(epsilon))
        if loss > float(epsilon) + TOLERANCE:
            detail = f"loses {loss:.6g} at ε = {float(epsilon):g} on the toys {left} and {right}."
            return Finding("tuning", name, False, detail, {"loss/ε": worst})
        advance()
    figures = {"claim": claim(TunedParameter), "largest/ε": round(worst, 4), "pairs": len(pairs)}
    return Finding("tuning", name, worst > 0.9, f"at most {worst:.3f} of ε, enumerated exactly.", figures)


def neighbouring(largest: int, neighbours: str) -> Iterator[tuple[Set, Set]]:
    """All sets of up to *largest* toys, each with its neighbours."""
    toys = range(ToyFamily.toys)
    for size in range(largest + 1):
        for few in itertools.combinations_with_replacement(toys, size):
            for toy in toys:
                more = tuple(sorted((*few, toy)))
                yield few, more
                if neighbours == REPLACE:
                    yield from ((more, tuple(sorted((*few, other)))) for other in toys if other > toy)


def held_toys(toys: Set, neighbours: str) -> PrivateInstances:
    """What a kernel would hold for these toys."""
    family = ToyFamily()
    sums = survey(toys, lambda toy: family.curve(toy, _LATTICE), _LATTICE, _REGRET)
    return PrivateInstances(sums, _LATTICE, neighbours)


def law_of(mechanism: TunedParameter, data: PrivateInstances, epsilon: Fraction) -> Law:
    """The probability of every stretch of places."""

    def run(source: EnumeratingSource) -> tuple[int, int]:
        noise: Any = _Stretches(source)
        place = int(mechanism.draw(data, epsilon, noise, 1)[0, 0])
        return place, noise.length

    law: Any = enumerate_distribution(run)
    return dict(law)


def largest_loss(left: Law, right: Law) -> float:
    """The largest |ln P/Q| over places; infinite if some place is possible on one side only."""
    cuts = sorted({place for law in (left, right) for start, length in law for place in (start, start + length)})
    losses = [0.0]
    for cut in cuts:
        densities = [_density(law, cut) for law in (left, right)]
        if any(densities):
            losses.append(abs(math.log(densities[0] / densities[1])) if all(densities) else math.inf)
    return max(losses)


def _density(law: Law, place: int) -> float:
    return sum(chance / length for (start, length), chance in law.items() if start <= place < start + length)
