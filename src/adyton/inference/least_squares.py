"""Least squares on everything that was measured, wherever it was measured."""

from __future__ import annotations

import numpy as np

from adyton.errors import BadInput
from adyton.inference.solvers import solver
from adyton.partitions import lift
from adyton.queries import Measurement, Reduction, Stack
from adyton.queries.base import Reals


def least_squares(*measurements: Measurement) -> Reals:
    """The cells that fit all the answers best, each answer weighted by its noise: an estimate of the first vector.

    What was measured on reduced or split vectors is read as a measurement of the vector that they came from. Cells
    that no answer tells apart get equal shares.

    >>> import adyton as ad
    >>> x = ad.Kernel.simulated([5, 6, 7], epsilon=1, seed=0).root
    >>> cells = x.measure(ad.workloads.Identity(3), epsilon="0.5")
    >>> total = x.measure(ad.workloads.Total(3), epsilon="0.5")
    >>> least_squares(cells, total).shape
    (3,)
    """
    if not measurements:
        raise BadInput("least squares needs at least one measurement, given none.")
    if len(measurements) == 1:
        (only,) = measurements
        if only.mapping is None:
            return solver(only.queries, only.variances).solve(only.answers)
        if isinstance(only.mapping, Reduction):
            groups = solver(only.queries, only.variances).solve(only.answers)
            return lift(groups, only.mapping.partition)
    queries = Stack([measurement.on_first_vector() for measurement in measurements])
    variances = np.concatenate([measurement.variances for measurement in measurements])
    answers = np.concatenate([measurement.answers.astype(np.float64) for measurement in measurements], axis=-1)
    return solver(queries, variances).solve(answers)

