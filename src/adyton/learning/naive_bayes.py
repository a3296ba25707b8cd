"""Naive Bayes: one noisy table for each attribute, and pseudo-counts that grow with the noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.learning.class_profiles import (
    Bells,
    ClassProfiles,
    Frequencies,
    Profile,
    by_class,
    check_tables,
    class_totals,
    class_vectors,
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
from adyton.queries import Identity, Prefix, Queries
from adyton.schema.attributes import Attribute
from adyton.schema.numbers import Integer, Numeric

RECIPE, AUTO = "recipe", "auto"
FEW_CELLS = 16
"""Up to here nothing is better than to measure every cell."""
_HALF = 0.5
_SIGNAL = 2
"""Below so much signal a cell (ε·rows/cells) single cells are lost in noise, and sums are asked for."""


def _way(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise BadInput(f"{name} is 'recipe', 'auto' or the name of an algorithm, given {shorten(given)}.")
    known = [RECIPE, AUTO, *algorithms(1)]
    if given not in known:
        raise BadInput(no_such("way to histograms", given, known))
    return given


@dataclass(frozen=True, kw_only=True)
class NaiveBayes(Learner):
    """Attributes as if they were independent within a class; k tables of an attribute by class, each with ε/k.

    A row is in one class only, so that all classes of a table cost as much as one. The sums of the tables tell how
    frequent the classes are, at no cost.

    With the *recipe*, every cell gets noise of scale b = k/ε, and q = max(z, 0) + b·π_c + ½ is the count of a cell in a
    class of frequency π_c: where the noise drowns a table, its attribute tells nothing. With *auto*, the histograms of
    attributes that have an order and more than a few cells are estimated by the algorithm that promises the least
    error, chosen privately for each of them; any other name is that of the algorithm for all histograms. They get half
    as many pseudo-counts, in the shape of all classes together.
    """

    name = "naive-bayes"

    model: Literal["multinomial", "gaussian"] = "multinomial"
    """Within a class, a frequency for each cell; or a mean and a variance, for attributes that have an order."""
    histograms: Annotated[str, _way] = RECIPE
    """``recipe``, ``auto``, or the name of an algorithm."""
    workload: Literal["auto", "identity", "prefix"] = "auto"
    """What an algorithm is asked for: single cells, or sums. By itself it is sums where ε·rows/cells is at most 2, by a
    noisy number of rows, and for means and variances."""
    smoothing: Literal["noise", "half"] = "noise"
    """Pseudo-counts that grow with the noise, or half of one for every cell."""
    totals_share: Share = Fraction(1, 20)
    """The part of ε that counts the classes, where no table is measured cell by cell that would tell."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Whatever is chosen in the end must be possible with what is left."""
        check_tables(target)
        chosen = self._chosen(target)
        each = self._each(target, epsilon)
        for name, table in class_vectors(source, chosen, target.label).items():
            attribute = target.schema.attributes[name]
            for vector in by_class(table):
                for workload in self._workloads(attribute, vector):
                    self._plan(attribute).admit(vector, workload, each)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ClassProfiles:
        """Tables that are measured cell by cell first: they say how many rows there are in each class."""
        target = Target.of(source.schema, label)
        chosen, each = self._chosen(target), self._each(target, epsilon)
        plain = [name for name in target.schema.names if name not in chosen]
        vectors = class_vectors(source, target.schema.names, label)
        tables = {name: measured_table(vectors[name], each) for name in plain}
        if plain:
            totals = class_totals([tables[name] for name in plain], [each] * len(plain))
        else:
            totals = measured_totals(source, label, self.totals_share * epsilon)
        for name in chosen:
            tables[name] = self._estimated(vectors[name], target.schema.attributes[name], totals, each)
        prior = prior_of(totals)
        profiles = (
            self._profile(target, name, tables[name], prior, each, name in chosen) for name in target.schema.names
        )
        return ClassProfiles(
            target=target, prior=prior, profiles=tuple(profiles), counted=max(0.0, float(totals.sum()))
        )

    def _chosen(self, target: Target) -> list[str]:
        """The attributes whose histograms an algorithm estimates; those of others are measured cell by cell."""
        if self.histograms == RECIPE:
            return []
        attributes = target.schema.attributes.items()
        if self.histograms == AUTO:
            return [name for name, one in attributes if one.ordered and one.size > FEW_CELLS]
        return list(target.schema.names)

    def _each(self, target: Target, epsilon: Fraction) -> Fraction:
        """What each attribute may cost: an equal part, after the classes were counted if they must be."""
        attributes = len(target.schema.names)
        left = epsilon if len(self._chosen(target)) < attributes else (1 - self.totals_share) * epsilon
        return left / attributes

    def _plan(self, attribute: Attribute) -> Plan:
        if self.histograms == AUTO:
            return plan_named("pythia", ordered=attribute.ordered)
        return plan_named(self.histograms)

    def _estimated(self, table: VectorSource, attribute: Attribute, totals: Reals, each: Fraction) -> Reals:
        """The table of an attribute, class by class; of shape (cells, classes)."""
        plan, vectors = self._plan(attribute), by_class(table)
        scarce = float(each) * max(float(totals.sum()), 0.0) / vectors[0].cells <= _SIGNAL
        workload = self._workloads(attribute, vectors[0])[0 if scarce else -1]
        return np.stack([plan.carry_out(one, workload, each).estimate.reshape(-1) for one in vectors], axis=1)

    def _workloads(self, attribute: Attribute, vector: VectorSource) -> tuple[Queries, ...]:
        """What may be asked of a class's histogram: where there are few rows, and where there are many."""
        if self.workload == "identity" or not attribute.ordered:
            return (Identity(vector.shape),)
        if self.workload == "prefix" or self.model == "gaussian":
            return (Prefix(vector.shape),)
        return Prefix(vector.shape), Identity(vector.shape)

    def _profile(
        self, target: Target, name: str, table: Reals, prior: Reals, each: Fraction, estimated: bool
    ) -> Profile:
        attribute = target.schema.attributes[name]
        pseudo = prior / float(each) if self.smoothing == "noise" else np.zeros_like(prior)
        if self.model == "gaussian" and isinstance(attribute, Integer | Numeric):
            return Bells.of(attribute, table, pseudo + _HALF)
        return Frequencies.of(attribute, table, (_alike(table) * pseudo if estimated else pseudo) + _HALF)


def _alike(table: Reals) -> Reals:
    """Half a pseudo-count a cell on average, in the shape of all classes together; of shape (cells, 1).

    An algorithm has smoothed the histogram already. Its error is in the shape: where the noise drowns it, the classes
    should not differ, rather than be flat.
    """
    pooled = np.maximum(table, 0.0).sum(axis=1, keepdims=True) + _HALF
    return np.asarray(_HALF * pooled / pooled.mean())
