"""All instances are asked: their curves are computed, turned into votes, and added up. The long work before a debit.

What an instance says must not depend on others, and nothing but the sum may be seen. So whatever a family raises on an
instance, and every curve that is not well formed, becomes the flat vote; warnings are not shown; and the order in which
the work is done, by several threads, does not enter a sum of whole numbers. An interruption (``KeyboardInterrupt``,
``SystemExit``) goes through: nothing has been spent yet.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.instances.lattice import Curve, Lattice, Utility
from adyton.kernel.instances.votes import FLAT, SmoothSums, StepSums, StepVote, Vote, vote_of

SummedUtility: TypeAlias = StepSums | SmoothSums
"""The sum of all votes at every place; ``tops`` are the sums of the pieces from ``starts``, or bounds on them."""
Progress: TypeAlias = Callable[[int, int], None]
"""Told now and then how many instances are done, and how many there are."""
_AT_ONCE = 8


def survey(
    instances: Sequence[Any],
    curve: Callable[[Any], Curve],
    parameters: Lattice | int,
    utility: Utility,
    *,
    owners: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> SummedUtility:
    """The sum of what all instances say about the parameters: a lattice, or a number of points.

    With *owners*, one for each instance, every owner has one vote: the mean of those of its instances, rounded down.

    >>> from adyton.kernel.instances.lattice import StepCurve
    >>> half = lambda instance: StepCurve(np.array([0, 1]), np.array([1.0, instance]))
    >>> survey([0.95, 1.0], half, 2, Utility.named("regret")).tops.tolist()
    [2097152, 1572864]
    """
    places = owned_by(owners, len(instances))

    def asked(instance: Any) -> Vote:
        try:
            with np.errstate(all="ignore"):
                return vote_of(curve(instance), parameters, utility)
        except Exception:  # what failed, and why, depends on the instance
            return FLAT

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        votes = _in_threads(asked, instances, progress)
    owned = [[votes[place] for place in group] for group in places]
    if isinstance(parameters, Lattice) and any(not isinstance(vote, StepVote) for vote in votes):
        return SmoothSums(owned, parameters, utility)
    return StepSums.of([_of_owner([vote for vote in group if isinstance(vote, StepVote)]) for group in owned])


def owned_by(owners: Sequence[Hashable] | None, instances: int) -> list[list[int]]:
    """Which instances each owner has. Those without an owner's name count as those of one owner.

    >>> owned_by(["a", None, "a", float("nan")], 4)
    [[0, 2], [1, 3]]
    """
    if owners is None:
        return [[place] for place in range(instances)]
    if isinstance(owners, str | bytes) or not hasattr(owners, "__len__") or len(owners) != instances:
        raise BadInput("owner must be a list with one owner for each instance. Give as many as there are instances.")
    found: dict[Hashable, list[int]] = {}
    try:
        for place, owner in enumerate(owners):
            nameless = owner is None or (isinstance(owner, float) and math.isnan(owner))
            found.setdefault(None if nameless else owner, []).append(place)
    except TypeError:
        found = {}
    if instances and not found:
        raise BadInput("owner must be a list of names or numbers.")
    return list(found.values())


def _of_owner(votes: list[StepVote]) -> StepVote:
    return votes[0] if len(votes) == 1 else StepSums.of(votes).averaged(len(votes))


def _in_threads(asked: Callable[[Any], Vote], instances: Sequence[Any], progress: Progress | None) -> list[Vote]:
    """The votes, in the order of the instances. Few calls wait at one time, so that an interruption ends soon."""
    votes: list[Vote] = [FLAT] * len(instances)
    workers = max(1, min(os.cpu_count() or 1, len(instances)))
    waiting: Iterator[tuple[int, Any]] = iter(enumerate(instances))
    running: dict[Future[Vote], int] = {}
    done = 0
    pool = ThreadPoolExecutor(workers)
    try:
        while True:
            for place, instance in islice(waiting, _AT_ONCE * workers - len(running)):
                running[pool.submit(asked, instance)] = place
            if not running:
                return votes
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                votes[running.pop(future)] = future.result()
            done += len(ended)
            if progress is not None:
                progress(done, len(instances))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
