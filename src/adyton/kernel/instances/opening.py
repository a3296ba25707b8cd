"""Kernels over instances of a problem: private ones, or public ones with simulated noise."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, Utility
from adyton.kernel.instances.private_instances import ADD_REMOVE, PrivateInstances, spread
from adyton.kernel.instances.survey import Progress, SummedUtility, owned_by, survey
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger, Tally, Terms
from adyton.kernel.ledger.records import checked_total
from adyton.kernel.roots import not_private
from adyton.kernel.shapes import InstancesShape
from adyton.kernel.sources import InstancesSource
from adyton.noise.source import NoiseSource
from adyton.whole import whole


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

    *curve* says what an algorithm reaches on one instance at every parameter of a lattice, or at every point of a
    grid of so many; it is asked about every instance now, before anything can be spent. What is protected is an
    instance, or with *owners*, one for each instance, all those of an owner. The parameters, the utility and the
    relation of *neighbours* take the place of a schema in the terms of the ledger.
    """
    total, shape = checked_total(epsilon), instances_shape(parameters, neighbours)
    if dataset is None and ledger is not None and not isinstance(ledger, Ledger):
        raise BadInput("instances in memory have no name of their own. Say whose ledger it is with dataset='…'.")
    owned_by(owners, len(instances))
    kernel: Any = Kernel.__new__(Kernel)
    declared = {"parameters": (shape.points, *shape.interval), "neighbours": neighbours}
    declared |= {"utility": utility.name, "scale": str(utility.scale)}
    kernel._terms = Terms.of({"instances": declared}, 1, "instance")
    if owners is not None:  # who have one vote each
        kernel._terms = replace(kernel._terms, unit="owner", column="owner")
    kernel._open(total, ledger, dataset, "instances", noise, accept)
    try:
        sums = survey(instances, curve, parameters, utility, owners=owners, progress=progress)
    except BaseException:
        if isinstance(kernel._ledger, Ledger) and kernel._ledger is not ledger:
            kernel._ledger.close()
        raise
    kernel._trusted = {}
    kernel._start(shape, PrivateInstances(sums, parameters, neighbours), 1)
    return cast("Kernel[InstancesSource]", kernel)


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
    """A kernel over *public* instances, whose votes :func:`adyton.kernel.instances.survey.survey` added up.

    Its noise is simulated, from *seed* or a source of your own that is not private; so are its answers.
    """
    total, drawn = checked_total(epsilon, simulated=True), not_private(noise, seed)
    kernel: Any = Kernel.__new__(Kernel)
    shape = instances_shape(parameters, neighbours)
    kernel._terms = Terms.of({"points": shape.points}, 1, unit)
    kernel._begin(Tally(total, "simulation"), drawn)
    kernel._start(shape, PrivateInstances(sums, parameters, neighbours), 1)
    return cast("Kernel[InstancesSource]", kernel)


def instances_shape(parameters: Lattice | int, neighbours: str) -> InstancesShape:
    """What is public about instances, or an error."""
    spread(neighbours)
    if isinstance(parameters, Lattice):
        return InstancesShape(POINTS, neighbours, (float(parameters.low), float(parameters.high)))
    return InstancesShape(whole(parameters, "the number of points of a grid", 1), neighbours)
