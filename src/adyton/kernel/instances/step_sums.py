"""Step functions over the places, added up exactly by a sweep from the left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Integers, Places
from adyton.kernel.instances.votes import StepVote


class StepSums:
    """The sum of votes that are constant between their starts: whole numbers, at every place.

    >>> one = StepVote(np.array([0, 5]), np.array([3, 1]))
    >>> two = StepVote(np.array([0, 2, 5]), np.array([0, 1, 3]))
    >>> sums = StepSums.of([one, two])
    >>> sums.starts.tolist(), sums.tops.tolist(), sums.at(np.array([4, 5])).tolist()
    ([0, 2], [3, 4], [4, 4])
    """

    exact = True
    """The tops are the sums themselves."""

    def __init__(self, starts: Places, tops: Integers) -> None:
        self.starts, self.tops = starts, tops

    @classmethod
    def of(cls, votes: Sequence[StepVote]) -> StepSums:
        """The sum; 0 everywhere for no votes at all. The order of the votes changes nothing.

        Levels are at most 2²⁰ and there are fewer than 2⁴² votes, so 64 bits hold every sum.
        """
        moving = [vote for vote in votes if vote.starts.size > 1]
        first = sum(int(vote.levels[0]) for vote in votes)
        if not moving:
            return cls(np.zeros(1, dtype=np.int64), np.array([first], dtype=np.int64))
        places = np.concatenate([vote.starts[1:] for vote in moving])
        changes = np.concatenate([np.diff(vote.levels) for vote in moving])
        order = np.argsort(places, kind="stable")
        places, sums = places[order], first + np.cumsum(changes[order])
        last = np.append(places[1:] != places[:-1], True)  # of the changes at one place
        starts, tops = np.append(0, places[last]), np.append(first, sums[last])
        new = np.append(True, tops[1:] != tops[:-1])
        return cls(starts[new], tops[new])

    def at(self, places: Places) -> Integers:
        """The sums at these places."""
        return np.asarray(self.tops[np.searchsorted(self.starts, places, "right") - 1])

    def averaged(self, votes: int) -> StepVote:
        """One vote in place of so many: their mean, rounded down to a whole number."""
        return StepVote(self.starts, self.tops // votes)
