"""An attribute within each class, as the frequency of each cell (the multinomial model)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.learning.model import real_array
from adyton.schema.attributes import Attribute, Label

_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Frequencies:
    """P(cell | class): one row for each cell, one column for each class, which adds up to 1."""

    labels: tuple[Label, ...]
    values: Reals

    @classmethod
    def of(cls, attribute: Attribute, counts: Reals, pseudo: Reals | float) -> Frequencies:
        """From noisy counts of shape (cells, classes): what is negative counts as 0, then pseudo-counts are added."""
        positive = np.maximum(counts, 0.0) + pseudo
        values = np.asarray(positive / positive.sum(axis=0))
        values.flags.writeable = False
        return cls(attribute.labels, values)

    def logarithms(self) -> Reals:
        """log P(cell | class)."""
        return np.asarray(np.log(np.maximum(self.values, _LEAST)))

    def told(self, name: str, place: int, prior: Reals) -> list[tuple[float, str]]:
        """The cells that are more frequent in a class than elsewhere, and how much each tells; the most telling first.

        It tells P(v | c) · log(P(v | c) / P(v)): its part of the divergence of the class from all rows.
        """
        own, overall = self.values[:, place], self.values @ prior
        gain = own * np.log(np.maximum(own, _LEAST) / np.maximum(overall, _LEAST))
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
        """From plain values of a stranger."""
        values = real_array(plain["frequencies"], (attribute.size, classes), "frequencies")
        if (values < 0).any() or not np.allclose(values.sum(axis=0), 1, atol=1e-6):
            raise BadInput("frequencies must be at least 0 and add up to 1 for each class.")
        return cls(attribute.labels, values)
