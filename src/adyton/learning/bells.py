"""An attribute with an order within each class, as a bell: a mean and a variance (the Gaussian model)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.learning.model import real_array
from adyton.schema.attributes import Attribute
from adyton.schema.numbers import Integer, Numeric

_NARROWEST, _WIDEST = 1e-3, 0.25
"""The bounds of a variance, in parts of the squared width of the domain: 1/4 is the largest that there can be."""
_LEAST = 1e-12


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


@dataclass(frozen=True, eq=False)
class Bells:
    """A mean and a variance for each class, and how frequent numbers, other values and missing ones are."""

    middles: Reals
    """The middle of each cell of numbers."""
    means: Reals
    variances: Reals
    kinds: Reals
    """P(a number, (other), (null) | class), as far as the attribute has such cells: one column for each class."""

    @classmethod
    def of(cls, attribute: Integer | Numeric, counts: Reals, pseudo: Reals | float) -> Bells:
        """From noisy counts of shape (cells, classes). Means and variances are clamped to what is possible."""
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
        """The logarithm of the density at the middle of each cell of numbers, then of the frequencies of the others."""
        away = (self.middles[:, None] - self.means) ** 2
        kinds = np.log(np.maximum(self.kinds, _LEAST))
        density = -0.5 * np.log(2 * math.pi * self.variances) - 0.5 * away / self.variances
        return np.vstack([density + np.log(_width(self.middles)) + kinds[0], kinds[1:]])

    def told(self, name: str, place: int, prior: Reals) -> list[tuple[float, str]]:
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
    def from_plain(cls, attribute: Attribute, classes: int, plain: Any) -> Bells:
        """From plain values of a stranger."""
        if not isinstance(attribute, Integer | Numeric):
            raise BadInput(f"only numbers have a mean and a variance, and an attribute is {attribute.kind}.")
        middles = centres(attribute)
        means = real_array(plain["means"], (classes,), "means")
        variances = real_array(plain["variances"], (classes,), "variances")
        kinds = real_array(plain["kinds"], (attribute.size - attribute.base_size + 1, classes), "kinds")
        if (variances <= 0).any() or (kinds < 0).any() or not np.allclose(kinds.sum(axis=0), 1, atol=1e-6):
            raise BadInput("variances must be greater than 0, and kinds frequencies that add up to 1 for each class.")
        return cls(middles, means, variances, kinds)


def _width(middles: Reals) -> float:
    """How far the outermost middles are apart; 1 for a single cell."""
    return float(middles[-1] - middles[0]) or 1.0
