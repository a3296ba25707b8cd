"""Noisy tables of an attribute within each class, and what follows from several of them. Classes are disjoint."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.kernel.transforms.vectors import MOST_TABLE_CELLS
from adyton.learning.target import Target
from adyton.plans.limits import MOST_CELLS
from adyton.queries import Identity, Partition


def check_tables(target: Target) -> None:
    """Refuse attributes that have too many cells to keep one number for each of them and each class."""
    classes = len(target.classes)
    for name, attribute in target.schema.attributes.items():
        if attribute.size * classes > MOST_CELLS:
            raise BadInput(
                f"{name!r} has {attribute.size:,} cells for {classes:,} classes, allowed are {MOST_CELLS:,} in all. "
                "Declare fewer levels or bins, or a longer step."
            )


def class_vectors(source: TableSource, names: Sequence[str], label: str) -> dict[str, VectorSource]:
    """For each attribute the counts of its cells within each class: an axis for the classes, then one for the cells.

    All are counted in one pass over the rows, if a source can hold so many cells; else in as few as can be.
    """
    sizes = dict(zip(source.schema.names, source.schema.shape, strict=True))
    found: dict[str, VectorSource] = {}
    for together in _batches(names, [sizes[label] * sizes[name] for name in names]):
        found |= zip(together, source.tables([(label, name) for name in together]).vectors(), strict=True)
    return found


def _batches(names: Sequence[str], cells: Sequence[int]) -> list[list[str]]:
    """The names in parts whose tables have no more cells together than a source can hold."""
    parts: list[list[str]] = []
    room = 0
    for name, own in zip(names, cells, strict=True):
        if own > room:
            parts.append([])
            room = MOST_TABLE_CELLS
        parts[-1].append(name)
        room -= own
    return parts


def by_class(vector: VectorSource) -> tuple[VectorSource, ...]:
    """The histogram of each class. They are disjoint: measuring all of them costs as much as one."""
    classes, cells = vector.shape
    return vector.split(Partition(np.repeat(np.arange(classes), cells)))


def measured_table(vector: VectorSource, epsilon: Fraction) -> Reals:
    """Noisy counts of shape (cells, classes): every count with discrete Laplace noise of scale 1/ε, all for one ε."""
    return vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(vector.shape).T


def measured_totals(source: TableSource, label: str, epsilon: Fraction) -> Reals:
    """A noisy number of rows for each class."""
    vector = source.select(label).vectorize()
    return vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64)


def class_totals(tables: Sequence[Reals], epsilons: Sequence[Fraction]) -> Reals:
    """The number of rows of each class, from tables that were measured cell by cell.

    The sum of a table with L cells has a variance of L·2/ε²: weighted by the inverse, the average of the sums is the
    best estimate that they allow. It costs nothing.
    """
    weights = [float(epsilon) ** 2 / len(table) for table, epsilon in zip(tables, epsilons, strict=True)]
    sums = [weight * table.sum(axis=0) for weight, table in zip(weights, tables, strict=True)]
    return np.asarray(sum(sums) / sum(weights))


def prior_of(totals: Reals) -> Reals:
    """How frequent each class is, by noisy totals; none is less frequent than half a row of what there is."""
    rows = max(float(totals.sum()), 1.0)
    parts = np.maximum(totals / rows, 0.5 / max(rows, 20.0))
    prior = np.asarray(parts / parts.sum())
    prior.flags.writeable = False
    return prior


def consistent(tables: Sequence[Reals], totals: Reals) -> list[Reals]:
    """Tables whose sums are the totals: the difference is spread evenly over the cells, as least squares would."""
    return [table + (totals - table.sum(axis=0)) / len(table) for table in tables]
