"""What is promised about a tuned parameter: from public figures alone, whatever the instances are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.instances.lattice import POINTS
from adyton.kernel.instances.private_instances import ADD_REMOVE, spread
from adyton.kernel.instances.utility import UNIT, Utility
from adyton.messages import shorten
from adyton.whole import whole

WIDTH, FAILURE = 0.01, 0.05
_MOST_NEEDED = 10**15


@dataclass(frozen=True)
class Guarantee:
    """With probability 1 − ζ the parameter is nearly as good as the best one whose whole neighbourhood is as good.

    A utility of 1 is the best that a parameter can have on an instance: no regret, or the bound H; 0 is a regret of the
    clip h or more. Take any parameter, and let V be the least summed utility within an interval around it that is a
    share *width* of the whole one (w/L). Then with probability 1 − *failure* (ζ) the summed utility of the chosen
    parameter is at least

        V − (1/ε)·(ln(L/w) + ln(1/ζ)),

    with 2/ε in place of 1/ε where neighbours have an instance replaced, and ln 2 more in the bracket where half of the
    prior is on today's value. Of a grid it is compared with the best of its k points, nothing in between, with ln k in
    place of ln(L/w).

    Proof.  All parameters that fall short of V by more than x have together at most e^{c·(V − x)} of the weight, those
    of the neighbourhood at least e^{c·V} times their prior, which is w/L − 2⁻³² of the lattice, or half of that. The
    ratio is ζ for the x above, with c = ε, or ε/2. Permute-and-flip is never worse than the exponential mechanism at
    any error (McKenna and Sheldon, 2020).  ∎

    Levels are rounded to 2⁻²⁰, once at either parameter, and once more for the mean of an owner: that is added. A
    regret above the clip counts as the clip: what is promised is about regrets that are cut off there.

    >>> from adyton.kernel.instances.utility import Utility
    >>> promise = Guarantee(Fraction(1), "add-remove", Utility.named("regret"))
    >>> round(promise.average_loss(1000), 5), promise.instances_needed("0.001")
    (0.00076, 761)
    """

    epsilon: Fraction
    neighbours: str
    utility: Utility
    points: int | None = None
    """How many points a grid has; None for an interval."""
    has_default: bool = False
    """Whether half of the prior is on today's value."""
    by_owner: bool = False
    """Whether an owner has a vote, and not an instance."""

    def summed_loss(self, *, width: float = WIDTH, failure: float = FAILURE) -> float:
        """How much summed utility may be lost, in votes, without rounding: the formula above."""
        prior = math.log(self.points) if self.points is not None else -math.log(_share(width) - 1 / POINTS)
        doubled = math.log(2) if self.has_default else 0.0
        return (prior + doubled - math.log(_chance(failure))) / self._rate

    def average_loss(self, instances: int, *, width: float = WIDTH, failure: float = FAILURE) -> float:
        """How much may be lost on average for so many instances (owners): relative regret, or value. At most the clip,
        or the bound, which nothing exceeds."""
        count = whole(instances, "instances", 1)
        lost = self.summed_loss(width=width, failure=failure) / count + self._rounding
        return float(self.utility.scale) * min(1.0, lost)

    def against_default(self, instances: int, *, failure: float = FAILURE) -> float:
        """How much worse than today's value it may be on average, with half of the prior there."""
        if not self.has_default:
            raise BadInput("nothing is promised about today's value. Configure with default=….")
        count = whole(instances, "instances", 1)
        lost = (math.log(2) - math.log(_chance(failure))) / self._rate / count + self._rounding
        return float(self.utility.scale) * min(1.0, lost)

    def instances_needed(self, target: Rational, *, width: float = WIDTH, failure: float = FAILURE) -> int:
        """How many instances (owners) it takes until no more than *target* may be lost on average."""
        wanted = float(positive(target, "target"))
        scale = float(self.utility.scale)
        if wanted >= scale:
            return 1
        room = wanted / scale - self._rounding
        lost = self.summed_loss(width=width, failure=failure)
        if room <= 0 or lost / room > _MOST_NEEDED:
            raise BadInput(f"target is too small to be promised for any number of instances, given {shorten(target)}.")
        return max(1, math.ceil(lost / room))

    @property
    def _rate(self) -> float:
        """c, for utilities of 0 … 1."""
        return float(self.epsilon * UNIT / spread(self.neighbours))

    @property
    def _rounding(self) -> float:
        return (2 if self.by_owner else 1) / UNIT

    def in_words(self, instances: int, *, width: float = WIDTH, failure: float = FAILURE) -> str:
        """The promise for so many instances, in a sentence."""
        lost = self.average_loss(instances, width=width, failure=failure)
        unit = "owners" if self.by_owner else "instances"
        shown = f"{100 * lost:.3g}% of the best value" if self.utility.name == "regret" else f"{lost:.4g}"
        return f"at most {shown} for {instances:,} {unit}"

    def __str__(self) -> str:
        if self.points is None:
            rival = f"any parameter whose whole neighbourhood, {WIDTH:.0%} of the interval, is as good"
        else:
            rival = f"the best of the {self.points:,} points of the grid; nothing is said about what lies between them"
        clip = float(self.utility.scale)
        cut = f" (losses above {clip:.3g} on one instance count as {clip:.3g})" if self.utility.name == "regret" else ""
        figures = "; ".join(self.in_words(count) for count in (100, 1000, 10_000))
        return f"With probability {1 - FAILURE:.0%} the average loss{cut} against {rival}: {figures}."


def _share(width: float) -> float:
    if not (isinstance(width, int | float) and 2 / POINTS <= width <= 1):
        raise BadInput(f"width is a share of the interval, from 2^-31 to 1, given {shorten(width)}.")
    return float(width)


def _chance(failure: float) -> float:
    if not (isinstance(failure, int | float) and 0 < failure < 1):
        raise BadInput(f"failure is a probability between 0 and 1, given {shorten(failure)}.")
    return float(failure)


def planned(
    epsilon: Rational,
    *,
    neighbours: str = ADD_REMOVE,
    utility: str = "regret",
    clip: Rational = "0.1",
    bound: Rational | None = None,
    points: int | None = None,
    has_default: bool = False,
) -> Guarantee:
    """The guarantee of a configuration that is only planned: nothing is read and nothing spent."""
    spread(neighbours)
    count = None if points is None else whole(points, "points", 1)
    return Guarantee(positive(epsilon, "epsilon"), neighbours, Utility.named(utility, clip, bound), count, has_default)
