"""A family of algorithms: an algorithm for each value of a parameter ρ; greedy families, and the exact order of lines
a − ρ·b that they need: which is highest at ρ, and the first parameter at which two of them change places.

Numbers a and b are doubles on a grid on which differences are exact (:func:`on_grid`, :func:`logarithms`); ρ is any
double. Then nothing below is approximate.

*Sign of a − ρ·b.* Let p be the double nearest to ρ·b. Rounding keeps order, and a rounds to itself: so a > p implies
a > ρ·b, and a < p implies a < ρ·b. Only where a = p does the error of p decide, and that is a double which Dekker's
product gives exactly. Where a or b is 0 the signs decide, so that no product is too small for this: else |a| ≥ 2⁻²⁰⁰.

*Ties.* Equal lines are in the order of their numbers. So at every ρ there is a single order, and it is transitive.

*Change of places.* If i is before j at ρ, then j is before i at some greater parameter only if b_i > b_j, at
q = (a_i − a_j)/(b_i − b_j), and stays there. The quotient in doubles, q′, is q correctly rounded: a double below q′ is
below q, a double above q′ is above q. So the first *double* at which j is before i is q′ or the next double, and
the exact order at q′ says which. A sweep that continues at the first lattice point from there misses nothing: points
are doubles. And it makes progress: at the current point, j is not before i yet.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, StepCurve
from adyton.plans.registry import Registry

Instance = TypeVar("Instance")


class Family(ABC, Generic[Instance]):
    """A family of algorithms. Subclasses are frozen dataclasses: their fields are public options.

    What a family says about an instance must depend on that instance alone: not on its place, on other instances, on
    time, or on random numbers that are not drawn from the instance's own content. Privacy rests on that, and on nothing
    else that a family does: whatever it returns is clamped.
    """

    name: ClassVar[str]
    interval: ClassVar[tuple[float, float]]
    """Where parameters are searched by default."""
    default: ClassVar[float]
    """The parameter in common use."""
    kind: ClassVar[type]
    """The type of an instance."""

    @abstractmethod
    def run(self, instance: Instance, parameter: float) -> float:
        """The value that the algorithm reaches with this parameter: larger is better."""

    @abstractmethod
    def curve(self, instance: Instance, lattice: Lattice) -> Curve:
        """The value of :meth:`run` at every point of the lattice."""

    @abstractmethod
    def examples(self) -> Sequence[Instance]:
        """A few public, made-up instances on which the family can be tried."""


Reached: TypeAlias = Callable[[float], tuple[float, float]]
"""At a parameter: the value that is reached, and a greater parameter up to which it stays the same."""


class SweptFamily(Family[Instance]):
    """A family in which a run returns, besides its value, a greater parameter up to which it would be the same run."""

    @abstractmethod
    def reached(self, instance: Instance) -> Reached:
        """The value that the algorithm reaches, and up to where it stays the same, as a function of the parameter."""

    def run(self, instance: Instance, parameter: float) -> float:
        """The value that the algorithm reaches with this parameter."""
        return self.reached(instance)(parameter)[0]

    def curve(self, instance: Instance, lattice: Lattice) -> StepCurve:
        """The value that the algorithm reaches at every point of the lattice."""
        return sweep(self.reached(instance), lattice)


def sweep(reached: Reached, lattice: Lattice) -> StepCurve:
    """The values at all points of the lattice: run at a point, continue at the first one where a choice may change."""
    starts: list[int] = []
    values: list[float] = []
    place = 0
    while place < POINTS:
        value, until = reached(lattice.point(place))
        if not values or value != values[-1]:
            starts.append(place)
            values.append(value)
        place = max(place + 1, lattice.first_from(until))
    return StepCurve(np.array(starts, dtype=np.int64), np.array(values, dtype=np.float64))


FAMILIES = Registry[Family[Any]](
    "family",
    {
        "auction": "configuration.greedy:Auction",
        "independent-set": "configuration.greedy:IndependentSet",
        "knapsack": "configuration.greedy:Knapsack",
        "max-cut": "configuration.max_cut:MaxCut",
        "routing": "configuration.routing:Routing",
    },
)


def families() -> list[str]:
    """The names of all families.

    >>> families()
    ['auction', 'independent-set', 'knapsack', 'max-cut', 'routing']
    """
    return FAMILIES.names()


def family_named(name: str, options: Mapping[str, Any] | None = None) -> Family[Any]:
    """The family of this name, with options of its own.

    >>> family_named("max-cut", {"rounding": "threshold"}).rounding
    'threshold'
    """
    try:
        return FAMILIES.named(name, **(options or {}))
    except BadInput:
        raise
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} does not take these options: {error}") from None


@dataclass
class Candidates:
    """The candidates of one run: candidate i has the score a_i − ρ·b_i while it is open.

    A run changes this object: a family closes candidates, changes their scores, and adds to the value. Make a subclass
    to remember more, such as the room that is left.
    """

    a: Reals
    b: Reals
    still_open: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    value: float = 0.0

    def __post_init__(self) -> None:
        self.a, self.b = np.array(self.a, dtype=np.float64), np.array(self.b, dtype=np.float64)
        if not len(self.still_open):
            self.still_open = np.ones(len(self.a), dtype=np.bool_)


class GreedyFamily(SweptFamily[Instance]):
    """A greedy algorithm of your own: say what the candidates are, and what choosing one of them changes.

    For every candidate the score is a line in the parameter ρ: a quotient value/size^ρ has the logarithm
    log(value) − ρ·log(size), so a = log(value) and b = log(size). The highest open candidate is taken, then the next,
    until none is open; among equals, the candidate with the smaller number. Each is taken at most once. Candidates
    whose scores are not finite are never taken.

    >>> @dataclass
    ... class Afternoon(Candidates):
    ...     hours: float = 3.0
    >>> class Talks(GreedyFamily[list]):
    ...     name, interval, default, kind = "talks", (0.0, 2.0), 1.0, list
    ...
    ...     def begin(self, talks):  # pairs of worth and length: the largest worth/length^ρ comes first
    ...         worth, length = np.transpose(talks)
    ...         return Afternoon(np.log(worth), np.log(length))
    ...
    ...     def take(self, talks, afternoon, chosen):
    ...         worth, length = talks[chosen]
    ...         afternoon.value += worth
    ...         afternoon.hours -= length
    ...         afternoon.still_open &= np.array([length for _, length in talks]) <= afternoon.hours
    ...
    ...     def examples(self):
    ...         return [[(2.0, 1.0), (5.0, 3.0), (1.0, 1.0)]]
    >>> [talks] = Talks().examples()
    >>> Talks().run(talks, 0.5), Talks().run(talks, 1.5)
    (5.0, 3.0)
    >>> from adyton.kernel.instances.lattice import Lattice
    >>> Talks().curve(talks, Lattice(0.0, 2.0)).values
    array([5., 3.])
    """

    only_gains: ClassVar[bool] = False
    """Whether only candidates with a score above 0 are taken."""

    @abstractmethod
    def begin(self, instance: Instance) -> Candidates:
        """The candidates of an instance, before anything is chosen."""

    @abstractmethod
    def take(self, instance: Instance, candidates: Candidates, chosen: int) -> None:
        """Add to the value, and close candidates that may no longer be chosen; the chosen one is closed already."""

    def reached(self, instance: Instance) -> Reached:
        """The value that is reached, and up to where the choices stay the same, as a function of the parameter.

        While all comparisons have the same results, the same candidates are taken in the same order, whatever
        :meth:`take` does. It is enough to watch the comparisons that each candidate won when it was taken: with every
        other open candidate, and with 0 where only gains are taken.
        """

        def one_run(parameter: float) -> tuple[float, float]:
            candidates = self.begin(instance)
            until = math.inf
            for _ in range(len(candidates.a)):
                a, b, still_open = _cleaned(candidates)
                best = first_of(a, b, still_open, parameter)
                if best < 0:
                    break
                if self.only_gains:
                    if sign(a[best], b[best], parameter) <= 0:
                        gains = [lost_from(-a[i], -b[i], True) for i in np.flatnonzero(still_open)]
                        until = min(until, *gains)
                        break
                    until = min(until, lost_from(a[best], b[best], False))
                until = min(until, first_is_overtaken(best, a, b, still_open))
                candidates.still_open[best] = False
                self.take(instance, candidates, best)
            return float(candidates.value), until

        return one_run


def _cleaned(candidates: Candidates) -> tuple[Reals, Reals, Flags]:
    """Lines on a grid on which differences are exact; candidates that are not finite are closed."""
    finite = np.isfinite(candidates.a) & np.isfinite(candidates.b)
    lines = []
    for numbers in (candidates.a, candidates.b):
        safe = np.clip(np.where(finite, numbers, 0.0), -LARGEST, LARGEST)
        lines.append(on_grid(safe, float(np.abs(safe).max(initial=0.0))))
    return lines[0], lines[1], candidates.still_open & finite


LARGEST = 2.0**200
"""Numbers in instances are clamped to this: their sums and products are finite."""
_UNIT = 2.0**-40
"""Logarithms are multiples of this; they are below 2¹⁰."""


def clamped(values: Reals) -> Reals:
    """Numbers between 0 and 2²⁰⁰; NaN counts as 0.

    >>> clamped(np.array([3.0, -1.0, math.nan]))
    array([3., 0., 0.])
    """
    return np.clip(np.nan_to_num(values, nan=0.0), 0.0, LARGEST)


def on_grid(values: Reals, largest: float) -> Reals:
    """Finite values rounded to multiples of 2⁻⁵¹ of the power of two above *largest*: sums and differences are exact.

    >>> on_grid(np.array([1 / 3, 7.6]), 2.0**49)
    array([0.5, 7.5])
    """
    if not 0 < largest < math.inf:
        return np.asarray(values, dtype=np.float64)
    unit = max(math.ldexp(1.0, math.frexp(largest)[1] - 51), 1 / LARGEST)
    return np.asarray(np.rint(values / unit) * unit)


def logarithms(values: Reals) -> Reals:
    """Logarithms of positive numbers, rounded to multiples of 2⁻⁴⁰.

    Computed one at a time: vector loops may round a number differently at different places of an array.
    """
    return np.array([round(math.log(value) / _UNIT) * _UNIT for value in values.tolist()], dtype=np.float64)


@compiled
def sign(a: float, b: float, parameter: float) -> int:
    """The sign of a − parameter·b: 1, 0 or −1, exactly."""
    if a == 0.0 or b == 0.0 or parameter == 0.0:
        product = b if parameter > 0.0 else -b
        if b == 0.0 or parameter == 0.0:
            product = 0.0
    else:
        product = parameter * b
    if a != product:
        return 1 if a > product else -1
    if a == 0.0:
        return 0
    split = 134217729.0 * parameter  # 2²⁷ + 1: each factor is cut into halves of 26 bits, whose products are exact
    high = split - (split - parameter)
    low = parameter - high
    split = 134217729.0 * b
    upper = split - (split - b)
    lower = b - upper
    error = ((high * upper - product) + high * lower + low * upper) + low * lower
    if error == 0.0:
        return 0
    return -1 if error > 0.0 else 1


@compiled
def lost_from(a: float, b: float, keeps_ties: bool) -> float:
    """The first double at which a − ρ·b is below 0, or at most 0 unless ties are kept; it is not so at any smaller one.

    Infinity if there is no such double.
    """
    if not b > 0.0:
        return math.inf
    turn = a / b
    if turn == math.inf:
        return math.inf
    there = sign(a, b, turn)
    if there < 0 or (there == 0 and not keeps_ties):
        return turn
    return float(np.nextafter(turn, math.inf))


@compiled
def comes_before(first: int, second: int, a: Reals, b: Reals, parameter: float) -> bool:
    """Whether candidate *first* is before *second*: its line is higher, or equally high and its number is smaller."""
    there = sign(a[first] - a[second], b[first] - b[second], parameter)
    return there > 0 or (there == 0 and first < second)


@compiled
def overtaken_from(first: int, second: int, a: Reals, b: Reals) -> float:
    """The first double at which *second* is before *first*, which is before it now; infinity if never."""
    return lost_from(a[first] - a[second], b[first] - b[second], first < second)


@compiled
def put_in_order(order: Places, a: Reals, b: Reals, parameter: float) -> None:
    """Sort the numbers of candidates, the highest line first. Fast if they are nearly sorted already."""
    for place in range(1, len(order)):
        moved = order[place]
        gap = place
        while gap > 0 and comes_before(moved, order[gap - 1], a, b, parameter):
            order[gap] = order[gap - 1]
            gap -= 1
        order[gap] = moved


@compiled
def first_of(a: Reals, b: Reals, still_open: Flags, parameter: float) -> int:
    """The open candidate that is before all others; −1 if none is open."""
    best = -1
    for candidate in range(len(a)):
        if still_open[candidate] and (best < 0 or comes_before(candidate, best, a, b, parameter)):
            best = candidate
    return best


@compiled
def first_is_overtaken(best: int, a: Reals, b: Reals, still_open: Flags) -> float:
    """The first double at which an open candidate is before *best*, which is first now; infinity if never."""
    soonest = math.inf
    for candidate in range(len(a)):
        if still_open[candidate] and b[candidate] < b[best]:
            soonest = min(soonest, overtaken_from(best, candidate, a, b))
    return soonest
