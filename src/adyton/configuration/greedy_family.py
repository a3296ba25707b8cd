"""Greedy algorithms: what is chosen next has the largest a − ρ·b among what may still be chosen."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.configuration.exact_order import LARGEST, first_is_overtaken, first_of, lost_from, on_grid, sign
from adyton.configuration.family import Instance, Reached, SweptFamily


@dataclass
class Candidates:
    """What may be chosen in one run: candidate i has the score a_i − ρ·b_i while it is open.

    A run changes it: a family closes candidates, changes their scores, and adds to the value. Make a subclass to
    remember more, such as the room that is left.
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
    until none is open; of equal ones that with the smaller number. Each is taken at most once. Scores that are not
    finite are never taken.

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
        """Add to the value, and close what may no longer be chosen. The chosen one is closed already."""

    def reached(self, instance: Instance) -> Reached:
        """What the algorithm reaches, and until where its choices stay the same, as a function of the parameter.

        While the same comparisons come out the same way, the same candidates are taken in the same order, whatever
        :meth:`take` does. It is enough to watch those that each one won when it was taken: against every other open
        candidate, and against 0 where only gains are taken.
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
    """Lines on a grid on which differences are exact; what is not finite is closed."""
    finite = np.isfinite(candidates.a) & np.isfinite(candidates.b)
    lines = []
    for numbers in (candidates.a, candidates.b):
        safe = np.clip(np.where(finite, numbers, 0.0), -LARGEST, LARGEST)
        lines.append(on_grid(safe, float(np.abs(safe).max(initial=0.0))))
    return lines[0], lines[1], candidates.still_open & finite
