"""Features: a few numbers about a private vector by which an algorithm is chosen, each bought at most once.

Errors at ε on x are those at 1 on ε·x, divided by ε (as far as noise is concerned); so features are those of ε·x. The
noise is added to the feature of x, whose sensitivity is known, and the sum is multiplied by ε afterwards, which is
post-processing. The number of cells that are not empty is the same for x and ε·x and stays as it is; the partition that
is best for ε·x when an interval costs 1 is best for x when it costs 1/ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.choice.bought import Bought
from adyton.errors import BadInput
from adyton.kernel.mechanisms import NonZeros, Partitionality, Statistic, TotalVariation
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.messages import no_such
from adyton.plans.steps import along_curve
from adyton.queries import Reduction, Total

CELLS = "cells"
"""The one feature that is public: how many cells the domain has."""


@dataclass(frozen=True)
class Feature:
    """A private feature: what it is in words, and the mechanism that measures it."""

    name: str
    words: str
    statistic: Callable[[Fraction], Statistic] | None
    """From ε; None for the total, which is a measurement that can be used again."""
    scales: bool = True
    """Whether ε·x has ε times of it."""
    along: bool = False
    """Whether it needs the cells in a line."""

    def unit(self, epsilon: Fraction) -> Fraction:
        """What the feature of x is multiplied by."""
        return epsilon if self.scales else Fraction(1)

    def true(self, x: npt.NDArray[np.int64], epsilon: Fraction) -> float:
        """The feature of public counts, without noise."""
        if self.statistic is None:
            return float(epsilon) * float(x.sum())
        values = x.reshape(-1)
        if self.along and x.ndim > 1:
            values = np.asarray(Reduction(along_curve(x.shape)) @ values)
        statistic = self.statistic(epsilon)
        return float(self.unit(epsilon) * statistic.steps_in(values) * statistic.step(values.size))

    def noise(self, cells: int, epsilon: Fraction, spent: Fraction) -> float:
        """The scale of the Laplace noise that the feature has when *spent* is spent on it."""
        if self.statistic is None:
            return float(epsilon / spent)
        statistic = self.statistic(epsilon)
        return float(self.unit(epsilon) * max(1, statistic.sensitivity(cells)) * statistic.step(cells) / spent)

    def check_size(self, domain: tuple[int, ...], epsilon: Fraction) -> None:
        """Refuse a domain on which it could not be measured."""
        if self.statistic is not None:
            shape = VectorShape((math.prod(domain),) if self.along else domain)
            check_request(self.statistic(epsilon), shape, epsilon)

    def buy(self, x: VectorSource, epsilon: Fraction, spent: Fraction) -> Bought:
        """The noisy feature of a private vector that is to be estimated with *epsilon*, for *spent*."""
        unit = float(self.unit(epsilon))
        if self.statistic is None:
            total = x.measure(Total(x.shape), spent)
            return Bought(self.name, self.words, unit * float(total.value), unit * total.deviation, spent, total)
        source = x.reduce(along_curve(x.shape)) if self.along and len(x.shape) > 1 else x
        found = source.statistic(self.statistic(epsilon), spent)
        return Bought(self.name, self.words, unit * found.value, unit * found.deviation, spent)


FEATURES = (
    Feature("scale", "ε times the number of rows", None),
    Feature("non-zeros", "the number of cells that are not empty", lambda epsilon: NonZeros(), scales=False),
    Feature("total-variation", "ε times the rows that lie apart from even counts", lambda epsilon: TotalVariation()),
    Feature(
        "partitionality",
        "what the best partition into intervals costs at ε",
        lambda epsilon: Partitionality(1 / epsilon),
        along=True,
    ),
)
"""All private features. Their names, with :data:`CELLS`, are what a selector may ask for."""


def feature_named(name: str) -> Feature:
    """The private feature of this name."""
    for feature in FEATURES:
        if feature.name == name:
            return feature
    raise BadInput(no_such("feature", name, [feature.name for feature in FEATURES]))


def true_features(x: npt.NDArray[np.int64], epsilon: Fraction) -> npt.NDArray[np.float64]:
    """All private features of public counts, without noise, in the order of :data:`FEATURES`."""
    return np.array([feature.true(x, epsilon) for feature in FEATURES])
