"""Naive Bayes: a noisy table for each attribute, and pseudo-counts that grow with the noise; and εKTELO's plans for it,
tables with equal noise, made consistent, or measured by the size of the table.

Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, Section 7.2 and
Appendix A.3. Classes are disjoint here too, so that a table costs one share, not one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.learning.class_profiles import (
    ClassProfiles,
    Frequencies,
    Gaussians,
    Profile,
    by_class,
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
from adyton.messages import no_such, shorten
from adyton.plans.algorithm import Share
from adyton.plans.base import Plan
from adyton.plans.registry import algorithms, plan_named
from adyton.queries import Identity, Partition, Prefix, Queries
from adyton.schema.attributes import Attribute
from adyton.schema.numbers import Integer, Numeric

RECIPE, AUTO = "recipe", "auto"
FEW_CELLS = 16
"""Up to this size nothing is better than measuring every cell."""
_HALF = 0.5
_SIGNAL = 2
"""Up to this signal per cell (ε·rows/cells) single cells are lost in noise, and sums are measured instead."""


def _way(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise BadInput(f"{name} is 'recipe', 'auto' or the name of an algorithm, given {shorten(given)}.")
    known = [RECIPE, AUTO, *algorithms(1)]
    if given not in known:
        raise BadInput(no_such("way to estimate histograms", given, known))
    return given


@dataclass(frozen=True, kw_only=True)
class NaiveBayes(Learner):
    """Treats attributes as independent within a class; measures a table by class of each of the k attributes, with ε/k.

    A row is in one class only, so all classes of a table cost as much as one. The sums of the tables give the
    frequencies of the classes at no cost in privacy.

    With the *recipe*, every cell gets noise of scale b = k/ε, and q = max(z, 0) + b·π_c + ½ is the count of a cell in a
    class of frequency π_c: where noise dominates a table, its attribute says nothing. With *auto*, the histograms of
    attributes that have an order and more than a few cells are estimated by the algorithm that promises the least
    error, chosen privately for each of them; any other name is that of the algorithm for all histograms. Such
    histograms get half as many pseudo-counts, in the shape of all classes together.
    """

    name = "naive-bayes"

    model: Literal["multinomial", "gaussian"] = "multinomial"
    """Within a class, a frequency for each cell; or a mean and a variance, for attributes that have an order."""
    histograms: Annotated[str, _way] = RECIPE
    """``recipe``, ``auto``, or the name of an algorithm."""
    workload: Literal["auto", "identity", "prefix"] = "auto"
    """The queries of an algorithm: single cells, or sums. With ``auto``, sums where ε·rows/cells is at most 2, by a
    noisy number of rows, and for means and variances."""
    smoothing: Literal["noise", "half"] = "noise"
    """Pseudo-counts that grow with the noise, or half a pseudo-count for every cell."""
    totals_share: Share = Fraction(1, 20)
    """The part of ε that counts the classes, used only if no table is measured cell by cell, which would give them."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse a request that could fail later: every algorithm that may be chosen must be possible with the rest."""
        check_tables(target)
        chosen = self._chosen(target)
        part = self._part(target, epsilon)
        for name, table in class_vectors(source, chosen, target.label).items():
            attribute = target.schema.attributes[name]
            for vector in by_class(table):
                for workload in self._workloads(attribute, vector):
                    self._plan(attribute).admit(vector, workload, part)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """Measure tables cell by cell first, where possible: they say how many rows each class has."""
        target = Target.of(source.schema, label)
        chosen, part = self._chosen(target), self._part(target, epsilon)
        plain = [name for name in target.schema.names if name not in chosen]
        vectors = class_vectors(source, target.schema.names, label)
        tables = {name: measured_table(vectors[name], part) for name in plain}
        if plain:
            totals = class_totals([tables[name] for name in plain], [part] * len(plain))
        else:
            totals = measured_totals(source, label, self.totals_share * epsilon)
        for name in chosen:
            tables[name] = self._estimated(vectors[name], target.schema.attributes[name], totals, part)
        prior = prior_of(totals)
        profiles = (
            self._profile(target, name, tables[name], prior, part, name in chosen) for name in target.schema.names
        )
        return ClassProfiles(
            target=target, prior=prior, profiles=tuple(profiles), counted=max(0.0, float(totals.sum()))
        )

    def _chosen(self, target: Target) -> list[str]:
        """The attributes whose histograms an algorithm estimates; the others are measured cell by cell."""
        if self.histograms == RECIPE:
            return []
        attributes = target.schema.attributes.items()
        if self.histograms == AUTO:
            return [name for name, attribute in attributes if attribute.ordered and attribute.size > FEW_CELLS]
        return list(target.schema.names)

    def _part(self, target: Target, epsilon: Fraction) -> Fraction:
        """What each attribute may cost: an equal part, after the classes are counted if necessary."""
        attributes = len(target.schema.names)
        left = epsilon if len(self._chosen(target)) < attributes else (1 - self.totals_share) * epsilon
        return left / attributes

    def _plan(self, attribute: Attribute) -> Plan:
        if self.histograms == AUTO:
            return plan_named("pythia", ordered=attribute.ordered)
        return plan_named(self.histograms)

    def _estimated(self, table: VectorSource, attribute: Attribute, totals: Reals, part: Fraction) -> Reals:
        """The table of an attribute, class by class; of shape (cells, classes)."""
        plan, vectors = self._plan(attribute), by_class(table)
        scarce = float(part) * max(float(totals.sum()), 0.0) / vectors[0].cells <= _SIGNAL
        workload = self._workloads(attribute, vectors[0])[0 if scarce else -1]
        return np.stack([plan.carry_out(vector, workload, part).estimate.reshape(-1) for vector in vectors], axis=1)

    def _workloads(self, attribute: Attribute, vector: VectorSource) -> tuple[Queries, ...]:
        """The possible workloads for a class's histogram: the first for few rows, the last for many."""
        if self.workload == "identity" or not attribute.ordered:
            return (Identity(vector.shape),)
        if self.workload == "prefix" or self.model == "gaussian":
            return (Prefix(vector.shape),)
        return Prefix(vector.shape), Identity(vector.shape)

    def _profile(
        self, target: Target, name: str, table: Reals, prior: Reals, part: Fraction, estimated: bool
    ) -> Profile:
        attribute = target.schema.attributes[name]
        pseudo = prior / float(part) if self.smoothing == "noise" else np.zeros_like(prior)
        if self.model == "gaussian" and isinstance(attribute, Integer | Numeric):
            return Gaussians.of(attribute, table, pseudo + _HALF)
        return Frequencies.of(attribute, table, (_alike(table) * pseudo if estimated else pseudo) + _HALF)


def _alike(table: Reals) -> Reals:
    """Half a pseudo-count per cell on average, in the shape of all classes together; of shape (cells, 1).

    An algorithm has smoothed the histogram already. Its error is in the shape: where noise dominates, the classes
    should be similar, not flat.
    """
    pooled = np.maximum(table, 0.0).sum(axis=1, keepdims=True) + _HALF
    return np.asarray(_HALF * pooled / pooled.mean())


LARGE = 80
"""Tables of more cells are partitioned before they are measured, as εKTELO's authors do."""


@dataclass(frozen=True, kw_only=True)
class Workload(Learner):
    """Every histogram that naive Bayes needs, with equal noise: that of the label, and one of each attribute by class.

    Cormode, "Personal privacy vs population privacy", KDD 2011.
    """

    name = "workload"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse tables that are too large."""
        check_tables(target)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """Measure with k + 1 equal shares: a table for each attribute, and the classes."""
        target = Target.of(source.schema, label)
        part = epsilon / (len(target.schema.names) + 1)
        vectors = class_vectors(source, target.schema.names, label)
        tables = [measured_table(vector, part) for vector in vectors.values()]
        return self.finish(target, tables, measured_totals(source, label, part), part)

    def finish(self, target: Target, tables: list[Reals], totals: Reals, part: Fraction) -> ClassProfiles:
        """The profiles of the tables as they were measured."""
        return profiles_of(target, tables, totals)


@dataclass(frozen=True, kw_only=True)
class WorkloadLs(Workload):
    """As :class:`Workload`, with the sums of all tables brought into agreement by least squares."""

    name = "workload-ls"

    def finish(self, target: Target, tables: list[Reals], totals: Reals, part: Fraction) -> ClassProfiles:
        """The profiles of consistent tables; the classes' own histogram is one more table, of one cell."""
        agreed = class_totals([*tables, totals[None]], [part] * (len(tables) + 1))
        return profiles_of(target, consistent(tables, agreed), agreed)


@dataclass(frozen=True, kw_only=True)
class SelectLs(Learner):
    """A table of more than 80 cells is partitioned by DAWA before it is measured, a smaller one is measured cell by
    cell; then the sums of all tables are brought into agreement by least squares."""

    name = "select-ls"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse large tables that DAWA cannot estimate."""
        check_tables(target)
        for table in class_vectors(source, target.schema.names, target.label).values():
            if table.cells > LARGE:
                vector = _line(table)
                _dawa().admit(vector, Identity(vector.shape), epsilon / len(target.schema.names))

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """Measure with k equal shares."""
        target = Target.of(source.schema, label)
        part = epsilon / len(target.schema.names)
        vectors = class_vectors(source, target.schema.names, label)
        tables = [self._table(vector, part) for vector in vectors.values()]
        agreed = class_totals(tables, [part] * len(tables))
        return profiles_of(target, consistent(tables, agreed), agreed)

    @staticmethod
    def _table(vector: VectorSource, part: Fraction) -> Reals:
        if vector.cells <= LARGE:
            return measured_table(vector, part)
        line = _line(vector)
        return _dawa().carry_out(line, Identity(line.shape), part).estimate.reshape(vector.shape).T


@dataclass(frozen=True, kw_only=True)
class Contingency(Learner):
    """Measures every cell of the table of all attributes and the label, and adds them up: εKTELO's Identity."""

    name = "contingency"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse a domain that is too large."""
        check_tables(target)
        vector = _whole(source, target)
        plan_named("identity").admit(vector, Identity(vector.shape), epsilon)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """Measure all cells at once."""
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
