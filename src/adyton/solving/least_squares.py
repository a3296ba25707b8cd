"""Least squares on everything that was measured, wherever it was measured."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.partitions import lift
from adyton.queries import Identity, Measurement, Queries, Reduction, Stack
from adyton.solving.nonnegative import nonnegative_least_squares
from adyton.solving.nonnegative_tree import nonnegative_tree_least_squares
from adyton.solving.solvers import as_tree, solver


def least_squares(*measurements: Measurement, nonnegative: bool = False, local: bool = False) -> Reals:
    """The cells that fit all the answers best, each answer weighted by its noise: an estimate of the first vector.

    What was measured on reduced or split vectors is read as a measurement of the vector that they came from. Cells
    that no answer tells apart get equal shares. With *nonnegative*, the best fit among cells of at least 0; ranges
    over many empty cells are then biased upwards. With *local*, the measured vector itself is estimated, which must be
    the same for all the measurements.

    >>> import adyton as ad
    >>> x = ad.Kernel.simulated([5, 6, 7], epsilon=1, seed=0).root
    >>> cells = x.measure(ad.workloads.Identity(3), epsilon="0.5")
    >>> total = x.measure(ad.workloads.Total(3), epsilon="0.5")
    >>> least_squares(cells, total).shape
    (3,)
    """
    if not measurements:
        raise BadInput("least squares needs at least one measurement, given none.")
    solve = _nonnegative if nonnegative else _unconstrained
    if local and any(measurement.mapping is not measurements[0].mapping for measurement in measurements):
        raise BadInput("local least squares is for measurements of one vector, given measurements of several.")
    if len(measurements) == 1:
        (only,) = measurements
        if only.mapping is None or local:
            return solve(only.queries, only.variances, only.answers)
        if isinstance(only.mapping, Reduction):
            return lift(solve(only.queries, only.variances, only.answers), only.mapping.partition)
    queries = Stack([one.queries if local else one.on_first_vector() for one in measurements])
    variances = np.concatenate([measurement.variances for measurement in measurements])
    answers = np.concatenate([measurement.answers.astype(np.float64) for measurement in measurements], axis=-1)
    return solve(queries, variances, answers)


def _unconstrained(queries: Queries, variances: Reals, answers: Array) -> Reals:
    return solver(queries, variances).solve(answers)


def _nonnegative(queries: Queries, variances: Reals, answers: Array) -> Reals:
    if isinstance(queries, Identity):
        return np.maximum(0.0, answers.astype(np.float64))
    tree = as_tree(queries)
    if tree is not None:
        every, precisions = tree.for_every_block(answers), tree.for_every_block(1 / variances)
        return tree.unordered(nonnegative_tree_least_squares(tree, every, precisions))
    return nonnegative_least_squares(queries.__matmul__, queries.transpose, answers.astype(np.float64), 1 / variances)
