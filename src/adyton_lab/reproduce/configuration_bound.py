"""The paper's bound on what a private choice of a parameter loses, computed where instances are public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.instances.lattice import POINTS
from adyton.kernel.instances.votes import StepVote, Vote

ZETA = 0.01
"""The bound holds with probability 1 − ζ."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Parts of the interval around the optimum, each with what share of it they are, w/L, and with k: the number of
    instances whose utility changes inside. Only those that are as long as their k allows."""

    shares: Reals
    changing: Integers

    @classmethod
    def of(cls, votes: Sequence[Vote], optimum: int) -> Windows:
        """All around the place *optimum*, to both sides as far as the interval reaches."""
        free = np.sort([_unchanged(vote, optimum) for vote in votes])
        reach = np.unique(np.concatenate([free, [POINTS]]))
        widths = np.minimum(optimum + reach, POINTS - 1) - np.maximum(optimum - reach, 0) + 1
        return cls(widths / POINTS, np.searchsorted(free, reach, "left"))


def bound(windows: Windows, epsilon: float, zeta: float = ZETA, prior: float = 1.0) -> float:
    """(1/ε)(ln(L/w) + ln(1/ζ)) + k, minimised over w, in units of H: no more is lost in sum, with probability 1 − ζ.

    Balcan, Dick and Vitercik, 2017 and 2018.

    Proof.  In the part no sum is below the best by more than k, so its places weigh at least w·e^{ε(U* − k)} together.
    All places that lose more than k + t weigh less than L·e^{ε(U* − k − t)}, which is ζ times that for
    t = (ln(L/w) + ln(1/ζ))/ε. If only a part *prior* of the prior is on the interval, L/w becomes L/(w·prior).  ∎

    >>> from adyton.kernel.instances.votes import FLAT
    >>> round(bound(Windows.of([FLAT], 7), epsilon=1.0, zeta=math.exp(-3)), 9)
    3.0
    """
    return float(((-np.log(windows.shares * prior) - math.log(zeta)) / epsilon + windows.changing).min())


def _unchanged(vote: Vote, place: int) -> int:
    """How many places to both sides have the same level; all of them, if none is different."""
    if not isinstance(vote, StepVote):
        return 0
    moves = vote.starts[1:][np.diff(vote.levels) != 0]
    after = int(np.searchsorted(moves, place, "right"))
    left = place - int(moves[after - 1]) if after else POINTS
    right = int(moves[after]) - 1 - place if after < moves.size else POINTS
    return min(left, right)
