"""The model of naive Bayes: how frequent each class is, and how each attribute is distributed within it, as frequencies
or as Gaussians; and the tables by class that it is learnt from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource, VectorSource
from adyton.kernel.transforms import MOST_TABLE_CELLS
from adyton.learning.model import Model, Target, normalised, real_array
from adyton.messages import listing
from adyton.plans.algorithm import MOST_CELLS
from adyton.queries import Identity, Partition
from adyton.schema.attributes import Attribute, Label
from adyton.schema.numbers import Integer, Numeric

_LEAST_PART = 1e-12


@dataclass(frozen=True, eq=False)
class Frequencies:
    """P(cell | class): one row for each cell, one column for each class, which adds up to 1."""

    labels: tuple[Label, ...]
    values: Reals

    @classmethod
    def of(cls, attribute: Attribute, counts: Reals, pseudo: Reals | float) -> Frequencies:
        """From noisy counts of shape (cells, classes): negative counts count as 0, then pseudo-counts are added."""
        positive = np.maximum(counts, 0.0) + pseudo
        values = np.asarray(positive / positive.sum(axis=0))
        values.flags.writeable = False
        return cls(attribute.labels, values)

    def logarithms(self) -> Reals:
        """log P(cell | class)."""
        return np.asarray(np.log(np.maximum(self.values, _LEAST_PART)))

    def evidence(self, name: str, place: int, prior: Reals) -> list[tuple[float, str]]:
        """The cells that are more frequent in a class than elsewhere, with their evidence; the strongest first.

        The evidence is P(v | c) · log(P(v | c) / P(v)): the cell's part of the divergence of the class from all rows.
        """
        own, overall = self.values[:, place], self.values @ prior
        gain = own * np.log(np.maximum(own, _LEAST_PART) / np.maximum(overall, _LEAST_PART))
        order = np.argsort(-gain, kind="stable")
        return [
            (float(gain[cell]), f"{name} = {self.labels[cell]}: {own[cell]:.1%}, of all rows {overall[cell]:.1%}")
            for cell in order.tolist()
            if gain[cell] > 0
        ]

    def to_plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"frequencies": self.values.tolist()}

    @classmethod
    def from_plain(cls, attribute: Attribute, classes: int, plain: Any) -> Frequencies:
        """From plain values, none of which is trusted."""
        values = real_array(plain["frequencies"], (attribute.size, classes), "frequencies")
        if (values < 0).any() or not np.allclose(values.sum(axis=0), 1, atol=1e-6):
            raise BadInput("frequencies must be at least 0 and add up to 1 for each class.")
        return cls(attribute.labels, values)


_NARROWEST, _WIDEST = 1e-3, 0.25
"""The bounds of a variance, as fractions of the squared width of the domain: 1/4 is the largest possible."""
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A mean and a variance for each class, and how frequent numbers, other values and missing values are."""

    middles: Reals
    """The middle of each cell of numbers."""
    means: Reals
    variances: Reals
    kinds: Reals
    """P(a number, (other), (null) | class), for the cells that the attribute has: a column for each class."""

    @classmethod
    def of(cls, attribute: Integer | Numeric, counts: Reals, pseudo: Reals | float) -> Gaussians:
        """From noisy counts of shape (cells, classes). Means and variances are clamped to possible values."""
        middles, size = centres(attribute), attribute.base_size
        inside = np.maximum(counts[:size], 0.0)
        totals = np.maximum(inside.sum(axis=0), 1.0)
        means = np.clip(middles @ inside / totals, middles[0], middles[-1])
        width = _width(middles)
        spread = ((middles[:, None] - means) ** 2 * inside).sum(axis=0) / totals
        variances = np.clip(spread, _NARROWEST * width**2, _WIDEST * width**2)
        sums = np.vstack([inside.sum(axis=0), np.maximum(counts[size:], 0.0)]) + pseudo
        return cls(middles, means, variances, sums / sums.sum(axis=0))

    def logarithms(self) -> Reals:
        """The logarithms of the density at the middle of each cell of numbers, then of the other cells' frequencies."""
        away = (self.middles[:, None] - self.means) ** 2
        kinds = np.log(np.maximum(self.kinds, _LEAST))
        density = -0.5 * np.log(2 * math.pi * self.variances) - 0.5 * away / self.variances
        return np.vstack([density + np.log(_width(self.middles)) + kinds[0], kinds[1:]])

    def evidence(self, name: str, place: int, prior: Reals) -> list[tuple[float, str]]:
        """The mean and the deviation of a class, and how far they are from those of all rows."""
        overall = float(self.means @ prior)
        within = float((self.variances + (self.means - overall) ** 2) @ prior)
        mean, variance = float(self.means[place]), float(self.variances[place])
        gain = 0.5 * (math.log(within / variance) + (variance + (mean - overall) ** 2) / within - 1)
        text = f"{name}: {mean:.4g} ± {math.sqrt(variance):.3g}, of all rows {overall:.4g} ± {math.sqrt(within):.3g}"
        return [(max(gain, 0.0), text)]

    def to_plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"means": self.means.tolist(), "variances": self.variances.tolist(), "kinds": self.kinds.tolist()}

    @classmethod
    def from_plain(cls, attribute: Attribute, classes: int, plain: Any) -> Gaussians:
        """From plain values, none of which is trusted."""
        if not isinstance(attribute, Integer | Numeric):
            raise BadInput(f"only numbers have a mean and a variance, but an attribute is {attribute.kind}.")
        middles = centres(attribute)
        means = real_array(plain["means"], (classes,), "means")
        variances = real_array(plain["variances"], (classes,), "variances")
        kinds = real_array(plain["kinds"], (attribute.size - attribute.base_size + 1, classes), "kinds")
        if (variances <= 0).any() or (kinds < 0).any() or not np.allclose(kinds.sum(axis=0), 1, atol=1e-6):
            raise BadInput("variances must be greater than 0, and kinds frequencies that add up to 1 for each class.")
        return cls(middles, means, variances, kinds)


Profile: TypeAlias = Frequencies | Gaussians
"""The distribution of an attribute within each class."""
_NAMED = 3
"""How many levels of an attribute are named for a class."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProfiles(Model):
    """P(class | row) ∝ P(class) · ∏ P(value of attribute j | class), as if attributes were independent within a class.

    Every factor was estimated from noisy counts. A value without a cell has no factor.
    """

    kind = "naive-bayes"

    prior: Reals
    """How frequent each class is."""
    profiles: tuple[Profile, ...]
    """One profile for each attribute, in order."""
    counted: float
    """The noisy number of all rows."""

    @property
    def rows(self) -> float:
        """The noisy number of all rows."""
        return self.counted

    @cached_property
    def _tables(self) -> list[Reals]:
        """log P(cell | class) by attribute, with a last row of zeros, for the code −1."""
        nothing = np.zeros(len(self.classes))
        return [np.vstack([profile.logarithms(), nothing]) for profile in self.profiles]

    def _probabilities(self, codes: Integers) -> Reals:
        scores = np.tile(np.log(self.prior), (len(codes), 1))
        for place, table in enumerate(self._tables):
            scores += table[codes[:, place]]
        return normalised(scores)

    def learnt(self) -> dict[str, Any]:
        """The prior, the profiles, and about how many rows there were."""
        return {
            "prior": self.prior.tolist(),
            "profiles": [profile.to_plain() for profile in self.profiles],
            "rows": self.counted,
        }

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> ClassProfiles:
        """Read from plain values; there must be a profile for each attribute."""
        if learnt.keys() != {"prior", "profiles", "rows"} or len(learnt["profiles"]) != len(target.schema.names):
            raise BadInput(
                f"a model has a prior, a number of rows, and a profile for each of {listing(target.schema.names)}."
            )
        classes = len(target.classes)
        prior = real_array(learnt["prior"], (classes,), "the prior")
        if not (prior > 0).all() or not np.isclose(prior.sum(), 1, atol=1e-6):
            raise BadInput("the prior must be greater than 0 and add up to 1.")
        attributes = target.schema.attributes.values()
        profiles = tuple(
            (Gaussians if "means" in plain else Frequencies).from_plain(attribute, classes, plain)
            for attribute, plain in zip(attributes, learnt["profiles"], strict=True)
        )
        rows = float(real_array([learnt["rows"]], (1,), "rows")[0])
        return cls(target=target, prior=prior, profiles=profiles, counted=rows)

    def explain(self) -> str:
        """How frequent each class is, and the levels that are the strongest evidence for it."""
        lines = [f"Naive Bayes: {self.label!r} from {listing(self.schema.names)}, from noisy counts."]
        for place, name in enumerate(self.classes):
            lines.append(f"{self.label} = {name} ({self.prior[place]:.1%} of the rows)")
            pairs = zip(self.schema.names, self.profiles, strict=True)
            parts = (profile.evidence(name, place, self.prior)[:_NAMED] for name, profile in pairs)
            strongest = sorted(itertools.chain(*parts), key=lambda pair: -pair[0])
            lines += [f"  {text}" for _, text in strongest[: 2 * _NAMED]]
        return "\n".join(lines)


def centres(attribute: Integer | Numeric) -> Reals:
    """The middle of each cell that holds numbers.

    >>> centres(Integer(0, 5, step=2)).tolist(), centres(Numeric(edges=[0, 1, 10])).tolist()
    ([0.5, 2.5, 4.5], [0.5, 5.5])
    """
    if isinstance(attribute, Integer):
        starts = np.arange(attribute.min, attribute.max + 1, attribute.step, dtype=np.float64)
        ends = np.minimum(starts + attribute.step - 1, attribute.max)
        return np.asarray((starts + ends) / 2)
    edges = np.array(attribute.edges or np.linspace(attribute.min, attribute.max, attribute.bins + 1))
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _width(middles: Reals) -> float:
    """The distance between the outermost middles; 1 for a single cell."""
    return float(middles[-1] - middles[0]) or 1.0


def check_tables(target: Target) -> None:
    """Refuse attributes that have too many cells to keep one number for each of them and each class."""
    classes = len(target.classes)
    for name, attribute in target.schema.attributes.items():
        if attribute.size * classes > MOST_CELLS:
            raise BadInput(
                f"{name!r} has {attribute.size:,} cells for {classes:,} classes; the limit is {MOST_CELLS:,} in all. "
                "Declare fewer levels or bins, or a longer step."
            )


def class_vectors(source: TableSource, names: Sequence[str], label: str) -> dict[str, VectorSource]:
    """For each attribute the counts of its cells within each class: an axis for the classes, then one for the cells.

    All are counted in one pass over the rows, if a source can hold all cells; otherwise in as few passes as possible.
    """
    sizes = {name: source.schema.attributes[name].size for name in (label, *names)}  # identifiers have none
    vectors: dict[str, VectorSource] = {}
    for together in _batches(names, [sizes[label] * sizes[name] for name in names]):
        vectors |= zip(together, source.tables([(label, name) for name in together]).vectors(), strict=True)
    return vectors


def _batches(names: Sequence[str], cells: Sequence[int]) -> list[list[str]]:
    """The names in batches; the tables of a batch have no more cells in total than a source can hold."""
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
    """How frequent each class is, by noisy totals; no class is less frequent than half a row."""
    rows = max(float(totals.sum()), 1.0)
    parts = np.maximum(totals / rows, 0.5 / max(rows, 20.0))
    prior = np.asarray(parts / parts.sum())
    prior.flags.writeable = False
    return prior


def consistent(tables: Sequence[Reals], totals: Reals) -> list[Reals]:
    """Tables whose sums are the totals: the difference is spread evenly over the cells, as by least squares."""
    return [table + (totals - table.sum(axis=0)) / len(table) for table in tables]
