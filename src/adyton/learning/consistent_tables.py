"""εKTELO's plans for naive Bayes: tables with equal noise, made consistent, or measured by the size of the table.

Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, Section 7.2 and
Appendix A.3. Classes are disjoint here too, so that a table costs one share, not one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.sources import TableSource, VectorSource
from adyton.learning.class_profiles import (
    ClassProfiles,
    Frequencies,
    check_tables,
    class_totals,
    class_vectors,
    consistent,
    measured_table,
    measured_totals,
    prior_of,
)
from adyton.learning.model import Target
from adyton.learning.registry import Learner
from adyton.plans.base import Plan
from adyton.plans.registry import plan_named
from adyton.queries import Identity, Partition

LARGE = 80
"""From here on εKTELO's authors partition a table before they measure it."""


@dataclass(frozen=True, kw_only=True)
class Workload(Learner):
    """Every histogram that naive Bayes needs, with equal noise: the label's, and one of each attribute by class.

    Cormode, "Personal privacy vs population privacy", KDD 2011.
    """

    name = "workload"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Not too large."""
        check_tables(target)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """k + 1 shares: a table for each attribute, and the classes."""
        target = Target.of(source.schema, label)
        each = epsilon / (len(target.schema.names) + 1)
        vectors = class_vectors(source, target.schema.names, label)
        tables = [measured_table(vector, each) for vector in vectors.values()]
        return self.finish(target, tables, measured_totals(source, label, each), each)

    def finish(self, target: Target, tables: list[Reals], totals: Reals, each: Fraction) -> ClassProfiles:
        """As they were measured."""
        return profiles_of(target, tables, totals)


@dataclass(frozen=True, kw_only=True)
class WorkloadLs(Workload):
    """The same, with the sums of all tables brought into agreement by least squares."""

    name = "workload-ls"

    def finish(self, target: Target, tables: list[Reals], totals: Reals, each: Fraction) -> ClassProfiles:
        """The classes' own histogram is one more table, of one cell."""
        agreed = class_totals([*tables, totals[None]], [each] * (len(tables) + 1))
        return profiles_of(target, consistent(tables, agreed), agreed)


@dataclass(frozen=True, kw_only=True)
class SelectLs(Learner):
    """A table of more than 80 cells is partitioned by DAWA before it is measured, a smaller one is measured cell by
    cell; then the sums of all tables are brought into agreement by least squares."""

    name = "select-ls"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """The large tables must suit DAWA."""
        check_tables(target)
        for table in class_vectors(source, target.schema.names, target.label).values():
            if table.cells > LARGE:
                vector = _line(table)
                _dawa().admit(vector, Identity(vector.shape), epsilon / len(target.schema.names))

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """k shares."""
        target = Target.of(source.schema, label)
        each = epsilon / len(target.schema.names)
        vectors = class_vectors(source, target.schema.names, label)
        tables = [self._table(vector, each) for vector in vectors.values()]
        agreed = class_totals(tables, [each] * len(tables))
        return profiles_of(target, consistent(tables, agreed), agreed)

    @staticmethod
    def _table(vector: VectorSource, each: Fraction) -> Reals:
        if vector.cells <= LARGE:
            return measured_table(vector, each)
        line = _line(vector)
        return _dawa().carry_out(line, Identity(line.shape), each).estimate.reshape(vector.shape).T


@dataclass(frozen=True, kw_only=True)
class Contingency(Learner):
    """Every cell of the table of all attributes and the label, added up to the histograms: εKTELO's Identity."""

    name = "contingency"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """The whole domain must be small enough."""
        check_tables(target)
        vector = _whole(source, target)
        plan_named("identity").admit(vector, Identity(vector.shape), epsilon)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """One measurement."""
        target = Target.of(source.schema, label)
        vector = _whole(source, target)
        cells = vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(vector.shape)
        last = cells.ndim - 1
        sums = [tuple(other for other in range(last) if other != axis) for axis in range(last)]
        return profiles_of(target, [cells.sum(axis=axes) for axes in sums], cells.sum(axis=tuple(range(last))))


def profiles_of(target: Target, tables: list[Reals], totals: Reals) -> ClassProfiles:
    """Frequencies with half a pseudo-count."""
    attributes = target.schema.attributes.values()
    profiles = [Frequencies.of(attribute, table, 0.5) for attribute, table in zip(attributes, tables, strict=True)]
    rows = max(0.0, float(totals.sum()))
    return ClassProfiles(target=target, prior=prior_of(totals), profiles=tuple(profiles), counted=rows)


def _line(vector: VectorSource) -> VectorSource:
    """The cells of a table by class in one line, the classes one after the other."""
    return vector.reduce(Partition(np.arange(vector.cells)))


def _whole(source: TableSource, target: Target) -> VectorSource:
    """The counts of all attributes together, the label along the last axis."""
    return source.select(*target.schema.names, target.label).vectorize()


def _dawa() -> Plan:
    return plan_named("dawa")
