"""Kernels over instances of a problem: private instances, or public ones with simulated noise.

First the curve of every instance is computed, turned into a vote, and added up. That is the long work, before any
debit. A vote must not depend on other instances, and only the sum may be seen. So an exception that a family raises on
an instance, and a curve that is not well formed, become the flat vote; warnings are not shown; and the order of the
work, which several threads do, does not affect a sum of whole numbers. An interrupt (``KeyboardInterrupt``,
``SystemExit``) is raised: nothing has been spent yet.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, Utility
from adyton.kernel.instances.votes import (
    ADD_REMOVE,
    FLAT,
    PrivateInstances,
    SmoothSums,
    StepSums,
    StepVote,
    SummedUtility,
    Vote,
    spread,
    vote_of,
)
from adyton.kernel.kernel import Kernel, opened, simulated_account
from adyton.kernel.ledger import Ledger, Terms
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.shapes import InstancesShape
from adyton.kernel.sources import InstancesSource
from adyton.noise.source import NoiseSource
from adyton.whole import whole

Progress: TypeAlias = Callable[[int, int], None]
"""Called from time to time with the number of instances done, and the number of all instances."""
_AT_ONCE = 8


def on_instances(
    instances: Sequence[Any],
    curve: Callable[[Any], Curve],
    parameters: Lattice | int,
    utility: Utility,
    *,
    epsilon: Rational,
    neighbours: str = ADD_REMOVE,
    owners: Sequence[Hashable] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    accept: Collection[str] = (),
    noise: NoiseSource | None = None,
    progress: Progress | None = None,
) -> Kernel[InstancesSource]:
    """A kernel over private instances of a problem.

    *curve* gives an algorithm's value on one instance at every parameter of a lattice, or at every point of a grid with
    this number of points; it is called on every instance now, before anything can be spent. The unit is an instance,
    or, with *owners* (one for each instance), all instances of an owner. The parameters, the utility and the relation
    of *neighbours* take the place of a schema in the terms of the ledger.
    """
    total, shape = checked_total(epsilon), instances_shape(parameters, neighbours)
    if dataset is None and ledger is not None and not isinstance(ledger, Ledger):
        raise BadInput("instances in memory have no name. Name the data set of the ledger with dataset='…'.")
    owned_by(owners, len(instances))
    declared = {"parameters": (shape.points, *shape.interval), "neighbours": neighbours}
    declared |= {"utility": utility.name, "scale": str(utility.scale)}
    terms = Terms.of({"instances": declared}, 1, "instance")
    if owners is not None:  # each owner has one vote
        terms = replace(terms, unit="owner", column="owner")
    terms, account, drawn = opened(terms, total, ledger, dataset, "instances", noise, accept)
    try:
        sums = survey(instances, curve, parameters, utility, owners=owners, progress=progress)
    except BaseException:
        if isinstance(account, Ledger) and account is not ledger:
            account.close()
        raise
    return Kernel._over(shape, PrivateInstances(sums, parameters, neighbours), terms, account, drawn)


def simulated_instances(
    sums: SummedUtility,
    parameters: Lattice | int,
    *,
    epsilon: Rational,
    neighbours: str = ADD_REMOVE,
    seed: int | np.random.SeedSequence | None = None,
    noise: NoiseSource | None = None,
    unit: str = "instance",
) -> Kernel[InstancesSource]:
    """A kernel over *public* instances, whose votes :func:`adyton.kernel.instances.opening.survey` added up.

    Its noise is simulated, from *seed* or from a noise source of your own, so its answers are not private.
    """
    shape = instances_shape(parameters, neighbours)
    account = simulated_account(Terms.of({"points": shape.points}, 1, unit), epsilon, noise, seed)
    return Kernel._over(shape, PrivateInstances(sums, parameters, neighbours), *account)


def instances_shape(parameters: Lattice | int, neighbours: str) -> InstancesShape:
    """What is public about instances, or an error."""
    spread(neighbours)
    if isinstance(parameters, Lattice):
        return InstancesShape(POINTS, neighbours, (float(parameters.low), float(parameters.high)))
    return InstancesShape(whole(parameters, "the number of points of a grid", 1), neighbours)


def survey(
    instances: Sequence[Any],
    curve: Callable[[Any], Curve],
    parameters: Lattice | int,
    utility: Utility,
    *,
    owners: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> SummedUtility:
    """The sum of the votes of all instances on the parameters: a lattice, or a number of points.

    With *owners*, one for each instance, every owner has one vote: the mean of its instances' votes, rounded down.

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
        except Exception:  # the failure may depend on the instance
            return FLAT

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        votes = _in_threads(asked, instances, progress)
    owned = [[votes[place] for place in group] for group in places]
    if isinstance(parameters, Lattice) and any(not isinstance(vote, StepVote) for vote in votes):
        return SmoothSums(owned, parameters, utility)
    steps = [[vote for vote in group if isinstance(vote, StepVote)] for group in owned]
    return StepSums.of([own[0] if len(own) == 1 else StepSums.of(own).averaged(len(own)) for own in steps])


def owned_by(owners: Sequence[Hashable] | None, instances: int) -> list[list[int]]:
    """The instances of each owner. All instances without an owner's name count as those of one owner.

    >>> owned_by(["a", None, "a", float("nan")], 4)
    [[0, 2], [1, 3]]
    """
    if owners is None:
        return [[place] for place in range(instances)]
    if isinstance(owners, str | bytes) or not hasattr(owners, "__len__") or len(owners) != instances:
        raise BadInput("owner must be a list with one owner for each instance. Its length must be that of instances.")
    owned: dict[Hashable, list[int]] = {}
    try:
        for place, owner in enumerate(owners):
            nameless = owner is None or (isinstance(owner, float) and math.isnan(owner))
            owned.setdefault(None if nameless else owner, []).append(place)
    except TypeError:
        owned = {}
    if instances and not owned:
        raise BadInput("owner must be a list of names or numbers.")
    return list(owned.values())


def _in_threads(asked: Callable[[Any], Vote], instances: Sequence[Any], progress: Progress | None) -> list[Vote]:
    """The votes, in the order of the instances. Few calls are queued at a time, so that an interrupt acts soon."""
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
